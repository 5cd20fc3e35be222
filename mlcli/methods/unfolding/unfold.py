"""Maximum variance unfolding: the kernel of the largest trace that keeps the distances of neighbors."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.footprint import SPARSE
from mlcli.base.machine.rates import rates
from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.stages.stage import note, stage
from mlcli.base.stages.steps import Step, repeated
from mlcli.base.stored import result
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Joined
from mlcli.core.centering import uncentered
from mlcli.core.costs import product_rate
from mlcli.core.eigen.options import SpectrumRequest
from mlcli.core.graph.graph import Graph
from mlcli.core.kernels.factored import Factored
from mlcli.core.metrics.points import is_euclidean
from mlcli.core.paths.paths import Paths
from mlcli.core.unfolded import Unfolded
from mlcli.errors import ConfigError, GeometryError
from mlcli.methods.unfolding.basis import PenalizedProgram, laplacian_basis, maximize_over_basis
from mlcli.methods.unfolding.certificate import (
    Certificate,
    certificate,
    require_feasible,
    require_metric,
    require_trust,
    with_softness,
)
from mlcli.methods.unfolding.cone import Program
from mlcli.methods.unfolding.faces import DEPENDENT, IMPLIED, centered_basis, face_basis, independent_constraints
from mlcli.methods.unfolding.interior import COPIES, maximize
from mlcli.methods.unfolding.pairs import Pairs, coincident_groups, neighbor_pairs
from mlcli.methods.unfolding.stress import open_basis

MOST_PAIRS = 8000  # of a program over all kernels by default: its system is pairs x pairs
VECTORS = 50  # of the basis where there are more
UNBOUNDED = ", which could drift apart without end: the unfolding is unbounded"
GIVE = 0.1  # share of the tolerance by which distances may be softened under `equal`
SOFTNESS = 0.03  # by default
USUAL = 25  # iterations of most programs
PRODUCTS, CALLS = 16.0, 200  # products of dense matrices in an iteration, and its small calls
FACE = 0.6  # usual share of the work that flat groups leave, where distances are kept


@result("unfold")
@frozen
class Outcome:
    """A learned kernel with its certificate and the course of the iteration."""

    unfolded: Unfolded
    certificate: Certificate
    trace: Array  # the objective after each iteration

    @property
    def kernel(self) -> Factored:
        """The kernel for the eigensolver."""
        return Factored(self.unfolded.factor, "auto", uncentered(self.unfolded.factor.shape[1]))


@frozen
class Unfolding:
    """The semidefinite program of Weinberger and Saul (2006), and the accuracy of its solution."""

    equal: bool  # distances are kept, rather than kept from growing
    common: bool  # also those of pairs with a neighbor in common
    basis: int | None  # vectors of the Laplacian basis; None: by the number of pairs; 0: no basis
    softness: float  # with a basis, the approximate error of squared distances
    tolerance: float
    limit: int
    accepted: bool  # whether a result that is not proven within the tolerance is a warning only

    @stage("unfold", version=2)
    def __call__(self, graph: Graph, data: Joined, compute: Compute) -> Outcome:
        """Return the kernel K = F Fᵀ with its certificate; raises NumericalError where it is not proven."""
        pairs = neighbor_pairs(graph, data, self.common)
        if not pairs.squared.any():
            raise GeometryError("ALL-EQUAL", f"the {graph.size} points of the neighbor graph are all equal",
                                where="method.neighbors", hint="use more neighbors, or leave repeated rows out")
        count = self._vectors(len(pairs))
        if count and self.basis is None:
            note("N-BASIS", f"with {len(pairs)} pairs the kernel is restricted to {count} eigenvectors of the graph "
                 "Laplacian; the option basis sets another number")
        if not count and self.softness != SOFTNESS:
            raise ConfigError("UNUSED", f"softness has no effect: without a basis, the distances of {len(pairs)} pairs "
                              "are kept exactly", where="method.softness", hint="leave it out, or set method.basis")
        import scipy.linalg  # noqa: F401  before its threads are limited

        with single_threaded_blas():
            found = (self._over_basis(pairs, count, Paths().kernel(graph, compute).trace, compute) if count
                     else self._whole(pairs, data))
        require_trust(found.certificate, self.equal, data.unit, self.accepted, self.limit)
        return found

    def steps(self, graph: Graph, data: Joined, demand: SpectrumRequest, compute: Compute) -> list[Step]:
        """Return the steps of the program and of the spectrum of its kernel."""
        pairs, threads = len(neighbor_pairs(graph, data, self.common)), compute.thread_count()
        size = self._vectors(pairs) or graph.size
        solved = demand.step(size, threads, 8.0 * size * (graph.size + size))
        return [self._step(pairs, graph.size, product_rate(threads)), solved]

    def _step(self, pairs: int, size: int, rate: float) -> Step:
        count = self._vectors(pairs)
        if count:
            unknowns = count * (count + 1) / 2
            each = (pairs * unknowns**2 + unknowns**3 / 3) / rate + CALLS * rates().called
            return repeated("unfold", f"semidefinite program over {count} vectors, {pairs} pairs", each,
                            _basis_memory(pairs, count), usual=USUAL, most=self.limit, needs=SPARSE,
                            remedy="set method.basis lower")
        work = pairs**3 / 3 + 2.0 * pairs**2 * size + 2 * PRODUCTS * size**3
        work *= FACE if self.equal else 1.0
        return repeated("unfold", f"semidefinite program over {pairs} pairs", work / rate + CALLS * rates().called,
                        _whole_memory(pairs, size), usual=USUAL, most=self.limit, needs=SPARSE,
                        remedy=f"use fewer neighbors, or set method.basis={VECTORS}")

    def _vectors(self, pairs: int) -> int:
        """Return the number of vectors in the basis, 0 for none."""
        return self.basis if self.basis is not None else VECTORS if pairs > MOST_PAIRS else 0

    def _whole(self, pairs: Pairs, data: Joined) -> Outcome:
        """Return the best of all kernels by the first attempt that ends well, or the best attempt."""
        floor = -np.inf
        if self.equal and not is_euclidean(data):
            require_metric(pairs, data.ids, self.tolerance, data.unit)
            floor = (1 - 1e-6) * float(pairs.squared.sum()) / pairs.size
        outcomes, tried = [], np.zeros(0, dtype=np.int64)
        for basis, rest, give in self._attempts(pairs, data):
            program, places = self._program(pairs, basis, rest, give)
            if give and np.array_equal(tried, places):
                continue  # the same program again
            tried = places if give else tried
            outcomes.append(self._solve(program, places, pairs, basis, floor))
            proof = outcomes[-1].certificate
            if self._well(proof) or proof.bound < floor or proof.iterations >= self.limit:
                break
        best = min(outcomes, key=lambda one: (not self._well(one.certificate), one.certificate.off))
        require_feasible(best.certificate, floor, data.unit)
        return best

    def _well(self, proof: Certificate) -> bool:
        """Whether a solution has converged to a trace within its bound: a larger trace comes from violations."""
        return proof.converged and proof.trace <= (1 + GIVE * self.tolerance) * proof.bound

    def _attempts(self, pairs: Pairs, data: Joined) -> Iterator[tuple[Array, float, float]]:
        """Yield bases (n x r) of the kernels, the residual of implied pairs, and the softness of distances.

        Where distances are kept, groups of neighbors close directions of the kernel. Stresses of the whole graph may
        close others; they are expensive, so they are used, and distances softened a little, only in later attempts.
        """
        groups = coincident_groups(pairs)
        if not self.equal:
            yield centered_basis(groups), DEPENDENT, 0.0
            return
        points = data.values if is_euclidean(data) else None
        basis = face_basis(pairs, groups, points, self.tolerance)
        yield basis, DEPENDENT, 0.0
        basis = basis if points is None else open_basis(pairs.take(pairs.shortest_between(groups)), basis, points)
        for rest in (IMPLIED, DEPENDENT):
            yield basis, rest, GIVE * self.tolerance

    def _program(self, pairs: Pairs, basis: Array, rest: float, give: float) -> tuple[Program, Indices]:
        """Return the program over kernels V R Vᵀ, and its pairs: on a face, without pairs implied up to `rest`."""
        groups = coincident_groups(pairs)
        places = pairs.shortest_between(groups)
        program = Program(basis, pairs.take(places), self.equal, give=give, usual=float(pairs.squared.mean()))
        if basis.shape[1] < groups.max():
            chosen, even = independent_constraints(program.rows, rest)
            others = np.setdiff1d(np.arange(len(places)), chosen)
            program = replace(program, pairs=pairs.take(places[chosen]), even=even,
                              implied=pairs.take(places[others]))
            places = places[chosen]
        return program, places

    def _solve(self, program: Program, places: Indices, pairs: Pairs, basis: Array, floor: float) -> Outcome:
        """Return the best of the kernels V R Vᵀ."""
        solution = maximize(program, self.tolerance, self.limit, floor)
        factor = basis @ solution.root
        face = basis if basis.shape[1] < pairs.size - 1 else None
        unfolded = Unfolded(factor, pairs.left, pairs.right, places, solution.weights, face)
        return Outcome(unfolded, certificate(program, solution, factor, pairs, self.tolerance), solution.trace)

    def _over_basis(self, pairs: Pairs, count: int, ceiling: float, compute: Compute) -> Outcome:
        """Return the best of the kernels over a Laplacian basis; `ceiling` bounds the trace of all kernels.

        The penalty makes the error of a pair of usual weight, trace over pairs and mean, about `softness`.
        """
        groups = coincident_groups(pairs)
        basis = laplacian_basis(pairs, groups, count, compute)
        places = pairs.shortest_between(groups)
        squared = pairs.squared[places]
        program = PenalizedProgram(basis, pairs.take(places), self.equal,
                                   penalty=ceiling / (self.softness * len(squared) * float(squared.mean()) ** 2))
        solution = maximize_over_basis(program, self.tolerance, self.limit)
        factor = basis @ solution.root
        proof = certificate(program, solution, factor, pairs, self.tolerance)
        proof = with_softness(proof, program, solution, ceiling, pairs.misses(factor, self.equal))
        unfolded = Unfolded(factor, pairs.left, pairs.right, places, solution.weights, basis, program.penalty)
        return Outcome(unfolded, proof, solution.trace)


def _whole_memory(pairs: int, size: int) -> float:
    """Return the bytes of a program over all kernels."""
    return 8.0 * (COPIES * pairs**2 + 3.0 * pairs * size + 12.0 * size**2)


def _basis_memory(pairs: int, count: int) -> float:
    """Return the bytes of a program over a basis."""
    unknowns = count * (count + 1) / 2
    return 8.0 * (2 * pairs * unknowns + 6 * unknowns**2)
