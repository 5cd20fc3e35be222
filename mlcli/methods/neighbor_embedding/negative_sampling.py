"""Layouts by negative sampling: points move along edges that are due, and away from points that are drawn.

The expected move follows the gradient of Σ w log(1 + a d²ᵇ) over the edges, both ways, plus γ s / n times the sum over
all points j of -log(1 - q(d)) for each edge's first end, with s samples of an edge, n points and q = 1 / (1 + a d²ᵇ):
fuzzy cross entropy with repulsion by the weights of the edges instead of one minus these (Damrich and Hamprecht, 2021).
With a density term, the last epochs also climb λ Σ w times the correlation of local radii.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.stages.stage import note, stage
from mlcli.base.stored import result, stored
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.options import Options, option
from mlcli.core.arithmetic import (
    LOG_2,
    binary_logarithm,
    exponential,
    exponential_of_two,
    inner_products,
    logarithm,
    sum_of_all,
    total,
)
from mlcli.core.graph.graph import Graph
from mlcli.core.iterate import Iterated, follow_schedule
from mlcli.core.layouts.anchors import Springs
from mlcli.errors import ConfigError
from mlcli.native.layouts import Draw, EdgeArrays, density_rows, radii_rows, sample_rows

SAMPLES, REACH = 300, 3.0  # distances that the curve is fitted at, up to so many times the spread
WIDEST = 1e100  # spread up to which the powers of distances are in the range of doubles


@stored("membership-curve")
@result("membership-curve")
@frozen
class MembershipCurve:
    """The membership 1 / (1 + a d^2b) of points at distance d."""

    a: float
    b: float


def target(min_dist: float, spread: float) -> tuple[Array, Array]:
    """Return distances (300) and the memberships there that a curve approximates: one up to `min_dist`, then falling.
    """
    distances = np.linspace(0, spread * REACH, SAMPLES)
    return distances, np.where(distances < min_dist, 1.0, exponential(-(distances - min_dist) / spread))


STEPS = 40  # of Gauss and Newton, of which a curve takes up to 25 until they are rounding
RANGE = 700.0  # of the logarithm of `a`


def fit_curve(min_dist: float, spread: float) -> MembershipCurve:
    """Return a and b of the least squares fit to the target.

    With distances x in units of the spread, 1 / (1 + exp(c + s log x)) is fitted by steps of Gauss and Newton from a =
    b = 1, which come to the minimum for every minimal distance up to the spread. Raises ConfigError for one above it,
    for a spread above the widest, and where `a` is beyond the range of numbers.
    """
    height, slope, logarithm_of_a = 0.0, 2.0, np.inf
    if min_dist <= spread <= WIDEST:
        distances, memberships = (values[1:] for values in target(min_dist / spread, 1.0))  # at zero both are one
        logs = logarithm(distances)
        for _ in range(STEPS):
            found = 1 / (1 + exponential(height + slope * logs))
            changes = np.stack([found * (1 - found), found * (1 - found) * logs], axis=1)
            (one, both), (_, other) = inner_products(changes, changes)
            up, along = inner_products(changes, (found - memberships)[:, None])[:, 0]
            size = one * other - both * both
            height += float((other * up - both * along) / size)
            slope += float((one * along - both * up) / size)
        logarithm_of_a = height - slope * float(logarithm(np.asarray(spread)))
    if not abs(logarithm_of_a) < RANGE:
        raise ConfigError("CURVE", f"no curve 1 / (1 + a d^2b) fits a minimal distance of {min_dist:g} with a spread "
                          f"of {spread:g}", where="method.min_dist" if min_dist > spread else "method.spread",
                          hint="choose a minimal distance of at most the spread, and a spread near one")
    return MembershipCurve(float(exponential(np.asarray(logarithm_of_a))), slope / 2)


STRIDE = np.uint64(0x9E3779B97F4A7C15)  # of the counter
WORD = 2**32


def mixed(numbers: AnyArray) -> AnyArray:
    """Return numbers without order from counters, arrays of uint64 (splitmix64; Steele, Lea and Flood, 2014)."""
    with np.errstate(over="ignore"):
        numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def key_of(seed: int, epoch: int) -> int:
    """Return the key of the counter of an epoch."""
    with np.errstate(over="ignore"):
        first = mixed(np.array([seed % 2**64], dtype=np.uint64) + STRIDE)
        return int(mixed(first + np.uint64(epoch) * STRIDE)[0])


def samples_of(numbers: AnyArray, draw: Draw, count: int) -> AnyArray:
    """Return the points (e x s), of `count`, that the edges with these numbers (e) draw in an epoch."""
    with np.errstate(over="ignore"):
        base = mixed(np.uint64(draw.key) + STRIDE * numbers.astype(np.uint64))
        words = mixed(base[:, None] + STRIDE * np.arange(1, (draw.samples + 3) // 2, dtype=np.uint64))
    halves = np.stack([words >> np.uint64(32), words & np.uint64(WORD - 1)], axis=2)
    halves = halves.reshape(len(numbers), 2 * words.shape[1])
    return (halves[:, : draw.samples] * np.uint64(count) >> np.uint64(32)).astype(np.int64)


def due_of(rates: AnyArray, epoch: int) -> AnyArray:
    """Return a mask (e) of the edges that are due: where the fraction of epoch x rate falls below the rate."""
    with np.errstate(over="ignore"):
        return np.uint32(epoch) * rates < rates


def kept_edges(weights: Array, epochs: int) -> Indices:
    """Return the places of the edges that are due in one epoch at least, given their memberships (e)."""
    return np.flatnonzero(weights / weights.max(initial=0.0) * epochs >= 1)


PAIRS, FLUSHES = 64, 8  # of the kernel: pairs that are computed at once, and factors of one logarithm


def move_rows(edges: EdgeArrays, own: Array, first: int, points: Array, curve: Array, draw: Draw,
              rate: float) -> tuple[Array, float, int]:
    """Return positions (m x p) of rows after a step, its cost, and the edges due, as `native.sampling.sample_rows`.

    An edge attracts by -2 a b d^(2b - 2) / (1 + a d^2b) of the difference of its ends, a sample repels by
    2 γ b / ((ε + d²) (1 + a d^2b)), and no force on an axis is above a largest one. The cost of an edge is
    log(1 + a d^2b), that of a sample log((1 + a d^2b) / (a d^2b + ε)). Sums have the order of the kernel.
    """
    _, b, gamma, near, most = curve
    inside = slice(int(edges.starts[0]), int(edges.starts[-1]))
    due = due_of(edges.rates[inside], draw.epoch)
    rows, numbers = np.repeat(np.arange(len(own)), np.diff(edges.starts))[due], edges.numbers[inside][due]
    heads, others = numbers >= 0, np.full((len(rows), 1 + draw.samples), -1)
    others[:, 0] = edges.columns[inside][due]
    others[heads, 1:] = samples_of(numbers[heads], draw, len(points))
    taken = others >= 0
    if first >= 0:
        taken[:, 1:] &= others[:, 1:] != first + rows[:, None]
    pairs, kinds = np.nonzero(taken)  # an edge, and then its samples
    here, edge, sample = rows[pairs], 1.0 * (kinds == 0), 1.0 * (kinds > 0)
    gaps = own[here] - points[others[pairs, kinds]]
    squares, bent = _bent(gaps, curve)
    apart = 1.0 * (squares > 0)
    under = (1 + bent) * (squares + sample * near + (1 - apart))
    strengths = 2 * b * apart * (sample * gamma - edge * bent) / under
    moved = own.copy()
    np.add.at(moved, here, rate * np.clip(strengths[:, None] * gaps, -most, most))
    factors = np.ones(-(-len(gaps) // (PAIRS * FLUSHES)) * PAIRS * FLUSHES)
    factors[: len(gaps)] = (1 + bent) / (edge + sample * (bent + near))
    logs = binary_logarithm(np.multiply.reduce(factors.reshape(-1, FLUSHES, PAIRS), axis=1))
    return moved, float(np.cumsum(np.append(logs, 0.0))[-1]) * LOG_2, int(heads.sum())


LEAST_RADIUS = 1e-8  # is added to a radius: in the data relative to the median, in the layout as in umap-learn
ALIKE = 1e-6  # deviation of log radii up to which they are equal
BLOCK = 8192  # rows of a block
NUMBERS = 2**20  # edges whose phases are computed together


class Density(Options):
    """A term that keeps local densities: the correlation of the log radii of points in data and layout (densMAP)."""

    weight: float = option(2.0, "Weight λ of the correlation of local radii, relative to the attraction of all edges.",
                           gt=0, le=1000)
    share: float = option(0.3, "Share of the epochs, the last ones, in which densities count.", gt=0, le=1)
    shift: float = option(0.1, "Number that is added to the variance of log radii in the layout, which keeps the "
                          "correlation finite where all radii are nearly equal.", ge=0)

    def acts(self, epoch: int, epochs: int) -> bool:
        """Whether an epoch, from 0, follows the term: the last always does."""
        return epoch + 1 > (1 - self.share) * epochs


@frozen
class DensityTerm:
    """The density term of a graph: its edges that move points, both ways, and the log radii in the data."""

    options: Density
    starts: Indices  # n + 1
    columns: AnyArray  # int32
    shares: float  # sum of memberships over the largest
    radii: Array  # n, relative to the median; NaN for a point without edges

    @property
    def joined(self) -> Array:
        """A mask (n) of the points that have edges."""
        return np.isfinite(self.radii)

    def pulls(self, points: Array, curve: Array, kernel: Callable[..., Array] | None = None) -> Array:
        """Return what the changes of φ d² and of φ of a pair weigh at each of its ends (n x 2), at positions (n x p).

        They are those of the gradient of the correlation r = cov(R, S) / √(var S + shift), with R the log radii of the
        data, of mean zero and variance one, and S those of the layout, times the weight and the sum of memberships. A
        kernel takes the place of that of the machine.
        """
        logs, memberships, sizes = self.layout_radii(points, curve, kernel).T[:, self.joined]
        standard = standardized(self.radii[self.joined])
        centered = logs - logs.mean()
        variance = float(np.mean(centered**2)) + self.options.shift
        slopes = standard - np.mean(standard * centered) / variance * centered if variance > 0 else 0.0 * standard
        factor = self.options.weight * self.shares * WORD / (len(logs) * np.sqrt(variance or 1.0))
        found = np.zeros((len(points), 2))
        found[self.joined, 0] = factor * slopes / (memberships * sizes)
        found[self.joined, 1] = factor * slopes / memberships * (1 - LEAST_RADIUS / sizes)
        return found

    def layout_radii(self, points: Array, curve: Array, kernel: Callable[..., Array] | None = None) -> Array:
        """Return log ρ, Σ φ and ρ of each point at positions (n x p), an (n, 3) array."""
        work = kernel or (radii_rows if native.available() else local_radii)
        return np.concatenate(list(in_order(
            lambda rows: work(self.starts[rows.start : rows.stop + 1], self.columns, rows.start, points, curve,
                              LEAST_RADIUS),
            row_blocks(len(points), BLOCK))))

    def correlation(self, points: Array, curve: Array) -> tuple[Array, float | None]:
        """Return the log radii of data and layout (n x 2), relative to their medians, and their correlation.

        It is None where all radii in the layout are equal.
        """
        radii = np.where(self.joined, self.layout_radii(points, curve)[:, 0], np.nan)
        radii -= np.nanmedian(radii)
        placed = radii[self.joined]
        known = None if placed.std() <= ALIKE else float(np.mean(
            standardized(placed) * standardized(self.radii[self.joined])))
        return np.column_stack([self.radii, radii]), known


def standardized(values: Array) -> Array:
    """Return numbers (m) with mean zero and variance one."""
    return (values - values.mean()) / values.std()


@stage("weights")
def density_term(options: Density, graph: Graph, lengths: Array, epochs: int) -> DensityTerm | None:
    """Return the density term of a graph of memberships whose edges have lengths (e) in the data.

    Edges that are due in no epoch have no part in it. It is None, with a note, where all radii are equal.
    """
    kept = kept_edges(graph.lengths, epochs)
    rows = np.repeat(np.arange(graph.size), np.diff(graph.starts))[kept]
    weights = graph.lengths[kept] / graph.lengths.max(initial=0.0)
    radii = data_radii(rows, weights, lengths[kept], graph.size)
    if not np.isfinite(radii).any() or np.nanstd(radii) <= ALIKE:
        note("N-DENSITY", "the local radii of all points are equal, so there are no densities to keep")
        return None
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=graph.size))])
    return DensityTerm(options, starts, graph.indices[kept].astype(np.int32), sum_of_all(weights), radii)


def data_radii(rows: Indices, weights: Array, lengths: Array, size: int) -> Array:
    """Return the log of the mean squared length of each point's edges by membership (n), relative to the median.

    `rows`, memberships and lengths are those of the edges, both ways (e each). A point without edges is NaN. Source:
    Narayan, Berger and Cho, "Assessing single-cell transcriptomic variability through density-preserving data
    visualization", 2021.
    """
    sums, totals = np.bincount(rows, weights * lengths**2, size), np.bincount(rows, weights, size)
    squares = np.divide(sums, totals, out=np.full(size, np.nan), where=totals > 0)
    median = np.median(squares[squares > 0]) if (squares > 0).any() else 1.0
    return logarithm(squares / median + LEAST_RADIUS)


def local_radii(starts: Indices, columns: AnyArray, first: int, points: Array, curve: Array, least: float) -> Array:
    """Return log ρ, Σ φ and ρ of rows (m x 3) by NumPy, as `native.sampling.radii_rows`."""
    counts = np.diff(starts)
    rows = np.repeat(np.arange(len(counts)), counts)
    squares, bent = _bent(points[first + rows] - points[columns[starts[0] : starts[-1]]], curve)
    memberships = 1 / (1 + bent)
    sums, totals = (np.bincount(rows, values, len(counts)) for values in (memberships * squares, memberships))
    found = np.zeros((len(counts), 3))
    there = totals > 0
    found[there, 1], found[there, 2] = totals[there], sums[there] / totals[there] + least
    found[there, 0] = logarithm(found[there, 2])
    return found


def density_moves(edges: EdgeArrays, first: int, points: Array, *, pulls: Array, curve: Array, epoch: int, rate: float,
                  moved: Array) -> None:
    """Add to positions (m x p) a step that keeps local radii, by NumPy, as `native.sampling.density_rows`.

    An edge of share w of the largest membership moves a point along the difference of its ends by [(1 - b (1 - φ)) u +
    b (1 - φ) / d² v] φ / w, with u and v the sums of both ends' pulls, and no further on an axis than a force may.
    """
    _, b, _, _, most = curve
    inside = slice(int(edges.starts[0]), int(edges.starts[-1]))
    due = due_of(edges.rates[inside], epoch)
    rows = np.repeat(np.arange(len(moved)), np.diff(edges.starts))[due]
    here, there, rates = first + rows, edges.columns[inside][due], edges.rates[inside][due]
    gaps = points[here] - points[there]
    squares, bent = _bent(gaps, curve)
    memberships = 1 / (1 + bent)
    falls = b * bent * memberships
    both = (pulls[here] + pulls[there]) * (1.0 / rates)[:, None]
    strengths = memberships * ((1 - falls) * both[:, 0] + falls / (squares + 1e-300) * both[:, 1])
    np.add.at(moved, rows, rate * np.clip(strengths[:, None] * gaps, -most, most))


def move_by_density(edges: EdgeArrays, first: int, points: Array, *, pulls: Array, curve: Array, epoch: int,
                    rate: float,
                    moved: Array) -> None:
    """Add a step that keeps local radii to positions (m x p) of rows, points (n x p) from `first` on."""
    work = density_rows if native.available() else density_moves
    work(edges, first, points, pulls=pulls, curve=curve, epoch=epoch, rate=rate, moved=moved)


def _bent(gaps: Array, curve: Array) -> tuple[Array, Array]:
    """Return d² and a d^2b (e each) of the differences of pairs (e x p); both are zero for points that are equal."""
    squares = np.zeros(len(gaps))
    for column in gaps.T:
        squares += column * column
    there = 1.0 * (squares > 1e-300)
    return squares * there, there * curve[0] * exponential_of_two(
        curve[1] * binary_logarithm(squares + (1.0 - there)))


PHASES = 16  # parts of an epoch, between which all points move: fewer leave neighborhoods less well preserved
NEAR = 1e-3  # squared distance in the denominator of repulsion
MOST = 4.0  # largest force on an axis
HALF = 2**32  # rates are fractions of it
REPEATED = 20_000_000  # edges times epochs up to which the certificate repeats a layout


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


def phases_of(graph: Graph, epochs: int) -> list[EdgeArrays]:
    """Return the edges that move points in each phase of an epoch, for a graph whose lengths are weights.

    An edge of weight w is due in a share w / max w of the epochs; those due in none are left out. Both its ends move
    in the phase that a hash of its number gives, and its first end draws samples.
    """
    largest, kept = graph.lengths.max(initial=0.0), kept_edges(graph.lengths, epochs).astype(np.int32)
    phases, found = np.empty(len(kept), dtype=np.uint8), list[EdgeArrays]()
    for part in row_blocks(len(kept), NUMBERS):
        phases[part] = mixed(kept[part].astype(np.uint64)) % np.uint64(PHASES)
    for phase in range(PHASES):
        some = kept[phases == phase]
        rows = (np.searchsorted(graph.starts, some, side="right") - 1).astype(np.int32)
        columns = graph.indices[some].astype(np.int32)
        rates = np.minimum(np.rint(graph.lengths[some] / largest * HALF), HALF - 1).astype(np.uint32)
        here, there = np.concatenate([rows, columns]), np.concatenate([columns, rows])
        order = np.lexsort((there, here))
        starts = np.concatenate([[0], np.cumsum(np.bincount(here, minlength=graph.size))])
        found.append(EdgeArrays(starts, there[order], np.tile(rates, 2)[order],
                                np.concatenate([some, np.full(len(some), -1, dtype=np.int32)])[order]))
    return found


def move_points(phases: Sequence[EdgeArrays], own: Array, points: Array | None, *, curve: Array, draw: Draw,
                rate: float, pulls: Array | None = None, among_each_other: bool = False) -> Epoch:
    """Return positions (m x p) after an epoch, among fixed points (n x p), or among themselves (None).

    Among both, edges number the positions from 0 to m - 1, and the fixed points after them.

    All rows of a phase move at once from the positions before it, in blocks of a fixed size, so that any number of
    threads gives the same bytes. Pulls of the density term (m x 2) are for points among themselves.
    """
    work, cost, count = sample_rows if native.available() else move_rows, 0.0, 0
    for edges in phases if len(own) else ():
        every = own if points is None else np.concatenate([own, points]) if among_each_other else points

        def move(rows: slice, edges: EdgeArrays = edges, own: Array = own, among: Array = every,
                 ) -> tuple[Array, float, int]:
            some = edges._replace(starts=edges.starts[rows.start : rows.stop + 1])
            first = rows.start if points is None or among_each_other else -1
            done = work(some, own[rows], first, among, curve, draw, rate)
            if pulls is not None:
                move_by_density(some, first, among, pulls=pulls, curve=curve, epoch=draw.epoch, rate=rate,
                                moved=done[0])
            return done

        blocks = row_blocks(len(own), BLOCK)
        done = [move(blocks[0])] if len(blocks) == 1 else list(in_order(move, blocks))  # one is quick: no threads
        moved, costs, due = zip(*done, strict=True)
        own, cost, count = np.concatenate(moved), cost + total(costs), count + sum(due)
    return Epoch(own, cost / max(count, 1))


def follow_edges(graph: Graph, start: Array, sampling: Sampling, curve: MembershipCurve,
                 term: DensityTerm | None = None, springs: Springs | None = None) -> Iterated[Epoch]:
    """Return the layout after all epochs, from a start (n x p), of a graph whose lengths are weights.

    The last epochs follow a density term; its pulls are those at the positions before each of them. Springs pull after
    every epoch, at its rate.
    """
    phases, form = phases_of(graph, sampling.epochs), sampling.form(curve)

    def step(state: Epoch, epoch: int) -> Epoch:
        pulls = None if term is None or not term.options.acts(epoch, sampling.epochs) else term.pulls(
            state.points, form)
        moved = move_points(phases, state.points, None, curve=form, draw=sampling.draw(epoch),
                            rate=sampling.rate_at(epoch), pulls=pulls)
        if springs is not None:
            moved = replace(moved, points=springs(moved.points, sampling.rate_at(epoch)))
        return moved if moved.objective else Epoch(moved.points, state.objective)

    ended = follow_schedule(step, Epoch(np.ascontiguousarray(start), 0.0), sampling.epochs)
    costs = ended.trace[ended.trace > 0]  # no edge is due in the first epoch, which then has the cost of the next
    return replace(ended, trace=np.where(ended.trace > 0, ended.trace, costs[0])) if len(costs) else ended
