"""The losses of single points of t-SNE, UMAP and PHATE, as functions of a point's own place.

t-SNE: the terms of the divergence with a point, over twice the sum P of its joint affinities: Σ s α log(1 + d²/α) with
the affinities' shares s, plus log(Z' + 2 Σ k) / 2P, where Z' is the sum of the kernel over pairs of other points. An
input in a point's stead has the affinities of a new point, and P = 1/n.

UMAP: what the expected step of a point follows, over twice the sum of its memberships w: Σ s log(1 + a d²ᵇ) with the
memberships' shares s, plus γ r / 2n Σ log((1 + a d²ᵇ) / (a d²ᵇ + ε)) over all other points, with r samples of an edge;
ε keeps the loss finite, as in the estimate that `trace.csv` holds. Edges that are due in no epoch have no part.

PHATE: the stress of a point's potential distances, as of `smacof`. The walk of an input in a point's stead begins with
the affinities of a new point.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.types import Array, Indices
from mlcli.base.values.products import Sparse
from mlcli.core.arithmetic import (
    LEAST,
    binary_logarithm,
    exponential,
    exponential_of_two,
    logarithm,
    row_products,
    series,
    sparse_product,
    sum_of_all,
    total,
)
from mlcli.core.convolution import Spectrum, measure
from mlcli.core.euclidean_distances import squared_distances_in_order
from mlcli.core.graph.search import nearest_of_new, nearest_of_shifted, shifted, some_lists
from mlcli.core.layouts.own_losses import (
    Entries,
    LayoutLosses,
    Local,
    OwnLosses,
    PairSums,
    Radial,
    bends_in,
    block_sums,
    entry_sums,
    local_of,
    pair_sums,
)
from mlcli.core.layouts.own_stress import StressLosses, among, stress_bends
from mlcli.core.metrics import RowMetric
from mlcli.methods.neighbor_embedding.fuzzy_graph import memberships_of, smooth_lengths
from mlcli.methods.neighbor_embedding.negative_sampling import NEAR, MembershipCurve, Sampling, kept_edges
from mlcli.methods.neighbor_embedding.new_points import DecaySteps, Entering, SampledForces, repulsion_by
from mlcli.methods.neighbor_embedding.perplexity import conditional, gaps_of
from mlcli.methods.neighbor_embedding.repulsion import (
    Field,
    Grid,
    choose_summation,
    kernel_spectrum,
    logarithm_and_inverse,
    spline_response,
)
from mlcli.methods.neighbor_embedding.walk import DENSE, Walk, noise, potential, power
from mlcli.native.layouts import membership_rests, membership_sums, student_sums, turn_sources

ROWS = 2**10  # points of a block of Hessians


def student_pull(squares: Array, order: int, *, dof: float) -> tuple[Array, ...]:
    """Return α log(1 + u/α) of squared distances u, and its derivatives."""
    stretched = 1 + squares / dof
    found = dof * logarithm(stretched), 1 / stretched
    return found if order == 1 else (*found, -found[1] * found[1] / dof)


def student_kernel(squares: Array, order: int, *, dof: float) -> tuple[Array, ...]:
    """Return k = (1 + u/α)^-α of squared distances u, and its derivatives, to the bits of the kernel."""
    if dof == 1:
        inverse = 1 / (squares + 1)
        kernel = inverse.copy()
    else:
        logs, inverse = logarithm_and_inverse(squares * (1 / dof) + 1)
        kernel = exponential(np.maximum(-dof * logs, LEAST))
    first = -kernel * inverse
    return (kernel, first) if order == 1 else (kernel, first, -(1 + 1 / dof) * first * inverse)


def student_pairs(points: Array, dof: float) -> PairSums:
    """Return the sums of the kernel over all points (n x p) but one, as a function of places."""
    if not native.available():
        return lambda places, own, order: pair_sums(places, points, partial(student_kernel, dof=dof), own, order)
    sources = turn_sources(points)
    return lambda places, own, order: local_of(student_sums(np.ascontiguousarray(places), sources, own, dof=dof,
                                                            order=order))


def sums_of_all(points: Array, sums: PairSums) -> Local:
    """Return the sums of a function over all other points at each of the points (n x p), on all threads."""
    return Local.joined(list(in_order(lambda rows: sums(points[rows], np.arange(rows.start, rows.stop), 2),
                                      row_blocks(len(points), ROWS), progress=True)))


def entries_at(entries: Entries, points: Array, radial: Radial) -> Local:
    """Return the sums of a function over the neighbors of each of the points (n x p), on all threads."""
    return Local.joined(list(in_order(
        lambda rows: entry_sums(entries.of(np.arange(rows.start, rows.stop)), points[rows], points, radial),
        row_blocks(len(points), ROWS))))


def shared(matrix: Sparse, values: Array | None = None) -> tuple[Entries, Array]:
    """Return the rows of a sparse matrix as shares of their sums, and the sums (n); a sum of zero counts as one."""
    entries = Entries(matrix.starts, matrix.indices, matrix.values if values is None else values)
    totals = entries.totals
    totals = np.where(totals > 0, totals, 1.0)
    return Entries(matrix.starts, matrix.indices, entries.weights / totals[entries.rows]), totals


def log_of_sum(repelled: Local, rest: Array, halves: Array) -> Local:
    """Return log(Z' + 2 S) / 2P of sums S of a kernel, with Z' and 1 / 2P of each place (m each)."""
    whole = rest + 2 * repelled.values
    slopes = 2 * repelled.slopes / whole[:, None]
    bends = None if repelled.bends is None else (
        2 * repelled.bends / whole[:, None, None] - slopes[:, :, None] * slopes[:, None, :])
    return Local(logarithm(whole), slopes, bends).times(halves)


@frozen
class StudentLosses(OwnLosses):
    """Losses of t-SNE of m inputs, each in the stead of a point."""

    points: Array  # n x p
    near: Entries  # affinities of each input, with sum one
    own: Indices  # m
    rest: Array  # m, the sum of the kernel over all pairs of other points
    dof: float
    repulsion: Callable[[Array, Indices], tuple[Array, Array]]  # places, points left out -> sums, slopes

    def at(self, which: Indices, places: Array) -> Local:
        """Return values and gradients of some of the losses at a place each (k x p)."""
        pulled = entry_sums(self.near.of(which), places, self.points, partial(student_pull, dof=self.dof), 1)
        repelled = Local(*self.repulsion(places, self.own[which]))
        return pulled + log_of_sum(repelled, self.rest[which], np.full(len(which), len(self.points) / 2))

    def starts(self) -> Sequence[Array]:
        """Return the means of the neighbors by affinity, and the nearest ones."""
        return self.near.means(self.points), self.points[self.near.first]


def student_repulsion(points: Array, dof: float) -> Callable[[Array, Indices], tuple[Array, Array]]:
    """Return a function of places (m x p) and of points left out (m): Σ k (m) over the others, and slopes (m x p).

    Over all pairs, or of many points by interpolation on a grid, as the fit's. It runs on one thread.
    """
    def kernel(grid: Grid) -> Spectrum:
        return kernel_spectrum(grid.sizes, grid.spacing, dof)

    field = Field.of(points, kernel) if choose_summation(*points.shape) == "grid" else None
    repel = repulsion_by(points, dof)

    def sums(places: Array, own: Indices) -> tuple[Array, Array]:
        if field is not None:
            values, slopes = field.at(places)
            values += len(points)
        else:
            forces, values = repel(np.ascontiguousarray(places))
            slopes = -2 * forces
        gaps = places - points[own]
        kept, first = student_kernel(np.sum(gaps * gaps, axis=1), 1, dof=dof)
        return values - kept, slopes - 2 * first[:, None] * gaps

    return sums


def student_losses(points: Array, affinities: Sparse, dof: float, placing: Entering | None) -> LayoutLosses:
    """Return the losses of all points (n x p) of t-SNE by their joint affinities, and those of other inputs."""
    shares, totals = shared(affinities)
    repelled = sums_of_all(points, student_pairs(points, dof))
    rest = sum_of_all(repelled.values) - 2 * repelled.values
    pulled = entries_at(shares, points, partial(student_pull, dof=dof))
    bends = bends_in(pulled + log_of_sum(repelled, rest, 0.5 / totals))
    if placing is None or placing.points is None:
        return LayoutLosses(points, bends)
    features, metric, repulsion = placing.points, placing.metric, student_repulsion(points, dof)
    count = min(placing.neighborhood.count, len(points) - 1)

    def moved(rows: slice, shifts: Array) -> OwnLosses:
        lists, own = nearest_of_shifted(features, rows, shifts, count, metric)
        weights = by_rows(lambda some: conditional(gaps_of(lists, some), placing.perplexities)[0], len(own))
        return StudentLosses(points, Entries(lists.starts, lists.indices, weights, count), own, rest=rest[own],
                             dof=dof, repulsion=repulsion)

    return LayoutLosses(points, bends, features, reach_of(features, metric, round(max(placing.perplexities))), count,
                        moved=moved)


def by_rows(weigh: Callable[[slice], Array], count: int) -> Array:
    """Return the weights of the neighbors of so many inputs, one after the other, from those of some (m x k)."""
    return np.concatenate([part.ravel() for part in in_order(weigh, row_blocks(count, ROWS))])


SAMPLE = 2_000  # inputs whose neighbors tell how far moves go


def reach_of(features: Array, metric: RowMetric, rank: int) -> float:
    """Return the median distance of inputs (n x d) from their neighbor of a rank; of many inputs, of some."""
    rows = np.arange(0, len(features), -(-len(features) // SAMPLE))
    rank = min(max(rank, 1), len(features) - 1)
    lists = nearest_of_new(features[rows], features, rank, metric, rows)
    return float(np.median(lists.lengths.reshape(len(rows), -1)[:, -1]))


def power_of(squares: Array, curve: MembershipCurve) -> tuple[Array, Array]:
    """Return a u^b of squared distances u, zero where these vanish, and u, or one there."""
    there = squares > 1e-300
    inside = np.where(there, squares, 1.0)
    return there * curve.a * exponential_of_two(curve.b * binary_logarithm(inside)), inside


def membership_pull(squares: Array, order: int, *, curve: MembershipCurve) -> tuple[Array, ...]:
    """Return log(1 + a u^b) of squared distances u, and its derivatives, which are zero beside equal points."""
    bent, inside = power_of(squares, curve)
    first = curve.b * bent / (inside * (1 + bent))
    found = logarithm(1 + bent), first
    return found if order == 1 else (*found, (curve.b - 1) * first / inside - first * first)


def membership_push(squares: Array, order: int, *, curve: MembershipCurve) -> tuple[Array, ...]:
    """Return log((1 + a u^b) / (a u^b + ε)) of squared distances u, and its derivative, to the bits of the kernel.

    Of order 2 both derivatives, and zeros in place of values. Derivatives are zero beside equal points.
    """
    bent, inside = power_of(squares, curve)
    over, under = 1 + bent, bent + NEAR
    inverse = 1 / (inside * over * under)
    rise = curve.b * bent * inverse
    first = rise * (NEAR - 1)
    if order == 1:
        return logarithm(over / under), first
    return np.zeros_like(bent), first, first * ((curve.b - 1) * (inverse * (over * under)) - rise * (over + under))


def membership_pairs(points: Array, curve: MembershipCurve) -> PairSums:
    """Return the sums of the repulsion over all points (n x p) but one, as a function of places."""
    if not native.available():
        return lambda places, own, order: pair_sums(places, points, partial(membership_push, curve=curve), own, order)
    sources, form = turn_sources(points), (curve.a, curve.b, NEAR)
    return lambda places, own, order: local_of(membership_sums(np.ascontiguousarray(places), sources, own, form=form,
                                                               order=order))


ALL_PAIRS = 6_000  # points up to which Hessians take all pairs
CELLS, NODES = 24, 32  # radii along the longer axis beyond which pairs are summed on a grid, and its nodes to each
TERMS = 8  # of the series that continues the repulsion within the radius; the last is the eighth derivative's


def push_bends(points: Array, curve: MembershipCurve) -> Array:
    """Return the Hessians (n x p x p) of the repulsion by all other points, at each of the points (n x p).

    Over all pairs, or of many points by a smooth function on a grid, and by what that leaves of pairs nearer than a
    radius. The function is the repulsion beyond the radius, and within it the series of that around the radius: eight
    derivatives are alike there. Errors are below 1e-7 of the largest second derivative of a point.
    """
    radius = float(np.ptp(points, axis=0).max()) / CELLS
    limit = radius * radius
    field = None
    if len(points) > ALL_PAIRS and points.shape[1] < 3 and limit > 0:
        terms = push_series(curve, limit)
        field = Field.of(points, lambda grid: measure(
            lambda squared: far_push(squared * (grid.spacing * grid.spacing), curve, limit, terms), spline_response,
            grid.sizes), radius / NODES)
    if field is None:
        return bends_in(sums_of_all(points, membership_pairs(points, curve)))
    far = np.concatenate(list(in_order(lambda rows: field.bends(points[rows]), row_blocks(len(points), ROWS))))
    slope = float(series(np.full(1, -limit), derivative(terms)[::-1])[0])
    return far - 2 * slope * np.eye(points.shape[1]) + near_bends(points, curve, radius, terms)


def push_series(curve: MembershipCurve, square: float) -> Array:
    """Return the coefficients of log((1 + a uᵇ) / (a uᵇ + ε)) around a squared distance, from the constant on."""
    powers = np.empty(TERMS + 1)
    powers[0] = power_of(np.full(1, square), curve)[0][0]
    for term in range(1, TERMS + 1):
        powers[term] = powers[term - 1] * (curve.b - term + 1) / (term * square)
    return series_of_logarithm(powers, 1.0) - series_of_logarithm(powers, NEAR)


def series_of_logarithm(terms: Array, more: float) -> Array:
    """Return the coefficients of the logarithm of a series plus a constant (Knuth, "Seminumerical algorithms", 4.7)."""
    whole, found = np.array(terms), np.empty(len(terms))
    whole[0] += more
    found[0] = logarithm(whole[:1])[0]
    for term in range(1, len(terms)):
        inner = total(part * found[part] * whole[term - part] for part in range(1, term))
        found[term] = (whole[term] - inner / term) / whole[0]
    return found


def derivative(terms: Array) -> Array:
    """Return the coefficients of the derivative of a series, from the constant on."""
    return terms[1:] * np.arange(1, len(terms))


def far_push(squares: Array, curve: MembershipCurve, limit: float, terms: Array) -> Array:
    """Return the repulsion of squared distances, below a limit its series there."""
    inside = series(np.minimum(squares, limit) - limit, terms[::-1])
    return np.where(squares < limit, inside, membership_push(np.maximum(squares, limit), 1, curve=curve)[0])


def near_bends(points: Array, curve: MembershipCurve, radius: float, terms: Array) -> Array:
    """Return the Hessians (n x p x p) of what the series leaves of the repulsion by points (n x 1 or n x 2) within a
    radius.

    Points are sorted into strips as wide as the radius, and along these: each has its neighbors in three ranges.
    """
    limit, first = radius * radius, derivative(terms)
    order, ranges = strip_ranges(points, radius)
    places, every = points[order], np.arange(len(points))
    if native.available():
        sources, form = turn_sources(places), (curve.a, curve.b, NEAR)
        both = np.concatenate([first[::-1], derivative(first)[::-1]])

        def bends_of(rows: slice, near: Indices) -> Array:
            return bends_in(local_of(membership_rests(places[rows], sources, every[rows], form=form, limit=limit,
                                                      series=both, ranges=near[rows])))
    else:
        def rest(squares: Array, order: int) -> tuple[Array, ...]:
            found, inside = membership_push(squares, order, curve=curve), squares < limit
            return (found[0], *(inside * (numbers - series(squares - limit, some[::-1]))
                                for numbers, some in zip(found[1:], (first, derivative(first)), strict=True)))

        def bends_of(rows: slice, near: Indices) -> Array:
            return np.concatenate([bends_in(block_sums(places[row : row + 1], places[low:high], rest,
                                                       every[row : row + 1] - low))
                                   for row, (low, high) in zip(every[rows], near[rows].tolist(), strict=True)])

    found = np.empty((*points.shape, points.shape[1]))
    found[order] = np.concatenate(list(in_order(
        lambda rows: sum((bends_of(rows, near) for near in ranges[1:]), bends_of(rows, ranges[0])),
        row_blocks(len(points), ROWS), progress=True)))
    return found


def strip_ranges(points: Array, width: float) -> tuple[Indices, list[Indices]]:
    """Return the order of points (n x 1 or n x 2) in strips of a width, and ranges (n x 2) of those near each of them.

    Along the first axis the points of a strip and of those beside it, along the last those no farther than the width.
    """
    last, strips = points[:, -1], np.zeros(len(points), dtype=np.int64)
    if points.shape[1] == 2:
        strips = ((points[:, 0] - points[:, 0].min()) / width).astype(np.int64)
    order = np.lexsort((last, strips))
    last, strips = last[order], strips[order]
    starts = np.searchsorted(strips, np.arange(strips[-1] + 2))
    ranges = [np.zeros((len(points), 2), dtype=np.int64) for _ in range(3)]
    for strip in range(len(starts) - 1):
        rows = slice(starts[strip], starts[strip + 1])
        for near, other in zip(ranges, range(strip - 1, strip + 2), strict=True):
            if 0 <= other < len(starts) - 1:
                along = last[starts[other] : starts[other + 1]]
                near[rows, 0] = starts[other] + np.searchsorted(along, last[rows] - width, "left")
                near[rows, 1] = starts[other] + np.searchsorted(along, last[rows] + width, "right")
    return order, ranges


SOFT, FINE = 0.25, 0.1  # length over which a grid's repulsion is smooth, and most between its nodes
PAIRWISE = 1_000  # points up to which the repulsion of all pairs takes little time


@frozen
class MembershipLosses(OwnLosses):
    """Losses of UMAP of m inputs, each in the stead of a point."""

    points: Array  # n x p
    near: Entries  # memberships of each input, over their sum
    own: Indices  # m
    curve: MembershipCurve
    factor: float  # of the repulsion
    repulsion: PairSums

    def at(self, which: Indices, places: Array) -> Local:
        """Return values and gradients of some of the losses at a place each (k x p)."""
        pulled = entry_sums(self.near.of(which), places, self.points, partial(membership_pull, curve=self.curve), 1)
        pushed = self.repulsion(places, self.own[which], 1)
        return pulled + pushed.times(np.full(len(which), self.factor))

    def starts(self) -> Sequence[Array]:
        """Return the means of the neighbors by membership, and the nearest ones."""
        return self.near.means(self.points), self.points[self.near.first]


def membership_repulsion(points: Array, curve: MembershipCurve) -> PairSums:
    """Return the repulsion by all points (n x p) but one, with its gradient, as a function of places.

    Over all pairs, or of many points by interpolation on a grid, smooth near each of them. It runs on one thread.
    """
    def kernel(grid: Grid) -> Spectrum:
        return measure(lambda squared: membership_push(squared * (grid.spacing * grid.spacing) + SOFT * SOFT, 1,
                                                       curve=curve)[0], spline_response, grid.sizes)

    field = Field.of(points, kernel, FINE) if len(points) > PAIRWISE and points.shape[1] < 3 else None
    if field is None:
        return membership_pairs(points, curve)

    def sums(places: Array, own: Indices, order: int) -> Local:
        values, slopes = field.at(places)
        gaps = places - points[own]
        kept, first = membership_push(np.sum(gaps * gaps, axis=1) + SOFT * SOFT, order, curve=curve)
        return Local(values - kept, slopes - 2 * first[:, None] * gaps)

    return sums


def membership_losses(points: Array, graph: Sparse, sampling: Sampling, curve: MembershipCurve,
                      placing: SampledForces | None) -> LayoutLosses:
    """Return the losses of all points (n x p) of UMAP by their memberships, and those of other inputs."""
    values = np.zeros(len(graph.values))
    kept = kept_edges(graph.values, sampling.epochs)
    values[kept] = graph.values[kept]
    shares, _ = shared(graph, values)
    factor = sampling.repulsion * sampling.samples / (2 * len(points))
    pulled = entries_at(shares, points, partial(membership_pull, curve=curve))
    bends = bends_in(pulled) + factor * push_bends(points, curve)
    if placing is None or placing.points is None:
        return LayoutLosses(points, bends)
    features, metric, repulsion = placing.points, placing.metric, membership_repulsion(points, curve)
    count = min(placing.neighbors.count, len(points) - 1)

    def moved(rows: slice, shifts: Array) -> OwnLosses:
        lists, own = nearest_of_shifted(features, rows, shifts, count, metric)

        def weigh(inputs: slice) -> Array:
            some = some_lists(lists, np.arange(inputs.start, inputs.stop))
            table = memberships_of(some, smooth_lengths(some, placing.connectivity, alone=True))
            table = table.reshape(inputs.stop - inputs.start, -1)
            return np.asarray(table / table.sum(axis=1, keepdims=True))

        memberships = Entries(lists.starts, lists.indices, by_rows(weigh, len(own)), count)
        return MembershipLosses(points, memberships, own, curve=curve, factor=factor, repulsion=repulsion)

    return LayoutLosses(points, bends, features, reach_of(features, metric, count), count,
                        moved=moved)


COMPARED = 500  # points at most whose potentials a moved input is compared with: each takes a product of all nodes


def steps_from(shares: Array, steps: Array) -> Array:
    """Return the probabilities (m x n) after steps (n x n) from nodes with shares (m x n), by entries where few are.
    """
    if np.count_nonzero(shares) >= DENSE * shares.size:
        return row_products(shares, np.ascontiguousarray(steps.T))
    from scipy import sparse

    return sparse_product(sparse.csr_array(shares), steps)


def potential_losses(points: Array, walk: Walk, time: int, gamma: float, placing: DecaySteps | None) -> LayoutLosses:
    """Return the losses of all points (n x p) of PHATE by their potential distances, and those of other inputs."""
    before = power(walk, time - 1) if time > 1 else None
    potentials = potential(power(walk, 1) if before is None else steps_from(power(walk, 1), before), gamma)
    between = np.sqrt(squared_distances_in_order(potentials, potentials))
    between[between <= noise(potentials)] = 0.0

    bends = stress_bends(points, lambda rows: among(points, between[rows], between[rows], 0.0,
                                                    np.arange(rows.start, rows.stop)))
    if placing is None or placing.points is None:
        return LayoutLosses(points, bends)
    apart = -(-len(points) // COMPARED)
    some = np.arange(0, len(points), apart)
    nearby, kept = points[some], potentials[some]
    features = placing.points

    def moved(rows: slice, shifts: Array) -> OwnLosses:
        new, own = shifted(features, rows, shifts)
        ends = placing.rows(new)
        if before is not None:
            ends = steps_from(ends, before)
        lengths = np.sqrt(squared_distances_in_order(potential(ends, gamma), kept))
        return StressLosses(nearby, lengths, (some != own[:, None]).astype(float),
                            np.where(own % apart == 0, own // apart, -1))

    reach = reach_of(features, placing.metric, placing.decay.nearest)
    return LayoutLosses(points, bends, features, reach, len(points), moved=moved)
