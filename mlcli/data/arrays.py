"""Tables of arrays in memory, held to the same conditions as those of files."""

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from mlcli.base.stage import stage
from mlcli.base.types import AnyArray, Array
from mlcli.data.cells import refuse_negative, refuse_nonfinite
from mlcli.data.input import Input
from mlcli.data.read import features_table, square_table
from mlcli.data.resemblance import refuse_resemblance
from mlcli.data.row_numbers import RowNumbers
from mlcli.data.sheet import Sheet, numbered, require_content
from mlcli.data.square import checked
from mlcli.data.table import Source, Table
from mlcli.data.wording import counted
from mlcli.errors import DataError

HERE = "array"  # what stands where a file would be named
KINDS = "fiub"  # floating, signed, unsigned, boolean


@stage("read")
def table_of(array: Any, input: Input, *, ids: Sequence[str] | None, columns: Sequence[str] | None,
             labels: Mapping[str, Sequence[str]] | None) -> Table:
    """The table of an array (n x d), or of a matrix of pairs (n x n) by the kind of `input`.

    Raises DataError as reading a file does, and where names do not fit the numbers.
    """
    values = doubles(array)
    names = numbered("x", values.shape[1]) if columns is None else texts(columns, values.shape[1], "columns")
    told = {str(name): texts(given, len(values), f"the label {name}") for name, given in (labels or {}).items()}
    rows = None if ids is None else texts(ids, len(values), "ids")
    sheet = Sheet(values.copy() if input.square else values, names, columns is not None and not input.square, rows,
                  "id", told)
    source = Source(HERE, partial(digest, values), values.nbytes, HERE)
    table = (square_table if input.square else features_table)(sheet, input, source)
    if input.square:
        return Table(checked(table.values, tuple(table.ids), input), table.columns, table.ids, "id", told, table.kind,
                     source, observations=table.observations)
    refuse_resemblance(table, input)
    return table


def new_rows(array: Any, columns: Sequence[str], points: Sequence[str], kind: str) -> Table:
    """New rows for a run: of its columns, or with a number to each of its points; raises DataError."""
    values, wanted = doubles(array), tuple(columns) if kind == "features" else tuple(points)
    if values.shape[1] != len(wanted):
        what = "columns" if kind == "features" else "points"
        raise DataError("COLUMNS-DIFFER", f"{counted(values.shape[1], 'column')}, and the run has {len(wanted):,} "
                        f"{what}", where=HERE, hint=f"give a column for each of the run's {what}, in their order")
    ids = RowNumbers.up_to(len(values))
    if kind != "features":
        refuse_nonfinite(values, ids, wanted, HERE, "every new point needs a number to every point of the run")
    if kind == "dissimilarities":
        refuse_negative(values, ids, wanted, HERE)
    return Table(values, wanted, ids, kind=kind)


def doubles(array: Any) -> Array:
    """The numbers of an array in two dimensions; raises DataError for anything else."""
    given: AnyArray = np.asarray(array)
    if given.ndim != 2 or given.dtype.kind not in KINDS:
        raise DataError("ARRAY", f"an array of {given.ndim} dimensions and of the type {given.dtype} is no table of "
                        "numbers", where=HERE, hint="give numbers in rows and columns")
    require_content(given.shape[0], given.shape[1], HERE)
    return np.ascontiguousarray(given, dtype=np.float64)


def texts(given: Sequence[Any], count: int, what: str) -> tuple[str, ...]:
    """So many names as texts; raises DataError."""
    if isinstance(given, str) or len(given) != count:
        raise DataError("NAMES", f"{what}: {len(given):,} were given for {count:,}", where=HERE,
                        hint="give one for each")
    return tuple(map(str, given))


def digest(values: Array) -> str:
    """The sha256 of the numbers."""
    return hashlib.sha256(values.data).hexdigest()
