"""Discriminants, and passes over labeled rows that are not in memory: means, deviations within classes, and scores."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import reduce

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.scratch import allocate, bytes_in_memory, release_pages
from mlcli.base.rows.source import Rows
from mlcli.base.stages.stage import part
from mlcli.base.stages.steps import Passes, Step
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.engine.executor import results
from mlcli.stages.algebra.costs import product_rate
from mlcli.stages.algebra.linalg import EPS, triangle_of
from mlcli.stages.eigen.axes import first_columns
from mlcli.stages.kernels.row_factor import READ
from mlcli.stages.linear.classifier import posteriors
from mlcli.stages.linear.whitening import SLACK, Extent, refuse_faint

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
    extent: Extent
    sphered: Callable[[Array], Extent]  # the extent of the points times a matrix (d x r), or a bound of it


@frozen
class ClassRows:
    """Rows without the mean, zero in columns that vary by rounding only, with their classes: a source of blocks."""

    rows: Rows
    classes: Indices
    mean: Array
    varying: AnyArray  # d

    @property
    def blocks(self) -> int:
        """How many blocks of work there are."""
        return self.rows.blocks

    def stop(self) -> None:
        """Blocks are short."""

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
    mean, extent = moments.means, Extent(len(rows), rows.reach)
    deviations = np.maximum(moments.most - mean, mean - moments.least)
    varying = np.sqrt(moments.squares) > SLACK * EPS * np.sqrt(len(rows)) * extent.largest
    refuse_faint(np.where(varying, deviations, 0.0), float(extent.largest.max(initial=0.0)))
    with part("means of classes"), closing(results(Sums(rows, classes, mean, varying, len(counts)))) as every:
        centers = reduce(np.add, every) / counts[:, None]
    with part("deviations within classes"), closing(
            results(Triangles(rows, classes, mean, varying, centers))) as triangles:
        within = reduce(lambda above, below: triangle_of(np.vstack([above, below])), triangles)
    return ClassMoments(mean=mean, centers=centers, within=within, extent=extent,
                        sphered=lambda sphere: Extent(len(rows), extent.largest @ sphere))


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
