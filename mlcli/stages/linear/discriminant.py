"""Linear discriminants: the directions in which classes lie far apart relative to the spread within them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mlcli.base.rows.source import rows_of
from mlcli.base.stages.stage import note, stage
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import Labeled
from mlcli.base.values.missing import present_cells
from mlcli.errors import DataError, GeometryError
from mlcli.stages.algebra.costs import singular_step
from mlcli.stages.algebra.linalg import EPS, singular
from mlcli.stages.eigen.axes import first_columns
from mlcli.stages.linear.class_rows import (
    ClassMoments,
    Discriminants,
    class_moments_of_rows,
    class_row_step,
    score_rows,
)
from mlcli.stages.linear.shrinkage import Shrinkage, shrink_within, sphering_of
from mlcli.stages.linear.whitening import (
    Extent,
    centered_columns,
    column_lengths,
    negligible,
    require_no_faint,
    zero_rounding,
)


def labeled_rows(data: Labeled) -> Indices | None:
    """Return the rows that have a label, an (m,) array, with a note that counts the others; None where all have one.

    Raises DataError for a row without a label in a table that is read in blocks.
    """
    known = present_cells(data.labels)
    if known.all():
        return None
    first, count = data.ids[int(known.argmin())], int(np.sum(~known))
    if rows_of(data.values) is not None:
        raise DataError("NO-LABEL", f"{count} rows have no label (empty, NA or NaN), the first is {first[:80]!r}",
                        where="input.label_columns", hint="leave them out; they can be placed later with `project`")
    note("N-UNLABELED", f"{count} of {len(known)} rows have no label (empty, NA or NaN) and are left out, the first is "
         f"{first[:80]!r}; `project` places them", rows=count)
    return np.flatnonzero(known)


def classes_of(labels: Sequence[str]) -> tuple[list[str], Indices]:
    """Return the sorted names of the classes and each row's class (n)."""
    names, classes = np.unique(np.asarray(labels), return_inverse=True)
    return names.tolist(), classes.astype(np.int64)


@stage("discriminants")
def discriminants(points: Array, classes: Indices, priors: Array, shrinkage: Shrinkage | None = None) -> Discriminants:
    """Return the discriminants of points (n x d) in classes (n) 0..g-1, none of them empty, with priors (g).

    Two singular value decompositions and no scatter matrix, as in MASS (Venables and Ripley). For rows read in
    blocks the first one is of R, the triangle of deviations Q R from the classes' means: it has their singular values.
    With `shrinkage` the covariance within classes is shrunk; that of rows in blocks is not.
    Directions without spread within the classes make no axes. Raises GeometryError for a single class, or if no class
    has any variance, and DataError if a column is too small compared with the largest.
    """
    counts = np.bincount(classes)
    if len(counts) < 2:
        raise GeometryError("ONE-CLASS", "the labels name one class only", where="input.label_columns",
                            hint="discriminants need at least two classes")
    rows = rows_of(points)
    seen = _class_moments(points, classes, counts) if rows is None else class_moments_of_rows(rows, classes, counts)
    sphere = _sphering(seen.extent, seen.within, len(points) - len(counts)) if shrinkage is None else _shrunk_sphering(
        seen.extent, seen.within, classes, shrinkage)
    _note_lost(seen.extent, seen.centers, sphere)
    weighted = np.sqrt(counts / (len(counts) - 1))[:, None] * (seen.centers @ sphere)
    _, sizes, right = singular(weighted)
    significant = sizes > negligible(seen.sphered(np.abs(sphere)), np.ones(sphere.shape[1]),
                                     float(sizes.max(initial=0.0)))
    scaling = sphere @ right[significant].T
    return Discriminants(mean=seen.mean, scaling=scaling, ratios=sizes[significant] ** 2,
                         centers=seen.centers @ scaling, priors=priors)


def _class_moments(points: Array, classes: Indices, counts: Indices) -> ClassMoments:
    """Return the moments of classes of points in memory."""
    mean, centered = centered_columns(points)
    require_no_faint(centered, points)
    centers = np.zeros((len(counts), points.shape[1]))
    np.add.at(centers, classes, centered)
    centers /= counts[:, None]
    return ClassMoments(mean=mean, centers=centers, within=centered - centers[classes], extent=Extent.of(points),
                        sphered=lambda sphere: Extent.of(points @ sphere))


def score_points(found: Discriminants, points: Array, classes: Indices, count: int) -> tuple[Array, Array]:
    """Return scores (n x count) of points (n x d) on the first discriminants, and posterior probabilities (n x g).

    `classes` (n) are the points' classes; all discriminants classify.
    """
    rows = rows_of(points)
    if rows is not None:
        return score_rows(rows, classes, found, count)
    scores = found.scores(points)
    return first_columns(scores, count), found.posteriors(scores)


def discriminant_steps(points: Array, count: int, classes: int, threads: int) -> list[Step]:
    """Return the steps of the discriminants of points (n x d) and their scores, with `count` axes."""
    rows = rows_of(points)
    if rows is not None:
        return [class_row_step(rows, count, classes, threads)]
    step = singular_step("discriminants", points.shape, threads, copies=5.0)
    return [replace(step, memory=max(step.memory, 8.0 * len(points) * (2 * points.shape[1] + 3 * classes)))]


def _sphering(extent: Extent, within: Array, freedom: int) -> Array:
    """Return the map (d x r) that whitens deviations from the classes' means (divisor n - g), or their triangle."""
    within = zero_rounding(within, extent)
    lengths = column_lengths(within)
    if freedom < 1 or not lengths.any():
        raise _no_variation()
    varying = lengths > 0
    scale = lengths[varying]
    _, sizes, right = singular(within[:, varying] / scale)
    significant = sizes > negligible(extent.of_columns(varying), scale, float(sizes[0]))
    sphere = np.zeros((len(lengths), int(significant.sum())))
    sphere[varying] = right[significant].T / scale[:, None] * (np.sqrt(freedom) / sizes[significant])
    return sphere


def _shrunk_sphering(extent: Extent, within: Array, classes: Indices, shrinkage: Shrinkage) -> Array:
    """Return the map (d x r) that whitens the shrunk covariance of deviations (n x d) from the classes' (n) means."""
    within = zero_rounding(within, extent)
    if not within.any():
        raise _no_variation()
    return sphering_of(shrink_within(within, classes, shrinkage))


def _no_variation() -> GeometryError:
    return GeometryError("WITHIN", "no class varies within itself: each has equal rows, or only one row",
                         where="input.label_columns", hint="give labels that several different rows share")


def _note_lost(extent: Extent, centers: Array, sphere: Array) -> None:
    """Warn where class means differ in directions without spread within: they separate classes and make no axes."""
    basis, _ = np.linalg.qr(sphere)
    outside = centers - (centers @ basis) @ basis.T
    if np.abs(outside).max() > np.sqrt(EPS) * extent.largest.max():
        note("W-SEPARATED", "classes differ in directions in which no class varies; these give no axes")
