"""dropped.csv: the rows that a policy left out, and why."""

import csv
from collections.abc import Sequence
from pathlib import Path

from mlcli.data.prepare.missing import Dropped


def write_dropped(path: Path, dropped: Sequence[Dropped]) -> None:
    """Writes id, row (1-based, as in the input) and reason of each dropped row, in the order of rows."""
    with path.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", "row", "reason"])
        writer.writerows([d.id, d.row, d.reason] for d in sorted(dropped, key=lambda d: d.row))
