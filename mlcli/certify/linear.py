"""The eigenproblem of centered features (PCA), in the space of their columns: C w = λ w with C = XᵀX."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mlcli.base.check import EPS, PASS, Check, count, ratio, skipped
from mlcli.base.frozen import frozen
from mlcli.base.inputs import Covariance, Features
from mlcli.base.scaling import scaled
from mlcli.base.types import Array, Indices
from mlcli.certify.eigen import basis, next_value, nothing_above
from mlcli.certify.plan import later
from mlcli.certify.subject import Subject
from mlcli.stages.similarities import Columns

NUMBER = 3e-9  # seconds for one number of the data in all passes of this page
ROOT = 1.2e-9  # for one number and one column or row of the smaller side, in the roots of all eigenvalues
BLOCK = 2**18  # numbers of the data taken up at once
LOST = 1e-6  # relative error of an eigenvalue that is told


def is_linear(subject: Subject) -> bool:
    """Whether the kernel is that of inner products of the features, centered by their means."""
    if subject.model.projector is None:
        return True
    return isinstance(subject.data, Features) and isinstance(subject.similarity, Columns)


@frozen
class Centered:
    """Features, or some of their rows, less the means that the model holds."""

    points: Array
    means: Array
    chosen: Indices

    @classmethod
    def of(cls, subject: Subject) -> "Centered":
        """As many rows as the plan looks at."""
        points = subject.data.values
        chosen = subject.plan.sample(0.4, NUMBER * max(points.shape[1], 1), len(points), least=64)
        return cls(points, subject.projector.centering.means, chosen)

    def blocks(self) -> Iterator[tuple[Indices, Array]]:
        """Which rows, and what they are."""
        step = max(1, BLOCK // max(self.points.shape[1], 1))
        for start in range(0, len(self.chosen), step):
            rows = self.chosen[start : start + step]
            yield rows, self.points[rows] - self.means

    @property
    def exact(self) -> bool:
        """Whether all rows are looked at."""
        return len(self.chosen) == len(self.points)

    def roots(self) -> Array:
        """Singular values of the rows less their own mean, which has digits that the model's may lack, descending."""
        columns = self.points.shape[1]
        own = sum((part.sum(axis=0) for _, part in self.blocks()), np.zeros(columns)) / max(len(self.points), 1)
        whole = np.zeros((0, columns))
        for _, part in self.blocks():
            whole = np.vstack([whole, part - own])
            if len(self.points) >= columns:
                whole = np.asarray(np.linalg.qr(whole, mode="r"))
        return np.asarray(np.linalg.svd(whole, compute_uv=False), dtype=np.float64)

    def covariance(self, block: Array) -> Array:
        """XᵀX times a block of vectors."""
        return np.asarray(sum((part.T @ (part @ block) for _, part in self.blocks()), np.zeros_like(block)))


def linear_checks(subject: Subject) -> Iterator[Check]:
    """All checks of features, or of their covariance."""
    if isinstance(subject.data, Covariance):
        yield _of_covariance(subject)
        return
    points, spectrum = subject.data.values, subject.model.spectrum
    divisor = getattr(subject.method, "divisor", None)
    if divisor is not None:
        wrong = spectrum.divisor != max(len(points) - (divisor == "n-1"), 1)
        yield count("divisor", int(wrong), "eigenvalues written are sums of squares over the divisor asked for")
    data, axes = Centered.of(subject), subject.projector.axes
    yield from _passes(subject, data)
    product = axes.T @ axes
    gap = product - np.diag(np.where(np.diag(product) == 0, 0.0, 1.0))  # but for an axis without extent
    missing = float(np.sum((np.diag(product) == 0) & (subject.values > subject.rounding * 100 * subject.top)))
    yield ratio("directions", float(np.abs(gap).max(initial=0.0)) + missing, subject.rounding + spectrum.tolerance,
                "WᵀW = I")
    if data.exact and subject.plan.allows(0.3, ROOT * points.size * min(points.shape)):
        yield _eigenvalues(subject, data)
    else:
        yield later("eigenvalues")
    if not subject.plan.full:
        yield later("count")
    elif axes.shape[1] < points.shape[1]:
        allowed = (subject.rounding + spectrum.tolerance) * subject.top + cancellation(subject) * np.sqrt(subject.top)
        yield nothing_above(data.covariance, basis(axes), subject.plan.seed, next_value(subject), allowed)


def _of_covariance(subject: Subject) -> Check:
    """Loadings are eigenvectors of the covariance, as long as the roots of their eigenvalues."""
    data, loadings = subject.data.normalized(), subject.model.loadings
    if loadings is None:
        return skipped("residual", "the loadings are not at hand")
    found = scaled(loadings.values, -data.unit)
    squares = np.sum(found**2, axis=0)
    error = max(np.abs(data.values @ found - found * squares).max(initial=0.0),
                np.abs(found.T @ found - np.diag(squares)).max(initial=0.0))
    return ratio("residual", float(error), EPS * len(data.values) * float(np.linalg.norm(data.values)),
                 "the covariance times each axis is its eigenvalue times the axis")


def cancellation(subject: Subject) -> float:
    """The norm of what taking away the means costs where they are far from zero."""
    return EPS * subject.largest * float(np.sqrt(subject.data.values.size))


def _passes(subject: Subject, data: Centered) -> Iterator[Check]:
    """Means, scores, trace, eigenvectors and what is lost, from one pass over the rows."""
    axes, coordinates, values = subject.projector.axes, subject.embedding, subject.values
    decoder, trace = subject.projector.decoder, subject.model.spectrum.solved_trace
    sums, products = np.zeros(data.points.shape[1]), np.zeros((data.points.shape[1], len(values)))
    scores, squares, lost = 0.0, 0.0, 0.0
    drawn = np.any(coordinates != 0, axis=0)
    for rows, part in data.blocks():
        own = coordinates[rows]
        sums += part.sum(axis=0)
        products += part.T @ own
        scores = max(scores, float(np.abs((part @ axes - own)[:, drawn]).max(initial=0.0)))
        squares += float(np.einsum("ij,ij->", part, part))
        if decoder is not None:
            gap = part - own @ decoder.directions.T - (decoder.mean - data.means)
            lost += float(np.einsum("ij,ij->", gap, gap))
    root, rough = np.sqrt(subject.top), cancellation(subject)
    allowed = subject.rounding + subject.model.spectrum.tolerance
    yield ratio("scores", scores, allowed * root + rough, "Y = (x - mean) W, row by row", exact=data.exact)
    scale = subject.rounding * max(trace, 0.0) + rough * np.sqrt(max(trace, 0.0)) + rough**2
    yield ratio("trace", abs(squares - trace) if data.exact else max(squares - trace, 0.0), scale,
                "Σ‖x - mean‖² = trace; of a sample, no more than that", exact=data.exact)
    if not data.exact:
        return
    size = max(len(data.points), 1)
    yield ratio("means", float(np.abs(sums).max(initial=0.0)) / size, EPS * (8 * subject.largest + root),
                "the model's means are the columns' means")
    tall = np.abs(coordinates.sum(axis=0)).max(initial=0.0) / np.sqrt(size)
    yield ratio("centering", float(tall), allowed * root + rough, "column sums of Y are zero")
    apart = float(np.abs(products - axes * np.where(drawn, values, 0.0)).max(initial=0.0))
    yield ratio("residual", apart, allowed * subject.top + subject.ties + rough * root, "XᵀY = W Λ")
    if decoder is not None:
        stated = trace - float(values[drawn].sum())
        yield ratio("reconstruction", abs(lost - stated), allowed * max(trace, 0.0) + rough * root,
                    "Σ‖x - x̂‖² = sum of the eigenvalues left out")


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
