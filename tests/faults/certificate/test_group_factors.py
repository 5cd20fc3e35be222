"""Factors and variates of three views that do not follow from them fail, honest ones pass."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, TwoViews
from mlcli.methods import METHODS, Model
from tests.support import checks_of, names

NOISE = np.random.default_rng(17)
SHARED = NOISE.standard_normal((120, 2)) * [2, 1]
PARTS = [SHARED @ NOISE.standard_normal((2, width)) + NOISE.standard_normal((120, width)) for width in (5, 4, 3)]


@cache
def fitted(name: str, given: str = "both", unit: float = 1.0, mean: float = 0.0) -> tuple[Any, TwoViews, Model]:
    """A method, its data in a unit about a mean, and its model of them."""
    one, two, three = (Features(part * scale + mean * scale, names(120), names(part.shape[1]))
                       for part, scale in zip(PARTS, (unit, 1 / unit, 1.0), strict=True))
    data = TwoViews(one.values, one.ids, one.columns, TwoViews(two.values, two.ids, two.columns, three))
    options = {"given": given} if name == "ibfa" else {}
    method = METHODS[name](axes={"components": 2}, **options).resolve(data)
    return method, data, method.fit(data, Compute())


def checked(method: Any, data: TwoViews, model: Model) -> dict[str, Check]:
    return {check.name: check for check in checks_of(method, data, model)}


def failed(found: dict[str, Check]) -> set[str]:
    return {name for name, check in found.items() if check.verdict == "fail"}


@pytest.mark.parametrize(("name", "given"), [("cca", ""), ("ibfa", "both"), ("ibfa", "first")])
@pytest.mark.parametrize(("unit", "mean"), [(1.0, 0.0), (1e100, 0.0), (1e-90, 1e6)])
def test_honest_results_pass(name: str, given: str, unit: float, mean: float) -> None:
    found = checked(*fitted(name, given, unit, mean))
    assert {check.verdict for check in found.values()} <= {"pass", "skipped"}
    wanted = ("correlations", "views", "all views") if name == "cca" else (
        "posterior", "log-likelihood", "stationarity", "variances", "views", "noise")
    assert all(found[check].verdict == "pass" for check in wanted)


def scaled(stated: Any, factor: float, chosen: slice) -> Any:
    """Loadings with those of some columns longer."""
    values: Array = stated.values.copy()
    values[chosen] *= factor
    return replace(stated, values=values)


def loadings_of_second_view(model: Model) -> Model:
    return replace(model, loadings=scaled(model.loadings, 1.001, slice(5, 9)))


def noise_of_third_view(model: Model) -> Model:
    return replace(model, private=scaled(model.private, 1.05, slice(9, 12)))


def likelihood(model: Model) -> Model:
    return replace(model, fit={**model.fit, "log_likelihood": model.fit["log_likelihood"] + 0.01})


def spectrum(model: Model) -> Model:
    assert model.spectrum is not None
    return replace(model, spectrum=replace(model.spectrum, solved=model.spectrum.solved * 0.999))


def scores(model: Model) -> Model:
    return replace(model, embedding=np.roll(model.embedding, 1, axis=0))


def map_of_third_view(model: Model) -> Model:
    *others, last = model.others
    return replace(model, others=(*others, replace(last, axes=last.axes * 1.001)))


def joint(model: Model) -> Model:
    held = model.joint
    assert held is not None
    return replace(model, joint=replace(
        held, precisions=None if held.precisions is None else held.precisions * 1.001,
        weights=None if held.weights is None else held.weights * 1.001))


@pytest.mark.parametrize(("name", "lie", "seen"), [
    ("ibfa", loadings_of_second_view, "stationarity"), ("ibfa", noise_of_third_view, "noise"),
    ("ibfa", noise_of_third_view, "log-likelihood"), ("ibfa", likelihood, "log-likelihood"),
    ("ibfa", spectrum, "variances"), ("ibfa", scores, "posterior"), ("ibfa", map_of_third_view, "views"),
    ("ibfa", joint, "views"), ("cca", loadings_of_second_view, "views"), ("cca", spectrum, "correlations"),
    ("cca", scores, "correlations"), ("cca", map_of_third_view, "views"), ("cca", joint, "all views")])
def test_a_part_that_does_not_follow_fails(name: str, lie: Callable[[Model], Model], seen: str) -> None:
    method, data, model = fitted(name)
    assert seen in failed(checked(method, data, lie(model)))


def test_columns_that_depend_on_each_other_have_no_likelihood() -> None:
    one, two, three = (Features(part, names(120), names(part.shape[1])) for part in (
        PARTS[0], np.hstack([PARTS[1], PARTS[1][:, :1]]), PARTS[2]))
    data = TwoViews(one.values, one.ids, one.columns, TwoViews(two.values, two.ids, two.columns, three))
    method: Any = METHODS["ibfa"]().resolve(data)
    model = method.fit(data, Compute())
    found = checked(method, data, model)
    assert model.fit["log_likelihood"] is None and found["log-likelihood"].verdict == "skipped" and not failed(found)
