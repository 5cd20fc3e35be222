"""New rows for a finished run that memory does not hold: read in blocks, each treated as a table of its own."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace

import numpy as np

from mlcli.base.compute import Compute
from mlcli.base.rows import Part, Rows, as_array, rows_of
from mlcli.base.stage import unheard
from mlcli.data.formats import format_of
from mlcli.data.input import Input
from mlcli.data.labels import labeled
from mlcli.data.match import by_position, require_same
from mlcli.data.missing import note_dropped
from mlcli.data.row_numbers import RowNumbers
from mlcli.data.sheet import require_unique_ids
from mlcli.data.source import opened
from mlcli.data.streamed import found_in, in_blocks, texts_of
from mlcli.data.table import Source, Table


def new_in_blocks(input: Input, wanted: Sequence[str], compute: Compute) -> Table | None:
    """New rows of features by the run's columns; None where memory holds them. Raises as reading them whole does."""
    if input.path == "-":  # which is read once
        return None
    with opened(input.path, compute) as file:
        format = format_of(file, input)
        found = found_in(file, input, format, compute)
        if not in_blocks(found, input, compute):
            return None
        assert found is not None
        if found.choice.columns != tuple(wanted) and not (
                format == "npy" and by_position(found.choice.columns, tuple(wanted), "column")):
            require_same(found.choice.columns, wanted, input.path, "column")
            found = found_in(file, input.replace(columns=tuple(wanted)), format, compute) or found
        named = texts_of(found, input)
        rows, source = Rows(found.file), Source(input.path, file.digest, file.size, format)
        ids: Sequence[str] = RowNumbers.up_to(len(rows)) if named.ids is None else named.ids
        require_unique_ids(ids, input.path)
        table = Table(as_array(rows), tuple(wanted), ids, named.id_name or "id", named.labels, "features", source)
        return labeled(table, input, compute)


def blockwise(table: Table, place: Callable[[Table], Table]) -> Table:
    """What becomes of a table, each row by itself: of one that is read in blocks, part by part."""
    rows = rows_of(table.values)
    if rows is None:
        return place(table)
    placed, kept, gone = [], [], []
    for number, (first, values) in enumerate(_parts(rows)):
        span = slice(first, first + len(values))
        labels = {name: texts[span] for name, texts in table.labels.items()}
        places = np.arange(span.start, span.stop)
        part = replace(table, values=values, ids=table.ids[span], labels=labels, places=places)
        with nullcontext() if number == 0 else unheard():  # what there is to say of every part is said once
            made = place(part)
        there = places if made.places is None else made.places
        placed.append(made)
        kept.append(there)
        if number and len(there) < len(values):
            gone += [table.ids[row] for row in np.setdiff1d(places, there).tolist()]
    if gone:
        note_dropped(gone)
    chosen = np.concatenate(kept)
    whole = replace(table, values=np.zeros((len(rows), 0))) if len(chosen) == len(rows) else replace(
        table, values=np.zeros((len(rows), 0))).take(chosen)
    return replace(placed[0], values=np.concatenate([part.values for part in placed]), ids=whole.ids,
                   labels=whole.labels, places=whole.places)


def _parts(rows: Rows) -> Iterator[Part]:
    for number in range(rows.blocks):
        yield from rows.parts(number)
