"""Symmetric matrices: asymmetry removed if it is rounding, else an error or resolved; one triangle completed."""

import numpy as np

from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.stages.stage import note
from mlcli.base.types import Array
from mlcli.base.values.naming import shown
from mlcli.data.options.input import Input
from mlcli.data.options.wording import place
from mlcli.data.table.cells import ROWS
from mlcli.errors import DataError

ROUNDING = 1e-8  # of the largest entry: a difference this small is rounding
FEW = 512
SIDE = 256  # rows and columns of a tile: it and its mirror image stay in a core's cache


def make_symmetric(values: Array, ids: tuple[str, ...], input: Input) -> Array:
    """Make an (n, n) array exactly symmetric, in place; raises DataError if it differs beyond rounding."""
    gap, row, column = worst_pair(values)
    if gap == 0:
        return values
    largest = max(float(np.abs(values[rows]).max()) for rows in row_blocks(len(values), ROWS))
    pair = f"{shown(ids[row])} and {shown(ids[column])}"
    rounding = gap <= ROUNDING * (largest / 2)
    if not rounding and input.symmetrize == "error":
        raise DataError("ASYMMETRIC", f"the matrix is not symmetric: between {pair} it holds "
                        f"{values[row, column]:.17g} and {values[column, row]:.17g}", where=place(input.path),
                        hint="give {input.symmetrize=mean}, min or max")
    note("W-ASYMMETRY", f"the matrix was made symmetric; it differed most between {pair}, "
         f"by {2 * (gap / largest):.3g} of the largest entry", relative_gap=2 * (gap / largest), rounding=rounding)
    symmetrize(values, "mean" if input.symmetrize == "error" else input.symmetrize)
    return values


def worst_pair(values: Array) -> tuple[float, int, int]:
    """Return half the largest difference of an (n, n) array from its transpose, with its row and column.

    Of equal differences the first one, by rows, is returned.
    """
    sides = row_blocks(len(values), SIDE)

    def worst_of(tile: tuple[slice, slice]) -> tuple[float, int, int]:
        down, across = tile
        some, mirror = values[down, across], values[across, down].T
        if np.array_equal(some, mirror):
            return 0.0, 0, 0
        gaps = np.abs(some * 0.5 - mirror * 0.5)  # halves: the difference cannot overflow
        row, column = divmod(int(gaps.argmax()), gaps.shape[1])
        return float(gaps[row, column]), down.start + row, across.start + column

    tiles = [(down, across) for place, down in enumerate(sides) for across in sides[place:]]
    return max(in_order(worst_of, tiles), key=lambda one: (one[0], -one[1], -one[2]), default=(0.0, 0, 0))


def symmetrize(values: Array, how: str) -> None:
    """Replace every entry of an (n, n) array and its mirror image by their mean, min or max, in place."""
    for rows in row_blocks(len(values), FEW):
        upper, lower = values[rows, rows.start:], values[rows.start:, rows].T
        both = upper * 0.5 + lower * 0.5 if how == "mean" else getattr(np, f"{how}imum")(upper, lower)
        values[rows, rows.start:] = both
        values[rows.start:, rows] = both.T


def from_triangle(values: Array) -> Array | None:
    """Return the symmetric array of an (n, n) array with one empty triangle (NaN), diagonal unchanged; else None."""
    size = len(values)
    if size < 2 or not np.isnan([values[0, size - 1], values[size - 1, 0]]).any():
        return None
    missing = np.isnan(values)
    for given, empty, side in ((np.tril, np.triu, 1), (np.triu, np.tril, -1)):
        if missing[empty(np.ones_like(missing), side)].all() and not given(missing, -side).any():
            half = given(values, -side)
            whole: Array = half + half.T
            np.fill_diagonal(whole, np.diag(values))
            return whole
    return None
