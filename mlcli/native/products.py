"""Products of rows: of their columns with each other, with a matrix, with a few vectors, and with other rows."""

import numpy as np

from mlcli.base.types import AnyArray, Array
from mlcli.native.library import available, kernels

WORD = 4  # bytes that are multiplied and added together
MIDDLE = np.uint8(128)  # taken from the bytes of one side, so that they have a sign


def gram(rows: Array, shift: Array) -> tuple[Array, Array]:
    """Return Σ (x - s)(x - s)ᵀ (d x d), exactly symmetric, and Σ (x - s) (d), of (m, d) rows x less a (d,) shift s.

    The numbers do not depend on any library of linear algebra.
    """
    out, sums = np.empty((rows.shape[1], rows.shape[1])), np.empty(rows.shape[1])
    kernels().gram(rows, np.ascontiguousarray(shift), out, sums)
    return out, sums


def project(rows: Array, shift: Array, right: Array) -> tuple[Array, Array]:
    """Return (x - s)ᵀ R (m x b), and ‖x - s‖² (m), of (m, d) rows x less a (d,) shift s, for R (d x b).

    The bits of a row do not depend on the other rows.
    """
    out, norms = np.empty((len(rows), right.shape[1])), np.empty(len(rows))
    kernels().project(np.ascontiguousarray(rows), np.ascontiguousarray(shift), np.ascontiguousarray(right), out, norms)
    return out, norms


def lift_rows(rows: Array, shift: Array, *, directions: Array, less: Array, out: Array) -> None:
    """Write (x - s)ᵀ R - c into `out` (m x b), of (m, d) rows x less a (d,) shift s, for R (d x b) and c (b).

    Rows in C order. As quick as the rows are read for a few directions; the bits of a row do not depend on the others.
    """
    kernels().lift_rows(rows, np.ascontiguousarray(shift), vectors=np.ascontiguousarray(directions.T), less=less,
                        out=out)


def lower_rows(rows: Array, shift: Array, *, vectors: Array, out: Array) -> None:
    """Add Σ v (x - s)ᵀ to `out` (b x d), of (m, d) rows x in C order less a (d,) shift s, for vectors v (m x b)."""
    kernels().lower_rows(rows, np.ascontiguousarray(shift), left=np.ascontiguousarray(vectors), out=out)


def products_of_rows(rows: AnyArray, others: AnyArray) -> AnyArray:
    """Return xᵀ y (m x n) of rows x (m x d) with others y (n x d), all in single precision.

    The speed does not depend on any library of linear algebra.
    """
    out = np.empty((len(rows), len(others)), dtype=np.float32)
    kernels().products_of_rows(np.ascontiguousarray(rows), np.ascontiguousarray(others), out)
    return out


def has_byte_products() -> bool:
    """Whether the kernels in use have products of bytes: on x86-64, but not with AVX-512 that lacks VNNI."""
    return available() and bool(kernels().has_byte_products())


class ByteRows:
    """Rows of bytes (m x d), from 0 to 255, whose products with each other are exact and quick."""

    def __init__(self, values: AnyArray) -> None:
        """Take an (m, d) array of uint8."""
        rows, columns = values.shape
        words = np.zeros((rows, -(-columns // WORD) * WORD), dtype=np.uint8)
        words[:, :columns] = values
        self._plain, self._signed = words.view(np.int32), (words ^ MIDDLE).view(np.int32)
        self._sums = values.sum(axis=1, dtype=np.int32)

    def products(self, rows: slice, others: slice) -> AnyArray:
        """Return the products (a x b) of some rows with others, rounded to single precision."""
        left, right, sums = self._signed[rows], self._plain[others], self._sums[others]
        out = np.empty((len(left), len(right)), dtype=np.float32)
        kernels().products_of_bytes(left, right, sums=sums, out=out)
        return out
