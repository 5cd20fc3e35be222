"""Whole numbers of a text beyond the precision of doubles: columns that lose digits, or all differences."""

from itertools import islice

import numpy as np

from mlcli.base.stages.stage import note
from mlcli.base.types import Array
from mlcli.data.options.numbers import BLANKS, EXACT
from mlcli.data.options.wording import counted, listed, place
from mlcli.data.text.layout import Layout
from mlcli.data.text.records import Text
from mlcli.errors import DataError

LOOKED_AT = 50  # records


def warn_of_rounding(text: Text, layout: Layout, values: Array) -> None:
    """Warn about columns of whole numbers that were rounded, as the first records show; `values` is an (n, d) array.

    Raises DataError for a column that rounding would make constant.
    """
    most, least = np.fmax.reduce(values, axis=0, initial=0.0), np.fmin.reduce(values, axis=0, initial=0.0)
    large = np.flatnonzero(np.maximum(most, -least) >= EXACT)
    if not len(large):
        return
    records = islice(text.records(text.lines(layout.skip), layout.lines, layout.width), LOOKED_AT)
    below = [cells for _, cells in records]
    names, lost = [], []
    for column in large.tolist():
        cells = {cells[layout.choice.values[column]].strip(BLANKS) for cells in below}
        rounded = {cell for cell in cells if _is_whole(cell) and int(cell) != int(float(cell))}
        if rounded:
            names.append(layout.choice.columns[column])
        if rounded and len(set(map(int, filter(_is_whole, cells)))) > 1 and np.ptp(values[:, column]) == 0:
            lost.append(layout.choice.columns[column])
    if lost:
        raise DataError("INT-PRECISION", f"{counted(len(lost), 'column')} of whole numbers above 2**53 that differ "
                        f"only in digits that double precision does not hold: {listed(lost)}", where=place(text.path),
                        hint="name it with {input.id_column} or {input.label_columns} if it holds ids, or subtract "
                             "what all have in "
                        "common")
    if names:
        note("W-INT-PRECISION", f"integers above 2**53 were rounded in {counted(len(names), 'column')}",
             columns=names[:100])


def _is_whole(cell: str) -> bool:
    """Whether a cell is a whole number in plain digits."""
    return len(cell) < 40 and cell.removeprefix("-").isascii() and cell.removeprefix("-").isdecimal()
