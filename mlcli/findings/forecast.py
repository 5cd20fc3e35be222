"""The forecast: the rows after the last one, of methods of sequences."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.findings.finding import File, Finding, Place

if TYPE_CHECKING:
    from mlcli.findings.frame.finished_run import FinishedRun
    from mlcli.findings.frame.result import Result
    from mlcli.report.drawing.html import Part

TABLE = File("forecast.csv")


@frozen
class ForecastRows:
    """Means and standard deviations of the next rows, in units of the input."""

    columns: tuple[str, ...]  # d
    means: Array  # m x d
    deviations: Array  # m x d


class ForecastFinding(Finding[ForecastRows]):
    """Means and standard deviations of the next rows of a sequence."""

    name = "forecast"
    files = (TABLE,)

    def compute(self, result: "Result", known: Mapping[str, Any]) -> ForecastRows | None:
        """Return the forecast of the fit, in units of the input; raises NumericalError."""
        forecast, start = result.model.forecast, result.start
        if forecast is None:
            return None
        above, below = (start.undone(forecast.means + bound) for bound in (forecast.deviations, -forecast.deviations))
        return ForecastRows(tuple(start.columns), start.back(forecast.means), abs(above - below) / 2)

    def write(self, value: ForecastRows, folder: Path, result: "Result") -> None:
        """Write forecast.csv: for each step, from 1, the columns' means, then their standard deviations."""
        from mlcli.data.write.table import warn_of_texts
        from mlcli.findings.frame.files import csv_table, digits, write_text

        head = ["step", *value.columns, *(f"sd {name}" for name in value.columns)]
        rows = zip(value.means, value.deviations, strict=True)
        warn_of_texts([value.columns], "name", TABLE.name)
        write_text(folder / TABLE.name, csv_table(head, (
            [step, *map(digits, means), *map(digits, deviations)]
            for step, (means, deviations) in enumerate(rows, start=1))))

    def sections(self, value: ForecastRows, run: "FinishedRun") -> Iterable[tuple[Place, "Part"]]:
        """Return nothing."""
        return ()
