"""Scores of species on the axes of an ordination of sites: weighted averages, or correlations."""

import numpy as np

from mlcli.base.types import Array


def weighted_averages(axes: Array, amounts: Array, *, expand: bool = False) -> Array:
    """Return the means of axes (n x p) weighted by each species' amounts (n x s), an (s, p) array: vegan's wascores.

    With `expand` they are spread so that on each axis their weighted variance is that of the sites, as weights the
    totals of species and sites. A species without any amount has NaN.
    """
    totals = amounts.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.asarray(amounts.T @ axes / totals[:, None])
    if not expand:
        return scores
    there, sites = totals > 0, amounts[:, totals > 0].sum(axis=1)
    spread, own = _variances(axes, sites)[1], _variances(scores[there], totals[there])
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = np.where(own[1] > 0, np.sqrt(spread / own[1]), 1.0)
    scores[there] = own[0] + (scores[there] - own[0]) * factors
    return scores


def _variances(values: Array, weights: Array) -> tuple[Array, Array]:
    """Return weighted means and variances (p each) of columns (m x p) by weights (m), as `cov.wt` with method ML."""
    weights = weights / weights.sum()
    means = weights @ values
    return means, weights @ (values - means) ** 2


def correlations(axes: Array, amounts: Array) -> Array:
    """Return Pearson's correlations (s x p) of the amounts of species (n x s) with axes (n x p); NaN for a constant."""
    left, right = amounts - amounts.mean(axis=0), axes - axes.mean(axis=0)
    sizes = np.linalg.norm(left, axis=0)[:, None] * np.linalg.norm(right, axis=0)
    constant = (np.ptp(amounts, axis=0) == 0)[:, None] | (np.ptp(axes, axis=0) == 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(constant, np.nan, left.T @ right / sizes)
