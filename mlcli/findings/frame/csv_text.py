"""Tables as CSV."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain


def written(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as CSV."""
    return "".join(lines_of(header, rows))


def lines_of(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """The same, line by line."""
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="\n")
    for row in chain([header], rows):
        line.seek(0)
        line.truncate()
        writer.writerow(row)
        yield line.getvalue()


def digits(value: float) -> str:
    """A number with the digits that distinguish it."""
    return f"{value:.17g}"
