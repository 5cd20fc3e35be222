"""What proves an unfolding: its trace, its bound from the dual, and the verdict where they do not meet."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlcli.base.scaling import scaled, shown
from mlcli.base.stage import note
from mlcli.base.types import Array
from mlcli.errors import NumericalError
from mlcli.stages.geodesics import dijkstra_rows
from mlcli.stages.graph import undirected
from mlcli.stages.unfolding_cone import Program, Solution, relative_gap
from mlcli.stages.unfolding_pairs import Pairs

RUNAWAY = 100.0  # times that the terms of the bound exceed their sum where the dual is not attained
SOURCES = 64  # points whose paths are found at once


@dataclass(frozen=True)
class Certificate:
    """How good a kernel is, in the units that it was solved in."""

    trace: float
    bound: float  # no kernel that keeps the distances has a larger trace; infinite where nothing is known
    violation: float  # of squared distances, relative to their mean
    iterations: int
    tolerance: float
    runaway: float  # the sum of sizes of the bound's terms over the bound
    pairs: int
    basis: int | None = None  # vectors that the kernel and its bound are restricted to
    free_bound: float | None = None  # a bound on all kernels, where a basis restricts this one

    @property
    def gap(self) -> float:
        """How far the trace may be from the largest, relatively."""
        return relative_gap(self.trace, self.bound) if np.isfinite(self.bound) else float("inf")

    @property
    def converged(self) -> bool:
        """Whether gap and violation are within the tolerance."""
        return max(self.gap, self.violation) <= self.tolerance

    def facts(self, exponent: int) -> dict[str, Any]:
        """The figures of run.json, for data that are 2**exponent times those solved."""

        def whole(value: float | None) -> float | None:
            return None if value is None or not np.isfinite(value) else float(scaled(np.asarray(value), 2 * exponent))

        facts = {"trace": whole(self.trace), "dual_bound": whole(self.bound),
                 "duality_gap": self.gap if np.isfinite(self.gap) else None, "constraint_violation": self.violation,
                 "iterations": self.iterations, "converged": self.converged, "pairs": self.pairs}
        if self.basis is None:
            return facts
        return {**facts, "basis": self.basis, "bound_without_basis": whole(self.free_bound)}


def dual_bound(program: Program, weights: Array) -> tuple[float, float]:
    """The bound bᵀy/λ with λ the smallest eigenvalue of Σ y vvᵀ, and how much larger its terms are than it."""
    least = program.least_curvature(weights)
    bound = float(program.squared @ weights) / least if least > 0 else float("inf")
    return bound, float(program.squared @ np.abs(weights)) / max(abs(bound * least), np.finfo(float).tiny)


def require_feasible(program: Program, solution: Solution, floor: float, exponent: int) -> None:
    """Raises NumericalError where the bound lies below a trace that every kernel with these distances has."""
    bound, _ = dual_bound(program, solution.weights)
    if bound < floor:
        raise NumericalError("INFEASIBLE", "no points have these distances between neighbors: the trace of their "
                             f"kernel would be at most {shown(bound, 2 * exponent)}, and the distances alone make it "
                             f"{shown(floor, 2 * exponent)}", where="method.constraints",
                             hint="set method.constraints to at_most, or use fewer neighbors")


def require_metric(pairs: Pairs, ids: Sequence[str], tolerance: float, exponent: int) -> None:
    """Raises NumericalError where two neighbors are farther apart than a way through other neighbors is long."""
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
                             f"{shown(float(lengths[worst]), exponent)} apart, and "
                             f"{shown(float(shortest[worst]), exponent)} by way of other neighbors",
                             where="method.constraints",
                             hint="set method.constraints to at_most, or use fewer neighbors")


def require_trust(found: Certificate, equal: bool, exponent: int, accepted: bool) -> None:
    """Raises NumericalError unless gap and violation are within the tolerance; a warning where that is accepted."""
    if found.converged:
        return
    trace, bound = shown(found.trace, 2 * exponent), shown(found.bound, 2 * exponent)
    said = (f"trace {trace}, bound {bound}, relative gap {found.gap:.1e}, violation {found.violation:.1e} "
            f"after {found.iterations} iterations")
    if accepted:
        note("W-UNCERTIFIED", f"the unfolding is not proven to be the best: {said}", gap=found.gap,
             violation=found.violation)
        return
    if equal and found.runaway > RUNAWAY:
        raise NumericalError("DEGENERATE", f"the kernel has no room to move and the dual is not attained: {said}",
                             where="method.constraints",
                             hint="set method.constraints to at_most, or method.accept_uncertified to true")
    raise NumericalError("GAP", f"the semidefinite program was not solved to {found.tolerance:.1e}: {said}",
                         where="method.tolerance", hint="set method.tolerance or method.iterations higher, "
                         "or method.accept_uncertified to true")
