"""The eigenproblem K v = λ v with rows of K computed again from the input."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from mlcli.base.check import EPS, Check, count, ratio, skipped
from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.certify.eigen import INERTIA, basis, counted, next_value, nothing_above, worst
from mlcli.certify.plan import later
from mlcli.certify.subject import Subject
from mlcli.certify.witness import Witness, witness

NUMBER = 2e-8  # seconds for one number of the kernel in all checks of it
ROOM = 2**22  # numbers of the kernel held at once: 32 MiB


@frozen
class Kernel:
    """Rows of the kernel among the points that carried the fit, found again; not held where they are too many."""

    subject: Subject
    source: Witness
    chosen: Indices
    held: Array | None  # m x n, not centered

    @classmethod
    def of(cls, subject: Subject) -> "Kernel | None":
        """As many rows as the plan looks at; None where none can be found."""
        source = witness(subject)
        if source is None:
            return None
        size = len(source.diagonal)
        chosen = subject.plan.sample(0.5, source.cost + NUMBER * size, size)
        few = len(chosen) * size <= INERTIA**2
        return cls(subject, source, chosen, source.rows(chosen) if few else None)

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """A few of the rows at a time, with their place among those chosen."""
        size, step = len(self.chosen), max(1, ROOM // len(self.source.diagonal))
        for start in range(0, size, step if self.held is None else max(size, 1)):
            part = slice(start, min(start + step, size)) if self.held is None else slice(0, size)
            yield part, self.source.rows(self.chosen[part]) if self.held is None else self.held

    def centered(self) -> Iterator[tuple[slice, Array]]:
        """The same rows of H K H."""
        means = self.means
        for part, block in self.blocks():
            yield part, block - means - means[self.chosen[part], None] + means.mean()

    @cached_property
    def sums(self) -> tuple[Array, float]:
        """The mean of each of the rows, and the size of the largest entry."""
        means, largest = np.empty(len(self.chosen)), float(np.abs(self.source.diagonal).max(initial=0.0))
        for part, block in self.blocks():
            means[part] = block.mean(axis=1)
            largest = max(largest, float(np.abs(block).max(initial=0.0)))
        return means, largest

    @property
    def whole(self) -> bool:
        """Whether every row is there."""
        return len(self.chosen) == len(self.source.diagonal)

    @property
    def means(self) -> Array:
        """The means of all rows; those that the model holds where not every row is there."""
        return self.sums[0] if self.whole else self.subject.projector.centering.means

    @property
    def rounding(self) -> float:
        """The norm of what the rounding of entries may add, and what their precision may."""
        precision = self.source.noise + self.subject.model.spectrum.tolerance
        return precision * len(self.source.diagonal) * self.sums[1]

    @property
    def slack(self) -> float:
        """The norm of what rounding, and the solver's tolerance, may add to the centered kernel."""
        return self.subject.rounding * self.subject.top + self.subject.ties + self.rounding

    def apply(self, block: Array) -> Array:
        """H K H times a block of vectors; every row must be there."""
        return np.concatenate([rows @ block for _, rows in self.centered()])


def kernel_checks(subject: Subject) -> Iterator[Check]:
    """All checks of this page."""
    kernel = Kernel.of(subject)
    if kernel is None:
        yield skipped("residual", "the kernel cannot be found again from the input")
        return
    (means, _), how, stated = kernel.sums, kernel.source.how, subject.projector.centering.means
    if not np.isfinite(means).all():
        yield count("kernel", int(np.sum(~np.isfinite(means))), f"rows that are not finite; {how}", exact=kernel.whole)
        return
    if len(stated) != len(kernel.source.diagonal):
        yield ratio("means", float("inf"), 1.0, "there is one mean for every point of the fit")
        return
    yield ratio("means", float(np.abs(means - stated[kernel.chosen]).max(initial=0.0)),
                kernel.rounding / len(stated), f"row means: {how}", exact=kernel.whole)
    yield from _passed(subject, kernel)
    yield _axes(subject)
    yield _trace(subject, kernel)
    yield _count(subject, kernel) if subject.plan.full else later("count")


def _passed(subject: Subject, kernel: Kernel) -> Iterator[Check]:
    """What one pass over the rows finds: K v = λ v, ‖K‖, and the distances."""
    coordinates, values, slack, spectrum = subject.carriers, subject.values, kernel.slack, subject.model.spectrum
    told = spectrum.complete and spectrum.negative_share <= subject.rounding * 10
    whole = abs(float(values.sum()) - spectrum.solved_trace) <= 10 * subject.rounding * subject.top
    diagonal, mine = kernel.source.diagonal - 2 * kernel.means + kernel.means.mean(), np.sum(coordinates**2, axis=1)
    vectors = coordinates - coordinates.mean(axis=0)
    gaps, squares, apart = np.zeros(len(values)), 0.0, 0.0
    for part, block in kernel.centered():
        rows = kernel.chosen[part]
        gaps += np.sum((block @ vectors - vectors[rows] * values) ** 2, axis=0)
        squares += float(np.einsum("ij,ij->", block, block))
        if told:
            off = (mine[rows, None] - diagonal[rows, None] + mine - diagonal
                   - 2 * (coordinates[rows] @ coordinates.T - block))
            apart = max(apart, float((np.abs(off) if whole else off).max(initial=0.0)))
    # coordinates of unit vectors are √λ long, and where λ is rounding itself they may be as long as its root
    sizes = np.sqrt(np.maximum(values, slack))
    if len(subject.fit) != subject.size:  # landmarks are placed as new points are, whose rounding grows as λ₁ / λ
        sizes *= np.maximum(subject.top, slack) / np.maximum(values, slack)
    yield ratio("residual", worst(np.sqrt(gaps), sizes), slack, f"K v = λ v; {kernel.source.how}", exact=kernel.whole)
    norm = float(np.linalg.norm(spectrum.solved)) if spectrum.complete else spectrum.solved_frobenius
    if kernel.whole and np.isfinite(norm):
        yield ratio("frobenius", abs(float(np.sqrt(squares)) - norm), slack, "‖H K H‖ = √Σλ²")
    yield ratio("distances", apart, slack + EPS * kernel.sums[1], f"distances of Y are {'' if whole else 'at most '}"
                "those of the kernel", exact=kernel.whole) if told else skipped(
        "distances", "the kernel has negative eigenvalues, or its whole spectrum is not known")


def _axes(subject: Subject) -> Check:
    """The model's axes are V / √λ, so that an axis times its eigenvalue is the coordinate."""
    coordinates, values, axes = subject.carriers, subject.values, subject.projector.axes
    if axes.shape != coordinates.shape:
        return ratio("axes", float("inf"), 1.0, "the model has an axis for every column and a row for every point")
    kept = np.any(coordinates != 0, axis=0)
    error = float(np.abs(axes * np.where(kept, values, 0.0) - coordinates).max(initial=0.0))
    scale = (subject.rounding + subject.model.spectrum.tolerance) * np.sqrt(subject.top)
    return ratio("axes", error, scale * subject.placing, "axes of the model times λ = Y")


def _trace(subject: Subject, kernel: Kernel) -> Check:
    """The trace of H K H, from its diagonal and its means, is the one that the run states."""
    stated = subject.model.spectrum.solved_trace
    if not np.isfinite(stated):
        return skipped("trace", "the run does not state the trace")
    found = float(kernel.source.diagonal.sum() - kernel.means.sum())
    sizes = max(abs(stated), float(np.abs(subject.model.spectrum.solved).sum()))
    return ratio("trace", abs(found - stated), subject.rounding * sizes + kernel.rounding,
                 "Σ K[i, i] - Σ means = trace", exact=kernel.whole)


def _count(subject: Subject, kernel: Kernel) -> Check:
    """No eigenvalue above the last one kept was left out."""
    if len(subject.values) >= len(kernel.chosen) - 1:
        return skipped("count", "every axis that there is was kept")
    if kernel.held is not None:
        return counted(next(kernel.centered())[1], subject.values, kernel.slack)
    known = basis(subject.carriers, np.ones(len(kernel.chosen)))
    return nothing_above(kernel.apply, known, subject.plan.seed, next_value(subject), kernel.slack)
