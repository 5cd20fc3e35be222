"""Local radii of points in data and layout, and their correlation, of a layout that keeps densities (densMAP)."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mlcli.findings.finding import Columns, File, Finding, Place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mlcli.findings.frame.finished_run import CsvColumns, FinishedRun
    from mlcli.findings.frame.result import Result
    from mlcli.report.drawing.html import Part

NUMBERS = ("data", "embedding")
TABLE = File("radii.csv", Columns(("id", *NUMBERS), texts=1))
SHOWN = 2_000  # most points of the figure


class RadiiFinding(Finding["CsvColumns"]):
    """The log of the local radius of each point in data and layout, relative to the median."""

    name = "radii"
    files = (TABLE,)

    def compute(self, result: "Result", known: "Mapping[str, Any]") -> "CsvColumns | None":
        """Return the log radii of a model that has them; NaN for a point without edges."""
        from mlcli.findings.frame.finished_run import CsvColumns

        radii = result.model.radii
        return None if radii is None else CsvColumns(
            {"id": tuple(result.embedding.ids), **dict(zip(NUMBERS, radii.T, strict=True))})

    def sections(self, value: "CsvColumns", run: "FinishedRun") -> Iterable[tuple[Place, "Part"]]:
        """Return the correlation in words, and the radii in the layout over those in the data."""
        import numpy as np

        from mlcli.report.drawing.html import figure, section, sentence
        from mlcli.report.figures.curves import beside
        from mlcli.report.figures.scatter import sample_rows

        pairs = np.column_stack([value.array(name) for name in NUMBERS])
        pairs = pairs[np.isfinite(pairs).all(axis=1)]
        some = sample_rows(len(pairs), SHOWN, run.seed)
        drawn = beside("Local radii", pairs if some is None else pairs[some], "log radius in the data",
                       "log radius in the embedding")
        known = run.fit.get("radius_correlation")
        said = ("Points whose neighbors are near have small radii. " + (
            "All radii in the embedding are equal." if known is None else
            f"Over the neighbors in the data, the correlation of log radii in data and embedding is {known:.3f}; at 1 "
            "one would follow from the other."))
        shown = len(pairs) if some is None else len(some)
        return [(Place.RESULT, section("Local densities", sentence(said), figure(
            drawn, f"{shown:,} of {len(pairs):,} points, relative to the median.")))]
