"""Linear discriminants: the directions in which classes lie far apart, with shrinkage, in memory or not.

Their projector also gives new points posterior probabilities of classes.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import field, replace
from functools import reduce
from typing import Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import product_rate
from mlcli.base.rows.scratch import allocate, bytes_in_memory, release_pages
from mlcli.base.rows.source import RowPass, Rows, rows_of
from mlcli.base.stages.stage import computed, note, part, stage
from mlcli.base.stages.steps import Passes, Step
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS
from mlcli.base.values.inputs import Labeled
from mlcli.base.values.missing import present_cells
from mlcli.core.classifier import Classifier, Memberships, posteriors
from mlcli.core.eigen.options import first_columns
from mlcli.core.kernels.row_factor import READ
from mlcli.core.linalg import singular, singular_step, symmetric_eigen, triangle_of
from mlcli.core.similarities.projector import Projector, require_near
from mlcli.core.whitening import (
    SLACK,
    SampleExtent,
    centered_columns,
    column_lengths,
    negligible,
    refuse_faint,
    require_no_faint,
    zero_rounding,
)
from mlcli.engine.executor import results
from mlcli.errors import DataError, GeometryError

Shrinkage = Literal["ledoit_wolf"] | float


def shrink_within(within: Array, classes: Indices, chosen: Shrinkage) -> Array:
    """Return the shrunk covariance (d x d) of deviations (n x d) from the means of their classes (n), divisor n.

    With a number s it is (1 - s) W + s tr(W)/d I. By Ledoit and Wolf (2004) each class has its own intensity, of its
    columns scaled to variance one, and the covariances are averaged by the classes' sizes, as in scikit-learn. Columns
    that do not vary, at all or in a class, keep variance zero, and do not count in d.
    """
    size, width = within.shape
    if chosen != "ledoit_wolf":
        covariance = within.T @ within / size
        varying = np.diag(covariance) > 0
        least = chosen * np.trace(covariance) / max(int(varying.sum()), 1)
        return np.asarray((1 - chosen) * covariance + least * np.diag(varying.astype(np.float64)))
    total = np.zeros((width, width))
    for number in np.unique(classes):
        rows = within[classes == number]
        scale = column_lengths(rows) / np.sqrt(len(rows))
        own = np.flatnonzero(scale)
        kept, share = scale[own], len(rows) / size
        total[np.ix_(own, own)] += share * ledoit_wolf(rows[:, own] / kept) * np.outer(kept, kept)
    return total


def ledoit_wolf(points: Array) -> Array:
    """Return the shrunk covariance (d x d) of centered points (n x d) with the optimal intensity (Ledoit and Wolf)."""
    size, width = points.shape
    covariance = points.T @ points / size
    mean = float(np.trace(covariance)) / max(width, 1)
    apart = float(np.sum(covariance**2)) - mean**2 * width  # ‖S - m I‖²
    squares = points**2
    spread = (float(np.sum((squares.T @ squares) / size)) - float(np.sum(covariance**2))) / size
    intensity = min(max(spread, 0.0), apart) / apart if apart > 0 else 0.0
    return (1 - intensity) * covariance + intensity * mean * np.eye(width)


def sphering_of(covariance: Array) -> Array:
    """Return the map (d x r) that whitens a covariance (d x d), in the directions above rounding."""
    scale = np.sqrt(np.diag(covariance))
    varying = scale > 0
    kept = scale[varying]
    values, vectors = symmetric_eigen(covariance[np.ix_(varying, varying)] / np.outer(kept, kept))
    significant = values > 10 * EPS * len(values) * values[:1].max(initial=0.0)
    sphere = np.zeros((len(covariance), int(significant.sum())))
    sphere[varying] = vectors[:, significant] / kept[:, None] / np.sqrt(values[significant])
    return sphere


TALL = 2  # rows that are made a triangle together, for each column
PASSES, COPIES = 3, 3  # over the rows; arrays of scores in memory at once


@frozen
class Discriminants:
    """The discriminant functions of some classes (Fisher; Rao)."""

    mean: Array  # d, of all points
    scaling: Array  # d x r; the covariance within classes (divisor n - g) becomes the identity
    ratios: Array  # r, descending: variance between classes (divisor g - 1) over that within
    centers: Array  # g x r: the classes' means as scores
    priors: Array  # g

    def scores(self, points: Array) -> Array:
        """Return the coordinates (m x r) of points (m x d) on all discriminants."""
        return (points - self.mean) @ self.scaling

    def posteriors(self, scores: Array) -> Array:
        """Return the posterior probabilities of the classes (m x g) for scores (m x r)."""
        return posteriors(scores, self.centers, self.priors)


@frozen
class ClassMoments:
    """The moments of classes that determine the discriminants."""

    mean: Array  # d, of all points
    centers: Array  # g x d: the classes' means, without that of all points
    within: Array  # n x d: deviations from the classes' means; or their triangle (d x d)
    extent: SampleExtent
    sphered: Callable[[Array], SampleExtent]  # the extent of the points times a matrix (d x r), or a bound of it


@frozen
class ClassRows(RowPass):
    """A pass over rows without the mean, zero in columns that vary by rounding only, with their classes."""

    classes: Indices
    mean: Array
    varying: AnyArray  # d

    def parts(self, number: int) -> Iterator[tuple[Array, Indices]]:
        """Yield the rows of a block, a few at a time, with their classes."""
        for place, rows in self.rows.parts(number):
            yield np.where(self.varying, rows - self.mean, 0.0), self.classes[place : place + len(rows)]


@frozen
class Sums(ClassRows):
    """A pass for the sums of the rows of each class."""

    count: int

    def work(self, number: int) -> Array:
        """Return the sums (g x d) of a block."""
        sums = np.zeros((self.count, len(self.mean)))
        for rows, classes in self.parts(number):
            np.add.at(sums, classes, rows)
        return sums


@frozen
class Triangles(ClassRows):
    """A pass for R of the deviations Q R from the classes' means."""

    centers: Array

    def work(self, number: int) -> Array:
        """Return R (at most d x d) of a block."""
        width = len(self.mean)
        stacked: list[Array] = [np.zeros((0, width))]
        for rows, classes in self.parts(number):
            stacked.append(rows - self.centers[classes])
            if sum(map(len, stacked)) > TALL * width:
                stacked = [triangle_of(np.vstack(stacked))]
        return triangle_of(np.vstack(stacked))


@frozen
class Scores(ClassRows):
    """A pass for scores on the first discriminants, and posterior probabilities by all of them."""

    found: Discriminants
    count: int

    def work(self, number: int) -> Sequence[tuple[Array, Array]]:
        """Return the scores of a block's parts, and their posterior probabilities."""
        every = (self.found.scores(rows) for _, rows in self.rows.parts(number))
        return [(first_columns(scores, self.count), self.found.posteriors(scores)) for scores in every]


def class_row_step(rows: Rows, count: int, classes: int, threads: int) -> Step:
    """Return the step of the passes, with `count` axes and so many classes."""
    size, width = rows.shape
    seconds = size * width * (PASSES * READ + 2.0 * (1 + TALL) / TALL * width / product_rate(1))
    taken = rows.at_once(threads) * (rows.nbytes + 8.0 * (2 + TALL) * width**2)
    taken += bytes_in_memory(COPIES, size * (count + classes))
    return Step("discriminants", f"by {PASSES} passes over {size:,} rows", seconds / threads, taken,
                passes=Passes(PASSES, seconds / PASSES, rows.blocks, sent=8.0 * width**2, working=float(rows.nbytes),
                              returned=8.0 * (size * (count + classes) / PASSES + rows.blocks * width**2)))


def class_moments_of_rows(rows: Rows, classes: Indices, counts: Indices) -> ClassMoments:
    """Return the moments of classes by two passes over rows (n x d); `classes` (n) are theirs, `counts` (g) sizes."""
    assert rows.moments is not None
    moments = rows.moments.plain
    mean, extent = moments.means, SampleExtent(len(rows), rows.reach)
    deviations = np.maximum(moments.most - mean, mean - moments.least)
    varying = np.sqrt(moments.squares) > SLACK * EPS * np.sqrt(len(rows)) * extent.largest
    refuse_faint(np.where(varying, deviations, 0.0), float(extent.largest.max(initial=0.0)))
    with part("means of classes"), closing(results(Sums(rows, classes, mean, varying, len(counts)))) as every:
        centers = reduce(np.add, every) / counts[:, None]
    with part("deviations within classes"), closing(
            results(Triangles(rows, classes, mean, varying, centers))) as triangles:
        within = reduce(lambda above, below: triangle_of(np.vstack([above, below])), triangles)
    return ClassMoments(mean=mean, centers=centers, within=within, extent=extent,
                        sphered=lambda sphere: SampleExtent(len(rows), extent.largest @ sphere))


def score_rows(rows: Rows, classes: Indices, found: Discriminants, count: int) -> tuple[Array, Array]:
    """Return scores of all rows on the first discriminants (n x count), and posterior probabilities (n x g) by all.

    `classes` (n) are the rows' classes.
    """
    scores, chances, place = allocate(len(rows), count), allocate(len(rows), len(found.priors)), 0
    with part("scores"), closing(results(
            Scores(rows, classes, found.mean, np.ones(len(found.mean), dtype=bool), found, count))) as every:
        for parts in every:
            for some, likely in parts:
                scores[place : place + len(some)], chances[place : place + len(some)] = some, likely
                place += len(some)
            release_pages()
    return scores, chances


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
    computed("class means", seen.centers)
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
    return ClassMoments(mean=mean, centers=centers, within=centered - centers[classes], extent=SampleExtent.of(points),
                        sphered=lambda sphere: SampleExtent.of(points @ sphere))


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


def _sphering(extent: SampleExtent, within: Array, freedom: int) -> Array:
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


def _shrunk_sphering(extent: SampleExtent, within: Array, classes: Indices, shrinkage: Shrinkage) -> Array:
    """Return the map (d x r) that whitens the shrunk covariance of deviations (n x d) from the classes' (n) means."""
    within = zero_rounding(within, extent)
    if not within.any():
        raise _no_variation()
    return sphering_of(shrink_within(within, classes, shrinkage))


def _no_variation() -> GeometryError:
    return GeometryError("WITHIN", "no class varies within itself: each has equal rows, or only one row",
                         where="input.label_columns", hint="give labels that several different rows share")


def _note_lost(extent: SampleExtent, centers: Array, sphere: Array) -> None:
    """Warn where class means differ in directions without spread within: they separate classes and make no axes."""
    basis, _ = np.linalg.qr(sphere)
    outside = centers - (centers @ basis) @ basis.T
    if np.abs(outside).max() > np.sqrt(EPS) * extent.largest.max():
        note("W-SEPARATED", "classes differ in directions in which no class varies; these give no axes")


@stored("class-projector", axes="cp")
@frozen
class ClassProjector(Projector):
    """The map from new points to coordinates, and to posterior probabilities of classes."""

    classifier: Classifier = field(kw_only=True)

    @stage("project")
    def classify(self, new: Array) -> Memberships:
        """Return the posterior probabilities of new points (m x d), in the training data's units.

        Raises NumericalError for points too far from the others.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # raised below
            found = self.classifier.memberships(self.centering(self.similarity.rows(self.input_unit.measured(new))))
        require_near(~np.isfinite(found.probabilities))
        return found
