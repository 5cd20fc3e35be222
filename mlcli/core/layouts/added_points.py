"""Points that are added to a layout of least stress: they move among its points, which are fixed, and each other."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.stored import result
from mlcli.base.types import Array
from mlcli.core.cholesky import positive_solver
from mlcli.core.iterate import Iterate, Iterated
from mlcli.core.layouts.majorize import RELAXATION
from mlcli.core.layouts.new_points import BLOCK, differences, place_by_stress, row_sums
from mlcli.core.layouts.pairs import powers
from mlcli.errors import DataError


@result("added-layout")
@frozen
class AddedLayout:
    """Coordinates of added points and of where a step leads (m x p each), the last step relative to the extent of all
    fixed points, and the stress of the pairs of added ones.
    """

    points: Array
    target: Array
    moved: float
    objective: float


def place_together(lengths: Array, weights: Array, fixed: Array, iterate: Iterate) -> Iterated[AddedLayout]:
    """Return m points whose distances from each other and from f fixed points (f x p) are nearest to `lengths`.

    Lengths δ and weights w (m x (m + f)) are those to added points, then to fixed ones; equal points have a weight of
    zero. A step minimizes the quadratic function that lies above Σ w (δ - d)² and touches it at the points: with V the
    matrix of weights of added points, their sums over all others on its diagonal, it leads to V⁻¹ (B(X) X + W Y).
    From places by their own stress among fixed points alone, steps that go nearly twice as far never raise it. Raises
    DataError for weights of which the largest hide the others.
    """
    count = len(lengths)
    start = place_by_stress(lengths[:, count:], fixed, weights[:, count:])
    matrix = np.diag(weights.sum(axis=1)) - weights[:, :count]
    solve = positive_solver(matrix)
    if solve is None:
        raise DataError("WEIGHTS-SPAN", "weights of dissimilarities of the new points differ so much that the largest "
                        "hide the others in rounding", hint="use a method without weights, as smacof")
    pulls = row_sums(weights[:, count:], fixed.T)
    middle = fixed.mean(axis=0)
    extent = float(np.abs(fixed - middle).max(initial=0.0)) or 1.0

    def at(points: Array, moved: float) -> AddedLayout:
        every = np.concatenate([points, fixed])
        parts = list(in_order(lambda rows: _forces(points[rows], every, lengths[rows], weights=weights[rows]),
                              row_blocks(count, BLOCK, every.size)))
        target = solve(np.concatenate([force for force, _ in parts]) + pulls)
        return AddedLayout(points, target, moved, float(np.cumsum([stress for _, stress in parts])[-1]))

    def step(before: AddedLayout) -> AddedLayout:
        away = before.target - before.points
        return at(before.points + RELAXATION * away, float(np.abs(away).max(initial=0.0)) / extent)

    return iterate(step, at(start, np.inf), lambda _, after: after.moved)


def _forces(points: Array, every: Array, lengths: Array, *, weights: Array) -> tuple[Array, float]:
    """Return Σ w δ / d (x - x') of some points (m x p) over all others, and their Σ w (δ - d)²."""
    gaps, distances = differences(points, every)
    ratios = weights * np.divide(lengths, distances, out=np.zeros_like(distances), where=distances > 0)
    errors = weights * (lengths - distances) ** 2
    return row_sums(ratios, gaps), float(np.sum(errors))


def relative_weights_together(lengths: Array, power: float) -> Array:
    """Return powers of dissimilarities (m x n) over that of the least or largest above zero; zero where they are."""
    apart = lengths > 0
    if power == 0:
        return apart.astype(np.float64)
    there = lengths[apart]
    heaviest = float(there.min() if power < 0 else there.max()) if there.size else 1.0
    return np.asarray(np.where(apart, powers(lengths, heaviest, power), 0.0))
