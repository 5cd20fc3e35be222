"""Power iteration, by the theory of its convergence; its trace, and what a certificate says of a changed one."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.quantity import Quantity
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.eigen.solvers import power_iteration
from mlcli.methods import METHODS, Model
from tests.support import checks_of, features, fit

POINTS = np.random.default_rng(3).standard_normal((40, 5)) * [5, 3, 2, 1, 0.1]


def test_errors_fall_by_the_ratio_of_eigenvalues() -> None:
    """Residuals by λ₂/λ₁ at each step, errors of the eigenvalue by its square (Golub and Van Loan, section 8.2)."""
    matrix = np.diag([1.0, 0.5, 0.1, 0.01])
    found = power_iteration(matrix, Eigensolve(components=1), 4, 1e-9, np.random.default_rng(0))
    axis, estimates, residuals = found.steps[10:20].T
    assert (axis == 1).all()
    assert residuals[1:] / residuals[:-1] == pytest.approx(0.5, rel=1e-4)
    errors = 1 - estimates
    assert errors[1:] / errors[:-1] == pytest.approx(0.25, rel=1e-4)


def test_the_trace_has_each_axis_in_units_of_the_spectrum() -> None:
    model = fit("pca", POINTS, route="power", divisor="n-1", eigensolve={"components": 3})
    assert model.trace is not None and model.spectrum is not None
    axes = np.asarray(model.curves["axis"].value)
    assert np.array_equal(np.unique(axes), [1, 2, 3])
    for axis, value in enumerate(model.spectrum.eigenvalues, start=1):
        steps = model.trace[axes == axis]
        assert steps[-1] == pytest.approx(value, rel=1e-12)
        assert np.diff(steps).min() >= -1e-14 * value
    assert np.asarray(model.curves["residual"].value)[-1] <= 1e-11


def with_trace(change: Callable[[Array], Array]) -> Callable[[Model], Model]:
    return lambda model: replace(model, objective=Quantity(change(np.asarray(model.trace).copy())))


def with_residuals(change: Callable[[Array], Array]) -> Callable[[Model], Model]:
    return lambda model: replace(model, curves={**model.curves, "residual": Quantity(
        change(np.asarray(model.curves["residual"].value).copy()))})


LIES: dict[str, Callable[[Model], Model]] = {
    "power": with_trace(lambda values: np.where(np.arange(len(values)) == 9, values * (1 - 1e-3), values)),
    "power residuals": with_residuals(lambda values: np.where(np.arange(len(values)) == 9, 0.3, values)),
}


@pytest.mark.parametrize("seen", ["", *LIES, "missing"])
def test_a_changed_step_fails(seen: str) -> None:
    data = features(2.0**30 * POINTS)
    method = METHODS["pca"](route="power").resolve(data)
    model = method.fit(data, Compute())
    wrong = LIES.get(seen, lambda model: replace(model, objective=None) if seen else model)(model)
    failed = {check.name for check in checks_of(method, data, wrong)
              if check.verdict == "fail"}
    assert (("power" if seen == "missing" else seen) in failed) if seen else not failed
