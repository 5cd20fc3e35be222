"""Scores of rows off the manifold, computed again by other formulas: those that p of new rows is computed from."""

from collections.abc import Iterator, Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.rows.scratch import release_pages, take_rows
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import Check, count
from mlcli.certify.subject import Plan
from mlcli.core.check.kernels import of_function, of_other_distances, of_points
from mlcli.core.check.metrics import FORMULAS, BoundedDistances, bounded_distances, squared
from mlcli.core.kernels.sums import KernelSum
from mlcli.core.metrics import RowMetric
from mlcli.core.similarities.base import Similarity
from mlcli.core.similarities.off_manifold import NEAREST, ManifoldScore
from mlcli.core.similarities.projector import Projector

MOST = 6  # rows that are scored again, unless all are
ROW = 2e-3  # seconds for a row
NEAR = 1e-6  # relative difference of a score
BLOCK = 2**20  # numbers of coordinates that are looked at together
MOST_DOUBT = 1e9  # of a ratio of distances, beyond which it may be any
TIED = 1e-9  # relative difference of distances that may be equal
CANCELED = 1e-9  # rounding of a squared length, of which little may be left


@frozen
class ScoredStep:
    """A step of a run with the calibration rows whose scores are computed again, and the training rows."""

    score: ManifoldScore
    projector: Projector
    eigenvalues: Array  # of the axes; none where the method has none
    values: Array  # n x d, prepared training rows; n x n dissimilarities
    embedding: Array  # n x p
    rows: Array  # m x d
    coordinates: Array  # m x p, of these
    numbers: Indices | None  # m, among those of the calibration; None for rows held out: the others are left out
    places: Indices  # m, among all training rows

    def again(self) -> tuple[Array, Array]:
        """Return the scores of the rows (m), and the rounding of each."""
        unit, similarity = self.projector.input_unit, self.projector.similarity
        rows = np.asarray(unit.measured(self.rows))
        if self.score.reference is not None:
            gone: list[int | None] = [None] * len(rows) if self.numbers is None else [*self.numbers.tolist()]
            low, high = np.transpose([self._relative(row, similarity.comparison, number)
                                      for row, number in zip(rows, gone, strict=True)]) / self.score.scale
            return (low + high) / 2, (high - low) / 2 + NEAR * high
        own = self.projector.output_unit.measured(self.coordinates)
        if self.score.lengths is None:
            assert self.projector.decoder is not None
            there = ~np.isnan(rows)
            gaps = np.where(there, rows - self.projector.decoder(own), 0.0)
            found = np.linalg.norm(gaps, axis=1) ** 2 * there.shape[1] / np.maximum(there.sum(axis=1), 1)
            sizes = np.nansum(rows**2, axis=1) + 1e-300
        else:
            found, sizes = self._left_by_axes(rows, own)
        doubts = np.zeros(len(rows))
        if self.numbers is not None:
            leverages, lost = self._leverages()
            left = 1 - leverages
            found, sizes, doubts = found / left**2, sizes / left**2, 2 * lost / left
        return found / self.score.scale, ((NEAR + doubts) * found + CANCELED * sizes) / self.score.scale

    def _relative(self, row: Array, metric: RowMetric, left_out: int | None) -> tuple[float, float]:
        """Return the distance of a row (d) to its nearest reference rows over theirs, without one of these (a number):
        the least and the largest, as rounding decides which of several rows at the same distance are the nearest, and
        of distances that are hardly more than rounding any ratio.
        """
        reference = self.score.reference
        assert reference is not None
        points, places = reference.points, reference.places
        doubts = [0.0]  # relative errors of distances

        def near_ones(found: BoundedDistances, gone: list[int]) -> Array:
            """Return distances of a row from all, and note the error of the mean of the nearest."""
            distances, errors = np.delete(found.distances[0], gone), np.delete(found.errors[0], gone)
            near = np.argsort(distances, kind="stable")[:NEAREST]
            doubts.append(float(errors[near].sum() / max(distances[near].sum(), np.finfo(float).tiny)))
            return found.distances[0]

        def between(one: int) -> Array:
            """Return distances of a reference row from all (z)."""
            if points is not None:
                return near_ones(lengths(metric, points[one : one + 1], points), [one, *gone])
            assert places is not None
            return np.asarray(self.projector.input_unit.measured(self.values[places[one], places]))

        gone = [] if left_out is None else [left_out]
        far = row[places] if points is None else near_ones(lengths(metric, row[None], points), gone)
        kept = np.delete(np.arange(len(far)), gone)
        lengths_of_near = np.sort(far[kept])[:NEAREST]
        count, last = len(lengths_of_near), lengths_of_near[-1]
        nearer = far[kept] < last * (1 - TIED)
        near, tied = kept[nearer], kept[~nearer & (far[kept] <= last * (1 + TIED))]
        reaches = {one: float(np.sort(np.delete(between(one), [one, *gone]))[:NEAREST].mean())
                   for one in (*near.tolist(), *tied.tolist())}
        sure, open_reaches = [reaches[one] for one in near.tolist()], sorted(reaches[one] for one in tied.tolist())
        slots = count - len(sure)
        ends = [sum([*sure, *some]) / count for some in (open_reaches[len(open_reaches) - slots :],
                                                         open_reaches[:slots])]
        least = np.finfo(float).eps * float(reference.reaches.max(initial=0.0)) or 1.0
        low, high = (float(lengths_of_near.mean()) / max(end, least) for end in ends)
        doubt = min(4 * max(doubts), MOST_DOUBT)
        return (low, high) if doubt < NEAR else (low * max(1 - doubt, 0.0), high * (1 + doubt))

    def _left_by_axes(self, rows: Array, coordinates: Array) -> tuple[Array, Array]:
        """Return ‖φ(x) - μ‖² less the squares along the axes for rows (m x d), and the sizes of what is subtracted."""
        similarity, centering = self.projector.similarity, self.projector.centering
        kernel, own = kernel_rows(similarity, rows)
        moved = own - 2 * kernel.mean(axis=1) + centering.means.mean() if centering.across else own
        norms = self.eigenvalues * np.sum(self.projector.axes**2, axis=0)
        along = np.sum(np.divide(coordinates**2, norms, out=np.zeros_like(coordinates), where=norms > 0), axis=1)
        return np.maximum(moved - along, 0.0), np.abs(own) + np.abs(kernel).mean(axis=1) + along

    def _leverages(self) -> tuple[Array, Array]:
        """Return the leverages of the rows at `places` (m) in a regression of all on coordinates and a constant.

        By the triangle of their QR decomposition, a block of rows at a time. The second array (m) says how much of
        each is rounding by way of the inverse of the columns' products, as the model has it: eps of its largest
        number, which the direction of least extent gives, and at most the whole.
        """
        size, measured = len(self.embedding), self.projector.output_unit.measured

        def parts() -> Iterator[Array]:
            for rows in row_blocks(size, BLOCK, self.embedding.shape[1]):
                yield measured(self.embedding[rows])
                release_pages()

        means = np.sum([part.sum(axis=0) for part in parts()], axis=0) / size
        sizes = np.max([np.abs(part - means).max(axis=0, initial=0.0) for part in parts()], axis=0)
        scale, triangle = np.where(sizes > 0, sizes, 1.0), np.zeros((0, len(means)))
        for part in parts():
            triangle = np.asarray(np.linalg.qr(np.vstack([triangle, (part - means) / scale]), mode="r"))
        _, values, axes = np.linalg.svd(triangle, full_matrices=False)
        kept = values > 1e-10 * values.max(initial=0.0)
        own = (measured(take_rows(self.embedding, self.places)) - means) / scale @ axes[kept].T / values[kept]
        squares, least = own**2, values[kept].min(initial=np.inf)
        found, lost = squares.sum(axis=1), np.finfo(float).eps * (squares @ (values[kept] / least) ** 2)
        return np.minimum(found + 1 / size, 1 - 1 / size), np.minimum(lost, found)


def lengths(metric: RowMetric, left: Array, right: Array) -> BoundedDistances:
    """Return distances (m x n) of rows (m x d, n x d) by the definition of their metric, with bounds of their errors.

    Those of correspondence analysis have none but the rows that represent others.
    """
    if isinstance(metric, KernelSum):
        source, first = of_function(metric, np.vstack([left, right])), len(left)
        values, own = source.rows(np.arange(first))[:, first:], source.diagonal
        squares = own[:first, None] + own[first:] - 2 * values
        lost = source.noise * max(float(np.abs(own).max(initial=0.0)), float(np.abs(values).max(initial=0.0)))
        found = np.sqrt(np.maximum(squares, 0.0))
        return BoundedDistances(found, np.minimum(np.sqrt(8 * lost), 8 * lost / np.maximum(found, 1e-300)))
    if not metric.plain and (metric.name in FORMULAS or hasattr(metric, "definition")):
        return bounded_distances(metric, left, right)
    found = np.sqrt(squared(left, right)) if metric.plain else metric.lengths(
        squared(metric.represent(left), metric.represent(right)))
    return BoundedDistances(found, np.zeros_like(found))


def kernel_rows(similarity: Similarity, rows: Array) -> tuple[Array, Array]:
    """Return k(x, xⱼ) (m x n) and k(x, x) (m) of rows (m x d) and the model's points, by the kernel's definition."""
    points, origin = similarity.parts.points, similarity.parts.origin
    assert points is not None
    every = np.vstack([points, rows - (0.0 if origin is None else origin)])
    function, correction, source = similarity.parts.function, similarity.parts.correction, similarity.source
    if correction is None:
        witness = of_function(function, every)
    else:
        witness = of_points(every, correction)
        witness = witness if source is similarity else of_other_distances(function, witness)
    chosen = len(points) + np.arange(len(rows))
    found = witness.rows(chosen)
    return found[:, : len(points)], found[np.arange(len(rows)), chosen]


def chosen_scores(size: int, plan: Plan) -> Indices:
    """Return the numbers of the calibration rows whose scores are computed again, of so many."""
    return plan.sample(0.1, ROW, size, least=MOST) if plan.rows is None else np.arange(min(size, MOST))


def off_manifold_check(steps: Sequence[ScoredStep], calibration: Array, size: int) -> Check:
    """Check that calibration scores (j) are those of some of `size` rows, each the largest of all steps, and as many.
    """
    wrong = abs(len(calibration) - size)
    found, errors = (np.max(part, axis=0) for part in zip(*(step.again() for step in steps), strict=True))
    after = np.clip(np.searchsorted(calibration, found), 1, max(len(calibration) - 1, 1))
    near = calibration[np.stack([after - 1, np.minimum(after, len(calibration) - 1)])] if len(calibration) else found
    # Numbers that are none fail, as does an error without a limit.
    agree = (np.abs(near - found).min(axis=0) <= errors + NEAR) & np.isfinite(errors)
    wrong += int(np.sum(~agree)) if len(calibration) else size
    what = "training rows left out one by one" if steps[0].numbers is not None else "rows held out"
    return count("off manifold", wrong, f"scores of {len(found)} {what} that are not among those of the model",
                 exact=len(found) == size)
