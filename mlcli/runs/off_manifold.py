"""New rows counted by p that they are off the manifold, as their table is written; and the alarm of a job."""

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mlcli.base.values.naming import listed
from mlcli.core.similarities.off_manifold import ROWS
from mlcli.data.options.wording import counted
from mlcli.data.read.new_rows import MappedTable
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError, DataError
from mlcli.rundir.manifest import read_manifest
from mlcli.rundir.model import SCORE, P

USUAL = 0.05  # p below which rows are counted where nothing else is said
NAMED = 5  # rows in a message
HISTORY = "time,run,input,rows,p_below,rows_below,share"  # the head of a history: a line for each projection


@dataclass
class OffManifoldCount:
    """The new rows with p below a bound, counted while the parts of their table pass."""

    below: float
    asked: bool  # whether a run without p is an error
    rows: int = 0
    found: int = 0
    first: tuple[str, ...] = ()
    known: bool = False  # whether the run has p of new rows

    def require_reach(self, run: Path) -> None:
        """Raise ConfigError where no row can have p below the bound: p is at least 1 / (m + 1) of m rows."""
        manifest = read_manifest(run)
        rows = manifest.get("held_out") or min(ROWS, manifest["embedding"]["rows"])
        if self.below <= 1 / (rows + 1):
            raise ConfigError("P-BELOW", f"no new row can have p below {self.below:g}: p is computed from "
                              f"{counted(rows, 'row')} of this run, and is {1 / (rows + 1):.2g} or more",
                              where="--p-below", hint="give a larger one, or make the run again with more rows held "
                              "out ({report.calibration.share})")

    def watch(self, table: Table | MappedTable) -> Table | MappedTable:
        """Return a table that is counted: now, or part by part when it is written.

        Raises ConfigError where rows were to be counted and the run has no p.
        """
        return mapped(self._count, table)

    def _count(self, table: Table) -> Table:
        if P in table.columns:
            low = (table.values[:, table.columns.index(P)] < self.below).nonzero()[0].tolist()
            self.known, self.rows, self.found = True, self.rows + len(table.ids), self.found + len(low)
            self.first = (*self.first, *(table.ids[row] for row in low[:NAMED]))[:NAMED]
        elif self.asked:
            raise ConfigError("NO-SCORES", "this run has no p that new rows are off its manifold", where="--p-below",
                              hint="leave out --p-below, --share and --history; features and dissimilarities have p "
                              "where rows of one view are placed, and a run of an earlier version after it is made "
                              "again")
        return table

    @property
    def share(self) -> float:
        """The share of the rows with p below the bound."""
        return self.found / max(self.rows, 1)

    @property
    def sentence(self) -> str:
        """The count in words, for the end of a command."""
        verb = "has" if self.rows == 1 else "have"
        return f"{self.found:,} of {counted(self.rows, 'new row')} ({self.share:.1%}) {verb} p below {self.below:g}"

    def facts(self) -> dict[str, Any]:
        """Return the count as plain values; empty where the run has no p."""
        return {} if not self.known else {
            "off_manifold": {"p_below": self.below, "rows": self.found, "share": self.share}}

    def line(self, run: str, path: str) -> str:
        """Return the count of new rows of a file as a line of the history, at this time."""
        written = io.StringIO()
        csv.writer(written, lineterminator="").writerow([datetime.now(UTC).isoformat(timespec="seconds"), run, path,
                                                         self.rows, self.below, self.found, self.share])
        return written.getvalue()

    def require_share(self, most: float, path: str, output: str | None) -> None:
        """Raise DataError where more than a share of the rows have p below the bound; an `output` has their scores."""
        if self.share > most:
            file = "the output" if output == "-" else output
            said = "a csv or parquet file says" if output is None else f"the columns {SCORE} and {P} in {file} say"
            raise DataError("OFF-MANIFOLD", f"{self.sentence}, and at most {most:.1%} may: "
                            f"{listed(self.first, NAMED, self.found)}", where=path,
                            hint=f"{said} how far each is; fit the run again with such rows if they belong to it")


def mapped(change: Callable[[Table], Table], table: Table | MappedTable) -> Table | MappedTable:
    """Apply a function to a table, or to its parts when they are computed."""
    if isinstance(table, Table):
        return change(table)
    place = table.place
    return replace(table, place=lambda part: change(place(part)))
