"""Polychoric correlations, again: thresholds from counts, and each correlation at a maximum of its likelihood.

Probabilities of rectangles are SciPy's (Genz's integral); the fit has them from Owen's function.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mlcli.base.types import AnyArray, Array
from mlcli.base.values.check import EPS, Check, count, later, ratio, skipped
from mlcli.certify.linear import CenteredRows
from mlcli.certify.projection import projector_checks, score_tolerance
from mlcli.certify.subject import Subject, max_abs

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


def component_checks(subject: Subject, *, scaled: bool) -> Iterator[Check]:
    """Yield checks of principal components of polychoric correlations: these, their eigenpairs, scores and loadings.

    Loadings are directions times the roots of their eigenvalues (`scaled`), or directions.
    """
    yield from projector_checks(subject, _component_checks(subject, scaled), score_tolerance)


def _component_checks(subject: Subject, scaled: bool) -> Iterator[Check]:
    projector, data, axes = subject.projector, CenteredRows.of(subject), subject.projector.axes
    size = max(len(data.points), 1)
    rough = EPS * np.maximum(data.points.max(axis=0), -data.points.min(axis=0))
    sums, squares, scores = data.sums_and_error(axes, subject.embedding)
    yield ratio("scores", scores, float(rough @ np.abs(axes).sum(axis=1)) + subject.rounding * max_abs(
        subject.embedding), "Y = (x - mean) W, row by row", exact=data.exact)
    yield from correlation_checks(subject)
    if not data.exact:
        yield later("residual")
        return
    deviations = np.sqrt(squares / size)
    yield ratio("means", max_abs(sums) / size, float((8 * rough + EPS * deviations).max(initial=0.0)),
                "the model's means are the columns' means")
    varying, precision = squares > 0, subject.precision
    precision += 8 * float((rough[varying] / deviations[varying]).max(initial=0.0))
    matrix, vectors = smooth_correlations(subject), axes[varying] * deviations[varying, None]
    values, top = subject.values, subject.top
    constant = int(np.count_nonzero(axes[~varying]))
    yield count("constant columns", constant, "weights of columns that do not vary")
    yield ratio("directions", max_abs(vectors.T @ vectors - np.eye(len(values))), precision,
                "VᵀV = I, of weights times deviations")
    yield ratio("residual", max_abs(matrix @ vectors - vectors * values), precision * top + subject.ties,
                "the correlations times each axis are its eigenvalue times the axis")
    stated = subject.spectrum.solved
    yield ratio("eigenvalues", max_abs(stated - np.linalg.eigvalsh(matrix)[::-1][: len(stated)]), precision * top,
                "all eigenvalues of the correlations, the largest first")
    decoder = projector.affine
    if decoder is not None:
        wrong = int(np.sum(decoder.mean != projector.centering.means))
        apart = max_abs(decoder.directions[varying] - vectors * deviations[varying, None])
        yield count("decoder", wrong + int(apart > precision * max_abs(deviations)),
                    "numbers that reconstruction and projection do not share")
    yield _loadings(subject, vectors * (np.sqrt(values) if scaled else 1.0), varying,
                    precision * np.sqrt(top))


def _loadings(subject: Subject, expected: Array, varying: AnyArray, allowed: float) -> Check:
    """Check that the loadings are the components' correlations with the items, V √λ, or directions V."""
    if subject.model.loadings is None:
        return skipped("loadings", "the loadings are not at hand")
    found = subject.model.loadings.values
    error = max(max_abs(found[varying] - expected), max_abs(found[~varying]))
    return ratio("loadings", error, allowed, "loadings are directions, times the roots of their eigenvalues or alone")


def likelihood(rho: float, table: Array, one: Array, other: Array) -> float:
    """Return Σ w ln P of a table (k x l) for a correlation, given thresholds (k - 1) and (l - 1)."""
    from scipy.stats import multivariate_normal

    rows, columns = (np.concatenate([[-FAR], cuts, [FAR]]) for cuts in (one, other))
    corners = np.array([[multivariate_normal.cdf([h, k], [0, 0], [[1, rho], [rho, 1]]) for k in columns] for h in rows])
    cells = np.diff(np.diff(corners, axis=0), axis=1)
    return float((table * np.log(np.maximum(cells, 1e-18))).sum())
