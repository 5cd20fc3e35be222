"""NPY arrays: a header parser of our own, and sizes checked before memory is taken."""

import ast
import math
from collections.abc import Callable
from dataclasses import replace
from typing import BinaryIO

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.compute import Compute
from mlcli.data.files.shared_handle import read_into
from mlcli.data.files.source import Opened
from mlcli.data.options.input import Input
from mlcli.data.options.numbers import EXACT
from mlcli.data.options.wording import NO_PAIRS, counted, place, shown
from mlcli.data.table.selection import Choice, choose
from mlcli.data.table.sheet import FEWER, Sheet, numbered, require_content
from mlcli.errors import DataError, MlcliError, UnsafeFile

MAGIC = b"\x93NUMPY"
LENGTH_BYTES = {(1, 0): 2, (2, 0): 4, (3, 0): 4}  # by version of the format
HEADER_LIMIT = 64 << 10  # bytes
LEAST = 2  # points; so few have no matrix that tells them from any other array
KINDS = "fiub"  # floating, signed, unsigned, boolean
LAST, SURROGATES = 0x10FFFF, (0xD800, 0xDFFF)  # the last character of Unicode, and numbers that stand for none


@frozen
class Header:
    """What an NPY header says."""

    dtype: np.dtype[np.generic]
    fortran: bool
    shape: tuple[int, ...]
    offset: int  # bytes before the numbers

    @property
    def size(self) -> int:
        """Bytes that the numbers take."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_npy(opened: Opened, input: Input, compute: Compute) -> Sheet:
    """The numbers of an NPY file."""
    with opened.stream() as stream:
        return array_sheet(stream, opened.size, opened.path, input, compute, FEWER)


def array_sheet(stream: BinaryIO, size: int, path: str, input: Input, compute: Compute,
                hint: str = "") -> Sheet:
    """The array in `size` bytes of a stream, as a sheet with columns x1, x2, ..."""
    header = read_header(stream, path)
    require_kind(header, input, path)
    require_size(header, size, path)
    rows, columns = flat(header.shape) if len(header.shape) > 1 else (header.shape[0], 1)
    require_content(rows, columns, path)
    copies = 8 + header.dtype.itemsize if header.dtype != np.dtype("<f8") or header.fortran else 8
    compute.require(float(copies * rows * columns), f"an array of {rows:,} x {columns:,} numbers", hint)
    values = as_doubles(read_values(stream, header, path), path)
    if values.ndim == 1:
        return Sheet(values, ())
    sheet = matrix_sheet(values.reshape(rows, columns), input)
    return replace(sheet, image=image_of(header.shape) if len(sheet.columns) == columns else None)


def matrix_sheet(values: Array, input: Input) -> Sheet:
    """A matrix that names nothing, as a sheet; raises ConfigError and DataError."""
    columns = values.shape[1]
    choice, names = unnamed(values.shape, input, lambda column: values[:, column])
    used = values if len(choice.values) == columns else np.ascontiguousarray(values[:, choice.values])
    return replace(names, values=used)


def unnamed(shape: tuple[int, ...], input: Input, column: Callable[[int], Array]) -> tuple[Choice, Sheet]:
    """Columns x1, x2, ... by what they are for, and a sheet without numbers: ids and labels are columns of numbers.

    Raises ConfigError for columns that are not there, and DataError where none is left for the numbers.
    """
    choice = choose(numbered("x", shape[1]), input)
    require_content(shape[0], len(choice.values), input.path)
    labels = {choice.names[place]: texts(column(place)) for place in choice.labels}
    ids = None if choice.id is None else texts(column(choice.id))
    return choice, Sheet(np.empty((shape[0], 0)), choice.columns, False, ids, "", labels)


def flat(shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns of an array whose first side counts the rows."""
    return shape[0], math.prod(shape[1:])


def image_of(shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape of the images that an array holds: gray, or with red, green and blue; None where it holds none."""
    colors = shape[3:]
    return shape[1:] if len(shape) == 3 or colors == (3,) else shape[1:3] if colors == (1,) else None


def texts(values: Array) -> tuple[str, ...]:
    """A numeric column as ids or labels."""
    return tuple(f"{value:.17g}" for value in values.tolist())


def read_header(stream: BinaryIO, path: str) -> Header:
    """Parses the header without running anything in it; raises DataError."""
    start = stream.read(8)
    if len(start) < 8 or start[:6] != MAGIC or (start[6], start[7]) not in LENGTH_BYTES:
        raise broken("it does not begin with an NPY header", path)
    count = LENGTH_BYTES[start[6], start[7]]
    length = int.from_bytes(stream.read(count), "little")
    if length > HEADER_LIMIT:
        raise broken(f"its header is longer than {HEADER_LIMIT >> 10} KiB", path)
    text = stream.read(length)
    if len(text) < length:
        raise broken("it ends within its header", path)
    return parse_header(text, 8 + count + length, path)


def parse_header(text: bytes, offset: int, path: str) -> Header:
    """The header's dictionary, taken literally."""
    try:
        fields = ast.literal_eval(text.decode("utf-8").strip())
        if not isinstance(fields, dict) or set(fields) != {"descr", "fortran_order", "shape"}:
            raise ValueError
        shape, fortran = fields["shape"], fields["fortran_order"]
        if not isinstance(shape, tuple) or not all(type(size) is int and 0 <= size < 2**62 for size in shape):
            raise ValueError
        if type(fortran) is not bool:
            raise ValueError
        return Header(parse_dtype(fields["descr"], path), fortran, shape, offset)
    except MlcliError:
        raise
    except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError, UnicodeDecodeError):
        raise broken(f"its header cannot be understood: {shown(text[:60].decode('latin-1'))}", path) from None


def parse_dtype(descr: object, path: str) -> np.dtype[np.generic]:
    """The type of the numbers; raises UnsafeFile for Python objects."""
    if "O" in str(descr):
        raise UnsafeFile("NPY-OBJECTS", "the array holds Python objects, which can run code when they are loaded",
                         where=place(path), hint="save plain numbers: numpy.save(file, array.astype(float))")
    if not isinstance(descr, str):
        raise wrong_array(f"its records are of type {shown(str(descr))}", path)
    return np.dtype(descr)


def require_kind(header: Header, input: Input, path: str) -> None:
    """Refuses arrays that are not matrices of real numbers."""
    if header.dtype.kind not in KINDS or header.dtype.subdtype is not None:
        raise wrong_array(f"its type is {header.dtype} and its shape {header.shape}", path)
    sides = len(header.shape)
    condensed, images = input.kind == "dissimilarities" and sides == 1, input.kind == "features" and sides in (3, 4)
    if not input.chosen("kind") and sides == 1 and points_of_pairs(header.shape[0]) > LEAST:
        raise DataError("LOOKS-LIKE-MATRIX", f"the array holds {counted(header.shape[0], 'number')}, one for every two "
                        f"of {points_of_pairs(header.shape[0]):,} points, as scipy's pdist writes dissimilarities",
                        where=place(path), kind="dissimilarities", hint="give --kind dissimilarities, or an array of "
                        "two dimensions")
    if sides != 2 and not condensed and not images:
        raise wrong_array(f"its shape is {header.shape} and its type {header.dtype}", path, pairs=input.square)


def require_size(header: Header, size: int, path: str) -> None:
    """Refuses a file whose size is not the one its header announces."""
    room = size - header.offset
    if room != header.size:
        what = "is cut off" if room < header.size else "has bytes after its end"
        raise broken(f"it {what}: the header announces {counted(header.size, 'byte')} of shape {header.shape}, "
                     f"and there are {room:,}", path)


def read_values(stream: BinaryIO, header: Header, path: str) -> AnyArray:
    """The numbers or texts as they are stored."""
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
    """Refuses texts with numbers that stand for no character: surrogates, and those beyond the last one."""
    if not flat.dtype.itemsize:
        return
    codes = flat.view(np.dtype(np.uint32).newbyteorder(flat.dtype.byteorder)).reshape(len(flat), -1)
    wrong = ((codes > LAST) | ((codes >= SURROGATES[0]) & (codes <= SURROGATES[1]))).any(axis=1)
    if wrong.any():
        row = int(wrong.argmax())
        raise broken(f"text {row + 1} of {len(flat)} holds a number that is no character of Unicode", path)


def as_doubles(values: AnyArray, path: str) -> Array:
    """The numbers in double precision, in C order; warns of integers that do not fit."""
    if values.dtype.kind in "iu" and values.dtype.itemsize > 4 and values.size:
        largest = max(-int(values.min()), int(values.max()))
        if largest > EXACT:
            note("W-INT-PRECISION", "integers above 2**53 were rounded", largest=largest)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        doubles = np.ascontiguousarray(values, dtype=np.float64)
    if values.dtype.itemsize > 8 and np.any(np.isinf(doubles) & np.isfinite(values)):
        raise DataError("OVERFLOW", "some numbers are too large for double precision", where=place(path),
                        hint="rescale them")
    return doubles


def broken(what: str, path: str) -> DataError:
    """The error for a file that is not a whole NPY file."""
    return DataError("CORRUPT", f"this is not a whole NPY file: {what}", where=place(path),
                     hint="write or copy the file again")


def points_of_pairs(count: int) -> int:
    """How many points have so many pairs; 0 where none have."""
    size = (1 + math.isqrt(1 + 8 * count)) // 2
    return size if size * (size - 1) // 2 == count else 0


def wrong_array(what: str, path: str, *, pairs: bool = False) -> DataError:
    """The error for an array of another kind."""
    return DataError("ARRAY", f"the array is not a matrix of real numbers: {what}", where=place(path),
                     hint="two dimensions of floating, integer or boolean numbers are needed"
                     " (one for condensed dissimilarities, three or four for images)"
                     + (f"; {NO_PAIRS}" if pairs else ""))
