"""Layouts that do not follow from graph and seed fail; those of hostile tables and graphs pass, or end by name."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from operator import mul
from typing import Any

import numpy as np
import pytest

from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import AffinityGraph, Given, Labeled, LengthGraph
from mlcli.core.graph.graph import undirected
from mlcli.core.graph.neighbors import Nearest
from mlcli.core.graph.search import Lists
from mlcli.errors import GeometryError
from mlcli.methods import Model
from tests.faults.certificate import layout_lies
from tests.faults.certificate.layout_lies import checked, fit_of, moved
from tests.native.support import needs_native
from tests.support import dissimilarities, features
from tests.wording import Wording

RANDOM = np.random.default_rng(6)
POINTS = RANDOM.standard_normal((40, 4)) * [3, 2, 1, 0.5]


def of_data(data: Given, **options: Any) -> tuple[Any, Any, Model]:
    return fit_of("umap", data, **{"epochs": 20, **options})


@cache
def fitted() -> tuple[Any, Any, Model]:
    return of_data(features(POINTS))


def stated(**figures: float) -> Callable[[Model], Model]:
    """The model with figures times so much."""
    return layout_lies.stated(**{name: partial(mul, factor) for name, factor in figures.items()})


LIES: dict[str, tuple[Callable[[Model], Model], set[str]]] = {
    "mirrored": (moved(lambda points: points * [1, -1]), {"seed"}), "larger": (moved(lambda points: 1.001 * points), {
        "seed"}), "off the center": (moved(lambda points: points + 1e-3), {"axes", "seed"}),
    "axes in another order": (moved(lambda points: points[:, ::-1].copy()), {"axes", "seed"}),
    "another curve": (stated(a=1.001), {"curve"}), "another power": (stated(b=1.001), {"curve"}),
    "another membership": (stated(membership=1.00001), {"graph"}), "more edges": (stated(edges=2), {"graph"})}


@pytest.mark.parametrize("lie", LIES)
def test_lies_are_seen(lie: str) -> None:
    method, data, model = fitted()
    change, seen = LIES[lie]
    assert {check.name for check in checked(method, data, change(model)) if check.verdict == "fail"} >= seen


def test_the_first_epoch_has_a_cost() -> None:
    """No edge is due in it: the trace begins with the cost of the second."""
    costs = np.asarray(fitted()[2].trace)
    assert costs[0] == costs[1] > 0


def test_another_seed_is_seen() -> None:
    method, data, model = fitted()
    lie = replace(model, fit={**model.fit, "seed": 1})
    assert {check.name for check in checked(method, data, lie) if check.verdict == "fail"} == {"seed"}


@needs_native
def test_epochs_of_another_formula_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that repels half as much repeats its own coordinates; NumPy's epochs are others."""
    from mlcli.methods.neighbor_embedding import negative_sampling

    method, data, _ = fitted()
    kernel = negative_sampling.sample_rows
    monkeypatch.setattr(negative_sampling, "sample_rows", lambda edges, own, first, points, curve, draw, rate: kernel(
        edges, own, first, points, curve * [1, 1, 0.5, 1, 1], draw, rate))
    model = method.fit(features(POINTS), Compute())
    assert {check.name for check in checked(method, data, model) if check.verdict == "fail"} == {"epochs"}


def graph_of(kind: type[Any], size: int, rows: list[int], columns: list[int], weights: list[float]) -> Any:
    graph = undirected(size, np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64), np.array(weights),
                       "union")
    return kind(np.zeros((size, 0)), [str(i) for i in range(size)], graph.starts, graph.indices, graph.lengths)


PATH = list(range(11)), list(range(1, 12))
HOSTILE: dict[str, Given] = {
    **{name: features(values) for name, values in {
        "huge": POINTS * 1e300, "tiny": POINTS * 1e-300, "far from zero": POINTS + 1e9, "two rows": POINTS[:2],
        "three rows": POINTS[:3], "one point twice": POINTS[[0, 0, 1]], "on a line": POINTS[:, :1] * np.ones(3),
        "more twins than neighbors": np.repeat(POINTS[:3], 20, axis=0),
        "all equal but one": np.vstack([np.ones((30, 4)), POINTS[:1]]),
        "one far group": np.vstack([POINTS, POINTS[:20] + 1e9]), "an outlier": np.vstack([POINTS, np.full(4, 1e9)]),
        "ties that rounding breaks": np.round(POINTS[:, :2], 1),
        "lattice": np.argwhere(np.ones((5, 5))).astype(float)}.items()},
    "of two lengths": dissimilarities((np.abs(POINTS @ POINTS.T) > 3) * 1.0 + 1 - 2 * np.eye(40) + np.diag(
        1.0 - (np.abs(np.diag(POINTS @ POINTS.T)) > 3))),
    "isolated points": graph_of(AffinityGraph, 20, *PATH, [1.0] * 11),
    "weak edges": graph_of(AffinityGraph, 12, *PATH, [1.0] * 10 + [1e-12]),
    "lengths of a path": graph_of(LengthGraph, 12, *PATH, [1.0] * 5 + [0.0] * 6),
    "lengths with isolated points": graph_of(LengthGraph, 20, *PATH, [1.0] * 5 + [2.0] * 6)}


@pytest.mark.parametrize("lie", [0.999, None])
def test_another_correlation_of_radii_is_seen(lie: float | None) -> None:
    method, data, model = of_data(features(POINTS), density={})
    other = replace(model, fit={**model.fit, "radius_correlation": lie and lie * model.fit["radius_correlation"]})
    assert all(check.verdict == "pass" for check in checked(method, data, model))
    assert {check.name for check in checked(method, data, other) if check.verdict == "fail"} == {"radii"}


@needs_native
@pytest.mark.parametrize(("kernel", "factor"), [("radii_rows", 1.01), ("density_rows", 0.5)])
def test_a_density_term_of_another_formula_is_seen(kernel: str, factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlcli.methods.neighbor_embedding import negative_sampling

    work = getattr(negative_sampling, kernel)

    def other(*given: Any, **named: Any) -> Any:
        if kernel == "radii_rows":
            return work(*given) * [1, factor, 1]
        return work(*given, **{**named, "rate": factor * named["rate"]})

    method, data, _ = of_data(features(POINTS), density={})
    monkeypatch.setattr(negative_sampling, kernel, other)
    model = method.fit(features(POINTS), Compute())
    assert {check.name for check in checked(method, data, model) if check.verdict == "fail"} == {"density"}


@pytest.mark.medium
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", [case for case in HOSTILE if not isinstance(HOSTILE[case], AffinityGraph)])
def test_honest_runs_with_densities_of_hostile_data_pass(case: str) -> None:
    method, data, model = of_data(HOSTILE[case], density={})
    assert np.isfinite(model.embedding).all()
    checks = checked(method, data, model)
    assert {check.verdict for check in checks} <= {"pass", "skipped"}, checks


@pytest.mark.medium
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", HOSTILE)
def test_honest_runs_of_hostile_data_pass(case: str) -> None:
    method, data, model = of_data(HOSTILE[case])
    assert np.isfinite(model.embedding).all() and np.isfinite(np.asarray(model.trace)).all()
    if data.kind != "graph":
        assert np.isfinite(model.project(data.values)).all()
    checks = checked(method, data, model)
    assert {check.verdict for check in checks} <= {"pass", "skipped"}, checks


@pytest.mark.filterwarnings("ignore")
def test_points_that_nothing_repels_pass() -> None:
    """They fall together, much nearer to each other than to the origin of the start."""
    method, data, model = of_data(features(np.vstack([POINTS, np.full(4, 1e4)])), negative_samples=0, epochs=500,
                                  neighbors={"count": 5})
    assert {check.verdict for check in checked(method, data, model)} <= {"pass", "skipped"}


def test_neighbors_that_are_not_the_nearest_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Nearest.lists

    def others(neighbors: Nearest, data: Any) -> Lists:
        lists = found(replace(neighbors, count=neighbors.count + 1), data)
        return some_entries(lists, np.arange(len(lists.indices)) % (neighbors.count + 1) > 0)

    monkeypatch.setattr(Nearest, "lists", others)
    method, data, model = of_data(features(POINTS))
    assert {check.name for check in checked(method, data, model) if check.verdict == "fail"} == {"graph"}


def some_entries(lists: Lists, kept: Any) -> Lists:
    counts = np.bincount(lists.rows[kept], minlength=len(lists.counts))
    return Lists(np.concatenate([[0], np.cumsum(counts)]), lists.indices[kept], lists.lengths[kept])


def of_classes(weight: float, values: Any = POINTS, metric: str = "euclidean") -> tuple[Any, Any, Model]:
    """A supervised layout of two classes, with every fifth class unknown."""
    data = features(values)
    names = ["" if row % 5 == 0 else f"class {row % 2}" for row in range(len(values))]
    return of_data(Labeled(data.values, data.ids, data.columns, labels=names), target_weight=weight, metric=metric)


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_a_graph_of_other_classes_or_of_none_is_seen(weight: float) -> None:
    method, data, model = of_classes(weight)
    assert {check.verdict for check in checked(method, data, model)} <= {"pass", "skipped"}
    for lie, of in ((stated(membership=1.00001), data), (stated(edges=2), data), (lambda same: same, replace(
            data, labels=data.labels[1:] + data.labels[:1]))):
        assert "graph" in {check.name for check in checked(method, of, lie(model)) if check.verdict == "fail"}
    without = method.replace(target_weight=None)
    assert "graph" in {check.name for check in checked(without, data, model) if check.verdict == "fail"}


@pytest.mark.medium
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("weight", [0.3, 0.9965, 1.0])  # the second makes products too small for all their digits
def test_honest_supervised_runs_of_hostile_data_pass(weight: float) -> None:
    tables = [data.values for data in HOSTILE.values() if data.kind == "features" and len(data.values) > 3]
    for values, metric in [*((values, "euclidean") for values in tables), (POINTS, "cityblock")]:
        method, data, model = of_classes(weight, values, metric)
        assert np.isfinite(model.embedding).all() and np.isfinite(model.project(values)).all()
        checks = checked(method, data, model)
        assert {check.verdict for check in checks} <= {"pass", "skipped"}, checks


def test_graphs_without_edges_are_refused_by_name(wording: Wording) -> None:
    with wording.raises(GeometryError, "NO-EDGES"):
        of_data(graph_of(AffinityGraph, 5, [], [], []))
