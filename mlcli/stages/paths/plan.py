"""The choice of the algorithm for geodesics, of their storage and precision, with reasons."""

from dataclasses import replace
from typing import Literal

from mlcli.base.context import set_context
from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import allowed
from mlcli.base.values.compute import Compute
from mlcli.errors import ConfigError
from mlcli.native import Precision as Kind
from mlcli.native import available as native_available
from mlcli.stages.algebra.costs import (
    SAMPLED,
    STREAMED,
    WHOLE,
    Cost,
    PassCount,
    dijkstra_cost,
    elimination_cost,
    floyd_cost,
)
from mlcli.stages.graph.graph import Graph
from mlcli.stages.kernels.streamed import STORED
from mlcli.stages.paths.elimination import Analysis

Algorithm = Literal["auto", "dijkstra", "floyd", "elimination"]
Precision = Literal["auto", "float32", "float64"]
Store = Literal["auto", "memory", "disk", "streamed"]

BYTES = {"float32": 4.0, "float64": 8.0}
COSTLY = 2e-9  # seconds of a core for one distance, beyond which keeping it saves more than it costs


@frozen
class PathPlan:
    """A choice among algorithms, stores and precisions, with its predicted cost."""

    algorithm: str
    store: str
    precision: Kind
    cost: Cost
    memory: float  # bytes of distances, or of what computes them
    reason: str
    elimination: Analysis | None = None
    keep: bool = False  # whether a stream's first pass is kept in memory for those that follow
    landmarks: int = 0  # number of landmarks, where only paths from these are computed

    @property
    def krylov(self) -> PassCount:
        """Number of passes of the eigensolver, where distances are not stored."""
        return STREAMED if self.elimination is None or self.keep else SAMPLED

    @property
    def passes(self) -> int:
        """Number of times that all distances are computed."""
        return self.krylov.usual if self.store == "streamed" and not self.keep else 1

    @property
    def seconds(self) -> float:
        """Seconds of all passes, and of the preparation."""
        return self.cost.preparation + self.cost.seconds * self.passes


def plan_paths(graph: Graph, algorithm: Algorithm, store: Store, precision: Precision, compute: Compute) -> PathPlan:
    """Return the cheapest plan that the options allow; raises ConfigError where they allow none."""
    if precision == "float32":
        algorithm = _in_single_precision(algorithm)
    elimination = _elimination(graph, algorithm)
    with set_context(rates=None):  # so that no file with rates changes the choice
        costs = _costs(graph, elimination)
    chosen = min(costs.values(), key=lambda c: c.preparation + c.seconds) if algorithm == "auto" else costs[algorithm]
    stored = _store(graph.size, store, chosen, compute)
    narrow = precision == "float32" or (precision == "auto" and stored == "streamed")
    kind: Kind = "float32" if narrow and chosen.algorithm == "elimination" else "float64"
    eliminated = elimination if chosen.algorithm == "elimination" else None
    keep = store == "auto" and stored == "streamed" and _worth_keeping(graph.size, chosen, kind, compute)
    others = ", ".join(f"{c.algorithm} {c.seconds + c.preparation:.2g} s" for c in costs.values() if c is not chosen)
    held = ", the first pass kept" if keep else ""
    reason = (f"{chosen.algorithm}, {stored}{held}, {kind}: a pass over {graph.size} points and {graph.edges} "
              f"edges is predicted at {chosen.seconds + chosen.preparation:.2g} s" + (f" ({others})" if others else ""))
    memory = _memory(graph, stored, kind, eliminated, keep)
    expected = _costs(graph, elimination)[chosen.algorithm]
    return PathPlan(chosen.algorithm, stored, kind, expected, memory, reason, eliminated, keep)


def _in_single_precision(algorithm: Algorithm) -> Algorithm:
    """Return the algorithm with single precision; raises ConfigError for another choice, or if it is unavailable."""
    if algorithm not in ("auto", "elimination"):
        raise ConfigError("PRECISION", f"{algorithm} finds distances in double precision only",
                          where="method.paths.precision", hint="use float64, or elimination")
    if not native_available():
        raise ConfigError("PRECISION", "distances in single precision need native kernels, absent here",
                          where="method.paths.precision", hint="use float64, or install mlcli with a compiler present")
    return "elimination"


def plan_landmarks(graph: Graph, count: int) -> PathPlan:
    """Return the plan for paths from `count` points to all."""
    whole = dijkstra_cost(graph.size, graph.edges, allowed(), native_available())
    cost = replace(whole, seconds=whole.seconds * count / graph.size)
    return PathPlan("dijkstra", "landmarks", "float64", cost, 8.0 * count * graph.size,
                    f"dijkstra, from {count} landmarks to {graph.size} points", landmarks=count)


def _elimination(graph: Graph, algorithm: Algorithm) -> Analysis | None:
    """Return the analysis of the graph where elimination is possible and allowed; else None."""
    if algorithm == "elimination" and not native_available():
        raise ConfigError("ELIMINATION", "elimination needs native kernels, absent here",
                          where="method.paths.algorithm", hint="use dijkstra, or install mlcli with a compiler present")
    return Analysis.of(graph) if native_available() and algorithm in ("auto", "elimination") else None


def _costs(graph: Graph, elimination: Analysis | None) -> dict[str, Cost]:
    native, threads = native_available(), allowed()
    costs = {"dijkstra": dijkstra_cost(graph.size, graph.edges, threads, native),
             "floyd": floyd_cost(graph.size, threads, native)}
    if elimination is not None:
        work = elimination.native
        costs["elimination"] = elimination_cost(graph.size, work.relaxations("float32"), work.work, threads)
    return costs


def _store(size: int, store: Store, cost: Cost, compute: Compute) -> str:
    """Return the store: memory if the whole spectrum is wanted; streamed if it is not, or does not fit."""
    if store != "auto":
        return store
    if cost.algorithm == "elimination" and size > WHOLE:
        return "streamed"
    return "memory" if 8.0 * size * size <= compute.memory_bytes() / 2 else "streamed"


def _worth_keeping(size: int, cost: Cost, precision: Kind, compute: Compute) -> bool:
    """Whether distances are expensive to compute again and fit in memory."""
    costly = cost.algorithm == "elimination" and cost.seconds * cost.threads > COSTLY * float(size) ** 2
    return costly and BYTES[precision] * float(size) ** 2 / 2 <= min(STORED, compute.memory_bytes() / 2)


def _memory(graph: Graph, store: str, precision: Kind, elimination: Analysis | None, keep: bool) -> float:
    tables = float(graph.bytes)
    if elimination is not None:
        tables += graph.bytes + elimination.bytes(precision, store != "streamed")  # which holds a graph of its own
    held = BYTES[precision] / 2 if keep else 8.0 if store == "memory" else 0.0
    return tables + held * graph.size**2
