"""Times the shortest-path kernels beside SciPy's, in turns in one process: `python benchmarks/kernels.py --help`.

Without a file the graph is that of a swiss roll; a file is a matrix in .npy of which the first
rows are taken. Where SciPy would take minutes, it gets a share of the sources and its time is scaled.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pymetis
from scipy.sparse.csgraph import dijkstra
from unforced import kernels_in_use, restart_unforced

from mlcli import native
from mlcli.base.machine.threads import limit_threads
from mlcli.base.rows.blocks import each, in_stages
from mlcli.base.types import AnyArray, Array
from mlcli.core.graph.graph import Graph, graph_of
from mlcli.core.graph.search import nearest
from mlcli.native.paths import Precision


def swiss_roll(rows: int) -> Array:
    generator = np.random.default_rng(0)
    angle = 1.5 * np.pi * (1 + 2 * generator.random(rows))
    return np.column_stack([angle * np.cos(angle), 21 * generator.random(rows), angle * np.sin(angle)])


def graph(file: Path | None, rows: int, neighbors: int, cache: Path | None) -> Graph:
    name = cache / f"{file.parent.name if file else 'swiss-roll'}-{rows}-{neighbors}.npz" if cache else None
    if name and name.exists():
        parts = np.load(name)
        return Graph(parts["starts"], parts["indices"], parts["lengths"])
    points = swiss_roll(rows) if file is None else np.load(file)[:rows].reshape(rows, -1).astype(float)
    found = graph_of(nearest(points, neighbors), "union")
    if name:
        np.savez(name, starts=found.starts, indices=found.indices, lengths=found.lengths)
    return found


def timed(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def prepare(graph: Graph, precision: Precision) -> tuple[native.Elimination, native.Weights]:
    adjacency = pymetis.CSRAdjacency(graph.starts.astype(np.int32), graph.indices.astype(np.int32))
    order = np.asarray(pymetis.nested_dissection(adjacency=adjacency)[0])
    elimination = native.Elimination(graph.starts, graph.indices, graph.lengths, order)
    return elimination, eliminated(elimination, precision)


def eliminated(elimination: native.Elimination, precision: Precision) -> native.Weights:
    weights = elimination.weights(precision)
    for _ in in_stages(weights.stages, weights.factor):
        pass
    return weights


def all_pairs(graph: Graph, precision: Precision, out: AnyArray) -> None:
    _, weights = prepare(graph, precision)
    weights.all_pairs(out)


def fold_share(elimination: native.Elimination, weights: native.Weights, width: int, share: float) -> float:
    """The seconds of a whole pass, from a share of its blocks spread evenly."""
    vectors = np.random.default_rng(0).standard_normal((elimination.size, width))
    count = min(max(4, round(share * weights.blocks)), weights.blocks)
    blocks = ((np.arange(count) + 0.5) / count * weights.blocks).astype(int).tolist()

    def fold(block: int) -> float:
        later = elimination.size - weights.first(block)
        return weights.fold(block, vectors, np.zeros((later, width)), np.zeros(later))

    return timed(lambda: each(fold, blocks)) * weights.blocks / len(blocks)


def scipy_seconds(graph: Graph, share: float) -> float:
    sources = np.arange(0, graph.size, max(1, round(1 / share)))
    seconds = timed(lambda: dijkstra(graph.matrix(), directed=True, indices=sources))
    return seconds * graph.size / len(sources)


def stored(graph: Graph, repeats: int, share: float) -> dict[str, list[float]]:
    """Prints the seconds of all distances in a matrix; returns those of each turn by precision, and SciPy's.

    Matrices are filled before: a virtual machine gives a process a GB in 0.05 to 2 s, as its host has it at hand.
    """
    times: dict[str, list[float]] = {"scipy": [], "float64": [], "float32": []}
    out = np.ones((graph.size, graph.size))
    for _ in range(repeats):
        times["scipy"].append(scipy_seconds(graph, share))
        for precision in ("float64", "float32"):
            times[precision].append(timed(partial(all_pairs, graph, precision, out)))
    medians = {name: statistics.median(values) for name, values in times.items()}
    ratios = {name: statistics.median(np.divide(times["scipy"], values)) for name, values in times.items()}
    for name, seconds in medians.items():
        print(f"  all pairs in a matrix, {name:8} {seconds:9.3f} s   {ratios[name]:6.1f}x")
    return times


def streamed(graph: Graph, threads: int, width: int, share: float, scipy: float | None) -> None:
    """Prints the seconds of a pass over all distances that keeps none, and of what goes before it."""
    for precision in ("float32", "float64"):
        with limit_threads(1):
            start = time.perf_counter()
            elimination, weights = prepare(graph, precision)
            ready = time.perf_counter() - start
            alone = timed(partial(eliminated, elimination, precision))
        together = timed(partial(eliminated, elimination, precision))
        seconds = fold_share(elimination, weights, width, share)
        memory = elimination.bytes(precision) + threads * elimination.block_bytes(precision, stored=False)
        print(f"  {precision}: ready {ready:.3f} s; elimination {alone:.3f} s in one thread, {together:.3f} s"
              f" in {threads} ({elimination.work / together / 1e9:.1f}e9/s);"
              f" a fold pass of {width} vectors {seconds:.2f} s"
              f" ({elimination.relaxations(precision) / seconds / 1e9:.1f}e9 relaxations/s), {memory / 2**20:.0f} MiB"
              + (f"; all in all {scipy / (ready + seconds):.1f}x" if scipy else ""))


def main() -> None:
    restart_unforced()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=8000)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--neighbors", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3, help="turns of all pairs; 0: only a streamed pass")
    parser.add_argument("--scipy-share", type=float, default=0.1)
    parser.add_argument("--fold-share", type=float, default=0.1)
    parser.add_argument("--width", type=int, default=8)
    parser.add_argument("--cache", type=Path, help="a folder to keep neighbor graphs in")
    parser.add_argument("--json", type=Path, help="times of all pairs alone, written as JSON")
    given = parser.parse_args()
    with limit_threads(given.threads):
        print(kernels_in_use(sys.executable))
        made = graph(given.file, given.rows, given.neighbors, given.cache)
        print(f"{given.file or 'swiss roll'}, {given.rows} rows, {made.edges} edges, kernels {native.describe()}")
        times = stored(made, given.repeats, given.scipy_share) if given.repeats else None
        if given.json:
            given.json.write_text(json.dumps(times))
            return
        scipy = statistics.median(times["scipy"]) if times else None
        streamed(made, given.threads, given.width, given.fold_share, scipy)


if __name__ == "__main__":
    main()
