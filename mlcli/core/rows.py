"""Maps of single rows: shares of a total, unit length, log-ratios. The scale of a row does not matter."""

from collections.abc import Callable
from functools import wraps

import numpy as np

from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.types import Array
from mlcli.base.values.scaling import NORMAL
from mlcli.core.arithmetic import binary_logarithm, logarithm

CACHED = 2**15  # numbers that stay in a core's cache from one step of a formula to the next
SHARE = 2**18  # numbers that are worth a thread


def by_blocks(formula: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Return a formula that maps the rows (m x d) block by block, on all threads; a row alone gives the same bits."""

    @wraps(formula)
    def blockwise(rows: Array) -> Array:
        found = np.empty(rows.shape)

        def fill(share: slice) -> None:
            some, filled = rows[share], found[share]
            for block in row_blocks(len(some), CACHED, rows.shape[1]):
                filled[block] = formula(some[block])

        each(fill, row_blocks(len(rows), SHARE, rows.shape[1]))
        return found

    return blockwise


def to_size(rows: Array) -> Array:
    """Scale each row (m x d) by a power of two so that its largest size is in [0.5, 1) and sums cannot overflow."""
    rows = np.ascontiguousarray(rows)  # whose sums are the same for a row, whatever rows are beside it
    largest = np.maximum(rows.max(axis=1, initial=0.0), -rows.min(axis=1, initial=0.0))
    exponents = np.clip(np.frexp(largest)[1], -NORMAL, NORMAL)
    sized: Array = rows * np.ldexp(1.0, -exponents)[:, None]
    return sized


@by_blocks
def shares(rows: Array) -> Array:
    """Return x / Σx of each row (m x d) of numbers of zero or more that are not all zero."""
    rows = to_size(rows)
    found: Array = rows / rows.sum(axis=1, keepdims=True)
    return found


def root_shares(rows: Array) -> Array:
    """Return √(x / Σx) of each row (m x d): Euclidean distances are then Hellinger's (Legendre and Gallagher, 2001)."""
    return np.sqrt(shares(rows))


@by_blocks
def unit(rows: Array) -> Array:
    """Return x / ‖x‖ of each row (m x d) of numbers that are not all zero."""
    rows = to_size(rows)
    found: Array = rows / np.sqrt(np.sum(rows * rows, axis=1))[:, None]
    return found


@by_blocks
def ranks(rows: Array) -> Array:
    """Return the ranks from 1 of the numbers over zero within each row (m x d), equal ones their mean; 0 for a zero."""
    found = np.zeros(rows.shape)
    for row, values in enumerate(rows):
        there = values > 0
        _, places, counts = np.unique(values[there], return_inverse=True, return_counts=True)
        found[row, there] = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return found


def relative_ranks(rows: Array) -> Array:
    """Return ranks over the number of cells over zero, of rows (m x d) that are not all zero."""
    found: Array = ranks(rows) / np.count_nonzero(rows > 0, axis=1)[:, None]
    return found


def doublings(rows: Array) -> Array:
    """Return log2(x) + 1 of numbers over zero, and zeros (Anderson, Ellingsen and McArdle, 2006)."""
    there = rows > 0
    logarithms = binary_logarithm(np.where(there, rows, 1.0))
    found: Array = np.where(there, logarithms + 1, np.where(np.isnan(rows), rows, 0.0))
    return found


@by_blocks
def robust_log_ratios(rows: Array) -> Array:
    """Return ln x - mean(ln x) over the cells over zero of each row (m x d), and zeros (Martino and others, 2019)."""
    there = rows > 0
    logarithms = logarithm(np.where(there, rows, 1.0))
    first = np.take_along_axis(logarithms, there.argmax(axis=1)[:, None], axis=1)  # so that equal ones are zero
    logarithms = np.where(there, logarithms - first, 0.0)
    means = logarithms.sum(axis=1, keepdims=True) / there.sum(axis=1, keepdims=True)
    return np.where(there, logarithms - means, 0.0)


@by_blocks
def centered(rows: Array) -> Array:
    """Return x - mean(x) of each row (m x d), up to a power of two for each row."""
    rows = to_size(rows)
    found: Array = rows - rows.mean(axis=1, keepdims=True)
    return found


@by_blocks
def log_ratios(rows: Array) -> Array:
    """Return ln x - mean(ln x) of each row (m x d): centered log-ratios of numbers over zero (Aitchison, 1986)."""
    logarithms = logarithm(rows)
    logarithms -= logarithms[:, :1].copy()  # so that near ones keep their digits, and equal ones are zero
    found: Array = logarithms - logarithms.mean(axis=1, keepdims=True)
    return found


@by_blocks
def additive_log_ratios(rows: Array) -> Array:
    """Return ln x - ln(x of the first column) of each row (m x d): additive log-ratios, zero in the first (Aitchison).
    """
    logarithms = logarithm(rows)
    found: Array = logarithms - logarithms[:, :1]
    return found
