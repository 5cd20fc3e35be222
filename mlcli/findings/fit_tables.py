"""trace.csv, loadings.csv, posterior.csv, forecast.csv: what a fit gives besides coordinates and spectrum."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from mlcli.base.rows.scratch import by_rows
from mlcli.base.types import Array
from mlcli.base.values.quantity import Quantity
from mlcli.data.table.table import Table
from mlcli.data.write.table import text_names


def trace_table(objective: Array, curves: Mapping[str, Quantity]) -> str:
    """The objective after each iteration, from 1, and what went with it."""
    rows = zip(objective, *(np.asarray(curve.value) for curve in curves.values()), strict=True)
    return written(["iteration", "objective", *curves],
                   ([i, *map(_number, row)] for i, row in enumerate(rows, start=1)))


def loadings_table(columns: Sequence[str], loadings: Array) -> Iterator[str]:
    """One row for each column of the data, with its loadings (d x p) on the axes y1..yp, line by line."""
    axes = [f"y{axis + 1}" for axis in range(loadings.shape[1])]
    rows = zip(columns, loadings, strict=True)
    return lines_of(["column", *axes], ([name, *map(_number, row)] for name, row in rows))


def posterior_table(embedding: Table, spreads: Array) -> Table:
    """One row for each point with the entries of its posterior covariance (n x p x p) on and above the diagonal.

    Of axes that are independent there are the standard deviations (n x p), under their names.
    """
    size = spreads.shape[1]
    pairs = [(i, j) for i in range(size) for j in range(i, size)] if spreads.ndim == 3 else [(i,) for i in range(size)]
    entries = by_rows(lambda some: np.stack([some[:, *pair] for pair in pairs], axis=1), spreads)
    return Table(entries, tuple("_".join(f"y{i + 1}" for i in pair) for pair in pairs), embedding.ids,
                 text_names(embedding)[0])


def forecast_table(columns: Sequence[str], means: Array, deviations: Array) -> str:
    """One row for each row that comes next, from 1: the columns' means (N x d), then their standard deviations."""
    return written(["step", *columns, *(f"sd {name}" for name in columns)],
                   ([i, *map(_number, row)] for i, row in enumerate(np.hstack([means, deviations]), start=1)))


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


def _number(value: float) -> str:
    return f"{value:.17g}"
