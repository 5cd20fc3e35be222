"""Maximum variance unfolding: the kernel of the largest trace that keeps the distances of neighbors."""

from dataclasses import dataclass, replace

import numpy as np

from mlcli.base.compute import Compute
from mlcli.base.inputs import Dissimilarities
from mlcli.base.stage import note, stage
from mlcli.base.types import Array
from mlcli.errors import ConfigError
from mlcli.stages.factored import Factored
from mlcli.stages.graph import Graph
from mlcli.stages.kernels import uncentered
from mlcli.stages.neighbors import Spatial
from mlcli.stages.paths import Paths
from mlcli.stages.unfolding_basis import laplacian_basis, maximize_over_basis
from mlcli.stages.unfolding_certificate import (
    Certificate,
    dual_bound,
    require_feasible,
    require_metric,
    require_trust,
)
from mlcli.stages.unfolding_cone import Program, Solution
from mlcli.stages.unfolding_faces import centered_basis, face_basis, independent
from mlcli.stages.unfolding_interior import COPIES, maximize
from mlcli.stages.unfolding_pairs import Pairs, coincident, neighbor_pairs

MOST_PAIRS = 8000  # of a program solved whole, unless asked for: its system is pairs x pairs
VECTORS = 50  # of the basis where there are more


@dataclass(frozen=True)
class Unfolding:
    """The semidefinite program of Weinberger and Saul (2006), and how far it must be solved."""

    equal: bool  # distances are kept, rather than kept from growing
    common: bool  # also those of pairs with a neighbor in common
    basis: int | None  # vectors of the Laplacian basis; None: by the number of pairs; 0: no basis
    tolerance: float
    limit: int
    accepted: bool  # a result that is not proven within the tolerance

    @stage("unfold")
    def __call__(self, graph: Graph, data: Spatial, compute: Compute) -> tuple[Factored, Certificate]:
        """The kernel K = F Fᵀ and what proves it; raises NumericalError where nothing does."""
        pairs = neighbor_pairs(graph, data, self.common)
        count = self.vectors(len(pairs))
        if count:
            factor, found = self._over_basis(pairs, count, compute)
            found = replace(found, free_bound=Paths().kernel(graph, compute).trace)
        else:
            factor, found = self._whole(pairs, data, compute)
        require_trust(found, self.equal, data.exponent, self.accepted)
        return Factored(factor, "auto", uncentered(factor.shape[1])), found

    def vectors(self, pairs: int) -> int:
        """How many vectors the basis has, 0 for none; raises ConfigError where a basis cannot keep distances."""
        chosen = self.basis if self.basis is not None else (VECTORS if pairs > MOST_PAIRS and not self.equal else 0)
        if chosen and self.equal:
            raise ConfigError("BASIS", f"a basis of {chosen} vectors cannot keep {pairs} distances",
                              where="method.basis", hint="set method.constraints to at_most, or leave out the basis")
        if chosen and self.basis is None:
            note("N-BASIS", f"with {pairs} pairs the kernel is sought over {chosen} bottom vectors of the graph's "
                 "Laplacian; method.basis changes that")
        return chosen

    def _whole(self, pairs: Pairs, data: Spatial, compute: Compute) -> tuple[Array, Certificate]:
        """The best of all kernels."""
        compute.require(8.0 * (COPIES * len(pairs) ** 2 + 8 * pairs.size**2), f"sde with {len(pairs)} pairs",
                        "use fewer neighbors, or constraints: at_most with method.basis=50")
        groups = coincident(pairs)
        floor = -np.inf
        if self.equal:
            if isinstance(data, Dissimilarities):
                require_metric(pairs, data.ids, self.tolerance, data.exponent)
            dimensions = 1 if isinstance(data, Dissimilarities) else data.values.shape[1]
            basis = face_basis(pairs, groups, dimensions, self.tolerance)
            floor = (1 - 1e-6) * float(pairs.squared.sum()) / pairs.size
        else:
            basis = centered_basis(groups)
        merged = pairs.merged(groups)
        rows = merged.differences(basis[np.unique(groups, return_index=True)[1]])
        program = Program(rows, merged.squared, self.equal)
        if basis.shape[1] < merged.size - 1:
            chosen = independent(rows)
            program = Program(rows[chosen], merged.squared[chosen], True)
        solution = maximize(program, self.tolerance, self.limit, floor)
        require_feasible(program, solution, floor, data.exponent)
        return self._certified(pairs, basis, program, solution)

    def _over_basis(self, pairs: Pairs, count: int, compute: Compute) -> tuple[Array, Certificate]:
        """The best of the kernels over a Laplacian basis."""
        groups = coincident(pairs)
        basis = laplacian_basis(pairs, groups, count, compute)
        count = basis.shape[1]
        compute.require(8.0 * (len(pairs) + 3 * count**2) * count**2, f"sde over {count} vectors",
                        "set method.basis lower")
        merged = pairs.merged(groups)
        rows = merged.differences(basis[np.unique(groups, return_index=True)[1]])
        program = Program(rows, merged.squared, False)
        factor, found = self._certified(pairs, basis, program, maximize_over_basis(program, self.tolerance, self.limit))
        return factor, replace(found, basis=count)

    def _certified(self, pairs: Pairs, basis: Array, program: Program,
                   solution: Solution) -> tuple[Array, Certificate]:
        """The factor V L of the kernel V L Lᵀ Vᵀ, measured again from itself."""
        factor = basis @ solution.root
        bound, runaway = dual_bound(program, solution.weights)
        return factor, Certificate(float(np.sum(factor**2)), bound, pairs.violation(factor, self.equal),
                                   solution.iterations, self.tolerance, runaway, len(pairs))
