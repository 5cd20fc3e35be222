"""The certificate of classes and of independent components."""

from collections.abc import Callable
from typing import Literal

import numpy as np

from mlcli.base.rows.source import rows_of
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS, Check, count, ratio, skipped
from mlcli.base.values.inputs import Labeled
from mlcli.certify.subject import max_abs
from mlcli.core.check.second_moments import diagonal
from mlcli.core.check.stationarity import UNCONVERGED
from mlcli.core.classifier import Memberships, Priors
from mlcli.core.iterate import SMALL
from mlcli.core.model import Model
from mlcli.methods.discriminant.discriminants import ClassProjector, Shrinkage, shrink_within

MOST = 2000  # rows whose posteriors are computed again, unless all are
DEPENDENT = 1e9  # condition number of the columns within classes from which they count as dependent


def posterior_checks(data: Labeled, model: Model, priors: Priors, shrinkage: Shrinkage | Literal["none"],
                     full: bool = False) -> list[Check]:
    """Return the checks of posterior probabilities and of the model that gives new rows theirs."""
    projector, stated = model.projector, model.memberships
    if not isinstance(projector, ClassProjector):
        return [skipped("classifier", "the run gives no classes, as before it had them") if stated is None else count(
            "classifier", 1, "models without the densities of the classes")]
    names, classes = np.unique(np.asarray(data.labels), return_inverse=True)
    counts, held = np.bincount(classes), projector.classifier
    expected = {"proportions": counts / counts.sum(), "equal": np.full(len(counts), 1 / len(counts))}
    meant = expected[priors] if isinstance(priors, str) else np.array(priors)
    wrong = int(held.names != tuple(names.tolist())) + int(
        held.priors.shape != meant.shape or np.abs(held.priors - meant).max() > 8 * EPS)
    checks = [count("priors", wrong, "names or priors of the classes that are not those asked for")]
    if stated is None or wrong:
        return checks
    if len(stated.probabilities) != len(classes) or stated.names != held.names:
        return [*checks, count("posterior", 1, "rows or classes without a probability")]
    rows = rows_of(data.values)
    chosen = (np.arange(len(classes)) if len(classes) <= MOST or (full and rows is None) else
              np.linspace(0, len(classes) - 1, MOST).astype(np.int64) if rows is None else rows.some(MOST))
    given, points = stated.probabilities[chosen], data.values[chosen]
    again = held.memberships(points - projector.centering.means).probabilities
    checks.append(ratio("classifier", max_abs(given - again), EPS * _size(
        held.scaling, points - projector.centering.means, held.centers), "the model's densities give the probabilities",
        exact=len(chosen) == len(classes)))
    if rows is not None:
        return [*checks, skipped("posterior", "the table is read in blocks; `classifier` and `within` hold")]
    return [*checks, *_by_distances(data.values, classes, np.log(np.maximum(meant, 1e-300)), stated, chosen, shrinkage),
            *([] if shrinkage == "none" else shrunk_checks(data, classes, model, shrinkage))]


def _by_distances(points: Array, classes: Indices, logs: Array, stated: Memberships, chosen: Indices,
                  shrinkage: Shrinkage | Literal["none"]) -> list[Check]:
    """Check posteriors of the chosen rows by distances from the classes' means, solved for by elimination."""
    centers, within = _deviations(points, classes)
    scale = np.sqrt(np.mean(within**2, axis=0))
    scale = np.where(scale > 0, scale, 1.0)
    if shrinkage == "none":
        root = np.linalg.qr(within / scale, mode="r") / np.sqrt(max(len(points) - len(centers), 1))
        sizes = np.linalg.svd(root, compute_uv=False) if len(root) == len(scale) else np.zeros(1)
    else:
        covariance = shrink_within(within, classes, shrinkage) / np.outer(scale, scale)
        sizes = np.sqrt(np.maximum(np.linalg.eigvalsh(covariance)[::-1], 0.0))
        root = np.linalg.cholesky(covariance).T if sizes[0] <= DEPENDENT / 100 * sizes[-1] else covariance
    growth = float(sizes[0] / sizes[-1]) if sizes[-1] > 0 else np.inf
    offset = float((np.abs(points).max(axis=0) / scale).max())
    if growth > (DEPENDENT if shrinkage == "none" else DEPENDENT / 100) or offset > DEPENDENT:
        return [skipped("posterior", "columns depend on each other within the classes, or vary little there")]
    far = [np.sum(np.linalg.solve(root.T, ((points[chosen] - center) / scale).T) ** 2, axis=0) for center in centers]
    apart = -0.5 * np.array(far).T + logs
    apart = np.exp(apart - apart.max(axis=1, keepdims=True))
    apart /= apart.sum(axis=1, keepdims=True)
    gap = np.abs(apart - stated.probabilities[chosen]).max(initial=0.0)
    scale_of = 10 * EPS * growth * (growth + offset) * (1 + float(np.max(far)))
    return [ratio("posterior", float(gap), scale_of, "Bayes' rule for normal densities with one covariance",
                  exact=len(chosen) == len(points))]


def shrunk_checks(data: Labeled, classes: Indices, model: Model, shrinkage: Shrinkage) -> list[Check]:
    """Check that axes make the shrunk covariance the identity, and that between the classes diagonal."""
    points, wrong = data.values, model.rounding(data)
    centers, within = _deviations(points, classes)
    covariance, counts = shrink_within(within, classes, shrinkage), np.bincount(classes)
    axes, solved = model.axes, model.ranks.solved
    weights = np.sqrt(counts / max(len(counts) - 1, 1))[:, None]
    weighted = (centers - np.average(centers, axis=0, weights=counts)) * weights
    drawn = np.diag(np.any(axes != 0, axis=0).astype(np.float64))
    spread, between = axes.T @ covariance @ axes - drawn, weighted @ axes
    gap = between.T @ between - diagonal(solved, axes)
    values = np.linalg.eigvalsh(covariance)
    growth = float(values[-1] / max(values[0], values[-1] * EPS))
    rounding, top = EPS * max(*points.shape, 10) * growth, float(solved.max(initial=0.0))
    return [ratio("within", max_abs(spread), rounding + wrong * (1 + wrong),
                  "the shrunk covariance is the identity"),
            ratio("between", max_abs(gap), rounding * (1 + top) + wrong * (np.sqrt(top) + wrong),
                  "the covariance between the classes is diagonal and holds the ratios")]


def _deviations(points: Array, classes: Indices) -> tuple[Array, Array]:
    """Return the means of classes (g x d), and deviations from them (n x d)."""
    centers = np.array([points[classes == number].mean(axis=0) for number in range(int(classes.max()) + 1)])
    return centers, points - centers[classes]


def _size(scaling: Array, centered: Array, centers: Array) -> float:
    """Return a bound of the terms that a logarithm of a posterior is summed from."""
    reach = float((np.abs(centered).max(axis=0, initial=0.0) @ np.abs(scaling)).max(initial=0.0))
    return 10 * (1 + len(scaling) * reach * max_abs(centers) * max(centers.shape[1], 1))


CONTRASTS: dict[str, Callable[[Array], Array]] = {
    "logcosh": lambda v: np.logaddexp(v, -v) - np.log(2.0), "exp": lambda v: -np.exp(-(v**2) / 2),
    "cube": lambda v: v**4 / 4}
SLOPES: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {  # g = G', and g'
    "logcosh": (np.tanh, lambda v: np.cosh(np.clip(v, -300, 300)) ** -2.0),
    "exp": (lambda v: v * np.exp(-(v**2) / 2), lambda v: (1 - v**2) * np.exp(-(v**2) / 2)),
    "cube": (lambda v: v**3, lambda v: 3 * v**2)}
TINY = 1e-300  # in place of zero, where a source is constant


def negentropy_checks(sources: Array, contrast: str, stated: Array) -> list[Check]:
    """Check white sources (n x p): negentropies (E G(y) - E G(v))², v a standard Gaussian, descend and are as stated.

    `stated` holds the p negentropies of the fit.
    """
    function, (nodes, weights) = CONTRASTS[contrast], np.polynomial.hermite_e.hermegauss(180)
    gaussian = float(function(nodes) @ weights) / np.sqrt(2 * np.pi)
    means = function(sources).mean(axis=0)
    negentropies = (means - gaussian) ** 2
    top = float(negentropies.max(initial=0.0))
    wrong = int(np.sum(np.diff(negentropies) > 1e-9 * top + 1e-12 * np.sqrt(top)))
    checks = [count("order", wrong, "sources that are farther from Gaussian than the one before")]
    known = min(len(stated), len(negentropies))
    size = max_abs(means) + abs(gaussian)
    return [*checks, ratio("negentropy", float(np.abs(negentropies - stated)[:known].max(initial=0.0)),
                           1e-11 * (top + size * np.sqrt(top)) + EPS * size**2,
                           "(E G(y) - E G(v))² of each source, as stated")]


def fixed_point_check(sources: Array, contrast: str, tolerance: float, converged: bool, *, together: bool) -> Check:
    """Check that white sources (n x p) are a fixed point: that the next step would turn them no farther than claimed.

    With y the sources, a step maps directions W to M W, with M = E g(y) yᵀ - diag E g'(y), and then to the nearest
    orthonormal ones, up to signs. To first order these are W turned in each plane by

        (dᵢ Mᵢⱼ - dⱼ Mⱼᵢ) / (dᵢ Mᵢᵢ + dⱼ Mⱼⱼ),   dᵢ the sign of Mᵢᵢ,

    which at a maximum or minimum of Σ dᵢ E G(yᵢ) under rotations is zero. One after the other (not `together`), the
    direction that came first is turned by Mᵢⱼ / Mᵢᵢ. Convergence means that the distance from the limit is within
    `tolerance`, or steps are as small as rounding: a step is no longer than that distance.
    """
    if not converged:
        return skipped("stationarity", UNCONVERGED)
    slope, bend = SLOPES[contrast]
    slopes = slope(sources)
    step = slopes.T @ sources / max(len(sources), 1) - np.diag(bend(sources).mean(axis=0))
    sizes, signed = np.abs(np.diag(step)), step * np.where(np.diag(step) < 0, -1.0, 1.0)[:, None]
    rounding = EPS * max(*sources.shape, 10) * float(np.sqrt(np.mean(slopes**2, axis=0)).max(initial=0.0))
    if together:
        apart, within = np.abs(signed - signed.T), sizes + sizes[:, None]
        shares = apart / np.maximum(within * max(tolerance, SMALL) + rounding, TINY)
    else:
        shares = np.abs(step) / np.maximum(sizes[:, None] * max(tolerance, SMALL) + rounding, TINY)
        shares = np.minimum(shares, shares.T)
    return ratio("stationarity", float(np.triu(shares, 1).max(initial=0.0)), 1.0,
                 "the angle by which a step would turn two sources, over the distance that convergence allows")
