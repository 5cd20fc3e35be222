"""Non-negative factorization X ≈ W H: starts, and the sweeps and updates that lower its two objectives."""

from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import product_rate, rates
from mlcli.base.rows.blocks import each, in_order, row_blocks
from mlcli.base.stages.stage import running
from mlcli.base.stored import result
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.options import option
from mlcli.core.eigen.options import SpectrumRequest
from mlcli.core.iterate import Iterate
from mlcli.core.kernels.options import Route
from mlcli.core.kernels.row_factor import factor_of
from mlcli.native.linalg import sweep_rows

Objective = Literal["frobenius", "kullback_leibler"]
BLOCK = 1 << 20  # numbers of rows that a thread takes at once
FEW = 0.4  # share of entries that are not zero, up to which products take these alone
FILLED = 1e-6  # entries of the start below this count as zero, for data of a largest cell of one
NEARLY_EXACT = 1e-4  # share of the objective's size for W H = 0, or of Σ x, below which it counts as so large
TINY = float(np.finfo(np.float64).tiny)


class Refinement(Iterate):
    """When an iteration of slow progress stops."""

    tolerance: float = option(1e-5, "Convergence: estimated relative distance of the objective from its limit, "
                              "extrapolated from the last steps.", gt=0, lt=1)


@result("factorization")
@frozen
class Factorization:
    """A non-negative factorization of a table (n x d) into p parts."""

    weights: Array  # p x n: Wᵀ
    parts: Array  # p x d: H
    objective: float

    @property
    def scaled(self) -> Array:
        """The parts (p x d) with sum one; a part of zeros stays one."""
        sums = self.parts.sum(axis=1, keepdims=True)
        return np.asarray(self.parts / np.where(sums > 0, sums, 1.0))


def side_of(shape: tuple[int, ...]) -> Route:
    """Return the smaller side of a table (n x d), whose products give singular vectors exact enough for a start."""
    return "covariance" if shape[1] <= shape[0] else "dual"


def start_of_singular_vectors(points: Array, count: int, request: SpectrumRequest, compute: Compute) -> Factorization:
    """Return NNDSVDa of points X (n x d) (Boutsidis and Gallopoulos, 2008), as scikit-learn's of X over its largest.

    Of each pair of singular vectors the positive or the negative parts are taken, those of larger norm; zeros are
    replaced by the mean of X.
    """
    kernel = factor_of(points, side_of(points.shape), centered=False).with_products()
    with running("eigensolve"):
        solved = kernel.solve(request, compute)
        found, directions = solved.take(min(count, int(np.sum(solved.positive > 0))))
    assert directions is not None
    largest, mean = float(points.max()), float(points.mean())
    fill, least = mean / np.sqrt(largest), FILLED * np.sqrt(largest)
    weights, parts = np.zeros((count, len(points))), np.zeros((count, points.shape[1]))
    for place, value in enumerate(np.sqrt(np.sqrt(solved.positive[: found.shape[1]]))):
        left, right = found[:, place], directions[:, place]
        if place == 0:
            weights[0], parts[0] = value * np.abs(left), value * np.abs(right)
            continue
        halves = [(np.maximum(sign * left, 0.0), np.maximum(sign * right, 0.0)) for sign in (1.0, -1.0)]
        sizes = [(float(np.linalg.norm(one)), float(np.linalg.norm(other))) for one, other in halves]
        best = 0 if sizes[0][0] * sizes[0][1] > sizes[1][0] * sizes[1][1] else 1
        (one, other), (length, width) = halves[best], sizes[best]
        weights[place] = value * np.sqrt(width / length) * one if length > 0 else 0.0
        parts[place] = value * np.sqrt(length / width) * other if width > 0 else 0.0
    weights[weights < least], parts[parts < least] = fill, fill
    return Factorization(weights, parts, np.inf)


def random_start(points: Array, count: int, random: np.random.Generator) -> Factorization:
    """Return half-normal factors for points (n x d), of the size √(mean / p), as scikit-learn's `random`."""
    size = np.sqrt(points.mean() / count)
    return Factorization(size * np.abs(random.standard_normal((count, len(points)))),
                         size * np.abs(random.standard_normal((count, points.shape[1]))), np.inf)


def hals_sweep(factor: Array, gram: Array, products: Array, times: int) -> None:
    """Improve a factor (p x n) in place, row after row, `times` over: each to the minimum over itself alone.

    With the other factor V fixed, row k of the factor becomes its minimum max(f_k - (V Vᵀ f - products)_k / (V Vᵀ)_kk,
    0), where `gram` is V Vᵀ (p x p) and `products` V times the data (p x n) (Cichocki and Phan, 2009; several sweeps
    over the same products: Gillis and Glineur, 2012).
    """
    for _ in range(times):
        for place, size in enumerate(np.diag(gram).tolist()):
            if size > 0:
                change = gram[place] @ factor
                change -= products[place]
                change /= size
                np.subtract(factor[place], change, out=factor[place])
                np.maximum(factor[place], 0.0, out=factor[place])


@frozen
class NonzeroEntries:
    """The entries of a table (n x d) that are not zero, row after row."""

    starts: Indices  # n + 1
    columns: AnyArray  # int32
    values: Array

    @classmethod
    def of(cls, points: Array) -> "NonzeroEntries | None":
        """Return the entries of points (n x d); None where most are not zero, or without native kernels."""
        counts = np.count_nonzero(points, axis=1)
        if not native.available() or counts.sum() > FEW * points.size:
            return None
        starts = np.concatenate([[0], np.cumsum(counts)])
        columns, values = np.empty(starts[-1], dtype=np.int32), np.empty(starts[-1])

        def fill(rows: slice) -> None:
            here, there = points[rows], slice(starts[rows.start], starts[rows.stop])
            inside = here != 0
            columns[there], values[there] = np.nonzero(inside)[1], here[inside]

        each(fill, _blocks(points))
        return cls(starts, columns, values)

    def improve(self, rows: slice, weights: Array, parts: Array, gram: Array, sweeps: int) -> Array:
        """Sweep over weights (p x m) of some rows in place; return their products with the rows (p x d)."""
        entries = self.starts[rows.start : rows.stop + 1], self.columns, self.values
        improved, products = sweep_rows(entries, parts.T, gram, sweeps, weights.T)
        weights[:] = improved.T
        return products.T


def hals_step(points: Array, entries: NonzeroEntries | None, squares: float, sweeps: int,
              state: Factorization) -> Factorization:
    """Return the factorization of points (n x d) after sweeps over W, and then over H: one pass over the points.

    `squares` is ‖X‖²; the objective is ‖X - W H‖² / 2. Products take the `entries` alone where few are not zero.
    """
    weights, gram = state.weights.copy(), state.parts @ state.parts.T

    def improve(rows: slice) -> tuple[Array, Array]:
        own = weights[:, rows]
        if entries is not None:
            products = entries.improve(rows, own, state.parts, gram, sweeps)
            return products, own @ own.T
        hals_sweep(own, gram, state.parts @ points[rows].T, sweeps)
        return own @ points[rows], own @ own.T

    products, sizes = np.zeros_like(state.parts), np.zeros_like(gram)
    for product, size in in_order(improve, _blocks(points)):
        products += product
        sizes += size
    parts = state.parts.copy()
    hals_sweep(parts, sizes, products, sweeps)
    fit = float(np.sum(products * parts)) - float(np.sum((parts @ parts.T) * sizes)) / 2
    return Factorization(weights, parts, squares / 2 - fit)


def multiplicative_step(points: Array, state: Factorization) -> Factorization:
    """Return the factorization of points X (n x d) after Lee and Seung's (2001) updates of W, and then of H.

    The objective, Σ x ln(x / (W H)) - x + W H, is that before the update of H; neither update raises it.
    """
    weights, sums = state.weights.copy(), state.parts.sum(axis=1)

    def improve(rows: slice) -> tuple[Array, float]:
        some, own = points[rows], weights[:, rows]
        own *= _over(state.parts @ _over(some, own.T @ state.parts).T, sums[:, None])
        model = own.T @ state.parts
        ratios = _over(some, model)
        lost = np.sum(some * np.log(np.where(some > 0, ratios, 1.0))) + np.sum(model) - np.sum(some)
        return own @ ratios, float(lost)

    products, objective = np.zeros_like(state.parts), 0.0
    for product, lost in in_order(improve, _blocks(points)):
        products += product
        objective += lost
    return Factorization(weights, state.parts * _over(products, weights.sum(axis=1)[:, None]), objective)


def _over(values: Array, sizes: Array) -> Array:
    """Return values over sizes that are zero only where the values are, or only because they are too small."""
    found: Array = values / np.maximum(sizes, TINY)
    return found


def _blocks(points: Array) -> list[slice]:
    return row_blocks(len(points), BLOCK, points.shape[1])


def step_of(objective: Objective, points: Array, sweeps: int) -> Callable[[Factorization], Factorization]:
    """Return the step that lowers an objective of points (n x d)."""
    if objective == "frobenius":
        return partial(hals_step, points, NonzeroEntries.of(points), float(np.einsum("ij,ij->", points, points)),
                       sweeps)
    return partial(multiplicative_step, points)


def fall_between(before: Factorization, after: Factorization, least: float) -> float:
    """Return the fall of the objective relative to itself, or to `least` where it is smaller."""
    return abs(before.objective - after.objective) / max(after.objective, least)


def size_of(objective: Objective, points: Array) -> float:
    """Return the size of an objective without parts: ‖X‖² / 2, or Σ x instead of a divergence, for points (n x d)."""
    return float(np.einsum("ij,ij->", points, points)) / 2 if objective == "frobenius" else float(points.sum())


def objective_of(objective: Objective, points: Array, weights: Array, parts: Array) -> float:
    """Return the objective of points (n x d), weights (n x p) and parts (p x d), by its definition."""
    def lost(rows: slice) -> float:
        some, model = points[rows], weights[rows] @ parts
        if objective == "frobenius":
            return float(np.sum(np.square(some - model))) / 2
        ratios = _over(some, model)
        return float(np.sum(some * np.log(np.where(some > 0, ratios, 1.0)) - some + model))

    return sum(in_order(lost, _blocks(points)))


def falls_of(objective: Objective, points: Array, weights: Array, parts: Array) -> Array:
    """Return the fall of the objective that the next step over each of the parts (p x d) alone promises (p)."""
    def gather(rows: slice) -> Array:
        some, model = points[rows], weights[rows] @ parts
        rest: Array = weights[rows].T @ (model - some if objective == "frobenius" else _over(some, model))
        return rest

    slopes = sum(in_order(gather, _blocks(points)), np.zeros_like(parts))
    if objective == "frobenius":
        curves = np.maximum(np.einsum("ij,ij->j", weights, weights)[:, None], TINY)
        moved = np.maximum(parts - slopes / curves, 0.0) - parts
        return np.asarray(-np.sum(moved * slopes + curves * moved**2 / 2, axis=1))
    sizes = weights.sum(axis=0)[:, None]
    updated = parts * _over(slopes, sizes)
    inside = (parts > 0) & (updated > 0)
    logarithms = np.log(np.divide(updated, parts, out=np.ones_like(parts), where=inside))
    return np.asarray(np.sum(sizes * (updated * logarithms - updated + parts), axis=1))


def step_seconds(shape: tuple[int, ...], count: int, objective: Objective, sweeps: int, threads: int) -> float:
    """Predict the seconds of a step for points of a shape (n x d): products, sweeps, or logarithms and ratios."""
    rows, columns = shape
    products = 2.0 * rows * columns * count / product_rate(threads)
    if objective == "frobenius":
        return 2 * products + 4.0 * sweeps * rows * count**2 / product_rate(threads) + 8 * count * rates().called
    return 4 * products + rows * columns * 2 * rates().bent / threads
