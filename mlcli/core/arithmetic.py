"""Arithmetic in a fixed order: functions, sums and small eigenproblems with the same bits on every processor.

NumPy's sums, products, quotients and roots of numbers are exact to the last bit everywhere. Its exponentials and
logarithms, products of matrices by BLAS and eigenvectors by LAPACK are not: they depend on instructions that a
processor has. A layout follows rounding to another picture, so that it takes these functions instead.
"""

from collections.abc import Callable, Iterable
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np

from mlcli import native
from mlcli.base.rows.blocks import each, in_order, row_blocks
from mlcli.base.types import Array, Indices
from mlcli.native.library import kernels
from mlcli.native.linalg import multiplies, multiply_rows

if TYPE_CHECKING:
    from scipy import sparse

LEAST, MOST = -708.0, 709.0  # exponents between which an exponential is a normal number
LOG_2 = 0.69314718055994531
SHIFTED = 6755399441055744.0  # 1.5 · 2⁵²: added, it leaves the nearest integer in the last bits
ONE, FRACTION = np.uint64(0x3FF0000000000000), np.uint64(0x000FFFFFFFFFFFFF)  # bits of 1.0, and of its fraction
WHOLE = np.uint64(0x4330000000000000)  # bits of 2⁵²
INVERSES = 1 / np.cumprod(np.r_[1.0, np.arange(1.0, 14)])  # of factorials
ODD_INVERSES = 1 / np.arange(17.0, 0, -2)
BLOCK = 2**17  # numbers of a block of rows
LINE = 8  # numbers of a cache line
BUFFER = 8192  # numbers that every version of NumPy adds in one order
SWEEPS = 60  # of rotations, of which a small matrix takes about eight
SIDE = 256  # rows on a side of a tile of products: their columns stay in the second cache
SUMMED = 128  # products that are summed one after the other: those of native/src/rows.hpp
PANEL = 16  # columns that are made orthogonal to each other before the others


def exponential(values: Array) -> Array:
    """Return eˣ of numbers of any shape: zero below -708, and e⁷⁰⁹ above 709; of a NaN, NaN."""
    numbers = np.asarray(values, dtype=np.float64, order="C")
    if native.available():
        return each_number(kernels().exponentials, numbers)
    inside = np.clip(numbers, LEAST, MOST).reshape(-1)  # of one number, too, an array, whose bits may overflow
    rounded = inside * 1.4426950408889634074 + SHIFTED
    whole = rounded - SHIFTED
    rest = inside - whole * 0.693147180369123816490 - whole * 1.90821492927058770002e-10
    found = series(rest, INVERSES[13::-1])
    found *= ((rounded.view(np.uint64) << np.uint64(52)) + ONE).view(np.float64)
    return np.where(np.isnan(numbers), np.nan, np.where(numbers >= LEAST, found.reshape(numbers.shape), 0.0))


def each_number(function: Callable[[Array, Array], None], numbers: Array) -> Array:
    """Return a kernel's function of numbers of any shape in C order."""
    found = np.empty(numbers.shape)
    function(numbers.reshape(-1), found.reshape(-1))
    return found


def logarithm(values: Array) -> Array:
    """Return the natural logarithm of numbers of any shape that are zero or more: of zero -∞, of a NaN NaN."""
    return binary_logarithm(values) * LOG_2


def logarithm_of_successor(values: Array) -> Array:
    """Return log(1 + x) of numbers of any shape over -1: of a NaN NaN.

    The logarithm of u, which is 1 + x rounded, times x / (u - 1) (Goldberg, "What every computer scientist should know
    about floating-point arithmetic", 1991).
    """
    numbers = np.asarray(values, dtype=np.float64)
    raised = 1.0 + numbers
    beyond = raised - 1.0
    plain = (beyond == 0) | np.isinf(numbers)
    share = np.divide(numbers, beyond, out=np.ones_like(numbers), where=~plain)
    return np.where(plain, numbers, logarithm(raised) * share)


def power(values: Array, exponent: float) -> Array:
    """Return numbers of zero or more to a positive power."""
    with np.errstate(over="ignore"):  # of an exponent at the end of its range: a power of zero, or beyond all numbers
        return exponential(exponent * logarithm(values))


def binary_logarithm(values: Array) -> Array:
    """Return the base-2 logarithm of numbers of any shape that are zero or more: of zero -∞, of a NaN NaN."""
    given = np.asarray(values, dtype=np.float64, order="C")
    if native.available():
        return each_number(kernels().logarithms, given)
    small = given < np.finfo(np.float64).tiny
    if (~small & (given < np.inf)).all():
        return _logarithm_of_normal(given)
    found = _logarithm_of_normal(np.where(given > 0, given * np.where(small, 2.0**60, 1.0), 1.0))
    found = np.where(small, found - 60, found)
    return np.where(given > 0, np.where(np.isinf(given), np.inf, found), np.where(given == 0, -np.inf, np.nan))


def _logarithm_of_normal(numbers: Array) -> Array:
    bits = numbers.view(np.uint64)
    raised = (bits & FRACTION) | ONE
    high = (raised.view(np.float64) > 1.4142135623730951).astype(np.uint64)
    exponent = (((bits >> np.uint64(52)) + high) | WHOLE).view(np.float64) - (2.0**52 + 1023)
    part = (raised - (high << np.uint64(52))).view(np.float64)
    t = (part - 1) / (part + 1)
    return np.asarray(exponent + 2.8853900817779268 * t * series(t * t, ODD_INVERSES))


def exponential_of_two(values: Array) -> Array:
    """Return 2ˣ of finite numbers of any shape, those beyond -1000 and 1000 taken for these."""
    numbers = np.asarray(values, dtype=np.float64, order="C")
    if native.available():
        return each_number(kernels().powers_of_two, numbers)
    inside = (0.5 * (np.abs(numbers + 1000.0) - np.abs(numbers - 1000.0))).reshape(-1)
    shifted = inside + SHIFTED
    rest = (inside - (shifted - SHIFTED)) * LOG_2
    scale = ((shifted.view(np.uint64) + np.uint64(1023)) << np.uint64(52)).view(np.float64)
    return (series(rest, INVERSES[12::-1]) * scale).reshape(numbers.shape)


def series(values: Array, coefficients: Array) -> Array:
    """Return the polynomial with these coefficients, of the highest power first, by Horner's rule."""
    found = np.full_like(values, coefficients[0])
    for coefficient in coefficients[1:].tolist():
        found *= values
        found += coefficient
    return found


def total(numbers: Iterable[float]) -> float:
    """Return the sum of numbers, each added to those before it: Python's `sum` keeps what is lost too, from 3.12 on."""
    return reduce(add, numbers, 0.0)


def sum_of_all(values: Array) -> float:
    """Return the sum of all numbers of an array: of long ones the sums of both halves.

    So does NumPy, but for earlier versions, which add so many numbers at a time where there are more.
    """
    numbers = values.ravel(order="K")
    if len(numbers) <= BUFFER:
        return float(np.sum(numbers))
    half = len(numbers) // 2 // LINE * LINE
    return sum_of_all(numbers[:half]) + sum_of_all(numbers[half:])


def sum_of_parts(numbers_of: Callable[[slice], Array], count: int, first: int = 0) -> float:
    """Return the sum of numbers, from the `first` on, of which a function returns some: that of `sum_of_all`."""
    if count <= BLOCK:
        return sum_of_all(numbers_of(slice(first, first + count)))
    half = count // 2 // LINE * LINE
    return sum_of_parts(numbers_of, half, first) + sum_of_parts(numbers_of, count - half, first + half)


def dot(left: Array, right: Array) -> float:
    """Return the sum of products of two arrays of one shape."""
    return sum_of_all(left * right)


def length(values: Array) -> float:
    """Return the Euclidean norm of all numbers of an array."""
    return float(np.sqrt(dot(values, values)))


def inner_products(left: Array, right: Array) -> Array:
    """Return LᵀR (a x b) of tall matrices L (n x a) and R (n x b) with few columns."""
    columns = np.ascontiguousarray(left.T)
    turned = np.ascontiguousarray(right.T)
    found = np.empty((len(columns), len(turned)))
    for place, column in enumerate(turned):
        found[:, place] = (np.sum(columns * column, axis=1) if len(left) <= BUFFER else
                           [sum_of_all(one * column) for one in columns])
    return found


def sum_in_lines(values: Array) -> Array:
    """Return the sums (m) of columns (n x m) as kernels add them.

    Every eighth number goes to one of eight sums; these are added one after the other, and then the numbers left over.
    """
    whole = len(values) // LINE
    lines = np.add.reduce(values[: whole * LINE].reshape(whole, LINE, values.shape[1]), axis=0)
    found = np.zeros(values.shape[1])
    for some in (*lines, *values[whole * LINE :]):
        found += some
    return found


def combine(left: Array, factors: Array) -> Array:
    """Return LF (n x b) of a matrix L (n x a) with few columns and factors F (a x b), summed in the order of a."""
    found = np.zeros((len(left), factors.shape[1]))
    for column, row in zip(left.T, factors, strict=True):
        found += column[:, None] * row
    return found


def symmetric_eigen(matrix: Array) -> tuple[Array, Array]:
    """Return the eigenvalues (m, descending) and eigenvectors (m x m) of a small symmetric matrix (m x m).

    By Jacobi's rotations, half of the rows with the other half at a time (Golub and Van Loan, "Matrix computations",
    8.5). Equal eigenvalues keep the order of their columns.
    """
    size = len(matrix)
    players = size + size % 2  # a row of zeros takes part in an odd number
    work, vectors = np.zeros((players, players)), np.eye(players)  # in rows
    work[:size, :size] = (matrix + matrix.T) / 2
    orders = [np.r_[0, np.roll(np.arange(1, players), turn)] for turn in range(players - 1)]
    pairs = np.array([np.column_stack([order[: players // 2], order[: players // 2 - 1 : -1]]).ravel()
                      for order in orders], dtype=np.int64)
    for _ in range(SWEEPS if size > 1 else 0):
        before = work.copy()
        if native.available():
            kernels().rotate(work, vectors, pairs)
        else:
            for turn in pairs:
                _rotate(work, vectors, turn[::2], turn[1::2])
        if np.array_equal(before, work):
            break
    values = np.diagonal(work)[:size]
    ranks = np.argsort(-values, kind="stable")
    return values[ranks], np.ascontiguousarray(vectors.T[:size, ranks])


def _rotate(work: Array, vectors: Array, first: Indices, second: Indices) -> None:
    """Make the entries of disjoint pairs of rows and columns of a symmetric matrix zero, in place."""
    one, other, off = work[first, first], work[second, second], work[first, second]
    apart = np.abs(off) > np.finfo(np.float64).eps / 4 * np.sqrt(np.abs(one)) * np.sqrt(np.abs(other))
    work[first, second] = work[second, first] = np.where(apart, off, 0.0)
    first, second, one, other, off = first[apart], second[apart], one[apart], other[apart], off[apart]
    with np.errstate(over="ignore"):  # of hardly an angle
        half = (other - one) / (2 * off)
        tangent = np.where(half >= 0, 1.0, -1.0) / (np.abs(half) + np.sqrt(1 + half * half))
    cosine = 1 / np.sqrt(1 + tangent * tangent)
    sine = tangent * cosine
    for array in (work.T, work, vectors):
        upper, lower = array[first], array[second]
        array[first] = cosine[:, None] * upper - sine[:, None] * lower
        array[second] = sine[:, None] * upper + cosine[:, None] * lower
    work[first, first], work[second, second] = one - tangent * off, other + tangent * off
    work[first, second] = work[second, first] = 0.0


def product(matrix: Array, block: Array) -> Array:
    """Return MB (m x b) of a matrix M (m x n) in C order and a block B (n x b) of few columns, on all threads."""
    out, nowhere, nothing = np.empty((len(matrix), block.shape[1])), np.zeros(len(block)), np.zeros(block.shape[1])

    def lift(rows: slice) -> None:
        if not native.available():
            for place, column in enumerate(block.T):
                out[rows, place] = sum_in_lines((matrix[rows] * column).T)
            return
        native.lift_rows(matrix[rows], nowhere, directions=block, less=nothing, out=out[rows])

    each(lift, row_blocks(len(matrix), BLOCK, len(block)))
    return out


def row_products(left: Array, right: Array, out: Array | None = None) -> Array:
    """Return LRᵀ (m x n) of rows (m x d, n x d) in C order, in `out` if given, on one thread.

    Sums over some columns are added in order, whatever the other rows.
    """
    found = np.empty((len(left), len(right))) if out is None else out
    for down in row_blocks(len(left), SIDE):
        for across in row_blocks(len(right), SIDE):
            tile = found[down, across]
            if native.available():
                kernels().row_products(left[down], right[across], tile)
                continue
            tile[...] = 0.0
            for part in row_blocks(left.shape[1], SUMMED):
                tile += combine(left[down, part], right[across, part].T)
    return found


def symmetric_products(left: Array, right: Array) -> Array:
    """Return LRᵀ (n x n) of rows (n x d each) in C order where it is symmetric, each pair once, on all threads."""
    found, sides = np.empty((len(left), len(left))), row_blocks(len(left), SIDE)

    def fill(pair: tuple[slice, slice]) -> None:
        down, across = pair
        tile = row_products(left[down], right[across], found[down, across])
        found[across, down] = tile.T if down != across else np.triu(tile) + np.triu(tile, 1).T

    each(fill, [(down, across) for place, down in enumerate(sides) for across in sides[place:]])
    return found


def transposed_product(matrix: Array, block: Array) -> Array:
    """Return MᵀB (n x b) of a matrix M (m x n) in C order and a block B (m x b) of few columns, on all threads."""
    nowhere = np.zeros(matrix.shape[1])

    def lower(rows: slice) -> Array:
        out = np.zeros((block.shape[1], matrix.shape[1]))
        if not native.available():
            for place, column in enumerate(block[rows].T):
                out[place] = np.cumsum(matrix[rows] * column[:, None], axis=0)[-1]
            return out
        native.lower_rows(matrix[rows], nowhere, vectors=block[rows], out=out)
        return out

    parts = in_order(lower, row_blocks(len(matrix), BLOCK, matrix.shape[1]))
    return np.asarray(sum(parts, np.zeros((block.shape[1], matrix.shape[1]))).T)


def sparse_product(matrix: "sparse.csr_array", block: Array) -> Array:
    """Return MB (m x b) of a sparse matrix M (m x n) and a block B (n x b), summed in the order of the entries."""
    if multiplies(matrix):
        return np.ascontiguousarray(multiply_rows(matrix, block))
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    found = np.empty((matrix.shape[0], block.shape[1]))
    for place, column in enumerate(block.T):
        found[:, place] = np.bincount(rows, matrix.data * column[matrix.indices], matrix.shape[0])
    return found


def normal_numbers(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return independent normal numbers, rounded to 2⁻³⁰.

    One in 3,700 comes from a logarithm of the C library, whose last digits depend on the processor: another processor
    rounds one in 10⁷ of these to another number.
    """
    return np.asarray(np.rint(generator.standard_normal(shape) * 2.0**30) * 2.0**-30)


def orthonormal(block: Array) -> Array:
    """Return an orthonormal basis (n x c) of the columns of a block (n x b), without those that earlier ones span.

    By Gram and Schmidt's rule, twice, within some columns and between these and the others.
    """
    found = np.zeros((0, len(block)))
    for columns in row_blocks(block.shape[1], PANEL):
        rows = np.ascontiguousarray(block.T[columns])
        sizes = np.array([length(row) for row in rows])
        if len(found):
            rows = _orthonormal_rows(rows - _projections(rows, found), sizes)
            rows, sizes = rows - _projections(rows, found), np.ones(len(rows))
        found = np.vstack([found, _orthonormal_rows(rows, sizes)])
    return np.ascontiguousarray(found.T)


def _projections(rows: Array, basis: Array) -> Array:
    """Return the projections of rows (m x n) on the span of orthonormal rows (c x n)."""
    return row_products(row_products(rows, basis), np.ascontiguousarray(basis.T))


def _orthonormal_rows(rows: Array, sizes: Array) -> Array:
    """Return an orthonormal basis (c x n) of rows (m x n), without those of which little is left beside their size (m).
    """
    found: list[Array] = []
    for row, size in zip(rows, sizes, strict=True):
        rest = row.copy()
        for _ in range(2):
            for vector in found:
                rest -= dot(vector, rest) * vector
        left = length(rest)
        if left > 1e-10 * size:
            found.append(rest / left)
    return np.stack(found) if found else np.zeros((0, rows.shape[1]))


WIDEST = 6  # blocks of a basis before a restart


def leading_pairs(apply: Callable[[Array], Array], start: Array, count: int, tolerance: float,
                  restarts: int) -> tuple[Array, Array, bool]:
    """Return the `count` largest eigenvalues, eigenvectors (n x count) of a symmetric map, and whether they converged.

    By block Krylov from a start (n x b) of more than `count` columns, with restarts from the Ritz vectors, until the
    residuals are below `tolerance` times the largest absolute eigenvalue. `apply` maps a block (n x b) to its image.
    """
    most = min(WIDEST * start.shape[1], len(start))
    held = np.empty((2, min(most + start.shape[1], len(start)), len(start)))  # columns of the basis, and their images
    block = orthonormal(start)
    newest = apply(block)
    for number in range(restarts):
        width = block.shape[1]
        held[0, :width], held[1, :width] = block.T, newest.T
        while width < most:
            basis = held[0, :width].T
            rest = newest - combine(basis, inner_products(basis, newest))
            block = orthonormal(rest - combine(basis, inner_products(basis, rest)))
            block = block - combine(basis, inner_products(basis, block))  # what rounding of a small rest has left
            block = orthonormal(block)[:, : len(start) - width]
            if not block.shape[1]:
                break
            newest = apply(block)
            added = slice(width, width + block.shape[1])
            held[0, added], held[1, added] = block.T, newest.T
            width = added.stop
        basis, images = held[0, :width].T, held[1, :width].T
        values, turn = symmetric_eigen(inner_products(basis, images))
        kept = turn[:, : start.shape[1]]
        block, newest = combine(basis, kept), combine(images, kept)
        errors = newest[:, :count] - block[:, :count] * values[:count]
        worst = np.sqrt(np.sum(errors * errors, axis=0)).max(initial=0.0)
        converged = bool(worst <= tolerance * np.abs(values).max(initial=0.0)) or block.shape[1] >= len(start)
        if converged or number == restarts - 1:
            break
    return values[:count], block[:, :count], converged
