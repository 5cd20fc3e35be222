"""The certificate of classes: posterior probabilities from Mahalanobis distances, and axes of a shrunk covariance."""

from typing import Literal

import numpy as np

from mlcli.base.rows.source import rows_of
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS, Check, count, ratio, skipped
from mlcli.base.values.inputs import Labeled
from mlcli.methods.frame.model import Model
from mlcli.methods.identities.second_moments import diagonal
from mlcli.stages.linear.classifier import Memberships, Priors
from mlcli.stages.linear.shrinkage import Shrinkage, shrink_within
from mlcli.stages.similarities.classes import ClassProjector

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
    checks.append(ratio("classifier", float(np.abs(given - again).max(initial=0.0)), EPS * _size(
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
    return [ratio("within", float(np.abs(spread).max(initial=0.0)), rounding + wrong * (1 + wrong),
                  "the shrunk covariance is the identity"),
            ratio("between", float(np.abs(gap).max(initial=0.0)), rounding * (1 + top) + wrong * (np.sqrt(top) + wrong),
                  "the covariance between the classes is diagonal and holds the ratios")]


def _deviations(points: Array, classes: Indices) -> tuple[Array, Array]:
    """Return the means of classes (g x d), and deviations from them (n x d)."""
    centers = np.array([points[classes == number].mean(axis=0) for number in range(int(classes.max()) + 1)])
    return centers, points - centers[classes]


def _size(scaling: Array, centered: Array, centers: Array) -> float:
    """Return a bound of the terms that a logarithm of a posterior is summed from."""
    reach = float((np.abs(centered).max(axis=0, initial=0.0) @ np.abs(scaling)).max(initial=0.0))
    return 10 * (1 + len(scaling) * reach * float(np.abs(centers).max(initial=0.0)) * max(centers.shape[1], 1))
