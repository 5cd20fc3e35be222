"""The forecast: the rows after the last one, of methods of sequences."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.findings.finding import Columns, File, Finding, Place

if TYPE_CHECKING:
    from mlcli.findings.frame.finished_run import FinishedRun
    from mlcli.findings.frame.result import Result
    from mlcli.report.drawing.html import Part

TABLE = File("forecast.csv", Columns(("step",)))
SHOWN, MOST = 4, 100  # columns and rows in the figures
TITLE = 40  # characters of the name above one
AROUND = 2.0  # deviations to both ends of an interval, between which 95% of a normal distribution lie


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

    def read(self, folder: Path, run: "FinishedRun") -> ForecastRows | None:
        """Return the forecast, None where there is none; raises UnsafeFile."""
        from mlcli.rundir.reading import csv_rows

        path = folder / TABLE.name
        if not path.exists():
            return None

        def wrong(head: list[str]) -> str | None:
            names = head[1:len(head) // 2 + 1]
            return None if head == ["step", *names, *(f"sd {name}" for name in names)] else (
                "its first line should name step, the columns and their deviations")

        head, _, numbers = csv_rows(path, check=wrong)
        count = len(head) // 2
        return ForecastRows(tuple(head[1:count + 1]), numbers[:, 1:count + 1], numbers[:, count + 1:])

    def sections(self, value: ForecastRows, run: "FinishedRun") -> Iterable[tuple[Place, "Part"]]:
        """Return the forecast of the columns whose means move most."""
        import numpy as np

        from mlcli.report.drawing.html import figure, section, sentence, side_by_side
        from mlcli.report.drawing.text import shorten
        from mlcli.report.figures.curves import over_sizes

        means, far = value.means[:MOST], AROUND * value.deviations[:MOST]
        if not means.size or not np.isfinite(means).all() or not np.isfinite(far).all():
            return []
        chosen = np.sort(np.argsort(-np.ptp(means, axis=0), kind="stable")[:SHOWN])
        steps, drawn = range(1, len(means) + 1), []
        for place in chosen.tolist():
            line, off = means[:, place], far[:, place]
            drawn.append(figure(over_sizes(
                shorten(value.columns[place], TITLE), "row after the last", "", steps,
                {"mean ± 2 sd": np.column_stack([line, line - off, line + off])}, {}, low=float((line - off).min()))))
        said = (f"The next {len(value.means):,} rows (forecast.csv); lines reach two standard deviations to both sides."
                + f" The first {MOST} rows are drawn." * (len(value.means) > MOST)
                + f" Of {len(value.columns):,} columns those {SHOWN} whose means move most." * (
                    len(value.columns) > SHOWN))
        return [(Place.RESULT, section("Forecast", sentence(said, "soft"), side_by_side(*drawn)))]
