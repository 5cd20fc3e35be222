"""Stress by majorization: steps of the Guttman transform, which never raise it (de Leeuw, 1977), and of L-BFGS."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import rates
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.stored import result
from mlcli.base.types import Array
from mlcli.core.arithmetic import dot, length, sum_of_all
from mlcli.core.cholesky import positive_solver
from mlcli.core.euclidean_distances import by_differences
from mlcli.core.iterate import ROUNDING, Iterate, Iterated
from mlcli.core.layouts.anchors import Anchors
from mlcli.core.layouts.pairs import UNWEIGHTED, Pairs, weight_name
from mlcli.core.quasi_newton import quasi_newton_step
from mlcli.errors import DataError
from mlcli.native.layouts import stress_rows, turn_sources

BLOCK = 2**17  # numbers of a block of pairs, which stay in a core's cache
PAIRS = 2**19  # pairs of a block of the kernel
PART, LINE = 64, 8  # columns and lanes that the kernel sums at once
USUAL = 80  # steps of most fits
RELAXATION = 1.8  # step from a layout, in distances to its transform; below two
MEMORY = 10  # steps whose curvature is known
WINDOW = 4  # steps whose largest length tells how fast they shrink
# Work in functions of one distance: of a pair in a step, of each of its axes, and of each in solves by V.
PAIR, AXIS, SOLVED = 1.0, 0.15, 0.25


@result("layout")
@frozen
class Layout:
    """Coordinates of distinct points (u x p), scaled to the least stress √(Σ w (δ - d)² / Σ w δ²), and recent steps."""

    points: Array
    slope: Array  # V X - B(X) X, half the gradient of Σ w (δ - d)² (u x p)
    step: Array  # X - V⁺ B(X) X, u x p
    stress: float
    moves: Array  # of points in the last steps, k x u x p
    bends: Array  # of slopes, k x u x p
    stretch: float  # y · s / y · V⁺ y of the last move s and bend y
    lengths: Array  # of the last steps, relative to the size of the layout

    @property
    def objective(self) -> float:
        """The stress."""
        return self.stress


def minimize_stress(pairs: Pairs, start: Array, iterate: Iterate,
                    solve: Callable[[Array], Array] | None = None) -> Iterated[Layout]:
    """Return the layout of least stress near a start (u x p) by Guttman transforms, with the memory of L-BFGS.

    A transform X̄ = V⁺ B(X) X minimizes a quadratic function that lies above the stress and touches it at X. A step
    from X through X̄, less than twice as far, ends below that function's height at X, so that stress does not rise, in
    about half as many steps (de Leeuw and Heiser, 1980); twice as far, errors that a transform removes at once would
    change their sign for ever. The best scale follows each step.

    Where transforms converge slowly, the curvature along recent steps leads farther: V⁺ is the first inverse Hessian
    of L-BFGS (Nocedal, 1980). Its step is taken where stress falls by what is sure for the relaxed transform, which is
    taken otherwise. Convergence is that of the coordinates, relative to their size. `solve` is the pairs'
    `laplacian_solver` where it is known.
    """
    solver = solve or laplacian_solver(pairs)
    return descend(lambda points: layout_at(pairs, points, solver), start, iterate, solver=solver, size=pairs.size)


def minimize_tied_stress(pairs: Pairs, start: Array, anchors: Anchors, iterate: Iterate) -> "Iterated[Layout]":
    """Return the layout of least Σ w (δ - d)² + Σ ρ |x - a|² near a start (u x p), by steps as of the stress alone.

    A point that stands for c points, of which s have former places with the mean a, has ρ = λ s Σ w / c, with the sum
    over its pairs: at λ = 1 its former place counts as much as all other points. The quadratic function above the sum
    is least at (V + R)⁻¹ (B(X) X + R A), with R the matrix of the ρ. The layout is neither centered nor scaled, and its
    `stress` is the root of the sum over Σ w δ². Raises DataError as `laplacian_solver` does.
    """
    targets, pulls = tie_rates(pairs, anchors)
    solver = tied_solver(pairs, pulls)

    def at(points: Array) -> Layout:
        terms, away = stress_terms(pairs, points), points - targets
        step = points - solver(terms.pulled + pulls[:, None] * targets)
        objective = terms.errors + dot(pulls[:, None] * away, away)
        none = np.zeros((0, *points.shape))
        return Layout(points, slope=terms.spread - terms.pulled + pulls[:, None] * away, step=step,
                      stress=float(np.sqrt(objective / (pairs.size or 1.0))), moves=none, bends=none, stretch=1.0,
                      lengths=np.zeros(0))

    return descend(at, np.ascontiguousarray(start), iterate, solver=solver, size=pairs.size)


def tie_rates(pairs: Pairs, anchors: Anchors) -> tuple[Array, Array]:
    """Return the places a to which distinct points are tied (u x p), and the rates ρ (u) of `minimize_tied_stress`."""
    targets, shares = anchors.of_groups(pairs.places)
    weights = np.full(len(pairs), len(pairs) - 1.0) if pairs.uniform else pairs.table.sum(axis=1)
    return targets, anchors.weight * shares * weights / pairs.counts


def tied_solver(pairs: Pairs, pulls: Array) -> Callable[[Array], Array]:
    """Return the product of (V + R)⁻¹ with columns (u x p), for rates ρ (u) of which one at least is above zero.

    With equal weights V + R is diagonal but for a matrix of ones (Sherman and Morrison, 1950).
    """
    if pairs.uniform:
        sizes = len(pairs) + pulls
        rest = sum_of_all(pulls / sizes) / len(pairs)

        def solve_uniform(columns: Array) -> Array:
            shares = columns / sizes[:, None]
            sums = np.array([sum_of_all(np.ascontiguousarray(axis)) for axis in shares.T])
            return shares + sums / rest / sizes[:, None]

        return solve_uniform
    laplacian = -pairs.table
    with np.errstate(all="ignore"):
        np.fill_diagonal(laplacian, pulls - laplacian.sum(axis=1))
        solve = positive_solver(laplacian)
    if solve is None:
        raise weights_span(pairs)
    return solve


def descend(at: "Callable[[Array], Layout]", start: Array, iterate: Iterate, *, solver: Callable[[Array], Array],
            size: float) -> "Iterated[Layout]":
    """Return the layout to which steps lead from a start (u x p): of L-BFGS where the objective falls as much as is
    sure for a relaxed transform, which is taken otherwise. `size` is Σ w δ².
    """
    def step(layout: Layout) -> Layout:
        square = layout.stress * layout.stress
        sure = square - RELAXATION * (2 - RELAXATION) * dot(layout.step, layout.slope) / (size or 1.0)
        if len(layout.moves):
            away = quasi_newton_step(layout.slope, layout.moves, layout.bends,
                                     lambda rest: solver(rest) * layout.stretch)
            ahead = at(layout.points - away)
            near = ROUNDING * square  # a difference that is rounding tells nothing: slopes do
            rest = ahead.stress <= layout.stress and dot(ahead.step, ahead.slope) <= dot(layout.step, layout.slope)
            if ahead.stress * ahead.stress <= sure + (near if rest else 0.0):
                return follow(layout, ahead)
        return follow(layout, at(layout.points - RELAXATION * layout.step))

    return iterate(step, at(start), lambda _, after: distance_from_limit(after.lengths),
                   steady=False)


def layout_at(pairs: Pairs, points: Array, solve: Callable[[Array], Array]) -> Layout:
    """Return the layout of coordinates (u x p), centered and scaled to the least stress, without a memory."""
    centered = points - points.mean(axis=0)
    terms = stress_terms(pairs, centered)
    scale = terms.products / terms.squares if terms.squares > 0 else 1.0
    errors = terms.errors - (1 - scale) * (1 - scale) * terms.squares
    scaled, step = scale * centered, scale * centered - solve(terms.pulled)
    none = np.zeros((0, *points.shape))
    return Layout(scaled, slope=scale * terms.spread - terms.pulled, step=step,
                  stress=float(np.sqrt(max(errors, 0.0) / pairs.size)), moves=none, bends=none, stretch=1.0,
                  lengths=np.zeros(0))


def follow(before: Layout, after: Layout) -> Layout:
    """Return the second layout with the memory of the first and of the step between them."""
    move, bend = after.points - before.points, after.slope - before.slope
    size = length(after.points)
    lengths = np.append(before.lengths, length(move) / size if size > 0 else 0.0)[-2 * WINDOW:]
    moves, bends, stretch = before.moves, before.bends, before.stretch
    if dot(move, bend) > ROUNDING * np.sqrt(dot(move, move) * dot(bend, bend)):  # convex along the step
        moves, bends = np.append(moves, move[None], axis=0)[-MEMORY:], np.append(bends, bend[None], axis=0)[-MEMORY:]
        stretch = dot(move, bend) / dot(bend, after.step - before.step)
    return replace(after, moves=moves, bends=bends, stretch=stretch, lengths=lengths)


def distance_from_limit(lengths: Array) -> float:
    """Return the estimated distance from the limit after steps of these lengths (k), infinite after few of them.

    It extrapolates the largest of the last WINDOW steps by its ratio to the largest of as many before: single steps of
    L-BFGS may be short by chance.
    """
    if len(lengths) and lengths[-1] <= ROUNDING:
        return float(lengths[-1])
    if len(lengths) < 2 * WINDOW:
        return np.inf
    before, now = lengths[:WINDOW].max(), lengths[WINDOW:].max()
    ratio = max(np.sqrt(np.sqrt(now / before)), 0.5)  # the root of as many steps as a window has
    return float(now * ratio / (1 - ratio)) if ratio < 1 else np.inf


@frozen
class StressTerms:
    """Sums over pairs at coordinates X: B(X) X and V X (u x p), Σ w (δ - d)², Σ w δ d and Σ w d².

    B has the entries -w δ / d off its diagonal, zero where d is, and rows that sum to zero.
    """

    pulled: Array
    spread: Array
    errors: float
    products: float
    squares: float


def stress_terms(pairs: Pairs, points: Array) -> StressTerms:
    """Return the sums for coordinates (u x p)."""
    weights = None if pairs.uniform else pairs.table
    points = np.ascontiguousarray(points)
    if native.available():
        lengths, sources = np.ascontiguousarray(pairs.lengths), turn_sources(points)
        blocks = row_blocks(len(points), PAIRS, len(points))
        parts = list(in_order(lambda rows: stress_rows(points, sources, lengths=lengths, weights=weights, rows=rows),
                              blocks))
    else:
        parts = list(in_order(lambda rows: sums_of_rows(points[rows], points, lengths=pairs.lengths[rows],
                                                        weights=None if weights is None else weights[rows]),
                              row_blocks(len(points), BLOCK, len(points))))
    pulled, spread, sums = (np.vstack(some) for some in zip(*parts, strict=True))
    errors, products, squares = sums.sum(axis=0) / 2
    if weights is None:
        spread = len(points) * (points - points.mean(axis=0))
    return StressTerms(pulled, spread, float(errors), float(products), float(squares))


def sums_of_rows(places: Array, points: Array, *, lengths: Array,
                 weights: Array | None) -> tuple[Array, Array, Array]:
    """Return what `stress_rows` of the native kernels does at places (m x p) beside points (n x p), with the same bits.
    """
    squares = by_differences(places, points)
    shares = np.ones_like(squares) if weights is None else weights
    distances, products = np.sqrt(squares), shares * lengths
    errors, ratios = lengths - distances, products * (distances / (squares + np.finfo(np.float64).tiny))
    gaps = [place[:, None] - axis for place, axis in zip(places.T, np.ascontiguousarray(points.T), strict=True)]
    pulled = np.column_stack([_part_sums(ratios * gap, PART) for gap in gaps])
    spread = np.column_stack([_part_sums(shares * gap, PART) for gap in gaps])
    whole = LINE * -(-len(points) // LINE)
    sums = [_part_sums(some, whole) for some in (shares * errors * errors, products * distances, shares * squares)]
    return pulled, np.zeros((0, 0)) if weights is None else spread, np.column_stack(sums)


def _part_sums(numbers: Array, part: int) -> Array:
    """Return the sums of rows (m x n) over some columns at a time, of which the kernel adds a line to the next one."""
    padded = np.zeros((len(numbers), part * -(-numbers.shape[1] // part)))
    padded[:, : numbers.shape[1]] = numbers
    lines = np.add.reduce(padded.reshape(len(numbers), -1, part // LINE, LINE), axis=2)
    return np.cumsum(np.cumsum(lines, axis=2)[:, :, -1], axis=1)[:, -1]


def laplacian_solver(pairs: Pairs) -> Callable[[Array], Array]:
    """Return the product of V⁺ with centered columns (u x p), V the Laplacian of the pairs' weights.

    Raises DataError if weights differ by so much that rounding of the largest hides the others.
    """
    if pairs.uniform:
        return lambda columns: columns / len(pairs)
    laplacian = -pairs.table
    with np.errstate(all="ignore"):
        np.fill_diagonal(laplacian, -laplacian.sum(axis=1))
        laplacian += np.trace(laplacian) / len(pairs) ** 2  # with a shift, the constant is no longer a null vector
        solve = positive_solver(laplacian)
    if solve is None:
        raise weights_span(pairs)
    return solve


def weights_span(pairs: Pairs) -> DataError:
    """Return the error of weights that differ by so much that rounding of the largest hides the others."""
    apart = pairs.lengths[pairs.lengths > 0]
    return DataError("WEIGHTS-SPAN", f"dissimilarities from {apart.min():.1e} to {apart.max():.1e} have weights "
                     f"{weight_name(pairs.power)} of which the largest hide the others in rounding",
                     hint=f"{UNWEIGHTED}, or merge points that are nearly equal")


def step_seconds(count: int, axes: int, threads: int, weighted: bool) -> float:
    """Predict the seconds of one step for `count` points."""
    pairs = (PAIR + AXIS * axes) / max(threads, 1) + (SOLVED * axes if weighted else 0.0)
    return count**2 * pairs * rates().bent
