"""Variational autoencoders: the linear one is probabilistic PCA; bounds are below the likelihood; parts add up."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from mlcli.base.types import Array
from mlcli.errors import ConfigError, DataError
from mlcli.methods import Model
from tests.support import features, fit

GENERATOR = np.random.default_rng(8)
POINTS = GENERATOR.standard_normal((150, 2)) * [3, 1.5] @ GENERATOR.standard_normal((2, 5)) + 0.7 * (
    GENERATOR.standard_normal((150, 5))) + [3, 0, 40, -1, 0]
STEADY = {"epochs": 1500, "batch": 150, "rate": 0.02, "validation": 0.0, "precision": "float64"}
QUICK = {"layers": [8], "learning": {"epochs": 15, "batch": 32, "rate": 0.01, "validation": 0.2}}


def test_without_hidden_layers_it_is_probabilistic_pca() -> None:
    model, ppca = fit("vae", POINTS), fit("ppca", POINTS)
    assert np.allclose(model.embedding, ppca.embedding, atol=1e-10)
    assert np.allclose(model.spreads**2, np.diag(ppca.fit["posterior_covariance"]), rtol=1e-9)
    assert np.allclose(model.reconstruct(model.embedding), ppca.reconstruct(ppca.embedding), atol=1e-9)
    assert model.fit["elbo"] * len(POINTS) == pytest.approx(ppca.fit["log_likelihood"], rel=1e-12)
    assert model.fit["noise_variance"] == pytest.approx(ppca.fit["noise_variance"], rel=1e-12)


@pytest.mark.medium
def test_the_optimum_of_its_linear_bound_is_the_likelihood_of_probabilistic_pca() -> None:
    """Lucas et al., 2019: with a diagonal posterior the bound is tight, and has no other maximum."""
    model, ppca = fit("vae", POINTS, training="always", learning=STEADY), fit("ppca", POINTS)
    likelihood = ppca.fit["log_likelihood"] / len(POINTS)
    assert model.fit["elbo"] == pytest.approx(likelihood, rel=1e-4)
    assert model.fit["elbo"] <= likelihood * (1 - np.sign(likelihood) * 1e-12)
    assert model.fit["noise_variance"] == pytest.approx(ppca.fit["noise_variance"], rel=1e-2)
    assert np.allclose(np.sort(model.spreads[0] ** 2), np.sort(np.diag(ppca.fit["posterior_covariance"])), rtol=0.02)
    assert model.trace[-1] == pytest.approx(model.fit["elbo"], rel=1e-6)


@pytest.mark.slow
def test_an_importance_weighted_bound_is_between_the_bound_and_the_likelihood() -> None:
    """Of a linear model the likelihood is known: N(x; b, s² I + W Wᵀ). One draw gives the plain bound, on average."""
    model = fit("vae", POINTS, training="always", importance=400, learning={
        **STEADY, "epochs": 60, "validation": 0.3})
    loadings, mean = model.directions, existing_mean(model)
    covariance = loadings @ loadings.T + model.fit["noise_variance"] * np.eye(5)
    held = np.random.default_rng(0).permutation(150)[:45]
    exact = float(np.mean(multivariate_normal(mean, covariance).logpdf(POINTS[held])))
    plain = float(model.curves["validation"].value[model.fit["best_epoch"] - 1])
    assert plain < model.fit["held_out_bound"] - 1e-3 and model.fit["held_out_bound"] == pytest.approx(exact, abs=0.05)


def existing_mean(model: Model) -> Array:
    """What comes back from the origin."""
    return model.reconstruct(np.zeros((1, 2)))[0]


@pytest.mark.medium
def test_the_bound_is_its_two_parts_and_rises() -> None:
    model = fit("vae", POINTS, **QUICK)
    fitted, curves = model.fit, model.curves
    assert fitted["elbo"] == pytest.approx(fitted["reconstruction"] - fitted["divergence"], rel=1e-12)
    assert set(curves) == {"validation", "reconstruction", "divergence"}
    assert np.allclose(model.trace, curves["reconstruction"].value - curves["divergence"].value, rtol=1e-5)
    assert model.trace[-1] > model.trace[0]
    own = 0.5 * np.sum(model.embedding**2 + model.spreads**2 - 1 - np.log(model.spreads**2), axis=1)
    assert fitted["divergence"] == pytest.approx(float(own.mean()), rel=1e-9)


@pytest.mark.slow
def test_a_larger_beta_brings_the_posterior_nearer_to_the_prior() -> None:
    near, far = (fit("vae", POINTS, beta=beta, **QUICK).fit["divergence"] for beta in (20.0, 0.1))
    assert near < far


@pytest.mark.medium
def test_a_bernoulli_likelihood_gives_probabilities_and_takes_nothing_else() -> None:
    coins = (GENERATOR.random((90, 4)) < [0.1, 0.5, 0.9, 0.3]).astype(float)
    options = {**QUICK, "likelihood": {"name": "bernoulli"}}
    options["learning"] = {**QUICK["learning"], "rate": 0.1, "epochs": 25}
    model = fit("vae", coins, **options)
    back = model.reconstruct(model.embedding)
    assert ((back > 0) & (back < 1)).all() and "noise_variance" not in model.fit
    assert np.allclose(back.mean(axis=0), coins.mean(axis=0), atol=0.15)
    with pytest.raises(DataError) as caught:
        fit("vae", coins * 2, **options)
    assert (caught.value.code, caught.value.exit_code) == ("E-BERNOULLI", 65)
    assert "row 1, column 'x" in caught.value.what and ": 2 " in caught.value.what


@pytest.mark.slow
def test_given_noise_stays_and_is_measured_in_the_datas_unit() -> None:
    options = {**QUICK, "learning": {**QUICK["learning"], "epochs": 2}}
    one, other = (fit("vae", np.ldexp(POINTS, power), **options, likelihood={
        "name": "gaussian", "noise": float(np.ldexp(0.5, 2 * power))}) for power in (0, 300))
    assert one.fit["noise_variance"] == pytest.approx(0.5, rel=1e-9)
    assert other.fit["noise_variance"] == pytest.approx(np.ldexp(0.5, 600), rel=1e-9)
    assert np.array_equal(one.embedding, other.embedding)
    assert one.fit["elbo"] - other.fit["elbo"] == pytest.approx(5 * 300 * np.log(2), rel=1e-9)


@pytest.mark.parametrize("method", ["autoencoder", "vae"])
@pytest.mark.parametrize("points", [np.ones((1, 3)), np.full((20, 3), 7.0)], ids=["one row", "constant"])
def test_rows_that_teach_nothing_are_an_error(method: str, points: Array) -> None:
    with pytest.raises(DataError) as caught:
        fit(method, points, layers=[4])
    assert (caught.value.code, caught.value.exit_code) == ("E-NO-VARIATION", 65)


@pytest.mark.parametrize(("method", "options", "where"), [
    ("autoencoder", {"learning": {"epochs": 3}}, "method.learning.epochs"),
    ("autoencoder", {"activation": "relu"}, "method.activation"),
    ("autoencoder", {"training": "always", "dropout": 0.5}, "method.dropout"),
    ("vae", {"importance": 3}, "method.importance"), ("vae", {"learning": {"rate": 0.5}}, "method.learning.rate")])
def test_options_of_training_are_refused_where_there_is_none(method: str, options: dict, where: str) -> None:
    with pytest.raises(ConfigError) as caught:
        fit(method, features(POINTS), **options)
    assert (caught.value.code, caught.value.where) == ("E-UNUSED", where)
