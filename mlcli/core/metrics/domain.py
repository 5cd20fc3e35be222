"""Checks that a table, in memory or in a file, is in a metric's domain and has rows that the metric tells apart."""

from collections.abc import Iterator, Sequence
from contextlib import closing

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.rows.memo import memoize
from mlcli.base.rows.source import RowPass, Rows, rows_of
from mlcli.base.stages.stage import note
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.inputs import Features
from mlcli.core.metrics.base import Metric
from mlcli.engine.executor import results
from mlcli.errors import DataError, rows_from

CONSTANT = 8 * np.finfo(np.float64).eps  # of a row's largest number: variation as small as this is rounding
FIRST = 256  # rows that are compared before all others: most often they differ


@frozen
class Domain:
    """Points with their names, and the metric whose domain they are checked for."""

    metric: str
    points: Array  # n x d, finite
    ids: Sequence[str]  # n
    columns: Sequence[str]  # d

    def require_cells(self, inside: AnyArray, numbers: str, remedy: str) -> None:
        """Raise DataError for the first cell that is not `inside`, an (n, d) array of booleans."""
        if not inside.all():
            row, column = np.argwhere(~inside)[0].tolist()
            raise self._refused(row, f"column {self.columns[column]!r}: {self.metric} is defined for numbers "
                                f"{numbers}, not {self.points[row, column]:g}", remedy)

    def require_amounts(self) -> None:
        """Raise DataError for numbers below zero, and for rows of zeros."""
        self.require_nonnegative()
        self.require_nonzero()

    def require_nonnegative(self) -> None:
        """Raise DataError for numbers below zero."""
        self.require_cells(self.points >= 0, "of zero or more",
                           "correct the cell, or choose euclidean or cityblock, which take all numbers")

    def require_nonzero(self) -> None:
        """Raise DataError for rows of zeros."""
        self.require_rows(np.asarray(self.points.any(axis=1)), "a row of zeros",
                          "leave the row out, or choose euclidean or cityblock")

    def require_varying(self) -> None:
        """Raise DataError for rows whose numbers are all equal but for rounding."""
        size = np.abs(self.points).max(axis=1, initial=0.0)
        with np.errstate(over="ignore"):
            range_ = self.points.max(axis=1, initial=-np.inf) - self.points.min(axis=1, initial=np.inf)
        self.require_rows(range_ > CONSTANT * size, "a row without variation",
                          "leave the row out, or choose cosine or euclidean")

    def require_rows(self, inside: AnyArray, what: str, remedy: str) -> None:
        """Raise DataError for the first row that is not `inside`, an (n,) array of booleans."""
        if not inside.all():
            raise self._refused(int(np.flatnonzero(~inside)[0]), f"{self.metric} is not defined for {what}", remedy)

    def _refused(self, row: int, what: str, remedy: str) -> DataError:
        return DataError("METRIC", what, where="method.metric", hint=remedy, row=row, name=repr(self.ids[row]))


LISTED, NAMED = 5, 100  # columns in a message, and in run.json
BLOCK = 1 << 20  # numbers that are represented together


def require_domain(metric: Metric, data: Features) -> None:
    """Refuse points outside of a metric's domain, and a table whose rows it does not tell apart; raises MlcliError."""
    rows = rows_of(data.values)
    if rows is None:
        metric.check(data.values, data.ids, data.columns)
        gap = gap_of(metric, data.values)
    else:  # the fit and its plan need it again
        gap = memoize("gap", (rows, metric), lambda: file_gap(metric, rows, tuple(data.columns)))
    if metric.contrasts:
        metric.require_contrast(gap, len(data.values))
    if metric.presence:
        note_amounts(metric, data, rows)


def note_amounts(metric: Metric, data: Features, rows: Rows | None) -> None:
    """Note columns with numbers that are not whole, in some of the rows: they are amounts, which do not count.

    Beside as many columns of zeros and ones, or more, it is a warning: they are hardly meant as presence.
    """
    values = data.values
    some = values[::-(-values.size // BLOCK) or 1] if rows is None else rows[rows.some(FIRST)]
    names = [str(data.columns[column]) for column in np.flatnonzero((some != np.rint(some)).any(axis=0)).tolist()]
    if not names:
        return
    more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    listed = ", ".join(map(repr, names[:LISTED])) + more
    if np.count_nonzero(((some == 0) | (some == 1)).all(axis=0)) >= len(names):
        note("W-PRESENCE", f"{metric.name} compares only which numbers are not zero; beside columns of 0 and 1, "
             f"these hold amounts, which count as present: {listed}; leave them out with {{input.columns}}",
             columns=names[:NAMED])
    else:
        note("N-PRESENCE", f"{metric.name} compares only which numbers are not zero, so the amounts in these columns "
             f"do not count: {listed}; leave columns that tell no presence out with {{input.columns}}, or choose "
             "ruzicka or braycurtis, which compare amounts", columns=names[:NAMED])


def gap_of(metric: Metric, points: Array) -> float:
    """Return the largest difference between represented numbers of points (n x d) and those of the first.

    The search stops at the first block where it is more than rounding.
    """
    gap, first = 0.0, metric.represent(points[:1]) if metric.contrasts else points[:0]
    for some in (slice(FIRST), *row_blocks(len(points), BLOCK, points.shape[1])) if len(first) else ():
        gap = max(gap, difference(metric, first, points[some]))
        if gap > CONSTANT:
            break
    return gap


def difference(metric: Metric, first: Array, points: Array) -> float:
    """Return the largest difference between represented numbers of points (m x d) and the first row's (1 x r)."""
    return float(np.abs(metric.represent(points) - first).max(initial=0.0))


def file_gap(metric: Metric, rows: Rows, columns: tuple[str, ...]) -> float:
    """Return the gap of rows in a file, and check their domain: by one pass, or from the sample where that suffices."""
    sample = rows[rows.some(FIRST)]
    gap = gap_of(metric, sample) if type(metric).check is Metric.check else 0.0
    if type(metric).check is Metric.check and (gap > CONSTANT or not metric.contrasts):
        return gap
    with closing(results(Domains(rows, metric, columns, sample[:1]))) as every:
        return max(every, default=0.0)


@frozen
class Domains(RowPass):
    """A pass that checks rows and compares them with the first: a source of blocks."""

    metric: Metric
    columns: tuple[str, ...]
    first: Array  # 1 x d

    def work(self, number: int) -> float:
        """Return the largest difference in a block; raises DataError for a row outside of the domain."""
        return max(self._parts(number), default=0.0)

    def _parts(self, number: int) -> Iterator[float]:
        metric = self.metric
        for place, rows in self.rows.parts(number):
            with rows_from(place):  # whose ids follow from their places
                metric.check(rows, range(len(rows)), self.columns)  # type: ignore[arg-type]
            first = metric.represent(self.first) if metric.contrasts else None
            yield 0.0 if first is None else difference(metric, first, rows)
