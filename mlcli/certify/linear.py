"""The eigenproblem of centered features (PCA), in the space of their columns: C w = λ w with C = XᵀX."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.scratch import nonzero_columns, take_rows
from mlcli.base.rows.source import rows_of
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS, PASS, Check, count, later, ratio, skipped
from mlcli.certify.eigen import count_check
from mlcli.certify.subject import Subject, max_abs
from mlcli.core.chain.stages import Stages

NUMBER = 3e-9  # seconds for each number of the data in all passes of this module
ROOT = 1.2e-9  # seconds per number, times the smaller side, for all singular values
BLOCK = 2**18  # numbers of the data in one block
LOST = 1e-6  # relative error of an eigenvalue above which a warning is given


@frozen
class CenteredRows:
    """Features, or a sample of their rows, minus the model's means."""

    points: Array
    means: Array
    chosen: Indices

    @classmethod
    def of(cls, subject: Subject) -> "CenteredRows":
        """Return the rows that the plan checks."""
        points = subject.data.values
        chosen = subject.plan.sample(0.4, NUMBER * max(points.shape[1], 1), len(points), least=64)
        return cls(points, subject.projector.centering.means, chosen)

    def blocks(self) -> Iterator[tuple[Indices, Array]]:
        """Yield blocks of centered rows, with the indices of the rows."""
        rows = rows_of(self.points)
        if rows is not None and self.exact:
            for number in range(rows.blocks):
                for first, part in rows.parts(number):
                    yield np.arange(first, first + len(part)), part - self.means
            return
        step = max(1, BLOCK // max(self.points.shape[1], 1))
        for start in range(0, len(self.chosen), step):
            some = self.chosen[start : start + step]
            yield some, self.points[some] - self.means

    @property
    def exact(self) -> bool:
        """Whether all rows are checked."""
        return len(self.chosen) == len(self.points)

    def sums_and_error(self, axes: Array, coordinates: Array) -> tuple[Array, Array, float]:
        """Return column sums, column sums of squares, and the largest error of a score.

        `axes` is a (d, p) array, `coordinates` an (n, p) array. Axes without extent are left out of the error.
        """
        (sums, squares), worst = np.zeros((2, self.points.shape[1])), 0.0
        drawn = nonzero_columns(coordinates)
        for rows, part in self.blocks():
            sums += part.sum(axis=0)
            squares += np.einsum("ij,ij->j", part, part)
            worst = max(worst, max_abs((part @ axes - take_rows(coordinates, rows))[:, drawn]))
        return sums, squares, worst

    def covariance(self, block: Array) -> Array:
        """Return XᵀX times a (d, k) array of vectors, a (d, k) array."""
        return np.asarray(sum((part.T @ (part @ block) for _, part in self.blocks()), np.zeros_like(block)))


def linear_checks(subject: Subject, chain: Stages) -> Iterator[Check]:
    """Yield the checks of the features' principal components."""
    points, spectrum = subject.data.values, subject.spectrum
    divisor = {"none": 1, "n": len(points), "n-1": max(len(points) - 1, 1)}[chain.coordinates.divisor]
    yield count("divisor", int(spectrum.divisor != divisor),
                "eigenvalues written are sums of squares over the divisor asked for")
    data, axes = CenteredRows.of(subject), subject.projector.axes
    yield from _rows(subject, data)
    product = axes.T @ axes
    extent = (np.diag(product) != 0) | (subject.values > subject.rounding * 100 * subject.top)
    yield ratio("directions", max_abs(product - np.diag(extent.astype(float))),
                subject.precision, "WᵀW = I, but for an axis without extent")
    decoder = subject.projector.affine
    if decoder is not None:
        wrong = int(np.sum(decoder.mean != data.means)) + int(np.sum(np.abs(decoder.directions - axes) > 8 * EPS))
        yield count("decoder", wrong, "numbers that reconstruction and projection do not share")
    if rows_of(points) is not None:
        yield skipped("eigenvalues", "the table is read in blocks; the count below says that none was left out")
    elif data.exact and subject.plan.allows(0.3, ROOT * points.size * min(points.shape)):
        yield _eigenvalues(subject, data)
    else:
        yield later("eigenvalues")
    if subject.plan.full:
        allowed = subject.precision * subject.top + cancellation(subject) * np.sqrt(subject.top)
        yield count_check(lambda: data.covariance(np.eye(len(axes))), len(axes), float(subject.values[-1]),
                          axes.shape[1] - 1, allowed)
    else:
        yield later("count")


def covariance_check(subject: Subject, *, unit: bool) -> Check:
    """Check that loadings are eigenvectors of the covariance, of length √λ or of length one (`unit`)."""
    data, loadings = subject.data.normalized(), subject.model.loadings
    if loadings is None:
        return skipped("residual", "the loadings are not at hand")
    found, values = data.unit.measured(loadings.values), np.maximum(subject.spectrum.eigenvalues, 0.0)
    if unit:
        roots = data.unit.measured(np.sqrt(values[: loadings.values.shape[1]]))
        found = loadings.values * roots
    squares = np.sum(found**2, axis=0)
    error = max(max_abs(data.values @ found - found * squares), max_abs(found.T @ found - np.diag(squares)))
    return ratio("residual", error, EPS * len(data.values) * float(np.linalg.norm(data.values)),
                 "the covariance times each axis is its eigenvalue times the axis")


def cancellation(subject: Subject) -> float:
    """Return the norm of the rounding that subtracting means far from zero leaves."""
    return EPS * subject.largest * float(np.sqrt(subject.data.values.size))


def _rows(subject: Subject, data: CenteredRows) -> Iterator[Check]:
    """Yield checks of scores and trace; where all rows are checked, also of means and eigenvectors."""
    axes, coordinates, values = subject.projector.axes, subject.embedding, subject.values
    trace = max(subject.spectrum.solved_trace, 0.0)
    root, rough, size = np.sqrt(subject.top), cancellation(subject), max(len(data.points), 1)
    sums, squares, scores = data.sums_and_error(axes, coordinates)
    yield ratio("scores", scores, subject.precision * root + rough, "Y = (x - mean) W, row by row", exact=data.exact)
    surplus = float(squares.sum()) - subject.spectrum.solved_trace
    yield ratio("trace", abs(surplus) if data.exact else max(surplus, 0.0), subject.rounding * trace + rough * np.sqrt(
        trace) + rough**2, "Σ‖x - mean‖² = trace; of a sample, no more than that", exact=data.exact)
    if not data.exact:
        yield later("residual")
        return
    if subject.centered:
        yield ratio("means", max_abs(sums) / size, EPS * (8 * subject.largest + root),
                    "the model's means are the columns' means")
    else:
        yield count("means", int(np.count_nonzero(data.means)), "means that are taken from columns that should stay")
    products = sum((part.T @ take_rows(coordinates, rows) for rows, part in data.blocks()), np.zeros_like(axes))
    apart = max_abs(products - axes * np.where(nonzero_columns(coordinates), values, 0.0))
    yield ratio("residual", apart, subject.precision * subject.top + subject.ties + rough * root, "XᵀY = W Λ")


def _eigenvalues(subject: Subject, data: CenteredRows) -> Check:
    """Check all eigenvalues of the run; warns where one is accurate relative to the largest but not to itself."""
    rows = data.points - data.means
    if subject.centered:
        rows -= rows.mean(axis=0)  # the mean of centered rows: digits that the model's means may lack
    roots = np.linalg.svd(rows, compute_uv=False)
    stated = np.maximum(subject.spectrum.solved, 0.0)[: len(roots)]
    again = roots[: len(stated)] ** 2
    gaps = np.abs(stated - again)
    allowed = subject.precision
    check = ratio("eigenvalues", float(gaps.max(initial=0.0)), allowed * subject.top,
                  "squares of the singular values of the centered rows")
    above = np.sqrt(again) > PASS * subject.rounding * np.sqrt(subject.top)
    lost = int(np.sum(gaps[above] > LOST * again[above]))
    if check.verdict != "pass" or not lost:
        return check
    return replace(check, verdict="warn", how=f"{check.how}; {lost} of {len(stated)} have fewer than six digits, for "
                   "products of the columns or rows were solved: method.route auto or svd keeps them")
