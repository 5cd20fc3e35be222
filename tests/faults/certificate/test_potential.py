"""Fits of phate that are not as claimed fail; those of hostile data pass."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.methods import Model
from mlcli.methods.neighbor_embedding import walk
from tests.faults.certificate.layout_lies import GOODNESS, checked, fit_of, stated, turned
from tests.faults.certificate.test_layouts import HOSTILE, POINTS
from tests.support import features

MORE = np.vstack([POINTS, POINTS[:, ::-1], POINTS * [1, 0.5, 2, 3]])


@cache
def fitted(**options: Any) -> tuple[Any, Any, Model]:
    return of_data(features(MORE), **options)


def of_data(data: Any, **options: Any) -> tuple[Any, Any, Model]:
    return fit_of("phate", data, **options)


def layout(change: Callable[[Array], Array], *, all_points: bool = True) -> Callable[[Model], Model]:
    """The model with another layout of its nodes; and all points moved alike, where these are the nodes."""
    def at_others(model: Model) -> Model:
        projector: Any = model.projector
        moved = change(np.array(projector.axes))
        points = moved if all_points and len(moved) == len(model.embedding) else model.embedding
        return replace(model, embedding=points, projector=replace(projector, axes=moved))

    return at_others


def similarity(**parts: Callable[[Any], Any]) -> Callable[[Model], Model]:
    def with_others(model: Model) -> Model:
        projector: Any = model.projector
        known = projector.similarity
        return replace(model, projector=replace(projector, similarity=replace(known, **{
            name: change(getattr(known, name)) for name, change in parts.items()})))

    return with_others


def one_point(points: Array) -> Array:
    points[3, 1] += 1e-3 * np.abs(points).max()
    return points


def other_clusters(clusters: Array) -> Array:
    return np.roll(clusters, 1)


LIES: dict[str, tuple[Callable[[Model], Model], set[str]]] = {
    "a node moved": (layout(one_point), {"stress"}),
    "another size": (layout(lambda points: points * 1.001), {"stress"}),
    "turned": (layout(turned), {"axes", "placement"}),
    "points beside the nodes": (layout(lambda points: points + 1e-6, all_points=False), {"placement"}),
    "another stress": (stated(stress=lambda value: value * 1.0001), {"stress"}),
    "another time": (stated(time=lambda value: value + 3), {"time", "stress"}),
    "another entropy": (lambda model: replace(model, entropy=np.asarray(model.entropy) + 0.01), {"entropy"}),
    "another width": (similarity(decay=lambda decay: replace(decay, nearest=3)), {"transitions"}),
    "another exponent": (similarity(decay=lambda decay: replace(decay, exponent=20.0)), {"transitions"})}


@pytest.mark.parametrize("landmarks", [None, 40])
@pytest.mark.parametrize("lie", LIES)
def test_lies_are_seen(landmarks: int | None, lie: str) -> None:
    method, data, model = fitted() if landmarks is None else fitted(landmarks=landmarks)
    assert {check.verdict for check in checked(method, data, model)} <= {"pass", "skipped"}
    change, seen = LIES[lie]
    assert {check.name for check in checked(method, data, change(model)) if check.verdict == "fail"} & seen


@pytest.mark.parametrize("lie", GOODNESS)
def test_a_stress_of_points_that_is_not_theirs_is_seen(lie: str) -> None:
    method, data, model = fitted()
    change, seen = GOODNESS[lie]
    assert {check.name for check in checked(method, data, change(model)) if check.verdict == "fail"} == seen


def test_a_neighbor_that_the_search_missed_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "ALL_PAIRS", 10)
    method, data, model = of_data(features(MORE))
    assert {check.verdict for check in checked(method, data, model)} <= {"pass", "skipped"}
    whole = walk.decay_lists

    def short(*given: Any) -> Any:
        lists = whole(*given)
        starts = np.append(0, lists.starts[1:] - 1)
        return replace(lists, starts=starts, indices=lists.indices[1:], lengths=lists.lengths[1:])

    monkeypatch.setattr("mlcli.methods.neighbor_embedding.check.decay_lists", short)
    assert "neighbors" in {check.name for check in checked(method, data, model) if check.verdict == "fail"}


def test_points_of_other_clusters_are_seen() -> None:
    method, data, model = fitted(landmarks=40)
    wrong = checked(method, data, similarity(clusters=other_clusters)(model))
    assert {"placement", "stress"} <= {check.name for check in wrong if check.verdict == "fail"}


def test_a_layout_that_does_not_rest_is_seen() -> None:
    method, data, model = of_data(features(MORE), iterate={"limit": 1, "tolerance": 1e-9})
    assert not model.fit["converged"]
    claimed = replace(model, fit={**model.fit, "converged": True})
    assert "stationarity" in {check.name for check in checked(method, data, claimed) if check.verdict == "fail"}


@pytest.mark.medium
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", HOSTILE)
def test_honest_runs_of_hostile_data_pass(case: str) -> None:
    joined = {"landmarks": 2} if len(HOSTILE[case].values) > 2 else {}
    for options in ({}, joined, {"gamma": 0.5, "time": 500, "iterate": {"limit": 100}}):
        method, data, model = of_data(HOSTILE[case], **options)
        assert np.isfinite(model.embedding).all() and np.isfinite(model.fit["stress"])
        assert np.isfinite(model.project(np.asarray(data.values))).all()
        checks = checked(method, data, model)
        assert {check.verdict for check in checks} <= {"pass", "skipped"}, checks
