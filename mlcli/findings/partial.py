"""Partial points: the rows as each of several tables alone places them on the axes of all."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcli.findings.finding import Columns, File, Finding, Place

if TYPE_CHECKING:
    from mlcli.data.table.table import Table
    from mlcli.findings.frame.finished_run import CsvColumns, FinishedRun
    from mlcli.findings.frame.result import Result
    from mlcli.methods import Method
    from mlcli.report.drawing.html import Part

TABLE = File("partial.csv", Columns(("id",), texts=1))
NAMED = 5  # rows with a name
ROW = "all groups"  # the row itself, in the legend
SHOWN = 60  # rows of the figure, each with a point for every group
MOST_GROUPS = 12


class PartialFinding(Finding["CsvColumns"]):
    """The partial points of a method of several tables."""

    name = "partial"
    files = (TABLE,)

    def compute(self, result: "Result", known: Mapping[str, Any]) -> "CsvColumns | None":
        """Return for each row its coordinates by each group, as columns GROUP.y1, GROUP.y2, ..."""
        from mlcli.data.table.row_numbers import RowNumbers
        from mlcli.findings.frame.finished_run import CsvColumns

        found = result.model.groups
        if found is None or found.partial is None:
            return None
        ids = result.embedding.ids
        return CsvColumns({"id": ids if isinstance(ids, RowNumbers) else tuple(ids), **{
            f"{name}.y{axis + 1}": column for name, rows in zip(found.names, found.partial, strict=True)
            for axis, column in enumerate(rows.T)}})

    def cells(self, method: "Method", table: "Table") -> float:
        """Return as many numbers as rows, groups and axes make."""
        from mlcli.base.values.inputs import Features
        from mlcli.methods.tables.combine import TablesMethod

        chain = method.chain_of(table.kind)
        if chain is not None and chain.kernel.name == "sum" and chain.coordinates.scale == "roots":
            tables, axes = dict(chain.kernel)["tables"], chain.eigensolve.components
            return table.rows * len(tables) * (axes if isinstance(axes, int) else 0)
        if not isinstance(method, TablesMethod) or not method.places_partial:
            return 0
        data = table.data()
        count = len(method.groups_of(data)) if isinstance(data, Features) else len(table.views)
        return table.rows * count * method.axes.count

    def sections(self, value: "CsvColumns", run: "FinishedRun") -> Iterable[tuple[Place, "Part"]]:
        """Return some rows joined with their partial points."""
        import numpy as np

        from mlcli.base.values.naming import listed
        from mlcli.report.drawing.html import figure, section, sentence
        from mlcli.report.figures.coloring import coloring
        from mlcli.report.figures.scatter import DrawnEdges, Points, sample_rows, scatter
        from mlcli.rundir.reading import damaged

        axes = run.embedding.values.shape[1]
        names = [name.removesuffix(".y1") for name in list(value.columns)[1::max(axes, 1)]]
        if axes < 2 or not 1 < len(names) <= MOST_GROUPS:
            return []
        size, given = len(run.embedding.values), {f"{name}.y{axis}" for name in names for axis in (1, 2)}
        if not given <= value.columns.keys() or len(value.texts("id")) != size:
            raise damaged(Path(TABLE.name), f"it does not have the partial points of {size} rows by its groups")
        some = sample_rows(size, SHOWN, run.seed)
        rows = np.arange(size) if some is None else some
        placed = np.vstack([np.column_stack([value.array(f"{name}.y{axis}")[rows] for axis in (1, 2)])
                            for name in names])
        own = run.embedding.values[rows, :2]
        ids = [str(run.embedding.ids[row]) for row in rows.tolist()]
        with np.errstate(over="ignore", invalid="ignore"):  # of a damaged file
            lengths = np.sum((placed.reshape(len(names), len(rows), 2) - own) ** 2, axis=(0, 2))
        longest = np.argsort(-lengths, kind="stable")[:NAMED].tolist()
        apart = {name: f"{name}, supplementary" for name in getattr(run.config.method, "supplementary", ())}
        groups = [*(apart.get(name, name) for name in names), ROW]
        colors = coloring("group", [group for group in groups for _ in ids], names=groups)
        tips = [*(f"{row} by {name}" for name in names for row in ids), *ids]
        points = Points(np.vstack([placed, own]), tips, colors, len(tips), axes=run.axis_names(axes))
        drawn = scatter(points, "Partial points",
                        DrawnEdges(np.hstack([np.tile(own, (len(names), 1)), placed]), len(placed)),
                        names=[*[""] * len(placed),
                               *(row if place in longest else "" for place, row in enumerate(ids))])
        said = ("Each row lies at the weighted mean of its partial points: where each group alone would place it. Long "
                "lines belong to rows on which the groups disagree (partial.csv)."
                + " Supplementary groups have the weight zero." * bool(apart))
        caption = (("" if some is None else f"{len(rows)} of {size:,} rows, drawn at random. ")
                   + f"The longest lines: {listed([ids[place] for place in longest])}.")
        return [(Place.RESULT, section("Partial points", sentence(said, "soft"), figure(drawn, caption)))]
