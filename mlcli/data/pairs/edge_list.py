"""Edge lists: tables with the columns source and target, and one of lengths or affinities."""

import numpy as np

from mlcli.base.values.compute import Compute
from mlcli.data.files.formats import format_of
from mlcli.data.files.source import Opened
from mlcli.data.formats.edges import Edges
from mlcli.data.formats.reader import reader_of
from mlcli.data.options.input import Input
from mlcli.data.options.wording import counted, place
from mlcli.data.table.sheet import Sheet
from mlcli.errors import ConfigError, DataError

SOURCE, TARGET = "source", "target"
NUMBERS = {"lengths": "length", "affinities": "affinity"}
EITHER = "weight"  # NetworkX's name for either


def read_edge_list(file: Opened, input: Input, compute: Compute) -> Edges:
    """Read the edges of a table; its points are numbered in the order of their names, source before target.

    Raises DataError for edges without names or numbers.
    """
    sheet = _sheet(file, input, compute)
    names = np.array([sheet.labels[SOURCE], sheet.labels[TARGET]], dtype=object).T.ravel()
    blank = np.flatnonzero(names == "")
    if len(blank):
        raise DataError("MISSING", f"{counted(len(blank), 'end')} of edges without a name, the first in row "
                        f"{blank[0] // 2 + 1}", where=place(input.path), hint="name both ends of every edge")
    ids = {name: number for number, name in enumerate(dict.fromkeys(names.tolist()))}
    ends = np.fromiter((ids[name] for name in names.tolist()), dtype=np.int64, count=len(names))
    return Edges(len(ids), ends[::2], ends[1::2], sheet.values[:, 0], tuple(ids))


def _sheet(file: Opened, input: Input, compute: Compute) -> Sheet:
    """Read the two columns of names as labels, and the one of numbers; raises DataError if one is missing."""
    own = NUMBERS[input.edges]
    try:
        return _read(file, input, own, compute)
    except ConfigError as error:
        if error.code != "E-UNKNOWN-COLUMN":
            raise
    try:
        return _read(file, input, EITHER, compute)
    except ConfigError as error:
        if error.code != "E-UNKNOWN-COLUMN":
            raise
        raise DataError("EDGE-LIST", f"an edge list has the columns {SOURCE}, {TARGET} and {own} (or {EITHER})",
                        where=place(input.path), hint="name them so in the first row") from None


def _read(file: Opened, input: Input, number: str, compute: Compute) -> Sheet:
    asked = input.replace(label_columns=(SOURCE, TARGET), columns=(number,), header=True)
    return reader_of(format_of(file, input)).table(file, asked, compute)
