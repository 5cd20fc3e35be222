"""Normal sequences with the Markov property, and the best one by natural gradients.

x₁ ~ N(m₁, S₁ S₁ᵀ), and xₜ₊₁ = mₜ₊₁ + Bₜ (xₜ - mₜ) + N(0, Sₜ₊₁ Sₜ₊₁ᵀ): the precision of all states is block tridiagonal.

The distribution q that maximizes L(m, P, C) + H(q), for an objective L of the states' means m and covariances
P = cov(xₜ) and C = cov(xₜ₊₁, xₜ) and with H the entropy, has the precision with the blocks -2 ∂L/∂P and -∂L/∂C, and
∂L/∂m = 0. A step of length ρ goes to (1 - ρ) times the precision so far and ρ times that one, and moves the means by ρ
times its inverse and ∂L/∂m. Where L is the expected log-density of a linear system, the first step ends at the
posterior of Kalman's smoother. Source: Khan and Lin, "Conjugate-computation variational inference", 2017; Salimbeni,
Eleftheriadis and Hensman, "Natural gradients in practice", 2018.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.methods.processes.expectations import GaussianPoints

STEPS = 200  # steps along natural gradients, at most
SMALL = 1e-11  # change of means, as a share of their size, at which they end
SHORTEST = 1e-6  # length of such a step, as a share of the whole one
ROUNDING = 1e-12  # relative rounding of an objective


@frozen
class States(GaussianPoints):
    """Normal states in time order; or derivatives by their moments."""

    following: Array  # n - 1 x p x p: cov(xₜ₊₁, xₜ)


@stored("markov", means="tp", moves="bpp", roots="tpp")
@frozen
class Markov:
    """A normal sequence with the Markov property."""

    means: Array  # n x p
    moves: Array  # B, n - 1 x p x p
    roots: Array  # S, lower triangles, n x p x p

    @classmethod
    def apart(cls, means: Array, variance: float) -> "Markov":
        """Return independent states with means (n x p) and one variance."""
        count, size = means.shape
        return cls(means, moves=np.zeros((max(count - 1, 0), size, size)),
                   roots=np.broadcast_to(np.sqrt(variance) * np.eye(size), (count, size, size)).copy())

    @property
    def states(self) -> States:
        """The moments of the states."""
        covariances = self.roots @ self.roots.transpose(0, 2, 1)
        for row, move in enumerate(self.moves):
            covariances[row + 1] += move @ covariances[row] @ move.T
        return States(self.means, covariances, self.moves @ covariances[:-1])

    @property
    def entropy(self) -> float:
        """The entropy of all states, in nats."""
        return float(np.log(np.einsum("tpp->tp", self.roots)).sum()) + 0.5 * self.means.size * (1 + np.log(2 * np.pi))

    @property
    def precision(self) -> tuple[Array, Array]:
        """The blocks of the precision on the diagonal (n x p x p), and those below it (n - 1 x p x p)."""
        inverse = np.linalg.inv(self.roots)
        own = inverse.transpose(0, 2, 1) @ inverse
        below = -own[1:] @ self.moves
        diagonal = own.copy()
        diagonal[:-1] -= self.moves.transpose(0, 2, 1) @ below
        return diagonal, below

    @classmethod
    def of_precision(cls, means: Array, diagonal: Array, below: Array) -> "Markov | None":
        """Return the sequence with means (n x p) and the blocks of a precision; None where it is not positive."""
        moves, noises = np.empty_like(below), np.empty_like(diagonal)
        now = diagonal[-1]
        try:
            for row in range(len(means) - 1, 0, -1):
                noises[row] = np.linalg.inv(now)
                moves[row - 1] = -noises[row] @ below[row - 1]
                now = diagonal[row - 1] + below[row - 1].T @ moves[row - 1]
            noises[0] = np.linalg.inv(now)
            roots = lower_roots(noises)
        except np.linalg.LinAlgError:
            return None
        return cls(means, moves=moves, roots=roots)

    def pull_back(self, states: States, slope: States) -> "Markov":
        """Return the derivatives by means, moves and roots, from those by the moments, whose values are `states`."""
        covariances, turned = slope.covariances.copy(), self.moves.transpose(0, 2, 1)
        bent = turned @ slope.following
        covariances[:-1] += (bent + bent.transpose(0, 2, 1)) / 2
        for row in range(len(turned) - 1, -1, -1):
            covariances[row] += turned[row] @ covariances[row + 1] @ self.moves[row]
        moves = (2 * covariances[1:] @ self.moves + slope.following) @ states.covariances[:-1]
        return Markov(slope.means, moves=moves, roots=np.tril(2 * covariances @ self.roots))

    def solve(self, rights: Array) -> Array:
        """Return the covariance of all states times a vector of all (n x p)."""
        drawn = rights.copy()
        for row in range(len(self.moves) - 1, -1, -1):
            drawn[row] += drawn[row + 1] @ self.moves[row]
        drawn = np.einsum("tpq,trq,tr->tp", self.roots, self.roots, drawn)
        for row, move in enumerate(self.moves):
            drawn[row + 1] += move @ drawn[row]
        return drawn

    def rotate(self, turn: Array) -> "Markov":
        """Return the sequence of states times a (p, p) rotation."""
        noises = turn.T @ (self.roots @ self.roots.transpose(0, 2, 1)) @ turn
        return Markov(self.means @ turn, moves=turn.T @ self.moves @ turn, roots=lower_roots(noises))


def lower_roots(matrices: Array) -> Array:
    """Return the Cholesky factors of symmetric matrices (n x p x p); raises LinAlgError if one is not positive."""
    return np.asarray(np.linalg.cholesky((matrices + matrices.transpose(0, 2, 1)) / 2), dtype=np.float64)


# L with its derivatives, as a function of the states' moments; the derivatives are those of symmetric matrices.
MomentObjective = Callable[[States], tuple[float, States]]


def ascend(function: MomentObjective, start: Markov) -> tuple[Markov, float]:
    """Return the sequence that maximizes L + H, from a start, by natural gradients, and the maximum.

    A step that lowers the objective, or leads to no distribution, is halved.
    """
    now = start
    value, slope = function(now.states)
    value += now.entropy
    length = 1.0
    for _ in range(STEPS):
        (diagonal, below), found = now.precision, None
        while length >= SHORTEST:
            moved = Markov.of_precision(now.means, (1 - length) * diagonal - 2 * length * slope.covariances,
                                        (1 - length) * below - length * slope.following)
            if moved is not None:
                moved = replace(moved, means=now.means + length * moved.solve(slope.means))
                reached, by = function(moved.states)
                reached += moved.entropy
                if reached >= value - ROUNDING * abs(value):
                    found = moved
                    break
            length /= 2
        if found is None:
            break
        change = float(np.abs(found.means - now.means).max())
        now, value, slope = found, reached, by
        if change <= SMALL * length * float(np.abs(now.means).max()):
            break
        length = min(1.0, 2 * length)
    return now, value


@frozen
class MarkovParameters:
    """The parameters of a sequence as one vector: means, moves, and roots as logarithms of the diagonal, and the rest
    of each row as shares of it.
    """

    axes: int

    def vector(self, sequence: Markov) -> Array:
        """Return the parameters of a sequence."""
        logs = np.log(np.einsum("tpp->tp", sequence.roots))
        return self._gather(replace(sequence, roots=sequence.roots / np.exp(logs)[:, :, None]), logs)

    def sequence(self, parameters: Array) -> Markov:
        """Return the sequence of a vector of parameters."""
        size, inside = self.axes, np.tril_indices(self.axes, -1)
        count = (len(parameters) + size**2) // (2 * size + size**2 + len(inside[0]))
        means, moves, logs, rest = np.split(parameters, np.cumsum([count * size, (count - 1) * size**2, count * size]))
        roots = np.broadcast_to(np.eye(size), (count, size, size)).copy()
        roots[:, *inside] = rest.reshape(count, -1)
        return Markov(means.reshape(count, size), moves=moves.reshape(-1, size, size),
                      roots=roots * np.exp(logs).reshape(count, size, 1))

    def pull_back(self, sequence: Markov, slope: Markov) -> Array:
        """Return the derivative by the parameters of a sequence, from those by its parts."""
        scales = np.einsum("tpp->tp", sequence.roots)
        return self._gather(replace(slope, roots=slope.roots * scales[:, :, None]),
                            np.sum(slope.roots * sequence.roots, axis=2))

    def _gather(self, parts: Markov, logs: Array) -> Array:
        inside = np.tril_indices(self.axes, -1)
        return np.concatenate([parts.means.ravel(), parts.moves.ravel(), logs.ravel(), parts.roots[:, *inside].ravel()])
