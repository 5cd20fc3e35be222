"""Files that can be read in blocks of rows, their columns and rows, and the choice between blocks and memory."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import field, replace
from typing import Any, Protocol

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.footprint import ARROW, CELL_OF_TEXT, TEXT, resident
from mlcli.base.rows.source import Rows, RowSource, in_memory
from mlcli.base.rows.sparse import SparseRows
from mlcli.base.values.compute import Compute
from mlcli.data.options.formats import formats_with_blocks
from mlcli.data.options.input import Input
from mlcli.data.table.selection import Choice
from mlcli.data.table.sheet import FEWER, Sheet, require_texts, with_row_names
from mlcli.data.text.records import CELLS
from mlcli.engine.executor import results
from mlcli.errors import ConfigError

WHOLE, SQUARE = 2, 4  # copies of a table, and of a matrix, in memory during a run
SMALL = 1 << 27  # bytes of a table with its zeros up to which a sparse one is read into memory with them
PART = 1 << 19  # numbers read in one step: 4 MiB
TEXTS = 1 << 16  # rows of texts read in one step


class RowFile(RowSource, Protocol):
    """A table in a file, with columns of texts."""

    def text_parts(self, number: int, names: tuple[str, ...], most: int) -> Iterator[list[list[str]]]:
        """Yield columns of a block as texts, at most `most` rows at a time."""


class NamedColumns(RowFile, Protocol):
    """A table in a file whose columns have names."""

    def in_order(self, names: tuple[str, ...]) -> RowFile:
        """Return the same columns in another order."""


@frozen
class BlockFile:
    """A file that can be read in blocks, and its columns."""

    file: RowFile
    choice: Choice
    types: Sequence[Any] = ()
    named: bool = True  # whether the file names its columns
    names: Sheet | None = None  # ids and labels, if they are already read
    image: tuple[int, ...] | None = None  # of rows that are images
    # the texts of columns that the file gives as numbers, after all others; before these are known, `choice` has them
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that the file gives as numbers."""
        return (*self.choice.columns, *self.categories)

    @property
    def bytes(self) -> float:
        """The bytes of all its numbers in memory."""
        return 8.0 * self.file.bounds[-1] * (self.file.columns + len(self.choice.categories))


def part_rows(columns: int, fewest: int = 1) -> int:
    """Return the number of rows to read in one step."""
    return max(PART // max(columns, 1), fewest)


def fits(numbers: float, input: Input, compute: Compute, *, arrow: bool) -> bool:
    """Whether a run with this many bytes of numbers fits in memory, read by Arrow or directly."""
    copies = SQUARE if input.square else TEXT if arrow else WHOLE
    return resident(compute.thread_count(), [ARROW] * arrow) + copies * numbers <= compute.memory_bytes()


def is_short(cells: float, input: Input, compute: Compute) -> bool:
    """Whether a text is read into memory without a look for its blocks: its table fits, with so many cells at most.

    One of few cells is read by record, and blocks of it would take more memory: that of Arrow.
    """
    return input.stream == "auto" and (cells <= CELLS or fits(8.0 * cells, input, compute, arrow=True))


def reads_blocks(found: BlockFile | None, input: Input, compute: Compute) -> bool:
    """Whether a file is read in blocks: on request, or if its table does not fit in memory.

    Raises ConfigError if blocks are requested and not possible.
    """
    if input.stream == "never":
        return False
    if input.stream == "always":
        if found is None:
            features, pairs = map(formats_with_blocks, ("features", "dissimilarities"))
            raise ConfigError("STREAM", f"only features in {features} files, sparse matrices, and dissimilarities in "
                              f"{pairs} files are read in blocks; there must be no second view but for methods that "
                              "take its columns beside the first, and only sparse matrices can be transposed",
                              where="input.stream",
                              hint="convert the file (CSV must be UTF-8, not compressed, and no quote may stand within "
                              "a cell that does not begin with one; NPY in C order), or leave input.stream out")
        return True
    return found is not None and not is_held(found.file, found.bytes, input, compute)


def is_held(file: Any, numbers: float, input: Input, compute: Compute) -> bool:
    """Whether this many bytes of numbers of a file are read into memory.

    A sparse table with its zeros only if small.
    """
    if isinstance(file, SparseRows):
        return numbers <= SMALL
    return fits(numbers, input, compute, arrow=not file.direct)


@frozen
class Texts:
    """Columns of texts of a file, as a source of blocks: all texts in lists, or the different ones in sets."""

    file: RowFile
    names: tuple[str, ...]
    kind: type[list[str]] | type[set[str]] = list
    most: int = TEXTS  # rows that are read together

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return len(self.file.bounds) - 1

    def work(self, number: int) -> list[Any]:
        """Return the texts of each column in a block."""
        found = [self.kind() for _ in self.names]
        for part in self.file.text_parts(number, self.names, self.most):
            for texts, some in zip(found, part, strict=True):
                if isinstance(texts, set):
                    texts.update(some)
                else:
                    texts.extend(some)
        return found

    def stop(self) -> None:
        """Do nothing: blocks are short."""


def texts_of(found: BlockFile, input: Input, compute: Compute) -> Sheet:
    """Return a sheet without numbers: the ids, if the file has any, and the labels; raises RefusedByPlan."""
    choice = found.choice
    if found.names is not None:
        return with_row_names(found.names, ids=not input.without_ids)
    bare = Sheet(np.empty((0, len(choice.columns))), choice.columns, named=found.named,
                 point=getattr(found.file, "point", "."))
    wanted = [column for column in (choice.id, *choice.texts) if column is not None]
    if not wanted:
        return bare
    names = tuple(choice.names[column] for column in wanted)
    columns: list[list[str]] = [[] for _ in names]
    sizes, program = dict.fromkeys(names, 0.0), resident(compute.thread_count())
    with closing(results(Texts(found.file, names))) as every:
        for block in every:
            before = sum(sizes.values())
            for name, texts, some in zip(names, columns, block, strict=True):
                texts.extend(some)
                sizes[name] += sum(map(len, some)) + CELL_OF_TEXT * len(some)
            next_block = sum(sizes.values()) - before  # about, which is read meanwhile
            require_texts(sizes, len(columns[0]), compute, program + next_block)
    by_name = dict(zip(names, map(tuple, columns), strict=True))
    ids = None if choice.id is None else by_name[choice.id_name]
    labels = {choice.names[column]: by_name[choice.names[column]] for column in choice.texts}
    id_name = choice.id_name if found.named else ""
    return with_row_names(replace(bare, ids=ids, id_name=id_name, labels=labels, words=choice.word_names,
                                  listed=choice.listed), ids=not input.without_ids)


def sheet_of_blocks(found: BlockFile, input: Input, compute: Compute) -> Sheet:
    """Read all rows of a file into memory; raises RefusedByPlan if they do not fit."""
    compute.require(resident(compute.thread_count()) + found.bytes, f"a table of {found.file.bounds[-1]:,} x "
                    f"{found.file.columns:,} numbers", FEWER)
    rows, columns = found.file.bounds[-1], found.file.columns
    return replace(texts_of(found, input, compute),
                   values=in_memory(Rows(found.file)) if columns else np.empty((rows, 0)))
