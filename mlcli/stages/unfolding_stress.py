"""Directions that stresses close: what groups of neighbors do not show of the face that an unfolding lies in.

A stress is a weight y on each pair such that the pulls on every point cancel: Σ y v (vᵀX) = 0. Then
Σ y vᵀRv is zero for every R that keeps the distances of X. So if Σ y vvᵀ is positive semidefinite,
R is zero on its range (Connelly, 1982; Borwein and Wolkowicz, 1981). The stress that closes the most
directions is found by a semidefinite program of its own, which has an interior on both sides.
"""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.stages.linalg import EPS, cholesky, independent_columns, positive_solver, singular, steady_solver, symmetric_eigen
from mlcli.stages.unfolding_cone import inverse_root, longest, symmetric
from mlcli.stages.unfolding_pairs import squared_norms

DEPENDENT = 1e-13  # what is left of a pair's pull, squared, beside others that all but balance it
BALANCED = 1e-10  # of the pulls of unit weights on unit pairs: they cancel
SEMIDEFINITE = 1e-10  # of the trace of Σ y vvᵀ: how far below zero rounding may take its eigenvalues
CLOSED = 1e-6  # of the same: an eigenvalue above this closes its direction
CENTERED = 1e-13  # complementarity at which closed and open directions are far apart
UNCLEAR = 1e-11  # complementarity above which they are not apart
WEAK = 1e-4  # of the largest Σ y vvᵀ
STEPS = 40  # twice and more of what such programs take
INSIDE = 0.95  # of the way to the boundary


def open_directions(rows: Array, points: Array) -> Array:
    """Orthonormal columns U (r x r') such that every R ⪰ 0 with vᵀRv = vᵀXXᵀv for each row v is U R' Uᵀ.

    `rows` is m x r, `points` X (r x d). U spans the points and what no stress closes.
    """
    span, beside = _span(points)
    stresses = equilibrium(rows, points) if beside.shape[1] else np.zeros((len(rows), 0))
    exposing = strongest(rows @ beside, stresses) if stresses.shape[1] else None
    if exposing is None:
        return np.eye(rows.shape[1])
    values, vectors = symmetric_eigen(exposing)
    return np.hstack([span, beside @ vectors[:, values <= CLOSED * values.sum()]])


def _span(points: Array) -> tuple[Array, Array]:
    """Orthonormal columns that span those of X, and the others."""
    left, sizes, _ = singular(points)
    rank = int(np.sum(sizes > EPS * max(points.shape) * sizes[0]))
    whole = np.linalg.qr(left[:, :rank], mode="complete")[0]
    return whole[:, :rank], whole[:, rank:]


def equilibrium(rows: Array, points: Array) -> Array:
    """Columns (m x s) that span the stresses: weights y with Σ y v (vᵀX) = 0 over the rows v.

    Pulls that others balance are told by Cholesky with pivots; a second solution mends its rounding.
    """
    pulls = rows @ points
    sizes, strengths = np.sqrt(squared_norms(rows)), np.sqrt(squared_norms(pulls))
    rows, pulls = rows / sizes[:, None], pulls / strengths[:, None]
    products = (rows @ rows.T) * (pulls @ pulls.T)
    chosen = independent_columns(products.copy(), DEPENDENT)
    others = np.setdiff1d(np.arange(len(rows)), chosen)
    solver = positive_solver(products[np.ix_(chosen, chosen)])
    if solver is None or not len(others):
        return np.zeros((len(rows), 0))
    weights = np.zeros((len(rows), len(others)))
    weights[others, np.arange(len(others))] = 1.0
    for _ in range(2):
        weights[chosen] -= solver(_along(rows, pulls, chosen, _forces(rows, pulls, weights)))
    weights = np.linalg.qr(weights)[0]
    forces = _forces(rows, pulls, weights).reshape(len(others), -1)
    values, vectors = symmetric_eigen(forces @ forces.T)
    return np.asarray((weights @ vectors[:, values <= BALANCED**2]) / (sizes * strengths)[:, None])


def _forces(rows: Array, pulls: Array, weights: Array) -> Array:
    """Σ y v pᵀ for each column y of weights (s x r x d)."""
    return np.stack([rows.T @ (column[:, None] * pulls) for column in weights.T])


def _along(rows: Array, pulls: Array, chosen: Indices, forces: Array) -> Array:
    """What forces have in common with the pulls of some pairs, vᵀFp (m' x s)."""
    return np.stack([np.einsum("ij,ij->i", rows[chosen] @ force, pulls[chosen]) for force in forces], axis=1)


@frozen
class Balance:
    """Maximize τ over weights y = y₀ + Tc with Σ y vvᵀ - τI positive semidefinite; their traces are all one.

    Its dual: minimize Σ y₀ vᵀPv over positive semidefinite P of trace one, for which Σ t vᵀPv is zero for each column
    t of T. P = I/r is one of them.
    """

    rows: Array  # m x r
    even: Array  # m, y₀
    free: Array  # m x s - 1, T

    @classmethod
    def of(cls, rows: Array, stresses: Array) -> "Balance | None":
        """The program over stresses (m x s); None where all have the trace zero, so that none is semidefinite."""
        sizes = squared_norms(rows)
        traces = sizes @ stresses
        if np.abs(traces).max() <= BALANCED * (sizes @ np.abs(stresses)).max():
            return None
        others = np.linalg.qr(traces[:, None], mode="complete")[0][:, 1:]
        return cls(rows, stresses @ traces / (traces @ traces), stresses @ others)

    def exposing(self, place: Array) -> Array:
        """Σ y vvᵀ (r x r) at c and τ, `place` (s)."""
        return np.asarray((self.rows.T * (self.even + self.free @ place[:-1])) @ self.rows)

    def change(self, place: Array) -> Array:
        """What Σ y vvᵀ - τI changes by for a change of c and τ."""
        return np.asarray((self.rows.T * (self.free @ place[:-1])) @ self.rows - place[-1] * np.eye(self.rows.shape[1]))

    def adjoint(self, kernel: Array) -> Array:
        """Σ t vᵀPv for each column t of T, and less the trace of P (s)."""
        return np.append(np.einsum("ij,ij->i", self.rows @ kernel, self.rows) @ self.free, -np.trace(kernel))

    def system(self, kernel: Array, inverse: Array) -> Array:
        """The matrix (s x s) of a change -> adjoint of P (its Σ y vvᵀ - τI) Z⁻¹."""
        products = (self.rows @ kernel @ self.rows.T) * (self.rows @ inverse @ self.rows.T)
        beside = self.adjoint(symmetric(kernel @ inverse))
        return np.block([[self.free.T @ products @ self.free, -beside[:-1, None]], [-beside[None, :-1], -beside[-1]]])


@frozen
class Balanced:
    """A point inside both cones, with complementarity per eigenvalue."""

    program: Balance
    kernel: Array  # r x r, P
    place: Array  # s, c and τ
    root: Array  # L with P = L Lᵀ
    cost_root: Array  # L with Z = Σ y vvᵀ - τI = L Lᵀ

    @classmethod
    def at(cls, program: Balance, kernel: Array, place: Array) -> "Balanced | None":
        """The factorizations; None on the boundary to rounding."""
        cost = program.exposing(place) - place[-1] * np.eye(len(kernel))
        root, cost_root = cholesky(kernel), cholesky(cost)
        return None if root is None or cost_root is None else cls(program, kernel, place, root, cost_root)

    @property
    def mean(self) -> float:
        """Complementarity ⟨P, Z⟩/r."""
        return float(np.sum((self.cost_root.T @ self.root) ** 2)) / len(self.root)

    @property
    def ceiling(self) -> float:
        """No stress has a larger τ."""
        return float(self.place[-1]) + self.mean * len(self.root)

    def step(self) -> "Balanced | None":
        """A predictor says how far to center, a corrector goes; None where the system cannot be solved."""
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
            return place, cost, target * inverse - self.kernel - symmetric(self.kernel @ cost @ inverse) - bend

        _, cost, kernel = direction(0.0, np.zeros_like(inverse))
        length = min(1.0, longest(self.root, kernel), longest(self.cost_root, cost))
        bend = symmetric(kernel @ cost @ inverse)
        place, cost, kernel = direction(max(1e-6, (1 - length) ** 3) * self.mean, bend)
        primal, dual = (min(1.0, INSIDE * longest(root, change))
                        for root, change in ((self.root, kernel), (self.cost_root, cost)))
        return Balanced.at(program, symmetric(self.kernel + primal * kernel), self.place + dual * place)


def strongest(rows: Array, stresses: Array) -> Array | None:
    """Σ y vvᵀ (r x r) of trace one for the stress that closes the most directions; None where none closes any."""
    values, vectors = symmetric_eigen(stresses.T @ (rows @ rows.T) ** 2 @ stresses)
    kept = values > WEAK**2 * values[0]
    stresses = stresses @ (vectors[:, kept] / np.sqrt(values[kept]))
    program = Balance.of(rows, stresses)
    if program is None:
        return None
    place = np.zeros(stresses.shape[1])
    values = symmetric_eigen(program.exposing(place))[0]
    place[-1] = values[-1] - np.abs(values).max()
    now = Balanced.at(program, np.eye(len(values)) / len(values), place)
    for _ in range(STEPS):
        following = None if now is None or now.ceiling < -SEMIDEFINITE or now.mean <= CENTERED else now.step()
        if following is None:
            break
        now = following
    if now is None or now.mean > UNCLEAR or now.place[-1] < -SEMIDEFINITE:
        return None
    return program.exposing(now.place)
