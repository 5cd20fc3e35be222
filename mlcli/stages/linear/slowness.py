"""Slow features: unit-variance combinations of the columns that change least from row to row."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import stage
from mlcli.base.types import Array
from mlcli.stages.linear.linearization import lowest_directions
from mlcli.stages.linear.whitening import Whitening


@frozen
class SlowFeatures:
    """Directions in white coordinates, slowest first."""

    slowness: Array  # r, ascending: the mean squared step from one row to the next of a unit-variance feature
    directions: Array  # r x r, orthonormal columns


@stage("slow features")
def slow_features(white: Whitening) -> SlowFeatures:
    """Return the slow features of white points in time order (Wiskott and Sejnowski), by the SVD of their steps.

    A feature without memory has slowness 2, one that alternates 4; slowness is 2 - 2 ψ for a
    stationary one whose neighboring values have correlation ψ.
    """
    steps = np.diff(white.points, axis=0)
    sizes, directions = lowest_directions(steps)
    return SlowFeatures(sizes**2 / max(len(steps), 1), directions)


def monomials(white: Array, degree: int) -> Array:
    """Return coordinates (n x r), and with degree 2 all their products of two as well (n x r (r + 3) / 2)."""
    if degree == 1:
        return white
    rows, columns = np.triu_indices(white.shape[1])
    return np.hstack([white, white[:, rows] * white[:, columns]])


def monomials_rounding(white: Array, wrong: Array, degree: int) -> Array:
    """Return bounds of the monomials' errors for errors `wrong` of the coordinates `white` (n x r each)."""
    if degree == 1:
        return wrong
    rows, columns = np.triu_indices(white.shape[1])
    size = np.abs(white)
    return np.hstack([wrong, size[:, rows] * wrong[:, columns] + wrong[:, rows] * size[:, columns]])
