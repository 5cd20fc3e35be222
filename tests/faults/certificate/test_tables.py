"""Methods of several tables whose axes, weights or groups are not those of their table fail."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.data.options.input import Input
from mlcli.data.read.table import read
from mlcli.methods import METHODS, Model
from tests.support import checks_of, distances, features, matrices

RANDOM = np.random.default_rng(4)
POINTS = np.hstack([RANDOM.standard_normal((40, 6)) * [1, 5, 0.1, 1e6, 3, 1], RANDOM.integers(0, 3, (40, 2))])
OPTIONS: dict[str, dict[str, Any]] = {
    "mfa": {"groups": ["first=x1:x3", "second=x4,x5,x7", "third=x6,x8"], "supplementary": ["third"]},
    "statis": {"groups": ["first=x1:x3", "second=x4,x5,x7", "third=x6,x8"]}, "famd": {}}


@cache
def fitted(name: str) -> tuple[Any, Any, Model]:
    method = METHODS[name](categories=["x7", "x8"], **OPTIONS[name]).resolve(features(POINTS))
    return method, method.with_metric(features(POINTS)), method.fit(features(POINTS), Compute())


def failed(method: Any, data: Any, model: Model) -> set[str]:
    return {check.name for check in checks_of(method, data, model) if check.verdict == "fail"}


def turned(matrix: Array) -> Callable[[Model], Model]:
    """The model on other axes of the same plane (p x p)."""
    def changed(model: Model) -> Model:
        projector: Any = model.projector
        return replace(model, embedding=model.embedding @ matrix,
                       projector=replace(projector, axes=projector.axes @ matrix))
    return changed


def of_groups(**changes: Callable[[Any], Any]) -> Callable[[Model], Model]:
    def changed(model: Model) -> Model:
        groups: Any = model.groups
        return replace(model, groups=replace(groups, **{
            name: change(getattr(groups, name)) for name, change in changes.items()}))
    return changed


def of_values(change: Callable[[Array], Array]) -> Callable[[Model], Model]:
    def changed(model: Model) -> Model:
        spectrum: Any = model.spectrum
        values = change(spectrum.solved.copy())
        return replace(model, spectrum=replace(spectrum, solved=values, solved_trace=float(values.sum())))
    return changed


def moved_row(model: Model) -> Model:
    embedding = model.embedding.copy()
    embedding[7, 1] += 1e-8
    return replace(model, embedding=embedding)


def other_loading(model: Model) -> Model:
    loadings: Any = model.loadings
    values = loadings.values.copy()
    values[-1, 0] += 1e-8
    return replace(model, loadings=replace(loadings, values=values))


def heavier(weights: Array) -> Array:
    weights = weights.copy()
    weights[0] += 1e-8
    return weights


def bumped(values: Array) -> Array:
    values = values.copy()
    values.flat[0] += 1e-8
    return values


TURN = np.array([[np.cos(1e-6), -np.sin(1e-6)], [np.sin(1e-6), np.cos(1e-6)]])
LIES: dict[str, tuple[Callable[[Model], Model], set[str]]] = {
    "rotated": (turned(TURN), {"axes"}), "stretched": (turned(np.diag([1.0, 1 + 1e-8])), {"inertias"}),
    "a larger eigenvalue": (of_values(lambda values: values * (1 + 1e-8)), {"axes", "inertias", "total inertia"}),
    "an axis left out": (of_values(lambda values: np.delete(values, 1)), {"axes", "inertias", "total inertia"}),
    "the last axis left out": (of_values(lambda values: values[:-1]), {"total inertia"}),
    "a row": (moved_row, {"axes"}), "a loading": (other_loading, {"loadings"}),
    "a weight": (of_groups(weights=heavier), {"weights", "axes"}),
    "a coordinate of a group": (of_groups(coordinates=bumped), {"group coordinates"}),
    "a product of kernels": (of_groups(products=bumped), {"group products"})}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("lie", LIES)
def test_lies_are_seen(name: str, lie: str) -> None:
    change, seen = LIES[lie]
    method, data, model = fitted(name)
    assert not failed(method, data, model)
    assert seen <= failed(method, data, change(model))


def in_blocks(name: str, values: Array, folder: Path) -> tuple[Any, Any, Model]:
    """What `fitted` returns of a table in a file, read in blocks."""
    np.save(folder / "t.npy", values)
    table: Any = read(Input(path=str(folder / "t.npy"), stream="always"), streams=True)
    data = table.data()
    method = METHODS[name](categories=["x7", "x8"], **OPTIONS[name]).resolve(data)
    return method, method.with_metric(data), method.fit(data, Compute())


@pytest.mark.parametrize("name", OPTIONS)
def test_lies_are_seen_of_a_table_in_blocks(tmp_path: Path, name: str) -> None:
    method, data, model = in_blocks(name, POINTS, tmp_path)
    assert not failed(method, data, model)
    lies = LIES if name == "famd" else {**LIES, "a partial point": (of_groups(partial=bumped), {"partial points"})}
    for lie, (change, seen) in lies.items():
        assert seen <= failed(method, data, change(model)), lie


@pytest.mark.parametrize("name", ["mfa", "statis"])
def test_partial_points_are_computed_again(name: str) -> None:
    method, data, model = fitted(name)
    assert failed(method, data, of_groups(partial=bumped)(model)) == {"partial points"}


def test_kernels_that_are_not_divided_by_their_norm_are_no_mfa() -> None:
    """A principal component analysis of all columns: its own equations hold, those of the groups do not."""
    method, data, model = fitted("mfa")
    metric = model.projector.similarity.metric
    plain = metric.with_factors(np.array([1.0, 1.0, 0.0]))
    rows = plain.represent(data.values)
    _, sizes, right = np.linalg.svd(rows / np.sqrt(len(rows)), full_matrices=False)
    projector: Any = model.projector
    other = replace(model, embedding=rows @ right[:2].T, loadings=None, groups=None, projector=replace(
        projector, axes=right[:2].T, similarity=replace(projector.similarity, metric=plain)), spectrum=replace(
        model.spectrum, solved=sizes**2, solved_trace=float((sizes**2).sum())))
    assert {"axes", "total inertia"} <= failed(method, data, other)
    assert method.name == "mfa"


HOSTILE = {"huge": POINTS * np.array([*[1e300] * 6, 1, 1]), "tiny": POINTS * np.array([*[1e-290] * 6, 1, 1]),
           "of all sizes": POINTS * np.array([1e-300, 1e300, 1, 1e-9, 1e200, 7, 1, 1]),
           "far from zero": POINTS + np.array([*[1e7] * 6, 0, 0]), "wide": POINTS[:6],
           "equal": np.repeat(POINTS[:4], 9, axis=0), "an outlier": np.vstack([POINTS, [[*[1e9] * 6, 0, 1]]])}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("table", HOSTILE)
def test_hostile_tables_pass(name: str, table: str) -> None:
    data = features(HOSTILE[table])
    method = METHODS[name](categories=["x7", "x8"], **OPTIONS[name]).resolve(data)
    model = method.fit(data, Compute())
    assert np.isfinite(model.embedding).all()
    assert [check for check in checks_of(method, method.with_metric(data), model)
            if check.verdict in ("warn", "fail")] == []


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("table", HOSTILE)
def test_hostile_tables_in_blocks_pass(tmp_path: Path, name: str, table: str) -> None:
    values = HOSTILE[table]
    method, data, model = in_blocks(name, values, tmp_path)
    whole = METHODS[name](categories=["x7", "x8"], **OPTIONS[name]).resolve(features(values)).fit(
        features(values), Compute())
    near = 1e-7 if table == "far from zero" else 1e-10  # there means are 1e8 deviations, and have 1e-16 of rounding
    assert np.allclose(model.embedding, whole.embedding, rtol=0, atol=near * np.abs(whole.embedding).max())
    assert [check for check in checks_of(method, data, model, full=True) if check.verdict in ("warn", "fail")] == []


@cache
def of_matrices(norm: str) -> tuple[Any, Any, Model]:
    data = matrices([distances(POINTS[:, :3]) ** 1.5, distances(POINTS[:, 3:4]), distances(POINTS[:, 4:6])])
    method = METHODS["statis"](normalization=norm).resolve(data)
    return method, data.normalized(), method.measured_in(data.normalized().unit).solve(data.normalized(), Compute())


MATRIX_LIES = {name: LIES[name] for name in (
    "stretched", "a larger eigenvalue", "an axis left out", "a row", "a weight", "a coordinate of a group",
    "a product of kernels")}


@pytest.mark.parametrize("norm", ["frobenius", "eigenvalue"])
@pytest.mark.parametrize("lie", MATRIX_LIES)
def test_lies_about_matrices_are_seen(norm: str, lie: str) -> None:
    change, seen = MATRIX_LIES[lie]
    method, data, model = of_matrices(norm)
    assert not failed(method, data, model)
    changed = stretch(model) if lie == "stretched" else change(model)
    assert seen <= failed(method, data, changed)


def stretch(model: Model) -> Model:
    return replace(model, embedding=model.embedding * [1.0, 1 + 1e-8])


TABLES = [{"name": "first", "columns": ["x1:x3"], "scale": "standard"},
          {"name": "second", "columns": ["x4"], "kernel": {"name": "gaussian"}},
          {"name": "third", "columns": ["x5", "x6"], "kernel": {"name": "gower"}, "metric": "cityblock"},
          {"name": "fourth", "columns": ["x7"], "weight": 0}]


@cache
def of_sum(weights: str) -> tuple[Any, Any, Model]:
    data = features(POINTS)
    method = METHODS["chain"](kernel={"name": "sum", "weights": weights, "tables": TABLES}).resolve(data)
    return method, data, method.fit(data, Compute())


def of_function(**changes: Callable[[Any], Any]) -> Callable[[Model], Model]:
    """The model with another function of two rows, whose kernel is not that of the eigenproblem."""
    def changed(model: Model) -> Model:
        projector: Any = model.projector
        function = projector.similarity.function
        other = replace(function, **{name: change(getattr(function, name)) for name, change in changes.items()})
        return replace(model, projector=replace(projector, similarity=replace(projector.similarity, function=other)))
    return changed


def another_rate(functions: tuple[Any, ...]) -> tuple[Any, ...]:
    return (functions[0], functions[1].replace(rate=functions[1].rate * 1.001), *functions[2:])


SUM_LIES: dict[str, tuple[Callable[[Model], Model], set[str]]] = {
    "a weight of the kernel": (of_function(weights=heavier), {"weights", "stated weights"}),
    "a scale": (of_function(scales=bumped), {"tables"}), "a rate": (of_function(functions=another_rate), {"tables"}),
    "a column of another table": (of_function(owners=lambda owners: np.roll(owners, 1)), {"tables"}),
    "a weight": (of_groups(weights=heavier), {"stated weights"}),
    **{name: LIES[name] for name in ("a coordinate of a group", "a product of kernels")},
    "a partial point": (of_groups(partial=bumped), {"partial points"})}


@pytest.mark.parametrize("weights", ["given", "rv"])
@pytest.mark.parametrize("lie", SUM_LIES)
def test_lies_about_a_sum_of_kernels_are_seen(weights: str, lie: str) -> None:
    change, seen = SUM_LIES[lie]
    method, data, model = of_sum(weights)
    assert not failed(method, data, model)
    assert seen <= failed(method, data, change(model))


@pytest.mark.parametrize("table", HOSTILE)
def test_sums_of_kernels_of_hostile_tables_pass(table: str) -> None:
    data = features(HOSTILE[table])
    method = METHODS["chain"](kernel={"name": "sum", "tables": TABLES}).resolve(data)
    model = method.fit(data, Compute())
    assert np.isfinite(model.embedding).all()
    assert [check for check in checks_of(method, data, model, full=True) if check.verdict in ("warn", "fail")] == []


GAPS = np.where((7 * np.arange(40)[:, None] + 3 * np.arange(8)) % 13 == 0, np.nan, POINTS)


@cache
def with_gaps(name: str) -> tuple[Any, Any, Model]:
    method = METHODS[name](categories=["x7", "x8"], iterate={"tolerance": 1e-13}, **OPTIONS[name]).resolve(
        features(GAPS))
    return method, method.with_metric(features(GAPS)), method.fit(features(GAPS), Compute())


def of_metric(change: Callable[[Any], Any]) -> Callable[[Model], Model]:
    def changed(model: Model) -> Model:
        projector: Any = model.projector
        other = change(projector.similarity.metric)
        return replace(model, projector=replace(projector, similarity=replace(projector.similarity, metric=other)))
    return changed


def of_completion(**changes: Callable[[Any], Any]) -> Callable[[Model], Model]:
    return of_metric(lambda metric: replace(metric, completion=replace(metric.completion, **{
        name: change(getattr(metric.completion, name)) for name, change in changes.items()})))


def quieter(model: Model) -> Model:
    return replace(model, fit={**model.fit, "noise_variance": float(model.fit["noise_variance"]) * 0.999})


GAP_LIES: dict[str, tuple[Callable[[Model], Model], set[str]]] = {
    "a mean": (of_metric(lambda metric: replace(metric, means=metric.means + 1e-5)), {"missing cells"}),
    "a deviation": (of_metric(lambda metric: replace(metric, scales=metric.scales * (1 + 1e-5))), {"missing cells"}),
    "the shares of axes": (of_completion(shares=lambda shares: shares * 0.9999), {"shares"}),
    "cells of other axes": (of_completion(loadings=lambda loadings: loadings[:, ::-1] * 1.0), {"missing cells"}),
    "less noise": (quieter, {"noise variance"}),
    **{name: LIES[name] for name in ("rotated", "a row", "a weight", "a loading", "a product of kernels")}}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("lie", GAP_LIES)
def test_lies_about_missing_cells_are_seen(name: str, lie: str) -> None:
    method, data, model = with_gaps(name)
    change, seen = GAP_LIES[lie]
    assert not failed(method, data, model)
    assert seen <= failed(method, data, change(model))
