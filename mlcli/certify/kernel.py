"""The eigenproblem K v = λ v with rows of K computed again from the input."""

from collections.abc import Iterator

import numpy as np

from mlcli.base.check import EPS, Check, ratio, skipped
from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.certify.budget import Budget
from mlcli.certify.subject import Subject
from mlcli.certify.witness import Witness, witness

NUMBER = 6e-8  # seconds for one number of the kernel in all checks of it
PAIRED = 32  # rows of a sample whose distances are compared
ROOM = 2**22  # numbers of the kernel held at once: 32 MiB


@frozen
class Rows:
    """Some rows of a kernel, found again, and how far rounding may take them from the fit's."""

    chosen: Indices
    raw: Array  # m x n, not centered
    source: Witness
    largest: float  # the size of an entry

    @property
    def whole(self) -> bool:
        """Whether every row is there."""
        return len(self.chosen) == self.raw.shape[1]


def looked_up(subject: Subject, budget: Budget) -> Rows | None:
    """As many rows of the kernel as the time allows, all of them where it allows; None where none can be found."""
    source = witness(subject)
    if source is None:
        return None
    size = len(source.diagonal)
    most = size if budget.full else max(ROOM // max(size, 1), 1)
    count = min(budget.affordable(0.4, source.cost + NUMBER * size, size), most)
    generator = np.random.default_rng(subject.seed)
    chosen = np.arange(size) if count == size else np.sort(generator.choice(size, count, replace=False))
    raw = source.rows(chosen)
    largest = max(float(np.abs(raw).max(initial=0.0)), float(np.abs(source.diagonal).max(initial=0.0)))
    return Rows(chosen, raw, source, largest)


def eigenproblem(subject: Subject, rows: Rows) -> Iterator[Check]:
    """All checks of this page."""
    yield _means(subject, rows)
    yield _residual(subject, rows)
    yield _axes(subject)
    yield _trace(subject, rows)
    if rows.whole:
        yield _frobenius(subject, rows)
    yield _distances(subject, rows)


def slack(subject: Subject, rows: Rows) -> float:
    """The norm of what rounding, and the solver's tolerance, may add to the centered kernel."""
    size = rows.raw.shape[1]
    precision = subject.model.spectrum.tolerance
    return subject.rounding * subject.top + subject.ties + (rows.source.noise + precision) * size * rows.largest


def centered(subject: Subject, rows: Rows) -> Array:
    """H K H of a whole kernel, centered by its own means."""
    means = rows.raw.mean(axis=0)
    return rows.raw - means - rows.raw.mean(axis=1)[:, None] + means.mean()


def _means(subject: Subject, rows: Rows) -> Check:
    """The means that new rows are centered by are those of the kernel."""
    stated = subject.projector.centering.means
    if len(stated) != rows.raw.shape[1]:
        return ratio("means", float("inf"), 1.0, "there is one mean for every point of the fit")
    error = float(np.abs(rows.raw.mean(axis=1) - stated[rows.chosen]).max(initial=0.0))
    scale = (rows.source.noise + subject.model.spectrum.tolerance) * rows.largest
    return ratio("means", error, scale, f"row means: {rows.source.how}", exact=rows.whole)


def _residual(subject: Subject, rows: Rows) -> Check:
    """(H K H Y)[rows] = Y[rows] Λ."""
    coordinates, values = subject.carriers - subject.carriers.mean(axis=0), subject.values
    means = rows.raw.mean(axis=0) if rows.whole else subject.projector.centering.means
    image = rows.raw @ coordinates - means @ coordinates
    gaps = np.linalg.norm(image - coordinates[rows.chosen] * values, axis=0)
    scale = slack(subject, rows)
    # coordinates of unit vectors are √λ long, and where λ is rounding itself they may be as long as its root
    sizes = np.sqrt(np.maximum(values, scale))
    if len(subject.fit) != subject.size:  # landmarks are placed as new points are, whose rounding grows as λ₁ / λ
        sizes *= np.maximum(subject.top, scale) / np.maximum(values, scale)
    error = float(np.divide(gaps, sizes, out=np.zeros_like(gaps), where=gaps > 0).max(initial=0.0))
    return ratio("residual", error, scale, f"K v = λ v; {rows.source.how}", exact=rows.whole)


def _axes(subject: Subject) -> Check:
    """The model's axes are V / √λ, so that an axis times its eigenvalue is the coordinate."""
    coordinates, values, axes = subject.carriers, subject.values, subject.projector.axes
    if axes.shape != coordinates.shape:
        return ratio("axes", float("inf"), 1.0, "the model has an axis for every column and a row for every point")
    kept = np.any(coordinates != 0, axis=0)
    error = float(np.abs(axes * np.where(kept, values, 0.0) - coordinates).max(initial=0.0))
    scale = (subject.rounding + subject.model.spectrum.tolerance) * np.sqrt(subject.top)
    return ratio("axes", error, scale * subject.placing, "axes of the model times λ = Y")


def _trace(subject: Subject, rows: Rows) -> Check:
    """The trace of H K H, from its diagonal and its means, is the one that the run states."""
    stated = subject.model.spectrum.solved_trace
    if not np.isfinite(stated):
        return skipped("trace", "the run does not state the trace")
    means = rows.raw.mean(axis=1) if rows.whole else subject.projector.centering.means
    found = float(rows.source.diagonal.sum() - means.sum())
    sizes = max(abs(stated), float(np.abs(subject.model.spectrum.solved).sum()))
    scale = subject.rounding * sizes + (rows.source.noise + subject.model.spectrum.tolerance) * (
        rows.raw.shape[1] * rows.largest)
    return ratio("trace", abs(found - stated), scale, "Σ K[i, i] - Σ means = trace", exact=rows.whole)


def _frobenius(subject: Subject, rows: Rows) -> Check:
    """The sum of squares of H K H is that of the eigenvalues: with the trace, no eigenvalue is made up or left out."""
    spectrum = subject.model.spectrum
    stated = float(np.linalg.norm(spectrum.solved)) if spectrum.complete else spectrum.solved_frobenius
    if not np.isfinite(stated):
        return skipped("frobenius", "the run does not state the Frobenius norm")
    found = float(np.linalg.norm(centered(subject, rows)))
    return ratio("frobenius", abs(found - stated), slack(subject, rows), "‖H K H‖ = √Σλ²")


def _distances(subject: Subject, rows: Rows) -> Check:
    """Without negative eigenvalues no two points are farther apart than the kernel says; with all axes, no nearer."""
    spectrum = subject.model.spectrum
    if not spectrum.complete or spectrum.negative_share > subject.rounding * 10:
        return skipped("distances", "the kernel has negative eigenvalues, or its whole spectrum is not known")
    coordinates, diagonal = subject.carriers, rows.source.diagonal
    few = slice(None) if rows.whole else slice(PAIRED)
    chosen = rows.chosen[few]
    claimed = diagonal[chosen, None] + diagonal - 2 * rows.raw[few]
    mine = np.sum(coordinates**2, axis=1)
    found = mine[chosen, None] + mine - 2 * (coordinates[chosen] @ coordinates.T)
    whole = abs(float(subject.values.sum()) - spectrum.solved_trace) <= 10 * subject.rounding * subject.top
    error = found - claimed if not whole else np.abs(found - claimed)
    scale = slack(subject, rows) + EPS * rows.largest
    words = "distances of Y " + ("are those" if whole else "are no larger than those") + " of the kernel"
    return ratio("distances", max(float(error.max(initial=0.0)), 0.0), scale, words, exact=rows.whole)
