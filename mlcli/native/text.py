"""Numbers as text."""

from mlcli.base.types import Array, Indices
from mlcli.native.library import kernels


def numbered_lines(numbers: Indices, values: Array) -> bytes:
    """Return lines of CSV: row numbers and the values of an (n, p) array, in 17 digits that restore every bit."""
    return bytes(kernels().numbered_lines(numbers, values))
