"""t-distributed stochastic neighbor embedding.

Affinities of a perplexity, their divergence from those of the layout, and its descent.

With d the distances of coordinates and α the degrees of freedom, k = (1 + d²/α)^(-α) of each pair and Z their sum, the
divergence is Σ p log (p Z / k), and its gradient 4 (A - R / Z), with A and R the forces of attraction and repulsion.
Source: van der Maaten and Hinton, "Visualizing data using t-SNE", 2008; degrees of freedom: Kobak and others,
"Heavy-tailed kernels reveal a finer cluster structure in t-SNE visualisations", 2019.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, Strict

from mlcli.base.frozen import frozen
from mlcli.base.machine.footprint import SPARSE
from mlcli.base.machine.rates import rates
from mlcli.base.stages.composition import Composition, FitStage
from mlcli.base.stages.stage import note, running
from mlcli.base.stages.steps import Step
from mlcli.base.stored import result
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import AffinityGraph, Features, Input, Joined, Spatial, WeightedGraph
from mlcli.base.values.options import Options, option
from mlcli.base.values.products import Name, Sparse
from mlcli.base.values.quantity import Quantity
from mlcli.certify.subject import Subject
from mlcli.core.arithmetic import length, logarithm, normal_numbers
from mlcli.core.centering import uncentered
from mlcli.core.eigen.options import PlainAxes, first_columns
from mlcli.core.graph.approximate import searches_all
from mlcli.core.graph.graph import Graph
from mlcli.core.graph.neighbors import SEARCH, Search, require_search
from mlcli.core.iterate import Iterated, follow_schedule
from mlcli.core.layouts.anchors import Anchors, Springs
from mlcli.core.layouts.first_coordinates import classical_start, eigenmap_start, leading_step, principal_start
from mlcli.core.layouts.own_losses import LayoutLosses
from mlcli.core.layouts.pairs import Pairs
from mlcli.core.metrics import EUCLIDEAN, AnyMetric
from mlcli.core.metrics.distances import metric_of, training_points
from mlcli.core.model import Model
from mlcli.core.similarities.base import Similarity
from mlcli.core.similarities.projector import Projector
from mlcli.errors import ConfigError, NumericalError
from mlcli.methods.layouts import NeighborEmbedding, principal
from mlcli.methods.neighbor_embedding.added_points import AddedRows, add_by_affinity, added_neighbor_steps
from mlcli.methods.neighbor_embedding.check import (
    ALL_ROWS,
    SOME_ROWS,
    added_divergence_checks,
    divergence_checks,
    listed_recall_check,
)
from mlcli.methods.neighbor_embedding.new_points import Calibrated, Entering
from mlcli.methods.neighbor_embedding.perplexity import (
    BOTH_WAYS,
    JointAffinities,
    affinity_lists,
    affinity_steps,
    entries_of,
    entry_bytes,
    groups_of,
    joint_affinities,
    reach,
    require_points,
)
from mlcli.methods.neighbor_embedding.repulsion import (
    Summation,
    attract,
    attract_bytes,
    attract_seconds,
    choose_summation,
    repel,
    repel_bytes,
    repel_seconds,
)
from mlcli.methods.trials import MANY, InputSummary, Trials, variant

Start = Literal["pca", "laplacian", "random"]
SIZE = 1e-4  # standard deviation of the first axis
PRODUCTS, VECTORS = 300, 40  # of eigenmaps: products with a vector, and vectors in memory, for each axis
SMALL = 1e-2  # size of random coordinates on axes that are lacking, relative to the first


def first_coordinates(data: Spatial, axes: int) -> Array:
    """Return principal components of features, or classical scaling of dissimilarities (n x p), p up to `axes`.

    Features are those that the metric transforms them to, where Euclidean distances then rank pairs as the metric does.
    """
    with running("eigensolve"):
        if not isinstance(data, Features):
            pairs = Pairs.of(data.values, 0.0, list(data.ids))
            return classical_start(pairs, min(axes, max(len(pairs) - 1, 1)))[pairs.places]
        metric = metric_of(data)
        return principal_start(data.values if metric.plain or not metric.embeds else metric.represent(data.values),
                               axes)


def random_start(count: int, axes: int, compute: Compute) -> Array:
    """Return independent normal coordinates (n x p) of the seed, by the order of rows."""
    return normal_numbers(compute.generator(), (count, axes))


def small_start(points: Array, axes: int, compute: Compute) -> Array:
    """Return coordinates (n x axes) whose first axis has the standard deviation `SIZE`.

    Axes that are lacking, or zero, get random coordinates, as no step leaves a plane that holds all points.
    """
    points = first_columns(points - points.mean(axis=0), axes)
    points = points / float(points[:, 0].std())
    lacking = np.flatnonzero(~points.any(axis=0))
    points[:, lacking] = random_start(len(points), len(lacking), compute) * SMALL
    return points * SIZE


def eigenmaps(affinities: JointAffinities, axes: int, compute: Compute) -> Array:
    """Return Laplacian eigenmaps of the affinities (n x axes), with pieces of their graph apart."""
    graph = Graph(affinities.starts, affinities.indices.astype(np.int64), affinities.values.astype(np.float64))
    return eigenmap_start(graph, axes, compute.seed)


def eigenmap_step(entries: float, count: int, axes: int) -> Step:
    """Return the step of Laplacian eigenmaps of so many entries and points."""
    return Step("eigensolve", "eigenmaps of the affinities", PRODUCTS * axes * entries * 12 * rates().moved,
                16.0 * entries + 8.0 * VECTORS * count * axes)


@frozen
class Forces:
    """Attraction Σ p k^(1/α) (y - y') and repulsion Σ k^(1 + 1/α) (y - y') / Z (n x p each), and Σ p log (p / q)."""

    attraction: Array
    repulsion: Array
    divergence: float

    @property
    def slope(self) -> float:
        """The length of the gradient, relative to that of its attraction; zero where there is none."""
        size = length(self.attraction)
        return length(self.attraction - self.repulsion) / size if size > 0 else 0.0


@frozen
class Divergence:
    """The divergence as a function of coordinates; points of one group are at one place, and move as one."""

    affinities: JointAffinities
    dof: float
    groups: Indices | None = None  # n, from 0; None: each point is its own

    @cached_property
    def entropy(self) -> float:
        """-Σ p log p."""
        return self.affinities.entropy

    def forces(self, points: Array, how: Summation) -> Forces:
        """Return the forces at coordinates (n x p), with repulsion computed in one of several ways."""
        attraction, energy = attract(self.affinities.graph, points, self.dof)
        repulsion, total = repel(points, self.dof, how)
        return Forces(attraction, repulsion / total, energy + float(logarithm(np.asarray(total))) - self.entropy)

    def together(self, rows: Array) -> Array:
        """Return rows (n x p), each the mean of its group."""
        if self.groups is None:
            return rows
        sums = np.column_stack([np.bincount(self.groups, column) for column in rows.T])
        return np.asarray((sums / np.bincount(self.groups)[:, None])[self.groups])


RISE, FALL, LEAST = 0.2, 0.8, 0.01  # of a gain: added where a step goes on, a factor where it turns, and added to that
LONGEST = 5.0  # length of a step of a point


@result("descent")
@frozen
class DescentState:
    """Coordinates of points, their last step and the gain of each number (n x p each), and the forces there."""

    points: Array
    velocity: Array
    gains: Array
    attraction: Array
    repulsion: Array
    divergence: float

    @property
    def objective(self) -> float:
        """The divergence."""
        return self.divergence

    @classmethod
    def at(cls, points: Array, forces: Forces, *, velocity: Array, gains: Array) -> "DescentState":
        """Return the motion at some coordinates."""
        return cls(points, velocity, gains, forces.attraction, forces.repulsion, forces.divergence)


class Descent(Options):
    """A schedule of descent: first with exaggerated attraction, then with the affinities as they are."""

    early_exaggeration: float = option(12.0, "Factor of attraction in the first steps, by which groups form.", gt=0)
    early_steps: int = option(250, "Number of first steps with this attraction.", ge=0)
    exaggeration: float = option(1.0, "Factor of attraction in the other steps; above 1 groups become more compact.",
                                 gt=0)
    steps: int = option(500, "Number of the other steps.", ge=1)
    rate: float | None = option(None, "Learning rate (default: the number of points over the factor of attraction).",
                                gt=0)
    early_momentum: float = option(0.8, "Share of the last step that the next one keeps, in the first steps.", ge=0,
                                   lt=1)
    momentum: float = option(0.8, "Share of the last step that the next one keeps, in the other steps.", ge=0, lt=1)

    @property
    def count(self) -> int:
        """The number of all steps."""
        return self.early_steps + self.steps

    def __call__(self, divergence: Divergence, start: Array, how: Summation,
                 springs: Springs | None = None) -> Iterated[DescentState]:
        """Return the motion after all steps from coordinates (n x p).

        A gain rises while a number moves in one direction, and falls where it turns (Jacobs, 1988). Points move all at
        once, and stay centered; with springs, each step ends with an implicit one of theirs. Source of the schedule:
        Belkina and others, 2019; Linderman and Steinerberger, 2019.
        """
        def step(before: DescentState, number: int) -> DescentState:
            early = number < self.early_steps
            factor = self.early_exaggeration if early else self.exaggeration
            momentum = self.early_momentum if early else self.momentum
            gradient = divergence.together(factor * before.attraction - before.repulsion)
            whole = gradient if springs is None else gradient + springs.slope(before.points)
            turns = np.sign(before.velocity) == np.sign(whole)
            gains = np.where(turns, FALL * before.gains + LEAST, before.gains + RISE)
            with np.errstate(over="ignore", invalid="ignore"):
                velocity = momentum * before.velocity - (self.rate or len(start) / factor) * gains * gradient
                lengths = np.linalg.norm(velocity, axis=1, keepdims=True)
            if not np.isfinite(lengths).all():
                raise NumericalError("DIVERGED", f"the step of iteration {number + 1} is not finite",
                                     hint="use a smaller learning rate (method.descent.rate)")
            velocity = np.where(lengths > LONGEST, velocity / np.maximum(lengths, LONGEST) * LONGEST, velocity)
            points = before.points + velocity
            if springs is None:
                points -= points.mean(axis=0)
            else:
                points = springs(points, (self.rate or len(start) / factor) * gains)
                velocity = points - before.points
            return DescentState.at(points, forces(points), velocity=velocity, gains=gains)

        def forces(points: Array) -> Forces:
            found = divergence.forces(points, how)
            return found if springs is None else replace(
                found, divergence=found.divergence + 2 * springs.energy(points))

        begun = divergence.together(start)
        first = DescentState.at(begun, forces(begun), velocity=np.zeros_like(begun),
                                gains=np.ones_like(begun))
        return follow_schedule(step, first, self.count)


MOST_AXES = 3
LEAST_DOF = 1e-200
TRUE_ROWS = 10_000  # up to which the divergence that is stated is that of all pairs
MOTION = 12  # arrays of coordinates while a step is made
FEW = 1.2  # least perplexity of a graph by default
NAMED = {"exact": "all pairs", "grid": "a grid", "tree": "a tree"}


def largest(count: int) -> float:
    """Return the largest perplexity that so many points allow: one below a third of the others."""
    return (count - 1.5) / 3


Perplexity = Annotated[float, Field(gt=1)]
SHORT = {"early_steps": 15, "steps": 10}
COLUMNS = 3  # time of a column of a distance with its error bound, in that of the fit's distances
FORCES = 2  # time of both forces of a pair by SciPy, in that of the measures of a pair
ADDED = 0.3  # of the steps after the first ones: those of rows that are added to a layout


class TSNE(NeighborEmbedding):
    """A layout in which neighbors stay neighbors: near points attract each other, and all repel each other (t-SNE).

    It keeps neighbors and nothing else: distances between groups, and the sizes and densities of groups, mean little,
    and groups may appear where there are none. It fails if the start does not show the groups: their parts then lie in
    different places and never meet. Set `perplexity` first, about the number of neighbors that count for a point, and
    look at a few values of it.

    How it works: Each point has affinities p to the others. They are shares that fall with distance like a Gaussian
    curve; the width of the curve is chosen for each point so that about as many neighbors count as `perplexity` says.
    In the layout, pairs of points have shares q that fall more slowly with distance. Two points attract each other as p
    says and repel each other as q says, until both shares agree as well as they can.

    A point has affinities to its 3 x perplexity nearest points. They are averaged over both directions and, if several
    perplexities are given, over these. Coordinates minimize the Kullback-Leibler divergence Σ p log (p / q), which says
    how far the shares q are from p. Here q is (1 + d²/α)^(-α) divided by its sum over all pairs, with d the distance of
    a pair in the layout and α the degrees of freedom (`dof`): below 1, groups split further.

    The descent: Coordinates are found by gradient descent, whose first steps exaggerate attraction (`descent`). It
    starts from principal components, scaled to a standard deviation of 0.0001, from eigenmaps of the affinities
    (`laplacian`), or from random points. Points that are equal stay together. For up to 6,000 points the repulsion of
    every pair is computed; for more points it is interpolated on a grid, or in a layout of three axes summed over a
    tree. Coordinates are centered and rotated to their principal axes. Any processor and any number of threads give the
    same bytes.

    New points: A new point starts at the mean of its neighbors, weighted by its affinities to them, and takes 50 steps
    that lower its own divergence, while the training points stay fixed. A new point that equals a training point is
    placed on it.

    Files: `trace.csv` holds the divergence after each step. `fit.slope` in `run.json` is the size of the gradient at
    the end divided by that of attraction alone: it is small, but not zero.

    Source: van der Maaten and Hinton, "Visualizing data using t-SNE", 2008; schedule and start: Kobak and Berens, "The
    art of using t-SNE for single-cell transcriptomics", 2019; Belkina and others, 2019.
    """

    loses: ClassVar = ("The picture shows neighbors as far as it can, and nothing else: distances between groups and "
                       "the sizes and densities of groups mean little here, and there may be groups that the data "
                       "does not have.")
    variants: ClassVar = (
        variant("", descent=SHORT), variant("scales", "rotation", "shift", perplexity=[4.0, 10.0], metric="cityblock",
                                            dof=0.7, descent=SHORT),
        variant("random", "permutation", start="random", descent=SHORT))
    takes_anchors: ClassVar = True
    later: ClassVar = ("search",)
    axis: ClassVar = "t-SNE"
    name: Literal["tsne"] = "tsne"
    metric: AnyMetric = EUCLIDEAN
    perplexity: Perplexity | Annotated[tuple[Perplexity, ...], Strict(False), Field(min_length=1)] = option(
        30.0, "About the number of neighbors that count, below (n - 1) / 3; or several such numbers.", adapts=True)
    search: Search = option("exact", SEARCH)
    start: Start = option("pca", "First coordinates: principal components (pca), eigenmaps of the affinities "
                          "(laplacian), or random ones.", adapts=True)
    dof: float = option(1.0, "Degrees of freedom of Student's t-distribution; fewer split groups further.", gt=0)
    descent: Descent = Descent()
    axes: PlainAxes = PlainAxes()

    @property
    def perplexities(self) -> tuple[float, ...]:
        """The perplexities, of which the affinities are means."""
        return self.perplexity if isinstance(self.perplexity, tuple) else (float(self.perplexity),)

    def makes(self, kind: str = "features") -> tuple[Name, ...]:
        """Return the intermediate results that a run may keep: the joint affinities."""
        return ("weights",)

    def require(self, data: Input) -> None:
        """Raise ConfigError for more axes than repulsion is computed for, and for a search that the metric does not
        allow.
        """
        super().require(data)
        require_search(self.search, data)
        if self.axes.count > MOST_AXES:
            raise ConfigError("COMPONENTS", f"{self.axes.count} axes were requested, but {self.name} has at most "
                              f"{MOST_AXES}", where="method.axes.components", hint=f"ask for at most {MOST_AXES}")

    def resolved_stages(self, data: Any) -> dict[str, Any]:
        """Return perplexity and start for the data; raises ConfigError for chosen ones that it does not allow."""
        require_points(data)
        if isinstance(data, WeightedGraph):
            self.refuse_unused("the graph is given", "search")
        return {**self.start_for(data), **self.perplexity_for(data)}

    def start_for(self, data: Joined) -> dict[str, Any]:
        """Return the start: for a graph eigenmaps, as it has no features."""
        if not isinstance(data, WeightedGraph) or self.start != "pca" or self._first is not None:
            return {}
        if self.chosen("start"):
            raise ConfigError("START", "a graph has neither features nor all dissimilarities, so no principal axes",
                              where="method.start", hint="choose laplacian or random")
        return {"start": "laplacian"}

    def perplexity_for(self, data: Joined) -> dict[str, Any]:
        """Return a default perplexity clipped to the data; raises ConfigError for a chosen one that is too large."""
        if isinstance(data, AffinityGraph):
            return self.refuse_unused("the affinities are given", "perplexity")
        most = largest(len(data.values))
        if self.chosen("perplexity"):
            if max(self.perplexities) >= (len(data.values) - 1) / 3:
                raise ConfigError("PERPLEXITY", f"a perplexity of {max(self.perplexities):g} was requested: it must "
                                  f"be below {(len(data.values) - 1) / 3:.4g}, a third of the other points",
                                  where="method.perplexity", hint=f"use at most {np.floor(10 * most) / 10:.10g}")
            return {}
        if isinstance(data, WeightedGraph):
            most = min(most, max(float(np.median(np.diff(data.starts))) / 3, FEW))
        if max(self.perplexities) <= most:
            return {}
        few = "the edges of a point" if isinstance(data, WeightedGraph) else "the points"
        note("N-PERPLEXITY", f"perplexity reduced from {self.perplexity:g} to {most:.4g}, about a third of {few}",
             perplexity=most)
        return {"perplexity": most}

    def searched(self, data: Input) -> int:
        """Return how many neighbors of each point an approximate search looks for; 0 where the search is exact."""
        return reach(self.perplexities) if self.search == "approximate" and isinstance(data, Features) else 0

    def limit(self, data: Input) -> int:
        """Return the largest number of axes: three, as repulsion is computed for no more."""
        return MOST_AXES

    def stored(self, data: Input) -> float:
        """Return the bytes of training rows and their coordinates in the model."""
        rows = 0.0 if data.points is None else 8.0 * data.points.size
        return rows + 8.0 * len(data.values) * (self.axes_of(data) + len(self.perplexities))

    def certified_seconds(self, data: Joined, steps: Sequence[Step]) -> float:
        """Predict the seconds of distances from all points to those of a sample, and of the forces of few points."""
        size, count = len(data.values), self.searched(data)
        if count and not searches_all(data.values.shape, count):
            return 0.0
        forces = FORCES * float(size)**2 * rates().measured if size <= ALL_ROWS else 0.0
        if isinstance(data, WeightedGraph):  # whose edges are the distances
            return forces
        wide = data.values.shape[1] * metric_of(data).column_seconds if isinstance(data, Features) else 0.0
        pairs = float(size) * (size if size <= ALL_ROWS else SOME_ROWS)
        return forces + pairs * (rates().measured + COLUMNS * wide)

    def composition(self, data: Joined, compute: Compute, share: float | None = None) -> "TSNEComposition":
        """Return the stages: affinities, first coordinates, their descent, and principal axes."""
        return TSNEComposition(self, data, compute)

    def start_steps(self, data: Joined, entries: float, compute: Compute) -> list[Step]:
        """Return the steps of the first coordinates; none of random or given ones."""
        if self._first is not None:
            return []
        if self.start == "pca":
            return [leading_step(len(data.values), data.values.shape[1], self.axes.count)]
        return [eigenmap_step(entries, len(data.values), self.axes.count)] if self.start == "laplacian" else []

    def affinities(self, data: Joined) -> tuple[JointAffinities, Indices | None]:
        """Return the joint affinities, and the groups of equal points (n), from one search of neighbors."""
        lists = affinity_lists(data, self.perplexities, self.search)
        return joint_affinities(data, lists, self.perplexities), groups_of(data, lists)

    @staticmethod
    def last(count: int, axes: int) -> Summation:
        """Return how the divergence that is stated is summed, for so many points and axes."""
        return "exact" if count <= TRUE_ROWS else choose_summation(count, axes)

    def first(self, data: Joined, affinities: JointAffinities, compute: Compute) -> Array:
        """Return the first coordinates (n x p); given ones as they are."""
        axes, given = self.axes.count, self.first_points(data)
        if given is not None:
            return given
        if self.start == "random":
            return random_start(len(data.values), axes, compute) * SIZE
        found = eigenmaps(affinities, axes, compute) if self.start == "laplacian" else first_coordinates(
            data, axes)  # type: ignore[arg-type]
        return small_start(found, axes, compute)

    @property
    def neighborhood(self) -> float:
        """The largest perplexity."""
        return max(self.perplexities)

    def point_losses(self, data: Input, model: Model, compute: Compute) -> LayoutLosses:
        """Return the terms of the divergence with each point, as functions of its own place."""
        from mlcli.methods.neighbor_embedding.own_losses import student_losses

        assert isinstance(model.projector, Projector)
        placing, affinities = model.projector.similarity, model.products["weights"]
        assert isinstance(affinities, Sparse)
        return student_losses(model.embedding, affinities, self.dof, placing if isinstance(placing, Entering) else None)

    @classmethod
    def trials(cls, seen: InputSummary) -> Trials:
        """Return several perplexities; one for very many rows."""
        fitting = [size for size in (30.0, 10.0, 100.0) if size < (seen.rows - 1) / 3]
        return Trials(({}, *({"perplexity": size} for size in fitting[1:] if seen.rows <= MANY)))

    def layout_among(self, data: Any, places: Array, moving: Indices, projector: Projector, compute: Compute) -> Model:
        """Return the model of rows placed by the divergence of the pairs that they are in."""
        similarity: Any = projector.similarity
        rows = AddedRows.of(data, places, moving, reach(self.perplexities))
        known, precisions = similarity.precisions, np.zeros((len(places), len(self.perplexities)))
        former = np.setdiff1d(np.arange(len(known)), moving)
        precisions[former] = known[former]
        if not len(rows.moving):
            return self.model_among(data, places, moving, projector, {"added": len(moving), "iterations": 0},
                                    precisions=precisions)
        rate = 1.0 if self.descent.rate is None else self.descent.rate / len(places)
        found = add_by_affinity(rows.neighbors, places[rows.fixed], self.perplexities, self.dof,
                                steps=self.added_steps, rate=rate)
        places[rows.moving], precisions[rows.moving] = found.points, found.precisions
        return self.model_among(data, places, moving, projector, {
            "added": len(moving), "divergence": found.ended.state.objective, "slope": found.ended.state.slope,
            "iterations": len(found.ended.trace)}, found.ended.trace, precisions=precisions)

    @property
    def added_steps(self) -> int:
        """The number of steps of descent of added rows."""
        return max(round(ADDED * self.descent.steps), 1)

    def steps_among(self, data: Any, count: int, compute: Compute) -> list[Step]:
        """Return the steps of neighbors of added rows and their descent among the others."""
        size, entries, threads = len(data.values), float(count) * reach(self.perplexities), compute.thread_count()
        pairs, axes = float(count) * size * rates().bent / threads, self.axes.count
        return [*added_neighbor_steps(data, count, reach(self.perplexities), threads),
                Step("iterate", f"{self.added_steps} steps of {count:,} rows among {size - count:,}",
                     self.added_steps * (pairs + attract_seconds(int(BOTH_WAYS * entries), (size, axes), threads)),
                     entry_bytes(size) * BOTH_WAYS * entries + 8.0 * MOTION * size * axes)]

    def checks_among(self, subject: Subject, moving: Indices) -> Iterator[Check]:
        """Check the perplexity of added rows, and divergence and slope by sums of another library."""
        yield from added_divergence_checks(subject.data, subject.model, moving, self.perplexities, self.dof,
                                           full=subject.plan.full)

    def checks_tied(self, subject: Subject, anchors: Anchors) -> Iterator[Check]:
        """Check the perplexity of affinities, and divergence and penalized slope by sums of another library."""
        yield from divergence_checks(subject.data, subject.model, self.perplexities, self.dof, full=subject.plan.full,
                                     anchors=anchors)

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check principal axes, the perplexity of affinities, and divergence and slope by sums of another library."""
        yield from super().checks(subject)
        count = self.searched(subject.data)
        approximate = bool(count) and not searches_all(subject.data.values.shape, count)
        if approximate:
            yield listed_recall_check(subject, count, "weights")
        yield from divergence_checks(subject.data, subject.model, self.perplexities, self.dof, full=subject.plan.full,
                                     exact=not approximate)


@frozen
class TSNEComposition(Composition[Model]):
    """Coordinates by descent from the start, on principal axes."""

    method: TSNE
    data: Joined
    compute: Compute

    @FitStage
    def affinities(self) -> tuple[JointAffinities, Indices | None]:
        """The joint affinities of neighbors, and the groups of equal points.

        Raises ConfigError for so few degrees of freedom that squared distances over them overflow.
        """
        if self.method.dof < LEAST_DOF:
            raise ConfigError("DOF", f"{self.method.dof:g} degrees of freedom leave no forces between points",
                              where="method.dof", hint=f"give at least {LEAST_DOF:g}")
        return self.method.affinities(self.data)

    @affinities.cost
    def _(self) -> list[Step]:
        return affinity_steps(self.data, self.method.perplexities, self.compute, self.method.search)

    @property
    def entries(self) -> float:
        """The predicted number of affinities."""
        return entries_of(self.data, self.method.perplexities)

    @FitStage
    def start(self) -> Array:
        """The first coordinates (n x p)."""
        return self.method.first(self.data, self.affinities[0], self.compute)

    @start.cost
    def _(self) -> list[Step]:
        return self.method.start_steps(self.data, self.entries, self.compute)

    @cached_property
    def divergence(self) -> Divergence:
        """The divergence of affinities from those of a layout."""
        affinities, equal = self.affinities
        return Divergence(affinities, self.method.dof, equal)

    @cached_property
    def springs(self) -> Springs | None:
        """The forces of anchors: at the radius of former places that of all affinities of a point at their strongest.

        Attraction d / (1 + d²/α) of an affinity is at most √α / 2, and the affinities of a point have about the sum
        1 / n.
        """
        anchors, method = self.method._anchors, self.method
        return None if anchors is None else anchors.springs(
            float(np.sqrt(method.dof)) / (2 * anchors.radius * len(anchors.places)), self.affinities[1])

    @FitStage
    def ended(self) -> Iterated[DescentState]:
        """The motion after all steps."""
        method, springs = self.method, self.springs
        descent = method.descent if springs is None else method.descent.replace(early_steps=0)
        return descent(self.divergence, self.start, choose_summation(*self.start.shape), springs)

    @ended.cost
    def _(self) -> list[Step]:
        (count, axes), steps, threads = self.shape, self.method.descent.count, self.compute.thread_count()
        how = choose_summation(count, axes)
        each = repel_seconds(count, axes, how, threads) + attract_seconds(int(self.entries), self.shape, threads)
        return [Step("iterate", f"{steps} steps, repulsion by {NAMED[how]}", steps * each, self.held)]

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of points and of axes."""
        return len(self.data.values), self.method.axes.count

    @property
    def held(self) -> float:
        """Bytes of affinities, of coordinates and of what their forces take."""
        count, axes = self.shape
        return entry_bytes(count) * self.entries + 8.0 * MOTION * count * axes + repel_bytes(
            count, axes, choose_summation(count, axes)) + attract_bytes(count, axes)

    @FitStage
    def placed(self) -> tuple[Array, Forces]:
        """The coordinates on principal axes (n x p), and the forces there."""
        with running("coordinates"):
            points = self.ended.state.points
            points = principal(points) if self.springs is None else points
            return points, self.divergence.forces(points, self.method.last(*points.shape))

    @placed.cost
    def _(self) -> list[Step]:
        count, axes = self.shape
        return [Step("coordinates", "principal axes, and the divergence there", repel_seconds(
            count, axes, self.method.last(count, axes), self.compute.thread_count()), self.held,
                     needs=SPARSE)]  # of the checks

    def result(self) -> Model:
        """Return the layout, which new points enter by their own affinities."""
        method, data, (affinities, _), (points, found) = self.method, self.data, self.affinities, self.placed
        axes, slope = points.shape[1], found.slope
        if self.springs is not None and length(found.attraction) > 0:
            slope = length(found.attraction - found.repulsion + self.springs.slope(points)) / length(found.attraction)
        similarity: Similarity = Calibrated(affinities.precisions, method.dof, axes)
        if not isinstance(data, WeightedGraph):
            training, metric = training_points(data)
            similarity = Entering(points, training, affinities.precisions, method.perplexities, method.dof, metric)
        return Model(embedding=points, objective=Quantity(self.ended.trace),
                     projector=Projector(similarity, uncentered(axes), np.eye(axes)),
                     fit={"divergence": found.divergence, "slope": slope, "iterations": len(self.ended.trace)},
                     products={"weights": Sparse(affinities.starts, affinities.indices, affinities.values)})
