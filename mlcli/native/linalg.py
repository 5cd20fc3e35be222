"""Products of dense and sparse rows with each other, with matrices and with kernels; sweeps; sparse factorizations."""

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from mlcli.base.rows.blocks import each
from mlcli.base.types import AnyArray, Array, Indices
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


BAND = 8  # vectors that the kernels take together: those of src/sparse.hpp
ENTRIES = 2**17  # entries of sparse rows that a thread multiplies at a time


def multiplies(rows: Any) -> bool:
    """Whether there are kernels for sparse rows of SciPy: compressed, with indices of 32 bits."""
    return available() and rows.indices.dtype == np.int32 and rows.data.dtype == np.float64


def multiply_sparse(rows: Any, right: Array, less: Array, *, images: bool) -> tuple[Array, Array]:
    """Return X R - 1 c' (m x b) and X'(X R - 1 c') (d x b) of sparse rows X (m x d), for R (d x b) and c (b).

    Without `images` the second has no rows. It is computed row by row, so that the entries are read once.
    """
    wide, count = _padded(right), right.shape[1]
    shift = np.zeros(wide.shape[1])
    shift[:count] = less
    out, lowered = np.empty((rows.shape[0], wide.shape[1])), np.zeros(wide.shape if images else (0, wide.shape[1]))
    kernels().multiply_sparse(_starts(rows), rows.indices, rows.data, wide, shift, out, lowered)
    return out[:, :count], lowered[:, :count]


def multiply_rows(rows: Any, right: Array) -> Array:
    """Return X R (m x b) of sparse rows X (m x d) for R (d x b), on all threads; the bits do not depend on these."""
    wide, columns = _padded(right), rows.indices
    starts, out, images = _starts(rows), np.empty((rows.shape[0], wide.shape[1])), np.zeros((0, wide.shape[1]))
    less, ends = np.zeros(wide.shape[1]), np.arange(ENTRIES, len(columns), ENTRIES)
    cuts = np.unique([0, *np.searchsorted(starts, ends).tolist(), rows.shape[0]]).tolist()

    def work(part: slice) -> None:
        own, some = starts[part.start : part.stop + 1], slice(starts[part.start], starts[part.stop])
        kernels().multiply_sparse(own - own[0], columns[some], rows.data[some], wide, less, out[part], images)

    each(work, [slice(*pair) for pair in pairwise(cuts)])
    return out[:, : right.shape[1]]


def lower_sparse(rows: Any, vectors: Array) -> Array:
    """Return X' V (d x b) of sparse rows X (m x d), for V (m x b)."""
    wide = _padded(vectors)
    out = np.zeros((rows.shape[1], wide.shape[1]))
    kernels().lower_sparse(_starts(rows), rows.indices, rows.data, wide, out)
    return out[:, : vectors.shape[1]]


def _starts(rows: Any) -> Any:
    return np.ascontiguousarray(rows.indptr, dtype=np.int64)


def _padded(vectors: Array) -> Array:
    """Return vectors (m x b) with columns of zeros up to whole bands."""
    if vectors.shape[1] % BAND == 0:
        return np.ascontiguousarray(vectors)
    wide = np.zeros((len(vectors), -(-vectors.shape[1] // BAND) * BAND))
    wide[:, : vectors.shape[1]] = vectors
    return wide


PART_LANES = 8  # numbers of a row of parts are padded to these, as the kernel takes them


def pad_parts(values: Array) -> Array:
    """Return an (m, p) array with columns of zeros behind its own, up to a multiple of the kernel's lanes."""
    padded = np.zeros((len(values), values.shape[1] + -values.shape[1] % PART_LANES))
    padded[:, : values.shape[1]] = values
    return padded


def sweep_rows(entries: tuple[Indices, AnyArray, Array], parts: Array, gram: Array, sweeps: int,
               weights: Array) -> tuple[Array, Array]:
    """Return weights (m x p) of sparse rows after sweeps over them, and the products of the rows with these (d x p).

    `entries` are the rows' starts (m + 1), and columns (int32) and values of their entries; `parts` is Hᵀ (d x p) and
    `gram` H Hᵀ (p x p). Each weight goes to the minimum of ‖x - w H‖² over itself alone, or to zero, as often as there
    are `sweeps` (Cichocki and Phan, 2009). Raises ValueError for entries out of range.
    """
    count = parts.shape[1]
    improved, padded = pad_parts(weights), pad_parts(parts)
    square, products = np.zeros((padded.shape[1], padded.shape[1])), np.zeros_like(padded)
    square[:count, :count] = gram
    kernels().sweep_rows(*entries, padded, square, count, sweeps, improved, products)
    return improved[:, :count], products[:, :count]


def dissection(starts: Indices, indices: Indices) -> Indices:
    """Return an order of elimination (n) of an undirected graph by nested dissection, on all threads.

    The graph is an n x n adjacency matrix in compressed rows. Raises ValueError if an index is wrong or an edge is in
    one row only.
    """
    found = kernels().Dissection(np.ascontiguousarray(starts, np.int64), np.ascontiguousarray(indices, np.int64))
    each(found.order_part, range(found.parts))
    order: Indices = found.order
    return order


class NormalCholesky:
    """A factorization M = LLᵀ in an order by nested dissection. Tasks may run in several threads.

    `prepare` computes the pattern of M, the order and the numbers of M, `factor` the numbers of L. The order depends on
    the pattern alone. Vertices are gathered in clusters once; separators are found in the graph of clusters and
    improved in the graph itself, which takes a fourth of the time of METIS for 3 to 15 % more entries of L.
    """

    def __init__(self, starts: Indices, indices: Indices, values: Array, *, columns: int, shift: float) -> None:
        """Begin with R, an array (m x `columns`) in compressed rows; no column twice in a row.

        Raises ValueError if an index is wrong or a number is not finite.
        """
        rows = (np.ascontiguousarray(starts, np.int64), np.ascontiguousarray(indices, np.int64),
                np.ascontiguousarray(values, np.float64))
        self._native = kernels().NormalCholesky(*rows, columns, float(shift))
        self.steps: list[int] = self._native.steps()

    @property
    def fill(self) -> int:
        """The number of entries of L below its diagonal, after all steps."""
        return int(self._native.fill)

    @property
    def stages(self) -> list[int]:
        """The number of tasks of each stage of the factorization, after all steps."""
        tasks: list[int] = self._native.tasks()
        return tasks

    def prepare(self, step: int, task: int) -> None:
        """Run one task of a step, after all steps before it."""
        self._native.prepare(step, task)

    def factor(self, stage: int, task: int) -> bool:
        """Run one task of a stage, after all stages before it; return False if M is not positive definite."""
        return bool(self._native.factor(stage, task))

    def solve(self, sides: Array) -> Array:
        """Return x with M x = b for an (n, b) array of right sides, after all tasks, by all threads."""
        sides = np.ascontiguousarray(sides, dtype=np.float64)
        result = np.empty_like(sides)
        solution = kernels().NormalSolution
        for first in range(0, sides.shape[1], solution.columns):
            some = solution(self._native, sides, result, first)
            for step, tasks in enumerate(some.steps):
                each(partial(some.run, step), range(tasks))
        return result


def permuted_products(tile: Array, place: tuple[int, int], orders: AnyArray, codes: AnyArray, numbers: Array,
                      width: int) -> Array:
    """Return Zᵀ K Z for a tile (m x n) of a kernel K and each of some permutations of a design's rows (p x w x w).

    The tile's first row and column in K stand at `place`. `orders` (p x size, int32) holds the row of the design at
    each place. Each term of the design gives a row the column `codes` (terms x size, int32), from 1, or none (-1), and
    in it `numbers` (terms x size). Column 0 holds ones.
    """
    out = np.zeros((len(orders), width * width))
    kernels().permuted_products(np.ascontiguousarray(tile), *place, orders, codes, numbers, out)
    return out.reshape(len(orders), width, width)
