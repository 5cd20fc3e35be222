"""New rows for a finished run that do not fit in memory: read in blocks, each treated as a table."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import cast

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.passes import all_parts
from mlcli.base.rows.source import Rows, rows_of
from mlcli.base.rows.sparse import SparseRows
from mlcli.base.stages.stage import no_listeners
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.data.formats.block_file import BlockFile, NamedColumns, RowFile, reads_blocks
from mlcli.data.options.input import Input
from mlcli.data.prepare.missing import note_dropped
from mlcli.data.read.blocks import unread_table
from mlcli.data.read.match import by_position, require_named
from mlcli.data.table.table import Source, Table
from mlcli.errors import DataError


def new_in_blocks(found: BlockFile | None, source: Source, input: Input, wanted: tuple[str, ...],
                  compute: Compute) -> Table | None:
    """Return new rows of features with the run's columns; None if they fit in memory. Raises DataError."""
    if not reads_blocks(found, input, compute):
        return None
    assert found is not None
    if found.choice.columns != wanted and not (
            not found.named and by_position(found.choice.columns, wanted, "column")):
        require_named(found.choice.columns, wanted, input.path, "column",
                      strict=not found.named or bool(found.image))
        found = replace(found, file=in_order(found, wanted))
    return unread_table(found, wanted, input, source)


def in_order(found: BlockFile, wanted: tuple[str, ...]) -> RowFile:
    """Return a file with its named columns in the order of `wanted`."""
    if isinstance(found.file, SparseRows):
        places = {name: place for place, name in enumerate(found.choice.columns)}
        return SparseRows(found.file.matrix[:, [places[name] for name in wanted]])
    return cast(NamedColumns, found.file).in_order(wanted)


EMPTY = "E-EMPTY"  # the code of the error for a table whose rows are all dropped


@frozen
class MappedTable:
    """The result of a row-wise function on a table that is read in blocks: computed part by part on demand."""

    table: Table  # its values are rows in a file
    rows: Rows
    place: Callable[[Table], Table]

    def parts(self) -> Iterator[Table]:
        """Yield the parts in their order; notes that would repeat are made once."""
        gone, told, empty = list[str](), False, None
        for first, values in all_parts(self.rows):
            places, there = np.arange(first, first + len(values)), np.zeros(0, dtype=np.int64)
            try:
                with no_listeners() if told else nullcontext():
                    made = self.place(self._part(first, values, places))
            except DataError as error:
                if error.code != EMPTY:
                    raise
                empty = error  # all rows of this part are dropped; other parts may keep some
            else:
                there = places if made.places is None else made.places
                yield replace(made, places=there)
            if told or not len(there):  # the policy has noted the dropped rows of the first part
                gone += [self.table.ids[row] for row in np.setdiff1d(places, there).tolist()]
            told = told or len(there) > 0
        if not told and empty is not None:
            raise empty
        if gone:
            note_dropped(gone)

    def whole(self) -> Table:
        """Return all parts as one table in memory."""
        parts = list(self.parts())
        chosen = np.concatenate([part.places for part in parts if part.places is not None])
        whole = replace(self.table, values=np.zeros((len(self.rows), 0)))
        whole = whole if len(chosen) == len(self.rows) else whole.take(chosen)
        return replace(parts[0], values=np.concatenate([part.values for part in parts]), ids=whole.ids,
                       labels=whole.labels, places=whole.places)

    def _part(self, first: int, values: Array, places: Indices) -> Table:
        span = slice(first, first + len(values))
        labels = {name: texts[span] for name, texts in self.table.labels.items()}
        return replace(self.table, values=values, ids=self.table.ids[span], labels=labels, places=places)


def blockwise(table: Table, place: Callable[[Table], Table]) -> Table | MappedTable:
    """Apply a row-wise function to a table; if the table is read in blocks, part by part on demand."""
    rows = rows_of(table.values)
    return place(table) if rows is None else MappedTable(table, rows, place)
