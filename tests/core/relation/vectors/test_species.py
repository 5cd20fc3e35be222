"""Scores of species: means of sites by amounts, and correlations."""

import numpy as np
import pytest

from mlcli.core.relation.vectors import correlations, weighted_averages

GENERATOR = np.random.default_rng(4)
AXES, AMOUNTS = GENERATOR.standard_normal((12, 2)), GENERATOR.poisson(2, (12, 7)).astype(float)


def test_a_species_lies_among_its_sites() -> None:
    amounts = np.hstack([AMOUNTS, np.eye(12)[:, :1], np.zeros((12, 1))])
    found = weighted_averages(AXES, amounts)
    assert found[7] == pytest.approx(AXES[0]) and np.isnan(found[8]).all()
    assert (found[:7].min(axis=0) >= AXES.min(axis=0)).all() and (found[:7].max(axis=0) <= AXES.max(axis=0)).all()


def test_expanded_scores_have_the_variance_of_the_sites() -> None:
    found = weighted_averages(AXES, AMOUNTS, expand=True)
    sites, species = (np.average((values - np.average(values, axis=0, weights=weights)) ** 2, axis=0, weights=weights)
                      for values, weights in ((AXES, AMOUNTS.sum(axis=1)), (found, AMOUNTS.sum(axis=0))))
    np.testing.assert_allclose(sites, species, rtol=1e-12)


def test_correlations_are_pearsons() -> None:
    amounts = np.hstack([AMOUNTS, np.ones((12, 1))])
    found = correlations(AXES, amounts)
    np.testing.assert_allclose(found[:7], np.corrcoef(amounts[:, :7].T, AXES.T)[:7, 7:], atol=1e-12)
    assert np.isnan(found[7]).all()
