"""Graphs from files: edges between named points, and conditions on their lengths or affinities."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import AffinityGraph, LengthGraph, WeightedGraph
from mlcli.base.values.naming import shown
from mlcli.core.graph.graph import undirected
from mlcli.data.files.formats import format_of
from mlcli.data.files.source import Opened
from mlcli.data.formats.reader import reader_of
from mlcli.data.formats.sparse import Edges
from mlcli.data.options.formats import FORMATS
from mlcli.data.options.input import Input
from mlcli.data.options.wording import counted, place
from mlcli.data.pairs.lists import EITHER, NUMBERS, SOURCE, TARGET
from mlcli.data.table.row_numbers import ROW, RowNumbers
from mlcli.data.table.sheet import Sheet
from mlcli.data.table.table import Source, Table
from mlcli.errors import ConfigError, DataError

EACH = 200.0  # bytes of a point, with its name and its row


class EdgeList(Input):
    """The input of a list of edges: two columns of names, and one of numbers with one of two names."""

    def for_columns(self, names: Sequence[str], beside: Sequence[str] | None = None) -> Input:
        """Return the options with the columns of an edge list; raises DataError if the file lacks one."""
        own = NUMBERS[self.edges]
        number = next((name for name in (own, EITHER) if name in names), None)
        if number is None or SOURCE not in names or TARGET not in names:
            raise DataError("EDGE-LIST", f"an edge list has the columns {SOURCE}, {TARGET} and {own} (or {EITHER})",
                            where=place(self.path), hint="name them so in the first row")
        return self.chosen_as(Input, label_columns=(SOURCE, TARGET), columns=(number,))


def read_edge_list(file: Opened, input: Input, compute: Compute) -> Edges:
    """Read the edges of a table; its points are numbered in the order of their names, source before target.

    Raises DataError for edges without names or numbers.
    """
    sheet = _sheet(file, input, compute)
    names = np.array([sheet.labels[SOURCE], sheet.labels[TARGET]], dtype=object).T.ravel()
    blank = np.flatnonzero(names == "")
    if len(blank):
        raise DataError("MISSING", f"{counted(len(blank), 'end')} of edges without a name, the first in row "
                        f"{blank[0] // 2 + 1}", where=place(input.path), hint="name both ends of every edge")
    ids = {name: number for number, name in enumerate(dict.fromkeys(names.tolist()))}
    ends = np.fromiter((ids[name] for name in names.tolist()), dtype=np.int64, count=len(names))
    return Edges(len(ids), ends[::2], ends[1::2], sheet.values[:, 0], tuple(ids))


def _sheet(file: Opened, input: Input, compute: Compute) -> Sheet:
    """Read the two columns of names as labels, and the one of numbers; raises DataError if one is missing."""
    return reader_of(format_of(file, input)).table(file, input.as_subclass(EdgeList, header=True), compute)


def graph_table(file: Opened, input: Input, source: Source, compute: Compute) -> Table:
    """Return the points of a graph as a table without columns; raises DataError if its edges contradict each other."""
    format = FORMATS[source.format]
    entries = reader_of(format).entries
    if entries is None and (format.pairs or not format.named):
        raise ConfigError("FORMAT", f"{source.format} holds no graph", where="input.format",
                          hint="give a sparse matrix of SciPy (.npz), Matrix Market (.mtx), or a table of edges")
    edges = (read_edge_list(file, input, compute) if entries is None
             else entries(file, input, compute).edges(input.path))
    return points_of_graph(edges, input, source, compute, matrix=entries is not None)


def points_of_graph(edges: Edges, input: Input, source: Source, compute: Compute, *, matrix: bool) -> Table:
    """Return the points of a graph by its edges; of a `matrix`, these are one for each direction, or one triangle.

    Raises DataError if they contradict each other.
    """
    if edges.size < 1:
        raise DataError("EMPTY", "the graph has no points", where=place(input.path), hint="at least one is needed")
    compute.require_data(EACH * edges.size + 100.0 * len(edges.left), f"a graph of {counted(edges.size, 'point')}")
    ids = edges.ids or RowNumbers.up_to(edges.size)
    graph = GraphReader(ids, input, matrix).graph(edges)
    return Table(graph.values, (), ids, edges.id_name if edges.ids else ROW, {}, input.kind, source, graph=graph)


@frozen
class GraphReader:
    """The conversion of a file's edges to a graph, with the names of points for errors."""

    ids: Sequence[str]
    input: Input
    matrix: bool  # whether edges are entries of a matrix: one for each direction, or one triangle

    def graph(self, edges: Edges) -> WeightedGraph:
        """Return the graph of edges whose two directions agree; raises DataError."""
        edges = self.without_loops(self.require_numbers(edges))
        kind = LengthGraph if self.input.edges == "lengths" else AffinityGraph
        if kind is AffinityGraph:
            edges = edges.take(edges.values > 0)  # an affinity of zero is no edge
        low, high, values = self.undirected(edges)
        graph = undirected(edges.size, low, high, values, "union")
        return kind(np.zeros((edges.size, 0)), self.ids, graph.starts, graph.indices, graph.lengths)

    def require_numbers(self, edges: Edges) -> Edges:
        """Return the edges; raises DataError for a number that is negative or not finite."""
        for wrong, what in ((~np.isfinite(edges.values), "is no finite number"), (edges.values < 0, "is below zero")):
            if wrong.any():
                raise DataError("EDGE", f"the {self.noun} {self.shown(edges, wrong)} {what}", where=self.where,
                                hint=f"every edge needs a {self.noun} of zero or more")
        return edges

    def without_loops(self, edges: Edges) -> Edges:
        """Return the edges between different points; an edge of zero from a point to itself is allowed.

        Raises DataError for other loops.
        """
        loops = edges.left == edges.right
        wrong = loops & (edges.values != 0)
        if wrong.any():
            raise DataError("LOOP", f"{counted(int(wrong.sum()), 'edge')} from a point to itself, the first at "
                            f"{self.named(edges.left[wrong][0])}", where=self.where, hint="leave such edges out")
        return edges.take(~loops)

    def undirected(self, edges: Edges) -> tuple[Indices, Indices, Array]:
        """Return the lower end, higher end and number of every edge, each once, as three (m,) arrays.

        Raises DataError for an edge that occurs twice with different numbers.
        """
        low, high = np.minimum(edges.left, edges.right), np.maximum(edges.left, edges.right)
        order = np.lexsort((edges.left > edges.right, high, low))
        edges, low, high = edges.take(order), low[order], high[order]
        same = (low[1:] == low[:-1]) & (high[1:] == high[:-1])
        again = same & (edges.left[1:] == edges.left[:-1])
        repeated = again & (edges.values[1:] != edges.values[:-1]) if not self.matrix else again
        if repeated.any():
            row = int(np.flatnonzero(repeated)[0])
            raise DataError("EDGE-TWICE", f"the edge {self.between(edges, row)} occurs twice, with the numbers "
                            f"{edges.values[row]:.17g} and {edges.values[row + 1]:.17g}", where=self.where,
                            hint="keep one of them")
        first = np.append(True, ~again)[: len(low)]
        return self.merge_directions(edges.take(first), low[first], high[first])

    def merge_directions(self, edges: Edges, low: Indices, high: Indices) -> tuple[Indices, Indices, Array]:
        """Return one number for both directions of an edge. `low` and `high` are its ends, arrays of shape (m,).

        The two directions follow each other. Raises DataError if they differ and input.symmetrize is error.
        """
        both = np.append((low[1:] == low[:-1]) & (high[1:] == high[:-1]), False)[: len(low)]
        second = np.append(False, both[:-1])[: len(low)]
        values, back = edges.values.copy(), np.flatnonzero(second)
        unequal = back[values[back] != values[back - 1]]
        alone = np.flatnonzero(~both & ~second) if self.matrix and both.any() else back[:0]
        if self.input.symmetrize == "error" and (len(unequal) or len(alone)):
            row = int(unequal[0]) - 1 if len(unequal) else int(alone[0])
            raise self.asymmetry_error(edges, row, bool(len(unequal)))
        if len(unequal) or len(alone):
            note("W-ASYMMETRY", f"{counted(len(unequal) + len(alone), 'edge')} with different numbers in their two "
                 f"directions were combined by input.symmetrize={self.input.symmetrize}", edges=len(unequal) +
                 len(alone))
        pair = values[back - 1], values[back]
        values[back - 1] = (pair[0] * 0.5 + pair[1] * 0.5 if self.input.symmetrize == "mean"
                            else np.maximum(*pair) if self.input.symmetrize == "max" else np.minimum(*pair))
        return low[~second], high[~second], values[~second]

    def asymmetry_error(self, edges: Edges, row: int, both: bool) -> DataError:
        """Return the error for an edge with different directions."""
        other = f"{edges.values[row + 1]:.17g}" if both else "nothing"
        return DataError("ASYMMETRIC", f"the graph has directions: {self.between(edges, row)} it holds "
                         f"{edges.values[row]:.17g}, and {other} the other way", where=self.where,
                         hint="give {input.symmetrize=mean}, min or max")

    @property
    def where(self) -> str:
        """The file, for messages."""
        return place(self.input.path)

    @property
    def noun(self) -> str:
        """The noun of the numbers."""
        return "length" if self.input.edges == "lengths" else "affinity"

    def between(self, edges: Edges, row: int) -> str:
        """Return the ends of an edge in words."""
        return f"from {self.named(edges.left[row])} to {self.named(edges.right[row])}"

    def shown(self, edges: Edges, wrong: AnyArray) -> str:
        """Return the first flagged edge in words, with its number; `wrong` is an array of shape (m,)."""
        row = int(np.flatnonzero(wrong)[0])
        return f"{self.between(edges, row)}, {edges.values[row]:.17g},"

    def named(self, point: int) -> str:
        """Return a point's name for messages."""
        return shown(self.ids[int(point)])
