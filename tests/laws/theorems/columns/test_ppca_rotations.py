"""Rotations of probabilistic PCA: what they leave as it is, and what turns with them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mlcli.base.values.compute import Compute
from mlcli.methods import METHODS, Model
from tests.support import checks_of, features, fit

GENERATOR = np.random.default_rng(12)
POINTS = (GENERATOR.standard_normal((150, 3)) @ (GENERATOR.standard_normal((3, 8)) * (GENERATOR.random((3, 8)) < 0.5))
          + 0.5 * GENERATOR.standard_normal((150, 8)))
GAPS = np.where(GENERATOR.random(POINTS.shape) < 0.1, np.nan, POINTS)
ROTATIONS = ["varimax", "promax", "oblimin"]
rotations = pytest.mark.parametrize("rotation", ROTATIONS)


def model_of(rotation: str, points: np.ndarray = POINTS, **options: Any) -> Model:
    return fit("ppca", points, components=3, rotation={"name": rotation}, **options)


@rotations
def test_rotated_axes_are_those_of_factor_analysis_with_equal_noise(rotation: str) -> None:
    """But for the signs, for which factor analysis has a rule of its own."""
    found, factors = model_of(rotation), fit("fa", POINTS, noise="equal", rotation={"name": rotation}, components=3)
    signs = np.sign(np.sum(found.loadings.values * factors.loadings.values, axis=0))
    assert np.allclose(found.loadings.values, factors.loadings.values * signs, rtol=0, atol=1e-12)
    assert np.allclose(found.embedding, factors.embedding * signs, rtol=0, atol=1e-12)
    assert np.allclose(found.fit["factor_correlations"], signs[:, None] * factors.fit["factor_correlations"] * signs,
                       rtol=0, atol=1e-12)


@rotations
@pytest.mark.parametrize("points", [POINTS, GAPS], ids=["complete", "gaps"])
def test_a_rotation_changes_axes_alone(rotation: str, points: np.ndarray) -> None:
    """Likelihood, covariance of rows and reconstructions stay; coordinates have the covariance of the factors."""
    plain, found = (model_of(name, points) for name in ("none", rotation))
    factors, loadings = np.array(found.fit["factor_correlations"]), found.loadings.values
    assert found.fit["log_likelihood"] == plain.fit["log_likelihood"]
    assert np.allclose(loadings @ factors @ loadings.T, plain.loadings.values @ plain.loadings.values.T, atol=1e-12)
    assert np.allclose(found.reconstruct(found.embedding), plain.reconstruct(plain.embedding), atol=1e-12)
    assert np.allclose(found.project(points[:9]), found.embedding[:9], atol=1e-12)
    lengths = np.sum(loadings**2, axis=0)
    assert (np.diff(lengths) <= 0).all()
    noise = found.fit["noise_variance"]
    expected = noise * np.linalg.inv(loadings.T @ loadings + noise * np.linalg.inv(factors))
    assert np.allclose(found.fit["posterior_covariance"], expected, atol=1e-12)


@rotations
def test_posterior_covariances_of_rows_with_gaps_turn(rotation: str) -> None:
    model = model_of(rotation, GAPS)
    factors, noise = np.array(model.fit["factor_correlations"]), model.fit["noise_variance"]
    for row in range(0, 150, 30):
        loadings = model.loadings.values[~np.isnan(GAPS[row])]
        spread = factors - factors @ loadings.T @ np.linalg.solve(
            loadings @ factors @ loadings.T + noise * np.eye(len(loadings)), loadings @ factors)
        assert np.allclose(model.spreads[row], spread, atol=1e-12)


def test_one_axis_is_not_turned() -> None:
    plain, found = (fit("ppca", POINTS, components=1, rotation={"name": name}) for name in ("none", "promax"))
    assert np.array_equal(plain.embedding, found.embedding)


def tilted(model: Model) -> Model:
    """The first axis turned toward the second by a thousandth, in all places, consistently."""
    turn = np.eye(3)
    turn[:2, :2] = [[np.cos(1e-3), np.sin(1e-3)], [-np.sin(1e-3), np.cos(1e-3)]]
    projector: Any = model.projector
    return replace(model, embedding=model.embedding @ turn, projector=replace(
        projector, axes=projector.axes @ turn, decoder=replace(
            projector.decoder, directions=projector.decoder.directions @ turn)), fit={
        **model.fit, "posterior_covariance": (turn.T @ np.array(model.fit["posterior_covariance"]) @ turn).tolist()},
        loadings=replace(model.loadings, values=model.loadings.values @ turn),
        spreads=None if model.spreads is None else turn.T @ model.spreads @ turn)


def stated(model: Model) -> Model:
    """A posterior covariance before the rotation."""
    return replace(model, fit={**model.fit, "posterior_covariance": fit("ppca", POINTS, components=3).fit[
        "posterior_covariance"]})


def longer(model: Model) -> Model:
    """Loadings that new rows are completed with, of another model."""
    projector: Any = model.projector
    latent = replace(projector.similarity.latent, loadings=1.001 * projector.similarity.latent.loadings)
    return replace(model, projector=replace(projector, similarity=replace(projector.similarity, latent=latent)))


@pytest.mark.parametrize(("change", "seen"), [(None, ""), (tilted, "rotation"), (stated, "posterior covariance"),
                                              (longer, "turned")])
@pytest.mark.parametrize("points", [POINTS, GAPS], ids=["complete", "gaps"])
def test_the_certificate_sees_an_axis_that_is_off(change: Any, seen: str, points: np.ndarray) -> None:
    data = features(points)
    method = METHODS["ppca"](rotation={"name": "varimax"}, eigensolve={"components": 3}).resolve(data)
    model = method.fit(data, Compute())
    checks = checks_of(method, data, change(model) if change else model, full=True)
    failed = {check.name for check in checks if check.verdict == "fail"}
    assert seen in failed if seen else not failed
    if change is tilted:
        assert failed == {"rotation"}
