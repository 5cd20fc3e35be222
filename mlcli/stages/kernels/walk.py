"""The kernel of a random walk along the edges of a graph, solved by the inverse of what it lacks to the identity."""

from functools import cached_property

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.errors import ConfigError
from mlcli.stages.algebra.centering import Centering, uncentered
from mlcli.stages.eigen.solved import Closeness, Solved, rounding_floor
from mlcli.stages.eigen.spectrum_request import SpectrumRequest
from mlcli.stages.graph.affinities import incidence
from mlcli.stages.graph.graph import Graph
from mlcli.stages.kernels.inverse import Inverse

RESIDUAL = 1e-9  # that axes are allowed, as rounding of the inverse leaves more than that of a kernel in memory


@frozen
class Walk:
    """A = D^(-1/2) W D^(-1/2) of affinities W along edges and of points with themselves, without its first eigenpair.

    I - A is the normalized Laplacian of the edges, in which the affinities of points with themselves cancel but for
    their part in D. So eigenvalues of A near one are the smallest of a sparse cost, and come from one factorization.
    """

    graph: Graph
    weights: Array  # e: W along the edges
    own: Array  # n: the diagonal of W
    hint: str  # what to do where the cost cannot be factored

    definite, inverse, by_factor, tolerance, rank = False, False, False, 0.0, None
    name, remedy = "the walk's matrix", ""

    @cached_property
    def sums(self) -> Array:
        """D: the affinities of each point, its own included (n)."""
        return self.own + np.add.reduceat(self.weights, self.graph.starts[:-1])  # every point has an edge

    @property
    def first(self) -> Array:
        """The first eigenvector, of eigenvalue one: the root of the share of D (n)."""
        return np.sqrt(self.sums / self.sums.sum())

    @property
    def centering(self) -> Centering:
        """No centering: the first eigenpair is left out."""
        return uncentered(self.graph.size)

    @property
    def trace(self) -> float:
        """The sum of the eigenvalues but the first."""
        return float((self.own / self.sums).sum()) - 1.0

    @property
    def frobenius(self) -> float:
        """The root of the sum of their squares."""
        ends = np.repeat(np.arange(self.graph.size), np.diff(self.graph.starts))
        squares = (self.weights**2 / (self.sums[ends] * self.sums[self.graph.indices])).sum()
        return float(np.sqrt(max(squares + ((self.own / self.sums) ** 2).sum() - 1.0, 0.0)))

    def solve(self, demand: SpectrumRequest, compute: Compute) -> Solved:
        """Compute the top of the spectrum, λ = 1 - μ of the smallest costs μ; or all of it for few points.

        Raises ConfigError for a share of the variance of many points, which needs all eigenvalues.
        """
        roots = np.sqrt(self.sums)
        cost = Inverse(incidence(self.graph, self.weights, roots), self.first, hint=self.hint)
        solved = cost.solve(demand, compute)
        if isinstance(demand.components, float) and not solved.complete:
            raise ConfigError("SHARE", "a share of the variance needs all eigenvalues, which are not computed here",
                              where=f"{demand.where}.components",
                              hint="give a count of axes, such as 2, or set method.eigensolve.solver to dense")
        found = solved.values[: self.graph.size - 1]
        values = 1 - 1 / found  # the first ones are in the order of the axes, and stand before the zero of the first
        if solved.complete:
            values = np.sort(np.append(values, 0.0))[::-1]
        return Solved(values, solved.take, solved.size, solved.complete, rounding_floor(np.ones(1), solved.size),
                      RESIDUAL, own_digits=True, iterative=solved.iterative,
                      at_least=1 - 1 / solved.at_least[solved.at_least > 0])

    def closeness(self, solved: Solved) -> Closeness:
        """Return the tolerances for equal eigenvalues: rounding of one."""
        return Closeness.of(solved)

    def residuals(self, values: Array, vectors: Array, directions: Array | None) -> Array:
        """Return the norms ‖A v - λ v‖, a (k,) array, for (k,) `values` and (n, k) `vectors`."""
        roots = np.sqrt(self.sums)[:, None]
        scaled = vectors / roots
        near = np.column_stack([np.add.reduceat(self.weights * axis[self.graph.indices], self.graph.starts[:-1])
                                for axis in scaled.T])
        images = (near + self.own[:, None] * scaled) / roots
        return np.asarray(np.linalg.norm(images - vectors * values, axis=0))
