"""Transforms of columns and of strips against NumPy's, at every instruction set."""

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.core.convolution import transform_of
from mlcli.native.convolution import NONE, Transform
from tests.native.support import at_level, levels, needs_native

pytestmark = needs_native
level = pytest.fixture(params=levels(), autouse=True)(at_level)
HALVES = [1, 2, 3, 4, 5, 16, 30, 36, 125, 160, 384]  # radices alone and together, and more than the nearest cache holds


def folded(numbers: Array, strips: int) -> Array:
    """Lines of complex numbers (frequencies x columns): strips of eight, the last frequency repeated."""
    rows = np.minimum(np.arange(8 * strips), len(numbers) - 1)
    by_strip = np.moveaxis(numbers[rows].reshape(strips, 8, -1), 1, 2)
    return np.concatenate([by_strip.real, by_strip.imag], axis=2)


def random(*shape: int) -> Array:
    return np.random.default_rng(shape).normal(size=shape)


@pytest.mark.parametrize("half", HALVES)
def test_columns_become_twice_their_transforms_and_come_back(half: int) -> None:
    transform, strips = transform_of(half), half // 8 + 1
    for rows in {1, half, 2 * half - half // 2, 2 * half}:
        grid, lines = random(rows, 48), np.full((strips, 64, 16), np.nan)
        transform.forth(grid, lines, 16)
        expected = folded(2 * np.fft.rfft(grid, 2 * half, axis=0), strips)
        assert np.allclose(lines[:, 16:], expected, rtol=0, atol=1e-14 * np.sqrt(half) * 10)
        assert np.isnan(lines[:, :16]).all()
        if rows <= half:
            back = np.full((rows, 80), np.nan)
            transform.back(lines, back[:, 32:], 16)
            assert np.allclose(back[:, 32:], 4 * half * grid, rtol=0, atol=1e-13 * half)
            assert np.isnan(back[:, :32]).all()


@pytest.mark.parametrize("half", HALVES[3:])
def test_strips_are_multiplied_by_a_spectrum_in_frequency(half: int) -> None:
    """That of half a transform, which is real: both opposite frequencies are multiplied by it."""
    columns, spectrum = max(1, half - 3), random(3, half + 1, 8)
    lines = random(3, columns, 16)
    given = lines[:, :, :8] + 1j * lines[:, :, 8:]
    transform_of(half).convolve(lines, slice(1, 3), spectrum)
    whole = np.concatenate([spectrum, spectrum[:, -2:0:-1]], axis=1)
    expected = 2 * half * np.fft.ifft(np.fft.fft(given, 2 * half, axis=1) * whole, axis=1)[:, :columns]
    assert np.allclose(lines[1:], np.concatenate([expected.real, expected.imag], axis=2)[1:], rtol=0, atol=1e-13 * half)
    assert np.array_equal(lines[0, :, :8], given[0].real)


@pytest.mark.parametrize("half", HALVES[3:])
def test_lanes_share_no_number(half: int) -> None:
    spectrum, lines = random(1, half + 1, 8), random(1, half, 16)
    alone = lines.copy()
    alone[:, :, [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15]] = 0
    for held in (lines, alone):
        transform_of(half).convolve(held, slice(0, 1), spectrum)
    assert np.array_equal(lines[..., [3, 11]], alone[..., [3, 11]])


@pytest.mark.parametrize("half", HALVES)
def test_the_spectrum_of_even_strips_is_measured(half: int) -> None:
    lines, spectrum = random(3, half + 4, 16), np.full((3, half + 1, 8), np.nan)
    even = np.concatenate([lines[:, : half + 1, :8], lines[:, half - 1 : 0 : -1, :8]], axis=1)
    transform_of(half).measure(lines, slice(0, 2), spectrum)
    assert np.allclose(spectrum[:2], np.fft.rfft(even, axis=1).real[:2], rtol=0, atol=1e-13 * half)
    assert np.isnan(spectrum[2]).all()


@pytest.mark.parametrize("half", HALVES[:8])
def test_columns_of_a_long_line_turn_by_powers_of_a_step(half: int) -> None:
    lines, spectrum, measured = random(3, half, 16), random(3, half, 8), np.full((3, half, 8), np.nan)
    angles = random(3, 8)
    steps = np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
    turns = np.exp(1j * np.arange(half)[:, None] * angles[:, None])
    turned = np.fft.fft((lines[:, :, :8] + 1j * lines[:, :, 8:]) * turns, axis=1)
    transform_of(half).measure(lines, slice(1, 3), measured, steps)
    assert np.allclose(measured[1:], turned.real[1:], rtol=0, atol=1e-13 * half)
    transform_of(half).convolve(lines, slice(0, 3), spectrum, steps)
    expected = half * np.fft.ifft(turned * spectrum, axis=1) / turns
    assert np.allclose(lines, np.concatenate([expected.real, expected.imag], axis=2), rtol=0, atol=1e-13 * half)


def test_what_does_not_fit_is_refused() -> None:
    radices, twiddles = np.array([2, 3], dtype=np.int32), np.ones(2 * 5)
    turns, positions = np.ones(12), np.arange(12, dtype=np.int32)
    Transform(radices, twiddles, turns, positions)
    one = np.int32(1)
    for wrong in ((radices + 3 * one, twiddles, turns, positions), (radices - one, twiddles, turns, positions),
                  (np.full(40, 5 * one), twiddles, turns, positions), (radices, twiddles[:-1], turns, positions),
                  (radices, twiddles, turns[:-1], positions), (radices, twiddles, turns, positions[:-1]),
                  (radices, twiddles, turns, positions + one), (radices, twiddles, turns, positions - one)):
        with pytest.raises(ValueError, match=r"radices|factors|place"):
            Transform(*wrong)
    transform, grid, lines = transform_of(16), np.zeros((16, 32)), np.zeros((3, 32, 16))
    for columns, held, first in ((grid, lines[:2], 0), (grid, lines[:, :, :8].copy(), 0), (grid[:, :8], lines, 0),
                                 (grid, lines, 16), (grid, lines, -16), (grid[:, :16], lines, 8),
                                 (grid[:, :16], lines[:, :24].copy(), 0), (grid[:, ::2], lines, 0),
                                 (np.zeros((33, 32)), lines, 0)):
        with pytest.raises(ValueError, match=r"row by row|eight|columns|rows"):
            transform.forth(columns, held, first)
        with pytest.raises(ValueError, match=r"row by row|eight|columns|rows"):
            transform.back(held, columns, first)
    with pytest.raises(ValueError, match="rows"):
        transform.back(lines, np.zeros((17, 32)), 0)
    narrow, spectrum, steps = lines[:, :16].copy(), np.zeros((3, 17, 8)), np.zeros((3, 16))
    for strips in (slice(-1, 2), slice(2, 1), slice(0, 4)):
        with pytest.raises(ValueError, match="strips"):
            transform.convolve(narrow, strips, spectrum)
    short = spectrum[:, 1:].copy()
    for held, numbers, own in ((lines, spectrum, NONE), (narrow, spectrum[:2], NONE), (narrow, short, NONE),
                               (narrow, spectrum, steps), (narrow, short, steps[:2]), (lines, short, steps),
                               (narrow[:, :, :8].copy(), spectrum, NONE)):
        with pytest.raises(ValueError, match=r"columns|eight|folds"):
            transform.convolve(held, slice(0, 3), numbers, own)
    with pytest.raises(ValueError, match="columns"):
        transform.measure(narrow, slice(0, 3), spectrum)
