"""Layouts of t-SNE that are not what they are said to be fail; those of hostile data pass, or end by name."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.inputs import AffinityGraph, Given, LengthGraph
from mlcli.core.graph.graph import graph_of
from mlcli.core.graph.search import nearest
from mlcli.errors import ConfigError, DataError, GeometryError
from mlcli.methods import Model
from mlcli.methods.neighbor_embedding.perplexity import ALONE
from mlcli.rundir import archive
from tests.faults.certificate.layout_lies import checked, fit_of, turned
from tests.faults.certificate.test_layouts import HOSTILE
from tests.support import Notes, dissimilarities, features
from tests.wording import Wording

POINTS = np.random.default_rng(6).standard_normal((40, 4)) * [3, 2, 1, 0.5]
FEW = {"early_steps": 10, "steps": 10}
EDGES = graph_of(nearest(POINTS, 8), "union")
NONE, NAMES = np.zeros((40, 0)), [str(number) for number in range(40)]
GRAPHS = {"lengths": LengthGraph(NONE, NAMES, starts=EDGES.starts, indices=EDGES.indices, weights=EDGES.lengths),
          "affinities": AffinityGraph(NONE, NAMES, starts=EDGES.starts, indices=EDGES.indices,
                                      weights=np.exp(-(EDGES.lengths**2)))}


def of_data(data: Given, **options: Any) -> tuple[Any, Any, Model]:
    return fit_of("tsne", data, **{"descent": FEW, **options})


@cache
def fitted() -> tuple[Any, Any, Model]:
    return of_data(features(POINTS), perplexity=[4.0, 8.0])


def held(**changes: Callable[[Any], Any]) -> Callable[[Model], Model]:
    """The model with other parts of its similarity."""
    def change(model: Model) -> Model:
        projector: Any = model.projector
        return replace(model, projector=replace(projector, similarity=replace(projector.similarity, **{
            name: other(getattr(projector.similarity, name)) for name, other in changes.items()})))

    return change


def moved(other: Callable[[Array], Array]) -> Callable[[Model], Model]:
    """The model at other coordinates, of which its similarity knows as well."""
    return lambda model: replace(held(coordinates=lambda points: other(np.array(points)))(model),
                                 embedding=other(np.array(model.embedding)))


def stated(name: str, factor: float) -> Callable[[Model], Model]:
    return lambda model: replace(model, fit={**model.fit, name: model.fit[name] * factor})


def weighted(other: Callable[[Array], Array]) -> Callable[[Model], Model]:
    """The model with other affinities to be kept."""
    def change(model: Model) -> Model:
        made: Any = model.products["weights"]
        return replace(model, products={"weights": replace(made, values=other(made.values.copy()))})

    return change


def one_more(values: Array) -> Array:
    values[3] *= 1 + 1e-6
    return values


def one_point(points: Array) -> Array:
    points[3, 1] += 1e-3 * np.abs(points).max()
    return points


def one_precision(values: Array) -> Array:
    values = np.array(values)
    values[5, 1] *= 1 + 1e-6
    return values


LIES: dict[str, tuple[Callable[[Model], Model], str]] = {
    "a point moved": (moved(one_point), "divergence"), "turned": (moved(turned), "axes"),
    "off the center": (moved(lambda points: points + 1e-9), "axes"),
    "larger": (moved(lambda points: points * 1.001), "divergence"),
    "a lower divergence": (stated("divergence", 1 - 1e-6), "divergence"),
    "a smaller slope": (stated("slope", 0.99), "slope"),
    "another precision": (held(precisions=one_precision), "perplexity"),
    "precisions of other rows": (held(precisions=lambda values: values[::-1].copy()), "perplexity"),
    "uniform affinities": (held(precisions=np.zeros_like), "perplexity"),
    "nearest ones alone": (held(precisions=lambda values: np.full_like(values, ALONE)), "perplexity"),
    "other perplexities": (held(perplexities=lambda values: (4.0, 9.0)), "options"),
    "other degrees of freedom": (held(dof=lambda dof: 2.0), "options"),
    "one affinity": (weighted(one_more), "symmetry"), "affinities of another sum": (
        weighted(lambda values: values * 1.001), "sum"),
    "equal affinities": (weighted(lambda values: np.full_like(values, 1 / len(values))), "affinities")}


@pytest.mark.parametrize("lie", LIES)
def test_lies_are_seen(lie: str) -> None:
    method, data, model = fitted()
    assert {check.verdict for check in checked(method, data, model)} <= {"pass", "skipped"}
    change, seen = LIES[lie]
    assert seen in {check.name for check in checked(method, data, change(model)) if check.verdict == "fail"}


@pytest.mark.medium
def test_a_lie_about_a_sample_of_many_points_is_seen() -> None:
    many = features(np.random.default_rng(2).standard_normal((2100, 2)))
    method, data, model = of_data(many, perplexity=2.0, start="random", descent={"early_steps": 0, "steps": 1})
    names = {check.name: check.verdict for check in checked(method, data, model)}
    assert names["perplexity"] == "pass" and names["divergence"] == "skipped"
    wrong = held(precisions=lambda values: values * 1.001)(model)
    assert "perplexity" in {check.name for check in checked(method, data, wrong) if check.verdict == "fail"}


@pytest.mark.parametrize("kind", GRAPHS)
def test_layouts_of_graphs_are_checked(kind: str, tmp_path: Path) -> None:
    method, data, model = of_data(GRAPHS[kind])
    archive.save(tmp_path, {"projector": model.projector})
    model = replace(model, projector=archive.load(tmp_path)["projector"])
    assert {check.verdict for check in checked(method, data, model)} <= {"pass", "skipped"}
    found = checked(method, data, stated("divergence", 1 - 1e-6)(model))
    assert "divergence" in {check.name for check in found if check.verdict == "fail"}


@pytest.mark.medium
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", HOSTILE)
def test_honest_runs_of_hostile_data_pass(case: str) -> None:
    try:
        method, data, model = of_data(HOSTILE[case])
    except GeometryError as error:
        assert error.code in ("E-FEW-POINTS", "E-ALL-EQUAL")
        return
    assert np.isfinite(model.embedding).all() and np.isfinite(model.fit["divergence"])
    assert np.isfinite(model.project(data.values)).all()
    checks = checked(method, data, model)
    assert {check.verdict for check in checks} <= {"pass", "skipped"}, checks


@pytest.mark.parametrize(("data", "options", "said"), [
    (features(POINTS), {"perplexity": 13.0}, "use at most 12.8"),
    (features(POINTS), {"perplexity": [3.0, 20.0]}, "must be below 13"),
    (features(POINTS), {"axes": {"components": 4}}, "ask for at most 3"),
    (GRAPHS["lengths"], {"start": "pca"}, "START"),
    (GRAPHS["affinities"], {"perplexity": 4.0}, "UNUSED"), (features(POINTS[:4]), {}, "FEW-POINTS"),
    (features(np.eye(9)), {}, "ALL-EQUAL"), (dissimilarities(1.0 - np.eye(9)), {}, "one distance")])
def test_what_has_no_layout_is_refused_by_name(data: Given, options: dict[str, Any], said: str) -> None:
    with pytest.raises((ConfigError, DataError, GeometryError)) as caught:
        of_data(data, **options)
    assert said in f"{caught.value.code} {caught.value}"


def test_points_without_edges_are_refused_and_few_edges_are_told(wording: Wording) -> None:
    alone = LengthGraph(NONE[:6], NAMES[:6], starts=np.array([0, 1, 3, 4, 5, 5, 6]),
                        indices=np.array([1, 0, 2, 1, 5, 3]), weights=np.ones(6))
    with wording.raises(GeometryError, "ISOLATED") as caught:
        of_data(alone)
    assert caught.value.where == "points: 4"
    with Notes() as notes:
        of_data(GRAPHS["lengths"], perplexity=9.5)
    assert "N-FEW-EDGES" in notes.codes


def test_a_default_perplexity_is_clipped_with_a_note() -> None:
    with Notes() as notes:
        method, _, model = of_data(features(POINTS))
    assert "N-PERPLEXITY" in notes.codes and method.perplexity == 38.5 / 3
    assert np.isfinite(model.embedding).all()
