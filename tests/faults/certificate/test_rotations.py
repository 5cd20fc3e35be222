"""Loadings that are turned a little away from their criterion fail, though all that a run states agrees with them."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Covariance, Features
from mlcli.core.iterate import Iterate
from mlcli.methods import METHODS, Model
from tests.laws.accuracy.families import FAMILIES
from tests.support import checks_of, features

ROTATIONS: list[dict[str, Any]] = [
    {"name": "none"}, {"name": "varimax"}, {"name": "varimax", "normalize": False}, {"name": "promax"},
    {"name": "oblimin"}, {"name": "oblimin", "normalize": True}]
OBLIQUE = ("promax", "oblimin")
NOISE = np.random.default_rng(12)
POINTS = (NOISE.standard_normal((150, 3)) @ (NOISE.standard_normal((3, 10)) * (NOISE.random((3, 10)) < 0.5))
          + NOISE.standard_normal((150, 10)))


@cache
def fitted(rotation: int, noise: str, whole: bool = True) -> tuple[Any, Features | Covariance, Model]:
    """Factor analysis, its data, of points or of their covariance, and its model of them."""
    data = features(POINTS) if whole else Covariance(np.cov(POINTS.T), tuple(map(str, range(10))))
    method = METHODS["fa"](rotation=ROTATIONS[rotation], noise=noise, axes={"components": 3}).resolve(data)
    return method, data, method.fit(data, Compute())


def checked(method: Any, data: Features | Covariance, model: Model) -> dict[str, Check]:
    """What the certificate says of a model, by name."""
    return {check.name: check for check in checks_of(method, data, model)}


def turned(model: Model, oblique: bool, angle: float = 1e-3) -> Model:
    """The first factor turned toward the second, in all places, with the correlations and sums that it then has."""
    factors = np.array(model.fit["factor_correlations"])
    back = np.eye(3)  # new factors are old ones times its transpose
    back[0, 1] = angle
    if oblique:
        back /= np.sqrt(np.diag(back @ factors @ back.T))[:, None]
    else:
        back[1, 0] = -angle
        back = back / np.sqrt(1 + angle**2) + (1 - 1 / np.sqrt(1 + angle**2)) * np.diag([0, 0, 1])
    turn = np.linalg.inv(back)
    found = replace(model, fit={**model.fit, "factor_correlations": (back @ factors @ back.T).tolist()})
    loadings = found.loadings
    assert loadings is not None
    found = replace(found, loadings=replace(loadings, values=loadings.values @ turn), spectrum=summed(model, turn))
    if not len(model.embedding):
        return found
    projector: Any = model.projector
    decoder = replace(projector.decoder, directions=projector.decoder.directions @ turn)
    return replace(found, embedding=model.embedding @ back.T, projector=replace(
        projector, axes=projector.axes @ back.T, decoder=decoder))


def summed(model: Model, turn: Array) -> Any:
    """The spectrum of turned loadings: their sums of squares, of columns over their deviations."""
    assert model.loadings is not None and model.spectrum is not None
    variances = np.array(list(model.fit["variances"].values()))
    equal = "noise_variance" in model.fit
    shares = model.loadings.values @ turn / np.sqrt(variances.mean() if equal else variances[:, None])
    return replace(model.spectrum, solved=np.sum(shares**2, axis=0) * model.spectrum.solved_trace / 10)


@pytest.mark.parametrize("noise", ["each", "equal"])
@pytest.mark.parametrize("rotation", range(len(ROTATIONS)))
def test_rotated_loadings_are_stationary(rotation: int, noise: str) -> None:
    found = checked(*fitted(rotation, noise))
    assert {check.verdict for check in found.values()} <= {"pass", "skipped"}
    assert found["rotation"].value < 1 and found["factors"].value < 5


@pytest.mark.parametrize("whole", [True, False], ids=["points", "covariance"])
@pytest.mark.parametrize("noise", ["each", "equal"])
@pytest.mark.parametrize("rotation", range(len(ROTATIONS)))
def test_loadings_turned_by_a_thousandth_fail(rotation: int, noise: str, whole: bool) -> None:
    method, data, model = fitted(rotation, noise, whole)
    found = checked(method, data, turned(model, ROTATIONS[rotation]["name"] in OBLIQUE))
    assert {name for name, check in found.items() if check.verdict == "fail"} == {"rotation"}
    assert found["rotation"].value > 1e4


def test_factors_without_variance_one_fail() -> None:
    method, data, model = fitted(4, "each", False)
    assert model.loadings is not None
    longer = np.diag([2.0, 1, 1])
    lie = replace(model, loadings=replace(model.loadings, values=model.loadings.values @ longer), fit={
        **model.fit, "factor_correlations": (np.diag([0.5, 1, 1]) @ model.fit["factor_correlations"] @ np.diag(
            [0.5, 1, 1])).tolist()}, spectrum=summed(model, longer))
    found = checked(method, data, lie)
    assert found["factors"].verdict == "fail" and found["stationarity"].verdict == "pass"


def test_columns_that_do_not_vary_have_no_loadings() -> None:
    data = features(np.ones((20, 5)))
    method: Any = METHODS["fa"]().resolve(data)
    assert checked(method, data, method.fit(data, Compute()))["rotation"].verdict == "skipped"


def test_a_rotation_at_its_limit_claims_no_convergence(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Iterate.__call__

    def short(self: Iterate, *given: Any, **named: Any) -> Any:
        return whole(self.replace(limit=2) if self.limit == 5000 else self, *given, **named)

    monkeypatch.setattr(Iterate, "__call__", short)
    method, data, model = fitted.__wrapped__(1, "each")
    assert model.fit["rotation_converged"] is False
    assert checked(method, data, model)["rotation"].verdict == "skipped"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["varimax", "promax", "oblimin"])
def test_factors_of_columns_that_hardly_vary_pass(name: str) -> None:
    """Oblique factors agree to ten digits there, and their loadings are long."""
    data = features(FAMILIES["graded"](np.random.default_rng(2), 16, 14))
    method: Any = METHODS["fa"](rotation={"name": name}, noise="equal", axes={"components": 4}).resolve(data)
    assert {check.verdict for check in checked(method, data, method.fit(data, Compute())).values()} <= {
        "pass", "skipped"}
