"""Dijkstra's algorithm on the way between two points of a run: what it settles, in order, and Floyd's beside it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.base.values.naming import shown
from mlcli.core.paths.floyd import after_each_pivot
from mlcli.core.paths.geodesics import Search, search
from mlcli.data.options.wording import counted
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.data.table.table import Table
from mlcli.report.drawing.figure import Figure
from mlcli.report.drawing.html import Html, Part, document, figure, fold, join, section, sentence, table
from mlcli.report.drawing.text import number, safe, shorten
from mlcli.report.figures.overlays import NAMED, search_over
from mlcli.runs.route import RouteGraph

MOST = 200  # points in the tables of the page
FIRST = 20  # of them in the one that is open
SMALL = 12  # points of which Floyd's matrices are shown
ROUNDING = 1e-12  # of a distance
STEPS = (
    "All points are unvisited. The first has the tentative distance 0, and all others have an infinite one.",
    "The unvisited point of the smallest tentative distance is settled: no way over others can be shorter.",
    "Each of its unvisited neighbors gets the distance over it, if that is smaller than the tentative one.",
    "It ends when the target is settled, or when no tentative distance is finite: then there is no path.")


@frozen
class ExplainedRoute:
    """What Dijkstra's algorithm does between two points of a run, with lengths in the unit of its input."""

    given: RouteGraph
    search: Search
    way: Indices  # the shortest path (m); empty where there is none

    @property
    def reached(self) -> bool:
        """Whether the target was settled."""
        return len(self.way) > 0

    def names(self, points: Sequence[int]) -> list[str]:
        """Return the ids of points."""
        return [str(self.given.embedding.ids[point]) for point in points]

    def table(self) -> Table:
        """The settled points in order, with their distances, and 1 for those on the shortest path."""
        ids, points = self.given.embedding.ids, self.search.settled
        chosen = ids.take(points) if isinstance(ids, RowNumbers) else tuple(self.names(points.tolist()))
        on_path = np.isin(points, self.way).astype(np.float64)
        return Table(np.column_stack([self.search.lengths, on_path]), ("length", "on_path"), chosen,
                     self.given.embedding.id_name)

    def figure(self) -> Figure:
        """The visited part of the graph over the first two axes."""
        graph, settled = self.given.graph, self.search.settled
        counts = np.diff(graph.starts)[settled]
        edges = np.concatenate([graph.indices[graph.starts[point]:graph.starts[point + 1]]
                                for point in settled.tolist()])
        pairs = np.column_stack([np.repeat(settled, counts), edges])
        return search_over(self.given.embedding.values, self.search, pairs, self.way,
                           names=[shorten(name, NAMED) for name in self.names(self.given.ends)],
                           axes=self.given.axes, seed=self.given.seed)

    def sentence(self) -> str:
        """Return how the search ended, in words."""
        start, end = map(shown, self.names(self.given.ends))
        size, count = self.given.graph.size, len(self.search.settled)
        if not self.reached:
            return (f"There is no path from {start} to {end}: {counted(count, 'point')} of {size:,} can be reached; "
                    "all others keep an infinite distance, as they lie in other pieces of the graph.")
        if count == 1:
            return (f"The path from {start} to itself has no step and is 0 long: the first of {counted(size, 'point')} "
                    f"is the target, so the search ends before it looks at another one.")
        return (f"{end} is settled after {counted(count - 1, 'other point')} of {size:,}: the shortest path from "
                f"{start} has {counted(len(self.way) - 1, 'step')} and is {number(float(self.search.lengths[-1]))} "
                f"long. {counted(len(self.search.frontier), 'point')} had a tentative distance, and "
                f"{size - count - len(self.search.frontier):,} none.")

    def page(self) -> str:
        """Return the page of the explanation, without scripts and without network."""
        names = [shorten(name, NAMED) for name in self.names(self.given.ends)]
        lead = f'<p class="lead">{safe(self.sentence(), 1000)}</p>'
        steps = Html("<ol>" + "".join(f"<li>{safe(step, 1000)}</li>" for step in STEPS) + "</ol>")
        several = len(self.search.settled) > 1
        places = ("Points on the first two axes of the run." if self.given.embedding.values.shape[1] > 1 else
                  "Points on the only axis of the run, over the numbers of their rows.")
        return document(f"Dijkstra\u2019s algorithm from {names[0]} to {names[1]}", lead, join([
            section("The visited part of the graph", figure(self.figure(), (
                f"{places} Colors of settled points are the order in which they are settled, by distance; a dark "
                "line leads to the point before on the shortest path to each. Light lines are their other edges."))),
            section("The algorithm", steps), section("Settled points, in order", *self._settled()),
            section("Floyd\u2019s algorithm on the first points", *self._floyd()) if several else None]))

    def _settled(self) -> Iterator[Part]:
        some = slice(MOST)
        points = self.search.settled[some]
        before = ["" if point < 0 else self.names([point])[0] for point in self.search.before[some].tolist()]
        passed = ["yes" if found else "" for found in np.isin(points, self.way).tolist()]
        lengths = [number(length) for length in self.search.lengths[some].tolist()]
        rows = [*zip(range(1, len(points) + 1), self.names(points.tolist()), lengths, before, passed, strict=True)]
        head = ("order", "point", "distance", "over", "on the path")
        yield table(head, rows[:FIRST], (0, 2), pinned=True)
        yield fold(f"{len(rows) - FIRST:,} further points", table(head, rows[FIRST:], (0, 2), pinned=True))
        if len(self.search.settled) > MOST:
            yield sentence(f"The first {MOST:,} of {len(self.search.settled):,}; the table of the command has all.",
                           "soft")
        if len(self.search.frontier):
            nearest = ", ".join(f"{name} ({number(length)})" for name, length in zip(
                self.names(self.search.frontier[:SMALL].tolist()), self.search.tentative[:SMALL].tolist(), strict=True))
            yield sentence(f"Next would be, by tentative distance: {nearest}"
                           f"{', ...' if len(self.search.frontier) > SMALL else ''}.")

    def _floyd(self) -> Iterator[Part]:
        """Yield Floyd's matrices among the first settled points, which hold every shortest path to one of them."""
        first = self.search.settled[:SMALL]
        places = np.sort(first)
        matrices = [self.given.unit.plain(found) for found in after_each_pivot(self.given.graph.subgraph(places))]
        order = np.searchsorted(places, first)
        gap = largest_gap(matrices[-1][order[0], order], self.search.lengths[:SMALL])
        names = self.names(places.tolist())
        yield sentence(f"It finds all distances at once: after step k the matrix holds the shortest paths over the "
                       f"first k points alone. Among the first {counted(len(first), 'settled point')}, from "
                       f"{self.names(first[:1].tolist())[0]}, both algorithms find the same distances"
                       f"{'' if gap == 0 else f', but for a share of {gap:.1g}'}.")
        yield matrix(names, matrices[-1])
        yield fold(f"The matrix after each of {counted(len(first), 'step')}", *(
            part for step, found in enumerate(matrices) for part in (
                sentence(f"k = {step}" + (f", with paths over {names[step - 1]}" if step else ": edges")),
                matrix(names, found))))


def largest_gap(one: Array, other: Array) -> float:
    """Return the largest difference of distances (m each) over the largest of them; 0 where all are zero."""
    largest = float(np.abs(other).max(initial=0.0))
    return float(np.abs(one - other).max(initial=0.0)) / largest if largest > 0 else 0.0


def matrix(names: Sequence[str], values: Array) -> Part:
    """Return a matrix of distances (n x n) as a table; infinite ones are shown as such."""
    rows = [[name, *("\u221e" if value == np.inf else number(value) for value in row)]
            for name, row in zip(names, values.tolist(), strict=True)]
    return table(["", *names], rows, range(1, len(names) + 1), pinned=True)


def explain_route(folder: Path, start: str, end: str) -> ExplainedRoute:
    """Search for the shortest path between two points of a run, named by id.

    It raises what `route` raises, but nothing where no path joins two points of the run.
    """
    given = RouteGraph.of(folder, start, end)
    found = search(given.graph, *given.ends)
    reached = int(found.settled[-1]) == given.ends[1]
    way = given.routed().route.points if reached else np.zeros(0, dtype=np.int64)
    plain = given.unit.plain
    return ExplainedRoute(given, replace(found, lengths=plain(found.lengths), tentative=plain(found.tentative)), way)
