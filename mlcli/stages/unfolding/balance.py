"""The stress that closes the most directions, by a semidefinite program with an interior on both sides.

Directions are those of Helmberg, Rendl, Vanderbei and Wolkowicz (1996), Kojima, Shindoh and Hara (1997) and
Monteiro (1997), as for the unfolding itself. The start is inside, and so is every iterate.
"""

from functools import partial

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.checkpoints import loop
from mlcli.base.stored import result
from mlcli.base.types import Array, Indices
from mlcli.stages.algebra.linalg import EPS, cholesky, steady_solver, symmetric_eigen
from mlcli.stages.unfolding.cone import inverse_root, longest, symmetric
from mlcli.stages.unfolding.pairs import squared_norms

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
SEEN = 1e-8  # share of the largest square that stresses make on open directions, below which they count as zero


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
        if np.abs(traces).max() <= TRACELESS * (sizes @ np.abs(stresses)).max():
            return None
        others = np.linalg.qr(traces[:, None], mode="complete")[0][:, 1:]
        return cls(rows, stresses @ traces / (traces @ traces), stresses @ others)

    def weights(self, place: Array) -> Array:
        """y (m) at c and τ, `place` (s)."""
        return np.asarray(self.even + self.free @ place[:-1])

    def change(self, place: Array) -> Array:
        """The change of Σ y vvᵀ - τI for a change of c and τ."""
        return weighted(self.rows, self.free @ place[:-1]) - place[-1] * np.eye(self.rows.shape[1])

    def adjoint(self, kernel: Array) -> Array:
        """Σ t vᵀPv for each column t of T, and less the trace of P (s)."""
        return np.append(_lengths(self.rows, kernel) @ self.free, -np.trace(kernel))

    def system(self, kernel: Array, inverse: Array) -> Array:
        """The matrix (s x s) that takes a change D of c and τ to the adjoint of P `change(D)` Z⁻¹."""
        products = (self.rows @ kernel @ self.rows.T) * (self.rows @ inverse @ self.rows.T)
        beside = self.adjoint(symmetric(kernel @ inverse))
        return np.block([[self.free.T @ products @ self.free, -beside[:-1, None]], [-beside[None, :-1], -beside[-1]]])


@frozen
class Balanced:
    """A point inside both cones."""

    program: Balance
    kernel: Array  # r x r, P
    place: Array  # s, c and τ
    root: Array  # L with P = L Lᵀ
    cost_root: Array  # L with Z = Σ y vvᵀ - τI = L Lᵀ

    @classmethod
    def at(cls, program: Balance, kernel: Array, place: Array) -> "Balanced | None":
        """The factorizations; None on the boundary to rounding."""
        cost = weighted(program.rows, program.weights(place)) - place[-1] * np.eye(len(kernel))
        root, cost_root = cholesky(kernel), cholesky(cost)
        return None if root is None or cost_root is None else cls(program, kernel, place, root, cost_root)

    @property
    def mean(self) -> float:
        """Complementarity ⟨P, Z⟩/r."""
        return float(np.sum((self.cost_root.T @ self.root) ** 2)) / len(self.root)

    @property
    def decided(self) -> bool:
        """Whether τ shows that none or all directions are closed, or closed and open ones are apart."""
        floor, ceiling = float(self.place[-1]), float(self.place[-1]) + self.mean * len(self.root)
        return ceiling < -SEMIDEFINITE or floor > SEMIDEFINITE or self.mean <= CENTERED

    def step(self) -> "Balanced | None":
        """A predictor says how far to center, a corrector steps; None where the system cannot be solved."""
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


@result("balance")
@frozen
class Checkpoint:
    """Where the search stands between two steps; factorizations are computed again, to the same bits."""

    kernel: Array  # r x r, P
    place: Array  # s, c and τ
    steps: int  # that are done


def closed_directions(rows: Array, stresses: Array) -> Array:
    """Orthonormal columns (r x q) on which every R ⪰ 0 is zero for which Σ y vᵀRv is zero for each column y.

    Rows v are m x r, stresses m x s. The columns span the range of a positive semidefinite Σ y vvᵀ of the largest rank.
    """
    nothing = np.zeros((rows.shape[1], 0))
    program = Balance.of(rows, stresses)
    now = None if program is None else _centered(program)
    if program is None or now is None or (not now.decided and now.mean > UNCLEAR):
        return nothing
    weights = program.weights(now.place)
    for rank in _cuts(symmetric_eigen(weighted(rows, weights))[0]):
        values, vectors = _polished(rows, stresses, weights, rank)
        rest = _left(values, rank)
        if rest <= SEMIDEFINITE * values.sum() and values[rank - 1] > CLEAR * rest:
            return np.asarray(vectors[:, :rank])
    return nothing


def _centered(program: Balance) -> Balanced | None:
    """Steps until it is decided which directions are closed, or as far as rounding allows; each offers a checkpoint."""
    with loop(Checkpoint) as place:
        begun = place.left
        now = _start(program) if begun is None else Balanced.at(program, begun.kernel, begun.place)
        for done in range(begun.steps if begun else 0, STEPS):
            following = None if now is None or now.decided else now.step()
            if following is None:
                break
            now = following
            place.offer(partial(Checkpoint, now.kernel, now.place, done + 1))
    return now


def _cuts(values: Array) -> Indices:
    """How many directions may be closed, by the descending eigenvalues: the widest falls from one to the next first."""
    falls = values / np.maximum(np.append(values[1:], 0.0), EPS * values[0])
    ranks = 1 + np.flatnonzero(values > CLOSED * values.sum())
    return ranks[np.argsort(-falls[ranks - 1], kind="stable")][:CUTS]


def _start(program: Balance) -> Balanced | None:
    """P = I/r, and τ well below the smallest eigenvalue of Σ y₀ vvᵀ."""
    size = program.rows.shape[1]
    values = symmetric_eigen(weighted(program.rows, program.even))[0]
    lowest = np.append(np.zeros(program.free.shape[1]), values[-1] - np.abs(values).max())
    return Balanced.at(program, np.eye(size) / size, lowest)


def _polished(rows: Array, stresses: Array, weights: Array, rank: int) -> tuple[Array, Array]:
    """Eigenvalues and vectors of Σ y vvᵀ for the stress next to `weights` that closes `rank` directions.

    What interior points and rounding leave on open directions turns the closed ones; each time, its square is left
    (Newton), unless rounding is all there is. The iterate that leaves least, beside the last closed one, is returned.
    """
    pairs = [symmetric_eigen(weighted(rows, weights))]
    for _ in range(POLISH):
        seen = rows @ pairs[-1][1][:, rank:]
        left = _lengths(seen, weighted(seen, weights)) @ stresses
        squares, axes = symmetric_eigen(stresses.T @ (seen @ seen.T) ** 2 @ stresses)
        significant = squares > SEEN * squares[0]
        weights = weights - stresses @ (axes[:, significant] @ ((left @ axes[:, significant]) / squares[significant]))
        pairs.append(symmetric_eigen(weighted(rows, weights)))
    return min(pairs, key=lambda one: _left(one[0], rank) / max(one[0][rank - 1], TINY))


def _left(values: Array, rank: int) -> float:
    """The largest size of the eigenvalues on open directions."""
    return float(np.abs(values[rank:]).max(initial=0.0))


def weighted(rows: Array, weights: Array) -> Array:
    """Σ y vvᵀ (r x r) over rows v."""
    return np.asarray((rows.T * weights) @ rows)


def _lengths(rows: Array, kernel: Array) -> Array:
    """vᵀPv for each row v."""
    return np.asarray(np.einsum("ij,ij->i", rows @ kernel, rows))
