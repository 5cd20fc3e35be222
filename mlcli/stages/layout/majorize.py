"""Stress by majorization: steps of the Guttman transform, which never raise it (de Leeuw, 1977)."""

from collections.abc import Callable

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import rates
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.stored import result
from mlcli.base.types import Array
from mlcli.errors import DataError
from mlcli.stages.algebra.distances import squared_distances
from mlcli.stages.algebra.iterate import Iterate, Iterated
from mlcli.stages.layout.pairs import Pairs

BLOCK = 2**17  # numbers of a block of pairs, which stay in a core's cache
USUAL = 200  # steps of most fits
RELAXATION = 1.8  # step from a layout, in distances to its transform; below two
PASSES = 12  # work of a pair in a step, in functions of one distance


@result("layout")
@frozen
class Layout:
    """Coordinates of distinct points (u x p), scaled to the least stress √(Σ w (δ - d)² / Σ w δ²)."""

    points: Array
    pulled: Array  # B(X) X, u x p
    stress: float

    @property
    def objective(self) -> float:
        """The stress."""
        return self.stress


def minimize_stress(pairs: Pairs, start: Array, iterate: Iterate,
                    solve: Callable[[Array], Array] | None = None) -> Iterated[Layout]:
    """Return the layout of least stress near a start (u x p) by relaxed Guttman transforms.

    A transform X̄ = V⁺ B(X) X minimizes a quadratic function that lies above the stress and touches it at X. A step
    from X through X̄, less than twice as far, ends below that function's height at X, so that stress does not rise, in
    about half as many steps (de Leeuw and Heiser, 1980); twice as far, errors that a transform removes at once would
    change their sign for ever. The best scale follows each step. Convergence is that of the coordinates, relative to
    their size. `solve` is the pairs' `laplacian_solver` where it is known.
    """
    solver = solve or laplacian_solver(pairs)

    def step(layout: Layout) -> Layout:
        return layout_at(pairs, layout.points + RELAXATION * (solver(layout.pulled) - layout.points))

    return iterate(step, layout_at(pairs, start), displacement)


def layout_at(pairs: Pairs, points: Array) -> Layout:
    """Return the layout of coordinates (u x p), centered and scaled to the least stress."""
    centered = points - points.mean(axis=0)
    terms = stress_terms(pairs, centered)
    scale = terms.products / terms.squares if terms.squares > 0 else 1.0
    errors = terms.errors - (1 - scale) ** 2 * terms.squares
    return Layout(scale * centered, terms.pulled, float(np.sqrt(max(errors, 0.0) / pairs.size)))


def displacement(before: Layout, after: Layout) -> float:
    """Return the distance of two layouts, relative to the size of the second."""
    size = float(np.linalg.norm(after.points))
    return float(np.linalg.norm(after.points - before.points)) / size if size > 0 else 0.0


@frozen
class StressTerms:
    """Sums over pairs at coordinates X: B(X) X (u x p), Σ w (δ - d)², Σ w δ d and Σ w d².

    B has the entries -w δ / d off its diagonal, zero where d is, and rows that sum to zero.
    """

    pulled: Array
    errors: float
    products: float
    squares: float


def stress_terms(pairs: Pairs, points: Array) -> StressTerms:
    """Return the sums for coordinates (u x p)."""
    def work(rows: slice) -> tuple[Array, Array]:
        distances = squared_distances(points[rows], points)
        np.sqrt(distances, out=distances)
        lengths, weights = pairs.lengths[rows], None if pairs.uniform else pairs.weights(rows)
        weighted = distances if weights is None else weights * distances
        errors = lengths - distances
        sums = np.array([np.vdot(errors if weights is None else weights * errors, errors),
                         np.vdot(lengths, weighted), np.vdot(distances, weighted)])
        distances[distances == 0] = np.inf  # the ratio is zero
        ratios = np.divide(lengths, distances, out=distances)
        if weights is not None:
            ratios *= weights
        return np.asarray(ratios.sum(axis=1)[:, None] * points[rows] - ratios @ points), sums / 2

    parts = list(in_order(work, row_blocks(len(points), BLOCK, len(points))))
    errors, products, squares = np.sum([sums for _, sums in parts], axis=0)
    return StressTerms(np.vstack([pulled for pulled, _ in parts]), float(errors), float(products), float(squares))


def laplacian_solver(pairs: Pairs) -> Callable[[Array], Array]:
    """Return the product of V⁺ with centered columns (u x p), V the Laplacian of the pairs' weights.

    Raises DataError if weights differ by so much that rounding of the largest hides the others.
    """
    if pairs.uniform:
        return lambda columns: columns / len(pairs)
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    laplacian = -pairs.weights(slice(None))
    np.fill_diagonal(laplacian, -laplacian.sum(axis=1))
    try:  # with a shift, the constant is no longer a null vector
        factor = cho_factor(laplacian + np.trace(laplacian) / len(pairs) ** 2)
    except LinAlgError:
        apart = pairs.lengths[pairs.lengths > 0]
        raise DataError("WEIGHTS-SPAN", f"dissimilarities from {apart.min():.1e} to {apart.max():.1e} have weights 1/δ "
                        "of which the largest hide the others in rounding",
                        hint="use smacof, whose weights are all one, or merge points that are nearly equal") from None
    return lambda columns: np.asarray(cho_solve(factor, columns))


def step_seconds(count: int, axes: int, threads: int) -> float:
    """Predict the seconds of one step for `count` points."""
    return count**2 * (PASSES + 4 * axes) * rates().bent / max(threads, 1)
