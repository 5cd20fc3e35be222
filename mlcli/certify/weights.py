"""Reconstruction weights, solved again: (I - W)ᵀ(I - W) Y = Y / λ."""

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from mlcli.base.check import EPS, Check, count, ratio, skipped
from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.certify.budget import Budget
from mlcli.certify.counting import ERRORS, INERTIA, positive_pivots, ritz, unit_axes
from mlcli.certify.graph import Near
from mlcli.certify.subject import TIED, Subject
from mlcli.stages.graph.nearest import Lists
from mlcli.stages.graph.pieces import connected_lists
from mlcli.stages.similarities import Barycenters

ROW = 2e-5  # seconds for a row of few columns
PAIR = 2e-10  # for a column of the distance to another point
GRAM = 4e-10  # for a column of one product in a local system
FILL = 4e-7  # seconds for an entry of the sparse cost matrix in its factorization and a probe through it
APART = 1e5  # eigenvalues of M⁺ farther apart than this are found one after the other
ROOM = 2**18  # numbers of the local systems solved together


@frozen
class Residuals:
    """I - W of a model's lists of neighbors, with weights solved again."""

    lists: Lists
    weights: Array  # entry by entry of the lists

    @classmethod
    def of(cls, points: Array, lists: Lists, ridge: float) -> "Residuals":
        """The local systems of all points, those with equally many neighbors together."""
        weights = np.empty(len(lists.indices))
        for width in np.unique(lists.counts).tolist():
            rows = np.flatnonzero(lists.counts == width)
            step = max(1, ROOM // max(width * (width + points.shape[1]), 1))
            for start in range(0, len(rows), step):
                part = rows[start : start + step]
                entries = lists.starts[part][:, None] + np.arange(width)
                weights[entries] = solved(points[part], points[lists.indices[entries]], ridge)
        return cls(lists, weights)

    @cached_property
    def sums(self) -> Array:
        """The sum of each point's weights."""
        return np.bincount(self.lists.rows, self.weights, len(self.lists.starts) - 1).astype(np.float64)

    @cached_property
    def norm(self) -> float:
        """A bound of the norm of (I - W)ᵀ(I - W)."""
        size, sizes = len(self.lists.starts) - 1, np.abs(self.weights)
        rows = np.bincount(self.lists.rows, sizes, size).max(initial=0.0)
        columns = np.bincount(self.lists.indices, sizes, size).max(initial=0.0)
        return float((1 + rows) * (1 + columns))

    def apply(self, block: Array) -> Array:
        """(I - W) times a block of vectors."""
        return block - self._sums_over(self.lists.rows, self.lists.indices, block)

    def apply_turned(self, block: Array) -> Array:
        """(I - W)ᵀ times a block of vectors."""
        return block - self._sums_over(self.lists.indices, self.lists.rows, block)

    def _sums_over(self, to: Indices, of: Indices, block: Array) -> Array:
        return np.column_stack([np.bincount(to, self.weights * column[of], len(block)) for column in block.T])

    def cost_matrix(self, shift: float) -> Any:
        """(I - W)ᵀ(I - W) + a shift, sparse."""
        from scipy import sparse

        size = len(self.lists.starts) - 1
        weights = sparse.csr_array((self.weights, self.lists.indices, self.lists.starts), shape=(size, size))
        root = sparse.eye_array(size, format="csr") - weights
        return (root.T @ root + shift * sparse.eye_array(size)).tocsc()

    def whole(self) -> Array:
        """I - W as a matrix."""
        matrix = np.eye(len(self.lists.starts) - 1)
        matrix[self.lists.rows, self.lists.indices] -= self.weights
        return matrix


def solved(points: Array, neighbors: Array, ridge: float) -> Array:
    """The weights of points (m x d) over their neighbors (m x k x d), by the local systems' own formula."""
    gaps = neighbors - points[:, None, :]
    grams = gaps @ gaps.transpose(0, 2, 1)
    traces = np.trace(grams, axis1=1, axis2=2)
    grams += np.eye(grams.shape[1]) * (ridge * np.where(traces > 0, traces, 1.0))[:, None, None]
    found = np.linalg.solve(grams, np.ones((*grams.shape[:2], 1)))[..., 0]
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def weight_checks(subject: Subject, near: Near, budget: Budget) -> Iterator[Check]:
    """All checks of this page."""
    similarity = subject.projector.similarity
    if not isinstance(similarity, Barycenters):
        yield skipped("residual", "the model does not hold what its weights came from")
    elif budget.allows(0.4, _cost(similarity) * subject.size):
        lists, _ = connected_lists(subject.data, similarity.neighbors)
        residuals = Residuals.of(subject.data.values, lists, similarity.ridge)
        yield from _all_rows(subject, residuals, similarity.ridge)
        width = int(lists.counts.max(initial=1))
        if budget.full and subject.size <= INERTIA:
            yield _nothing_below(subject, residuals, similarity.ridge)
        elif budget.allows(0.4, FILL * subject.size * width**2):
            yield _probed(subject, residuals, similarity.ridge)
        else:
            yield skipped("count", "no time for a factorization")
        yield _listed(near, lists, near.affordable(budget, 0.2))
    else:
        yield _some_rows(subject, similarity, near, budget)


def _cost(similarity: Barycenters) -> float:
    """Seconds for a row: its neighbors among all points, its local system, its part in the products."""
    (size, columns), width = similarity.points.shape, similarity.neighbors.count or 1
    return ROW + columns * (PAIR * size + GRAM * width**2)


def _all_rows(subject: Subject, residuals: Residuals, ridge: float) -> Iterator[Check]:
    """The eigenproblem of the whole cost matrix."""
    coordinates, size = subject.embedding, subject.size
    sums = float(np.abs(residuals.sums - 1).max(initial=0.0))
    width = int(residuals.lists.counts.max(initial=1))
    yield ratio("weights", sums, EPS * width * np.sqrt(residuals.norm), "weights sum to one")
    root = residuals.apply(coordinates)
    costs = np.divide(1.0, subject.values, out=np.zeros_like(subject.values), where=subject.values > 0)
    gaps = np.linalg.norm(residuals.apply_turned(root) - coordinates * costs, axis=0) / np.sqrt(size)
    # an iterative solver's residuals are relative to the largest λ, and grow by its ratio to the axis' own
    ratios = np.clip(subject.top * costs, 1.0, APART)
    precision = subject.rounding + EPS / ridge + subject.model.spectrum.tolerance * ratios
    noises = residuals.norm * precision + tied_costs(subject)
    yield ratio("residual", float((gaps / noises).max(initial=0.0)), 1.0,
                "(I - W)ᵀ(I - W) v = v / λ, with weights solved again")
    found = np.sum(root * root, axis=0) / size
    noise = residuals.norm * (EPS / ridge) ** 2  # of a sum of squares whose terms are in doubt by the root of this
    relative = np.abs(found - costs) / (1e-4 * costs + 2 * np.sqrt(costs * noise) + noise)
    yield ratio("costs", float(relative.max(initial=0.0)), 1.0, "‖(I - W) v‖² = 1 / λ, to a ten-thousandth")


def tied_costs(subject: Subject) -> float:
    """How far apart costs are whose roots, the singular values of I - W, count as equal."""
    solved = subject.model.spectrum.solved
    roots = 1 / np.sqrt(solved[solved > 0])
    edges = [0, *(np.flatnonzero(np.diff(roots) > TIED * subject.rounding) + 1).tolist(), len(roots)]
    return max((float(roots[b - 1] ** 2 - roots[a] ** 2) for a, b in pairwise(edges)
                if a < subject.embedding.shape[1] and b > a), default=0.0)


def _probed(subject: Subject, residuals: Residuals, ridge: float) -> Check:
    """No cost below the last one kept was left out, as far as inverse iteration off the axes kept finds one."""
    from scipy.sparse.linalg import splu

    last = 1 / float(subject.values.min(initial=np.inf) or np.inf)
    gap = 10 * residuals.norm * (subject.rounding + EPS / ridge) + 1e-3 * last
    if not np.isfinite(last) or last <= 2 * gap or subject.embedding.shape[1] >= subject.size - 1:
        return skipped("count", "the costs kept are as small as rounding, or every axis was kept")
    solver = splu(residuals.cost_matrix(1e-3 * last), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0,
                  options={"SymmetricMode": True})
    least = 1 / ritz(solver.solve, unit_axes(subject), subject.size, subject.seed) - 1e-3 * last
    return ratio("count", max(last - least, 0.0), gap, "smallest cost off the axes kept, by inverse iteration: "
                 f"{least:.6g}, and the last one kept is {last:.6g}")


def _nothing_below(subject: Subject, residuals: Residuals, ridge: float) -> Check:
    """No cost below the last one kept was left out: LDLᵀ of (I - W)ᵀ(I - W) - s I counts them."""
    matrix = residuals.whole()
    matrix = matrix.T @ matrix
    last = 1 / float(subject.values.min(initial=np.inf) or np.inf)
    gap = 10 * residuals.norm * (subject.rounding + EPS / ridge) + 1e-4 * last
    if not np.isfinite(last) or last <= 2 * gap:
        return skipped("count", "the costs kept are as small as rounding")
    below = subject.size - positive_pivots(matrix - (last - gap) * np.eye(subject.size))
    kept = subject.embedding.shape[1]  # of which the last is not below, but the constant vector is
    return count("count", max(below - kept, 0), f"LDLᵀ counts {below} costs below the last one kept, the constant "
                 "vector's zero included")


def _listed(near: Near, lists: Lists, rows: Indices) -> Check:
    """The nearest neighbors of some rows, by looking at every pair."""
    squares = near.squares(rows)
    rough, reach = near.rounding(squares), near.reach(squares)
    joined = np.zeros(squares.shape, dtype=bool)
    kept = near.subject.model.kept
    for place, i in enumerate(rows):
        own = lists.indices[lists.starts[i] : lists.starts[i + 1]]
        joined[place, own if kept is None else kept[own]] = True
    missing = int(np.sum((squares < reach[:, None] - rough) & ~joined))
    extra = int(np.sum(joined & (squares > reach[:, None] + rough)))
    extra = 0 if near.neighbors.pieces == "connect" else extra
    return count("neighbors", missing + extra, f"neighbors not listed: {missing}; listed points that are no neighbors: "
                 f"{extra}; every pair of {len(rows)} rows", exact=len(rows) == near.subject.size)


def _some_rows(subject: Subject, similarity: Barycenters, near: Near, budget: Budget) -> Check:
    """The cost of a sample of rows is not far above 1 / λ: a sample cannot tell more."""
    if similarity.neighbors.pieces == "connect" or near.radius is not None or subject.model.kept is not None:
        return skipped("costs", "no time to find the neighbors of all rows")
    rows = near.affordable(budget, 0.3)
    order = np.argsort(near.squares(rows), axis=1, kind="stable")[:, : similarity.neighbors.count or 1]
    points, coordinates = subject.data.values, subject.embedding
    weights = solved(points[rows], points[order], similarity.ridge)
    gaps = coordinates[rows] - np.einsum("mk,mkp->mp", weights, coordinates[order])
    terms = gaps * gaps
    costs = np.divide(1.0, subject.values, out=np.zeros_like(subject.values), where=subject.values > 0)
    surplus = terms.mean(axis=0) - ERRORS * terms.std(axis=0) / np.sqrt(len(terms)) - costs
    scale = costs * 1e-2 + EPS / similarity.ridge
    return ratio("costs", float(np.maximum(surplus / scale, 0.0).max(initial=0.0)), 1.0,
                 f"mean of ‖y - Σ w y‖² over {len(rows)} rows is 1 / λ, to {ERRORS:.0f} standard errors", exact=False)
