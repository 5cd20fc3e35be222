"""Tables that are read in blocks of rows, because they do not fit in memory or on request, and some of their rows.

One pass reads every number: it finds gaps, sums moments for means and covariances, and keeps a sample of
rows.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property, reduce
from typing import Any, cast

import numpy as np

from mlcli.base.context import context
from mlcli.base.frozen import frozen
from mlcli.base.machine.footprint import ARROW, ARROW_COLUMN, COLUMN, resident
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.rows.moments import Moments
from mlcli.base.rows.source import (
    LISTED,
    NO_GAPS,
    Gaps,
    HalfSource,
    Part,
    RowPass,
    Rows,
    RowsBeside,
    RowsOfSource,
    RowSource,
    Sample,
    as_array,
    column_of,
    rows_of,
)
from mlcli.base.rows.sparse import SparseRows, is_sparse
from mlcli.base.stages.stage import note
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.core.moments_pass import gather, pass_bytes, sample_of, sketch_rows
from mlcli.data.formats.block_file import BlockFile, RowFile, texts_of
from mlcli.data.formats.csv_blocks import TextRows, Underflows
from mlcli.data.options.input import InBlocksBesideOthers, Input, options_of_whole
from mlcli.data.options.numbers import EXACT
from mlcli.data.options.wording import counted, place
from mlcli.data.pairs.similarities import rows_to_dissimilarities
from mlcli.data.pairs.square import ROUNDING, warn_if_squared
from mlcli.data.pairs.symmetry import ROUNDING as ASYMMETRY
from mlcli.data.read.id_columns import require_no_ids_in
from mlcli.data.read.text_columns import CodedRows
from mlcli.data.table.cells import refuse_gaps, warn_of_rounding, warn_of_underflow
from mlcli.data.table.row_numbers import ROW, RowNumbers
from mlcli.data.table.sheet import require_unique_ids
from mlcli.data.table.table import Source, Table
from mlcli.engine.executor import results
from mlcli.errors import ConfigError, DataError

FEW = 8  # rows of a block for each chosen one from which reading single rows is faster


@frozen
class SomeRows(RowsOfSource):
    """Chosen rows of a source of rows."""

    chosen: Indices  # row numbers in the source, ascending

    @cached_property
    def _ends(self) -> Indices:
        """The number of chosen rows before each of the source's bounds."""
        return np.searchsorted(self.chosen, self.source.bounds)

    @cached_property
    def _blocks(self) -> list[int]:
        """The source's blocks with chosen rows."""
        return np.flatnonzero(np.diff(self._ends)).tolist()

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        """First rows of blocks, and the number of rows."""
        return (*self._ends[self._blocks].tolist(), len(self.chosen))

    def take(self, chosen: Indices) -> Array:
        """Return single rows as an (m, d) array."""
        return self.source.take(self.chosen[chosen])

    def parts(self, number: int) -> Iterator[Part]:
        """Yield the rows of a block; single ones if the source can read them and they are few."""
        block, (start, stop) = self._blocks[number], self.bounds[number : number + 2]
        if self.direct and (stop - start) * FEW < self.source.bounds[block + 1] - self.source.bounds[block]:
            for some in row_blocks(stop - start, self.part):
                yield start + some.start, self.take(np.arange(start + some.start, start + some.stop))
            return
        for first, rows in self.source.parts(block):
            inside = slice(*np.searchsorted(self.chosen, (first, first + len(rows))).tolist())
            if inside.start < inside.stop:
                yield inside.start, self._of(rows, self.chosen[inside] - first)

    def _of(self, rows: Array, chosen: Indices) -> Array:
        return rows if len(chosen) == len(rows) else rows[chosen]

    def key(self) -> str:
        """Return the source's key and the rows, for cache keys."""
        return f"{self.source.key()} {hashlib.sha256(self.chosen.tobytes()).hexdigest()}"


def file_of(rows: Rows) -> RowSource:
    """Return the source of all rows, of which these may be chosen ones."""
    return rows.source.source if isinstance(rows.source, SomeRows) else rows.source


class SomePoints(SomeRows):
    """Chosen points of a square matrix: some of its rows, with the columns of the same points."""

    @property
    def columns(self) -> int:
        """The number of points."""
        return len(self.chosen)

    @property
    def part(self) -> int:
        """The largest number of rows read in one step."""
        return min(self.source.part, len(self.chosen))

    @property
    def buffer_bytes(self) -> int:
        """The bytes in use while the source reads, with its whole rows."""
        return self.source.buffer_bytes + 8 * self.source.part * self.source.columns

    def take(self, chosen: Indices) -> Array:
        """Return single rows as an (m, n) array."""
        return super().take(chosen)[:, self.chosen]

    def _of(self, rows: Array, chosen: Indices) -> Array:
        return rows[np.ix_(chosen, self.chosen)]


class SomePairs(SomePoints):
    """Chosen points of a matrix whose file has each pair once."""

    def wedges(self, number: int) -> Iterator[Part]:
        """Yield the rows of a block from the first one's diagonal on, zeros on and below it."""
        for first, wedge in cast(HalfSource, self.source).wedges(self._blocks[number]):
            inside = slice(*np.searchsorted(self.chosen, (first, first + len(wedge))).tolist())
            if inside.start < inside.stop:
                yield inside.start, wedge[np.ix_(self.chosen[inside] - first, self.chosen[inside.start :] - first)]


SAMPLED_PAIRS = 500  # sampled points for checks of single ones


@frozen
class Scan:
    """The findings of a pass over a matrix."""

    gaps: Gaps
    negative: tuple[tuple[int, int], ...]  # the first cell below zero
    largest: float
    diagonal: float  # the largest size on it
    across: Array | float  # Dᵀ r for a random vector r
    along: tuple[Array, ...]  # D r, part by part

    def __add__(self, other: "Scan") -> "Scan":
        return Scan(self.gaps + other.gaps, (*self.negative, *other.negative)[:1], max(self.largest, other.largest),
                    max(self.diagonal, other.diagonal), self.across + other.across, (*self.along, *other.along))


@frozen
class ScanPass(RowPass):
    """A pass over a matrix, as a source of blocks."""

    probe: Array  # r

    def work(self, number: int) -> Scan:
        """Return the findings of a block."""
        parts = self.rows.wedges(number) if self.rows.half_stored else self.rows.parts(number)
        return reduce(Scan.__add__, (self._scan(first, rows) for first, rows in parts))

    def _scan(self, first: int, rows: Array) -> Scan:
        """Return the findings of rows from number `first` on: whole ones, or from the first one's diagonal on."""
        half = self.rows.half_stored
        largest, least, gaps = float(rows.max()), float(rows.min()), NO_GAPS
        if not (np.isfinite(largest) and np.isfinite(least)):
            gaps = Gaps.of(first, rows, np.zeros(1))
            if half:  # a cell stands for two
                gaps = replace(gaps, missing=2 * gaps.missing, infinite=2 * gaps.infinite,
                               first=tuple((row, first + column, kind) for row, column, kind in gaps.first))
            rows = np.nan_to_num(rows, nan=0.0, posinf=0.0, neginf=0.0)
        below = np.argwhere(rows < 0)[:1].tolist() if least < 0 else []
        negative = tuple((first + row, first * half + column) for row, column in below)
        if half:
            return Scan(gaps, negative, max(largest, -least), 0.0, 0.0, ())
        own = np.arange(first, first + len(rows))
        return Scan(gaps, negative, max(largest, -least), float(np.abs(rows[own - first, own]).max()),
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
    table, rows = rows_to_dissimilarities(table, rows, input)
    size, ids, generator = len(rows), table.ids, compute.generator()
    compute.require(resident(compute.thread_count()) + compute.thread_count() * rows.nbytes, "a block of the matrix")
    with closing(results(ScanPass(rows, generator.standard_normal(size)))) as every:
        looked = reduce(Scan.__add__, every)
    _require_conditions(looked, ids, place(input.path))
    drawn = np.unique(np.concatenate([generator.choice(size, min(size, SAMPLED_PAIRS), replace=False), [0, size - 1]]))
    # rows of sampled points are read again: they are too long to keep
    rows = replace(rows, sample=Sample(drawn, np.zeros((0, size))), moments=_extent(size, looked.largest))
    warn_if_squared(rows[np.ix_(drawn, drawn)], input)
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
    for name in options_of_whole(input):
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


SAMPLED, NUMBERS = 4096, 1 << 21  # most rows of the sample, and most numbers
IN_MEMORY = 1 << 24  # most numbers of the sample of a sparse table, whose rows are in memory
FEWEST = 64  # least rows of the sample
SAFE = 0.9  # share of the memory for blocks that are read in parallel


@frozen
class Unread(Table):
    """A table whose numbers are not yet read, with the types of its columns if the file has them."""

    types: Sequence[Any] = ()


def unread_table(found: BlockFile, columns: Sequence[str], input: Input, compute: Compute, source: Source) -> Unread:
    """Return the table of a file without reading its numbers: for rows that are used one by one, or chosen."""
    if input.square:
        points = points_in(found.file, input)
        return Unread(as_array(Rows(found.file)), tuple(points), points, ROW, kind=input.kind, source=source)
    named, rows = texts_of(found, input, compute), Rows(found.file)
    ids: Sequence[str] = RowNumbers.up_to(len(rows)) if named.ids is None else named.ids
    require_unique_ids(ids, input.path)
    return Unread(as_array(rows), tuple(columns), ids, named.id_header, named.labels, "features", source,
                  categories=found.categories, image=found.image, point=named.point, types=found.types)


def table_of_blocks(found: BlockFile, input: Input, compute: Compute, source: Source) -> Table:
    """Return the table of a file that is read in blocks: after one pass over it, unless some of its rows are chosen, or
    its rows are read beside those of other files.
    """
    if not (input.square or input.chooses_rows):
        _lanes(Rows(found.file), compute)  # before ids and labels are read: a refusal does not load Arrow
    table = unread_table(found, found.columns, input, compute, source)
    later = input.chooses_rows or isinstance(input, InBlocksBesideOthers)
    return table if later else after_first_pass(table, input, compute)


def after_first_pass(table: Table, input: Input, compute: Compute) -> Table:
    """Return a table in blocks with its moments, sample and gaps, after one pass over its rows.

    Raises DataError and RefusedByPlan.
    """
    rows = rows_of(table.values)
    assert rows is not None
    if input.square:
        return streamed_square(table, rows, input, compute)
    rows = replace(rows, lanes=_lanes(rows, compute))
    chosen = _sampled(rows, compute)
    if context().sketch and not is_sparse(rows) and (sketch := sketch_rows(rows, chosen)) is not None:
        _tell(rows, chosen)
        return replace(table, values=as_array(sketch))
    sums = gather(rows, chosen)
    types, sizes = table.types if isinstance(table, Unread) else (), sums.moments.plain.sizes
    warn_of_rounding([name for name, kind, size in zip(table.columns, types, sizes, strict=False)
                      if "int64" in str(kind) and size >= EXACT])
    source = file_of(rows)
    for file in source.sources if isinstance(source, RowsBeside) else (source,):
        file = file.source if isinstance(file, CodedRows) else file
        if isinstance(file, TextRows) and any(text.survey.tiny for text in file.files):
            with closing(results(Underflows(file))) as every:
                warn_of_underflow(sum(every))
    sample = sample_of(sums, chosen, rows.shape[1])
    if not table.files:
        require_no_ids_in(table, sample.values, table.numbers[sample.places] - 1, input,
                          lambda column: (column_of(rows, column), table.numbers - 1))
    _tell(rows, chosen)
    return replace(table, values=as_array(replace(rows, moments=sums.moments, sample=sample, gaps=sums.gaps)))


def _lanes(rows: Rows, compute: Compute) -> int:
    """Return the number of blocks to read in parallel: one for each thread if memory allows; raises RefusedByPlan.

    Sums are added in the order of the blocks, so that the result does not depend on it.
    """
    threads, arrow = compute.thread_count(), not rows.source.direct
    columns = rows.shape[1]
    alone = (resident(threads, [ARROW] * arrow) + pass_bytes(columns, 0) + 8.0 * len(_sampled(rows, compute)) * columns
             + (COLUMN + ARROW_COLUMN * arrow) * columns)
    each = rows.nbytes + pass_bytes(columns, 1) - pass_bytes(columns, 0)
    compute.require(alone + each, "a block of the table", "choose fewer columns")
    return max(1, min(threads, int((SAFE * compute.memory_bytes() - alone) / max(each, 1.0))))


def _tell(rows: Rows, chosen: Indices) -> None:
    """Note how the table is read or stored."""
    of_rows = f"measures of single rows use a sample of {len(chosen):,}"
    if isinstance(rows.source, SparseRows):
        entries = int(rows.source.matrix.nnz)
        note("N-SPARSE-ROWS", f"the table of {len(rows):,} x {rows.shape[1]:,} numbers is kept sparse ({entries:,} "
             f"non-zero entries); {of_rows}", entries=entries, sample=len(chosen))
    else:
        note("N-STREAMED", f"the table of {len(rows):,} x {rows.shape[1]:,} numbers is read in "
             f"{counted(rows.blocks, 'block')} of rows; {of_rows}", blocks=rows.blocks, sample=len(chosen))


def _sampled(rows: Rows, compute: Compute) -> Indices:
    """Return the sampled rows, which stay in memory; the first and the last are among them."""
    numbers = IN_MEMORY if isinstance(rows.source, SparseRows) else NUMBERS
    count = min(len(rows), max(FEWEST, min(SAMPLED, numbers // rows.shape[1])))
    drawn = compute.generator().choice(len(rows), count, replace=False)
    return np.unique(np.concatenate([drawn, [0, len(rows) - 1]]))
