"""A file that can be read in blocks of rows, with what it says of its columns and rows, and whether that is needed."""

from collections.abc import Sequence
from typing import Any

from mlcli.base.frozen import frozen
from mlcli.base.machine.footprint import ARROW, TEXT, resident
from mlcli.base.rows.sparse import SparseRows
from mlcli.base.values.compute import Compute
from mlcli.data.formats.condensed_rows import CondensedRows
from mlcli.data.formats.row_files import ArrowRows, NpyRows, ParquetRows
from mlcli.data.options.input import Input
from mlcli.data.table.selection import Choice
from mlcli.data.table.sheet import Sheet
from mlcli.data.text.rows import TextRows
from mlcli.errors import ConfigError

WHOLE, SQUARE = 2, 4  # arrays of the size of a table, and of a matrix, that a run holds which has it in memory
SMALL = 1 << 27  # bytes that a sparse table takes with its zeros: up to here it is held with them

RowFile = ParquetRows | ArrowRows | NpyRows | CondensedRows | TextRows | SparseRows


@frozen
class Found:
    """A file that can be read in blocks, with what it says of its columns."""

    file: RowFile
    choice: Choice
    types: Sequence[Any] = ()
    named: bool = True  # whether the file names its columns
    names: Sheet | None = None  # ids and labels, where they are known already
    image: tuple[int, ...] | None = None  # of rows that are images

    @property
    def bytes(self) -> float:
        """The memory that all of its numbers would take."""
        return 8.0 * self.file.bounds[-1] * self.file.columns


def fits(numbers: float, input: Input, compute: Compute, *, arrow: bool) -> bool:
    """Whether the memory holds a run with so many bytes of numbers, read by Arrow or from the file as they are."""
    copies = SQUARE if input.square else TEXT if arrow else WHOLE
    return resident(compute.thread_count(), [ARROW] * arrow) + copies * numbers <= compute.memory_bytes()


def in_blocks(found: Found | None, input: Input, compute: Compute) -> bool:
    """Whether a file is read in blocks: where it is asked for, or where the memory does not hold the table.

    Raises ConfigError where blocks are asked for in vain.
    """
    if input.stream == "never":
        return False
    if input.stream == "always":
        if found is None:
            raise ConfigError("STREAM", "only features in Parquet, Arrow IPC, NPY and CSV files, sparse matrices, and "
                              "dissimilarities in NPY files are read in blocks, without a second view and turned only "
                              "where sparse", where="input.stream",
                              hint="convert the file (CSV must be UTF-8, not compressed, and no quote may stand within "
                              "a cell that does not begin with one; NPY in C order), or leave input.stream out")
        return True
    return found is not None and not is_held(found.file, found.bytes, input, compute)


def is_held(file: Any, numbers: float, input: Input, compute: Compute) -> bool:
    """Whether so many bytes of numbers of a file are held in memory: of a sparse table also with its zeros."""
    if isinstance(file, SparseRows):
        return numbers <= SMALL
    return fits(numbers, input, compute, arrow=not isinstance(file, NpyRows | CondensedRows))
