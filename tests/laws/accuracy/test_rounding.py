"""Axes far below the first: right to the rounding of the first, and turned only where they are equal beside it."""

from pathlib import Path

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.core.kernels.inverse import _in_turns
from mlcli.methods import METHODS
from mlcli.pipeline import run as pipeline
from tests.faults.certificate.support import certificate, configured
from tests.support import features

ROUTES = ("auto", "covariance", "dual", "svd", "power")


def of_scales(scales: list[float], rows: int = 300) -> Array:
    """Points with these standard deviations along turned axes."""
    generator = np.random.default_rng(0)
    turn = np.linalg.qr(generator.standard_normal((len(scales), len(scales))))[0]
    return generator.standard_normal((rows, len(scales))) * scales @ turn


@pytest.mark.parametrize("route", ["auto", "covariance", "dual", "svd"])
@pytest.mark.parametrize("wide", [1e5, 1e6])
def test_one_wide_column_does_not_make_the_other_axes_wrong(route: str, wide: float, tmp_path: Path) -> None:
    points = of_scales([wide, 1, 1, 1, 1, 1])
    run = pipeline.run(configured(tmp_path, {"name": "pca", "route": route, "eigensolve": {"components": 3}}, points))
    checks = certificate(tmp_path)["checks"]
    doubtful = {check["name"] for check in checks if check["verdict"] not in ("pass", "skipped")}
    told = "W-DIGITS" in {warning["code"] for warning in run["warnings"]}
    assert told == (route in ("covariance", "dual"))
    assert doubtful <= ({"eigenvalues"} if told else set())


@pytest.mark.parametrize("route", ROUTES)
def test_coordinates_are_scores_where_eigenvalues_are_nearly_equal(route: str) -> None:
    basis = np.linalg.qr(np.random.default_rng(1).standard_normal((300, 6)))[0]
    basis = np.linalg.qr(basis - basis.mean(axis=0))[0]
    points = basis * np.sqrt([1, 1e-9, 1e-9 * (1 + 1e-4), 1e-9 * (1 - 1e-4), 0, 0])
    model = METHODS["pca"].model_validate({"name": "pca", "route": route, "eigensolve": {"components": 3}}).fit(
        features(points), Compute())
    assert np.allclose(model.projector.project(points), model.embedding, rtol=0, atol=1e-13)
    assert (np.diff(model.spectrum.solved) <= 0).all()


def test_an_endless_eigenvalue_does_not_hide_those_after_it() -> None:
    values = np.concatenate([[1e16, 1e10], np.geomspace(60, 1e-3, 198)])
    basis = np.linalg.qr(np.random.default_rng(2).standard_normal((200, 200)))[0]
    start = np.random.default_rng(3).standard_normal((200, 9))
    found, *_ = _in_turns(lambda block: basis * values @ (basis.T @ block), start, 4, 1e-11, 1e-9)
    assert np.abs(basis[:, :4].T @ found[:, :4]).diagonal() == pytest.approx(np.ones(4), abs=1e-6)


@pytest.mark.parametrize(("outlier", "told"), [(0.0, False), (1e6, False), (1e12, True)])
def test_digits_that_an_outlier_leaves_no_room_for_are_told(outlier: float, told: bool, tmp_path: Path) -> None:
    """Beside the products of an outlier those of other rows are small: quadratic features amplify their rounding."""
    points = np.cumsum(np.random.default_rng(0).standard_normal((80, 3)), axis=0)
    points[17, 0] += outlier
    config = configured(tmp_path, {"name": "sfa", "degree": 2, "axes": {"components": 6}}, points)
    codes = {warning["code"] for warning in pipeline.run(config)["warnings"]}
    check = next(check for check in certificate(tmp_path)["checks"] if check["name"] == "projection")
    assert check["value"] < 10  # no more than rounding may do
    assert check["verdict"] == ("warn" if told else "pass")
    assert ("W-CERTIFICATE" in codes) == ("leave no more digits" in check["how"]) == told
