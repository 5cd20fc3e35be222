"""A graph read from a file: its pieces, the degrees of its points, and edges longer than a path between their ends."""

import numpy as np

from mlcli.base.rows.blocks import one_by_one, row_blocks
from mlcli.base.stages.stage import stage
from mlcli.base.values.inputs import WeightedGraph
from mlcli.checkup.report import EdgeFacts
from mlcli.core.distances import HELD
from mlcli.core.graph.graph import Graph
from mlcli.core.paths.geodesics import dijkstra_rows

LISTED = 10
ROUNDING = 1e-12  # of an edge: a path shorter by no more counts as equally long


@stage("graph")
def edges_of(data: WeightedGraph, largest: int) -> EdgeFacts:
    """Count and describe the edges of a graph.

    Edges longer than a path between their ends are counted if the graph has at most `largest` points and
    its weights are lengths.
    """
    graph = Graph(data.starts, data.indices, data.weights)
    counts, sizes, weights = np.diff(data.starts), np.bincount(graph.pieces()), data.weights
    there = data.apart and len(data.values) <= largest
    low, high = (float(weights.min()), float(weights.max())) if len(weights) else (None, None)
    return EdgeFacts(numbers="lengths" if data.apart else "affinities", edges=graph.edges,
                     zeros=int(np.sum(weights == 0)) // 2, smallest=low, largest=high,
                     fewest=int(counts.min()), most=int(counts.max()), hub=str(data.ids[int(counts.argmax())]),
                     pieces=len(sizes), piece_sizes=tuple(sizes[:LISTED].tolist()),
                     detours=detours(graph) if there else None)


def detours(graph: Graph) -> int:
    """Return the number of edges that are longer than the shortest path between their ends."""
    count = 0
    for block in one_by_one(row_blocks(graph.size, HELD, graph.size)):
        sources = np.arange(block.start, block.stop)
        edges = slice(graph.starts[block.start], graph.starts[block.stop])
        rows = np.repeat(np.arange(len(sources)), np.diff(graph.starts)[block])
        paths = dijkstra_rows(graph, sources)[rows, graph.indices[edges]]
        count += int(np.sum(paths < (1 - ROUNDING) * graph.lengths[edges]))
    return count // 2
