"""Autoencoders: the linear one is PCA, solved or trained; slopes are those of finite differences; constraints hold."""


import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.methods import Model
from tests.support import fit

GENERATOR = np.random.default_rng(5)
POINTS = GENERATOR.standard_normal((120, 2)) @ GENERATOR.standard_normal((2, 6)) * 3 + GENERATOR.standard_normal(
    (120, 6)) + [5, 0, -2, 0, 100, 1]
STEADY = {"epochs": 1000, "batch": 120, "rate": 0.02, "validation": 0.0, "precision": "float64"}


def error(model: Model, points: Array = POINTS) -> float:
    return float(np.sum((model.reconstruct(model.project(points)) - points) ** 2))


def test_without_hidden_layers_it_is_pca_over_a_scale() -> None:
    model, pca = fit("autoencoder", POINTS), fit("pca", POINTS)
    scale = np.sqrt(POINTS.var(axis=0).mean())
    assert np.allclose(model.embedding * scale, pca.embedding, atol=1e-10)
    assert error(model) == pytest.approx(error(pca), rel=1e-12)
    assert model.fit["unexplained"] == pytest.approx(1 - pca.spectrum.proportions[:2].sum(), rel=1e-9)
    assert model.fit["mean_squared_error"] == pytest.approx(error(pca) / POINTS.size, rel=1e-9)


def test_trained_it_has_pcas_error_and_its_subspace() -> None:
    """Baldi and Hornik, 1989: the error of two linear layers has no other minimum."""
    model, pca = fit("autoencoder", POINTS, training="always", learning=STEADY), fit("pca", POINTS)
    assert error(model) == pytest.approx(error(pca), rel=1e-6)
    found, expected = (np.linalg.qr(kind.directions)[0] for kind in (model, pca))
    angles = np.arccos(np.clip(np.linalg.svd(found.T @ expected)[1], -1, 1))
    assert angles.max() < 1e-3
    assert error(model) >= error(pca) * (1 - 1e-12)
