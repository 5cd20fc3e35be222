"""Tables as CSV."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from mlcli.base.types import Array


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


def number_lines(header: Sequence[str], names: Iterable[str], values: Array) -> Iterator[str]:
    """Yield a table of numbers (m x q) as CSV, line by line, each after its name; numbers as `digits` has them."""
    form = ",%.17g" * values.shape[1] + "\n"
    yield from csv_lines(header, ())
    for name, row in zip(islice(csv_lines((), ([name] for name in names)), 1, None), values, strict=True):
        yield name.removesuffix("\n") + form % tuple(row.tolist())


def digits(value: float) -> str:
    """Return a number with 17 digits, which distinguish all doubles."""
    return f"{value:.17g}"
