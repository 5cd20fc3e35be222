"""The information bottleneck of a table of counts.

It is that of Tishby, Pereira and Bialek (1999). With p(x, y) the table over its total, soft clusters T of the rows x
minimize I(T; X) - β I(T; Y). At a minimum

    p(t | x) ∝ p(t) exp(-β KL(p(y | x) ‖ p(y | t))),   p(t) = Σ p(x) p(t | x),   p(y | t) = Σ p(t | x) p(x, y) / p(t),

and repeating these equations never raises the objective (Blahut and Arimoto). β rises from where the first cluster
splits, and then falls again, as the minimum that either way follows may be a local one; the better of both is kept.
A cluster can split where β λ > 1, with λ the largest eigenvalue of the covariance of its rows' (p(y | x) - p(y | t)) /
√p(y | t) (Rose, 1998); for all rows together, λ is the first principal inertia of correspondence analysis.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import product_rate, rates
from mlcli.base.stages.stage import note, stage
from mlcli.base.stages.steps import Step
from mlcli.base.stored import result, stored
from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.options import Options, option
from mlcli.certify.subject import Subject
from mlcli.core.centering import uncentered
from mlcli.core.eigen.options import DEFAULT_COUNT, PlainAxes
from mlcli.core.iterate import follow_schedule
from mlcli.core.latent.bottleneck import BEYOND, FAR
from mlcli.core.linalg import singular, singular_step
from mlcli.core.metrics.shares import JensenShannon
from mlcli.core.model import Loadings, Model, Powers
from mlcli.core.similarities.base import Similarity
from mlcli.core.similarities.projector import Projector
from mlcli.errors import DataError, GeometryError
from mlcli.methods.method import Method
from mlcli.methods.trials import variant
from mlcli.methods.views.check import TINY, count_bottleneck_checks

INDEPENDENT = 1e-13  # inertia up to which rows have one profile but for rounding
BELOW = 6  # values of β below the one at which the first cluster splits
SAME = 1e-5  # Σ |p(y | t) - p(y | t')| below which two clusters are one
EMPTY = 1e-9  # share of the rows below which a cluster is left out
LOWER = 1e-12  # by which a minimum is lower than another
CYCLES = 100  # products for the direction in which a cluster splits, at most
STEADY = 1e-6  # relative change of its variance at which they end
MAPS = 3  # repetitions of the equations between two extrapolations
USUAL = 20  # extrapolations at a value of β, in most fits


class Annealing(Options):
    """The values of β on the way, and when the iteration at each of them ends."""

    steps: int = option(30, "Number of values of β from the first split to the end of the information curve.", ge=2,
                        le=1000)
    limit: int = option(3_000, "Largest number of iterations at each β.", ge=1)
    tolerance: float = option(1e-9, "Change of the probabilities of clusters in an iteration at which those at "
                              "a β end.", gt=0, lt=1)


class ClusterCount(PlainAxes):
    """The number of clusters, each of which is an axis."""

    noun: ClassVar[str] = "clusters"
    components: int = option(DEFAULT_COUNT, "Number of clusters, at least 2: one of all rows tells nothing.", ge=2)


@frozen
class JointDistribution:
    """The joint distribution of the rows and the columns of a table."""

    profiles: Array  # n x d, p(y | x)
    weights: Array  # n, p(x)

    @classmethod
    def of(cls, points: Array) -> "JointDistribution":
        """Return that of a table (n x d) of numbers of zero or more, none of whose rows is zero."""
        totals = points.sum(axis=1)
        return cls(points / totals[:, None], totals / totals.sum())

    @cached_property
    def columns(self) -> Array:
        """The distribution p(y) of the columns (d)."""
        return np.asarray(self.weights @ self.profiles)

    @cached_property
    def information(self) -> float:
        """I(X; Y) in nats."""
        return float(self.weights @ self.divergences(self.profiles))

    def divergences(self, profiles: Array) -> Array:
        """Return KL(q ‖ p(y)) of profiles q (m x d), an (m,) array in nats."""
        ratios = np.divide(profiles, self.columns, out=np.ones_like(profiles), where=profiles > 0)
        return np.asarray(np.einsum("ij,ij->i", profiles, np.log(ratios)))


@frozen
class Clusters:
    """Soft clusters: how many rows each has, and how their numbers are distributed over the columns."""

    masses: Array  # k, p(t)
    profiles: Array  # k x d, p(y | t)

    @classmethod
    def of(cls, table: JointDistribution, assignments: Array) -> "Clusters":
        """Return the clusters of assignments p(t | x) (n x k); one without rows has a profile of zeros."""
        shares = table.weights[:, None] * assignments
        masses = shares.sum(axis=0)
        return cls(masses, (shares.T @ table.profiles) / np.maximum(masses, TINY)[:, None])

    def assign(self, profiles: Array, beta: float) -> Array:
        """Return p(t | x) ∝ p(t) exp(-β KL(p(y | x) ‖ p(y | t))), an (m x k) array, of profiles p(y | x) (m x d).

        Σ p(y | x) ln p(y | x), which all clusters share, is left out.
        """
        masses, shares = (np.log(np.maximum(values, TINY)) for values in (self.masses, self.profiles))
        exponents = masses + beta * (profiles @ shares.T)
        exponents -= exponents.max(axis=1, keepdims=True)
        chances: Array = np.exp(exponents)
        chances /= chances.sum(axis=1, keepdims=True)
        return chances

    def information(self, table: JointDistribution, assignments: Array) -> tuple[float, float]:
        """Return I(T; X) and I(T; Y) in nats, by assignments p(t | x) (n x k) of which these are the clusters."""
        ratios = np.divide(assignments, self.masses, out=np.ones_like(assignments), where=assignments > 0)
        kept = float(table.weights @ np.einsum("ij,ij->i", assignments, np.log(ratios)))
        return kept, float(self.masses @ table.divergences(self.profiles))


def lagrangian(table: JointDistribution, assignments: Array, beta: float) -> float:
    """Return I(T; X) - β I(T; Y) of assignments p(t | x) (n x k), in nats."""
    kept, relevant = Clusters.of(table, assignments).information(table, assignments)
    return kept - beta * relevant


def settle(table: JointDistribution, start: Array, beta: float, options: Annealing) -> tuple[Array, bool]:
    """Return assignments (n x k) at a minimum, from `start` on, and whether the iteration converged.

    An iteration applies the equations once. Every third one is of an extrapolation (SQUAREM: Varadhan and Roland,
    2008), which counts where it does not raise the objective.
    """
    start = filled(table, start)
    left = options.limit

    def improve(assignments: Array) -> tuple[Array, float]:
        clusters = Clusters.of(table, assignments)
        kept, relevant = clusters.information(table, assignments)
        return clusters.assign(table.profiles, beta), kept - beta * relevant

    while left > 0:
        first, _ = improve(start)
        if np.abs(first - start).max() <= options.tolerance:
            return first, True
        if left < MAPS:
            return filled(table, first if left == 1 else improve(first)[0]), False
        left -= MAPS
        second, level = improve(first)
        change, bend = first - start, second - 2 * first + start
        size = float(np.linalg.norm(bend))
        length = max(float(np.linalg.norm(change)) / size, 1.0) if size > 0 else 1.0
        ahead = np.maximum(start + 2 * length * change + length**2 * bend, TINY)
        third, reached = improve(ahead / ahead.sum(axis=1, keepdims=True))
        start = filled(table, third if reached <= level else second)
    return start, False


def filled(table: JointDistribution, assignments: Array) -> Array:
    """Return assignments (n x k) to the clusters that have rows."""
    found = assignments[:, table.weights @ assignments > EMPTY]
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def distinct(table: JointDistribution, assignments: Array) -> Array:
    """Return assignments (n x k) to clusters that differ and have rows: equal ones become one."""
    assignments = filled(table, assignments)
    profiles, place = Clusters.of(table, assignments).profiles, 0
    while place < len(profiles):
        equal = np.abs(profiles - profiles[place]).sum(axis=1) < SAME
        equal[:place] = False
        if equal.sum() > 1:
            merged = assignments[:, equal].sum(axis=1)
            assignments = np.delete(assignments, np.flatnonzero(equal)[1:], axis=1)
            assignments[:, place] = merged
            profiles = Clusters.of(table, assignments).profiles
        place += 1
    return assignments


def directions(table: JointDistribution, assignments: Array) -> tuple[Array, Array]:
    """Return for each cluster of assignments (n x k) the variance λ (k) along its principal axis, and scores of the
    rows on it (n x k) of variance one.

    Products with the covariance start from the row that counts most, so that no chance is in it.
    """
    clusters = Clusters.of(table, assignments)
    inside = table.weights[:, None] * assignments / clusters.masses  # p(x | t) of clusters that have rows
    roots = np.sqrt(clusters.profiles)
    scales = np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0)
    lengths = table.profiles**2 @ (scales**2).T - 1
    axes = table.profiles[np.argmax(inside * lengths, axis=0)] * scales - roots
    values = np.zeros(len(axes))
    scores = np.zeros_like(assignments)
    for _ in range(CYCLES):
        sizes = np.linalg.norm(axes, axis=1)
        axes = axes / np.where(sizes > 0, sizes, 1.0)[:, None]
        scores = table.profiles @ (axes * scales).T - np.sum(axes * roots, axis=1)
        before, values = values, np.sum(inside * scores**2, axis=0)
        if np.all(np.abs(values - before) <= STEADY * values):
            break
        axes = ((inside * scores).T @ table.profiles) * scales
        axes -= np.sum(axes * roots, axis=1)[:, None] * roots
    return values, scores / np.where(values > 0, np.sqrt(values), 1.0)


def split(table: JointDistribution, assignments: Array, beta: float, count: int) -> Array | None:
    """Return assignments (n x k') where clusters that are unstable at β are split in two, up to `count` in all.

    None where all are stable. Those split first whose rows vary most, each along its principal axis.
    """
    values, scores = directions(table, assignments)
    unstable = [place for place in np.argsort(-values, kind="stable").tolist() if beta * values[place] > 1]
    chosen = unstable[:count - len(values)]
    if not chosen:
        return None
    upper = assignments[:, chosen] / (1 + np.exp(np.clip(-scores[:, chosen], -700.0, 700.0)))
    lower = assignments.copy()
    lower[:, chosen] -= upper
    return np.hstack([lower, upper])


@result("annealing")
@frozen
class Annealed:
    """Clusters at each value of β so far."""

    masses: Array  # b x k, zero beyond the clusters there are
    profiles: Array  # b x k x d
    figures: Array  # b x 3: I(T; X) and I(T; Y), and one where the iteration converged
    objective: float  # I(T; X) - β I(T; Y) at the last β

    def at(self, place: int) -> Clusters:
        """Return the clusters at the β of a place."""
        there = self.masses[place] > 0
        return Clusters(self.masses[place, there], self.profiles[place, there])

    def store(self, table: JointDistribution, place: int, beta: float, found: tuple[Array, bool]) -> "Annealed":
        """Return the state with assignments (n x k) that were found at the β of a place."""
        assignments, converged = found
        clusters = Clusters.of(table, assignments)
        kept, relevant = clusters.information(table, assignments)
        order = np.argsort(-clusters.masses, kind="stable")
        masses, profiles, figures = self.masses.copy(), self.profiles.copy(), self.figures.copy()
        masses[place], profiles[place] = 0.0, 0.0
        masses[place, :len(order)], profiles[place, :len(order)] = clusters.masses[order], clusters.profiles[order]
        figures[place] = kept, relevant, converged
        return Annealed(masses, profiles, figures, kept - beta * relevant)


@frozen
class Course:
    """The way of β up, which splits clusters, and down again."""

    table: JointDistribution
    betas: Array  # b, ascending
    count: int  # the most clusters
    options: Annealing

    def begin(self) -> Annealed:
        """Return the state before the first β: one cluster at each."""
        masses, profiles = (np.zeros((len(self.betas), self.count, *more)) for more in ((), self.table.columns.shape))
        masses[:, 0], profiles[:, 0] = 1.0, self.table.columns
        return Annealed(masses, profiles, np.tile([0.0, 0.0, 1.0], (len(self.betas), 1)), 0.0)

    def ascend(self, state: Annealed, place: int) -> Annealed:
        """Return the state after the β of a place, where clusters split that have become unstable."""
        beta = float(self.betas[place])
        found = self._settled(state.at(max(place - 1, 0)), beta)
        while found[0].shape[1] < self.count:
            parts = split(self.table, found[0], beta, self.count)
            if parts is None:
                break
            other = self._distinct(settle(self.table, parts, beta, self.options))
            if not lagrangian(self.table, other[0], beta) < lagrangian(self.table, found[0], beta) - LOWER:
                break
            found = other
        return state.store(self.table, place, beta, found)

    def descend(self, state: Annealed, step: int) -> Annealed:
        """Return the state after the β of a step down, from the clusters at the β above."""
        place = len(self.betas) - 2 - step
        beta = float(self.betas[place])
        return state.store(self.table, place, beta, self._settled(state.at(place + 1), beta))

    def _settled(self, clusters: Clusters, beta: float) -> tuple[Array, bool]:
        return self._distinct(settle(self.table, clusters.assign(self.table.profiles, beta), beta, self.options))

    def _distinct(self, found: tuple[Array, bool]) -> tuple[Array, bool]:
        return distinct(self.table, found[0]), found[1]

    def best(self, above: Annealed, below: Annealed) -> Annealed:
        """Return the better of both ways at each β."""
        first, second = (state.figures[:, 0] - self.betas * state.figures[:, 1] for state in (above, below))
        lower = second < first - LOWER
        return Annealed(np.where(lower[:, None], below.masses, above.masses),
                        np.where(lower[:, None, None], below.profiles, above.profiles),
                        np.where(lower[:, None], below.figures, above.figures), above.objective)


@stage("residuals")
def first_beta(table: JointDistribution) -> float:
    """Return the β above which one cluster of all rows is unstable: one over the first principal inertia.

    It is infinite where rows and columns are independent.
    """
    columns = table.columns
    roots = np.sqrt(np.where(columns > 0, columns, 1.0))
    inertia = float(singular(np.sqrt(table.weights)[:, None] * (table.profiles - columns) / roots)[1][0]) ** 2
    return 1 / inertia if inertia > INDEPENDENT else np.inf


def values_of_beta(first: float, beta: float | None, steps: int) -> Array:
    """Return the values of β (b) in ascending order, about the first split and beyond `beta`, which is one of them."""
    last = max(FAR * first, BEYOND * (beta or 1.0))
    ratio = (last / first) ** (1 / (steps - 1))
    grid = first * ratio ** np.arange(-BELOW, steps)
    return np.unique(np.append(grid[grid > 1], [] if beta is None else [beta]))


@stored("soft-assignments", masses="c", profiles="cd")
@frozen
class SoftAssignments(Similarity):
    """The probabilities p(t | x) of the clusters of a bottleneck, given a row."""

    keeps_distances: ClassVar[bool] = False
    masses: Array  # c, zero for a cluster without rows
    profiles: Array  # c x d
    beta: float

    @cached_property
    def used(self) -> Any:
        """Mask of the columns that are not zero in all clusters (d)."""
        return self.profiles.any(axis=0)

    def rows(self, new: Array) -> Array:
        """Return p(t | x) (m x c) of new points (m x d); raises DataError for negative cells and rows of zeros."""
        known, there = np.where(self.used, new, 0.0), self.masses > 0
        require_counts(new, known)
        shares = known / known.max(axis=1, keepdims=True)
        found = np.zeros((len(new), len(self.masses)))
        found[:, there] = Clusters(self.masses[there], self.profiles[there]).assign(
            shares / shares.sum(axis=1, keepdims=True), self.beta)
        return found

    def width(self, given: int) -> int:
        """Return the number of clusters; 0 where their profiles have another number of columns."""
        return len(self.masses) if self.profiles.shape[1] == given else 0

    def check(self, new: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """Raise DataError for the first negative cell of new points (m x d), and for the first row of zeros."""
        require_counts(new, np.where(self.used, new, 0.0), ids, columns)

    def rounding(self, new: Array) -> Array | float:
        """Return the errors of probabilities: those of exponents, which grow with β."""
        logarithms = np.log(np.maximum(self.profiles[self.masses > 0][:, self.used], TINY))
        return 4 * EPS * new.shape[1] * (1 + self.beta) * float(np.abs(logarithms).max(initial=1.0))


def require_counts(points: Array, known: Array, ids: Sequence[str] = (), columns: Sequence[str] = ()) -> None:
    """Raise DataError for the first negative cell of points (n x d), or the first row of zeros in `known` columns.

    `known` (n x d) are the points with zeros in columns that do not count.
    """
    names = [repr(name) for name in ids]
    if points.size and float(points.min()) < 0:
        row, column = np.argwhere(points < 0)[0].tolist()
        named = repr(columns[column]) if len(columns) else f"{column + 1}"
        raise DataError("NEGATIVE", f"column {named}: ib takes counts, numbers of zero or more, not "
                        f"{points[row, column]:g}", hint="correct the cell, or leave the column out with "
                        "{input.columns}", row=row, name=names[row] if names else "")
    if (empty := np.flatnonzero(~known.any(axis=1))).size:
        row = int(empty[0])
        where = " in the columns that have numbers in the fit" if points[row].any() else ""
        raise DataError("ZERO-ROW", f"a row of zeros{where} has no shares of the columns", hint="leave the row out",
                        row=row, name=names[row] if names else "")


class IB(Method):
    """Soft clusters of the rows of a table of counts that keep what rows tell of columns, and little else.

    It keeps what a row tells about the column that a count is in, as much as its worth `beta` allows. It fails if the
    table is sparse: rows of few counts differ by chance, and clusters follow that. Set the number of clusters first
    (`-p`), then `beta`.

    How it works: The table over its total is a joint distribution p(x, y) of rows and columns; so is a table of shares
    or other amounts, whose unit does not matter, but then nothing says how far rows differ by chance. Row x belongs to
    cluster t with the probability p(t | x), and clusters minimize I(T; X) - β I(T; Y): information about the row costs,
    and information about the column pays. At the minimum p(t | x) ∝ p(t) exp(-β KL(p(y | x) ‖ p(y | t))): a row is in
    clusters whose mean row has the shares that it has. Coordinates are p(t | x), clusters in descending order of p(t).

    β rises in steps (`annealing`): where a cluster has become unstable, it splits along its principal axis, and
    clusters that agree become one. Then β falls again, as clusters may last below the β at which they split; at every β
    the better of both is kept. Nothing is random. The first split is at one over the first principal inertia of `ca`,
    at the latest. Without `beta`, it is twice the β from which on all clusters are distinct, or more; if some never
    are, it is the last one, and they are empty.

    The deterministic bottleneck has H(T) in place of I(T; X), which makes clusters hard at every β. Here they become
    hard as β grows.

    New points: New rows are rows of counts in the same columns; p(t | x) follows from the same formula. Counts in
    columns that are zero in the whole fit do not count.

    Files: `information.csv` holds I(T; X), I(T; Y), the entropy H(T) in nats and the number of distinct clusters for
    rising β. `loadings.csv` holds p(y | t), the shares of the columns in each cluster. `fit` in `run.json` has β, the
    first β at which a cluster splits (`first_beta`), these figures at β, I(X; Y), and p(t) (`shares`). Where all rows
    have the same shares of the columns, there is no first β, and the file holds one cluster, which tells nothing.

    Source: Tishby, Pereira and Bialek, "The information bottleneck method", 1999; Rose, 1998 (annealing); Varadhan and
    Roland, 2008 (extrapolation).
    """

    accepts: ClassVar = (Features,)
    domain: ClassVar = "amounts"
    judged_by: ClassVar = "information"
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    ranked_by: ClassVar = None
    decodes: ClassVar = None
    rules: ClassVar = ()
    variance_shares: ClassVar = False
    loads: ClassVar = "shares"
    scaleless: ClassVar = True
    repeat_tolerance: ClassVar = 1e-6
    variants: ClassVar = (variant("", "rotation", "shift", "mirror", "constant column"),)
    axis: ClassVar = "Cluster"
    name: Literal["ib"] = "ib"
    beta: float | None = option(None, "The weight of information about the columns, against that kept of the rows "
                                "(default: by the number of clusters).", gt=1, le=1e12)
    annealing: Annealing = Annealing()
    axes: ClusterCount = ClusterCount()

    @property
    def distance(self) -> JensenShannon:
        """The distance of shares to which the objective leads where two rows are compared."""
        return JensenShannon()

    def limit(self, data: Input) -> int:
        """Return the number of rows: more clusters tell no more."""
        return len(data.values)

    def with_metric(self, data: Input) -> Input:
        """Return the rows with the distance of shares; raises DataError for negative cells and rows of zeros."""
        if isinstance(data, Features):
            require_counts(data.values, data.values, data.ids, data.columns)
        return super().with_metric(data)

    def steps(self, data: Any, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of the first split, and of the iterations at all values of β."""
        (rows, columns), count, threads = data.values.shape, self.axes.count, compute.thread_count()
        maps = USUAL * MAPS * 2 * (self.annealing.steps + BELOW)
        each = 4.0 * rows * columns * count / product_rate(threads) + 30 * rates().called + 2e-8 * rows * count
        held = 8.0 * (2 * rows * columns + 8 * rows * count + 6 * (self.annealing.steps + BELOW) * count * columns)
        return [singular_step("residuals", (rows, columns), threads),
                Step("iterate", f"{count} clusters at {self.annealing.steps + BELOW} values of β, up and down",
                     maps * each, held, spread=(0.1, 10.0))]

    def solve(self, data: Features, compute: Compute) -> Model:
        """Compute clusters at all values of β, and the assignments at the one that is asked for."""
        table = JointDistribution.of(data.values)
        first, count = first_beta(table), self.axes.count
        independent = not np.isfinite(first)
        if independent:
            note("W-RANK", "rows do not tell of columns: all of them have the same shares, and are one cluster")
        course = Course(table, np.array([self.beta or 1.0]) if independent else
                        values_of_beta(first, self.beta, self.annealing.steps), count, self.annealing)
        found = course.begin()
        if not independent:
            above = follow_schedule(course.ascend, found, len(course.betas)).state
            found = course.best(above, follow_schedule(course.descend, above, len(course.betas) - 1).state)
        place = self.chosen_place(course.betas, found)
        beta, distinct_count = float(course.betas[place]), int(np.sum(found.masses[place] > 0))
        if not independent:
            self.require_split(distinct_count, beta, first)
        placed = SoftAssignments(found.masses[place], found.profiles[place], beta)
        coordinates = placed.rows(data.values)
        clusters = Clusters.of(table, coordinates[:, :distinct_count])
        kept, relevant = clusters.information(table, coordinates[:, :distinct_count])
        shares = np.pad(clusters.masses, (0, count - distinct_count))
        if not found.figures[place, 2]:
            note("W-UNCONVERGED", f"stopped after {self.annealing.limit} iterations at β = {beta:g} without "
                 "convergence: raise method.annealing.limit")
        curve = {"beta": course.betas, "clusters": np.sum(found.masses > 0, axis=1).astype(np.float64),
                 "kept": found.figures[:, 0], "relevant": found.figures[:, 1],
                 "entropy": np.array([entropy(masses) for masses in found.masses])}
        for name, value in (("kept", kept), ("relevant", relevant), ("entropy", entropy(shares))):
            curve[name][place] = value
        return Model(embedding=coordinates, information=curve,
                     projector=Projector(placed, uncentered(count), np.eye(count)),
                     loadings=Loadings(placed.profiles.T, data.columns, power=0),
                     fit={"beta": beta, "first_beta": None if independent else first, "clusters": distinct_count,
                          "kept_information": kept, "relevant_information": relevant,
                          "total_information": table.information, "entropy": entropy(shares),
                          "shares": shares.tolist(), "converged": bool(found.figures[place, 2])})

    def chosen_place(self, betas: Array, found: Annealed) -> int:
        """Return the place of β in betas (b): the one asked for, or from `BEYOND` times that of all clusters on."""
        if self.beta is not None:
            return int(np.searchsorted(betas, self.beta))
        whole = np.flatnonzero((found.masses > 0).all(axis=1))
        if not whole.size:
            return len(betas) - 1
        later = np.flatnonzero((betas >= BEYOND * betas[whole[0]]) & (found.masses > 0).all(axis=1))
        return int(later[0] if later.size else whole[-1])

    def require_split(self, distinct_count: int, beta: float, first: float) -> None:
        """Raise GeometryError where a chosen β leaves all rows one cluster; note clusters without rows."""
        if distinct_count == 1 < self.axes.count:
            raise GeometryError("BETA", f"all rows are one cluster: beta is {beta:g}, and the first one splits at "
                                f"{first:.6g}", where="method.beta", hint="choose a larger one, or leave it out")
        if distinct_count < self.axes.count:
            note("W-RANK", f"{distinct_count} of {self.axes.count} clusters are distinct at β = {beta:g}: the others "
                 "have no rows")

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check probabilities, both sides of the equations, the figures by entropies, and their inequalities."""
        yield from super().checks(subject)
        yield from count_bottleneck_checks(subject.data.values, subject.model, self.beta, self.annealing.tolerance)


def entropy(masses: Array) -> float:
    """Return H(T) = -Σ p ln p of probabilities (k) in nats."""
    there = masses[masses > 0]
    return -float(np.sum(there * np.log(there))) + 0.0
