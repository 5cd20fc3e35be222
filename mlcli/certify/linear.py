"""The eigenproblem of centered features (PCA), in the space of their columns: C w = λ w with C = XᵀX."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mlcli.base.check import EPS, PASS, Check, count, ratio, skipped
from mlcli.base.frozen import frozen
from mlcli.base.inputs import Covariance, Features
from mlcli.base.scaling import scaled
from mlcli.base.types import Array, Indices
from mlcli.certify.budget import Budget
from mlcli.certify.counting import STEPS, WIDTH, next_value, ritz
from mlcli.certify.subject import Subject
from mlcli.methods.pca import PCA
from mlcli.stages.similarities import Columns

NUMBER = 3e-9  # seconds for one number of the data in all passes of this page but the probe
PROBE = 0.7e-9  # for one number, vector and step of the probe
ROOT = 1.2e-9  # for one number and one column or row of the smaller side, in the roots of all eigenvalues
BLOCK = 2**18  # numbers of the data taken up at once
LOST = 1e-6  # relative error of an eigenvalue that is told


def is_linear(subject: Subject) -> bool:
    """Whether the kernel is that of inner products of the features, centered by their means."""
    return (subject.method.proof == "kernel" and isinstance(subject.data, Features)
            and isinstance(subject.projector.similarity, Columns))


@frozen
class Centered:
    """Features, or some of their rows, less the means that the model holds."""

    points: Array
    means: Array
    chosen: Indices | None  # None: all rows
    largest: float

    def blocks(self) -> Iterator[tuple[Indices | slice, Array]]:
        """Which rows, and what they are."""
        step = max(1, BLOCK // max(self.points.shape[1], 1))
        size = len(self.points) if self.chosen is None else len(self.chosen)
        for start in range(0, size, step):
            part = slice(start, min(start + step, size))
            rows = part if self.chosen is None else self.chosen[part]
            yield rows, self.points[rows] - self.means

    @property
    def exact(self) -> bool:
        """Whether all rows are looked at."""
        return self.chosen is None

    def roots(self) -> Array:
        """Singular values of the rows less their own mean, which has digits that the model's may lack, descending."""
        columns = self.points.shape[1]
        own = sum((part.sum(axis=0) for _, part in self.blocks()), np.zeros(columns)) / max(len(self.points), 1)
        if len(self.points) < columns:
            return singular_values(self.points - self.means - own)
        triangle = np.zeros((0, columns))
        for _, part in self.blocks():
            triangle = np.asarray(np.linalg.qr(np.vstack([triangle, part - own]), mode="r"))
        return singular_values(triangle)

    def covariance(self, block: Array) -> Array:
        """XᵀX times a block of vectors."""
        total = np.zeros_like(block)
        for _, part in self.blocks():
            total += part.T @ (part @ block)
        return total


def singular_values(matrix: Array) -> Array:
    """All of them, descending."""
    return np.asarray(np.linalg.svd(matrix, compute_uv=False), dtype=np.float64)


def variances(subject: Subject, budget: Budget) -> Iterator[Check]:
    """All checks of features."""
    points = subject.data.values
    if isinstance(subject.method, PCA):
        wrong = subject.model.spectrum.divisor != subject.method.over(len(points))
        yield count("divisor", int(wrong), "eigenvalues written are sums of squares over the divisor asked for")
    few = budget.affordable(0.3, NUMBER * max(points.shape[1], 1), len(points), least=64)
    generator = np.random.default_rng(subject.seed)
    chosen = None if few == len(points) else np.sort(generator.choice(len(points), few, replace=False))
    data = Centered(points, subject.projector.centering.means, chosen, subject.largest)
    yield from _passes(subject, data)
    yield _directions(subject)
    yield _eigenvalues(subject, data) if data.exact and budget.allows(
        0.3, ROOT * points.size * min(points.shape)) else skipped("eigenvalues", "no time for all rows")
    cost = PROBE * WIDTH * STEPS * (len(points) if chosen is None else len(chosen)) * points.shape[1]
    yield _nothing_above(subject, data) if budget.allows(0.3, cost) else skipped("count", "no time for a probe")


def of_covariance(data: Covariance, loadings: Array) -> Check:
    """Loadings are eigenvectors of the covariance, as long as the roots of their eigenvalues."""
    normalized = data.normalized()
    found = scaled(loadings, -normalized.unit)
    squares = np.sum(found**2, axis=0)
    error = max(np.abs(normalized.values @ found - found * squares).max(initial=0.0),
                np.abs(found.T @ found - np.diag(squares)).max(initial=0.0))
    return ratio("residual", float(error), EPS * len(data.values) * float(np.linalg.norm(normalized.values)),
                 "the covariance times each axis is its eigenvalue times the axis")


def cancellation(subject: Subject, data: Centered) -> float:
    """The norm of what taking away the means costs where they are far from zero."""
    return EPS * data.largest * float(np.sqrt(data.points.size))


def _passes(subject: Subject, data: Centered) -> Iterator[Check]:
    """Means, scores, trace, eigenvectors and what is lost, from one pass over the rows."""
    axes, coordinates, values = subject.projector.axes, subject.embedding, subject.values
    decoder = subject.projector.decoder
    sums, products = np.zeros(data.points.shape[1]), np.zeros((data.points.shape[1], len(values)))
    scores, squares, lost, mine = 0.0, 0.0, 0.0, np.zeros(len(values))
    drawn = np.any(coordinates != 0, axis=0)
    for rows, part in data.blocks():
        own = coordinates[rows]
        sums += part.sum(axis=0)
        products += part.T @ own
        mine += np.sum(own * own, axis=0)
        scores = max(scores, float(np.abs((part @ axes - own)[:, drawn]).max(initial=0.0)))
        squares += float(np.einsum("ij,ij->", part, part))
        if decoder is not None:
            gap = part - own @ decoder.directions.T - (decoder.mean - data.means)
            lost += float(np.einsum("ij,ij->", gap, gap))
    root = np.sqrt(subject.top)
    rough = cancellation(subject, data)
    allowed = subject.rounding + subject.model.spectrum.tolerance
    yield ratio("scores", scores, allowed * root + rough, "Y = (x - mean) W, row by row", exact=data.exact)
    if data.exact:
        size = max(len(data.points), 1)
        yield ratio("means", float(np.abs(sums).max(initial=0.0)) / size, EPS * (8 * data.largest + root),
                    "the model's means are the columns' means")
        tall = np.abs(coordinates.sum(axis=0)).max(initial=0.0) / np.sqrt(size)
        yield ratio("centering", float(tall), allowed * root + rough, "column sums of Y are zero")
        apart = float(np.abs(products - axes * np.where(drawn, values, 0.0)).max(initial=0.0))
        yield ratio("residual", apart, allowed * subject.top + subject.ties + rough * root, "XᵀY = W Λ")
    yield _total(subject, data, squares, rough)
    if decoder is not None and data.exact:
        stated = subject.model.spectrum.solved_trace - float(values[drawn].sum())
        scale = allowed * max(subject.model.spectrum.solved_trace, 0.0) + rough * root
        yield ratio("reconstruction", abs(lost - stated), scale, "Σ‖x - x̂‖² = sum of the eigenvalues left out")


def _total(subject: Subject, data: Centered, squares: float, rough: float) -> Check:
    """Σ‖x - mean‖² is the trace; of some rows, no more than that."""
    stated = subject.model.spectrum.solved_trace
    scale = subject.rounding * max(stated, 0.0) + rough * np.sqrt(max(stated, 0.0)) + rough**2
    if data.exact:
        return ratio("trace", abs(squares - stated), scale, "Σ‖x - mean‖² = trace")
    return ratio("trace", max(squares - stated, 0.0), scale, "Σ‖x - mean‖² of a sample is below the trace", exact=False)


def _eigenvalues(subject: Subject, data: Centered) -> Check:
    """All eigenvalues that are stated, with a warning where one is right beside the largest and not beside itself."""
    stated, roots = np.maximum(subject.model.spectrum.solved, 0.0), data.roots()
    stated = stated[: len(roots)]
    found = roots[: len(stated)] ** 2
    gaps = np.abs(stated - found)
    allowed = subject.rounding + subject.model.spectrum.tolerance
    check = ratio("eigenvalues", float(gaps.max(initial=0.0)), allowed * subject.top,
                  "squares of the singular values of the centered rows")
    above = np.sqrt(found) > PASS * subject.rounding * np.sqrt(subject.top)
    lost = int(np.sum(gaps[above] > LOST * found[above]))
    if check.verdict != "pass" or not lost:
        return check
    return replace(check, verdict="warn", how=f"{check.how}; {lost} of {len(stated)} have fewer than six digits, for "
                   "products of the columns or rows were solved: method.route auto or svd keeps them")


def _directions(subject: Subject) -> Check:
    """WᵀW = I, but for an axis without extent."""
    axes = subject.projector.axes
    product = axes.T @ axes
    gap = product - np.diag(np.where(np.diag(product) == 0, 0.0, 1.0))
    missing = float(np.sum((np.diag(product) == 0) & (subject.values > subject.rounding * 100 * subject.top)))
    return ratio("directions", float(np.abs(gap).max(initial=0.0)) + missing,
                 subject.rounding + subject.model.spectrum.tolerance, "WᵀW = I")


def _nothing_above(subject: Subject, data: Centered) -> Check:
    """No eigenvalue above the last one kept was left out: the trace leaves no room for it, or a probe finds none."""
    spectrum, rough = subject.model.spectrum, cancellation(subject, data)
    allowed = (subject.rounding + spectrum.tolerance) * subject.top + rough * np.sqrt(subject.top)
    columns = data.points.shape[1]
    if len(subject.values) >= columns:
        return skipped("count", "every axis that there is was kept")
    if spectrum.solved_trace - float(subject.values.sum()) <= next_value(subject) and not spectrum.complete:
        return ratio("count", 0.0, 1.0, "the trace leaves no room for a larger eigenvalue")
    axes = subject.projector.axes
    found = np.linalg.qr(axes[:, np.any(axes != 0, axis=0)])[0]
    top = ritz(data.covariance, found, columns, subject.seed)
    return ratio("count", max(top - next_value(subject), 0.0), allowed,
                 f"largest variance off the axes kept, by {STEPS} steps of block Lanczos: {top:.6g}, and the next "
                 f"eigenvalue is {next_value(subject):.6g}", exact=data.exact)
