"""Checks that a table, in memory or in a file, is in a metric's domain and has rows that the metric tells apart."""

from collections.abc import Iterator
from contextlib import closing

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.rows.memo import memoize
from mlcli.base.rows.source import Rows, rows_of
from mlcli.base.stages.stage import note
from mlcli.base.types import Array
from mlcli.base.values.inputs import Features
from mlcli.engine.executor import results
from mlcli.errors import rows_from
from mlcli.stages.algebra.metrics.base import Metric
from mlcli.stages.algebra.metrics.domain import CONSTANT, FIRST

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
    """Note columns with numbers that are not whole, in some of the rows: they are amounts, which do not count."""
    values = data.values
    some = values[::-(-values.size // BLOCK) or 1] if rows is None else rows[rows.some(FIRST)]
    names = [str(data.columns[column]) for column in np.flatnonzero((some != np.rint(some)).any(axis=0)).tolist()]
    if names:
        more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
        note("N-PRESENCE", f"{metric.name} compares only which numbers are not zero, so the amounts in these columns "
             f"do not count: {', '.join(map(repr, names[:LISTED]))}{more}; leave columns that tell no presence out "
             "with {input.columns}, or choose ruzicka or braycurtis, which compare amounts", columns=names[:NAMED])


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
class Domains:
    """A pass that checks rows and compares them with the first: a source of blocks."""

    rows: Rows
    metric: Metric
    columns: tuple[str, ...]
    first: Array  # 1 x d

    @property
    def blocks(self) -> int:
        """How many blocks of work there are."""
        return self.rows.blocks

    def work(self, number: int) -> float:
        """Return the largest difference in a block; raises DataError for a row outside of the domain."""
        return max(self._parts(number), default=0.0)

    def stop(self) -> None:
        """Blocks are short."""

    def _parts(self, number: int) -> Iterator[float]:
        metric = self.metric
        for place, rows in self.rows.parts(number):
            with rows_from(place):  # whose ids follow from their places
                metric.check(rows, range(len(rows)), self.columns)  # type: ignore[arg-type]
            first = metric.represent(self.first) if metric.contrasts else None
            yield 0.0 if first is None else difference(metric, first, rows)
