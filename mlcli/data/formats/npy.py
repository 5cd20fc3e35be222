"""NPY: an array of NumPy after a header, read whole or by position, and condensed dissimilarities as rows."""

import ast
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, BinaryIO

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.rows.source import Part
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.naming import shown
from mlcli.data.files.arrow import damage_error
from mlcli.data.files.shared_handle import read_into
from mlcli.data.files.source import FileId, Opened
from mlcli.data.formats.arrays import StoredArray, flat, image_of, points_of, points_of_pairs, require_kind, wrong_array
from mlcli.data.formats.arrays import texts as as_texts
from mlcli.data.formats.block_file import PART, BlockFile, part_rows
from mlcli.data.formats.reader import Reader
from mlcli.data.options.input import Input
from mlcli.data.options.wording import counted, place
from mlcli.data.table.selection import choose
from mlcli.data.table.sheet import FEWER, numbered_names, require_content
from mlcli.errors import DataError, UnsafeFile

MAGIC = b"\x93NUMPY"
Mapped = Callable[[int], memoryview | None]
LENGTH_BYTES = {(1, 0): 2, (2, 0): 4, (3, 0): 4}  # by version of the format
HEADER_LIMIT = 64 << 10  # bytes
INVALID = (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError)  # what Python makes of literals
LAST, SURROGATES = 0x10FFFF, (0xD800, 0xDFFF)  # the last character of Unicode, and code points without one


@frozen
class Header:
    """The content of an NPY header."""

    dtype: np.dtype[np.generic]
    fortran: bool
    shape: tuple[int, ...]
    offset: int  # bytes before the numbers

    @property
    def size(self) -> int:
        """The bytes of the numbers."""
        return math.prod(self.shape) * self.dtype.itemsize


def stored_in(stream: BinaryIO, size: int, path: str, hint: str = "", mapped: Mapped | None = None) -> StoredArray:
    """Return the array in the first `size` bytes of a stream; raises DataError for an invalid header.

    `mapped` returns the first bytes without a copy, where it can.
    """
    header = read_header(stream, path)
    return StoredArray(header.dtype, header.shape, partial(read_values, stream, header, path, mapped),
                       partial(require_size, header, size, path), fortran=header.fortran, hint=hint)


def read_header(stream: BinaryIO, path: str) -> Header:
    """Parse the header without evaluating code; raises DataError, and UnsafeFile for Python objects."""
    header = header_of(stream, path)
    if not isinstance(header, Header):
        raise header
    return header


def header_of(stream: BinaryIO, path: str) -> Header | DataError | UnsafeFile:
    """Return the header, or the error that `read_header` raises."""
    start = stream.read(8)
    if len(start) < 8 or start[:6] != MAGIC or (start[6], start[7]) not in LENGTH_BYTES:
        return broken("it does not begin with an NPY header", path)
    count = LENGTH_BYTES[start[6], start[7]]
    length = int.from_bytes(stream.read(count), "little")
    if length > HEADER_LIMIT:
        return broken(f"its header is longer than {HEADER_LIMIT >> 10} KiB", path)
    text = stream.read(length)
    if len(text) < length:
        return broken("it ends within its header", path)
    return parse_header(text, 8 + count + length, path)


def parse_header(text: bytes, offset: int, path: str) -> Header | DataError | UnsafeFile:
    """Parse the header's dictionary as literals; returns the error of another text."""
    unclear = broken(f"its header cannot be understood: {shown(text[:60].decode('latin-1'))}", path)
    try:
        fields = ast.literal_eval(text.decode("utf-8").strip())
    except INVALID:
        return unclear
    if not isinstance(fields, dict) or set(fields) != {"descr", "fortran_order", "shape"}:
        return unclear
    descr, shape, fortran = fields["descr"], fields["shape"], fields["fortran_order"]
    if not isinstance(shape, tuple) or not all(type(size) is int and 0 <= size < 2**62 for size in shape):
        return unclear
    if type(fortran) is not bool:
        return unclear
    if "O" in str(descr):
        return UnsafeFile("NPY-OBJECTS", "the array holds Python objects, which can run code when they are loaded",
                          where=place(path), hint="save plain numbers: numpy.save(file, array.astype(float))")
    if not isinstance(descr, str):
        return wrong_array(f"its records are of type {shown(str(descr))}", path)
    try:
        return Header(np.dtype(descr), fortran, shape, offset)
    except INVALID:
        return unclear


def require_size(header: Header, size: int, path: str) -> None:
    """Raise DataError if the file's size differs from the one in its header."""
    room = size - header.offset
    if room != header.size:
        what = "is cut off" if room < header.size else "has bytes after its end"
        raise broken(f"it {what}: the header announces {counted(header.size, 'byte')} of shape {header.shape}, "
                     f"and there are {room:,}", path)


def read_values(stream: BinaryIO, header: Header, path: str, mapped: Mapped | None = None) -> AnyArray:
    """Return the numbers or texts as they are stored; raises DataError."""
    ready = header.dtype == np.dtype("<f8") and not header.fortran and header.offset % 8 == 0
    if ready and mapped is not None and (pages := mapped(header.offset + header.size)) is not None:
        return np.frombuffer(pages, header.dtype, offset=header.offset).reshape(header.shape)
    flat = np.empty(math.prod(header.shape), header.dtype)
    view = memoryview(flat.view(np.uint8).data)
    if read_into(stream, view) < len(view):
        raise broken("it is cut off", path)
    if stream.read(1):  # also lets a zip file compare its checksum
        raise broken("it has bytes after its end", path)
    if header.dtype.kind == "U":
        _require_unicode(flat, path)
    return flat.reshape(header.shape, order="F" if header.fortran else "C")


def _require_unicode(flat: AnyArray, path: str) -> None:
    """Raise DataError for texts with code points that are not characters: surrogates, and those beyond the last one."""
    if not flat.dtype.itemsize:
        return
    codes = flat.view(np.dtype(np.uint32).newbyteorder(flat.dtype.byteorder)).reshape(len(flat), -1)
    wrong = ((codes > LAST) | ((codes >= SURROGATES[0]) & (codes <= SURROGATES[1]))).any(axis=1)
    if wrong.any():
        row = int(wrong.argmax())
        raise broken(f"text {row + 1} of {len(flat)} holds a number that is no character of Unicode", path)


def broken(what: str, path: str) -> DataError:
    """Return the error for a file that is not a whole NPY file."""
    return damage_error(path, "NPY", what)


BLOCK = 1 << 23  # numbers of a block of an array: 64 MiB
CALL, BYTE = 2e-6, 5e-10  # seconds to read one number anywhere in the file, and one of many consecutive bytes


def numbers_at(id: FileId, header: Header, first: int, last: int) -> Array:
    """Return consecutive numbers of a file, in double precision; raises StorageError if it ends before."""
    stored = np.empty(last - first, header.dtype)
    id.fill(header.offset + first * stored.itemsize, memoryview(stored.view(np.uint8).data))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return stored.astype(np.float64, copy=False)


@frozen
class CondensedRows:
    """The symmetric (n, n) array with a zero diagonal whose upper triangle is stored in a file, row by row."""

    id: FileId
    header: Header
    direct, buffer_bytes = True, 0

    @cached_property
    def columns(self) -> int:
        """The number of points (n)."""
        return points_of_pairs(math.prod(self.header.shape))

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        """First rows of blocks of similar sizes, and the number of points."""
        rows = np.arange(self.columns, dtype=np.int64)
        starts = self._place(rows, rows + 1)
        firsts = np.searchsorted(starts, np.arange(0, starts[-1] + 1, BLOCK), side="left")
        return (*np.unique(firsts[firsts < self.columns]).tolist(), self.columns)

    @property
    def part(self) -> int:
        """The number of rows read in one step."""
        return part_rows(self.columns)

    def parts(self, number: int) -> Iterator[Part]:
        """Yield the whole rows of a block; each takes a number from every row before it."""
        for first in range(self.bounds[number], self.bounds[number + 1], self.part):
            yield first, self.take(np.arange(first, min(first + self.part, self.bounds[number + 1])))

    def wedges(self, number: int) -> Iterator[Part]:
        """Yield the rows of a block from the diagonal on, zeros on and below it: each number of the file once."""
        first, end = self.bounds[number], self.bounds[number + 1]
        while first < end:
            stop = min(end, first + max(PART // (self.columns - first), 1))
            wedge = np.zeros((stop - first, self.columns - first))
            read = self._numbers(self._place(first, first + 1), self._place(stop - 1, self.columns))
            for row in range(first, stop):
                count = self.columns - row - 1
                wedge[row - first, row - first + 1 :], read = read[:count], read[count:]
            yield first, wedge
            first = stop

    def take(self, chosen: Indices) -> Array:
        """Return single rows as an (m, n) array.

        Read one by one if they are few, else with the numbers between them.
        """
        size, span = self.columns, int(np.ptp(chosen)) + 1 if len(chosen) else 0
        if len(chosen) > 1 and len(chosen) * CALL < CALL + span * BYTE * self.header.dtype.itemsize:
            return np.concatenate([self.take(chosen[[place]]) for place in range(len(chosen))])
        rows = np.zeros((len(chosen), size))
        least, most = (int(chosen.min()), int(chosen.max())) if len(chosen) else (0, 0)
        for row in range(most):
            start = max(least, row + 1)
            above = chosen >= start
            between = self._numbers(self._place(row, start), self._place(row, most + 1))
            rows[above, row] = between[chosen[above] - start]
        for into, row in enumerate(chosen.tolist()):
            rows[into, row + 1 :] = self._numbers(self._place(row, row + 1), self._place(row, size))
        return rows

    def _place(self, row: Any, column: Any) -> Any:
        """Return the position in the file of the number of two points, the row before the column."""
        return row * self.columns - row * (row + 1) // 2 + column - row - 1

    def _numbers(self, first: int, last: int) -> Array:
        """Read consecutive numbers of the file."""
        return numbers_at(self.id, self.header, first, last)

    def text_parts(self, number: int, names: tuple[str, ...], most: int) -> Iterator[list[list[str]]]:
        """Raise NotImplementedError: an array has no texts."""
        raise NotImplementedError

    def key(self) -> str:
        """Return the file, for cache keys."""
        return repr(self.id.key)


ROWS = 1 << 18  # most rows of a block: results are computed by block


@frozen
class NpyRows:
    """Chosen columns of an (n, d) array in an NPY file, in C order."""

    id: FileId
    header: Header
    chosen: Indices | None  # columns; all where None

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        """First rows of blocks, and the number of rows."""
        step = max(self.part, min(BLOCK // max(self.header.shape[1], 1), ROWS))
        return (*range(0, self.header.shape[0], step), self.header.shape[0])

    @property
    def columns(self) -> int:
        """The number of columns."""
        return self.header.shape[1] if self.chosen is None else len(self.chosen)

    direct, buffer_bytes = True, 0

    @property
    def part(self) -> int:
        """The number of rows read in one step."""
        return part_rows(self.header.shape[1])

    def parts(self, number: int) -> Iterator[Part]:
        """Yield the rows of a block."""
        for first in range(self.bounds[number], self.bounds[number + 1], self.part):
            yield first, self.span(first, min(first + self.part, self.bounds[number + 1]))

    def text_parts(self, number: int, names: tuple[str, ...], most: int) -> Iterator[list[list[str]]]:
        """Yield columns of numbers of a block as texts, at most `most` rows at a time."""
        every = numbered_names("x", self.header.shape[1])
        columns = replace(self, chosen=np.array([every.index(name) for name in names]))
        for _, rows in columns.parts(number):
            for some in row_blocks(len(rows), most):
                yield [list(as_texts(column)) for column in rows[some].T]

    def take(self, chosen: Indices) -> Array:
        """Return single rows as an (m, d) array."""
        return np.concatenate([self.span(row, row + 1) for row in chosen.tolist()] or [np.empty((0, self.columns))])

    def span(self, start: int, stop: int) -> Array:
        """Return consecutive rows as an (m, d) array."""
        width = self.header.shape[1]
        values = numbers_at(self.id, self.header, start * width, stop * width).reshape(stop - start, width)
        return values if self.chosen is None else values[:, self.chosen]

    def key(self) -> str:
        """Return the file and the columns, for cache keys."""
        return repr((self.id.key, None if self.chosen is None else self.chosen.tolist()))


@contextmanager
def array_in(opened: Opened, input: Input, compute: Compute) -> Iterator[StoredArray]:
    """Open the array of a file."""
    with opened.stream() as stream:
        yield stored_in(stream, opened.size, opened.path, FEWER, opened.mapped)


def blocks_of(opened: Opened, input: Input, compute: Compute, known: tuple[str, ...]) -> BlockFile | None:
    """Return the rows of an array in C order, or of a condensed matrix; None for any other."""
    with opened.stream() as stream:
        header = read_header(stream, opened.path)
    require_kind(header.dtype, header.shape, input)
    require_size(header, opened.size, opened.path)
    if header.dtype.itemsize > 8:
        return None
    id = FileId(opened.path, opened.state)
    if input.square and (len(header.shape) == 1 or min(header.shape) == 1 < max(header.shape)):
        file = CondensedRows(id, header)
        points_of(math.prod(header.shape), opened.path)
        return BlockFile(file, choose(numbered_names("x", file.columns), input), named=False)
    if header.fortran:
        return None
    image = image_of(header.shape)
    header = replace(header, shape=flat(header.shape))
    require_content(header.shape[0], header.shape[1], opened.path)
    choice = choose(numbered_names("x", header.shape[1]), input)
    columns: Indices = np.asarray(choice.values, dtype=np.int64)
    chosen = None if len(columns) == header.shape[1] else columns
    return BlockFile(NpyRows(id, header, chosen), choice, named=False, image=image if chosen is None else None)


READER = Reader(array=array_in, blocks=blocks_of)
