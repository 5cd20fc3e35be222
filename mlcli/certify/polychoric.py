"""Polychoric correlations, again: thresholds from counts, and each correlation at a maximum of its likelihood.

Probabilities of rectangles are SciPy's (Genz's integral); the fit has them from Owen's function.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, count, ratio
from mlcli.certify.subject import Subject

EMPTY = 0.5  # of an answer, in tables of two by two
SMALL, REPLACED = 1e-12, 1e-10
MOVE, LOST = 1e-3, 1e-9  # a move that lowers the likelihood, and the rounding of SciPy's integral in it
STEEP, CURVED = 0.9, 1e-6  # a correlation up to which the likelihood is a parabola nearby, but for so much
FAR = 12.0
FEW, ALL = 3, 30  # pairs in a run, and in full


def stated(subject: Subject) -> tuple[Array, list[Array]]:
    """Return the correlations (m x m) and thresholds (m arrays) that the run states, of the columns that vary."""
    fit: Any = subject.model.fit
    return np.array(fit["polychoric"], dtype=np.float64), [np.array(row, dtype=np.float64) for row in fit["thresholds"]]


def smooth_correlations(subject: Subject) -> Array:
    """Return the stated correlations (m x m), made positive definite as psych does it."""
    correlations = stated(subject)[0]
    values, vectors = np.linalg.eigh(correlations)
    if values[0] >= SMALL:
        return correlations
    found = (vectors * np.where(values < SMALL, REPLACED, values)) @ vectors.T
    return np.asarray(found / np.sqrt(np.outer(np.diag(found), np.diag(found))))


def correlation_checks(subject: Subject) -> Iterator[Check]:
    """Yield checks of the thresholds, and of some correlations against values beside them."""
    from scipy.special import ndtr

    points = np.asarray(subject.data.values)
    points = points[:, points.max(axis=0) > points.min(axis=0)]
    correlations, thresholds = stated(subject)
    if len(correlations) != points.shape[1] or len(thresholds) != points.shape[1]:
        yield count("thresholds", 1, "columns that vary have a row of correlations and thresholds each")
        return
    levels = [np.unique(column) for column in points.T]
    wrong = 0.0
    for column, known, cuts in zip(points.T, levels, thresholds, strict=True):
        shares = np.searchsorted(np.sort(column), known[1:]) / len(column)
        wrong = max(wrong, float(np.abs(ndtr(cuts) - shares).max()) if len(shares) == len(cuts) else 1.0)
    yield ratio("thresholds", wrong, 16 * EPS, "thresholds are normal quantiles of cumulative shares")
    first, second = np.triu_indices(len(correlations), 1)
    chosen = np.random.default_rng(0).permutation(len(first))[: ALL if subject.plan.full else FEW]
    worst, farthest = 0.0, 0.0
    for pair in chosen.tolist():
        one, other = int(first[pair]), int(second[pair])
        table = np.array([[np.sum((points[:, one] == left) & (points[:, other] == right)) for right in levels[other]]
                          for left in levels[one]], dtype=np.float64)
        table = (np.where(table == 0, EMPTY, table) if table.shape == (2, 2) else table) / len(points)
        rho = correlations[one, other]
        here, below, above = (
            likelihood(np.clip(value, -1 + 1e-9, 1 - 1e-9), table, thresholds[one], thresholds[other])
            for value in (rho, rho - MOVE, rho + MOVE))
        worst = max(worst, below - here, above - here)
        bend = above - 2 * here + below
        if abs(rho) < STEEP and bend < 0:  # the top of the parabola through the three
            farthest = max(farthest, abs(0.5 * MOVE * (above - below) / bend))
    yield ratio("correlations", max(worst / LOST, farthest / CURVED), 1.0, f"no correlation {MOVE:g} away is more "
                f"likely, and the maximum is no farther than {CURVED:g}, of {len(chosen)} pairs of items")


def likelihood(rho: float, table: Array, one: Array, other: Array) -> float:
    """Return Σ w ln P of a table (k x l) for a correlation, given thresholds (k - 1) and (l - 1)."""
    from scipy.stats import multivariate_normal

    rows, columns = (np.concatenate([[-FAR], cuts, [FAR]]) for cuts in (one, other))
    corners = np.array([[multivariate_normal.cdf([h, k], [0, 0], [[1, rho], [rho, 1]]) for k in columns] for h in rows])
    cells = np.diff(np.diff(corners, axis=0), axis=1)
    return float((table * np.log(np.maximum(cells, 1e-18))).sum())
