"""Passes over rows that memory need not hold: all parts in their order, or all of them as one array."""

from collections.abc import Iterator

import numpy as np

from mlcli.base.rows.source import Part, Rows
from mlcli.base.types import Array


def all_parts(rows: Rows) -> Iterator[Part]:
    """Return the rows of all blocks in their order, a few at a time, each part with the place of its first row."""
    for number in range(rows.blocks):
        yield from rows.parts(number)


def in_memory(rows: Rows) -> Array:
    """Return all rows as one array (m x d)."""
    values = np.empty(rows.shape)
    for first, part in all_parts(rows):
        values[first : first + len(part)] = part
    return values


def column_of(rows: Rows, column: int) -> Array:
    """Return all numbers (m) of one column."""
    return np.concatenate([np.zeros(0), *(part[:, column] for _, part in all_parts(rows))])
