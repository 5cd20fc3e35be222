"""The shortest path between two points of a finished run, as a table and as a figure."""

import difflib
from collections.abc import Sequence
from pathlib import Path

from mlcli.base.frozen import frozen
from mlcli.base.values.naming import listed, shown
from mlcli.base.values.scaling import Unit
from mlcli.core.graph.graph import Graph
from mlcli.core.model import OTHER_PIECE
from mlcli.core.paths.geodesics import Route, shortest_route
from mlcli.core.similarities.projector import require_projector
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError, GeometryError
from mlcli.report.drawing.figure import Figure
from mlcli.report.figures.overlays import path_over
from mlcli.rundir.archive import read_model
from mlcli.rundir.embedding import dropped_rows, intact_embedding
from mlcli.rundir.manifest import read_manifest
from mlcli.rundir.reading import damaged
from mlcli.runs.project import axes_of

NEAR = 10_000  # ids among which the nearest one is looked for


@frozen
class Routed:
    """A path on the graph of a run, in the units of the run's input."""

    route: Route
    embedding: Table
    axes: Sequence[str]  # what stands beside the first two
    seed: int

    def table(self) -> Table:
        """The ids on the way with the lengths so far."""
        ids, points = self.embedding.ids, self.route.points
        chosen = ids.take(points) if isinstance(ids, RowNumbers) else tuple(ids[point] for point in points.tolist())
        return Table(self.route.lengths[:, None], ("length",), chosen, self.embedding.id_name)

    def figure(self) -> Figure:
        """The path over the first two axes."""
        return path_over(self.embedding.values, self.embedding.ids, self.route.points, float(self.route.lengths[-1]),
                         axes=self.axes, seed=self.seed)


@frozen
class RouteGraph:
    """The neighbor graph of a run, and two of its points."""

    folder: Path
    graph: Graph
    unit: Unit  # of lengths
    embedding: Table
    axes: Sequence[str]
    seed: int
    ends: tuple[int, int]

    @classmethod
    def of(cls, folder: Path, start: str, end: str) -> "RouteGraph":
        """Return the graph of a run and two points, named by id.

        Raises ConfigError where the run has no graph, and what `require_kept` does.
        """
        run = read_model(folder)
        projector = require_projector(run.projector)
        graph = projector.similarity.path_graph
        if graph is None:
            raise ConfigError("NO-GRAPH", "this run has no neighbor graph with edge lengths",
                              where=str(folder), hint="isomap makes one: mlcli embed --method isomap")
        manifest = read_manifest(folder)
        file, embedding = intact_embedding(folder, manifest)
        if len(embedding.ids) != graph.size:
            raise damaged(folder / file, f"it has {len(embedding.ids)} rows, and the graph {graph.size} points")
        require_kept((start, end), embedding.ids, folder)
        return cls(folder, graph, projector.similarity.distance_unit(projector.input_unit), embedding,
                   axes_of(folder, manifest), int(manifest.get("seed") or 0),
                   (place_of(start, embedding.ids, "A"), place_of(end, embedding.ids, "B")))

    def routed(self) -> Routed:
        """Return the shortest path between the two points; raises GeometryError where there is none."""
        path = shortest_route(self.graph, *self.ends)
        return Routed(Route(path.points, self.unit.plain(path.lengths)), self.embedding, self.axes, self.seed)


def route(folder: Path, start: str, end: str) -> Routed:
    """The shortest path between two points of a run, named by id; raises ConfigError where the run has no graph."""
    return RouteGraph.of(folder, start, end).routed()


def require_kept(ends: Sequence[str], ids: Sequence[str], folder: Path) -> None:
    """Raise an error for points that the run left out: GeometryError where they lie in another piece of the graph, to
    which no path leads, else ConfigError with the reason.
    """
    lost = {row.id: row.reason for row in dropped_rows(folder)}
    gone = [name for name in dict.fromkeys(ends) if name in lost and name not in ids]
    if not gone:
        return
    if any(lost[name] != OTHER_PIECE for name in gone):
        name = next(name for name in gone if lost[name] != OTHER_PIECE)
        raise ConfigError("UNKNOWN-ID", f"the run left out {shown(name)}: {lost[name]}",
                          where="A" if name == ends[0] else "B", hint="choose a point of embedding.csv")
    lie = "lies" if len(gone) == 1 else "lie"
    raise GeometryError("NO-ROUTE", f"no path joins the two points: {listed(gone)} {lie} {OTHER_PIECE}, which alone "
                        "the run kept", where=str(folder), hint="choose points of embedding.csv, or make the run with "
                        "{method.neighbors.pieces=connect}")


def place_of(name: str, ids: Sequence[str], where: str) -> int:
    """Return the number of the point with an id; raises ConfigError with similar ids, or a range of numbers."""
    place = next((place for place, known in enumerate(ids) if known == name), None)
    if place is None:
        if all(known.isascii() and known.isdigit() for known in ids):
            first, last = (found(map(int, ids)) for found in (min, max))
            some = f"{len(ids):,} of the numbers" if len(ids) <= last - first else "the numbers"
            hint = f"its points are {some} {first} to {last}"
        elif near := difflib.get_close_matches(name, ids[:NEAR], n=3):
            hint = f"did you mean {' or '.join(map(shown, near))}?"
        else:
            hint = f"its points are {listed(ids)}"
        raise ConfigError("UNKNOWN-ID", f"the run has no point {shown(name)}", where=where, hint=hint)
    return place
