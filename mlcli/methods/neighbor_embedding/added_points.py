"""Points that are added to a layout of t-SNE or UMAP: they move among its points, which are fixed, and each other."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import rates
from mlcli.base.rows.blocks import each, in_order, row_blocks
from mlcli.base.stages.stage import running
from mlcli.base.stages.steps import Step
from mlcli.base.stored import result
from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import Features
from mlcli.core.arithmetic import dot, length, logarithm
from mlcli.core.graph.graph import Graph
from mlcli.core.graph.neighbors import Nearest, nearest_lists
from mlcli.core.graph.search import Lists
from mlcli.core.iterate import Iterated, follow_schedule
from mlcli.core.metrics.distances import metric_of
from mlcli.methods.neighbor_embedding.fuzzy_graph import memberships_of, smooth_lengths
from mlcli.methods.neighbor_embedding.negative_sampling import Epoch, MembershipCurve, Sampling, move_points, phases_of
from mlcli.methods.neighbor_embedding.new_points import repulsion_by
from mlcli.methods.neighbor_embedding.perplexity import conditional, gaps_of
from mlcli.methods.neighbor_embedding.repulsion import (
    ROWS,
    Field,
    attract,
    choose_summation,
    kernel_spectrum,
    repel,
)


@frozen
class AddedRows:
    """Rows that are added to a layout: those that move (m), those that do not (f), and the neighbors of the former."""

    moving: Indices
    fixed: Indices
    neighbors: "AddedNeighbors"

    @classmethod
    def of(cls, data: Features, places: Array, moving: Indices, count: int) -> "AddedRows":
        """Search the `count` nearest others of added rows; one that equals a fixed row is put on it (`places`, n x p).
        """
        fixed = np.setdiff1d(np.arange(len(places)), moving)
        with running("neighbors"):
            found = AddedNeighbors.of(data, moving, fixed, count)
            on = found.twins >= 0
            if not on.any():
                return cls(moving, fixed, found)
            places[moving[on]] = places[fixed[found.twins[on]]]
            rest, known = moving[~on], np.union1d(fixed, moving[on])
            return cls(rest, known, AddedNeighbors.of(data, rest, known, count) if len(rest) else found)


@frozen
class AddedNeighbors:
    """The neighbors of m added points, ascending by distance: each is numbered among these, then among f fixed points.
    """

    indices: Indices  # m x k, from 0 to m + f - 1
    lengths: Array  # m x k
    near: Indices  # m x k', the nearest fixed points alone, from 0 to f - 1
    near_lengths: Array  # m x k'

    @classmethod
    def of(cls, data: Features, moving: Indices, fixed: Indices, count: int) -> "AddedNeighbors":
        """Search the `count` nearest points of each added one (`moving`, m) among all others."""
        values, size = np.asarray(data.values), len(moving)
        far = Nearest(min(count, len(fixed))).of_new(values[moving], values[fixed], metric_of(data))
        near, lengths = far.indices.reshape(size, -1), far.lengths.reshape(size, -1)
        indices, every = near + size, lengths
        if size > 1:
            others = nearest_lists(data.take(moving), min(count, size - 1))
            indices = np.hstack([indices, others.indices.reshape(size, -1)])
            every = np.hstack([every, others.lengths.reshape(size, -1)])
        order = np.lexsort((indices, every), axis=1)[:, :count]
        return cls(np.take_along_axis(indices, order, axis=1), np.take_along_axis(every, order, axis=1), near,
                   lengths)

    @property
    def twins(self) -> Indices:
        """The nearest fixed point of each that equals one, else -1 (m)."""
        return np.where(self.near_lengths[:, 0] == 0, self.near[:, 0], -1)

    @property
    def lists(self) -> Lists:
        """The neighbors as lists."""
        return as_lists(self.indices, self.lengths)

    @property
    def fixed_lists(self) -> Lists:
        """The nearest fixed points as lists."""
        return as_lists(self.near, self.near_lengths)

    def joined(self, values: Array, others: int, join: float | None = None) -> Graph:
        """Return the graph of added and fixed points whose lengths are numbers of their neighbors (m x k).

        A pair of added points has the numbers v and w of both directions: their mean, or v + w - v w with weight
        `join` and v w with one minus it. Those of a fixed point are not known: the pair has that of the added one.
        """
        size, count = self.indices.shape
        rows, columns, nodes = np.repeat(np.arange(size), count), self.indices.ravel(), size + others
        own = columns < size
        keys = np.concatenate([rows * nodes + columns, columns[own] * nodes + rows[own]])
        every = np.unique(keys)
        there, back = np.zeros(len(every)), np.zeros(len(every))
        there[np.searchsorted(every, rows * nodes + columns)] = values.ravel()
        back[np.searchsorted(every, columns[own] * nodes + rows[own])] = values.ravel()[own]
        left, right = every // nodes, every % nodes
        both = (there + back) / 2 if join is None else (
            join * (there + back - there * back) + (1 - join) * there * back)
        found = np.where(right < size, both, there)
        kept = found > 0
        starts = np.concatenate([[0], np.cumsum(np.bincount(left[kept], minlength=nodes))])
        return Graph(starts, right[kept], found[kept])


def as_lists(indices: Indices, lengths: Array) -> Lists:
    """Return neighbors (m x k) with their lengths as lists."""
    size, count = indices.shape
    return Lists(np.arange(size + 1) * count, indices.ravel(), lengths.ravel())


CELLS = 2**20  # of a block of added points, their nearest fixed ones, and axes


def first_places(shares: Array, neighbors: AddedNeighbors, fixed: Array) -> Array:
    """Return where each added point starts (m x p): amid those of its nearest fixed points that lie together.

    Of the nearest fixed points (of f x p), with weights w (m x k'), one is chosen from which Σ w log(1 + d²) over the
    others is least, as attraction has it; the start is their mean by the weights w / (1 + d²). The mean by w alone lies
    between the places where they are, if these are several, and few points come away from there.
    """
    def places(rows: slice) -> Array:
        near, weights = fixed[neighbors.near[rows]], shares[rows]
        costs = np.zeros(weights.shape)
        for rank in range(weights.shape[1]):
            costs += weights[:, rank, None] * logarithm(1 + apart(near, near[:, rank]))
        chosen = near[np.arange(len(near)), np.argmin(costs, axis=1)]
        weights = weights / (1 + apart(near, chosen))
        found, sums = np.zeros_like(chosen), np.zeros((len(near), 1))
        for rank in range(weights.shape[1]):  # in a fixed order
            found += weights[:, rank, None] * near[:, rank]
            sums += weights[:, rank, None]
        return np.asarray(found / sums)

    width = shares.shape[1] * fixed.shape[1]
    return np.concatenate(list(in_order(places, row_blocks(len(shares), CELLS, width))))


def apart(points: Array, others: Array) -> Array:
    """Return the squared distances (m x k) of points (m x k x p) from one other each (m x p)."""
    squares = np.zeros(points.shape[:2])
    for axis in range(points.shape[2]):
        gaps = points[:, :, axis] - others[:, None, axis]
        squares += gaps * gaps
    return squares


def room_for(count: int, former: int) -> float:
    """Return how many times a layout of `former` points is taken to be larger where it gets `count`: (n / m)^(3/4).

    Fixed points cannot make room: where the layout is larger beside the distances that forces are of, others find place
    between them. With the power 1/2 each point has the area that it had before; with 3/4 more neighbors were kept
    (docs/growing.md). Roots are the same bits on every processor.
    """
    ratio = count / former
    return math.sqrt(ratio * math.sqrt(ratio))


RISE, FALL, LEAST, LONGEST = 0.2, 0.8, 0.01, 5.0  # of a gain, and of a step, as in a fit
MOMENTUM = 0.8


@result("added")
@frozen
class AddedState:
    """Coordinates of added points, their last step, gains and gradient (m x p each), and the divergence of their pairs.
    """

    points: Array
    velocity: Array
    gains: Array
    gradient: Array
    objective: float
    slope: float


@frozen
class AddedDivergence:
    """What added points add to the divergence of a layout, as a function of their coordinates.

    That is Σ p log (p / q) over the pairs of added points in both directions, with q = k / Z and Z the sum of k over
    all pairs, and (1 - Σ p) log (Z / Z') for the pairs of fixed points, whose sum Z' is. Of a pair of an added and a
    fixed point p is that of the added one, over the number n of all points. The gradient is 4 (A - R) / n.
    """

    graph: Graph  # affinities times n, of m added points, then of f fixed ones, which have no entries
    fixed: Array  # f x p
    dof: float
    among_fixed: float  # Σ k over pairs of fixed points, both ways

    @classmethod
    def of(cls, graph: Graph, fixed: Array, dof: float) -> "AddedDivergence":
        """Return the divergence of affinities among fixed points (f x p)."""
        sums = repel(fixed, dof, choose_summation(*fixed.shape))[1] if len(fixed) > 1 else 0.0
        return cls(graph, fixed, dof, float(sums))

    @cached_property
    def repulsion(self) -> Callable[[Array], tuple[Array, Array]]:
        """Return a function of places: the forces by fixed points, and sums of k, as a fit sums those of so many."""
        exact = repulsion_by(self.fixed, self.dof)
        field = None if choose_summation(*self.fixed.shape) != "grid" else Field.of(
            self.fixed, lambda grid: kernel_spectrum(grid.sizes, grid.spacing, self.dof))
        if field is None:
            return exact

        def by_field(places: Array) -> tuple[Array, Array]:
            forces, sums = np.empty_like(places), np.empty(len(places))
            within = np.all((places >= field.low) & (places <= field.high), axis=1)
            inside, beyond = np.flatnonzero(within), np.flatnonzero(~within)

            def read(rows: slice) -> None:
                some = inside[rows]
                values, slopes = field.at(places[some])
                forces[some], sums[some] = -0.5 * slopes, values + len(self.fixed)

            each(read, row_blocks(len(inside), ROWS))
            if len(beyond):
                forces[beyond], sums[beyond] = exact(places[beyond])
            return forces, sums

        return by_field

    def __call__(self, points: Array) -> tuple[Array, Array, float]:
        """Return attraction and repulsion at coordinates (m x p each), and the divergence."""
        count, size = len(points), self.graph.size
        every = np.concatenate([points, self.fixed])
        starts, columns, shares = self.graph.starts, self.graph.indices.astype(np.int32), self.graph.lengths
        pulls, _ = attract((starts, columns, shares), every, self.dof)
        both = np.where(columns < count, shares, 2 * shares)  # those of an added and a fixed point are there once
        energy = attract((starts, columns, both), every, self.dof)[1]
        away, sums = self.repulsion(points)
        apart, among = repel(points, self.dof, choose_summation(*points.shape))
        total = self.among_fixed + float(np.cumsum(2 * sums)[-1]) + among
        mass = float(np.cumsum(both)[-1])
        known = dot(both, logarithm(shares)) + mass * float(logarithm(np.asarray(total / size)))
        rest = (1 - mass / size) * float(logarithm(np.asarray(total / (self.among_fixed or 1.0))))
        return pulls[:count], (away + apart) * (size / total), (energy + known) / size + rest

    def descend(self, start: Array, steps: int, rate: float) -> Iterated[AddedState]:
        """Return the points after so many steps from a start (m x p), with gains and momentum as in a fit."""
        def at(points: Array, velocity: Array, gains: Array) -> AddedState:
            attraction, repulsion, objective = self(points)
            size, gradient = length(attraction), attraction - repulsion
            return AddedState(points, velocity=velocity, gains=gains, gradient=gradient, objective=objective,
                              slope=length(gradient) / size if size else 0.0)

        def step(before: AddedState, _: int) -> AddedState:
            gradient = before.gradient
            turns = np.sign(before.velocity) == np.sign(gradient)
            gains = np.where(turns, FALL * before.gains + LEAST, before.gains + RISE)
            velocity = MOMENTUM * before.velocity - rate * gains * gradient
            lengths = np.sqrt(np.sum(velocity * velocity, axis=1, keepdims=True))
            velocity = np.where(lengths > LONGEST, velocity / np.maximum(lengths, LONGEST) * LONGEST, velocity)
            return at(before.points + velocity, velocity, gains)

        return follow_schedule(step, at(start, np.zeros_like(start), np.ones_like(start)), steps)


@frozen
class AddedByAffinity:
    """Points that were added to a layout of t-SNE: places (m x p), precisions (m x s), descent and divergence."""

    points: Array
    precisions: Array
    ended: Iterated[AddedState]


def add_by_affinity(neighbors: AddedNeighbors, fixed: Array, perplexities: tuple[float, ...], dof: float, *,
                    steps: int, rate: float) -> AddedByAffinity:
    """Return points placed among fixed ones (f x p) and each other by their affinities.

    They start amid their nearest fixed points by affinity.
    """
    size = len(neighbors.indices)
    with running("weights"):
        shares, precisions = conditional(gaps_of(neighbors.lists, slice(0, size)), perplexities)
        near, _ = conditional(gaps_of(neighbors.fixed_lists, slice(0, size)), perplexities)
    divergence = AddedDivergence.of(neighbors.joined(shares, len(fixed)), fixed, dof)
    ended = divergence.descend(first_places(near, neighbors, fixed), steps, rate)
    return AddedByAffinity(ended.state.points, precisions, ended)


@frozen
class AddedByEdges:
    """Points that were added to a layout of UMAP: places (m x p), the graph of their memberships, and its epochs."""

    points: Array
    graph: Graph
    ended: Iterated[Epoch]


def add_by_edges(neighbors: AddedNeighbors, fixed: Array, connectivity: float, mix: float, curve: MembershipCurve,
                 sampling: Sampling) -> AddedByEdges:
    """Return points placed among fixed ones (f x p) and each other by sampled forces along edges of membership.

    They start amid their nearest fixed points by membership.
    """
    with running("weights"):
        values, near = (memberships_of(lists, smooth_lengths(lists, connectivity, alone=True)) for lists in (
            neighbors.lists, neighbors.fixed_lists))
        graph = neighbors.joined(values.reshape(neighbors.indices.shape), len(fixed), mix)
    start = first_places(near.reshape(neighbors.near.shape), neighbors, fixed)
    return AddedByEdges((ended := follow_added(graph, start, fixed, curve, sampling)).state.points, graph, ended)


def follow_added(graph: Graph, start: Array, fixed: Array, curve: MembershipCurve, sampling: Sampling,
                 ) -> Iterated[Epoch]:
    """Return added points after all epochs, from a start (m x p), among fixed ones (f x p)."""
    form, count = sampling.form(curve), len(start)
    phases = [edges._replace(starts=edges.starts[: count + 1]) for edges in phases_of(graph, sampling.epochs)]

    def step(state: Epoch, epoch: int) -> Epoch:
        moved = move_points(phases, state.points, fixed, curve=form, draw=sampling.draw(epoch),
                            rate=sampling.rate_at(epoch), among_each_other=True)
        return moved if moved.objective else replace(moved, objective=state.objective)

    return follow_schedule(step, Epoch(np.ascontiguousarray(start), 0.0), sampling.epochs)


def added_neighbor_steps(data: Features, count: int, nearest: int, threads: int) -> list[Step]:
    """Return the step of the search for the nearest points of `count` rows among all."""
    size, columns = data.values.shape
    seconds = float(count) * size * columns * (rates().paired if metric_of(data).plain else rates().bent) / threads
    return [Step("neighbors", f"{nearest} of each of {count:,} rows among {size:,}", seconds,
                 8.0 * (3 * count * nearest + min(count, 4096) * min(size, 2**16)))]
