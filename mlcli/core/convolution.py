"""Convolution of charges on a grid with an even kernel, by Fourier transforms with the same bits on every processor.

The native transforms add and multiply in a fixed order. Their factors on the unit circle come from arithmetic alone, as
sines and cosines of the C library depend on the processor. Without the kernels, SciPy's transforms take their place.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import factorial

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.types import Array, Indices
from mlcli.core.arithmetic import series
from mlcli.native.convolution import FOLD, NONE, SIDE, Transform

BLOCK = 2**17  # numbers of a block of transforms
QUARTER = 1.570796325802803, 9.920935796805404e-10  # of a turn: its first 27 bits, and the rest
SINE = [(-1) ** power / factorial(2 * power + 1) for power in range(8, 0, -1)]  # of x³ and on
COSINE = [(-1) ** power / factorial(2 * power) for power in range(9, 1, -1)]  # of x⁴ and on


def unit_circle(parts: Indices, whole: int) -> tuple[Array, Array]:
    """Return cosines and sines of parts of a turn, integers over a whole below 2²⁸, with errors below 1e-16.

    By Taylor's series within an eighth of a turn, the angle in two numbers.
    """
    quarters = (8 * parts + whole) // (2 * whole)
    rest = (4 * parts - quarters * whole).astype(float)  # of a quarter, at most half of it
    share = np.rint(rest / whole * 2.0**26) * 2.0**-26
    high = share * QUARTER[0]  # exact
    low = share * QUARTER[1] + (rest - share * whole) / whole * QUARTER[0]
    angle = high + low
    low += high - angle
    square = angle * angle
    sine = angle + (low + angle * square * series(square, np.array(SINE)))
    near = 1 - 0.5 * square
    cosine = near + ((1 - near) - 0.5 * square + (square * square * series(square, np.array(COSINE)) - angle * low))
    turned = quarters % 2 == 1
    signs = np.where(quarters % 4 < 2, 1.0, -1.0)
    return signs * np.where(turned, -sine, cosine), signs * np.where(turned, cosine, sine)


def smooth_number(least: int) -> int:
    """Return the smallest product of numbers two, three and five from a number on."""
    best = 1 << (least - 1).bit_length()
    five = 1
    while five < best:
        three = five
        while three < best:
            best = min(best, three << (-(-least // three) - 1).bit_length())
            three *= 3
        five *= 5
    return best


def charges_shape(counts: Sequence[int]) -> tuple[int, int]:
    """Return the shape of an array for charges of so many nodes along one or two axes: of whole folds."""
    return counts[0] if len(counts) == 2 else 1, -(-counts[-1] // FOLD) * FOLD


def transform_sizes(counts: Sequence[int], margin: int = 0) -> tuple[int, ...]:
    """Return lengths of transforms along one or two axes, each at least twice a count of nodes with a margin."""
    rows, columns = charges_shape(counts)
    if len(counts) == 1:
        return (2 * FOLD * smooth_number(-(-(counts[0] + margin) // FOLD)),)
    return 2 * smooth_number(rows + margin), 2 * smooth_number(max(counts[1] + margin, columns))


def radices_of(number: int) -> list[int]:
    """Return the stages of a transform: the factors of a product of two, three and five, four taken for two twos."""
    found = []
    for radix in (5, 3, 4, 2):
        while number % radix == 0:
            number //= radix
            found.append(radix)
    return found


@lru_cache(maxsize=8)
def transform_of(half: int) -> Transform:
    """Return the transform of twice so many numbers."""
    radices, whole = radices_of(half), 2 * half
    cosines, sines = unit_circle(np.arange(whole), whole)
    circle = np.stack([cosines, -sines], axis=1)
    twiddles, rest = [np.zeros(0)], half
    for radix in radices:
        powers = np.multiply.outer(np.arange(rest // radix), np.arange(1, radix))
        twiddles.append(circle[powers * (whole // rest)].ravel())
        rest //= radix
    order = np.zeros(1, dtype=np.int64)
    for radix in reversed(radices):
        order = np.add.outer(np.arange(radix), radix * order).ravel()
    positions = np.empty(whole, dtype=np.int32)
    positions[np.concatenate([2 * order, 2 * order + 1])] = np.arange(whole)
    return Transform(np.array(radices, dtype=np.int32), np.concatenate(twiddles), circle[:half].ravel(), positions)


@frozen
class Spectrum:
    """An even kernel's transform over lengths of transforms along the axes, as `convolve` takes it."""

    sizes: tuple[int, ...]
    numbers: Array
    steps: Array


def measure(kernel: Callable[[Array], Array], response: Callable[[Array], Array], sizes: tuple[int, ...]) -> Spectrum:
    """Return the spectrum of a kernel, a function of squared distances in nodes, over squared responses.

    A response is a function of the cosine of a frequency, an angle from one node to the next; that of two axes is the
    product of theirs.
    """
    if not native.available():
        return _measure_by_scipy(kernel, response, sizes)
    return _measure_line(kernel, response, *sizes) if len(sizes) == 1 else _measure_grid(kernel, response, sizes)


def _measure_grid(kernel: Callable[[Array], Array], response: Callable[[Array], Array],
                  sizes: tuple[int, ...]) -> Spectrum:
    down, across = (transform_of(size // 2) for size in sizes)
    strips, kept = sizes[0] // 2 // SIDE + 1, sizes[1] // 2 + 1
    lines, numbers = np.empty((strips, charges_shape((1, kept))[1], FOLD)), np.empty((strips, kept, SIDE))
    rows, columns = np.arange(sizes[0] // 2 + 1.0), np.arange(float(lines.shape[1]))
    frequencies = np.minimum(np.arange(strips * SIDE), sizes[0] // 2).reshape(strips, 1, SIDE), np.arange(kept)[:, None]
    factors = [0.5 / (size * response(unit_circle(own, size)[0]) ** 2)
               for own, size in zip(frequencies, sizes, strict=True)]

    def forth(block: slice) -> None:
        half = kernel(np.add.outer(rows**2, columns[block] ** 2))
        down.forth(np.concatenate([half, half[-2:0:-1]]), lines, block.start)

    def along(block: slice) -> None:
        across.measure(lines, block, numbers)
        numbers[block] *= factors[0][block] * factors[1]

    each(forth, fold_blocks(len(columns), sizes[0]))
    each(along, row_blocks(strips, BLOCK, FOLD * sizes[1]))
    return Spectrum(sizes, numbers, NONE)


def _measure_line(kernel: Callable[[Array], Array], response: Callable[[Array], Array], size: int) -> Spectrum:
    rows = size // FOLD
    strips = rows // 2 // SIDE + 1
    line, lines, numbers = np.empty(size), np.empty((strips, FOLD, FOLD)), np.empty((strips, FOLD, SIDE))
    frequencies = np.minimum(np.arange(strips * SIDE), rows // 2).reshape(strips, 1, SIDE)
    cosines, sines = unit_circle(frequencies, size)
    steps = np.concatenate([cosines, -sines], axis=2)[:, 0]

    def fill(block: slice) -> None:
        places = np.arange(block.start, block.stop)
        line[block] = kernel(np.minimum(places, size - places).astype(float) ** 2)

    def along(block: slice) -> None:
        transform_of(FOLD).measure(lines, block, numbers, steps)
        whole = frequencies[block] + rows * np.arange(FOLD)[:, None]
        numbers[block] *= 0.25 / (size * response(unit_circle(whole, size)[0]) ** 2)

    each(fill, row_blocks(size, BLOCK))
    transform_of(rows // 2).forth(line.reshape(rows, FOLD), lines, 0)
    each(along, row_blocks(strips, BLOCK, FOLD * FOLD))
    return Spectrum((size,), numbers, steps)


def _measure_by_scipy(kernel: Callable[[Array], Array], response: Callable[[Array], Array],
                      sizes: tuple[int, ...]) -> Spectrum:
    from scipy.fft import dctn

    squared, responses = np.zeros(1), np.ones(1)
    for size in sizes:
        nodes = np.arange(size // 2 + 1)
        squared = np.add.outer(squared, nodes**2.0)
        responses = np.multiply.outer(responses, response(unit_circle(nodes, size)[0]) ** 2)
    return Spectrum(sizes, np.asarray(dctn(kernel(squared[0]), type=1)) / responses[0], NONE)


def fold_blocks(columns: int, size: int) -> list[slice]:
    """Return blocks of whole folds of columns, for transforms of a size."""
    return [slice(FOLD * block.start, FOLD * block.stop) for block in row_blocks(columns // FOLD, BLOCK, FOLD * size)]


def convolve(charges: Array, spectrum: Spectrum) -> None:
    """Replace charges, an array of `charges_shape`, by their sums with a kernel at the same nodes.

    Each pair of nodes is to be nearer than half a transform along both axes. What lies beyond the counted nodes is
    overwritten, and must be zero before.
    """
    sizes, numbers = spectrum.sizes, spectrum.numbers
    if not native.available():
        _convolve_by_scipy(charges, numbers, sizes)
        return
    line = len(sizes) == 1
    grid = charges.reshape(-1, FOLD) if line else charges
    halves = (sizes[0] // FOLD // 2, FOLD) if line else (sizes[0] // 2, sizes[1] // 2)
    down, across = (transform_of(half) for half in halves)
    lines = np.empty((len(numbers), grid.shape[1], FOLD))
    blocks = fold_blocks(grid.shape[1], sizes[0])
    each(lambda block: down.forth(grid[:, block], lines, block.start), blocks)
    each(lambda block: across.convolve(lines, block, numbers, spectrum.steps),
         row_blocks(len(lines), BLOCK, 2 * FOLD * halves[1]))
    each(lambda block: down.back(lines, grid[:, block], block.start), blocks)


def _convolve_by_scipy(charges: Array, numbers: Array, sizes: tuple[int, ...]) -> None:
    from scipy.fft import fft, ifft, irfft, rfft

    lines = rfft(charges, sizes[-1])
    if len(sizes) == 1:
        lines *= numbers
    else:
        whole = fft(lines, sizes[0], axis=0)
        whole *= np.concatenate([numbers, numbers[-2:0:-1]])
        lines = ifft(whole, axis=0, overwrite_x=True)[: len(charges)]
    charges[:] = irfft(lines, sizes[-1])[:, : charges.shape[1]]
