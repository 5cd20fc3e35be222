"""Layouts by negative sampling: points move along edges that are due, and away from points that these draw.

The expected move follows the gradient of Σ w log(1 + a d²ᵇ) over the edges, both ways, plus γ s / n times the sum over
all points j of -log(1 - q(d)) for each edge's first end, with s samples of an edge, n points and q = 1 / (1 + a d²ᵇ):
fuzzy cross entropy with repulsion by the weights of the edges instead of one minus these (Damrich and Hamprecht, 2021).
With a density term, the last epochs also climb λ Σ w times the correlation of local radii (`density.py`).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.stored import result, stored
from mlcli.base.types import Array
from mlcli.native.sampling import Draw, Edges, sample_rows
from mlcli.stages.algebra.iterate import Iterated, follow_schedule
from mlcli.stages.graph.graph import Graph
from mlcli.stages.layout.curve import MembershipCurve
from mlcli.stages.layout.density import DensityTerm, move_by_density
from mlcli.stages.layout.forces import kept_edges, key_of, mixed, move_rows

PHASES = 16  # parts of an epoch, between which all points move: fewer leave neighborhoods less well preserved
BLOCK = 8192  # rows of a block
NEAR = 1e-3  # squared distance in the denominator of repulsion
MOST = 4.0  # largest force on an axis
HALF = 2**32  # rates are fractions of it


@stored("sampling")
@frozen
class Sampling:
    """How points are moved: the number of epochs, samples of an edge, their weight, and the first rate."""

    epochs: int
    samples: int
    repulsion: float
    rate: float
    seed: int

    def draw(self, epoch: int) -> Draw:
        """Return what an epoch, from 0, draws."""
        return Draw(self.samples, epoch + 1, key_of(self.seed, epoch))

    def rate_at(self, epoch: int) -> float:
        """Return the rate of an epoch, from 0, which falls to zero linearly."""
        return self.rate * (1 - epoch / self.epochs)

    def form(self, curve: MembershipCurve) -> Array:
        """Return the numbers of the curve as the kernel takes them."""
        return np.array([curve.a, curve.b, self.repulsion, NEAR, MOST])


@result("epoch")
@frozen
class Epoch:
    """Coordinates (n x p) after an epoch, and the cost of its edges and samples for each edge that was due."""

    points: Array
    objective: float


def phases_of(graph: Graph, epochs: int) -> list[Edges]:
    """Return the edges that move points in each phase of an epoch, for a graph whose lengths are weights.

    An edge of weight w is due in a share w / max w of the epochs; those due in none are left out. Both its ends move
    in the phase that a hash of its number gives, and its first end draws samples.
    """
    shares = graph.lengths / graph.lengths.max(initial=0.0)
    kept = kept_edges(graph.lengths, epochs)
    rows = np.repeat(np.arange(graph.size), np.diff(graph.starts))[kept]
    columns, numbers = graph.indices[kept], kept
    rates = np.minimum(np.rint(shares[kept] * HALF), HALF - 1).astype(np.uint32)
    phases = (mixed(numbers.astype(np.uint64)) % np.uint64(PHASES)).astype(np.int64)
    found = []
    for phase in range(PHASES):
        some = np.flatnonzero(phases == phase)
        here, there = np.concatenate([rows[some], columns[some]]), np.concatenate([columns[some], rows[some]])
        order = np.lexsort((there, here))
        starts = np.concatenate([[0], np.cumsum(np.bincount(here, minlength=graph.size))])
        found.append(Edges(starts, there[order].astype(np.int32), np.tile(rates[some], 2)[order],
                           np.concatenate([numbers[some], np.full(len(some), -1)])[order].astype(np.int32)))
    return found


def move_points(phases: Sequence[Edges], own: Array, points: Array | None, *, curve: Array, draw: Draw,
                rate: float, pulls: Array | None = None) -> Epoch:
    """Return positions (m x p) after an epoch, among fixed points (n x p), or among themselves (None).

    All rows of a phase move at once from the positions before it, in blocks of a fixed size, so that any number of
    threads gives the same bytes. Pulls of the density term (m x 2) are for points among themselves.
    """
    work, cost, count = sample_rows if native.available() else move_rows, 0.0, 0
    for edges in phases if len(own) else ():
        def move(rows: slice, edges: Edges = edges, own: Array = own) -> tuple[Array, float, int]:
            some = edges._replace(starts=edges.starts[rows.start : rows.stop + 1])
            among, first = (own, rows.start) if points is None else (points, -1)
            done = work(some, own[rows], first, among, curve, draw, rate)
            if pulls is not None:
                move_by_density(some, first, among, pulls=pulls, curve=curve, epoch=draw.epoch, rate=rate,
                                moved=done[0])
            return done

        blocks = row_blocks(len(own), BLOCK)
        done = [move(blocks[0])] if len(blocks) == 1 else list(in_order(move, blocks))  # one is quick: no threads
        moved, costs, due = zip(*done, strict=True)
        own, cost, count = np.concatenate(moved), cost + sum(costs), count + sum(due)
    return Epoch(own, cost / max(count, 1))


def follow_edges(graph: Graph, start: Array, sampling: Sampling, curve: MembershipCurve,
                 term: DensityTerm | None = None) -> Iterated[Epoch]:
    """Return the layout after all epochs, from a start (n x p), of a graph whose lengths are weights.

    The last epochs follow a density term; its pulls are those at the positions before each of them.
    """
    phases, form = phases_of(graph, sampling.epochs), sampling.form(curve)

    def step(state: Epoch, epoch: int) -> Epoch:
        pulls = None if term is None or not term.options.acts(epoch, sampling.epochs) else term.pulls(
            state.points, form)
        moved = move_points(phases, state.points, None, curve=form, draw=sampling.draw(epoch),
                            rate=sampling.rate_at(epoch), pulls=pulls)
        return moved if moved.objective else Epoch(moved.points, state.objective)

    ended = follow_schedule(step, Epoch(np.ascontiguousarray(start), 0.0), sampling.epochs)
    costs = ended.trace[ended.trace > 0]  # no edge is due in the first epoch, which then has the cost of the next
    return replace(ended, trace=np.where(ended.trace > 0, ended.trace, costs[0])) if len(costs) else ended
