"""The certificate of an unfolding: its trace, the bound of the dual, and the error where they differ too much."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.stored import result
from mlcli.base.types import Array
from mlcli.base.values.percent import percent
from mlcli.base.values.quantity import Quantity
from mlcli.base.values.scaling import Unit
from mlcli.core.graph.graph import undirected
from mlcli.core.paths.geodesics import dijkstra_rows
from mlcli.errors import NumericalError
from mlcli.methods.unfolding.basis import PenalizedProgram
from mlcli.methods.unfolding.cone import Program, Solution, relative_gap
from mlcli.methods.unfolding.pairs import Pairs

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
class Certificate:
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


def certificate(program: Program, solution: Solution, factor: Array, pairs: Pairs, tolerance: float) -> Certificate:
    """Return the certificate of K = F Fᵀ, computed from the factor F (n x r) and the weights alone."""
    least = program.least_curvature(solution.weights)
    bound = program.bound(solution.weights, least) if least > 0 else float("inf")
    terms = float(program.squared @ np.abs(solution.weights)) / max(least, np.finfo(float).tiny)
    off = pairs.misses(factor, program.equal)
    return Certificate(trace=float(np.sum(factor**2)), bound=bound, violation=float(off.max(initial=0.0)),
                       iterations=len(solution.trace), tolerance=tolerance,
                       runaway=terms / max(abs(bound), np.finfo(float).tiny), pairs=len(pairs))


def with_softness(proof: Certificate, program: PenalizedProgram, solution: Solution, ceiling: float,
                  misses: Array) -> Certificate:
    """Return the certificate of a kernel over a basis; warns of its errors of distances.

    `misses` are relative errors of squared distances, an (m,) array; `ceiling` bounds the trace without a basis.
    """
    spread = float(np.sqrt(np.mean(misses**2)))
    note("W-SOFT", f"with a basis of {program.rows.shape[1]} vectors, distances are preserved only approximately: "
         f"squared, they are off by {percent(spread)} of their mean (root mean square), and by "
         f"{percent(proof.violation)} at worst", rms=spread,
         worst=proof.violation)
    return replace(proof, soft=Soft(program.rows.shape[1], program.value(solution.root), spread, ceiling))


def require_feasible(found: Certificate, floor: float, unit: Unit) -> None:
    """Raise NumericalError where the bound lies below `floor`, the least trace of a kernel with these distances."""
    if found.bound < floor:
        raise NumericalError("INFEASIBLE", "no points have these distances between neighbors: the trace of their "
                             f"kernel would be at most {(unit**2).shown(found.bound)}, and the distances alone "
                             f"make it {(unit**2).shown(floor)}", where="method.constraints",
                             hint="set method.constraints to at_most, or join fewer points "
                             "(fewer neighbors, or a graph of fewer edges)")


def require_metric(pairs: Pairs, ids: Sequence[str], tolerance: float, unit: Unit) -> None:
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
        raise NumericalError("INFEASIBLE", f"no points have these distances between neighbors: {names} are "
                             f"{unit.shown(float(lengths[worst]))} apart, and "
                             f"{unit.shown(float(shortest[worst]))} by way of other neighbors",
                             where="method.constraints",
                             hint="set method.constraints to at_most, or join fewer points "
                             "(fewer neighbors, or a graph of fewer edges)")


def require_trust(found: Certificate, equal: bool, unit: Unit, accepted: bool, limit: int) -> None:
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
