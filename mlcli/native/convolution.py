"""Convolution of a grid with an even kernel, by Fourier transforms along its columns and its rows."""

import numpy as np

from mlcli.base.types import AnyArray, Array
from mlcli.native.library import kernels

FOLD = 16  # columns that are transformed together: grids and lines have multiples of so many
SIDE = 8  # frequencies of a strip of lines
NONE = np.zeros((0, FOLD))  # steps of a grid with two axes


class Transform:
    """A transform of 2M numbers, of which M or fewer are there; several threads may use it at the same time.

    `radices` (int32) are 2 to 5, with the product M. A stage of n numbers has the `twiddles` exp(-2πi jk/n) for j below
    n over its radix and k from one to less than the radix, all stages together as pairs of numbers; `turns` are
    exp(-2πi j/2M) for j below M, and `positions` (int32) the place of each of the 2M frequencies after all stages, the
    even ones before M. Raises ValueError for arrays of other sizes.

    `lines` (s x c x 16) are strips of eight frequencies, M // 8 + 1 of them, and in these the real and the imaginary
    parts of a column; frequencies beyond M repeat it. Methods raise ValueError for arrays of other shapes.
    """

    def __init__(self, radices: AnyArray, twiddles: Array, turns: Array, positions: AnyArray) -> None:
        self._native = kernels().Transform(radices, twiddles, turns, positions)

    def forth(self, grid: Array, lines: Array, first: int) -> None:
        """Write twice the transforms of the columns of a grid (up to 2M x b) into lines, from a column on."""
        self._native.columns_forth(grid, lines, first)

    def back(self, lines: Array, grid: Array, first: int) -> None:
        """Write the inverses, times 2M, of columns of lines into a grid (up to M x b), from a column on."""
        self._native.columns_back(lines, grid, first)

    def convolve(self, lines: Array, strips: slice, spectrum: Array, steps: Array = NONE) -> None:
        """Multiply strips of lines (s x up to M x 16) by a spectrum, in the frequencies along their columns; times 2M.

        The spectrum (s x M + 1 x 8) is that of frequencies 0 to M. With `steps` (s x 16), lines (s x M x 16) are those
        of a long line that lies row by row, exp(-2πi k/n) the step of frequency k among its n: column j is turned by
        steps to the power j, M numbers are transformed, and their spectrum is (s x M x 8); times M.
        """
        self._native.convolve_strips(lines, strips.start, strips.stop, steps, spectrum)

    def measure(self, lines: Array, strips: slice, spectrum: Array, steps: Array = NONE) -> None:
        """Write the spectrum of strips, the real parts of their transforms along the columns, as `convolve` takes it.

        Lines have the columns 0 to M of even ones, and may have more; those of a long line have all M.
        """
        self._native.measure_strips(lines, strips.start, strips.stop, steps, spectrum)
