"""The weights of given parts in training rows or new ones: by non-negative least squares, or of least divergence."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.check import EPS
from mlcli.core.centering import uncentered
from mlcli.core.similarities.base import Similarity
from mlcli.core.similarities.projector import Affine, Projector
from mlcli.errors import DataError
from mlcli.methods.parts.nonnegative import Objective

BLOCK = 1 << 19  # numbers of a thread at once
RIDGE = 64 * EPS  # added to the diagonal: parts that are combinations of others share what they explain
NEAR = 1e-12  # relative size below which an entry or a slope counts as zero
FULL_EXCHANGES = 3  # of all wrong entries at once without fewer of them, before one at a time
EXCHANGES = 5  # for each part, at most
WARM = 10  # multiplicative updates before Newton's method
FAINT = 1e-100  # share of the largest number of the parts below which a column has none of any
NEWTON, HALVINGS = 100, 50  # its steps and those of its line search, at most
ARMIJO = 1e-4  # share of the fall that the slope promises
SLACK = 8 * EPS  # relative rounding of the objective, below which a fall is not seen


def place_rows(objective: Objective, points: Array, parts: Array) -> Array:
    """Return the weights w ≥ 0 (n x p) that minimize the objective of each row x ≈ w H of points (n x d).

    `parts` is H (p x d).
    """
    found = np.zeros((len(points), len(parts)))
    there = np.any(parts > 0, axis=1)
    held = parts[there]
    solve = least_squares if objective == "frobenius" else least_divergence
    width = max(points.shape[1], len(held) ** 2, 1)

    def fill(rows: slice) -> None:
        found[rows, there] = solve(points[rows], held)

    if there.any():
        each(fill, row_blocks(len(points), BLOCK, width), progress=True)
    return found


def least_squares(points: Array, parts: Array) -> Array:
    """Return the w ≥ 0 (m x p) of least ‖x - w H‖ for rows x of points (m x d) and parts H (p x d), none zero.

    By exchanges of whole blocks of entries between those that are zero and those that are not, and where these do not
    make fewer of them wrong, of one at a time (Portugal, Júdice and Vicente, 1994; Kim and Park, 2011).
    """
    lengths = np.linalg.norm(parts, axis=1)
    units = parts / lengths[:, None]
    gram, products = units @ units.T, points @ units.T
    gram.flat[:: len(gram) + 1] += RIDGE
    return _least_quadratic(gram, products) / lengths


def _least_quadratic(gram: Array, products: Array) -> Array:
    """Return the w ≥ 0 (m x p) of least wᵀ G w / 2 - wᵀ b for rows b of products (m x p).

    `gram` is G, positive definite: one for all rows (p x p), or each row's own (m x p x p).
    """
    weights, left = _exchange(gram, products)
    if left.any():
        from scipy.optimize import nnls

        for row in np.flatnonzero(left):
            # least squares with Rᵀ R = G and right side R⁻ᵀ b
            triangle = np.linalg.cholesky(gram if gram.ndim == 2 else gram[row]).T
            weights[row] = nnls(triangle, np.linalg.solve(triangle.T, products[row]))[0]
    return weights


def _exchange(gram: Array, products: Array) -> tuple[Array, AnyArray]:
    """Return the weights (m x p), and the rows (m) for which no set of nonzero entries was found."""
    (rows, count), sizes = products.shape, np.abs(products).max(axis=1, initial=0.0)[:, None]
    weights, used = np.zeros((rows, count)), np.zeros((rows, count), dtype=bool)
    fewest, tries = np.full(rows, count + 1), np.full(rows, FULL_EXCHANGES)
    open_rows = np.flatnonzero(sizes[:, 0] > 0)
    for _ in range(EXCHANGES * (count + 2)):
        free, own = used[open_rows], gram if gram.ndim == 2 else gram[open_rows]
        matrices = np.where(free[:, :, None] & free[:, None, :], own, np.eye(count))
        found = np.linalg.solve(matrices, np.where(free, products[open_rows], 0.0)[:, :, None])[:, :, 0]
        slopes = (found @ own if own.ndim == 2 else np.einsum("mi,mij->mj", found, own)) - products[open_rows]
        largest = np.abs(found).max(axis=1, initial=0.0)[:, None]
        wrong = np.where(free, found < -NEAR * largest, slopes < -NEAR * sizes[open_rows])
        number = wrong.sum(axis=1)
        weights[open_rows] = np.maximum(found, 0.0)
        better = number < fewest[open_rows]
        tries[open_rows] = np.where(better, FULL_EXCHANGES, tries[open_rows] - 1)
        fewest[open_rows] = np.minimum(number, fewest[open_rows])
        single = tries[open_rows] < 0
        last = count - 1 - wrong[:, ::-1].argmax(axis=1)
        alone = wrong & (np.arange(count) == last[:, None])
        used[open_rows] = free ^ np.where(single[:, None], alone, wrong)
        open_rows = open_rows[number > 0]
        if not len(open_rows):
            break
    return weights, np.isin(np.arange(rows), open_rows)


def least_divergence(points: Array, parts: Array) -> Array:
    """Return the w ≥ 0 (m x p) of least Σ x ln(x / w H) - x + w H for rows x of points (m x d) and parts H (p x d).

    A convex problem: multiplicative updates, then Newton's method on the entries that are not at zero (Bertsekas,
    1982), and where its step does not lower the divergence, towards the least value of its quadratic model over all
    w ≥ 0 (Lee, Sun and Saunders, 2014). Cells in columns that no part has do not count.
    """
    held = parts.max(axis=0) > FAINT * parts.max()
    points, parts = points[:, held], parts[:, held]
    totals, sums = points.sum(axis=1), parts.sum(axis=1)
    there = totals > 0
    shares, units = points[there] / totals[there, None], parts / sums[:, None]
    weights = np.full((len(shares), len(units)), 1.0 / len(units))
    for _ in range(WARM):
        model = weights @ units
        weights *= np.divide(shares, model, out=np.zeros_like(model), where=shares > 0) @ units.T
    open_rows = np.arange(len(shares))
    for _ in range(NEWTON):
        weights[open_rows], moved = _newton_step(shares[open_rows], weights[open_rows], units)
        open_rows = open_rows[moved]
        if not len(open_rows):
            break
    found = np.zeros((len(points), len(units)))
    found[there] = weights * totals[there, None]
    return found / sums


def _newton_step(shares: Array, weights: Array, units: Array) -> tuple[Array, AnyArray]:
    """Return weights (m x p) after a step for rows of sum one (m x d), and which rows (m) are not at the minimum."""
    count = len(units)
    first, second = np.triu_indices(count)
    model = weights @ units
    ratios = np.divide(shares, model, out=np.zeros_like(model), where=shares > 0)
    slopes = 1 - ratios @ units.T
    apart = np.abs(weights - np.maximum(weights - slopes, 0.0))
    distance = apart.max(axis=1)
    curved = np.divide(ratios, model, out=np.zeros_like(model), where=ratios > 0) @ (units[first] * units[second]).T
    curves = np.empty((len(shares), count, count))
    curves[:, first, second] = curves[:, second, first] = curved
    free = ~((weights <= np.minimum(distance, 0.1 / count)[:, None]) & (slopes > 0))
    diagonal = np.einsum("mkk->mk", curves)
    diagonal += RIDGE * diagonal.max(axis=1, keepdims=True)
    matrices = np.where(free[:, :, None] & free[:, None, :], curves, np.eye(count))
    steps = np.linalg.solve(matrices, np.where(free, slopes, 0.0)[:, :, None])[:, :, 0]
    steps = np.where(free, steps, weights)  # entries near zero with a positive slope go there
    before = _divergence(shares, weights, model)
    found, left, length = weights.copy(), distance > NEAR, 1.0
    waiting = np.flatnonzero(left)
    for halving in range(HALVINGS):
        if not len(waiting):
            break
        if halving == 1:  # entries on their way to zero take others along, which a step of the free ones does not see
            steps[waiting] = weights[waiting] - _model_minimum(curves[waiting], slopes[waiting], weights[waiting])
        tried = np.maximum(weights[waiting] - length * steps[waiting], 0.0)
        after = _divergence(shares[waiting], tried, tried @ units)
        promised = np.einsum("mk,mk->m", slopes[waiting], tried - weights[waiting])
        lower = after <= before[waiting] + ARMIJO * promised + SLACK * (1 + np.abs(before[waiting]))
        found[waiting[lower]] = tried[lower]
        waiting, length = waiting[~lower], length / 2 if halving else 1.0
    left[waiting] = False  # no step lowers it: what is left is rounding
    return found, left


def _model_minimum(curves: Array, slopes: Array, weights: Array) -> Array:
    """Return the w ≥ 0 (m x p) of least quadratic model, of curves (m x p x p) and slopes (m x p) at weights."""
    sizes = np.sqrt(np.einsum("mkk->mk", curves))
    products = np.einsum("mij,mj->mi", curves, weights) - slopes
    return _least_quadratic(curves / (sizes[:, :, None] * sizes[:, None, :]), products / sizes) / sizes


def _divergence(shares: Array, weights: Array, model: Array) -> Array:
    """Return Σ w - Σ x ln(w H) of rows (m) with shares x (m x d) and models w H (m x d); infinite for 0 where x > 0."""
    with np.errstate(divide="ignore"):
        logarithms = np.log(model, out=np.zeros_like(model), where=shares > 0)
    found: Array = weights.sum(axis=1) - np.einsum("ij,ij->i", shares, logarithms)
    return found


@stored("part-weights", factor="cd")
@frozen
class PartWeights(Similarity):
    """The weights w ≥ 0 for which w H is nearest to a row."""

    keeps_distances: ClassVar[bool] = False
    objective: Objective
    factor: Array  # H, one part in each row

    def rows(self, new: Array) -> Array:
        """Return the weights (m x p) of new points (m x d); raises DataError for a negative cell."""
        require_nonnegative(new)
        return place_rows(self.objective, new, self.factor)

    def width(self, given: int) -> int:
        """Return the number of parts; 0 where the parts have another number of columns."""
        return len(self.factor) if self.factor.shape[1] == given else 0

    def check(self, new: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """Raise DataError for the first negative cell of new points (m x d)."""
        require_nonnegative(new, ids, columns)

    def rounding(self, new: Array) -> Array | float:
        """Return the errors of the weights of new points (m x d), larger where parts nearly depend on each other."""
        lengths = np.linalg.norm(self.factor, axis=1)
        units = self.factor[lengths > 0] / lengths[lengths > 0, None]
        least = float(np.linalg.eigvalsh(units @ units.T).min(initial=1.0))
        return 64 * EPS * float(np.abs(new).sum(axis=1).max(initial=0.0)) / max(least, RIDGE)


def require_nonnegative(points: Array, ids: Sequence[str] = (), columns: Sequence[str] = ()) -> None:
    """Raise DataError for the first negative cell of points (n x d), by row and column, and their names where known."""
    if points.size and float(points.min()) < 0:
        row, column = np.argwhere(points < 0)[0].tolist()
        named = repr(columns[column]) if len(columns) else f"{column + 1}"
        raise DataError("NEGATIVE", f"column {named}: nmf takes numbers of zero or more, not {points[row, column]:g}",
                        hint="correct the cell, leave the column out with {input.columns}, or do not center columns "
                        "({prepare.scale=none})", row=row, name=repr(ids[row]) if len(ids) else "")


def weights_projector(objective: Objective, parts: Array) -> Projector:
    """Return the projector by the weights of parts (p x d), and back by their sums."""
    count, columns = parts.shape
    return Projector(PartWeights(objective, parts), uncentered(count), np.eye(count),
                     Affine(np.zeros(columns), parts.T))
