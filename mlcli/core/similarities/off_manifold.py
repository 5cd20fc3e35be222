"""How far rows lie off the manifold of a fit: their scores, larger is farther, and p from scores of other rows.

A score is what the coordinates of a row leave of it. Of a positive semidefinite kernel that is the squared distance of
the centered feature vector from the space of the axes, k̃(x, x) - ‖y‖². Of a model with a decoder it is the squared
error of the row that its coordinates lead back to, which is the same for PCA. All others compare the row's distance
to its nearest training rows with the distances of these to theirs: the kernel of LLE and Laplacian eigenmaps is a
pseudo-inverse, whose diagonal no new row has; that of dissimilarities and of path lengths may be indefinite, and its
residuals negative. Scores are over their mean of training rows, so that a usual row has about one, and scores of
several steps can be compared.

p is conformal: with m scores of rows that the fit has not seen, the share of exchangeable rows with p <= a is at most
a, on average over the draw of these rows. Source: Vovk, Gammerman and Shafer, "Algorithmic learning in a random world",
2005; Laxhammar, 2014. T² and Q are those of Hotelling, 1931, and of Jackson and Mudholkar, 1979.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS
from mlcli.core.graph.search import smallest
from mlcli.core.metrics.distances import between, distances_to
from mlcli.core.similarities.preimages import Barycentric, FixedPoint, KernelRidge
from mlcli.core.similarities.projector import Projector

Kind = Literal["residual", "reconstruction", "neighbors"]
NEAREST = 5  # training rows whose mean distance is compared
NUMBERS = 2**20  # numbers of a block of rows
ROWS = 1_000  # training rows that are scored, and that new ones are compared with
STORED = 2**22  # numbers of these rows, at most
LEAST = 3  # rows without which nothing is typical
ROUNDING = 2.0**10 * EPS  # share of a squared length below which what is left of it is rounding
LARGEST = float(np.finfo(np.float64).max)
PREIMAGES = (Barycentric, KernelRidge, FixedPoint)  # decoders that are fitted beside a method, and not its own


def scored_rows(rows: int, columns: int) -> int:
    """Return how many training rows are scored, and stand for all where new ones are compared with them."""
    return min(rows, max(min(ROWS, STORED // max(columns, 1)), LEAST))


@stored("reference-rows", points="zd", places="z", reaches="z", within={"places": "d"})
@frozen
class ReferenceRows:
    """Training rows that new ones are compared with: all, or a sample."""

    points: Array | None  # z x d, in the units of the computation; None where dissimilarities are given
    places: Indices | None  # z: of given dissimilarities, the numbers of these rows
    reaches: Array  # z: mean distance to the nearest others of them

    def scores(self, projector: Projector, measured: Array) -> Array:
        """Return the distance of new rows (m x d) to the nearest of these rows, over the mean reach of those (m)."""
        found, lengths = np.empty(len(measured)), self._lengths(projector)
        for block in row_blocks(len(measured), NUMBERS, max(len(self.reaches), measured.shape[1])):
            far = np.ascontiguousarray(lengths(measured[block]))
            near, own = smallest(far, min(NEAREST, far.shape[1]), None)
            found[block] = self._relative(own.mean(axis=1), self.reaches[near].mean(axis=1))
        return found

    def left_out(self, between_all: Array) -> Array:
        """Return the score of each of these rows (z) as if the others alone were there, from all distances (z x z).

        The reaches of the others are then without it as well.
        """
        count, size = min(NEAREST, len(between_all) - 1), len(between_all)
        wider = size > count + 1
        near, lengths = smallest(between_all, count + wider, np.arange(size))
        own, others = lengths[:, :count].mean(axis=1), near[:, :count]
        theirs = near[others]  # z x k x (k + 1): the neighbors of each neighbor
        among = theirs[:, :, :count] == np.arange(size)[:, None, None]
        sums = lengths[:, :count].sum(axis=1)[others]
        replaced = np.where(among, lengths[others][:, :, :count], 0.0).sum(axis=2)
        instead = np.where(among.any(axis=2), lengths[:, -1][others], 0.0) if wider else 0.0
        left = count if wider else max(count - 1, 1)  # of few rows a neighbor has all others for neighbors
        return self._relative(own, ((sums - replaced + instead) / left).mean(axis=1))

    def _lengths(self, projector: Projector) -> Callable[[Array], Array]:
        """Return the function that gives distances (m x z) of new rows (m x d), in blocks of them."""
        places = self.places
        if places is not None:
            return lambda new: new[:, places]
        assert self.points is not None
        return distances_to(projector.similarity.comparison, self.points)

    def _relative(self, own: Array, theirs: Array) -> Array:
        """Return quotients (m) of (m,) distances; equal rows have a reach of zero, and a small one stands for it."""
        least = EPS * float(self.reaches.max(initial=0.0)) or 1.0
        return np.minimum(own / np.maximum(theirs, least), LARGEST)


@stored("manifold-score", mean="p", precision="pp", lengths="p", calibration="j")
@frozen
class ManifoldScore:
    """The score of rows of one step of a run, and the scores of rows that were not in the fit, for p.

    Those of a run's last step are the largest of all of its own steps: PCA before the method has no calibration.
    """

    kind: Kind
    scale: float  # mean of training rows
    mean: Array | None = None  # p, of the coordinates in the units of the computation; None of neighbors, as the next
    precision: Array | None = None  # p x p, the inverse of their covariance; zero along axes without extent
    lengths: Array | None = None  # p, of the axes of coordinates in the feature space of a kernel
    reference: ReferenceRows | None = None  # of neighbors
    linear: bool = False  # whether T² and Q are of a linear model: pca, ppca and fa
    calibration: Array | None = None  # j, ascending; None where a later step has those of both
    exact: bool = False  # whether these are of rows that were held out of the fit

    def __post_init__(self) -> None:
        """Raise ValueError for parts that do not fit."""
        ends = self.mean is not None, self.precision is not None
        if not self.scale > 0 or (self.kind == "neighbors") != (self.reference is not None) or (
                self.kind == "residual") != (self.lengths is not None) or ends != (self.kind != "neighbors",) * 2 or (
                self.linear and self.mean is None):
            raise ValueError("a score has the parts of its kind")
        if self.calibration is not None and (np.diff(self.calibration) < 0).any():
            raise ValueError("calibration scores are in ascending order")

    def of(self, projector: Projector, rows: Array, coordinates: Array) -> Array:
        """Return scores (m) of prepared rows (m x d) at coordinates (m x p); larger is farther."""
        return np.minimum(self.measured(projector, rows, coordinates) / self.scale, LARGEST)

    def measured(self, projector: Projector, rows: Array, coordinates: Array) -> Array:
        """Return scores (m) as they are measured, in the units of the computation."""
        measured = projector.input_unit.measured(rows)
        with np.errstate(over="ignore", invalid="ignore"):
            own = projector.own_coordinates(coordinates)
            if self.reference is not None:
                return self.reference.scores(projector, completed(projector, measured, own))
            found = (decoding_errors(projector, measured, own) if self.lengths is None
                     else kernel_residuals(projector, measured, own * self.lengths))
        return np.nan_to_num(found, nan=LARGEST, posinf=LARGEST)

    def p(self, scores: Array) -> Array:
        """Return (1 + #{sᵢ >= s}) / (m + 1) for each score s (a), with m calibration scores sᵢ."""
        assert self.calibration is not None
        below = np.searchsorted(self.calibration, scores, side="left")
        return np.asarray((1 + len(self.calibration) - below) / (len(self.calibration) + 1))

    def hotelling(self, projector: Projector, coordinates: Array) -> Array:
        """Return T² (m) of coordinates (m x p): squared distances from the mean, in variances of the training rows."""
        assert self.mean is not None and self.precision is not None
        gaps = projector.output_unit.measured(coordinates) - self.mean
        return np.asarray(np.einsum("ij,jk,ik->i", gaps, self.precision, gaps))


def completed(projector: Projector, measured: Array, coordinates: Array) -> Array:
    """Return rows (m x d) with missing cells as their coordinates (m x p) lead back to them, where they do."""
    there = ~np.isnan(measured)
    if projector.decoder is None or there.all():
        return measured
    return np.where(there, measured, projector.decoder(coordinates))


def kernel_residuals(projector: Projector, measured: Array, coordinates: Array) -> Array:
    """Return k̃(x, x) - ‖y‖² (m) for rows (m x d) and coordinates (m x p) along axes of length one, in feature space.

    With column means μ of the training rows and their mean μ̄, k̃(x, x) = k(x, x) - 2 (mean of k(x, ·)) + μ̄.
    """
    similarity, means, found = projector.similarity, projector.centering.means, np.empty(len(measured))
    across = projector.centering.across
    for block in similarity.batches(measured, len(projector.axes)):
        rows = similarity.rows(measured[block])
        own = similarity.diagonal(measured[block])
        assert own is not None
        within, middle = (rows.mean(axis=1), float(means.mean())) if across else (np.zeros(len(own)), 0.0)
        squares = np.einsum("ij,ij->i", coordinates[block], coordinates[block])
        left, size = own - 2 * within + middle - squares, np.abs(own) + 2 * np.abs(within) + abs(middle) + squares
        found[block] = np.where(left > ROUNDING * size, left, 0.0)
    return found


def decoding_errors(projector: Projector, measured: Array, coordinates: Array) -> Array:
    """Return Q = ‖x - x̂‖² (m) of rows (m x d) and their coordinates (m x p); missing cells count as the others do."""
    decoder, found = projector.decoder, np.empty(len(measured))
    assert decoder is not None
    for block in row_blocks(len(measured), NUMBERS, measured.shape[1]):
        there = ~np.isnan(measured[block])
        rows, back = np.where(there, measured[block], 0.0), decoder(coordinates[block])
        back = np.where(there, back, 0.0)
        squares = np.square(rows - back).sum(axis=1)
        size = np.square(rows).sum(axis=1) + np.square(back).sum(axis=1)
        seen = np.maximum(there.sum(axis=1), 1)
        found[block] = np.where(squares > ROUNDING**2 * size, squares, 0.0) * (there.shape[1] / seen)
    return found


def kind_of(projector: Projector, rows: Array, *, of_chain: bool, decodes: bool) -> Kind:
    """Return the kind of score for rows (m x d) of features; `of_chain`: axes are eigenvectors of the kernel.

    `decodes`: the errors of a decoder are those of rows that it was not fitted to, or as large.
    """
    if of_chain and projector.similarity.diagonal(rows[:1]) is not None:
        return "residual"
    decoder = projector.decoder  # one to another view has no row of that view beside a new one
    own = decodes and decoder is not None and decoder.view == 1 and not isinstance(decoder, PREIMAGES)
    return "reconstruction" if own else "neighbors"


def reference_of(projector: Projector, measured: Array, held: Array | None = None) -> tuple[ReferenceRows, Array]:
    """Return rows (z x d) as those that new ones are compared with, and their scores left out one by one (z).

    `held` is an array of the model with the same rows, which then lies in memory once.
    """
    far = between(projector.similarity.comparison, measured, measured)
    points = held if held is not None and np.array_equal(held, measured) else np.ascontiguousarray(measured)
    return with_reaches(far, points, None)


def with_reaches(far: Array, points: Array | None, places: Indices | None) -> tuple[ReferenceRows, Array]:
    """Return rows to compare with, and their scores left out one by one (z), from their distances (z x z)."""
    far = np.ascontiguousarray(far)
    _, lengths = smallest(far, min(NEAREST, len(far) - 1), np.arange(len(far)))
    reference = ReferenceRows(points, places, lengths.mean(axis=1))
    return reference, reference.left_out(far)


def leverage_free(scores: Array, distances: Array, count: int) -> Array:
    """Return squared residuals (m) of training rows as if each had been left out of the fit: e² / (1 - h)².

    h = 1 / n + T² / (n - 1) is a row's leverage among n, given its T² (m).
    """
    left = np.maximum(1 - 1 / count - distances / max(count - 1, 1), 1 / count)
    return np.asarray(scores / left**2)
