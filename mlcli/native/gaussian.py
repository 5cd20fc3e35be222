"""Products of vectors with a tile of a Gaussian kernel, whose values are not stored."""

from mlcli.base.types import AnyArray, Array
from mlcli.native.library import kernels


def gaussian_tile(left: AnyArray, right: AnyArray, *, of_columns: AnyArray, of_rows: AnyArray | None, to_rows: Array,
                  to_columns: Array) -> float:
    """Add products with K = exp(min(L Rᵀ, 0)) to arrays; return the sum of squares of K's entries.

    K Q is added to `to_rows` (m x b) and Kᵀ P to `to_columns` (n x b), from the vectors Q `of_columns` (n x b) and
    P `of_rows` (m x b); without P `to_columns` is not changed. Factors L (m x c), R (n x c) and vectors are in single
    precision or all in double, as products are then. Raises ValueError for shapes that do not fit.
    """
    found: float = kernels().gaussian_tile(left, right, of_columns, of_columns[:0] if of_rows is None else of_rows,
                                           to_rows, to_columns)
    return found
