"""A file that can be read in blocks of rows, with what it says of its columns and rows, and whether that is needed."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.footprint import ARROW, TEXT, resident
from mlcli.base.rows.passes import in_memory
from mlcli.base.rows.source import Rows, RowSource
from mlcli.base.rows.sparse import SparseRows
from mlcli.base.values.compute import Compute
from mlcli.data.options.formats import in_blocks as words_of
from mlcli.data.options.input import Input
from mlcli.data.table.selection import Choice
from mlcli.data.table.sheet import FEWER, Sheet
from mlcli.data.text.label_columns import with_row_names
from mlcli.engine.executor import results
from mlcli.errors import ConfigError

WHOLE, SQUARE = 2, 4  # arrays of the size of a table, and of a matrix, that a run holds which has it in memory
SMALL = 1 << 27  # bytes that a sparse table takes with its zeros: up to here it is held with them


class RowFile(RowSource, Protocol):
    """A table in a file, with columns of texts."""

    def texts(self, number: int, names: tuple[str, ...]) -> list[list[str]]:
        """Columns of a block as texts."""


class NamedColumns(RowFile, Protocol):
    """One whose columns have names."""

    def in_order(self, names: tuple[str, ...]) -> RowFile:
        """The same columns in another order."""


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
            raise ConfigError("STREAM", f"only features in {words_of('features')} files, sparse matrices, and "
                              f"dissimilarities in {words_of('dissimilarities')} files are read in blocks, without a "
                              "second view and turned only where sparse", where="input.stream",
                              hint="convert the file (CSV must be UTF-8, not compressed, and no quote may stand within "
                              "a cell that does not begin with one; NPY in C order), or leave input.stream out")
        return True
    return found is not None and not is_held(found.file, found.bytes, input, compute)


def is_held(file: Any, numbers: float, input: Input, compute: Compute) -> bool:
    """Whether so many bytes of numbers of a file are held in memory: of a sparse table also with its zeros."""
    if isinstance(file, SparseRows):
        return numbers <= SMALL
    return fits(numbers, input, compute, arrow=not file.direct)


@frozen
class Texts:
    """The ids and labels of a file: a source of blocks."""

    file: RowFile
    names: tuple[str, ...]

    @property
    def blocks(self) -> int:
        """How many blocks of work there are."""
        return len(self.file.bounds) - 1

    def work(self, number: int) -> list[list[str]]:
        """The columns of texts of a block."""
        return self.file.texts(number, self.names)

    def stop(self) -> None:
        """Blocks are short."""


def texts_of(found: Found, input: Input) -> Sheet:
    """A sheet without numbers: the ids, where the file has any, and the labels."""
    choice = found.choice
    if found.names is not None:
        return with_row_names(found.names, ids=not input.without_ids)
    bare = Sheet(np.empty((0, len(choice.columns))), choice.columns, named=found.named,
                 point=getattr(found.file, "point", "."))
    wanted = [column for column in (choice.id, *choice.labels) if column is not None]
    if not wanted:
        return bare
    names = tuple(choice.names[column] for column in wanted)
    columns: list[list[str]] = [[] for _ in names]
    with closing(results(Texts(found.file, names))) as every:
        for block in every:
            for texts, some in zip(columns, block, strict=True):
                texts.extend(some)
    by_name = dict(zip(names, map(tuple, columns), strict=True))
    ids = None if choice.id is None else by_name[choice.id_name]
    labels = {choice.names[column]: by_name[choice.names[column]] for column in choice.labels}
    id_name = choice.id_name if found.named else ""
    return with_row_names(replace(bare, ids=ids, id_name=id_name, labels=labels, words=choice.word_names),
                          ids=not input.without_ids)


def sheet_of_blocks(found: Found, input: Input, compute: Compute) -> Sheet:
    """All rows of a file, in memory; raises RefusedByPlan where it does not hold them."""
    compute.require(resident(compute.thread_count()) + found.bytes, f"a table of {found.file.bounds[-1]:,} x "
                    f"{found.file.columns:,} numbers", FEWER)
    return replace(texts_of(found, input), values=in_memory(Rows(found.file)))
