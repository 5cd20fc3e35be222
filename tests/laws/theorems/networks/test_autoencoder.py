"""Autoencoders: the linear one is PCA, solved or trained; slopes are those of finite differences; constraints hold."""


import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.methods import Model
from tests.support import Notes, fit

pytestmark = pytest.mark.medium

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


CURVE = np.random.default_rng(1).uniform(-2, 2, 300)
SHEET = np.column_stack([CURVE, CURVE**2 - 1.3, np.sin(2 * CURVE), np.cos(CURVE), CURVE**3 / 4])
DEEP = {"layers": [12], "activation": "softplus", "components": 1}
ENOUGH = {"epochs": 60, "batch": 30, "rate": 0.02}


@pytest.mark.slow
def test_a_deep_one_follows_a_curve_that_pca_cannot() -> None:
    deep = fit("autoencoder", SHEET, **DEEP, learning=ENOUGH)
    assert error(deep, SHEET) < 0.1 * error(fit("pca", SHEET, components=1), SHEET)
    assert deep.fit["mean_squared_error"] == pytest.approx(error(deep, SHEET) / SHEET.size, rel=1e-9)
    assert deep.fit["unexplained"] == pytest.approx(
        error(deep, SHEET) / float(np.sum((SHEET - SHEET.mean(axis=0)) ** 2)), rel=1e-9)


def test_what_learns_nothing_says_so_and_so_does_a_share_of_no_row() -> None:
    with Notes() as notes:
        fit("autoencoder", SHEET, **DEEP, learning={**ENOUGH, "epochs": 1, "rate": 30.0})
    assert "W-NOT-LEARNED" in notes.codes
    with Notes() as notes:
        fit("autoencoder", SHEET[:5], **DEEP, learning={"epochs": 1})
    assert "N-NO-VALIDATION" in notes.codes


@pytest.mark.slow
def test_what_has_learned_to_remove_noise_removes_more_of_it() -> None:
    wide = {"layers": [30], "components": 4, "activation": "softplus", "learning": ENOUGH}
    plain, mending = (fit("autoencoder", SHEET, **wide, corruption=corruption) for corruption in (
        {"name": "none"}, {"name": "gaussian", "deviation": 0.3}))
    scale = np.sqrt(SHEET.var(axis=0).mean())
    noisy = SHEET + 0.3 * scale * np.random.default_rng(9).standard_normal(SHEET.shape)
    errors = [float(np.sum((model.reconstruct(model.project(noisy)) - SHEET) ** 2)) for model in (plain, mending)]
    assert errors[1] < 0.7 * errors[0]


@pytest.mark.slow
def test_a_sparse_code_is_active_as_often_as_it_should_be() -> None:
    sparsity = {"name": "kl", "target": 0.1}
    model = fit("autoencoder", SHEET, components=8, layers=[12], sparsity=sparsity, learning=ENOUGH)
    assert ((model.embedding > 0) & (model.embedding < 1)).all()
    assert model.embedding.mean(axis=0) == pytest.approx(0.1, rel=0.1)


@pytest.mark.slow
def test_small_codes_are_smaller_and_tied_networks_share_their_weights() -> None:
    sizes = [float(np.abs(fit("autoencoder", SHEET, components=3, training="always", sparsity=sparsity,
                              learning=ENOUGH).embedding).mean()) for sparsity in (
        {"name": "none"}, {"name": "l1", "weight": 0.1})]
    assert sizes[1] < 0.8 * sizes[0]
    tied = fit("autoencoder", SHEET, components=3, training="always", tied=True, learning=ENOUGH).projector
    assert np.array_equal(tied.similarity.network.layers[0].weights.T, tied.decoder.network.layers[0].weights)
