"""Correspondence analyses that are not those of their table fail, though their parts agree with each other."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.methods import METHODS, Model
from tests.support import checks_of, features

RANDOM = np.random.default_rng(3)
COUNTS = RANDOM.poisson(RANDOM.gamma(1.0, 3.0, (40, 7))) + np.eye(40, 7)
ANSWERS = np.column_stack([RANDOM.integers(0, size, 60) for size in (2, 3, 5, 1, 4)]).astype(float)


@cache
def fitted(name: str) -> tuple[Any, Any, Model]:
    return of_table(name, COUNTS if name == "ca" else ANSWERS)


def of_table(name: str, values: Array) -> tuple[Any, Any, Model]:
    """The method, its data with the metric, and its model."""
    method = METHODS[name]().resolve(features(values))
    return method, method.with_metric(features(values)), method.fit(features(values), Compute())


def failed(method: Any, data: Any, model: Model) -> set[str]:
    return {check.name for check in checked(method, data, model) if check.verdict == "fail"}


def checked(method: Any, data: Any, model: Model) -> list[Check]:
    return list(checks_of(method, data, model))


def turned(model: Model, matrix: Array) -> Model:
    """The model on other axes of the same space (p x p)."""
    assert model.loadings is not None
    scales = np.linalg.norm(model.loadings.values, axis=0) / np.linalg.norm(standard(model), axis=0)
    projector: Any = model.projector
    return replace(model, embedding=model.embedding @ matrix, projector=replace(projector, axes=model.axes @ matrix),
                   loadings=replace(model.loadings, values=standard(model) @ matrix * scales))


def standard(model: Model) -> Array:
    return model.axes / model.projector.similarity.metric.roots[:, None]


def rotated(model: Model) -> Model:
    cosine, sine = np.cos(1e-6), np.sin(1e-6)
    return turned(model, np.array([[cosine, -sine], [sine, cosine]]))


def stretched(model: Model) -> Model:
    return turned(model, np.diag([1.0, 1 + 1e-9]))


def of_inertias(change: Callable[[Array], Array]) -> Callable[[Model], Model]:
    def changed(model: Model) -> Model:
        spectrum: Any = model.spectrum
        values = change(spectrum.solved.copy())
        return replace(model, spectrum=replace(spectrum, solved=values, solved_trace=float(values.sum())))

    return changed


def other_masses(model: Model) -> Model:
    """All columns as heavy as each other, with the same coordinates of all rows and columns."""
    projector: Any = model.projector
    roots = projector.similarity.metric.roots
    even = np.full_like(roots, 1 / np.sqrt(len(roots)))
    metric = replace(projector.similarity.metric, roots=even)
    return replace(model, projector=replace(projector, similarity=replace(projector.similarity, metric=metric),
                                            axes=model.axes * even[:, None] / roots[:, None]))


def column(model: Model) -> Model:
    assert model.loadings is not None
    values = model.loadings.values.copy()
    values[1] *= 1 + 1e-12
    return replace(model, loadings=replace(model.loadings, values=values))


def row(model: Model) -> Model:
    moved = model.embedding.copy()
    moved[20, 1] += 1e-9
    return replace(model, embedding=moved)


LIES: dict[str, tuple[Callable[[Model], Model], set[str]]] = {
    "rotated": (rotated, {"inertias"}), "stretched": (stretched, {"directions", "inertias"}),
    "a larger inertia": (of_inertias(lambda values: values * (1 + 1e-9)), {"inertias", "total inertia"}),
    "an axis left out": (of_inertias(lambda values: np.delete(values, 1)), {"inertias", "total inertia"}),
    "the last inertia left out": (of_inertias(lambda values: values[:-1]), {"total inertia"}),
    "other masses": (other_masses, {"masses"}), "a column": (column, {"loadings"}), "a row": (row, {"rows"})}


@pytest.mark.parametrize("name", ["ca", "mca"])
@pytest.mark.parametrize("lie", LIES)
def test_lies_are_seen(name: str, lie: str) -> None:
    method, data, model = fitted(name)
    change, seen = LIES[lie]
    assert not failed(method, data, model)
    assert seen <= failed(method, data, change(model))


def test_rows_that_count_alike_are_no_correspondence_analysis() -> None:
    """A principal component analysis of profiles without masses: its own equations hold, those of masses do not."""
    method, data, model = fitted("ca")
    points = data.metric.represent(data.values)
    _, sizes, right = np.linalg.svd((points - data.metric.roots) / np.sqrt(len(points)), full_matrices=False)
    axes, projector = right[:2].T, model.projector
    other = replace(model, embedding=(points - data.metric.roots) @ axes, projector=replace(projector, axes=axes),
                    spectrum=replace(model.spectrum, solved=sizes**2, solved_trace=float((sizes**2).sum())),
                    loadings=None)
    assert {"inertias", "columns", "total inertia"} <= failed(method, data, other)


def test_adjusted_inertias_and_their_total_are_computed_again() -> None:
    method, data, model = fitted("mca")
    spectrum: Any = model.spectrum
    moved = replace(model, spectrum=replace(spectrum, adjusted=spectrum.adjusted * (1 + 1e-7)))
    assert failed(method, data, moved) == {"adjusted inertias"}
    more = replace(model, fit={**model.fit, "adjusted_total": model.fit["adjusted_total"] * (1 + 1e-9)})
    assert failed(method, data, more) == {"adjusted total"}


HOSTILE = {"huge": COUNTS * 1e300, "tiny": COUNTS * 2.0 ** -1040, "wide": RANDOM.poisson(2, (6, 90)) + 1.0,
           "a giant": np.where(np.eye(40, 7) * (np.arange(40) == 3)[:, None], 1e12, COUNTS),
           "a rare column": COUNTS * np.array([1, 1, 1, 1, 1, 1, 1e-11]),
           "independent": np.outer(np.arange(1.0, 30), [1, 7, 100]) * (1 + 1e-9 * RANDOM.standard_normal((29, 3))),
           "in blocks": np.kron(np.eye(3), RANDOM.poisson(3, (9, 4)) + 1.0), "equal": np.repeat(COUNTS[:3], 20, axis=0),
           "a row of one": np.vstack([COUNTS, np.eye(1, 7) * 1e-13])}


@pytest.mark.parametrize("name", HOSTILE)
def test_honest_runs_of_hostile_tables_pass(name: str) -> None:
    checks = checked(*of_table("ca", HOSTILE[name]))
    assert {check.verdict for check in checks} <= {"pass", "skipped"}, [
        check for check in checks if check.verdict not in ("pass", "skipped")]


@pytest.mark.parametrize("values", [
    np.kron(np.eye(2), np.ones((30, 3))), np.arange(90.0).reshape(30, 3) // 15, np.tile(np.eye(4), (5, 1)),
    np.column_stack([np.arange(40) // 2, np.arange(40) % 2, np.arange(40) % 3]) * 1e200])
@pytest.mark.filterwarnings("ignore")
def test_honest_runs_of_hostile_answers_pass(values: Array) -> None:
    checks = checked(*of_table("mca", values))
    assert {check.verdict for check in checks} <= {"pass", "skipped"}
