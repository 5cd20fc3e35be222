"""Dissimilarities that are read in blocks of rows: their conditions, checked by one pass."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import reduce

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.footprint import resident
from mlcli.base.rows.gaps import LISTED, NO_GAPS, Gaps
from mlcli.base.rows.moments import Moments
from mlcli.base.rows.source import Rows, Sample, as_array
from mlcli.base.stages.stage import note
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.data.formats.block_file import RowFile
from mlcli.data.options.input import Input
from mlcli.data.options.wording import counted, place
from mlcli.data.pairs.square import ROUNDING
from mlcli.data.pairs.symmetry import ROUNDING as ASYMMETRY
from mlcli.data.pairs.triangles import warn_if_squared
from mlcli.data.table.cells import refuse_gaps
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.data.table.table import Table
from mlcli.engine.executor import results
from mlcli.errors import ConfigError, DataError

SAMPLED = 500  # sampled points for checks of single ones


@frozen
class Scan:
    """The findings of a pass over a matrix."""

    gaps: Gaps
    negative: tuple[tuple[int, int], ...]
    largest: float
    diagonal: float  # the largest size on it
    across: Array | float  # Dᵀ r for a random vector r
    along: tuple[Array, ...]  # D r, part by part

    def __add__(self, other: "Scan") -> "Scan":
        return Scan(self.gaps + other.gaps, (*self.negative, *other.negative)[:5], max(self.largest, other.largest),
                    max(self.diagonal, other.diagonal), self.across + other.across, (*self.along, *other.along))


@frozen
class ScanPass:
    """A pass over a matrix, as a source of blocks."""

    rows: Rows
    probe: Array  # r

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return self.rows.blocks

    def work(self, number: int) -> Scan:
        """Return the findings of a block."""
        return reduce(Scan.__add__, self._parts(number))

    def stop(self) -> None:
        """Do nothing: blocks are short."""

    def _parts(self, number: int) -> Iterator[Scan]:
        return self._wedges(number) if self.rows.half_stored else self._whole(number)

    def _wedges(self, number: int) -> Iterator[Scan]:
        for first, wedge in self.rows.wedges(number):
            largest, least, gaps = float(wedge.max()), float(wedge.min()), NO_GAPS
            if not (np.isfinite(largest) and np.isfinite(least)):
                found = Gaps.of(first, wedge, np.zeros(1))
                gaps = replace(found, missing=2 * found.missing, infinite=2 * found.infinite,
                               first=tuple((row, first + column, kind) for row, column, kind in found.first))
                wedge = np.nan_to_num(wedge, nan=0.0, posinf=0.0, neginf=0.0)
            below = np.argwhere(wedge < 0)[:1].tolist() if least < 0 else []
            yield Scan(gaps, tuple((first + row, first + column) for row, column in below), max(largest, -least),
                       0.0, 0.0, ())

    def _whole(self, number: int) -> Iterator[Scan]:
        for first, rows in self.rows.parts(number):
            own, gaps = np.arange(first, first + len(rows)), NO_GAPS
            largest, least = float(rows.max()), float(rows.min())
            if not (np.isfinite(largest) and np.isfinite(least)):
                gaps = Gaps.of(first, rows, np.zeros(1))
                rows = np.nan_to_num(rows, nan=0.0, posinf=0.0, neginf=0.0)
            below = np.argwhere(rows < 0)[:5].tolist() if least < 0 else []
            diagonal = float(np.abs(rows[own - first, own]).max())
            yield Scan(gaps, tuple((first + row, column) for row, column in below), max(largest, -least), diagonal,
                       rows.T @ self.probe[own], (rows @ self.probe,))


def points_in(file: RowFile, input: Input) -> RowNumbers:
    """Return the points of a matrix in a file; raises DataError if it is not square."""
    size = file.columns
    if size != file.bounds[-1]:
        raise DataError("NOT-SQUARE",
                        f"a matrix with {counted(file.bounds[-1], 'row')} and {counted(size, 'column')} is not "
                        "square", where=place(input.path), hint="there must be a row and a column for each point")
    return RowNumbers.up_to(size)


def streamed_square(table: Table, rows: Rows, input: Input, compute: Compute) -> Table:
    """Return dissimilarities in a file after a check of their conditions; raises DataError and ConfigError."""
    _require_plain(input)
    size, ids, generator = len(rows), table.ids, compute.generator()
    compute.require(resident(compute.thread_count()) + compute.thread_count() * rows.nbytes, "a block of the matrix")
    with closing(results(ScanPass(rows, generator.standard_normal(size)))) as every:
        looked = reduce(Scan.__add__, every)
    _require_conditions(looked, ids, place(input.path))
    drawn = np.unique(np.concatenate([generator.choice(size, min(size, SAMPLED), replace=False), [0, size - 1]]))
    # rows of sampled points are read again: they are too long to keep
    rows = replace(rows, sample=Sample(drawn, np.zeros((0, size))), moments=_extent(size, looked.largest))
    warn_if_squared(rows[np.ix_(drawn, drawn)])
    note("N-STREAMED", f"the matrix of {size:,} x {size:,} numbers is read in {counted(rows.blocks, 'block')} of rows, "
         f"once for each pass; measures of single points use a sample of {len(drawn):,}", blocks=rows.blocks,
         sample=len(drawn))
    return replace(table, values=as_array(rows))


def _of_both_sides(cells: Sequence[tuple[int, int, bool]]) -> list[tuple[int, int, bool]]:
    """Return the first cells of a symmetric matrix, given those above its diagonal."""
    every = sorted({*cells, *((column, row, kind) for row, column, kind in cells)})
    return [cell for kind in (False, True) for cell in [some for some in every if some[2] == kind][:LISTED]]


def _require_plain(input: Input) -> None:
    """Raise ConfigError for options that need the matrix in memory."""
    for name in ("squared", "symmetrize"):
        if getattr(input, name) not in (False, "error"):
            raise ConfigError("STREAM", f"{name} cannot be used with a matrix that is read in blocks",
                              where=f"input.{name}", hint="change the matrix in the file, or give more memory "
                                                          "({compute.memory_limit})")


def _extent(size: int, largest: float) -> Moments:
    """Return moments that contain the largest number alone."""
    nothing = np.zeros(1)
    return Moments(size, nothing, sums=nothing, products=nothing, least=nothing, most=np.full(1, largest))


def _require_conditions(looked: Scan, ids: Sequence[str], where: str) -> None:
    """Raise DataError for gaps, negative numbers, a nonzero diagonal, and asymmetry.

    Of a symmetric matrix, D r = Dᵀ r for a random vector r; of any other this fails (Freivalds, 1977).
    """
    gaps = looked.gaps
    if gaps.missing or gaps.infinite:
        first = _of_both_sides(gaps.first) if not looked.along else gaps.first
        refuse_gaps(first, (gaps.missing, gaps.infinite), ids, ids, where,
                    "every two points need a number; leave points out that have none")
    if looked.negative:
        row, column = looked.negative[0]
        raise DataError("NEGATIVE", f"cells below zero: the first in row {ids[row]}, column {ids[column]}", where=where,
                        kind="kernel", hint="dissimilarities are zero or more; similarities are {input.kind=kernel}")
    if looked.diagonal > ROUNDING * looked.largest:
        raise DataError("DIAGONAL", f"a point has a dissimilarity of {looked.diagonal:.17g} to itself", where=where,
                        hint="the diagonal must be zero")
    if not looked.along:  # each pair is there once
        return
    apart = np.abs(np.concatenate(looked.along) - looked.across)
    if float(apart.max()) > ASYMMETRY * looked.largest:
        raise DataError("ASYMMETRIC", f"the matrix is not symmetric: most in row {ids[int(apart.argmax())]}",
                        where=where, hint="make it symmetric: a matrix that is read in blocks is taken as it is")
