"""Families of posteriors: of a linear decoder the bound is known, and each family is no lower than the one before."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mlcli.base.context import set_context
from mlcli.base.types import Array
from mlcli.errors import ConfigError
from mlcli.methods import METHODS, Model
from mlcli.methods.networks.network import DenseLayer, Network, Standard, linear
from mlcli.methods.networks.posteriors import FreePosteriors, NegatedBounds, Posterior, draws_of, numbers_of
from mlcli.methods.networks.vae import BernoulliLikelihood, Bound, GaussianLikelihood
from tests.laws.theorems.networks.test_vae import POINTS
from tests.support import checks_of, features, fit

GENERATOR = np.random.default_rng(4)
SEEN = (POINTS - POINTS.mean(axis=0)) / np.sqrt(POINTS.var(axis=0).mean())
DEEP = Network((DenseLayer(GENERATOR.standard_normal((3, 4)), GENERATOR.standard_normal(4), "tanh"),
                DenseLayer(GENERATOR.standard_normal((4, 4)), GENERATOR.standard_normal(4), "softplus"),
                DenseLayer(GENERATOR.standard_normal((4, 4)), GENERATOR.standard_normal(4), "relu"),
                DenseLayer(GENERATOR.standard_normal((4, 4)), GENERATOR.standard_normal(4), "logistic"),
                DenseLayer(GENERATOR.standard_normal((4, 5)), GENERATOR.standard_normal(5), "identity")))
QUICK: dict[str, Any] = {"layers": [4], "learning": {"epochs": 3, "batch": 30}}  # in single precision


def free(decoder: Network, likelihood: Any = "gaussian", level: float = -1.0, beta: float = 1.0) -> FreePosteriors:
    """Posteriors of rows' own for a decoder, from a recognition network of small random weights."""
    axes = decoder.inputs
    start = linear(0.1 * np.random.default_rng(1).standard_normal((5, numbers_of("free", axes))))
    return FreePosteriors(np.zeros(5), 1.0, start, decoder, likelihood, level, beta,
                          draws_of(axes, np.random.default_rng(0)))


def bound_of(decoder: Network, numbers: Array, level: float) -> float:
    """The mean of the bound over the rows, given the numbers of their posteriors."""
    found = Bound(Standard.plain(5), decoder, GaussianLikelihood(), level, seed=0)(0, SEEN, numbers)
    return float(found[0] - found[1]) / len(SEEN)


def turned_decoder() -> tuple[Network, float, float]:
    """The loadings of probabilistic PCA on axes that are turned, the level of its noise, and its mean log-likelihood.

    The posterior has correlated axes there, and the same likelihood (Tipping and Bishop, 1999).
    """
    ppca = fit("ppca", SEEN)
    turn = np.array([[0.8, 0.6], [-0.6, 0.8]])
    latent = ppca.projector.similarity.parts.latent
    assert latent is not None
    scale = ppca.projector.input_unit.plain(np.ones(1))[0]
    return (linear(turn @ (scale * latent.loadings).T), float(np.log(ppca.fit["noise_variance"])),
            ppca.fit["log_likelihood"] / len(SEEN))


def test_a_full_covariance_reaches_the_likelihood_of_a_linear_model_and_independent_axes_miss_what_they_lack() -> None:
    """KL between the best independent axes and a posterior of precision Λ is ½ (Σ ln Λᵢᵢ - ln |Λ|)."""
    decoder, level, likelihood = turned_decoder()
    weights = decoder.layers[0].weights
    precision = np.eye(2) + weights @ weights.T / np.exp(level)
    assert abs(precision[0, 1]) > 0.1 * precision[0, 0]
    means = SEEN @ weights.T @ np.linalg.inv(precision) / np.exp(level)
    alone = np.hstack([means, np.tile(-np.log(np.diag(precision)), (len(SEEN), 1))])
    lower = np.linalg.cholesky(np.linalg.inv(precision))
    full = np.hstack([means, np.tile([*2 * np.log(np.diag(lower)), lower[1, 0]], (len(SEEN), 1))])
    gap = 0.5 * (np.sum(np.log(np.diag(precision))) - np.linalg.slogdet(precision)[1])
    assert bound_of(decoder, full, level) == pytest.approx(likelihood, rel=1e-9)
    assert bound_of(decoder, alone, level) == pytest.approx(likelihood - gap, rel=1e-9) and gap > 0.01
    found = free(decoder, level=level).rows(SEEN)
    assert bound_of(decoder, found, level) == pytest.approx(likelihood, rel=1e-9)
    assert np.allclose(Posterior.of(found, 2, np).covariances, np.linalg.inv(precision), atol=1e-5)
    assert np.allclose(found[:, :2], means, atol=1e-5)


@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
def test_slopes_of_the_bound_are_those_of_finite_differences(likelihood: str) -> None:
    rows = GENERATOR.random((6, 5))
    bounds = NegatedBounds(free(DEEP, likelihood, beta=0.7), rows)
    at = GENERATOR.standard_normal((6, 9))
    slopes = bounds(at)[1]
    for place, way in enumerate(np.eye(9) * 1e-5):
        assert np.allclose((bounds(at + way)[0] - bounds(at - way)[0]) / 2e-5, slopes[:, place], atol=1e-7)


@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
def test_no_row_has_a_lower_bound_than_that_of_the_recognition_network(likelihood: Any) -> None:
    rows = GENERATOR.random((20, 5))
    posteriors = free(DEEP, likelihood)
    start, found = posteriors.network(rows), posteriors.rows(rows)
    before, after = (NegatedBounds(posteriors, rows)(numbers)[0] for numbers in (start, found))
    assert (after <= before).all() and after.mean() < before.mean() - 0.01
    kind = GaussianLikelihood() if likelihood == "gaussian" else BernoulliLikelihood()
    bound = Bound(Standard.plain(5), DEEP, kind, -1.0, seed=0)
    own = [np.subtract(*np.mean([bound(draw, rows, numbers) for draw in range(50)], axis=0))
           for numbers in (start, found)]
    assert own[1] > own[0]  # also over other draws than those that were optimized


def test_a_row_has_the_same_digits_beside_others_and_alone() -> None:
    posteriors = free(DEEP)
    together = posteriors.rows(SEEN[:9])
    for place in range(9):
        assert np.array_equal(posteriors.rows(SEEN[place : place + 1])[0], together[place])


def test_draws_have_a_covariance_of_one_and_parts_fit_together() -> None:
    for axes in (1, 2, 20):
        draws = draws_of(axes, np.random.default_rng(0))
        assert np.allclose(draws.T @ draws / len(draws), np.eye(axes)) and np.allclose(draws.sum(axis=0), 0)
    with pytest.raises(ValueError, match="decoder"):
        replace(free(DEEP), draws=draws_of(2, np.random.default_rng(0)))


@pytest.mark.parametrize("family", ["full", "free"])
def test_a_family_that_a_closed_form_would_ignore_is_refused(family: str) -> None:
    with pytest.raises(ConfigError) as caught:
        fit("vae", POINTS, family=family)
    assert (caught.value.code, caught.value.where) == ("E-UNUSED", "method.family")
    assert fit("vae", POINTS, family="mean-field").fit == fit("vae", POINTS).fit


@pytest.mark.slow
def test_trained_linear_families_come_to_the_likelihood_from_below() -> None:
    steady = {"batch": 150, "rate": 0.05, "validation": 0.0, "precision": "float64"}
    likelihood = fit("ppca", POINTS).fit["log_likelihood"] / len(POINTS)
    for family, epochs in (("full", 1000), ("free", 300)):
        model = fit("vae", POINTS, training="always", family=family, learning={**steady, "epochs": epochs})
        assert likelihood - 1e-3 < model.fit["elbo"] <= likelihood + 1e-9
        weights = model.projector.decoder.network.layers[0].weights
        level = np.log(model.fit["noise_variance"] / model.projector.decoder.scale**2)
        expected = np.linalg.inv(np.eye(2) + weights @ weights.T / np.exp(level))
        signs = model.projector.decoder.signs
        if family == "free":  # which no network approximates
            assert np.allclose(model.spreads, expected * signs[:, None] * signs, atol=1e-5)


@pytest.mark.slow
def test_portable_sums_give_a_free_family_the_same_numbers_up_to_rounding() -> None:
    options = {"layers": [4], "family": "free", "learning": {"epochs": 1, "batch": 50, "precision": "float64"}}
    plain = fit("vae", POINTS, **options)
    with set_context(portable=True):
        portable = fit("vae", POINTS, **options)
    assert portable.fit["elbo"] == pytest.approx(plain.fit["elbo"], rel=1e-6)


def verdicts(model: Model, **options: Any) -> dict[str, str]:
    data = features(POINTS)
    return {check.name: check.verdict for check in checks_of(METHODS["vae"](**options).resolve(data), data, model)}


@pytest.mark.slow
@pytest.mark.parametrize("family", ["full", "free"])
def test_the_certificate_sees_means_and_covariances_that_are_others(family: str) -> None:
    options = {**QUICK, "family": family}
    model = fit("vae", POINTS, **options)
    assert model.spreads.shape == (150, 2, 2) and (np.linalg.eigvalsh(model.spreads) > 0).all()
    assert set(verdicts(model, **options).values()) <= {"pass", "skipped"}
    places, wider = (replace(model, embedding=model.embedding + 1e-3), replace(model, spreads=model.spreads * 1.01))
    by_name = {"full": ("codes", "deviations"), "free": ("posteriors", "posteriors")}[family]
    for name, lie in zip(by_name, (places, wider), strict=True):
        assert verdicts(lie, **options)[name] == "fail"
    assert np.allclose(model.project(POINTS[:4]), model.embedding[:4], rtol=1e-9)
