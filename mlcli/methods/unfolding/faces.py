"""Facial reduction: the face of the cone of kernels that an unfolding lies in, by groups of points and by stresses.

If all distances within a set of points are fixed, and the set has fewer dimensions than it could, the feasible kernels
have no interior: they are V R Vᵀ with V known in advance. Solving for R restores the
interior (Krislock and Wolkowicz, 2010; Drusvyatskiy, Krislock, Voronin and Wolkowicz, 2017).

Directions are those of Helmberg, Rendl, Vanderbei and Wolkowicz (1996), Kojima, Shindoh and Hara (1997) and
Monteiro (1997), as for the unfolding itself. The start is inside, and so is every iterate.

A stress is a weight y on each pair such that the pulls on every point cancel: Σ y v (vᵀX) = 0. Then
Σ y vᵀRv is zero for every R that keeps the distances of X. So if Σ y vvᵀ is positive semidefinite,
R is zero on its range (Connelly, 1982; Borwein and Wolkowicz, 1981).
"""

from functools import partial

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.checkpoints import loop
from mlcli.base.stored import result
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS
from mlcli.core.blocked import gram_product, steady_solver
from mlcli.core.euclidean_distances import gower
from mlcli.core.linalg import cholesky, independent_columns, orthonormal, positive_solver, singular, symmetric_eigen
from mlcli.errors import NumericalError
from mlcli.methods.unfolding.interior import inverse_root, longest_step, symmetric_part
from mlcli.methods.unfolding.pairs import NeighborPairs, squared_norms

FLAT = 8 * EPS  # share of the largest eigenvalue of a group's kernel, for each point, below which it has no extent
ROUNDING = 8 * EPS  # share of the largest coordinate that counts as zero
EXPOSED = 1e-9  # share of the largest eigenvalue of the summed exposing matrices above which a direction is closed
CLIQUES = 100  # steps of the search for groups, for each point
DEPENDENT = 1e-11  # squared residual of a constraint that others nearly imply
IMPLIED = 1e-8  # the squared residual where it may be rounding of the face


def centered_basis(groups: Indices) -> Array:
    """Return orthonormal columns (n x g - 1) that span all mean-free vectors with equal entries inside each group.

    `groups` (n) numbers the group of each point.

    A Householder reflection takes the constant vector to the first axis; its other columns are the basis.
    """
    sizes = np.bincount(groups).astype(np.float64)
    normal = np.sqrt(sizes / sizes.sum())
    normal[0] += 1.0
    reflected = np.eye(len(sizes)) - np.outer(normal, normal) / normal[0]
    return np.asarray((reflected[:, 1:] / np.sqrt(sizes)[:, None])[groups])


def face_basis(pairs: NeighborPairs, groups: Indices, points: Array | None, tolerance: float) -> Array:
    """Return orthonormal columns V (n x r) such that every kernel that keeps the pairs' distances is V R Vᵀ.

    Points (n x d) distinguish flat groups from curved ones far better than distances. Raises NumericalError
    where a group of points has distances that no points in a Euclidean space have.
    """
    basis = centered_basis(groups)
    merged, first = pairs.merge(groups), np.unique(groups, return_index=True)[1]
    exposing = np.zeros((merged.size, merged.size))
    for clique in cliques(merged):
        normals = (_flat_by_distances(merged, clique, tolerance) if points is None
                   else _flat_directions(points[first], clique, ROUNDING * float(np.abs(points).max())))
        exposing[np.ix_(clique, clique)] += normals @ normals.T
    if not exposing.any():
        return basis
    representatives = basis[first]
    values, vectors = symmetric_eigen(representatives.T @ exposing @ representatives)
    return np.asarray(basis @ vectors[:, values <= EXPOSED * values[0]])


def cliques(pairs: NeighborPairs) -> list[Indices]:
    """Return the maximal groups of three or more points whose distances are all kept (Bron and Kerbosch, 1973).

    The search stops after CLIQUES steps for each point: fewer groups leave a larger face, not a wrong one.
    """
    joined: list[set[int]] = [set() for _ in range(pairs.size)]
    for i, j in zip(pairs.left.tolist(), pairs.right.tolist(), strict=True):
        joined[i].add(j)
        joined[j].add(i)
    groups = []
    open_groups: list[tuple[list[int], set[int], set[int]]] = [([], set(range(pairs.size)), set())]
    for _ in range(CLIQUES * pairs.size):
        if not open_groups:
            break
        members, candidates, done = open_groups.pop()
        if not candidates:
            if not done and len(members) > 2:
                groups.append(np.array(sorted(members)))
            continue
        pivot = max(candidates | done, key=lambda a: len(candidates & joined[a]))
        for a in candidates - joined[pivot]:
            open_groups.append(([*members, a], candidates & joined[a], done & joined[a]))
            candidates = candidates - {a}
            done = done | {a}
    return groups


def _flat_directions(points: Array, clique: Indices, rounding: float) -> Array:
    """Return orthonormal weights (k x q), mean-free, that vanish on a group of points, up to rounding."""
    basis = centered_basis(np.arange(len(clique)))
    left, sizes, _ = singular(basis.T @ points[clique])
    rank = int(np.sum(sizes > np.sqrt(len(clique)) * rounding))
    whole = np.linalg.qr(left[:, :rank], mode="complete")[0]
    return np.asarray(basis @ whole[:, rank:])


def _flat_by_distances(pairs: NeighborPairs, clique: Indices, tolerance: float) -> Array:
    """Return orthonormal weights (k x q), mean-free, that vanish on a group of points known by distances only."""
    inside = np.isin(pairs.left, clique) & np.isin(pairs.right, clique)
    squared = np.zeros((len(clique), len(clique)))
    left, right = np.searchsorted(clique, pairs.left[inside]), np.searchsorted(clique, pairs.right[inside])
    squared[left, right] = squared[right, left] = pairs.squared[inside]
    basis = centered_basis(np.arange(len(clique)))
    values, vectors = symmetric_eigen(basis.T @ gower(squared) @ basis)
    if values[-1] < -tolerance * values[0]:
        raise NumericalError("INFEASIBLE", f"the distances among {len(clique)} points, all neighbors of each other, "
                             f"are those of no points: their kernel has the eigenvalue {values[-1] / values[0]:.2g} "
                             "of its largest", where="method.constraints",
                             hint="set method.constraints to at_most, or join fewer points "
                             "(fewer neighbors, or a graph of fewer edges)")
    return np.asarray(basis @ vectors[:, np.abs(values) <= FLAT * len(clique) * values[0]])


def independent_constraints(rows: Array, rest: float) -> tuple[Indices, Array]:
    """Return pairs (s of m) whose constraints on R, vᵀRv for a row v (m x r), imply all others, and weights for Σ vvᵀ.

    `rest` is the squared residual up to which the others imply a constraint.
    """
    scale = squared_norms(rows)
    unit = rows / np.sqrt(scale)[:, None]
    products = np.tril(gram_product(unit)) ** 2
    products += np.tril(products, -1).T
    chosen = independent_columns(products.copy(), rest)
    solver = positive_solver(products[np.ix_(chosen, chosen)])
    weights = np.ones(len(chosen)) if solver is None else solver(products[chosen] @ scale) / scale[chosen]
    return chosen, weights


TRACELESS = 1e-10  # share of the sum of sizes below which a trace is zero
SEMIDEFINITE = 1e-9  # share of the trace: how far below zero rounding may take eigenvalues
CLOSED = 1e-9  # share of the trace above which an eigenvalue may close its direction
CLEAR = 100.0  # least ratio of the eigenvalues of closed directions to those of open ones
CUTS = 8  # numbers of closed directions that are tried
CENTERED = 1e-13  # complementarity at which closed and open directions are far apart
UNCLEAR = 1e-9  # complementarity above which they are not apart
STEPS = 40  # more than twice those of most programs
INSIDE = 0.95  # share of the way to the boundary
POLISH = 3  # how often the rounding on open directions is removed
TINY = float(np.finfo(float).tiny)
SEEN = 1e-8  # share of the largest square of stresses on open directions, below which squares count as zero


@frozen
class Balance:
    """Maximize τ over weights y = y₀ + Tc with Σ y vvᵀ - τI positive semidefinite; their traces are all one.

    Its dual: minimize Σ y₀ vᵀPv over positive semidefinite P of trace one with Σ t vᵀPv = 0 for each column
    t of T. P = I/r is feasible.
    """

    rows: Array  # m x r
    even: Array  # m, y₀
    free: Array  # m x s - 1, T

    @classmethod
    def of(cls, rows: Array, stresses: Array) -> "Balance | None":
        """Return the program over stresses (m x s) of rows (m x r); None where all traces are zero.

        Then no stress but zero is semidefinite.
        """
        sizes = squared_norms(rows)
        traces = sizes @ stresses
        if np.abs(traces).max() <= TRACELESS * (sizes @ np.abs(stresses)).max():
            return None
        others = np.linalg.qr(traces[:, None], mode="complete")[0][:, 1:]
        return cls(rows, stresses @ traces / (traces @ traces), stresses @ others)

    def weights(self, place: Array) -> Array:
        """Return y (m) at `place`, c and τ as an (s,) array."""
        return np.asarray(self.even + self.free @ place[:-1])

    def change(self, place: Array) -> Array:
        """Return the change of Σ y vvᵀ - τI (r x r) for a change of c and τ, an (s,) array."""
        return weighted_gram(self.rows, self.free @ place[:-1]) - place[-1] * np.eye(self.rows.shape[1])

    def adjoint(self, kernel: Array) -> Array:
        """Return Σ t vᵀPv for each column t of T, then minus the trace of P (s), for P (r x r)."""
        return np.append(_lengths(self.rows, kernel) @ self.free, -np.trace(kernel))

    def system(self, kernel: Array, inverse: Array) -> Array:
        """Return the matrix (s x s) that maps a change D of c and τ to the adjoint of P `change(D)` Z⁻¹ (r x r)."""
        products = (self.rows @ kernel @ self.rows.T) * (self.rows @ inverse @ self.rows.T)
        beside = self.adjoint(symmetric_part(kernel @ inverse))
        return np.block([[self.free.T @ products @ self.free, -beside[:-1, None]], [-beside[None, :-1], -beside[-1]]])


@frozen
class BalancePoint:
    """A point in the interior of both cones."""

    program: Balance
    kernel: Array  # r x r, P
    place: Array  # s, c and τ
    root: Array  # L with P = L Lᵀ
    cost_root: Array  # L with Z = Σ y vvᵀ - τI = L Lᵀ

    @classmethod
    def at(cls, program: Balance, kernel: Array, place: Array) -> "BalancePoint | None":
        """Return the factorizations at P (r x r) and `place` (s); None on the boundary to rounding."""
        cost = weighted_gram(program.rows, program.weights(place)) - place[-1] * np.eye(len(kernel))
        root, cost_root = cholesky(kernel), cholesky(cost)
        return None if root is None or cost_root is None else cls(program, kernel, place, root, cost_root)

    @property
    def mean(self) -> float:
        """Complementarity ⟨P, Z⟩/r."""
        return float(np.sum((self.cost_root.T @ self.root) ** 2)) / len(self.root)

    @property
    def decided(self) -> bool:
        """Whether τ shows that none or all directions are closed, or closed and open ones are separated."""
        floor, ceiling = float(self.place[-1]), float(self.place[-1]) + self.mean * len(self.root)
        return ceiling < -SEMIDEFINITE or floor > SEMIDEFINITE or self.mean <= CENTERED

    def step(self) -> "BalancePoint | None":
        """Return the point after one predictor-corrector step; None where the system cannot be solved."""
        program, half = self.program, inverse_root(self.cost_root)
        inverse = half.T @ half
        solver = steady_solver(program.system(self.kernel, inverse))
        if solver is None:
            return None

        def direction(target: float, bend: Array) -> tuple[Array, Array, Array]:
            right = program.adjoint(target * inverse - bend)
            right[-1] += 1.0
            place = solver(right)
            cost = program.change(place)
            return place, cost, target * inverse - self.kernel - symmetric_part(self.kernel @ cost @ inverse) - bend

        _, cost, kernel = direction(0.0, np.zeros_like(inverse))
        length = min(1.0, longest_step(self.root, kernel), longest_step(self.cost_root, cost))
        bend = symmetric_part(kernel @ cost @ inverse)
        place, cost, kernel = direction(max(1e-6, (1 - length) ** 3) * self.mean, bend)
        primal, dual = (min(1.0, INSIDE * longest_step(root, change))
                        for root, change in ((self.root, kernel), (self.cost_root, cost)))
        return BalancePoint.at(program, symmetric_part(self.kernel + primal * kernel), self.place + dual * place)


@result("balance")
@frozen
class StressCheckpoint:
    """State of the search between two steps; factorizations are computed again, to the same bits."""

    kernel: Array  # r x r, P
    place: Array  # s, c and τ
    steps: int  # that are done


def closed_directions(rows: Array, stresses: Array) -> Array:
    """Return orthonormal columns (r x q) on which R is zero for every R ⪰ 0 with Σ y vᵀRv = 0 for all stresses y.

    Rows v are m x r, stresses m x s. The columns span the range of a positive semidefinite Σ y vvᵀ of the largest rank.
    """
    nothing = np.zeros((rows.shape[1], 0))
    program = Balance.of(rows, stresses)
    now = None if program is None else _center(program)
    if program is None or now is None or (not now.decided and now.mean > UNCLEAR):
        return nothing
    weights = program.weights(now.place)
    for rank in _cuts(symmetric_eigen(weighted_gram(rows, weights))[0]):
        values, vectors = _polish(rows, stresses, weights, rank)
        rest = _residual(values, rank)
        if rest <= SEMIDEFINITE * values.sum() and values[rank - 1] > CLEAR * rest:
            return np.asarray(vectors[:, :rank])
    return nothing


def _center(program: Balance) -> BalancePoint | None:
    """Iterate until closed directions are decided, or as far as rounding allows; each step offers a checkpoint."""
    with loop(StressCheckpoint) as place:
        begun = place.left
        now = _start(program) if begun is None else BalancePoint.at(program, begun.kernel, begun.place)
        for done in range(begun.steps if begun else 0, STEPS):
            following = None if now is None or now.decided else now.step()
            if following is None:
                break
            now = following
            place.offer(partial(StressCheckpoint, now.kernel, now.place, done + 1))
    return now


def _cuts(values: Array) -> Indices:
    """Return candidate numbers of closed directions from descending eigenvalues, in the order of the widest gaps."""
    falls = values / np.maximum(np.append(values[1:], 0.0), EPS * values[0])
    ranks = 1 + np.flatnonzero(values > CLOSED * values.sum())
    return ranks[np.argsort(-falls[ranks - 1], kind="stable")][:CUTS]


def _start(program: Balance) -> BalancePoint | None:
    """Return the start: P = I/r, and τ well below the smallest eigenvalue of Σ y₀ vvᵀ."""
    size = program.rows.shape[1]
    values = symmetric_eigen(weighted_gram(program.rows, program.even))[0]
    lowest = np.append(np.zeros(program.free.shape[1]), values[-1] - np.abs(values).max())
    return BalancePoint.at(program, np.eye(size) / size, lowest)


def _polish(rows: Array, stresses: Array, weights: Array, rank: int) -> tuple[Array, Array]:
    """Return eigenvalues and vectors of Σ y vvᵀ for the stress near `weights` that closes `rank` directions.

    Residuals of interior points and rounding on open directions rotate the closed ones; each Newton step squares the
    residual, down to rounding. Returns the iterate with the smallest residual relative to the last closed eigenvalue.
    """
    pairs = [symmetric_eigen(weighted_gram(rows, weights))]
    for _ in range(POLISH):
        seen = rows @ pairs[-1][1][:, rank:]
        left = _lengths(seen, weighted_gram(seen, weights)) @ stresses
        squares, axes = symmetric_eigen(stresses.T @ (seen @ seen.T) ** 2 @ stresses)
        significant = squares > SEEN * squares[0]
        weights = weights - stresses @ (axes[:, significant] @ ((left @ axes[:, significant]) / squares[significant]))
        pairs.append(symmetric_eigen(weighted_gram(rows, weights)))
    return min(pairs, key=lambda one: _residual(one[0], rank) / max(one[0][rank - 1], TINY))


def _residual(values: Array, rank: int) -> float:
    """Return the largest size of the eigenvalues on open directions."""
    return float(np.abs(values[rank:]).max(initial=0.0))


def weighted_gram(rows: Array, weights: Array) -> Array:
    """Return Σ y vvᵀ (r x r) over rows v (m x r) with weights y (m)."""
    return np.asarray((rows.T * weights) @ rows)


def _lengths(rows: Array, kernel: Array) -> Array:
    """Return vᵀPv for each row v (m)."""
    return np.asarray(np.einsum("ij,ij->i", rows @ kernel, rows))


BESIDE = 1e-13  # squared residual of a pair's pull that others nearly balance
BALANCED = 1e-10  # share of the pulls of unit weights on unit pairs below which they cancel
WEAK = (1e-3, 1e-6)  # of the largest Σ y vvᵀ of a unit stress: smaller ones are left out, because they lose digits


def open_basis(pairs: NeighborPairs, basis: Array, points: Array) -> Array:
    """Return orthonormal columns V (n x r') in the span of `basis` (n x r) of which no stress closes a direction.

    Every kernel in that span that keeps the pairs' distances, those of the points (n x d), is V R Vᵀ.
    """
    while True:
        rows, inside = pairs.differences(basis), basis.T @ (points - points.mean(axis=0))
        chosen = independent_constraints(rows, IMPLIED)[0]
        turned = open_directions(rows[chosen], inside)
        if turned.shape[1] == basis.shape[1]:
            return basis
        basis = orthonormal(basis @ turned)


def open_directions(rows: Array, points: Array) -> Array:
    """Return orthonormal columns U (r x r') such that every R ⪰ 0 with vᵀRv = vᵀXXᵀv for each row v is U R' Uᵀ.

    `rows` is m x r, `points` X (r x d). U spans the points and what one stress leaves open.
    """
    span, beside = _span(points)
    stresses = equilibrium(rows, points) if beside.shape[1] else np.zeros((len(rows), 0))
    rows, tried = rows @ beside, 0
    for weak in WEAK:
        strong = _strong(rows, stresses, weak)
        if strong.shape[1] > tried:
            closed = closed_directions(rows, strong)
            if closed.shape[1]:
                whole = np.linalg.qr(closed, mode="complete")[0]
                return np.hstack([span, beside @ whole[:, closed.shape[1]:]])
        tried = strong.shape[1]
    return np.eye(len(points))


def _span(points: Array) -> tuple[Array, Array]:
    """Return orthonormal columns that span those of X, and columns that span the complement."""
    left, sizes, _ = singular(points)
    rank = int(np.sum(sizes > EPS * max(points.shape) * sizes[0]))
    whole = np.linalg.qr(left[:, :rank], mode="complete")[0]
    return whole[:, :rank], whole[:, rank:]


def equilibrium(rows: Array, points: Array) -> Array:
    """Return columns (m x s) that span the stresses: weights y with Σ y v (vᵀX) = 0 over rows v (m x r), X (r x d).

    Pivoted Cholesky chooses the pulls that others balance; repeated solutions remove rounding.
    """
    pulls = rows @ points
    sizes, strengths = np.sqrt(squared_norms(rows)), np.sqrt(squared_norms(pulls))
    rows, pulls = rows / sizes[:, None], pulls / strengths[:, None]
    products = (rows @ rows.T) * (pulls @ pulls.T)
    chosen = independent_columns(products.copy(), BESIDE)
    others = np.setdiff1d(np.arange(len(rows)), chosen)
    solver = positive_solver(products[np.ix_(chosen, chosen)])
    if solver is None or not len(others):
        return np.zeros((len(rows), 0))
    weights = np.zeros((len(rows), len(others)))
    weights[others, np.arange(len(others))] = 1.0
    for _ in range(3):
        weights[chosen] -= solver(_along(rows, pulls, chosen, _forces(rows, pulls, weights)))
    weights = orthonormal(weights)
    forces = _forces(rows, pulls, weights).reshape(len(others), -1)
    values, vectors = symmetric_eigen(forces @ forces.T)
    return np.asarray((weights @ vectors[:, values <= BALANCED**2]) / (sizes * strengths)[:, None])


def _forces(rows: Array, pulls: Array, weights: Array) -> Array:
    """Return Σ y v pᵀ for each column y of weights (s x r x d)."""
    return np.stack([rows.T @ (column[:, None] * pulls) for column in weights.T])


def _along(rows: Array, pulls: Array, chosen: Indices, forces: Array) -> Array:
    """Return the products vᵀFp (m' x s) of forces F with the pulls p of some pairs."""
    return np.stack([np.einsum("ij,ij->i", rows[chosen] @ force, pulls[chosen]) for force in forces], axis=1)


def _strong(rows: Array, stresses: Array, weak: float) -> Array:
    """Return combinations of stresses with orthonormal Σ y vvᵀ, without those below the share `weak` of the largest."""
    if not stresses.shape[1]:
        return stresses
    values, vectors = symmetric_eigen(stresses.T @ (rows @ rows.T) ** 2 @ stresses)
    significant = values > weak**2 * values[0]
    return np.asarray(stresses @ (vectors[:, significant] / np.sqrt(values[significant])))
