"""Matrices that `report.keep` requests, in SciPy's and NumPy's formats, and what writing them costs."""

from collections.abc import Sequence
from mmap import MADV_DONTNEED, mmap
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mlcli.base.rows.scratch import allocate_blocks
from mlcli.base.stages.stage import part, stage
from mlcli.base.stages.steps import Step
from mlcli.base.values.products import ROOM, ROWS, SIDE, Name, Products, Sparse, Square, materialize
from mlcli.publication.publish import writing
from mlcli.rundir.names import KEPT

if TYPE_CHECKING:
    from scipy import sparse

SPARSE = ("graph", "weights")  # whose size grows with the number of neighbors
RATE = 5e8  # bytes a second that are written
USUAL = 20  # entries of a row of these, both ways


@stage("keep")
def write_kept(folder: Path, products: Products, keep: Sequence[Name]) -> None:
    """Writes some of what a fit made into a folder; raises StorageError."""
    for name in keep:
        with part(KEPT[name]), writing(folder / KEPT[name]):
            _write(folder / KEPT[name], materialize(products[name]))


def _write(path: Path, product: Sparse | Square) -> None:
    if isinstance(product, Sparse):
        from scipy import sparse

        sparse.save_npz(path, matrix_of(product), compressed=False)  # whose bytes depend on no library of compression
    else:
        _write_square(path, product)


def matrix_of(product: Sparse) -> "sparse.csr_array":
    """Return a SciPy matrix in which explicit zeros stay; its indices are narrow where they can be."""
    from scipy import sparse

    size = len(product.starts) - 1
    kind = sparse.get_index_dtype(maxval=max(len(product.indices), size))
    matrix = sparse.csr_array((product.values, product.indices.astype(kind), product.starts.astype(kind)),
                              shape=(size, size))
    matrix.sort_indices()
    return matrix


def _write_square(path: Path, product: Square) -> None:
    """The file is given all its blocks at once, so that a full disk is an error here and not a crash later.

    What was written goes out of this process's memory, and to the disk when the system likes.
    """
    shape = (product.size, product.size)
    with path.open("w+b") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
        start = file.tell()
        allocate_blocks(file.fileno(), start + 8 * product.size**2)
        with mmap(file.fileno(), 0) as room:
            matrix = np.frombuffer(room, dtype="<f8", offset=start).reshape(shape)
            product.fill(matrix, lambda: room.madvise(MADV_DONTNEED))
            del matrix  # which holds on to the room


def bytes_of(keep: Sequence[Name], rows: int) -> int:
    """Estimate the bytes of the files on disk, for so many rows."""
    return sum(16 * USUAL * rows if name in SPARSE else 8 * rows * rows for name in keep)


def keep_step(keep: Sequence[Name], rows: int, fit: float) -> Step:
    """Predict the cost of writing matrices; rows of square ones are computed again, which takes about one fit."""
    squares = sum(name not in SPARSE for name in keep)
    return Step("keep", ", ".join(KEPT[name] for name in keep), squares * fit + bytes_of(keep, rows) / RATE,
                8.0 * max(rows * min(rows, max(ROWS, ROOM // rows)), min(rows, SIDE) ** 2) if squares else float(
                    bytes_of(keep, rows)))
