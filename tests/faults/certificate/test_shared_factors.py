"""Factors of two views that are no maximum of their likelihood fail, though scores and likelihood agree with them."""

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
SHARED = NOISE.standard_normal((120, 3)) * [2, 1, 0.5]
FIRST, SECOND = (SHARED @ NOISE.standard_normal((3, width)) + NOISE.standard_normal((120, width)) for width in (5, 4))


@cache
def fitted(given: str, unit: float = 1.0, mean: float = 0.0) -> tuple[Any, TwoViews, Model]:
    """The method, its data in a unit about a mean, and its model of them, with two of the four factors."""
    data = TwoViews(FIRST * unit, names(120), names(5),
                    view=Features(SECOND / unit + mean / unit, names(120), columns=names(4)))
    method = METHODS["ibfa"](given=given, axes={"components": 2}).resolve(data)
    return method, data, method.fit(data, Compute())


def checked(method: Any, data: TwoViews, model: Model) -> dict[str, Check]:
    """What the certificate says of a model, by name."""
    return {check.name: check for check in checks_of(method, data, model)}


def failed(found: dict[str, Check]) -> set[str]:
    return {name for name, check in found.items() if check.verdict == "fail"}


def log_likelihood(loadings: Array) -> float:
    """The largest log-likelihood of both views at loadings, by SciPy's density."""
    from scipy.stats import multivariate_normal

    covariance = np.cov(np.hstack([FIRST, SECOND]).T, bias=True)
    covariance[:5, 5:] = loadings[:5] @ loadings[5:].T
    covariance[5:, :5] = covariance[:5, 5:].T
    rows = np.hstack([FIRST, SECOND])
    return float(multivariate_normal(rows.mean(axis=0), covariance).logpdf(rows).sum())


def at(model: Model, loadings: Array) -> Model:
    """A model at other loadings, given the first view, with the scores and the likelihood that belong to them."""
    assert model.loadings is not None
    projector: Any = model.projector
    axes = np.linalg.solve(np.cov(FIRST.T, bias=True), loadings[:5])
    return replace(model, loadings=replace(model.loadings, values=loadings),
                   embedding=(FIRST - FIRST.mean(axis=0)) @ axes,
                   projector=replace(projector, axes=projector.input_unit.plain(axes), decoder=replace(
                       projector.decoder, directions=projector.input_unit.measured(loadings[:5]))),
                   fit={**model.fit, "log_likelihood": log_likelihood(loadings)})


@pytest.mark.parametrize("given", ["both", "first"])
@pytest.mark.parametrize(("unit", "mean"), [(1.0, 0.0), (1e100, 0.0), (1e-90, 1e7)])
def test_the_likelihood_of_shared_factors_is_computed_again(given: str, unit: float, mean: float) -> None:
    found = checked(*fitted(given, unit, mean))
    assert {check.verdict for check in found.values()} <= {"pass", "skipped"}
    for name in ("correlations", "lengths", "posterior", "log-likelihood", "stationarity"):
        assert found[name].verdict == "pass" and found[name].value < 5


def test_a_consistent_lie_is_seen_by_its_slope() -> None:
    method, data, model = fitted("first")
    assert model.loadings is not None
    assert not failed(checked(method, data, at(model, model.loadings.values)))
    moved = model.loadings.values + 1e-3 * np.random.default_rng(1).standard_normal((9, 2))
    assert {"stationarity", "lengths"} <= failed(checked(method, data, at(model, moved)))


def second_view(model: Model) -> Model:
    assert model.loadings is not None
    return replace(model, loadings=replace(model.loadings, values=model.loadings.values * np.repeat(
        [1, 1.001], [5, 4])[:, None]))


def likelihood(model: Model) -> Model:
    return replace(model, fit={**model.fit, "log_likelihood": model.fit["log_likelihood"] + 0.01})


def last_correlation(model: Model) -> Model:
    assert model.spectrum is not None
    return replace(model, spectrum=replace(model.spectrum, solved=model.spectrum.solved * [1, 1, 1, 0.999]))


def scores(model: Model) -> Model:
    return replace(model, embedding=np.roll(model.embedding, 1, axis=0))


@pytest.mark.parametrize(("lie", "seen"), [
    (second_view, "lengths"), (likelihood, "log-likelihood"), (last_correlation, "correlations"),
    (scores, "posterior")])
def test_a_part_that_does_not_follow_fails(lie: Callable[[Model], Model], seen: str) -> None:
    method, data, model = fitted("both")
    assert seen in failed(checked(method, data, lie(model)))


def test_columns_that_depend_on_each_other_have_no_likelihood() -> None:
    view = Features(np.hstack([SECOND, SECOND[:, :1]]), names(120), columns=names(5))
    data = TwoViews(FIRST, names(120), names(5), view=view)
    method: Any = METHODS["ibfa"]().resolve(data)
    found = checked(method, data, method.fit(data, Compute()))
    assert found["log-likelihood"].verdict == "skipped" and not failed(found)
