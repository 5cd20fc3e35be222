"""Pairs of points by ascending dissimilarity: distances, their disparities, and the forces of the errors.

A pair is one number, 2³² i + j, so that a kernel reads pairs in their order, and coordinates from the nearest cache.
"""

import numpy as np

from mlcli.base.types import AnyArray, Array, Indices
from mlcli.native.library import kernels

SCRATCH = 2  # numbers of a pair that disparities take besides
HALF = 32  # bits of a point


def join_pairs(left: Indices, right: Indices) -> AnyArray:
    """Return pairs (m, unsigned) of points (m each)."""
    return left.astype(np.uint64) << np.uint64(HALF) | right.astype(np.uint64)


def split_pairs(pairs: AnyArray) -> tuple[Indices, Indices]:
    """Return the points (m each) of pairs (m)."""
    return (pairs >> np.uint64(HALF)).astype(np.int64), (pairs & np.uint64(2**HALF - 1)).astype(np.int64)


def distances_of_pairs(points: Array, pairs: AnyArray, rows: slice, out: Array) -> None:
    """Write the distances of some pairs of points (u x p) into their places in `out` (m).

    Raises ValueError for points out of range.
    """
    kernels().distances_of_pairs(points, pairs, rows.start, rows.stop, out)


def disparities_of_pairs(distances: Array, pairs: AnyArray, starts: Indices, *, secondary: bool, counts: Array,
                         disparities: Array, scratch: Array) -> tuple[float, float]:
    """Write the disparities (m) of distances (m) and return Σ w (d - d̂)² and Σ w d².

    Groups of equal dissimilarities begin at `starts` (g + 1). A group has one disparity with secondary ties; with
    primary ones its pairs and distances are sorted in place, by distance. Weights are products of `counts` (u), or one
    where these are empty; `scratch` (2 m) is overwritten. Raises ValueError for distances that are no numbers.
    """
    errors, spread = kernels().disparities_of_pairs(distances, pairs, starts, secondary, counts, disparities, scratch)
    return errors, spread


def forces_of_pairs(points: Array, pairs: AnyArray, rows: slice, *, fit: tuple[Array, Array], counts: Array,
                    share: float) -> Array:
    """Return Σ w (d - d̂ - share d) / d (x - y) for each point (u x p) over some pairs.

    `fit` holds distances and disparities (m each).
    """
    forces = np.zeros_like(points)
    kernels().forces_of_pairs(points, pairs, rows.start, rows.stop, *fit, counts, share, forces)
    return forces
