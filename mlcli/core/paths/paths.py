"""Shortest paths on the neighbor graph: geodesic distances (Tenenbaum, de Silva and Langford, 2000), and the choice of
their algorithm, storage and precision.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import gettempdir
from typing import ClassVar, Literal

import numpy as np

from mlcli.base.context import set_context
from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import rates
from mlcli.base.machine.threads import allowed
from mlcli.base.rows.blocks import AHEAD, each, in_order, one_by_one, row_blocks
from mlcli.base.rows.memo import memoize, recall
from mlcli.base.rows.scratch import map_file
from mlcli.base.stages.stage import computed, note, running, stage
from mlcli.base.stages.steps import Passes, Step
from mlcli.base.types import Array, Indices
from mlcli.base.units import memory
from mlcli.base.values.compute import Compute
from mlcli.base.values.options import Options, option
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.eigen.options import WHOLE
from mlcli.core.euclidean_distances import HELD
from mlcli.core.graph.graph import Graph
from mlcli.core.graph.search import Lists
from mlcli.core.kernels.forms import CACHED, Dense, square_memory
from mlcli.core.kernels.streamed import STORED, STREAMED, PassCount, Streamed
from mlcli.core.paths.elimination import Analysis, EliminationRows, elimination_cost, start_of
from mlcli.core.paths.geodesics import (
    LANDMARKS,
    WIDTH,
    Cost,
    DijkstraRows,
    GeodesicRows,
    dijkstra_cost,
    dijkstra_passes,
    dijkstra_rows,
    floyd_cost,
    halved_squares,
    is_renumbered,
)
from mlcli.errors import ConfigError, StorageError
from mlcli.native import Precision as Kind
from mlcli.native import available as native_available

Algorithm = Literal["auto", "dijkstra", "floyd", "elimination"]
Precision = Literal["auto", "float32", "float64"]
Store = Literal["auto", "memory", "disk", "streamed"]
BYTES = {"float32": 4.0, "float64": 8.0}
SAMPLED = PassCount(3, 2, 5)  # begun from a sample of its columns: 2 of a curved surface, 4 of images
KEPT = 1 << 28  # paths from landmarks to all points that are stored; more are computed twice, GROUP rows at a time
GROUP = 8
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
    twice: bool = False  # whether those are computed once to find the axes, and again to place all points

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
    """Return the plan for paths from `count` points to all, which are stored unless they are very many."""
    whole = dijkstra_cost(graph.size, graph.edges, allowed(), native_available())
    twice = count * graph.size > KEPT
    cost = replace(whole, seconds=whole.seconds * count / graph.size * (1 + twice))
    held = 8.0 * graph.size * (GROUP if twice else count) + graph.bytes * is_renumbered(graph)
    return PathPlan("dijkstra", "landmarks", "float64", cost, held,
                    f"dijkstra, from {count} landmarks to {graph.size} points{', twice' * twice}", landmarks=count,
                    twice=twice)


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


FEW = 1000  # points up to which distances are kept for later use: 8 MB
REMEDY = "set method.paths.store to streamed or disk, or use landmarks"
OF_LANDMARKS = ("paths.algorithm=dijkstra", "paths.store=memory", "paths.precision=float64")  # of landmarks
BESIDE = 9  # blocks of vectors in the eigensolver besides its basis and their images, as measured
STRIP = 512  # rows made symmetric at once
TOLERANCE = {"float32": 1e-6, "float64": 1e-9}  # of the eigensolver, where distances are computed in every pass


class Paths(Options):
    """How geodesic distances are computed and stored; every choice gives the same distances."""

    way: ClassVar[str] = "mlcli.methods.geodesic.isomap:PathChain"  # the Composition of a chain that has them
    algorithm: Algorithm = option(
        "auto", "Shortest-path algorithm: from each point separately (dijkstra), all pairs at once (floyd), by sparse "
        "elimination (elimination), or the fastest of these (auto).")
    store: Store = option(
        "auto", "Where distances are stored: in memory, in a temporary file (disk), nowhere (streamed: computed again "
        "in each pass), or by their size (auto).")
    precision: Precision = option(
        "auto", "Precision of the distances (auto: float64 if they are stored; float32 with sums in float64 if they "
        "are streamed). Only elimination has float32.")

    @stage("paths", version=1, composed=True)
    def kernel(self, graph: Graph, compute: Compute, plan: PathPlan | None = None) -> Dense | Streamed:
        """Return the centered kernel -H D² H / 2 of the graph's geodesic distances, by a given plan or a new one."""
        plan = plan or self.plan(graph, compute)
        if plan.store == "streamed":
            _note_plan(plan)
            return Streamed(_source(graph, plan), TOLERANCE[plan.precision], lasting=True)
        return Dense.of(self.halved(graph, plan, compute), rounding_of(plan))

    def halved(self, graph: Graph, plan: PathPlan, compute: Compute) -> Array:
        """Return -D²/2 (n x n) of the graph's geodesic distances, by a plan that stores them."""
        _note_plan(plan)
        kernel = self._distances(graph, plan, compute)
        computed("paths", kernel)
        with running("kernel"):
            each(lambda rows: halved_squares(kernel[rows]), row_blocks(len(kernel), CACHED))
        return kernel

    @stage("paths")
    def distances(self, graph: Graph, compute: Compute) -> Array:
        """Return lengths of the shortest paths between all points (n x n); infinite between pieces."""
        return self._distances(graph, self.plan(graph, compute), compute)

    def from_landmarks(self, graph: Graph, landmarks: Indices) -> Array:
        """Return -D²/2 (n x m) for the lengths D of the shortest paths from some points to all."""
        with running("paths"):
            paths = dijkstra_rows(graph, landmarks)
        with running("kernel"):
            return halved_squares(paths).T

    def from_some(self, graph: Graph, landmarks: Indices) -> Iterator[tuple[slice, Array]]:
        """Yield -D²/2 (g x n) of a few points at a time, each with their places among `landmarks`."""
        for some in row_blocks(len(landmarks), GROUP):
            with running("paths"):
                paths = dijkstra_rows(graph, landmarks[some])
            yield some, halved_squares(paths)

    def steps(self, graph: Graph, plan: PathPlan, share: float | None = None) -> list[Step]:
        """Return the cost of the paths of `kernel` or `halved` by a plan, which a stream leaves to its passes.

        With a share, that many blocks of paths that are stored are timed.
        """
        stored = plan.store != "streamed"
        chosen = 0.0 if plan.elimination is None else rates().ordered * graph.edges
        found = Step("paths", plan.reason, chosen + (plan.cost.seconds if stored else 0.0), plan.memory,
                     _measured(graph, plan, share) if stored else None, REMEDY, square=stored)
        if plan.elimination is None:
            return [found]
        return [found, Step("elimination", "in nested-dissection order", plan.cost.preparation, plan.memory,
                            remedy=REMEDY, square=stored)]

    def streamed_step(self, graph: Graph, plan: PathPlan, eigensolve: Eigensolve, share: float | None = None) -> Step:
        """Return the cost of the spectrum of a streamed `kernel`; with a share, that many blocks of a pass are timed.
        """
        width, landmarks = (WIDTH, LANDMARKS) if plan.elimination is None else start_of(
            plan.elimination.native, keep=plan.keep)
        held = width * (2.0 * (plan.krylov.usual + 1) + BESIDE) + landmarks + (width + 1) * (allowed() + AHEAD + 2)
        whole = 3.0 * graph.size if eigensolve.components == "all" else 0.0
        measured = _measured(graph, plan, share)
        return Step("eigensolve", f"block Krylov: {plan.krylov}, in each of which paths are found and "
                    "the kernel is computed and centered", plan.passes * plan.cost.seconds,
                    plan.memory + 8.0 * graph.size * max(held, whole),
                    None if measured is None else plan.passes * measured, REMEDY,
                    passes=_passes(graph, plan), spread=(1.0, 1.0) if plan.keep else plan.krylov.spread)

    @stage("paths")
    def plan(self, graph: Graph, compute: Compute, landmarks: int | None = None) -> PathPlan:
        """Return the plan of `kernel`, or of `from_landmarks`, with its cost."""
        if landmarks is not None:
            return plan_landmarks(graph, landmarks)
        given = (*graph.parts, self.algorithm, self.precision, compute.memory_bytes(), allowed())
        chosen: PathPlan | None = recall("paths auto", given)
        if chosen is not None and chosen.store == self.store:  # the fit's plan, which is also that of the quality
            return chosen
        return memoize(f"paths {self.store}", given, lambda: plan_paths(
            graph, self.algorithm, self.store, self.precision, compute))

    def _distances(self, graph: Graph, plan: PathPlan, compute: Compute) -> Array:
        """Return all distances; those of few points are kept, because the report uses them again."""
        if graph.size > FEW or plan.store != "memory":
            return self._compute(graph, plan, compute)
        given = *graph.parts, plan.algorithm, plan.precision
        return memoize("distances", given, lambda: self._compute(graph, plan, compute)).copy()

    def _compute(self, graph: Graph, plan: PathPlan, compute: Compute) -> Array:
        distances = square_array(graph.size, plan.store, compute)
        source = None if plan.algorithm == "floyd" else _source(graph, plan)
        with running("paths"):
            if source is None:
                from mlcli.core.paths.floyd import floyd_warshall

                floyd_warshall(graph, distances)
            elif isinstance(source, EliminationRows) and plan.store == "memory":
                source.weights.all_pairs(distances)
            else:  # a file is written row by row
                each(lambda strip: source.write(strip, distances), range(source.strips), progress=True)
                if plan.precision == "float32":
                    lower_of_both(distances)  # a path's length, added up in both directions, differs by rounding
        return distances


def square_array(size: int, store: str, compute: Compute) -> Array:
    """Return an uninitialized (n, n) array of doubles; raises RefusedByPlan or StorageError where there is no space."""
    if store != "disk":
        square_memory(compute, size, 1, "a matrix of distances", REMEDY)
        return np.empty((size, size))
    try:
        return np.frombuffer(map_file(8 * size * size, Path(gettempdir()))).reshape(size, size)
    except OSError as error:
        raise StorageError("SCRATCH", f"no room for {memory(8 * size * size)} of distances: {error.strerror}",
                           where=gettempdir(), hint="set TMPDIR to a larger disk, or stream them") from error


def lower_of_both(matrix: Array) -> None:
    """Replace each entry of an (n, n) array and its mirror image by the smaller of both, in place."""

    def merge(rows: slice) -> None:
        lower = np.minimum(matrix[rows, rows.start:], matrix[rows.start:, rows].T)
        matrix[rows, rows.start:] = lower
        matrix[rows.start:, rows] = lower.T

    each(merge, row_blocks(len(matrix), STRIP))


def _passes(graph: Graph, plan: PathPlan) -> Passes:
    """Return the passes of a plan that streams."""
    if plan.elimination is None:
        return dijkstra_passes(graph, plan.passes, plan.cost)
    return plan.elimination.passes(plan.precision, plan.passes, plan.cost)


def rounding_of(plan: PathPlan) -> float:
    """Return the relative error of stored distances beyond the rounding of double precision."""
    return TOLERANCE[plan.precision] if plan.precision == "float32" else 0.0


def _note_plan(plan: PathPlan) -> None:
    note("F-PATHS", plan.reason, algorithm=plan.algorithm, store=plan.store, precision=plan.precision,
         seconds_predicted=round(plan.seconds, 3), fill=plan.elimination.native.fill if plan.elimination else None)


def _measured(graph: Graph, plan: PathPlan, share: float | None) -> float | None:
    """Return seconds of a whole pass, from pairs of blocks spread evenly: consecutive blocks can differ widely in cost.

    None where no share of them is to be timed, and for paths that are not found in blocks.
    """
    if share is None or plan.algorithm == "floyd":
        return None
    source = _source(graph, plan)
    pairs = max(2 * allowed(), round(share * source.blocks / 2))
    firsts = np.linspace(0, source.blocks - 1, pairs).astype(int) // 2 * 2
    numbers = sorted({min(number, source.blocks - 1) for first in firsts.tolist() for number in (first, first + 1)})
    count = len(numbers)
    vectors = np.ones((source.size, WIDTH))
    source.fold(0, vectors, moments=True)  # allocates memory, which is not to be timed

    def timed(number: int) -> float:
        started = time.perf_counter()
        source.fold(number, vectors, moments=True)
        return time.perf_counter() - started

    return sum(in_order(timed, numbers)) * source.blocks / (count * min(count, allowed()))


def _source(graph: Graph, plan: PathPlan) -> GeodesicRows:
    if plan.elimination is not None:
        return EliminationRows.of(plan.elimination, plan.precision, plan.keep)
    return DijkstraRows(graph)


def paths_of_new(graph: Graph, lists: Lists) -> Array:
    """Return path lengths (m x n) to all points of the graph from new points, joined to it by their neighbor lists."""
    size, new = graph.size, len(lists.starts) - 1
    joined = Graph(np.concatenate([graph.starts, graph.starts[-1] + lists.starts[1:]]),
                   np.concatenate([graph.indices, lists.indices]), np.concatenate([graph.lengths, lists.lengths]))
    paths = np.empty((new, size))
    for block in one_by_one(row_blocks(new, HELD, 16 * size)):
        paths[block] = dijkstra_rows(joined, np.arange(size + block.start, size + block.stop))[:, :size]
    return paths
