"""Reading of a table into an array in scratch files: a few rows at a time, with ids and labels."""

from collections.abc import Sequence
from contextlib import closing

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order
from mlcli.base.rows.scratch import allocate, release_pages
from mlcli.base.rows.source import Part, Rows
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.data.files.source import open_input
from mlcli.data.formats.block_file import RowFile, Texts
from mlcli.data.formats.reader import block_file_of
from mlcli.data.options.formats import FORMATS
from mlcli.data.options.input import Input
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.data.table.sheet import require_unique_ids
from mlcli.data.table.table import Source, Table
from mlcli.engine.executor import results


@frozen
class NameBlocks(Texts):
    """The ids and labels of a file as a source of blocks, without ids that equal the row numbers."""

    def work(self, number: int) -> list[list[str]]:
        """Return the columns of a block; no ids if they equal the numbers of its rows."""
        ids, *labels = super().work(number)
        first = self.file.bounds[number]
        return [[] if ids == list(RowNumbers(range(first + 1, first + 1 + len(ids)))) else ids, *labels]


def read_into_array(input: Input, compute: Compute) -> Table | None:
    """Return the table of a file that is read in blocks, its numbers in scratch files; None for other files.

    Raises DataError and StorageError.
    """
    with open_input(input.path, compute) as file:
        found = block_file_of(file, input.replace(stream="always"), FORMATS[input.format], compute)
        if found is None:
            return None
        wanted = [column for column in (found.choice.id, *found.choice.labels) if column is not None]
        texts = names_in(found.file, tuple(found.choice.names[column] for column in wanted))
        ids = texts[0] if texts else RowNumbers.up_to(found.file.bounds[-1])
        require_unique_ids(ids, input.path)
        labels = dict(zip((found.choice.names[column] for column in found.choice.labels), map(tuple, texts[1:]),
                          strict=True))
        return Table(fill_array(Rows(found.file)), found.choice.columns, ids, found.choice.id_name or "id", labels,
                     source=Source(input.path, file.digest, file.size, input.format))


def names_in(file: RowFile, names: tuple[str, ...]) -> list[Sequence[str]]:
    """Return ids and labels of a file, equal texts as one object; ids that equal the row numbers as RowNumbers."""
    columns: list[list[str]] = [[] for _ in names]
    known: dict[str, str] = {}
    numbered, bounds = True, file.bounds
    with closing(results(NameBlocks(file, names))) as every:
        for number, (ids, *labels) in enumerate(every if names else ()):
            if ids and numbered:
                columns[0], numbered = list(RowNumbers.up_to(bounds[number])), False
            if not numbered:
                columns[0].extend(ids or RowNumbers(range(bounds[number] + 1, bounds[number + 1] + 1)))
            for column, texts in zip(columns[1:], labels, strict=True):
                column.extend(known.setdefault(text, text) for text in texts)
    if not names:
        return []
    return [RowNumbers.up_to(bounds[-1]) if numbered else tuple(columns[0]), *columns[1:]]


def fill_array(rows: Rows) -> Array:
    """Return all rows as an (n, d) array, in a file if they are many."""
    values = allocate(*rows.shape)

    def block(number: int) -> list[Part]:
        return list(rows.parts(number))

    for parts in in_order(block, range(rows.blocks), progress=True):
        for first, some in parts:
            values[first : first + len(some)] = some
        release_pages()
    return values
