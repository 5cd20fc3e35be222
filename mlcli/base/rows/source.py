"""Rows that are not in memory: a table read in blocks of rows, as often as it is needed.

Such rows stand where an array does. Code that works on blocks gets them from `rows_of`. Converting them to a NumPy
array raises an error, so that no code allocates the whole table by accident.
"""

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import Any, Protocol, cast

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.rows.moments import Moments
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.errors import MlcliError, RefusedByPlan

LISTED = 5  # cells named in messages


@frozen
class Gaps:
    """Cells without a finite number."""

    rows: Indices  # that have any
    missing: int = 0  # how many cells are not a number
    infinite: int = 0
    first: tuple[tuple[int, int, bool], ...] = ()  # some cells by row and column, and whether they are infinite
    present: AnyArray | int = 0  # finite cells of each column, in the rows that have gaps (d)
    sums: Array | float = 0.0  # what these add to the sums about the shift (d)

    def __add__(self, other: "Gaps") -> "Gaps":
        first = [*self.first, *other.first]
        kept = [cell for infinite in (False, True) for cell in [c for c in first if c[2] == infinite][:LISTED]]
        with np.errstate(over="ignore", invalid="ignore"):
            return Gaps(np.concatenate([self.rows, other.rows]), self.missing + other.missing,
                        self.infinite + other.infinite, tuple(kept), self.present + other.present,
                        self.sums + other.sums)

    @classmethod
    def of(cls, first: int, rows: Array, shift: Array) -> "Gaps":
        """Return the gaps of `rows`, an (m, d) array whose first row has number `first`; sums are about `shift` (d)."""
        finite = np.isfinite(rows)
        where = np.flatnonzero(~finite.all(axis=1))
        some, there = rows[where], finite[where]
        cells: list[tuple[int, int, bool]] = []
        for infinite, mask in ((False, np.isnan(some)), (True, np.isinf(some))):
            cells += [(first + int(where[row]), int(column), infinite) for row, column in np.argwhere(mask)[:LISTED]]
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            sums = np.where(there, some - shift, 0.0).sum(axis=0)
        return cls(first + where, int(np.isnan(some).sum()), int(np.isinf(some).sum()), tuple(cells),
                   there.sum(axis=0), sums)


NO_GAPS = Gaps(np.zeros(0, dtype=np.int64))
Part = tuple[int, Array]  # the number of its first row, and some rows in their order (m x d)
WORKING = 6  # arrays of the size of a part that a pass holds for each thread


class RowSource(Protocol):
    """A table in a file; it can be pickled, and every process opens the file for itself."""

    @property
    def bounds(self) -> tuple[int, ...]:
        """The first row of every block, then the number of rows."""

    @property
    def columns(self) -> int:
        """Numbers in a row (d)."""

    @property
    def part(self) -> int:
        """Rows that are read together, at most."""

    @property
    def direct(self) -> bool:
        """Whether single rows can be read alone."""

    def take(self, chosen: Indices) -> Array:
        """Single rows (m x d), where these can be read alone."""

    @property
    def buffer_bytes(self) -> int:
        """Bytes of the file in memory while a thread reads these rows."""

    def parts(self, number: int) -> Iterator[Part]:
        """The rows of a block, a few at a time; raises DataError and StorageError."""

    def key(self) -> str:
        """Return a key of the content: equal keys mean equal rows."""


class HalfSource(RowSource, Protocol):
    """A symmetric matrix (n x n) with a zero diagonal, of which a file holds what is above it."""

    def wedges(self, number: int) -> Iterator[Part]:
        """The rows of a block from the first one's diagonal on (m x n - first), zeros on and below the diagonal."""


@frozen
class CenteredSparseRows:
    """Sparse rows (m x d) and the center to subtract from each."""

    entries: Any  # compressed rows of SciPy
    center: Array  # d


@frozen
class RowsOfSource:
    """The base of sources whose rows are made of those of another one, as many at a time and with as many columns."""

    source: RowSource

    @property
    def columns(self) -> int:
        """Numbers in a row."""
        return self.source.columns

    @property
    def part(self) -> int:
        """The largest number of rows read in one step."""
        return self.source.part

    @property
    def direct(self) -> bool:
        """Whether the source reads single rows."""
        return self.source.direct

    @property
    def buffer_bytes(self) -> int:
        """The bytes in use while the source reads."""
        return self.source.buffer_bytes


@frozen
class RowsBeside:
    """Rows of several sources side by side: the same rows, and the columns of all.

    Blocks are those of the source that has the fewest, so that of the others few rows are read in two of them.
    """

    sources: tuple[RowSource, ...]

    @property
    def bounds(self) -> tuple[int, ...]:
        """The first row of every block, then the number of rows."""
        return min((source.bounds for source in self.sources), key=len)

    @property
    def columns(self) -> int:
        """Numbers in a row."""
        return sum(source.columns for source in self.sources)

    @property
    def part(self) -> int:
        """The largest number of rows of a part: its numbers are no more than those that a source reads in one step."""
        numbers = min(source.part * source.columns for source in self.sources)
        return max(min(numbers // self.columns, *(source.part for source in self.sources)), 1)

    @property
    def direct(self) -> bool:
        """Whether every source reads single rows."""
        return all(source.direct for source in self.sources)

    @property
    def buffer_bytes(self) -> int:
        """The bytes in use while all sources read, with rows that wait for those of another."""
        return sum(source.buffer_bytes + 8 * source.part * source.columns for source in self.sources)

    def take(self, chosen: Indices) -> Array:
        """Return single rows as an (m, d) array."""
        return np.hstack([source.take(chosen) for source in self.sources])

    def parts(self, number: int) -> Iterator[Part]:
        """Yield the rows of a block."""
        place, stop = self.bounds[number : number + 2]
        waiting = [rows_between(source, place, stop) for source in self.sources]
        held, part = [next(rows) for rows in waiting], self.part
        while True:
            count = min(part, *map(len, held))
            yield place, np.hstack([rows[:count] for rows in held])
            place += count
            if place == stop:
                return
            held = [rows[count:] if len(rows) > count else next(others)
                    for rows, others in zip(held, waiting, strict=True)]

    def key(self) -> str:
        """Return the keys of all sources, for cache keys."""
        return repr(tuple(source.key() for source in self.sources))


def rows_between(source: RowSource, start: int, stop: int) -> Iterator[Array]:
    """Yield the rows of a source from number `start` to the one before `stop`, a few at a time (m x d, m > 0)."""
    first, last = np.searchsorted(source.bounds, (start, stop - 1), side="right").tolist()
    for number in range(first - 1, last):
        for place, rows in source.parts(number):
            inside = rows[max(start - place, 0) : max(stop - place, 0)]
            if len(inside):
                yield inside


class RowMap(Protocol):
    """A transformation of rows as they are read: a value that can be pickled."""

    def __call__(self, first: int, rows: Array) -> Array:
        """Return the transformed rows, as many or fewer; `rows` is an (m, d) array that starts at row `first`."""

    def of_entries(self, rows: CenteredSparseRows) -> CenteredSparseRows | None:
        """Return transformed sparse rows; None where zeros become other numbers that are not the center's."""

    def key(self) -> Any:
        """Return the parameters of the map, as plain values and arrays."""


@frozen
class Sample:
    """Some rows in memory, for computations on single rows."""

    places: Indices  # in ascending order
    values: Array

    def find(self, chosen: Indices) -> Indices | None:
        """Return the positions of the rows `chosen`, shape (m,), in the sample; None if one is not in it."""
        if not len(self.values):
            return None  # rows of which only the places are known
        found = np.searchsorted(self.places, chosen)
        there = found < len(self.places)
        return found if there.all() and np.array_equal(self.places[found], chosen) else None


@frozen
class Rows:
    """Rows of numbers (n x d) in a file, with moments, sample and gaps from one pass over them."""

    source: RowSource
    maps: tuple[RowMap, ...] = ()
    left_out: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # of the source, ascending
    width: int = 0  # columns, where the maps change their number
    moments: Moments | None = None  # of these rows; None where a map made others of those that were summed
    sample: Sample | None = None
    gaps: Gaps = NO_GAPS
    lanes: int = 0  # blocks that are read at once, where memory does not hold one for every thread; 0: it does
    sketched: bool = False  # whether moments and sample are those of the first rows, for a prediction

    ndim = 2
    dtype = np.dtype(np.float64)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.source.bounds[-1] - len(self.left_out), self.width or self.source.columns

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.shape[0] * self.shape[1]

    @property
    def nbytes(self) -> int:
        """The bytes that a pass over them holds for each thread."""
        return 8 * WORKING * min(self.source.part, max(len(self), 1)) * self.shape[1] + self.source.buffer_bytes

    def at_once(self, threads: int) -> int:
        """Return the number of blocks that so many threads read at once."""
        return min(self.lanes or threads, threads)

    @property
    def means(self) -> Array:
        """The mean of each column."""
        assert self.moments is not None
        return self.moments.plain.means

    @property
    def reach(self) -> Array:
        """The largest size of a number in each column."""
        return np.maximum(self.max(axis=0), -self.min(axis=0))

    @property
    def largest(self) -> float:
        """The largest size of a number in a row without gaps."""
        assert self.moments is not None
        return self.moments.plain.largest

    def max(self, axis: int) -> Array:
        """The largest number of each column."""
        assert axis == 0 and self.moments is not None
        return self.moments.plain.most

    def min(self, axis: int) -> Array:
        """The smallest number of each column."""
        assert axis == 0 and self.moments is not None
        return self.moments.plain.least

    def __reduce__(self) -> tuple[Any, ...]:
        return Rows, (self.source, self.maps, self.left_out, self.width)  # other processes read blocks, and no more

    @property
    def finite(self) -> bool:
        """Whether every number is finite."""
        return self.gaps is NO_GAPS or not len(self.gaps.rows)

    @property
    def blocks(self) -> int:
        """The number of blocks of a pass."""
        return len(self.source.bounds) - 1

    def parts(self, number: int) -> Iterator[Part]:
        """The rows of a block, a few at a time, each with the place of the first of them among these rows."""
        for first, rows in self.source.parts(number):
            inside = slice(*np.searchsorted(self.left_out, (first, first + len(rows))))
            place = first - inside.start
            if inside.stop > inside.start:
                rows = np.delete(rows, self.left_out[inside] - first, axis=0)
            for change in self.maps:
                rows = change(place, rows)
            if len(rows):
                yield place, rows

    @property
    def half_stored(self) -> bool:
        """Whether the file holds each pair of points of a symmetric matrix once."""
        return hasattr(self.source, "wedges")

    def wedges(self, number: int) -> Iterator[Part]:
        """The numbers above the diagonal in a block of such rows, a few at a time, each from its first row's column on.

        What is done to rows must leave zeros as they are.
        """
        for first, rows in cast(HalfSource, self.source).wedges(number):
            for change in self.maps:
                rows = change(first, rows)
            yield first, rows

    def mapped(self, change: RowMap, moments: Moments | None = None, width: int = 0) -> "Rows":
        """These rows, each changed as it is read; the moments are those of the new ones, where they are known."""
        sample = self.sample
        if sample is not None and len(sample.values):
            try:
                sample = Sample(sample.places, change(0, sample.values))
            except MlcliError:  # which the next pass raises for the row by its place in the file
                sample = None
        return replace(self, maps=(*self.maps, change), width=width or self.width, moments=moments, sample=sample,
                       gaps=NO_GAPS)

    def without(self, gaps: Indices) -> "Rows":
        """Return the rows without those at `gaps`, shape (m,), ascending; the moments already exclude them."""
        assert not self.maps
        sample = self.sample
        if sample is not None:
            kept = ~np.isin(sample.places, gaps)
            places = sample.places[kept]
            sample = Sample(places - np.searchsorted(gaps, places), sample.values[kept])
        return replace(self, left_out=gaps, sample=sample, gaps=NO_GAPS)

    @property
    def at_hand(self) -> Indices:
        """The positions of the rows that are in memory, shape (m,)."""
        return np.zeros(0, dtype=np.int64) if self.sample is None else self.sample.places

    def some(self, most: int | None = None) -> Indices:
        """Return the positions of at most `most` rows in memory, evenly spread; of all by default."""
        count = len(self.at_hand) if most is None else min(most, len(self.at_hand))
        return self.at_hand[np.linspace(0, len(self.at_hand) - 1, count).astype(np.int64)]

    def __getitem__(self, chosen: AnyArray | slice | tuple[AnyArray, ...]) -> Array:
        """Some rows (m x d): those in memory, or read again; or some of their columns, as `np.ix_` asks for them."""
        if isinstance(chosen, tuple):
            wanted, columns = chosen[0].ravel(), chosen[1].ravel()
            blocks = row_blocks(len(wanted), 1 << 22, self.shape[1])
            return np.concatenate([self[wanted[block]][:, columns] for block in blocks])
        if isinstance(chosen, slice):
            return self.read(np.arange(*chosen.indices(len(self))))
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else np.asarray(chosen, dtype=np.int64)
        found = None if self.sample is None else self.sample.find(chosen)
        return self.read(chosen) if found is None or self.sample is None else self.sample.values[found]

    def read(self, chosen: Indices) -> Array:
        """Read some rows (m x d) from the file; blocks without any of them are skipped."""
        if self.source.direct and not len(self.left_out):
            rows = self.source.take(chosen)
            for change in self.maps:
                rows = change(0, rows)
            return rows
        found, order = np.empty((len(chosen), self.shape[1])), np.argsort(chosen, kind="stable")
        wanted = chosen[order]
        bounds = np.asarray(self.source.bounds)
        bounds = bounds - np.searchsorted(self.left_out, bounds)
        for number in np.unique(np.searchsorted(bounds, wanted, side="right") - 1).tolist():
            for place, rows in self.parts(number):
                inside = slice(*np.searchsorted(wanted, (place, place + len(rows))))
                found[order[inside]] = rows[wanted[inside] - place]
        return found

    def __array__(self, *args: Any, **kwargs: Any) -> AnyArray:
        raise RefusedByPlan("STREAM", f"a table of {len(self):,} x {self.shape[1]:,} numbers is read in blocks, but "
                            "this step needs all of it at once", where="input.stream",
                            hint="give more memory ({compute.memory_limit}), or leave out what needs the whole table")

    def key(self) -> Any:
        """Return a key of the content, as plain values and arrays."""
        return (self.source.key(), self.left_out, tuple(change.key() for change in self.maps))


@frozen
class RowPass:
    """A pass over rows in a file: a source of blocks of work, which are as many as those of the rows, and short."""

    rows: Rows

    @property
    def blocks(self) -> int:
        """How many blocks of work there are."""
        return self.rows.blocks

    def stop(self) -> None:
        """Do nothing: blocks are short."""


def rows_of(values: object) -> Rows | None:
    """The rows that stand for an array; None for an array."""
    return values if isinstance(values, Rows) else None


def as_array(rows: Rows) -> Array:
    """Cast rows to the array type, for parameters that are declared as arrays."""
    return cast(Array, rows)


def beside(values: Sequence[Array]) -> Array:
    """Return arrays or rows (n x d each) with their columns side by side; rows where each of them is read in blocks."""
    rows = [found for found in map(rows_of, values) if found is not None]
    if len(rows) < len(values):
        return np.hstack(values)
    return as_array(Rows(RowsBeside(tuple(found.source for found in rows))))


@frozen
class Measured:
    """Rows in another unit, a power of two, or one for each column."""

    exponent: int | Indices

    def __call__(self, first: int, rows: Array) -> Array:
        with np.errstate(over="ignore", under="ignore"):
            return np.ldexp(rows, self.exponent)

    def of_entries(self, rows: CenteredSparseRows) -> CenteredSparseRows:
        """Return sparse rows in the other unit."""
        entries = rows.entries.copy()
        with np.errstate(over="ignore", under="ignore"):
            entries.data = np.ldexp(entries.data, self.exponent)
            return CenteredSparseRows(entries, np.ldexp(rows.center, self.exponent))

    def key(self) -> Any:
        """The exponents."""
        return ("measured", self.exponent)


def in_unit(rows: Rows, exponent: int) -> Rows:
    """2**exponent times the rows."""
    if exponent == 0:
        return rows
    known = rows.moments
    moments = None if known is None else known.times_power(np.full(len(known.sums), exponent))
    return rows.mapped(Measured(exponent), moments)


def all_parts(rows: Rows) -> Iterator[Part]:
    """Return the rows of all blocks in their order, a few at a time, each part with the place of its first row."""
    for number in range(rows.blocks):
        yield from rows.parts(number)


def in_memory(rows: Rows) -> Array:
    """Return all rows as one array (m x d)."""
    values = np.empty(rows.shape)
    for first, part in all_parts(rows):
        values[first : first + len(part)] = part
    return values


def column_of(rows: Rows, column: int) -> Array:
    """Return all numbers (m) of one column."""
    return np.concatenate([np.zeros(0), *(part[:, column] for _, part in all_parts(rows))])
