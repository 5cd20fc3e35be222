"""The eigenproblem K v = λ v with rows of K computed again from the input."""

from collections.abc import Iterator

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import Check, count, later, ratio, skipped
from mlcli.certify.eigen import INERTIA, count_check, worst
from mlcli.certify.subject import Subject, max_abs
from mlcli.core.check.kernels import Witness, of_similarity

NUMBER = 2e-8  # seconds for each number of the kernel in all checks of it
ROOM = 2**22  # numbers of the kernel in memory at a time: 32 MiB


@frozen
class RecomputedRows:
    """Rows of the kernel among the points of the fit, computed again; block by block where they do not fit in memory.
    """

    source: Witness
    chosen: Indices
    held: Array | None  # (m, n) array, not centered; None where they are computed block by block

    @property
    def whole(self) -> bool:
        """Whether all rows are checked."""
        return len(self.chosen) == len(self.source.diagonal)

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield blocks of the rows that are checked, with their positions among them."""
        size, step = len(self.chosen), max(1, ROOM // max(len(self.source.diagonal), 1))
        for start in range(0, size, step):
            part = slice(start, min(start + step, size))
            yield part, self.source.rows(self.chosen[part]) if self.held is None else self.held[part]

    def centered(self, means: Array) -> Iterator[tuple[slice, Array]]:
        """Yield blocks of rows of H K H, with their positions; `means` is the (n,) array of row means of K."""
        for part, block in self.blocks():
            yield part, block - means - means[self.chosen[part], None] + means.mean()


def kernel_checks(subject: Subject, source: Witness | None = None) -> Iterator[Check]:
    """Yield the checks of a kernel's eigenproblem; its `source` is by default that of the model's similarity."""
    if source is None and not subject.fit_rows_unknown:
        source = of_similarity(subject.similarity, subject.data, subject.fit, subject.plan.full)
    if source is None:
        yield skipped("residual", "the kernel cannot be computed again from the input")
        return
    size, stated, precision = len(source.diagonal), subject.projector.centering.means, subject.spectrum.tolerance
    chosen = subject.plan.sample(0.5, source.cost + NUMBER * size, size, least=2)
    rows = RecomputedRows(source, chosen, source.rows(chosen) if len(chosen) * size <= INERTIA**2 else None)
    means, largest = np.empty(len(chosen)), max_abs(source.diagonal)
    for part, block in rows.blocks():
        means[part] = block.mean(axis=1)
        largest = max(largest, max_abs(block))
    if not np.isfinite(means).all():
        wrong = int(np.sum(~np.isfinite(means)))
        yield count("kernel", wrong, f"rows that are not finite; {source.how}", exact=rows.whole)
        return
    if len(stated) != size:
        yield ratio("means", float("inf"), 1.0, "there is one mean for every point of the fit")
        return
    if subject.centered:
        yield ratio("means", max_abs(means - stated[chosen]), (source.noise + precision) * largest,
                    f"row means: {source.how}", exact=rows.whole)
    else:
        yield count("means", int(np.count_nonzero(stated)), "means that are taken from a kernel that is not centered")
    means = means if rows.whole and subject.centered else stated
    rounding = (source.noise + precision) * size * largest  # rounding of the entries, in the kernel's norm
    slack = subject.rounding * subject.top + subject.ties + rounding
    yield from _pairs(subject, rows, means, slack)
    yield _axes(subject)
    yield _trace(subject, rows, means, rounding)
    if subject.plan.full:
        yield count_check(lambda: np.concatenate([part for _, part in rows.centered(means)]), size,
                          float(subject.values[-1]), len(subject.values) - 1, slack)
    else:
        yield later("count")


def _pairs(subject: Subject, rows: RecomputedRows, means: Array, slack: float) -> Iterator[Check]:
    """Check (H K H Y)[rows] = Y[rows] Λ, and where all rows are checked ‖H K H‖."""
    coordinates, values, spectrum = subject.fit_coordinates, subject.values, subject.spectrum
    vectors = coordinates - coordinates.mean(axis=0) if subject.centered else coordinates
    gaps, squares = np.zeros(len(values)), 0.0
    for part, block in rows.centered(means):
        gaps += np.sum((block @ vectors - vectors[rows.chosen[part]] * values) ** 2, axis=0)
        squares += float(np.einsum("ij,ij->", block, block))
    # coordinates of unit vectors are √λ long, and where λ is rounding itself they may be as long as its root
    sizes = np.sqrt(np.maximum(values, slack))
    if subject.fit_size != subject.size:  # landmarks are projected as new points are, and rounding grows as λ₁ / λ
        sizes *= np.maximum(subject.top, slack) / np.maximum(values, slack)
    yield ratio("residual", worst(np.sqrt(gaps), sizes), slack, f"K v = λ v; {rows.source.how}", exact=rows.whole)
    norm = float(np.linalg.norm(spectrum.solved)) if spectrum.complete else spectrum.solved_frobenius
    if rows.whole and np.isfinite(norm):
        yield ratio("frobenius", abs(float(np.sqrt(squares)) - norm), slack, "‖H K H‖ = √Σλ²")


def _axes(subject: Subject) -> Check:
    """Check that the model's axes are V / √λ, so that an axis times its eigenvalue is the coordinate."""
    coordinates, values, axes = subject.fit_coordinates, subject.values, subject.projector.axes
    if axes.shape != coordinates.shape:
        return ratio("axes", float("inf"), 1.0, "the model has an axis for every column and a row for every point")
    carried = np.any(coordinates != 0, axis=0)
    error = max_abs(axes * np.where(carried, values, 0.0) - coordinates)
    scale = subject.precision * np.sqrt(subject.top) * subject.landmark_growth
    least = float(values[values > 0].min(initial=np.inf))
    return ratio("axes", error, scale + subject.entry / np.sqrt(least), "axes of the model times λ = Y")


def _trace(subject: Subject, rows: RecomputedRows, means: Array, rounding: float) -> Check:
    """Check that the diagonal and the means of K give the trace of H K H that the run states."""
    stated = subject.spectrum.solved_trace
    if not np.isfinite(stated):
        return skipped("trace", "the run does not state the trace")
    sizes = max(abs(stated), float(np.abs(subject.spectrum.solved).sum()))
    return ratio("trace", abs(float(rows.source.diagonal.sum() - means.sum()) - stated),
                 subject.rounding * sizes + rounding, "Σ K[i, i] - Σ means = trace", exact=rows.whole)
