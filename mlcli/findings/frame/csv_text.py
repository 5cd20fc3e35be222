"""Tables as CSV."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain


def csv_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV."""
    return "".join(csv_lines(header, rows))


def csv_lines(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield a table as CSV, line by line."""
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="\n")
    for row in chain([header], rows):
        line.seek(0)
        line.truncate()
        writer.writerow(row)
        yield line.getvalue()


def digits(value: float) -> str:
    """Return a number with 17 digits, which distinguish all doubles."""
    return f"{value:.17g}"
