"""Linear discriminants: the directions in which classes lie far apart relative to the spread within them."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.missing import is_missing
from mlcli.base.stage import note, stage
from mlcli.base.types import Array, Indices
from mlcli.errors import DataError, GeometryError
from mlcli.stages.algebra.linalg import EPS, singular
from mlcli.stages.linear.whitening import (
    centered_columns,
    column_lengths,
    negligible,
    require_no_faint,
    without_rounding,
)


@frozen
class Discriminants:
    """The discriminant functions of some classes (Fisher; Rao)."""

    mean: Array  # d, of all points
    scaling: Array  # d x r; the covariance within classes (divisor n - g) becomes the identity
    ratios: Array  # r, descending: variance between classes (divisor g - 1) over that within
    centers: Array  # g x r: the classes' means as scores
    shares: Array  # g: how many of the points are in each class

    def scores(self, points: Array) -> Array:
        """Coordinates of points (m x r) on all discriminants."""
        return (points - self.mean) @ self.scaling

    def assigned(self, scores: Array) -> Indices:
        """The class of largest posterior probability for scores (m x r), the classes' shares as their priors."""
        apart = scores @ self.centers.T - 0.5 * np.sum(self.centers**2, axis=1) + np.log(self.shares)
        return apart.argmax(axis=1)


def classes_of(labels: Sequence[str], ids: Sequence[str]) -> tuple[list[str], Indices]:
    """The names of the classes, sorted, and the number of each row's; raises DataError where a row has none."""
    without = [name for name, label in zip(ids, labels, strict=True) if is_missing(label)]
    if without:
        raise DataError("NO-LABEL", f"{len(without)} rows have no label (empty, NA or NaN), the first is "
                        f"{without[0][:80]!r}", where="input.label_columns",
                        hint="leave them out; they can be placed later with `project`")
    names, classes = np.unique(np.asarray(labels), return_inverse=True)
    return names.tolist(), classes.astype(np.int64)


@stage("discriminants")
def discriminants(points: Array, classes: Indices) -> Discriminants:
    """The discriminants of points (n x d) in classes 0..g-1, none of them empty.

    Two singular value decompositions and no scatter matrix, as in MASS (Venables and Ripley).
    Directions without spread within the classes make no axes. Raises GeometryError where there
    is one class only, or no class with any spread, and DataError where a column is too small beside the largest.
    """
    counts = np.bincount(classes)
    if len(counts) < 2:
        raise GeometryError("ONE-CLASS", "the labels name one class only", where="input.label_columns",
                            hint="discriminants need at least two classes")
    mean, centered = centered_columns(points)
    require_no_faint(centered, points)
    centers = np.zeros((len(counts), points.shape[1]))
    np.add.at(centers, classes, centered)
    centers /= counts[:, None]
    sphere = _sphering(points, centered - centers[classes], len(points) - len(counts))
    _note_lost(points, centers, sphere)
    weighted = np.sqrt(counts / (len(counts) - 1))[:, None] * (centers @ sphere)
    _, sizes, right = singular(weighted)
    significant = sizes > negligible(points @ np.abs(sphere), np.ones(sphere.shape[1]), float(sizes.max(initial=0.0)))
    scaling = sphere @ right[significant].T
    return Discriminants(mean=mean, scaling=scaling, ratios=sizes[significant] ** 2, centers=centers @ scaling,
                         shares=counts / len(points))


def _sphering(points: Array, within: Array, freedom: int) -> Array:
    """The map (d x r) that whitens deviations from the classes' means (divisor n - g)."""
    within = without_rounding(within, points)
    lengths = column_lengths(within)
    if freedom < 1 or not lengths.any():
        raise GeometryError("WITHIN", "no class has any spread within: its rows are equal, or it has one row only",
                            where="input.label_columns", hint="give labels that several different rows share")
    varying = lengths > 0
    scale = lengths[varying]
    _, sizes, right = singular(within[:, varying] / scale)
    significant = sizes > negligible(points[:, varying], scale, float(sizes[0]))
    sphere = np.zeros((points.shape[1], int(significant.sum())))
    sphere[varying] = right[significant].T / scale[:, None] * (np.sqrt(freedom) / sizes[significant])
    return sphere


def _note_lost(points: Array, centers: Array, sphere: Array) -> None:
    """Warns where class means differ in directions without spread within: they separate classes and make no axes."""
    basis, _ = np.linalg.qr(sphere)
    outside = centers - (centers @ basis) @ basis.T
    if np.abs(outside).max() > np.sqrt(EPS) * np.abs(points).max():
        note("W-SEPARATED", "classes differ in directions in which no class has any spread; these make no axes")
