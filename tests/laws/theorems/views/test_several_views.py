"""Three views and more: MAXVAR, and the Gaussian model of shared factors with noise within the views."""

from functools import cache, reduce
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from mlcli.base.types import Array
from mlcli.base.values.inputs import Features, TwoViews
from mlcli.core.eigen.options import Axes
from mlcli.core.latent.canonical import canonical
from mlcli.core.minimize import Minimize
from mlcli.core.whitening import whiten
from mlcli.errors import ConfigError
from mlcli.methods import Model
from mlcli.methods.views.group_factors import factors_of_views
from mlcli.methods.views.two_views import group_variates, log_likelihood
from tests.laws.theorems.views.test_views import FIRST, MIXING, SECOND, SHARED, same
from tests.support import features, fit
from tests.wording import Wording

NOISE = np.random.default_rng(21)
THIRD = np.hstack([SHARED + NOISE.standard_normal((120, 2)), NOISE.standard_normal((120, 1))])
ALL = (FIRST + 0.9 * NOISE.standard_normal((120, 4)), SECOND + 0.7 * NOISE.standard_normal((120, 3)), THIRD)
WIDTHS = np.cumsum([0, *(part.shape[1] for part in ALL)])
PLACES = [slice(*pair) for pair in pairwise(WIDTHS)]


def chained(*parts: Array) -> TwoViews:
    """Views, each as the view of the one before."""
    first, *rest = [features(part) for part in parts]

    def with_view(view: Features, one: Features) -> TwoViews:
        return TwoViews(one.values, one.ids, one.columns, view=view)

    return with_view(reduce(with_view, reversed(rest[:-1]), rest[-1]), first)


@cache
def factors(count: int = 2, given: str = "both") -> Model:
    return fit("ibfa", chained(*ALL), components=count, given=given, minimize={"tolerance": 1e-12})


def covariance_of(model: Model) -> Array:
    """The covariance of all columns by the loadings and the noise that a model states."""
    loadings, private = model.loadings.values, model.private.values
    total = loadings @ loadings.T
    for place in PLACES:
        total[place, place] += private[place] @ private[place].T
    return total


def test_variates_are_eigenvectors_of_the_sum_of_projectors() -> None:
    model = fit("cca", chained(*ALL), components=3)
    bases = [np.linalg.qr(part - part.mean(axis=0))[0] for part in ALL]
    values, vectors = np.linalg.eigh(sum(base @ base.T for base in bases))
    expected = (values[::-1] - 1) / 2
    found = model.spectrum.values
    assert np.abs(found - expected[:len(found)]).max() < 1e-12 and expected[len(found)] < 1e-12
    for axis in range(3):
        assert abs(abs(model.embedding[:, axis] @ vectors[:, -1 - axis]) / np.sqrt(120) - 1) < 1e-10


def test_two_views_have_the_canonical_correlations() -> None:
    views = [whiten(part, equal_columns=True) for part in (FIRST, SECOND)]
    assert same(group_variates(views).correlations, canonical(*views).correlations, 1e-12)


def test_maps_of_a_view_and_the_order_of_views_change_nothing() -> None:
    model = fit("cca", chained(*ALL), components=2)
    mapped = fit("cca", chained(ALL[0] @ MIXING + 5, ALL[1], 1e-200 * ALL[2]), components=2)
    turned = fit("cca", chained(ALL[2], ALL[0], ALL[1]), components=2)
    for other in (mapped, turned):
        assert same(other.embedding, model.embedding, 1e-8)
        assert same(other.spectrum.values, model.spectrum.values)


def test_rows_of_all_views_have_the_coordinates_of_the_fit_and_those_of_one_their_regression() -> None:
    model = fit("cca", chained(*ALL), components=2)
    alone = [model.project(ALL[0]), *(other.project(part) for other, part in zip(model.others, ALL[1:], strict=True))]
    assert np.allclose(model.joint.combine(alone, range(3), 3), model.embedding, atol=1e-12)
    for part, scores in zip(ALL, alone, strict=True):
        design = np.column_stack([np.ones(120), part])
        assert np.allclose(scores, design @ np.linalg.lstsq(design, model.embedding, rcond=None)[0], atol=1e-12)
    with pytest.raises(ConfigError):
        model.joint.combine(alone[:2], [0, 1], 3)


@pytest.mark.parametrize("given", [(0, 1, 2), (1,), (0, 2)])
def test_factors_are_the_gaussian_model_that_they_stand_for(given: tuple[int, ...]) -> None:
    """Likelihood, and posterior means given any of the views, from dense covariance matrices."""
    model = factors()
    rows = np.hstack([part - part.mean(axis=0) for part in ALL])
    total = covariance_of(model)
    assert model.fit["log_likelihood"] == pytest.approx(
        multivariate_normal(np.zeros(len(total)), total).logpdf(rows).sum(), rel=1e-10)
    chosen = np.concatenate([np.arange(len(total))[PLACES[number]] for number in given])
    expected = rows[:, chosen] @ np.linalg.solve(total[np.ix_(chosen, chosen)], model.loadings.values[chosen])
    maps = [model.projector, *model.others]
    found = model.joint.combine([maps[number].project(ALL[number]) for number in given], given, 3)
    assert np.allclose(found, expected, atol=1e-9)
    if len(given) == 3:
        assert np.allclose(model.embedding, expected, atol=1e-9)
        assert np.allclose((model.embedding**2).mean(axis=0), model.spectrum.values, atol=1e-10)
    assert np.allclose(np.abs(factors(given="first").embedding), np.abs(maps[0].project(ALL[0])), atol=1e-9)


def test_no_other_loadings_and_noise_are_more_likely() -> None:
    model, generator = factors(), np.random.default_rng(5)
    rows = np.hstack([part - part.mean(axis=0) for part in ALL])
    loadings, private = model.loadings.values, model.private.values
    for _ in range(50):
        moved = loadings + 1e-3 * generator.standard_normal(loadings.shape)
        total = moved @ moved.T
        for place in PLACES:
            own = private[place] + 1e-3 * generator.standard_normal(private[place].shape)
            total[place, place] += own @ own.T
        assert multivariate_normal(np.zeros(len(total)), total).logpdf(rows).sum() < model.fit["log_likelihood"]


def test_the_covariance_within_a_view_is_that_of_the_data() -> None:
    """At a maximum with noise above its bound."""
    total = covariance_of(factors())
    for place, part in zip(PLACES, ALL, strict=True):
        assert same(total[place, place], np.cov(part.T, bias=True), 1e-4)


def test_the_iteration_finds_the_closed_form_of_two_views() -> None:
    views = [whiten(part, equal_columns=True) for part in ALL[:2]]
    found = factors_of_views(views, Axes(components=2), Minimize(tolerance=1e-12))
    closed = log_likelihood(views, canonical(*views).correlations[:2])
    assert closed is not None
    assert found.figures["log_likelihood"].value == pytest.approx(closed.value, rel=1e-9)


def test_noise_of_two_views_is_what_shared_factors_leave() -> None:
    model = fit("ibfa", chained(*ALL[:2]), components=1)
    for place, part in zip(PLACES, ALL[:2], strict=False):
        own, common = model.private.values[place], model.loadings.values[place]
        assert np.allclose(own @ own.T + common @ common.T, np.cov(part.T, bias=True), atol=1e-11)


def test_a_method_of_two_views_refuses_a_third(wording: Wording) -> None:
    with pytest.raises(ConfigError) as caught:
        fit("gib", chained(*ALL))
    assert caught.value.code == "E-VIEW" and "E-VIEW" in wording(caught.value)
    with pytest.raises(ConfigError) as unused:
        fit("ibfa", chained(*ALL[:2]), minimize={"limit": 5})
    assert unused.value.code == "E-UNUSED"
