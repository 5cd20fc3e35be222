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

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.stages.stage import note
from mlcli.base.types import Array, Indices
from mlcli.base.values.products import Sparse
from mlcli.core.arithmetic import (
    binary_logarithm,
    exponential,
    exponential_of_two,
    logarithm,
    row_products,
    sparse_product,
    sum_of_all,
)
from mlcli.core.convolution import Spectrum, measure
from mlcli.core.euclidean_distances import squared_distances_in_order
from mlcli.core.graph.search import nearest_of_new, some_lists
from mlcli.core.layouts.own_losses import Entries, LayoutLosses, Local, OwnLosses, Radial, entry_sums, pair_sums
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
    spline_response,
)
from mlcli.methods.neighbor_embedding.walk import DENSE, Walk, potential, power

ROWS = 2**10  # points of a block of Hessians


def student_pull(squares: Array, order: int, *, dof: float) -> tuple[Array, ...]:
    """Return α log(1 + u/α) of squared distances u, and its derivatives."""
    stretched = 1 + squares / dof
    found = dof * logarithm(stretched), 1 / stretched
    return found if order == 1 else (*found, -found[1] * found[1] / dof)


def student_kernel(squares: Array, order: int, *, dof: float) -> tuple[Array, ...]:
    """Return k = (1 + u/α)^-α of squared distances u, and its derivatives."""
    stretched = 1 + squares / dof
    inverse = 1 / stretched
    kernel = inverse.copy() if dof == 1 else exponential(-dof * logarithm(stretched))
    first = -kernel * inverse
    return (kernel, first) if order == 1 else (kernel, first, -(1 + 1 / dof) * first * inverse)


def sums_of_all(points: Array, radial: Radial, order: int = 2) -> Local:
    """Return the sums of a function over all other points at each of the points (n x p), on all threads."""
    return Local.joined(list(in_order(
        lambda rows: pair_sums(points[rows], points, radial, np.arange(rows.start, rows.stop), order),
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
    repelled = sums_of_all(points, partial(student_kernel, dof=dof))
    rest = sum_of_all(repelled.values) - 2 * repelled.values
    pulled = entries_at(shares, points, partial(student_pull, dof=dof))
    bends = (pulled + log_of_sum(repelled, rest, 0.5 / totals)).bends
    assert bends is not None
    if placing is None or placing.points is None:
        return LayoutLosses(points, bends)
    features, metric, repulsion = placing.points, placing.metric, student_repulsion(points, dof)
    count = min(placing.neighborhood.count, len(points) - 1)

    def moved(new: Array, own: Indices) -> OwnLosses:
        lists = nearest_of_new(new, features, count, metric, own)
        weights = by_rows(lambda rows: conditional(gaps_of(lists, rows), placing.perplexities)[0], len(new))
        return StudentLosses(points, Entries(lists.starts, lists.indices, weights), own, rest=rest[own],
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


def power_of(squares: Array, curve: MembershipCurve) -> tuple[Array, Array, Array]:
    """Return a u^b, its derivative and 1 / u of squared distances u; all are zero where these vanish."""
    there = squares > 1e-300
    inside = np.where(there, squares, 1.0)
    bent = there * curve.a * exponential_of_two(curve.b * binary_logarithm(inside))
    inverse = there / inside
    return bent, curve.b * bent * inverse, inverse


def membership_pull(squares: Array, order: int, *, curve: MembershipCurve) -> tuple[Array, ...]:
    """Return log(1 + a u^b) of squared distances u, and its derivatives."""
    bent, rise, inverse = power_of(squares, curve)
    first = rise / (1 + bent)
    found = logarithm(1 + bent), first
    return found if order == 1 else (*found, (curve.b - 1) * first * inverse - first * first)


def membership_push(squares: Array, order: int, *, curve: MembershipCurve, valued: bool = True) -> tuple[Array, ...]:
    """Return log((1 + a u^b) / (a u^b + ε)) of squared distances u, and its derivatives; zero beside equal points.

    Values that are not asked for (`valued` false) are zeros.
    """
    bent, rise, inverse = power_of(squares, curve)
    far, near = rise / (1 + bent), rise / (bent + NEAR)
    first = far - near
    found = logarithm((1 + bent) / (bent + NEAR)) if valued else np.zeros_like(bent), first
    return found if order == 1 else (*found, first * ((curve.b - 1) * inverse - far - near))


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
    field: Field | None  # of the repulsion by all points, smooth near each of them; None: all pairs

    def at(self, which: Indices, places: Array) -> Local:
        """Return values and gradients of some of the losses at a place each (k x p)."""
        pulled = entry_sums(self.near.of(which), places, self.points, partial(membership_pull, curve=self.curve), 1)
        own = self.own[which]
        if self.field is None:
            pushed = pair_sums(places, self.points, partial(membership_push, curve=self.curve), own, 1)
        else:
            values, slopes = self.field.at(places)
            gaps = places - self.points[own]
            kept, first = membership_push(np.sum(gaps * gaps, axis=1) + SOFT * SOFT, 1, curve=self.curve)
            pushed = Local(values - kept, slopes - 2 * first[:, None] * gaps)
        return pulled + pushed.times(np.full(len(which), self.factor))

    def starts(self) -> Sequence[Array]:
        """Return the means of the neighbors by membership, and the nearest ones."""
        return self.near.means(self.points), self.points[self.near.first]


def membership_losses(points: Array, graph: Sparse, sampling: Sampling, curve: MembershipCurve,
                      placing: SampledForces | None) -> LayoutLosses:
    """Return the losses of all points (n x p) of UMAP by their memberships, and those of other inputs."""
    values = np.zeros(len(graph.values))
    kept = kept_edges(graph.values, sampling.epochs)
    values[kept] = graph.values[kept]
    shares, _ = shared(graph, values)
    factor = sampling.repulsion * sampling.samples / (2 * len(points))
    pushed = sums_of_all(points, partial(membership_push, curve=curve, valued=False))
    bends = (entries_at(shares, points, partial(membership_pull, curve=curve)) + pushed.times(
        np.full(len(points), factor))).bends
    assert bends is not None
    if placing is None or placing.points is None:
        return LayoutLosses(points, bends)

    def kernel(grid: Grid) -> Spectrum:
        return measure(lambda squared: membership_push(squared * (grid.spacing * grid.spacing) + SOFT * SOFT, 1,
                                                       curve=curve)[0], spline_response, grid.sizes)

    features, metric = placing.points, placing.metric
    field = Field.of(points, kernel, FINE) if len(points) > PAIRWISE and points.shape[1] < 3 else None
    count = min(placing.neighbors.count, len(points) - 1)

    def moved(new: Array, own: Indices) -> OwnLosses:
        lists = nearest_of_new(new, features, count, metric, own)

        def weigh(rows: slice) -> Array:
            some = some_lists(lists, np.arange(rows.start, rows.stop))
            table = memberships_of(some, smooth_lengths(some, placing.connectivity, alone=True))
            table = table.reshape(rows.stop - rows.start, -1)
            return np.asarray(table / table.sum(axis=1, keepdims=True))

        near = Entries(lists.starts, lists.indices, by_rows(weigh, len(new)))
        return MembershipLosses(points, near, own, curve=curve, factor=factor, field=field)

    return LayoutLosses(points, bends, features, reach_of(features, metric, count), count,
                        moved=moved)


MOVABLE = 2_000  # points of PHATE up to which inputs are moved: each takes products with all potentials


def steps_from(shares: Array, steps: Array) -> Array:
    """Return the probabilities (m x n) after steps (n x n) from nodes with shares (m x n), by entries where few are.
    """
    if np.count_nonzero(shares) >= DENSE * shares.size:
        return row_products(shares, np.ascontiguousarray(steps.T))
    from scipy import sparse

    return sparse_product(sparse.csr_array(shares), steps)


def potential_losses(points: Array, walk: Walk, time: int, gamma: float, placing: DecaySteps | None) -> LayoutLosses:
    """Return the losses of all points (n x p) of PHATE by their potential distances, and those of other inputs."""
    potentials = potential(power(walk, time), gamma)
    between = np.sqrt(squared_distances_in_order(potentials, potentials))

    def losses(lengths: Array, own: Indices) -> StressLosses:
        return among(points, lengths, lengths, 0.0, own)

    bends = stress_bends(points, lambda rows: losses(between[rows], np.arange(rows.start, rows.stop)))
    if placing is None or placing.points is None:
        return LayoutLosses(points, bends)
    if len(points) > MOVABLE:
        note("N-DISCONTINUITY", f"inputs are not moved, as potential distances of moved inputs take long for more than "
             f"{MOVABLE:,} points; discontinuity.csv has singularity alone")
        return LayoutLosses(points, bends)
    before = power(walk, time - 1) if time > 1 else None

    def moved(new: Array, own: Indices) -> OwnLosses:
        ends = placing.rows(new)
        if before is not None:
            ends = steps_from(ends, before)
        return losses(np.sqrt(squared_distances_in_order(potential(ends, gamma), potentials)), own)

    reach = reach_of(placing.points, placing.metric, placing.decay.nearest)
    return LayoutLosses(points, bends, placing.points, reach, len(points), moved=moved)
