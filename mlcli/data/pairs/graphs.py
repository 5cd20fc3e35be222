"""Graphs from files: edges between named points, and the conditions on their lengths or affinities."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import AffinityGraph, LengthGraph, WeightedGraph
from mlcli.data.files.source import Opened
from mlcli.data.formats.edges import Edges
from mlcli.data.formats.reader import reader_of
from mlcli.data.options.formats import FORMATS
from mlcli.data.options.input import Input
from mlcli.data.options.wording import counted, place, shown
from mlcli.data.pairs.edge_list import read_edge_list
from mlcli.data.table.table import Source, Table
from mlcli.errors import ConfigError, DataError
from mlcli.stages.graph.graph import undirected

EACH = 200.0  # bytes of a point, with its name and its row


def graph_table(file: Opened, input: Input, source: Source, compute: Compute) -> Table:
    """The points of a graph, without columns; raises DataError where its edges contradict each other."""
    format = FORMATS[source.format]
    entries = reader_of(format).entries
    if entries is None and (format.pairs or not format.named):
        raise ConfigError("FORMAT", f"{source.format} holds no graph", where="input.format",
                          hint="give a sparse matrix of SciPy (.npz), Matrix Market (.mtx), or a table of edges")
    edges = (read_edge_list(file, input, compute) if entries is None
             else entries(file, input, compute).edges(input.path))
    if edges.size < 1:
        raise DataError("EMPTY", "the graph has no points", where=place(input.path), hint="at least one is needed")
    compute.require(EACH * edges.size + 100.0 * len(edges.left), f"a graph of {counted(edges.size, 'point')}")
    ids = edges.ids or tuple(map(str, range(1, edges.size + 1)))
    graph = Reading(ids, input, entries is not None).graph(edges)
    return Table(graph.values, (), ids, edges.id_name, {}, input.kind, source, graph=graph)


@frozen
class Reading:
    """How the edges of a file become a graph, and what its errors call the points."""

    ids: Sequence[str]
    input: Input
    matrix: bool  # whether each direction has an entry of its own, or one triangle of the matrix is empty

    def graph(self, edges: Edges) -> WeightedGraph:
        """The graph of edges whose both directions agree."""
        edges = self.without_loops(self.checked(edges))
        kind = LengthGraph if self.input.edges == "lengths" else AffinityGraph
        if kind is AffinityGraph:
            edges = edges.take(edges.values > 0)  # an affinity of zero is no edge
        low, high, values = self.undirected(edges)
        graph = undirected(edges.size, low, high, values, "union")
        return kind(np.zeros((edges.size, 0)), self.ids, graph.starts, graph.indices, graph.lengths)

    def checked(self, edges: Edges) -> Edges:
        """The edges, if each has a number that is not negative."""
        for wrong, what in ((~np.isfinite(edges.values), "is no finite number"), (edges.values < 0, "is below zero")):
            if wrong.any():
                raise DataError("EDGE", f"the {self.noun} {self.shown(edges, wrong)} {what}", where=self.where,
                                hint=f"every edge needs a {self.noun} of zero or more")
        return edges

    def without_loops(self, edges: Edges) -> Edges:
        """The edges between different points; a point may be joined to itself by zero, as on a diagonal."""
        loops = edges.left == edges.right
        wrong = loops & (edges.values != 0)
        if wrong.any():
            raise DataError("LOOP", f"{counted(int(wrong.sum()), 'edge')} from a point to itself, the first at "
                            f"{self.named(edges.left[wrong][0])}", where=self.where, hint="leave such edges out")
        return edges.take(~loops)

    def undirected(self, edges: Edges) -> tuple[Indices, Indices, Array]:
        """Every edge once: its lower end, its higher end, and its number."""
        low, high = np.minimum(edges.left, edges.right), np.maximum(edges.left, edges.right)
        order = np.lexsort((edges.left > edges.right, high, low))
        edges, low, high = edges.take(order), low[order], high[order]
        same = (low[1:] == low[:-1]) & (high[1:] == high[:-1])
        again = same & (edges.left[1:] == edges.left[:-1])
        repeated = again & (edges.values[1:] != edges.values[:-1]) if not self.matrix else again
        if repeated.any():
            row = int(np.flatnonzero(repeated)[0])
            raise DataError("EDGE-TWICE", f"the edge {self.between(edges, row)} is there twice, with "
                            f"{edges.values[row]:.17g} and {edges.values[row + 1]:.17g}", where=self.where,
                            hint="keep one of them")
        first = np.append(True, ~again)[: len(low)]
        return self.merged(edges.take(first), low[first], high[first])

    def merged(self, edges: Edges, low: Indices, high: Indices) -> tuple[Indices, Indices, Array]:
        """One number for both directions, which follow each other where both are there."""
        both = np.append((low[1:] == low[:-1]) & (high[1:] == high[:-1]), False)[: len(low)]
        second = np.append(False, both[:-1])[: len(low)]
        values, back = edges.values.copy(), np.flatnonzero(second)
        unequal = back[values[back] != values[back - 1]]
        alone = np.flatnonzero(~both & ~second) if self.matrix and both.any() else back[:0]
        if self.input.symmetrize == "error" and (len(unequal) or len(alone)):
            raise self.asymmetric(edges, int(unequal[0]) - 1 if len(unequal) else int(alone[0]), bool(len(unequal)))
        if len(unequal) or len(alone):
            note("W-ASYMMETRY", f"{counted(len(unequal) + len(alone), 'edge')} of different directions were made one "
                 f"by input.symmetrize={self.input.symmetrize}", edges=len(unequal) + len(alone))
        pair = values[back - 1], values[back]
        values[back - 1] = (pair[0] * 0.5 + pair[1] * 0.5 if self.input.symmetrize == "mean"
                            else np.maximum(*pair) if self.input.symmetrize == "max" else np.minimum(*pair))
        return low[~second], high[~second], values[~second]

    def asymmetric(self, edges: Edges, row: int, both: bool) -> DataError:
        """The error for an edge whose directions differ."""
        other = f"{edges.values[row + 1]:.17g}" if both else "nothing"
        return DataError("ASYMMETRIC", f"the graph has directions: {self.between(edges, row)} it holds "
                         f"{edges.values[row]:.17g}, and {other} the other way", where=self.where,
                         hint="give {input.symmetrize=mean}, min or max")

    @property
    def where(self) -> str:
        """The file."""
        return place(self.input.path)

    @property
    def noun(self) -> str:
        """What the numbers are."""
        return "length" if self.input.edges == "lengths" else "affinity"

    def between(self, edges: Edges, row: int) -> str:
        """The ends of an edge."""
        return f"from {self.named(edges.left[row])} to {self.named(edges.right[row])}"

    def shown(self, edges: Edges, wrong: AnyArray) -> str:
        """The first edge of some, with its number."""
        row = int(np.flatnonzero(wrong)[0])
        return f"{self.between(edges, row)}, {edges.values[row]:.17g},"

    def named(self, point: int) -> str:
        """A point as messages show it."""
        return shown(self.ids[int(point)])
