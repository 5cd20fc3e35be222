"""Numbers as text."""

from mlcli.base.types import Array, Indices
from mlcli.native.library import kernels


def numbered_lines(numbers: Indices, values: Array) -> bytes:
    """Lines of CSV: the number of each row and its values (n x p), with 17 digits that read back to the same bits."""
    return bytes(kernels().numbered_lines(numbers, values))
