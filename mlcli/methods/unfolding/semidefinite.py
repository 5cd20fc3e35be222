"""The semidefinite program of maximum variance unfolding, and the certificate of its solution by duality.

The kernel has the largest trace that keeps the distances of neighbors (Weinberger and Saul, 2004). Its dual bounds the
trace of all others.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.footprint import SPARSE
from mlcli.base.machine.rates import product_rate, rates
from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.stages.stage import note, stage
from mlcli.base.stages.steps import Step, repeated
from mlcli.base.stored import result
from mlcli.base.types import Array, Indices
from mlcli.base.units import percent
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Joined
from mlcli.base.values.quantity import Quantity
from mlcli.base.values.scaling import Unit
from mlcli.core.centering import uncentered
from mlcli.core.graph.graph import Graph, undirected
from mlcli.core.kernels.factored import Factored
from mlcli.core.metrics.distances import is_euclidean
from mlcli.core.model import Unfolded
from mlcli.core.paths.geodesics import dijkstra_rows
from mlcli.core.paths.paths import Paths
from mlcli.errors import ConfigError, GeometryError, NumericalError
from mlcli.methods.unfolding.basis import PenalizedProgram, laplacian_basis, maximize_over_basis
from mlcli.methods.unfolding.faces import (
    DEPENDENT,
    IMPLIED,
    centered_basis,
    face_basis,
    independent_constraints,
    open_basis,
)
from mlcli.methods.unfolding.interior import COPIES, Program, Solution, maximize, relative_gap
from mlcli.methods.unfolding.pairs import NeighborPairs, coincident_groups, neighbor_pairs

RUNAWAY = 100.0  # times that the terms of the bound exceed their sum where the dual is not attained
NEAR = 1e-2  # largest gap, and violation, of a result that rounding kept above the tolerance
SOURCES = 64  # points whose paths are computed at once


@result("softness")
@frozen
class Soft:
    """The penalty of a kernel over a basis for errors of its distances."""

    vectors: int  # of the basis
    value: float  # the trace less the penalty
    spread: float  # root mean square error of squared distances, relative to their mean
    bound_without_basis: float  # bound of the trace of all kernels that keep the distances


@result("proof")
@frozen
class DualityCertificate:
    """Trace, bound and violation of a kernel, in the units of the computation."""

    trace: float
    bound: float  # upper bound of the program's objective; infinite where none is known
    violation: float  # largest error of squared distances, relative to their mean
    iterations: int
    tolerance: float
    runaway: float  # the sum of sizes of the bound's terms over the bound
    pairs: int
    soft: Soft | None = None  # of a program over a basis, whose bound is that of the penalized trace

    @property
    def gap(self) -> float:
        """Relative distance of the trace, or of the penalized trace, from its upper bound."""
        if not np.isfinite(self.bound):
            return float("inf")
        return relative_gap(self.soft.value if self.soft else self.trace, self.bound, self.trace)

    @property
    def off(self) -> float:
        """The larger of gap and violation; the gap alone where a penalty replaces the constraints."""
        return max(self.gap, 0.0 if self.soft else self.violation)

    @property
    def converged(self) -> bool:
        """Whether gap and violation are within the tolerance."""
        return self.off <= self.tolerance

    @property
    def facts(self) -> dict[str, Any]:
        """The entries of run.json."""
        facts = {"trace": Quantity(self.trace, 2), "dual_bound": Quantity(self.bound, 2),
                 "duality_gap": self.gap if np.isfinite(self.gap) else None, "constraint_violation": self.violation,
                 "iterations": self.iterations, "converged": self.converged, "pairs": self.pairs}
        if self.soft is None:
            return facts
        return {**facts, "penalized_trace": Quantity(self.soft.value, 2), "constraint_violation_rms": self.soft.spread,
                "basis": self.soft.vectors, "bound_without_basis": Quantity(self.soft.bound_without_basis, 2)}


def certificate(program: Program, solution: Solution, factor: Array, pairs: NeighborPairs,
                tolerance: float) -> DualityCertificate:
    """Return the certificate of K = F Fᵀ, computed from the factor F (n x r) and the weights alone."""
    least = program.least_curvature(solution.weights)
    bound = program.bound(solution.weights, least) if least > 0 else float("inf")
    terms = float(program.squared @ np.abs(solution.weights)) / max(least, np.finfo(float).tiny)
    off = pairs.misses(factor, program.equal)
    return DualityCertificate(trace=float(np.sum(factor**2)), bound=bound, violation=float(off.max(initial=0.0)),
                              iterations=len(solution.trace), tolerance=tolerance,
                              runaway=terms / max(abs(bound), np.finfo(float).tiny), pairs=len(pairs))


def with_softness(proof: DualityCertificate, program: PenalizedProgram, solution: Solution, ceiling: float,
                  misses: Array) -> DualityCertificate:
    """Return the certificate of a kernel over a basis; warns of its errors of distances.

    `misses` are relative errors of squared distances, an (m,) array; `ceiling` bounds the trace without a basis.
    """
    spread = float(np.sqrt(np.mean(misses**2)))
    note("W-SOFT", f"with a basis of {program.rows.shape[1]} vectors, distances are preserved only approximately: "
         f"squared, they are off by {percent(spread)} of their mean (root mean square), and by "
         f"{percent(proof.violation)} at worst", rms=spread,
         worst=proof.violation)
    return replace(proof, soft=Soft(program.rows.shape[1], program.value(solution.root), spread, ceiling))


def infeasible(why: str) -> NumericalError:
    """Return the error for distances between neighbors that no points have."""
    return NumericalError("INFEASIBLE", f"no points have these distances between neighbors: {why}",
                          where="method.constraints", hint="set method.constraints to at_most, or join fewer points "
                          "(fewer neighbors, or a graph of fewer edges)")


def require_feasible(found: DualityCertificate, floor: float, unit: Unit) -> None:
    """Raise NumericalError where the bound lies below `floor`, the least trace of a kernel with these distances."""
    if found.bound < floor:
        raise infeasible(f"the trace of their kernel would be at most {(unit**2).shown(found.bound)}, and the "
                         f"distances alone make it {(unit**2).shown(floor)}")


def require_metric(pairs: NeighborPairs, ids: Sequence[str], tolerance: float, unit: Unit) -> None:
    """Raise NumericalError where two neighbors are farther apart than a path through other neighbors is long."""
    lengths = np.sqrt(pairs.squared)
    graph = undirected(pairs.size, pairs.left, pairs.right, lengths, "union")
    shortest = np.empty(len(pairs))
    for start in range(0, pairs.size, SOURCES):
        mine = np.flatnonzero((pairs.left >= start) & (pairs.left < start + SOURCES))
        rows = dijkstra_rows(graph, np.arange(start, min(start + SOURCES, pairs.size)))
        shortest[mine] = rows[pairs.left[mine] - start, pairs.right[mine]]
    excess = lengths - shortest
    worst = int(excess.argmax())
    if excess[worst] > tolerance * lengths[worst]:
        names = f"{str(ids[pairs.left[worst]])[:40]} and {str(ids[pairs.right[worst]])[:40]}"
        raise infeasible(f"{names} are {unit.shown(float(lengths[worst]))} apart, and "
                         f"{unit.shown(float(shortest[worst]))} by way of other neighbors")


def require_trust(found: DualityCertificate, equal: bool, unit: Unit, accepted: bool, limit: int) -> None:
    """Raise NumericalError unless gap and violation are within the tolerance; warn where `accepted`.

    If distances are kept exactly and rounding, not the iteration limit, ended the solution near the optimum, a warning
    gives gap and violation: the feasible kernels hardly have an interior, and no smaller gap can be proven.
    """
    if found.converged:
        return
    trace, bound = (unit**2).shown(found.trace), (unit**2).shown(found.bound)
    figures = (f"trace {trace}, bound {bound}, relative gap {found.gap:.1e}, violation {found.violation:.1e} "
               f"after {found.iterations} iterations")
    near = equal and found.iterations < limit and found.off <= NEAR
    if accepted or near:
        note("W-UNCONVERGED", f"the unfolding is not proven optimal: {figures}", gap=found.gap,
             violation=found.violation)
        return
    if equal and found.runaway > RUNAWAY:
        raise NumericalError("DEGENERATE", "the constraints leave the kernel no freedom, and the dual optimum is not "
                             f"attained: {figures}",
                             where="method.constraints",
                             hint="set method.constraints to at_most, or method.accept_uncertified to true")
    raise NumericalError("GAP", f"the semidefinite program was not solved to {found.tolerance:.1e}: {figures}",
                         where="method.tolerance", hint="set method.tolerance or method.iterations higher, "
                         "or method.accept_uncertified to true")


MOST_PAIRS = 8000  # of a program over all kernels by default: its system is pairs x pairs
VECTORS = 50  # of the basis where there are more
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
    certificate: DualityCertificate
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
        count = self.vectors(len(pairs))
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

    def step(self, pairs: int, size: int, threads: int) -> Step:
        """Return the cost of the program over so many pairs of `size` points."""
        if count := self.vectors(pairs):
            unknowns = count * (count + 1) / 2
            each, taken = pairs * unknowns**2 + unknowns**3 / 3, 2 * pairs * unknowns + 6 * unknowns**2
            how = f"over {count} vectors, {pairs} pairs"
            remedy = "set method.basis lower"
        else:
            each = (pairs**3 / 3 + 2.0 * pairs**2 * size + 2 * PRODUCTS * size**3) * (FACE if self.equal else 1.0)
            taken = COPIES * pairs**2 + 3.0 * pairs * size + 12.0 * size**2
            how = f"over {pairs} pairs"
            remedy = f"use fewer neighbors, or set method.basis={VECTORS}"
        seconds = each / product_rate(threads) + CALLS * rates().called
        return repeated("unfold", f"semidefinite program {how}", seconds, 8.0 * taken, usual=USUAL, most=self.limit,
                        needs=SPARSE, remedy=remedy)

    def vectors(self, pairs: int) -> int:
        """Return the number of vectors in the basis, 0 for none."""
        return self.basis if self.basis is not None else VECTORS if pairs > MOST_PAIRS else 0

    def _whole(self, pairs: NeighborPairs, data: Joined) -> Outcome:
        """Return the best of all kernels by the first attempt that ends well, or the best attempt."""
        floor = -np.inf
        if self.equal and not is_euclidean(data):
            require_metric(pairs, data.ids, self.tolerance, data.unit)
            floor = (1 - 1e-6) * float(pairs.squared.sum()) / pairs.size
        outcomes, tried = [], np.zeros(0, dtype=np.int64)
        for basis, rest, give in self._attempts(pairs, data):
            if not basis.shape[1]:
                raise infeasible("those of groups of neighbors leave no direction in which points could differ")
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

    def _well(self, proof: DualityCertificate) -> bool:
        """Whether a solution has converged to a trace within its bound: a larger trace comes from violations."""
        return proof.converged and proof.trace <= (1 + GIVE * self.tolerance) * proof.bound

    def _attempts(self, pairs: NeighborPairs, data: Joined) -> Iterator[tuple[Array, float, float]]:
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

    def _program(self, pairs: NeighborPairs, basis: Array, rest: float, give: float) -> tuple[Program, Indices]:
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

    def _solve(self, program: Program, places: Indices, pairs: NeighborPairs, basis: Array, floor: float) -> Outcome:
        """Return the best of the kernels V R Vᵀ."""
        solution = maximize(program, self.tolerance, self.limit, floor)
        factor = basis @ solution.root
        face = basis if basis.shape[1] < pairs.size - 1 else None
        unfolded = Unfolded(factor, pairs.left, pairs.right, places, solution.weights, face)
        return Outcome(unfolded, certificate(program, solution, factor, pairs, self.tolerance), solution.trace)

    def _over_basis(self, pairs: NeighborPairs, count: int, ceiling: float, compute: Compute) -> Outcome:
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
