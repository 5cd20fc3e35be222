"""The spectrum: eigenvalues with their shares of the trace."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcli.findings.finding import Columns, File, Finding, Place

if TYPE_CHECKING:
    from mlcli.findings.frame.finished_run import CsvColumns, FinishedRun
    from mlcli.findings.frame.result import Result
    from mlcli.report.drawing.html import Part

HEADER = ("component", "eigenvalue", "proportion", "cumulative")
DIGITS = "certain_digits"  # of axes
SHARED = "shares_with"  # the first component with the same eigenvalue, of axes of which only the span is determined
ANGLES = "angle_bound"  # degrees, of axes by landmarks
ADJUSTED = "adjusted", "adjusted_share"  # of answers: inertias, and their shares of the adjusted total
TABLE = File("spectrum.csv", Columns(HEADER, counts=HEADER[:1]))


class SpectrumFinding(Finding["CsvColumns"]):
    """The eigenvalues, of methods that have any."""

    name = "spectrum"
    files = (TABLE,)
    needs = ("dimension",)  # for the line of parallel analysis in the scree plot
    output = True

    def compute(self, result: "Result", known: Mapping[str, Any]) -> "CsvColumns | None":
        """Return the leading eigenvalues, as many as the option `report` of the method's axes."""
        from mlcli.findings.spectrum.table import spectrum_rows

        model = result.model
        reported = result.config.method.axes_options.written(model.embedding.shape[1])
        return None if model.spectrum is None else spectrum_rows(model.spectrum, reported)

    def read(self, folder: Path, run: "FinishedRun") -> "CsvColumns | None":
        """Return the columns of spectrum.csv; raises UnsafeFile where they contradict each other."""
        rows = super().read(folder, run)
        if rows is not None:
            from mlcli.findings.spectrum.table import require_consistent

            require_consistent(rows, folder / TABLE.name)
        return rows

    def sections(self, value: "CsvColumns", run: "FinishedRun") -> Iterable[tuple[Place, "Part"]]:
        """Return scree plot, cumulative shares and a table."""
        from mlcli.findings.spectrum.section import spectrum

        return [(Place.PICTURE, spectrum(run))]
