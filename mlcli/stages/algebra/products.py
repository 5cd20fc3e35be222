"""Products of the columns of rows with each other, by the native kernel where it is there."""

import numpy as np

from mlcli import native
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.types import Array

PART = 1 << 19  # numbers of rows multiplied by themselves at once by NumPy


def column_products(rows: Array, shift: Array) -> tuple[Array, Array]:
    """Return Σ (x - s)(x - s)ᵀ (d x d) and Σ (x - s) (d), of (m, d) rows x less a (d,) shift s, by one thread."""
    if native.available():
        return native.gram(rows, shift)
    columns = rows.shape[1]
    products, sums = np.zeros((columns, columns)), np.zeros(columns)
    for part in row_blocks(len(rows), max(columns**2, PART), columns):  # a product costs more than its addition
        moved = rows[part] - shift if shift.any() else rows[part]
        products += moved.T @ moved
        sums += moved.sum(axis=0)
    return products, sums
