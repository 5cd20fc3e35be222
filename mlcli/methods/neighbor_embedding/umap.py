"""Uniform manifold approximation and projection.

A fuzzy graph, its start, and epochs of sampled forces.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.footprint import OPTIMIZE, SPARSE
from mlcli.base.machine.rates import rates
from mlcli.base.stages.composition import Composition, FitStage
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import AffinityGraph, Dissimilarities, Features, Input, Joined, Labeled, WeightedGraph
from mlcli.base.values.options import option
from mlcli.base.values.products import Name, Sparse
from mlcli.base.values.quantity import Quantity
from mlcli.certify.subject import Subject
from mlcli.core.centering import uncentered
from mlcli.core.eigen.options import PlainAxes
from mlcli.core.graph.graph import Graph
from mlcli.core.graph.neighbors import Nearest, NeighborCount
from mlcli.core.graph.search import Lists
from mlcli.core.iterate import Iterated
from mlcli.core.krylov import SPARE
from mlcli.core.layouts.anchors import Anchors, Springs
from mlcli.core.layouts.own_losses import LayoutLosses
from mlcli.core.metrics import EUCLIDEAN, AnyMetric
from mlcli.core.metrics.distances import training_points
from mlcli.core.model import Model
from mlcli.core.similarities.projector import NoProjection, Projector
from mlcli.errors import ConfigError
from mlcli.methods.layouts import NeighborEmbedding, centered_axes
from mlcli.methods.neighbor_embedding.added_points import AddedRows, add_by_edges, added_neighbor_steps, room_for
from mlcli.methods.neighbor_embedding.check import (
    PAIRS,
    added_edge_checks,
    listed_recall_check,
    sampled_checks,
    tied_edge_checks,
)
from mlcli.methods.neighbor_embedding.fuzzy_graph import (
    BLOCK,
    class_graph,
    fuzzy_graph_of,
    graph_lists,
    known_classes,
    start_points,
    with_lengths,
)
from mlcli.methods.neighbor_embedding.negative_sampling import (
    REPEATED,
    Density,
    DensityTerm,
    Epoch,
    MembershipCurve,
    Sampling,
    density_term,
    fit_curve,
    follow_edges,
)
from mlcli.methods.neighbor_embedding.new_points import SampledForces
from mlcli.methods.neighbor_embedding.repulsion import doublings_beyond_cache
from mlcli.methods.trials import InputSummary, Trials, single_trial, variant

MANY, EPOCHS = 10_000, (500, 200)  # points up to which there are so many epochs, and beyond
MORE = 200  # epochs with a density term, as in umap-learn
PLACING = 0.2, 0.25  # share of the epochs, and of the first rate, by which new points are placed
BOTH_WAYS = 1.5  # edges of the graph for each neighbor
SHARE = 0.35  # of the edges that are due in an epoch
SAMPLE = 14.0  # work of a force, in functions of one distance
MISSED = 0.15  # of that, for each doubling of coordinates beyond a core's cache
HELD, ONCE = 24.0, 70.0  # bytes of an edge while points move, and while the graph is made
SOLVING = 64.0  # bytes of a number of a block whose scales are searched for
BASIS = 18  # blocks of the eigensolve at once
START = 10_000.0  # work of a start for an edge, in bytes of a pass over memory


@frozen
class Layout:
    """A layout with what it was made of: graph of memberships, curve, start, how points moved, and the density term."""

    graph: Graph
    neighbors: Graph  # with lengths, or given affinities, in place of memberships
    curve: MembershipCurve
    start: Array  # n x p
    sampling: Sampling
    ended: Iterated[Epoch]
    term: DensityTerm | None


def edges_of(data: Joined, neighbors: int) -> float:
    """Return about how many edges the graph has, both ways."""
    return float(len(data.indices)) if isinstance(data, WeightedGraph) else BOTH_WAYS * len(data.values) * neighbors


CHAOS = ("picture", "twins")  # rounding of the data grows from epoch to epoch, on all processors alike


def force_seconds(count: int, axes: int) -> float:
    """Return the seconds of a force among so many points: sampled ones are anywhere in memory."""
    return SAMPLE * (1 + MISSED * doublings_beyond_cache((count, axes))) * rates().bent


class UMAP(NeighborEmbedding):
    """A layout of points, each pulled toward its neighbors in the data and pushed away from random others (UMAP).

    It keeps which points are neighbors. Distances between groups and sizes of groups mean little, and so do densities
    unless `density` is set; another `seed` gives another picture. It fails with too few neighbors: the data then break
    into groups that do not exist. Set the number of neighbors first (`-k`): more show the overall structure, fewer show
    detail. Then set `min_dist`: the smaller it is, the tighter neighbors are packed.

    How it works: Each point is joined to its nearest neighbors, and each of these edges has a membership between 0 and
    1: how much the neighbor belongs to the point's surroundings. Then the points are laid out anew. Edges pull their
    ends together, the more often the larger their membership, and every point is pushed away from others drawn at
    random.

    Memberships: The membership of a neighbor at distance d of a point is exp(-(d - ρ) / σ), and 1 if d is at most ρ.
    Here ρ is the distance of the point to its nearest neighbor that is not an equal point, or to the one of rank
    `local_connectivity`. σ is a scale for the point that adapts to the density around it: it is chosen so that the
    memberships of the point's neighbors sum to log₂(c + 1), with c the number of neighbors (`neighbors.count`). Two
    points are joined by an edge if either is a neighbor of the other. The memberships u and v of the two directions,
    zero where a point is no neighbor, are combined into the weight w = u + v - u v of the edge (their union), with
    `mix_ratio` 0 into u v (their intersection), and between 0 and 1 into a weighted mean of both. `umap-learn` counts a
    point itself among its neighbors: its `n_neighbors` is `neighbors.count` plus one.

    The layout: In the layout, two points at distance d have the membership q = 1 / (1 + a d²ᵇ), with a and b fitted to
    `min_dist` and `spread`. The layout begins at `start`, and is then moved in epochs. Every edge counts twice, from i
    to j and from j to i, and each of these is used in a share w / max w of the epochs. An edge that is used is called
    due: it pulls both of its ends together and draws random points (samples), from which its first end is pushed away;
    the samples stay. If the graph is in pieces, the start `spectral` keeps the pieces apart. Coordinates are centered,
    rotated to their principal axes, and have no unit. Any processor and any number of threads give the same bytes.

    On average, a step goes down the gradient of Σᵢⱼ wᵢⱼ (-log qᵢⱼ + (γ s / n) Σₖ -log(1 - qᵢₖ)). The outer sum is over
    the edges in both directions, and the inner one over all n points k; s is `negative_samples` and γ is `repulsion`.
    This differs from the objective stated in the UMAP paper, the fuzzy cross entropy, in which pairs repel each other
    with the weights 1 - w (Damrich and Hamprecht, 2021).

    With classes: With a `target_weight` t, UMAP is supervised: the classes of the first label column change
    memberships, as in `umap-learn`. Classes can then be separate in the picture although they are not in the data.
    Memberships between two classes are multiplied by exp(-2.5 / (1 - t)), which is zero at t = 1, and memberships of a
    row without a label by exp(-1). The memberships of each point are then divided by the largest of them, and the two
    directions are combined again. A weight of 0 therefore still uses the labels: leave `target_weight` out to ignore
    them.

    With densities: UMAP by itself packs sparse and dense groups about alike. With `density` (densMAP; `--set
    method.density.weight=2`), points that lie apart from their neighbors in the data also do so in the picture. For
    this the objective gets one more term in the last epochs, the correlation between local radii in the data and in the
    layout. A local radius says how far a point's neighbors are: its logarithm is log(ε + Σ m d² / Σ m) over the edges
    of the point. Here d is the length of an edge and m its membership, in the data w, in the layout q. ε is 1e-8 in the
    layout, and in the data 1e-8 times the median of Σ m d² / Σ m over the points. The correlation has the weight λ Σ w,
    with λ the option `density.weight` and the sum over the edges in both directions. Points with a large radius move
    away from their neighbors, even from neighbors with the same features.

    New points: A new point starts at the mean of its neighbors, weighted by membership. It is then moved for a fifth of
    the epochs, without `density`, while all training points stay fixed. A new point that equals a training point is
    placed on it. New points need no label.

    Files: `trace.csv` holds an estimate of the objective for each epoch: the cost of the edges that were due and of
    their samples, divided by the number of these edges. With `density`, `radii.csv` holds the log radii, and
    `fit.radius_correlation` in `run.json` their correlation between data and layout.

    Source: McInnes, Healy and Melville, "UMAP: uniform manifold approximation and projection for dimension reduction",
    2018; Damrich and Hamprecht, "On UMAP's true loss function", 2021; Narayan, Berger and Cho, "Assessing single-cell
    transcriptomic variability through density-preserving data visualization", 2021.
    """

    loses: ClassVar = ("The picture shows neighbors as far as it can, and little else: distances between groups and "
                       "the sizes and densities of groups mean little here, and another seed gives another picture.")
    loses_less: ClassVar = ("The picture shows neighbors as far as it can, and local densities in part: where points "
                            "are dense in the data, they are denser here. Distances between groups mean little, and "
                            "another seed gives another picture.")
    variants: ClassVar = (variant("", *CHAOS, neighbors={"count": 9}, epochs=100),
                          variant("density", *CHAOS, "near twins", neighbors={"count": 9}, epochs=100, density={}),
                          variant("cityblock", *CHAOS, "rotation", neighbors={"count": 9}, epochs=100,
                                  metric="cityblock", start="random"))
    later: ClassVar = ("density",)
    takes_anchors: ClassVar = True
    axis: ClassVar = "UMAP"
    name: Literal["umap"] = "umap"
    metric: AnyMetric = EUCLIDEAN
    neighbors: NeighborCount = NeighborCount()  # type: ignore[assignment]
    local_connectivity: float = option(
        1.0, "Rank of the neighbor up to whose distance memberships are 1; between whole numbers, distances are "
        "interpolated.", ge=0)
    mix_ratio: float = option(
        1.0, "Mixture of the memberships of both directions: their union (1), their intersection (0), or a weighted "
        "mean of the two.", ge=0, le=1)
    target_weight: float | None = option(
        None, "How much the classes of the first label column count: at 0 memberships between classes are multiplied "
        "by exp(-2.5), at 1 there are none (default: labels are not used).", ge=0, le=1)
    density: Density | None = option(
        None, "A term that keeps local densities in part, as densMAP does; setting one of its options switches it on "
        "(default: none).")
    min_dist: float = option(0.1, "Distance in the layout up to which points count as together, at most `spread`: the "
                             "smaller it is, the tighter groups are packed.", ge=0)
    spread: float = option(1.0, "Distance in the layout, beyond min_dist, over which memberships fall by a factor e: "
                           "the scale of the picture.", gt=0)
    start: Literal["spectral", "pca", "random"] = option(
        "spectral", "Start: Laplacian eigenmaps of the graph (spectral; docs/methods/laplacian.md), principal "
        "components (pca), or random points (random).")
    epochs: int | None = option(None, "Number of epochs (default: 500 up to 10,000 points, then 200; 200 more "
                                "with densities).", ge=1, le=1_000_000)
    learning_rate: float = option(1.0, "Rate of the first epoch; it falls to zero linearly.", gt=0, le=1000)
    negative_samples: int = option(5, "Number of random points (samples) that an edge draws when it is due.", ge=0,
                                   le=1000)
    repulsion: float = option(1.0, "Weight γ of the repulsion from samples.", ge=0, le=1000)
    axes: PlainAxes = PlainAxes()

    def loss(self) -> str:
        """Return the sentence on what its pictures do not show: with a density term, densities in part."""
        return self.loses if self.density is None else self.loses_less

    def makes(self, kind: str = "features") -> tuple[Name, ...]:
        """Return the intermediate results that a run may keep: the neighbor graph, and its memberships."""
        return "graph", "weights"

    def for_products(self) -> Self:
        """Return the method with one epoch from random points: the graph comes before the layout."""
        return self.replace(start="random", epochs=1, density=None)

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return the neighbors; raises ConfigError for options that a given graph has no use for, or without labels."""
        if self.target_weight is not None and not isinstance(data, Labeled):
            raise ConfigError("NEEDS", "a target_weight needs features with a label column" + (
                "" if isinstance(data, Features) else f", not {data.kind}"), where="method.target_weight",
                hint="give {input.label_columns}, or leave target_weight out")
        if not isinstance(data, WeightedGraph):
            return {"neighbors": self.neighbors.resolved(len(data.values))}
        if isinstance(data, AffinityGraph):
            self.refuse_unused("memberships are given", "local_connectivity", "mix_ratio")
            if self.density is not None:
                raise ConfigError("NEEDS", "densities need lengths of the edges, and memberships are given",
                                  where="method.density", hint="give lengths ({input.edges=lengths}), or leave it out")
        return self.refuse_unused("the graph is given", "neighbors")

    def epochs_of(self, data: Input) -> int:
        """Return the number of epochs, chosen or by the number of points."""
        return self.epochs or EPOCHS[len(data.values) > MANY] + MORE * (self.density is not None)

    def sampling(self, epochs: int, rate: float, seed: int) -> Sampling:
        """Return how points move in so many epochs, from a first rate."""
        return Sampling(epochs, self.negative_samples, self.repulsion, rate, seed)

    def certified_seconds(self, data: Joined, steps: Sequence[Step]) -> float:
        """Return the seconds of the graph and the layout, which the certificate repeats for few edges and epochs."""
        edges = edges_of(data, self.neighbors.count) / 2
        return sum(step.seconds for step in steps) if edges * self.epochs_of(data) <= REPEATED else 0.0

    def composition(self, data: Joined, compute: Compute, share: float | None = None) -> "UMAPComposition":
        """Return the stages: neighbors, a graph of memberships, first coordinates, and epochs of sampled forces."""
        return UMAPComposition(self, data, compute)

    def class_facts(self, data: Joined) -> dict[str, int]:
        """Return the number of classes and of rows without one, where labels are used."""
        if self.target_weight is None or not isinstance(data, Labeled):
            return {}
        classes = known_classes(data.labels)
        return {"classes": int(classes.max()) + 1, "unlabeled": int(np.sum(classes < 0))}

    def projector(self, data: Joined, points: Array, found: Layout) -> Projector | NoProjection:
        """Return the map of new points into the layout (n x p); a given graph has none."""
        if not isinstance(data, Features | Dissimilarities):
            return NoProjection("this run was made from a graph: new points cannot be compared with its points, which "
                                "have no features", "fit the graph with the new points in it")
        epochs, axes = max(round(PLACING[0] * found.sampling.epochs), 1), points.shape[1]
        training, metric = training_points(data)
        similarity = SampledForces(points, training, Nearest(self.neighbors.count), self.local_connectivity,
                                   found.curve, self.sampling(epochs, PLACING[1] * self.learning_rate,
                                                              found.sampling.seed), metric)
        return Projector(similarity, uncentered(axes), np.eye(axes))

    @property
    def neighborhood(self) -> float:
        """The number of neighbors."""
        return float(self.neighbors.count)

    def point_losses(self, data: Input, model: Model, compute: Compute) -> LayoutLosses:
        """Return what the expected step of each point follows, as functions of its own place, without `density`."""
        from mlcli.methods.neighbor_embedding.own_losses import membership_losses

        graph = model.products["weights"]
        assert isinstance(graph, Sparse)
        placing = model.projector.similarity if isinstance(model.projector, Projector) else None
        return membership_losses(model.embedding, graph, self.sampling(self.epochs_of(data), self.learning_rate, 0),
                                 fit_curve(self.min_dist, self.spread),
                                 placing if isinstance(placing, SampledForces) else None)

    @classmethod
    def trials(cls, seen: InputSummary) -> Trials:
        """Return settings by neighborhood size; one where the input is a graph."""
        return single_trial() if seen.graph else Trials(tuple({"neighbors": {"count": count}} for count in seen.counts))

    def layout_among(self, data: Any, places: Array, moving: Indices, projector: Projector, compute: Compute) -> Model:
        """Return the model of rows placed by sampled forces along the edges of their memberships."""
        similarity: Any = projector.similarity
        curve: MembershipCurve = similarity.curve
        scale = similarity.scale * room_for(len(places), len(similarity.coordinates))
        said = {"added": len(moving), "a": curve.a, "b": curve.b, "seed": compute.seed, "scale": scale}
        rows = AddedRows.of(data, places, moving, self.neighbors.count)
        if not len(rows.moving):
            return self.model_among(data, places, moving, projector, {**said, "edges": 0, "membership": 0.0},
                                    scale=scale)
        found = add_by_edges(rows.neighbors, places[rows.fixed] * scale, self.local_connectivity, self.mix_ratio,
                             curve=curve, sampling=replace(similarity.sampling, epochs=self.epochs_of(data)))
        places[rows.moving] = found.points / scale
        return self.model_among(data, places, moving, projector, {
            **said, "edges": found.graph.edges, "membership": float(np.cumsum(found.graph.lengths)[-1])},
            found.ended.trace, scale=scale)

    def steps_among(self, data: Any, count: int, compute: Compute) -> list[Step]:
        """Return the steps of neighbors of added rows and their epochs among the others."""
        threads, epochs = compute.thread_count(), self.epochs_of(data)
        edges = BOTH_WAYS * count * self.neighbors.count
        return [*added_neighbor_steps(data, count, self.neighbors.count, threads),
                Step("iterate", f"{epochs} epochs of {count:,} rows among {len(data.values) - count:,}",
                     epochs * edges * SHARE * (2 + self.negative_samples)
                     * force_seconds(len(data.values), self.axes.count) / threads,
                     HELD * 2 * edges + 48.0 * len(data.values) * self.axes.count)]

    def checks_among(self, subject: Subject, moving: Indices) -> Iterator[Check]:
        """Check the curve, memberships of added rows by another formula, and that they follow from the seed."""
        yield from added_edge_checks(self, subject.data, subject.model, moving, full=subject.plan.full)

    def checks_tied(self, subject: Subject, anchors: Anchors) -> Iterator[Check]:
        """Check memberships by a dense formula, and the curve."""
        yield from tied_edge_checks(self, subject.data, subject.model, full=subject.plan.full)

    def springs(self, anchors: Anchors, graph: Graph, curve: MembershipCurve) -> Springs:
        """Return the forces of anchors: at the radius of former places, that of all edges of a point at distance one.

        An epoch uses edges with weights w, both ways, in shares w / max w; at distance one an edge pulls with
        2 a b / (1 + a).
        """
        degree = 2 * float(np.cumsum(graph.lengths)[-1]) / (float(graph.lengths.max()) * graph.size)
        return anchors.springs(degree * 2 * curve.a * curve.b / ((1 + curve.a) * anchors.radius))

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check memberships by a dense formula, the curve, axes, and that the coordinates follow from the seed."""
        yield from super().checks(subject)
        if self.neighbors.search == "approximate" and isinstance(subject.data, Features):
            yield listed_recall_check(subject, self.neighbors.count)
        yield from sampled_checks(self, subject.data, subject.model, subject.plan.full)


@frozen
class UMAPComposition(Composition[Model]):
    """The layout by sampled forces along the edges of a graph of memberships, from the run's seed."""

    method: UMAP
    data: Joined
    compute: Compute

    @property
    def neighbors(self) -> Nearest:
        """The neighbors of a point."""
        return self.method.neighbors.neighborhood(self.data)

    @FitStage
    def lists(self) -> Lists:
        """The nearest neighbors of every point, or those to which a given graph has edges."""
        return graph_lists(self.data, self.neighbors)

    @lists.cost
    def _(self) -> list[Step]:
        return [] if isinstance(self.data, WeightedGraph) else [self.neighbors.step(self.data, self.compute)]

    @FitStage
    def graph(self) -> Graph:
        """The memberships, where classes are used intersected with these."""
        method, data = self.method, self.data
        graph = fuzzy_graph_of(data, self.lists, method.local_connectivity, method.mix_ratio)
        if method.target_weight is not None and isinstance(data, Labeled):
            return class_graph(graph, data, method.target_weight)
        return graph

    @graph.cost
    def _(self) -> list[Step]:
        edges = self.edges
        return [Step("weights", f"memberships of about {int(edges):,} edges", 4 * edges * rates().neighbor,
                     ONCE * edges + SOLVING * min(BLOCK, edges))]

    @property
    def edges(self) -> float:
        """About how many edges the graph has, both ways."""
        return edges_of(self.data, self.method.neighbors.count)

    @cached_property
    def generator(self) -> np.random.Generator:
        """Random numbers of the start, and then the seed of the epochs."""
        return np.random.default_rng(self.compute.seed)

    @cached_property
    def edge_lengths(self) -> Graph:
        """The graph with lengths in place of memberships; unless densities need it, it is made after points have moved,
        during which memory is largest.
        """
        return with_lengths(self.graph, self.lists)

    @FitStage
    def start(self) -> Array:
        """The first coordinates (n x p)."""
        method = self.method
        if method._anchors is not None and (given := method.first_points(self.data)) is not None:
            return np.ascontiguousarray(given)
        return start_points(self.data, self.graph, method.start, method.axes.count, self.generator,
                            method.first_points(self.data))

    @start.cost
    def _(self) -> list[Step]:
        kind, axes, size = self.method.start, self.method.axes.count, 8.0 * len(self.data.values)
        if kind == "random" or self.method.first_points(self.data) is not None:
            return []
        return [Step("eigensolve", f"a {kind} start", (START * self.edges if kind == "spectral" else size)
                     * rates().moved, HELD * self.edges + BASIS * size * (axes + SPARE))]

    @FitStage
    def layout(self) -> Layout:
        """The layout after all epochs."""
        method, epochs = self.method, self.method.epochs_of(self.data)
        start = self.start  # which draws its random numbers ahead of the seed of the epochs
        curve = fit_curve(method.min_dist, method.spread)
        sampling = method.sampling(epochs, method.learning_rate, int(self.generator.integers(2**62)))
        term = None if method.density is None else density_term(method.density, self.graph, self.edge_lengths.lengths,
                                                                epochs)
        springs = None if method._anchors is None else method.springs(method._anchors, self.graph, curve)
        ended = follow_edges(self.graph, start, sampling, curve, term, springs=springs)
        return Layout(self.graph, self.edge_lengths, curve=curve, start=start, sampling=sampling, ended=ended,
                      term=term)

    @layout.cost
    def _(self) -> list[Step]:
        method, edges, epochs = self.method, self.edges, self.method.epochs_of(self.data)
        dense = 0.0 if method.density is None else method.density.share
        forces = edges * (SHARE * (2 + method.negative_samples) + dense * (1 + 2 * SHARE))
        return [Step("iterate", f"{epochs} epochs of sampled forces",
                     epochs * (forces * force_seconds(len(self.data.values), method.axes.count) + edges * rates().bent)
                     / self.compute.thread_count(),
                     HELD * (2 + (dense > 0)) * edges + 48.0 * len(self.data.values) * method.axes.count,
                     needs=OPTIMIZE if len(self.data.values) <= PAIRS else SPARSE)]  # of the checks

    def result(self) -> Model:
        """Return the layout on principal axes, with the graph, and the map of new points."""
        method, data, found = self.method, self.data, self.layout
        points = found.ended.state.points
        points = centered_axes(points) if method._anchors is None else points
        radii, correlation = (None, None) if found.term is None else found.term.correlation(
            points, found.sampling.form(found.curve))
        return Model(embedding=points, objective=Quantity(found.ended.trace), radii=radii,
                     projector=method.projector(data, points, found),
                     fit={"a": found.curve.a, "b": found.curve.b, "edges": found.graph.edges, "seed": self.compute.seed,
                          "membership": float(found.graph.lengths.sum()),
                          **({} if found.term is None else {"radius_correlation": correlation}),
                          **method.class_facts(data), **found.ended.facts},
                     products={"graph": found.neighbors.product(), "weights": replace(
                         found.graph.product(), carried="input" if isinstance(data, AffinityGraph) else "none")})
