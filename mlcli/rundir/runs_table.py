"""`runs.csv`: the runs below one directory, one row each, with what made them differ and what came out."""

import csv
import io
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mlcli.findings import FINDINGS
from mlcli.publication.publish import write_whole

NAME = "runs.csv"
MOST_SHARES = 10
LEAST, RARE = 1.0, 50.0  # seconds, and multiples of the time that it takes, between one writing and the next

Row = Mapping[str, Any]  # by column


def finished_row(name: str, values: Mapping[str, Any], summary: Mapping[str, Any]) -> Row:
    """The row of a run that ended well: its name, the values that it differs by, and its headline figures.

    `memory_mib` is the most that the process held during the run; shares are those of the kept axes, ten at most.
    """
    shares = (summary.get("proportions") or ())[:MOST_SHARES]
    peaks = [stage["peak_memory_mib"] for stage in summary.get("stages", ()) if "peak_memory_mib" in stage]
    return {"run": name, **values, "exit": 0, "error": None, "seconds": summary.get("seconds"),
            "memory_mib": max(peaks, default=None),
            **({} if summary.get("onto") is None else {"onto": line_of(summary["onto"])}),
            "rows": summary["embedding"]["rows"], "components": summary["embedding"]["components"],
            **{f"share_{place}": share for place, share in enumerate(shares, start=1)},
            **{column: (summary.get(name) or {}).get(column) for name, finding in FINDINGS.items()
               for column in finding.columns}, "certificate": summary.get("certificate")}


def line_of(onto: Mapping[str, Any]) -> str:
    """Return the runs that a map grew from, the first one first."""
    return " > ".join(str(one["run"]) for one in onto.get("ancestors", ()))


def failed_row(name: str, values: Mapping[str, Any], error: Mapping[str, Any]) -> Row:
    """The row of a run that failed: its exit code, and its error's code with what was found."""
    return {"run": name, **values, "exit": error["exit"], "error": f"{error['code']}: {error['what']}"}


class RunsTable:
    """A table that grows: always whole, and written so rarely that it costs little of the time."""

    def __init__(self, path: Path, parameters: Sequence[str]) -> None:
        self.path, self.parameters = path, parameters
        self.rows: dict[int, Row] = {}  # by the place of the run among all
        self.next_write, self.unwritten = 0.0, False  # when it is to be written again

    def add(self, place: int, row: Row) -> None:
        """Adds the row of a run that has ended; raises StorageError and OutputRefused."""
        self.rows[place], self.unwritten = row, True
        if time.monotonic() >= self.next_write:
            self.write()

    def write(self) -> None:
        """Writes what was added since, in the place of an earlier table; raises StorageError and OutputRefused."""
        if not self.unwritten:
            return
        begun = time.monotonic()
        publish(table([self.rows[place] for place in sorted(self.rows)], self.parameters), self.path)
        now, self.unwritten = time.monotonic(), False
        self.next_write = now + max(LEAST, RARE * (now - begun))


def publish(text: str, path: Path) -> None:
    """Write a table in the place of an earlier one, names of files byte for byte."""
    content = text.encode("utf-8", "surrogateescape")
    write_whole(path, lambda draft: draft.write_bytes(content), force=True)


def table(rows: Sequence[Row], parameters: Sequence[str]) -> str:
    """The table as CSV: the run, its parameters, exit and error, then figures in the order of their first row."""
    shares = [f"share_{place}" for place in range(1, MOST_SHARES + 1) if any(f"share_{place}" in row for row in rows)]
    figures = [column for finding in FINDINGS.values() for column in finding.columns
               if finding.default or any(row.get(column) is not None for row in rows)]
    onto = ["onto"] if any(row.get("onto") for row in rows) else []
    columns = ["run", *parameters, "exit", "error", "seconds", "memory_mib", *onto, "rows", "components", *shares,
               *figures, "certificate"]
    written = io.StringIO()
    writer = csv.DictWriter(written, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({column: _cell(row.get(column)) for column in columns} for row in rows)
    return written.getvalue()


def _cell(value: Any) -> Any:
    """A value as a cell: nothing for null, numbers at full precision."""
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else repr(value) if isinstance(value, float) else value
