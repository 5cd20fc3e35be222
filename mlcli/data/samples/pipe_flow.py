"""Readings of a pipe with oil, water and gas in three flow regimes: a simulation in the manner of Bishop and James."""

from collections.abc import Mapping

import numpy as np

from mlcli.base.types import Array

REGIMES = 3  # 1 homogeneous, 2 in layers, 3 in rings
DOWN, ACROSS = (0.0, 0.35, 0.7), (-0.6, 0.0, 0.6)  # places of the vertical and of the horizontal beams
HEIGHTS = np.linspace(-1, 1, 4001)
BELOW = 0.5 + (HEIGHTS * np.sqrt(1 - HEIGHTS**2) + np.arcsin(HEIGHTS)) / np.pi  # share of the unit disk below a height


def pipe_flow(uniform: Array) -> tuple[Array, Mapping[str, Array]]:
    """Return lengths of six beams in water and in oil, an (n, 12) array, with regime and the fractions of both.

    The pipe is the unit disk; fractions of water, oil and gas are uniform on the triangle. Water lies below oil and
    oil below gas, or outside of oil and oil outside of gas, or all are mixed. Bishop and James (1993), whose data are
    readings at two energies, which determine these lengths.
    """
    regime = np.minimum(REGIMES * uniform[:, 0], REGIMES - 1).astype(int)
    water, oil = np.where(uniform[:, 1:2] + uniform[:, 2:] > 1, 1 - uniform[:, 1:], uniform[:, 1:]).T
    ways = [_mixed(water, oil), _layers(water, oil), _rings(water, oil)]
    points = np.select([(regime == way)[:, None] for way in range(REGIMES)], ways)
    return points, {"regime": regime + 1.0, "water": water, "oil": oil}


def _mixed(water: Array, oil: Array) -> Array:
    chords = 2 * np.sqrt(1 - np.array([*DOWN, *ACROSS]) ** 2)
    return np.hstack([water[:, None] * chords, oil[:, None] * chords])


def _layers(water: Array, oil: Array) -> Array:
    """Vertical beams cross the layers; a horizontal one is in the layer at its height."""
    half, place = np.sqrt(1 - np.array(DOWN) ** 2), np.array(ACROSS)
    surfaces = [np.interp(share, BELOW, HEIGHTS)[:, None] for share in (water, water + oil)]
    low, high = (np.clip(surface, -half, half) + half for surface in surfaces)
    wet, filled = (np.where(place < surface, 2 * np.sqrt(1 - place**2), 0.0) for surface in surfaces)
    return np.hstack([low, wet, high - low, filled - wet])


def _rings(water: Array, oil: Array) -> Array:
    """A beam at a distance from the center crosses each circle that is wider."""
    place = np.array([*DOWN, *ACROSS])
    gas = np.maximum(1 - water - oil, 0.0)
    core, middle = (2 * np.sqrt(np.maximum(area[:, None] - place**2, 0.0)) for area in (gas, gas + oil))
    return np.hstack([2 * np.sqrt(1 - place**2) - middle, middle - core])
