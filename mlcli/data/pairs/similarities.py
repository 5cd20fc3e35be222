"""Similarities in a file that become dissimilarities by a rule: a matrix in memory, or one that is read in blocks."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import reduce
from typing import cast

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.rows.source import HalfSource, Part, RowPass, Rows, RowsOfSource
from mlcli.base.stages.stage import note
from mlcli.base.types import Array, Indices
from mlcli.data.options.input import Input
from mlcli.data.options.wording import place
from mlcli.data.pairs.symmetry import make_symmetric, symmetrize
from mlcli.data.table.cells import ROWS, named, refuse_nonfinite
from mlcli.data.table.similarities import FORMULAS, SimilarityRule
from mlcli.data.table.table import Table
from mlcli.engine.executor import results

COMPLETE = "every two points need a number; leave points out that have none"


def to_dissimilarities(table: Table, input: Input, *, strict: bool = True) -> Table:
    """Return the table of a matrix in memory with dissimilarities instead of similarities, and with its rule.

    The numbers are made symmetric first, as dissimilarities are; an empty diagonal is that of the largest similarity.
    Without `strict`, for a checkup, missing numbers, asymmetry and other diagonals stay what they are. Raises DataError
    for numbers that are no similarities of the rule, with their cells.
    """
    if input.similarities is None:
        return table
    values, ids, where = table.values, tuple(table.ids), place(input.path)
    least, largest = _extent(values)
    rule = SimilarityRule(input.similarities, largest if input.similarities == "max-minus" else 1.0)
    diagonal = np.diag(values)
    np.fill_diagonal(values, np.where(np.isnan(diagonal), rule.largest, diagonal))
    if strict:
        refuse_nonfinite(values, ids, ids, where, COMPLETE)
    rule.refuse_outside(values, ids, ids, where)
    if strict:
        values = make_symmetric(values, ids, input)
        rule.require_largest(np.diag(values), ids, where)
    elif input.symmetrize != "error":
        symmetrize(values, input.symmetrize)
    for rows in row_blocks(len(values), ROWS):
        values[rows] = rule.apply_to_rows(values[rows], np.arange(rows.start, rows.stop))
    _tell(rule, least, largest)
    return replace(table, values=values, rule=rule)


def _extent(values: Array) -> tuple[float, float]:
    """Return the smallest and the largest finite number of an array, or 0 and 1 without any."""
    finite = np.isfinite(values)
    if not finite.any():
        return 0.0, 1.0
    return (float(values.min(where=finite, initial=np.inf)), float(values.max(where=finite, initial=-np.inf)))


def _tell(rule: SimilarityRule, least: float, largest: float) -> None:
    """Note how similarities became dissimilarities."""
    note("N-SIMILARITIES", f"similarities from {least:.6g} to {largest:.6g} became dissimilarities: "
         f"{FORMULAS[rule.name]}", rule=rule.name, smallest=least, largest=largest)


@frozen
class RowsByRule(RowsOfSource):
    """Rows of similarities in a file, read as dissimilarities."""

    rule: SimilarityRule

    @property
    def bounds(self) -> tuple[int, ...]:
        """First rows of blocks, and the number of rows."""
        return self.source.bounds

    @property
    def buffer_bytes(self) -> int:
        """The bytes in use while the source reads, with the similarities of a part."""
        return self.source.buffer_bytes + 8 * self.source.part * self.source.columns

    def take(self, chosen: Indices) -> Array:
        """Return single rows as an (m, n) array."""
        return self.rule.apply_to_rows(self.source.take(chosen), chosen)

    def parts(self, number: int) -> Iterator[Part]:
        """Yield the rows of a block."""
        for first, rows in self.source.parts(number):
            yield first, self.rule.apply_to_rows(rows, np.arange(first, first + len(rows)))

    def key(self) -> str:
        """Return the source's key and the rule, for cache keys."""
        return f"{self.source.key()} {self.rule!r}"


class PairsByRule(RowsByRule):
    """Similarities of a file that has each pair once, and none of a point to itself."""

    def take(self, chosen: Indices) -> Array:
        """Return single rows as an (m, n) array, with zeros on the diagonal."""
        found = self.rule.apply(self.source.take(chosen))
        found[np.arange(len(chosen)), chosen] = 0.0
        return found

    def parts(self, number: int) -> Iterator[Part]:
        """Yield the rows of a block, with zeros on the diagonal."""
        for first, rows in self.source.parts(number):
            found, own = self.rule.apply(rows), np.arange(len(rows))
            found[own, first + own] = 0.0
            yield first, found

    def wedges(self, number: int) -> Iterator[Part]:
        """Yield the rows of a block from the first one's diagonal on, zeros on and below it."""
        for first, wedge in cast(HalfSource, self.source).wedges(number):
            yield first, np.triu(self.rule.apply(wedge), 1)


@frozen
class Seen:
    """The extent of similarities in a file, and those that are none of a rule."""

    least: float
    largest: float
    outside: int
    first: tuple[tuple[int, int, float], ...]  # the first one, by row and column

    def __add__(self, other: "Seen") -> "Seen":
        return Seen(min(self.least, other.least), max(self.largest, other.largest), self.outside + other.outside,
                    (*self.first, *other.first)[:1])


@frozen
class ExtentPass(RowPass):
    """A pass over similarities, as a source of blocks."""

    rule: SimilarityRule | None  # none whose domain is all numbers

    def work(self, number: int) -> Seen:
        """Return what is seen in a block."""
        half = self.rows.half_stored
        parts = self.rows.wedges(number) if half else self.rows.parts(number)
        return reduce(Seen.__add__, (self._seen(first, rows, half) for first, rows in parts))

    def _seen(self, first: int, rows: Array, half: bool) -> Seen:
        """Return what is seen in rows from number `first` on: whole ones, or from the first one's diagonal on."""
        there = np.triu(np.ones(rows.shape, dtype=bool), 1) & np.isfinite(rows) if half else np.isfinite(rows)
        outside = np.zeros_like(there) if self.rule is None else self.rule.outside(rows) & there
        cells = np.argwhere(outside)[:1].tolist()
        return Seen(float(rows.min(where=there, initial=np.inf)), float(rows.max(where=there, initial=-np.inf)),
                    int(np.count_nonzero(outside)),
                    tuple((first + row, first * half + column, float(rows[row, column])) for row, column in cells))


def rows_to_dissimilarities(table: Table, rows: Rows, input: Input) -> tuple[Table, Rows]:
    """Return a table in blocks with the rule for its similarities, and rows of dissimilarities; without a rule, itself.

    One pass finds their largest, and numbers that are no similarities of the rule. Raises DataError for these.
    """
    if input.similarities is None:
        return table, rows
    any_number = input.similarities == "max-minus"
    with closing(results(ExtentPass(rows, None if any_number else SimilarityRule(input.similarities)))) as every:
        seen = reduce(Seen.__add__, every)
    rule = SimilarityRule(input.similarities, seen.largest if any_number else 1.0)
    if seen.first:
        row, column, value = seen.first[0]
        raise rule.error(seen.outside, value, place(input.path), named([(row, column)], 1, table.ids, table.columns))
    _tell(rule, seen.least, seen.largest)
    kind = PairsByRule if rows.half_stored else RowsByRule
    return replace(table, rule=rule), replace(rows, source=kind(rows.source, rule))
