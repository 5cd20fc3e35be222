"""How far rows of a former map moved in a run that adds rows and ties the others to their places."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mlcli.findings.finding import Columns, File, Finding, Place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mlcli.findings.frame.finished_run import CsvColumns, FinishedRun
    from mlcli.findings.frame.result import Result
    from mlcli.report.drawing.html import Part

TABLE = File("moved.csv", Columns(("id", "moved", "former1"), texts=1))
SHOWN = 1_000  # most lines of the figure
FAR = 0.1  # of the radius of the former map
TITLE = "From former to new places"


class MovedFinding(Finding["CsvColumns"]):
    """The distance of each former row from its former place, and that place."""

    name = "moved"
    files = (TABLE,)

    def compute(self, result: "Result", known: "Mapping[str, Any]") -> "CsvColumns | None":
        """Return distances and former places of rows that are tied to them."""
        from mlcli.findings.frame.finished_run import CsvColumns

        onto = None if result.input is None else result.input.onto
        if onto is None or onto.weight is None:
            return None
        former, ids = onto.coordinates[onto.kept], result.embedding.ids
        return CsvColumns({"id": tuple(ids[row] for row in onto.kept.tolist()),
                           "moved": onto.distances(result.embedding.values),
                           **{f"former{axis}": column for axis, column in enumerate(former.T, 1)}})

    def sections(self, value: "CsvColumns", run: "FinishedRun") -> Iterable[tuple[Place, "Part"]]:
        """Return in words how many rows moved far, and lines from former to new places."""
        import numpy as np

        from mlcli.report.drawing.html import figure, section, sentence
        from mlcli.report.figures.overlays import moves_over
        from mlcli.report.figures.scatter import sample_rows

        moved = value.array("moved")
        former = np.column_stack([value.array(name) for name in value.columns if name.startswith("former")])
        radius = float(np.sqrt(np.mean(np.sum((former - former.mean(axis=0)) ** 2, axis=1))))
        rows = {name: row for row, name in enumerate(run.embedding.ids)}
        places = np.array([rows[name] for name in value.texts("id")], dtype=np.int64)
        some = sample_rows(len(moved), SHOWN, run.seed)
        drawn = np.arange(len(moved)) if some is None else some
        far = int(np.sum(moved > FAR * radius))
        middle, most = (f"{some:.3g}" for some in (np.median(moved), moved.max()))
        said = (f"{far:,} of {len(moved):,} former rows moved farther than {FAR * radius:.3g}, a tenth of the "
                "radius of the former map (the root mean square distance of its rows from their mean). The median "
                f"distance is {middle}, the largest {most}.")
        sample = "" if some is None else f" A random sample of {len(some):,} of {len(moved):,} rows."
        return [(Place.PICTURE, section("How far rows moved", sentence(said), figure(
            moves_over(run.embedding.values, places[drawn], former[drawn], title=TITLE, axes=run.axes, seed=run.seed),
            f"A line from the former place of each row to a dot at its new one; other rows are gray.{sample}")))]
