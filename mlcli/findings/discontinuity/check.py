"""The certificate of discontinuity: which points are doubtful, and curvatures by complex steps of other formulas.

A complex step of a gradient, Im g(y + ih) / h, has no error of differences (Squire and Trapp, 1998).
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from mlcli.base.types import AnyArray, Array
from mlcli.base.values.check import Check, count, ratio, skipped
from mlcli.base.values.inputs import Dissimilarities, Features, Input
from mlcli.certify.subject import Subject
from mlcli.core.check.metrics import bounded_distances
from mlcli.core.metrics.distances import metric_of
from mlcli.findings.frame.finished_run import CsvColumns
from mlcli.methods.neighbor_embedding.negative_sampling import NEAR

STEP = 1e-30
ROWS = 16  # points whose curvature is computed again
MOST = 2_000  # points up to which that is done, unless all is checked
CLOSE = 1e-7  # difference of a least curvature, relative to the largest of its point
Gradient = Callable[[int, AnyArray], AnyArray]  # a point, and a place in its stead


def discontinuity_checks(figures: Mapping[str, Any], scores: CsvColumns, subject: Subject,
                         method: Any) -> Iterator[Check]:
    """Check that doubtful points are those above the thresholds, and singularity by gradients of other formulas."""
    yield from alarm_checks(figures, scores, len(subject.embedding))
    if len(subject.embedding) > MOST and not subject.plan.full:
        yield skipped("singularity", "left to mlcli verify --full")
        return
    gradient = gradient_of(method, subject)
    if gradient is None:
        yield skipped("singularity", "the graph of the fit is not at hand" if method.name != "phate" else
                      "the potential distances of the walk are those of the fit alone")
        return
    points, stated = np.asarray(subject.embedding, dtype=float), scores.array("singularity")
    rows = np.arange(len(points)) if subject.plan.full else np.unique(
        np.linspace(0, len(points) - 1, ROWS).astype(int))
    errors = []
    for row in rows.tolist():
        values = np.linalg.eigvalsh(hessian(gradient, row, points[row]))
        given = 0.0 if np.isinf(stated[row]) else 1 / stated[row]
        errors.append(abs(max(values[0], 0.0) - given) / max(np.abs(values).max(), np.finfo(float).tiny))
    yield ratio("singularity", float(max(errors)), CLOSE,
                f"least curvatures of the losses of {len(rows)} points by complex steps",
                exact=len(rows) == len(points))


def alarm_checks(figures: Mapping[str, Any], scores: CsvColumns, rows: int) -> Iterator[Check]:
    """Check that doubtful points and `torn` follow from scores and thresholds; without a share there are none."""
    stated = scores.array("doubtful")
    if figures["share"] is None:
        wrong = int(np.sum(~np.isnan(stated))) + sum(figures[name] is not None for name in (
            "perturbation", "singularity", "doubtful", "torn"))
    else:
        doubtful = np.zeros(rows, dtype=bool)
        for name in ("perturbation", "singularity"):
            if figures[name] is not None:
                doubtful |= scores.array(name) > figures[name]
        wrong = int(np.sum(doubtful != (stated > 0))) + int(doubtful.sum() != figures["doubtful"]) + int(
            figures["torn"] != (doubtful.mean() > figures["share"]))
    yield count("doubtful", wrong, "points and figures that differ from the scores and thresholds")


def hessian(gradient: Gradient, row: int, place: Array) -> Array:
    """Return the Hessian (p x p) of a point's loss at its place (p)."""
    found = np.empty((len(place), len(place)))
    for axis in range(len(place)):
        ahead = place.astype(complex)
        ahead[axis] += 1j * STEP
        found[:, axis] = gradient(row, ahead).imag / STEP
    return (found + found.T) / 2


def gradient_of(method: Any, subject: Subject) -> Gradient | None:
    """Return the gradient of a point's own loss; None where what it depends on is not at hand."""
    points, weights = np.asarray(subject.embedding, dtype=float), subject.model.products.get("weights")
    if method.name == "tsne" and weights is not None:
        return of_divergence(points, weights, method.dof)
    if method.name == "umap" and weights is not None:
        return of_memberships(points, weights, subject, method)
    if method.name in ("smacof", "sammon", "nmds"):
        return of_stress(points, subject.data, subject.projector.similarity, method.exponent)
    return None


def row_of(product: Any, row: int, size: int) -> Array:
    """Return a row of a sparse matrix (n)."""
    inside, found = slice(int(product.starts[row]), int(product.starts[row + 1])), np.zeros(size)
    found[product.indices[inside]] = product.values[inside]
    return found


def of_divergence(points: Array, shares: Any, dof: float) -> Gradient:
    """Return the gradient of t-SNE's divergence for a point, over twice the sum of its joint affinities."""
    squares = np.sum(points**2, axis=1)
    whole = sum(float(np.sum((1 + np.maximum(
        squares[row] + squares - 2 * points @ points[row], 0) / dof) ** -dof)) - 1 for row in range(len(points)))

    def gradient(row: int, place: AnyArray) -> AnyArray:
        others = np.arange(len(points)) != row
        gaps, now = place - points[others], points[row] - points[others]
        stretched = 1 + np.sum(gaps * gaps, axis=1) / dof
        before = float(np.sum((1 + np.sum(now**2, axis=1) / dof) ** -dof))
        kernel, own = stretched**-dof, row_of(shares, row, len(points))[others]
        total = whole + 2 * (kernel.sum() - before)
        return np.asarray(2 * ((own - kernel / total) / stretched) @ gaps / own.sum())

    return gradient


def of_memberships(points: Array, weights: Any, subject: Subject, method: Any) -> Gradient:
    """Return the gradient of what UMAP's expected step of a point follows, over twice the sum of its memberships."""
    a, b = (float(subject.model.fit[name]) for name in "ab")
    largest, epochs = float(weights.values.max()), method.epochs_of(subject.data)
    push = method.repulsion * method.negative_samples / (2 * len(points))

    def gradient(row: int, place: AnyArray) -> AnyArray:
        others = np.arange(len(points)) != row
        gaps, own = place - points[others], row_of(weights, row, len(points))[others]
        own = np.where(own / largest * epochs >= 1, own, 0.0)
        squares = np.sum(gaps * gaps, axis=1)
        apart = np.abs(squares) > 0
        squares = np.where(apart, squares, 1)
        bent = a * squares**b
        pulls = own / (own.sum() or 1.0) / (1 + bent) + push * (1 / (1 + bent) - 1 / (bent + NEAR))
        return np.asarray(2 * (apart * pulls * b * bent / squares) @ gaps)

    return gradient


def of_stress(points: Array, data: Input, similarity: Any, power: float) -> Gradient:
    """Return the gradient of Σ w (δ - d)² over Σ w of a point, with disparities as a function of dissimilarities.

    Beside a point at its place from which it should be apart it is that of -d²/2 from there, a loss without a minimum.
    A complex step is apart from all points, so that it is the real part of a place that tells.
    """
    def gradient(row: int, place: AnyArray) -> AnyArray:
        if isinstance(data, Features):
            every = bounded_distances(metric_of(data), data.values[row:row + 1], data.values).distances[0]
        else:
            assert isinstance(data, Dissimilarities)
            every = data.values[row]
        others = np.arange(len(points)) != row
        lengths, gaps = every[others], place - points[others]
        weights = np.where(lengths > 0, np.where(lengths > 0, lengths, 1.0) ** power, 0.0) if power else np.ones(
            len(lengths))
        targets = lengths if similarity.disparities is None else similarity.disparities(lengths)
        targets = np.where(lengths > 0, targets, 0.0)
        apart = np.sqrt(np.sum(gaps * gaps, axis=1))
        there = np.any(gaps.real != 0, axis=1)
        if np.any(~there & (targets > 0) & (weights > 0)):
            return points[row] - place
        pulls = weights * (1 - targets / np.where(there, apart, 1))
        return np.asarray(2 * pulls @ gaps / (weights.sum() or 1.0))

    return gradient
