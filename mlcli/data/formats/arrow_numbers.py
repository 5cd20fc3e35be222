"""Numbers of Arrow columns, in double precision."""

from typing import Any

from mlcli.base.types import Array
from mlcli.data.files.arrow import pyarrow
from mlcli.data.options.numbers import EXACT


def is_numeric(kind: Any) -> bool:
    """Whether an Arrow type is of numbers (a column of nulls counts)."""
    types = pyarrow().types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind)
                or types.is_null(kind))


def as_doubles(column: Any) -> Array:
    """Return a numeric column in double precision; nulls are NaN."""
    arrow = pyarrow()
    if arrow.types.is_decimal(column.type):
        column = column.cast(arrow.string())  # parsing is exact; a direct cast may be off by one bit
    if arrow.types.is_boolean(column.type):
        column = column.cast(arrow.uint8())
    values: Array = column.cast(arrow.float64(), safe=False).to_numpy(zero_copy_only=False)
    return values


def is_inexact(column: Any) -> bool:
    """Whether integers are too large for double precision."""
    arrow = pyarrow()
    if not arrow.types.is_integer(column.type) or column.type.bit_width < 64 or column.null_count == len(column):
        return False
    from pyarrow import compute

    extremes = compute.min_max(column).as_py()
    return bool(max(abs(extremes["min"]), abs(extremes["max"])) > EXACT)
