"""The certificate of a learned kernel and its optimality bound, recomputed from its factor, its dual weights and the
input alone.
"""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, count, later, ratio, skipped
from mlcli.base.values.inputs import WeightedGraph
from mlcli.certify.chains import chain_checks
from mlcli.certify.eigen import worst
from mlcli.certify.graph import adjacency, edge_check, neighbor_check, pair_distances
from mlcli.certify.subject import Subject, max_abs
from mlcli.core.chain.stages import Stages
from mlcli.core.metrics.distances import is_euclidean
from mlcli.core.model import Unfolded

FACE = 1e-9  # allowed share of the points' size outside a face
LEAST = 1e-290  # squared lengths below this have lost digits to the end of the range of doubles


@frozen
class DualBound:
    """An upper bound of the objective over all kernels that meet the constraints, proven by the dual weights."""

    value: float  # infinite where the weights prove nothing
    rounding: float
    pull: float  # Σ |y|/λ: the change of the bound for a change of one in every squared distance


@frozen
class RecomputedUnfolding:
    """Quantities of an unfolding, computed again from its factor and the input."""

    subject: Subject
    unfolded: Unfolded
    equal: bool  # whether distances of neighbors stay equal, or do not grow

    def stated(self, name: str) -> float | None:
        """Return a squared length of `fit` in the units of the computation; None where it is missing or out of range.
        """
        value = self.subject.model.fit.get(name)
        unit = self.subject.data.unit
        if value is None or (unit.exponent and abs(value) < LEAST):
            return None
        return (unit**-2).number(float(value))

    @cached_property
    def squares(self) -> Array:
        """Squared distances of the pairs in the input, an (m,) array."""
        return self._input_distances[0] ** 2

    @property
    def rough(self) -> float:
        """The largest rounding by the metric in a squared distance."""
        distances, errors = self._input_distances
        return max_abs(errors * (2 * distances + errors))

    @cached_property
    def _input_distances(self) -> tuple[Array, Array | float]:
        return pair_distances(self.subject, self.unfolded.left, self.unfolded.right)

    @cached_property
    def excess(self) -> Array:
        """Errors of the kernel's squared distances, an (m,) array; only growth where distances may shrink."""
        factor, left, right = self.unfolded.factor, self.unfolded.left, self.unfolded.right
        excess = ((factor[left] - factor[right]) ** 2).sum(axis=1) - self.squares
        return np.abs(excess) if self.equal else np.maximum(excess, 0.0)

    @cached_property
    def trace(self) -> float:
        """tr K."""
        return float(np.sum(self.unfolded.factor**2))

    @cached_property
    def bound(self) -> DualBound:
        """The bound Σ y d²/λ, λ the least eigenvalue of Σ y vvᵀ over the mean-free vectors, or over the basis."""
        weights, squares = self.unfolded.weights, self.squares[self.unfolded.counted]
        values = np.linalg.eigvalsh(self._weighted_laplacian())
        least, top = float(values[0]), float(np.abs(values).max())
        if not least > 0:
            return DualBound(float("inf"), 0.0, 0.0)
        linear = float(squares @ weights) / least
        soft = float(weights @ weights) / least**2 / (2 * self.unfolded.penalty) if self.unfolded.penalty else 0.0
        sizes = float(squares @ np.abs(weights)) / least
        rounding = EPS * len(values) * (top / least * (abs(linear) + 2 * soft) + sizes)
        return DualBound(linear + soft, rounding, float(np.abs(weights).sum()) / least)

    def _weighted_laplacian(self) -> Array:
        """Return Σ y vvᵀ over the basis, or the Laplacian with the constant vector's eigenvalue raised from zero."""
        left, right = (side[self.unfolded.counted] for side in (self.unfolded.left, self.unfolded.right))
        vectors = np.eye(self.subject.size) if self.unfolded.basis is None else self.unfolded.basis
        rows = vectors[left] - vectors[right]
        weighted = (rows.T * self.unfolded.weights) @ rows
        lift = np.abs(weighted).sum(axis=1).max() / len(weighted) if self.unfolded.basis is None else 0.0
        return np.asarray(weighted + lift)


def unfolding_checks(subject: Subject, chain: Stages) -> Iterator[Check]:
    """Yield the checks of coordinates V √λ of a learned kernel, and of what proves it."""
    yield from chain_checks(subject, chain, scale="roots", more=_learned_checks)


def _learned_checks(subject: Subject, chain: Stages) -> Iterator[Check]:
    """Yield the checks of a learned kernel."""
    unfolded, kernel = subject.model.unfolded, dict(chain.kernel)
    if unfolded is None:
        return
    yield _shape(subject, unfolded)
    if len(unfolded.factor) != subject.size:
        return
    figures, fit = RecomputedUnfolding(subject, unfolded, kernel["constraints"] == "equal"), subject.model.fit
    if unfolded.basis is not None:
        yield _basis(figures, unfolded.basis)
    yield from _eigenproblem(figures)
    if kernel["common_neighbors"]:
        yield skipped("neighbors", "pairs with a neighbor in common are not looked for again")
    else:
        yield _pairs(figures)
    mean = float(figures.squares.mean())
    violation = float(figures.excess.max(initial=0.0)) / mean
    scale = EPS * (16 + np.sqrt(subject.data.values.shape[1])) * (float(figures.squares.max()) / mean + violation)
    scale += figures.rough / mean
    yield ratio("violation", abs(violation - float(fit["constraint_violation"])), scale,
                f"distances of neighbors: squared, off by {violation:.2g} of their mean at most, as stated")
    if not figures.equal:
        yield count("weights", int(np.sum(unfolded.weights < 0)), "weights below zero, where none may grow")
    if subject.plan.full:
        yield from _optimum(figures, float(kernel["tolerance"]))
    else:
        yield later("bound")


def _shape(subject: Subject, unfolded: Unfolded) -> Check:
    """Check that every part has a row for each point, and every pair joins two points."""
    pairs, parts = np.concatenate([unfolded.left, unfolded.right]), [unfolded.factor]
    parts += [] if unfolded.basis is None else [unfolded.basis]
    wrong = int(np.sum((pairs < 0) | (pairs >= subject.size))) + sum(abs(len(part) - subject.size) for part in parts)
    wrong += sum(int(np.size(part) - np.isfinite(part).sum()) for part in (*parts, unfolded.weights))
    return count("unfolding", wrong, "rows of the kernel or pairs that belong to no point, numbers not finite")


def _basis(figures: RecomputedUnfolding, basis: Array) -> Check:
    """Check VᵀV = I and 1ᵀV = 0, and that the face contains the points' own kernel, which keeps all distances."""
    subject, factor = figures.subject, figures.unfolded.factor
    outside = factor - basis @ (basis.T @ factor)
    error = max(max_abs(basis.T @ basis - np.eye(basis.shape[1])), max_abs(basis.sum(axis=0)),
                max_abs(outside) / np.sqrt(figures.trace))
    if figures.unfolded.penalty is None and is_euclidean(subject.data):
        points = subject.data.values - subject.data.values.mean(axis=0)
        error = max(error, max_abs(points - basis @ (basis.T @ points)) / subject.largest / FACE * subject.rounding)
    return ratio("basis", float(error), subject.rounding, "VᵀV = I, 1ᵀV = 0, and K = V R Vᵀ, as the points' own kernel")


def _eigenproblem(figures: RecomputedUnfolding) -> Iterator[Check]:
    """Check K1 = 0, K Y = Y Λ and tr K. K = F Fᵀ is positive semidefinite by its form."""
    subject, factor, values = figures.subject, figures.unfolded.factor, figures.subject.values
    spectrum, stated = subject.spectrum, figures.stated("trace")
    yield ratio("kernel", max_abs(factor.sum(axis=0)), float(subject.rounding * np.sqrt(figures.trace)),
                "K = F Fᵀ, and the column sums of F are zero")
    gaps = np.linalg.norm(factor @ (factor.T @ subject.embedding) - subject.embedding * values, axis=0)
    scale = subject.precision * subject.top + subject.ties
    yield ratio("residual", worst(gaps, np.sqrt(np.maximum(values, scale))), scale, "F Fᵀ v = λ v")
    error = max(abs(figures.trace - total) for total in (spectrum.solved_trace, stated) if total is not None)
    yield ratio("trace", error, subject.rounding * figures.trace, "‖F‖² = the trace, in fit and of the spectrum")


def _pairs(figures: RecomputedUnfolding) -> Check:
    """Check that the pairs are those of the neighbor graph."""
    subject, unfolded = figures.subject, figures.unfolded
    one, other = np.concatenate([unfolded.left, unfolded.right]), np.concatenate([unfolded.right, unfolded.left])
    starts = np.concatenate([[0], np.cumsum(np.bincount(one, minlength=subject.size))])
    order = np.lexsort((other, one))
    if isinstance(subject.data, WeightedGraph):
        return edge_check(subject.data, starts, other[order], pair_distances(subject, one[order], other[order])[0])
    return neighbor_check(subject, adjacency(subject, starts, other[order]), subject.asked.rule)


def _optimum(figures: RecomputedUnfolding, tolerance: float) -> Iterator[Check]:
    """Check that the weights prove the bound, that the objective is not above it, and that the gap is as stated."""
    fit, bound, stated = figures.subject.model.fit, figures.bound, figures.stated("dual_bound")
    if fit["duality_gap"] is None or not np.isfinite(bound.value):
        wrong = int(np.isfinite(bound.value) or fit["duality_gap"] is not None or bool(fit["converged"]))
        yield count("bound", wrong, "no bound is known, and none is stated")
        return
    rounding = bound.rounding + figures.subject.rounding * abs(figures.trace)
    penalty = figures.unfolded.penalty or 0.0
    objective = figures.trace - penalty / 2 * float(np.sum(figures.excess[figures.unfolded.counted] ** 2))
    if stated is None:
        yield skipped("bound", "squared lengths are outside the range of doubles")
    else:
        yield ratio("bound", abs(bound.value - stated), rounding, "Σ y d²/λ of the stored weights = the bound stated")
    # violations let a kernel exceed the bound by their weighted sum
    room = 0.0 if penalty else float(fit["constraint_violation"]) * figures.squares.mean() * bound.pull
    yield count("duality", int(objective > bound.value + room + 10 * rounding),
                f"objectives above their bound: {objective:.9g}, and at most {bound.value:.9g}")
    size = max(abs(bound.value), abs(objective), figures.trace)
    gap = abs(bound.value - objective) / size
    yield ratio("gap", abs(gap - float(fit["duality_gap"])), 2 * rounding / size, f"a relative gap of {gap:.2e}")
    off = gap if penalty else max(gap, float(fit["constraint_violation"]))
    slack = 10 * rounding / size
    wrong = off > tolerance + slack if fit["converged"] else off < tolerance - slack
    yield count("converged", int(wrong), f"gap and violation {off:.2e}, tolerance {tolerance:.2e}, as stated")
