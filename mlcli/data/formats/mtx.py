"""Matrix Market files, by SciPy's reader, after a check of their announced sizes."""

import io

import numpy as np

from mlcli.base.values.compute import Compute
from mlcli.base.values.naming import shown
from mlcli.data.files.arrow import corrupt
from mlcli.data.files.shared_handle import CHUNK
from mlcli.data.files.source import Opened
from mlcli.data.files.streams import text_stream
from mlcli.data.formats.cell_names import with_names
from mlcli.data.formats.reader import Reader
from mlcli.data.formats.sparse import Entries, SparseSheet, plain_sparse
from mlcli.data.options.input import Input
from mlcli.data.options.wording import counted, place
from mlcli.errors import DataError

BANNER = "%%matrixmarket"
SHORTEST = 4  # bytes of an entry: two digits, a space and the end of the line
ENTRY = 48.0  # bytes of an entry while it is read, and its mirror image
FIELDS, SHAPES = ("real", "double", "integer", "unsigned-integer", "pattern"), ("general", "symmetric")


def read_matrix_market(opened: Opened, input: Input, compute: Compute) -> Entries:
    """Return the entries of a sparse matrix; those of a pattern are ones."""
    from scipy.io import mmread

    content = _content(opened, input, compute)
    rows, columns, entries = _announced(content, opened.path)
    compute.require_data(ENTRY * entries + 8.0 * (rows + columns), f"a matrix of {counted(entries, 'entry')}")
    try:
        matrix = mmread(io.BytesIO(content)).tocoo()
    except (ValueError, OverflowError, TypeError, MemoryError) as error:
        raise corrupt(opened.path, "Matrix Market", error) from None
    return Entries((rows, columns), matrix.row, matrix.col, matrix.data.astype(np.float64))


def sparse_in(opened: Opened, input: Input, compute: Compute) -> SparseSheet:
    """Return the matrix with the names beside it, if there are any that fit."""
    entries = read_matrix_market(opened, input, compute)
    return with_names(entries, opened, input, compute) or plain_sparse(entries, input)


def _content(opened: Opened, input: Input, compute: Compute) -> bytes:
    """Return the whole text, decompressed under the limits of `input`."""
    content = bytearray()
    with text_stream(opened, input) as stream:
        while chunk := stream.read(CHUNK):
            content += chunk
            compute.require_data(2.0 * len(content), "a Matrix Market file")
    return bytes(content)


def _announced(content: bytes, path: str) -> tuple[int, int, int]:
    """Return the numbers of rows, columns and entries in the header; raises DataError if they are impossible."""
    lines = io.BytesIO(content)
    banner = lines.readline(200).decode("latin-1").lower().split()
    if len(banner) != 5 or banner[:2] != [BANNER, "matrix"]:
        raise _refused(f"it does not begin with {BANNER!r} matrix and its form", path)
    if banner[2] != "coordinate" or banner[3] not in FIELDS or banner[4] not in SHAPES:
        raise _refused(f"it holds a matrix of the form {shown(' '.join(banner[2:]))}", path)
    line = next((line for line in lines if line.strip() and not line.startswith(b"%")), b"")
    words = line[:200].split()
    if len(words) != 3 or not all(word.isdigit() and len(word) < 16 for word in words):
        raise _refused("its sizes are not three whole numbers", path)
    rows, columns, entries = map(int, words)
    if entries > len(content) // SHORTEST:
        raise _refused(f"it announces {counted(entries, 'entry')} and has {counted(len(content), 'byte')}", path)
    return rows, columns, entries


def _refused(what: str, path: str) -> DataError:
    return DataError("MATRIX-MARKET", f"this is not a matrix that can be read: {what}", where=place(path),
                     hint="write it as matrix coordinate of real, integer or pattern, general or symmetric")


READER = Reader(sparse=sparse_in, entries=read_matrix_market)
