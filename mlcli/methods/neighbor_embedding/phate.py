"""PHATE, metric scaling of potential distances of a random walk."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import pass_cost, product_rate, rates
from mlcli.base.stages.composition import Composition, FitStage
from mlcli.base.stages.stage import note, running
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import AffinityGraph, Dissimilarities, Features, Input
from mlcli.base.values.options import option
from mlcli.base.values.quantity import Quantity
from mlcli.certify.subject import Subject
from mlcli.core.arithmetic import combine, sparse_product
from mlcli.core.centering import uncentered
from mlcli.core.eigen.options import Axes
from mlcli.core.graph.approximate import searches_all
from mlcli.core.graph.graph import by_size
from mlcli.core.graph.neighbors import SEARCH, Search, nearest_by, require_search
from mlcli.core.graph.pieces import listed
from mlcli.core.iterate import Iterate
from mlcli.core.layouts.own_losses import LayoutLosses
from mlcli.core.layouts.pairs import Pairs
from mlcli.core.layouts.several_starts import BestMinimization
from mlcli.core.metrics import EUCLIDEAN, AnyMetric
from mlcli.core.metrics.distances import seconds_of_squares, training_points
from mlcli.core.model import Model, Powers
from mlcli.core.similarities.projector import Projector
from mlcli.methods.layouts import MajorizedMethod, best_of, principal_axes
from mlcli.methods.method import Method
from mlcli.methods.neighbor_embedding.check import potential_checks
from mlcli.methods.neighbor_embedding.new_points import DecaySteps, EdgeSteps
from mlcli.methods.neighbor_embedding.walk import (
    FUNCTIONS,
    NEAR_POWERS,
    PASSES,
    SPARE,
    Decay,
    Walk,
    by_lists,
    decay_kernel,
    entropy_curve,
    graph_kernel,
    knee,
    potential_distances,
    searched,
    walk_between,
    walk_clusters,
)
from mlcli.methods.trials import MANY, InputSummary, Trials, single_trial, variant

EXACT, LANDMARKS = 5_000, 2_000  # points that are not joined to clusters, and clusters of more of them
NEIGHBORS = 30  # edges of a point, predicted
ORTHOGONAL, GATHERED = 30.0, 12.0  # operations of a product for each of n q² numbers that are made orthogonal, in a
# fixed order; and bytes that a product moves for an entry and a function
WEIGHED, LISTED = 500, 64.0  # passes over the lists of neighbors, and bytes of each of these, until they are affinities
USUAL_TIME = 32  # steps of most walks
HALF = 0.75  # time of the products of a symmetric matrix in a fixed order, in that of all by BLAS
AGAIN = 0.75  # time of the certificate's walk, in that of the fit's


def note_pieces(kernel: Any) -> None:
    """Warn where a walk by a kernel (n x n) does not reach all points."""
    from scipy.sparse.csgraph import connected_components

    pieces: Indices = by_size(connected_components(kernel, directed=False)[1])
    if pieces.max(initial=0) > 0:
        sizes = np.bincount(pieces)
        note("W-WALK-PIECES", f"no walk leads from one to another of {len(sizes)} pieces of {listed(sizes)} points: "
             "distances between them do not tell how far apart they are; choose a larger method.nearest")


class PHATE(MajorizedMethod):
    """A layout in which the distance between two points shows how differently random walks from them end (PHATE).

    It keeps paths and branches of the data, as seen by where random walks end. It does not keep sizes and densities of
    groups. It fails if no walk leads from one piece of the data to another: distances between pieces then depend only
    on the constant 1e-7 that is added to probabilities (`W-WALK-PIECES`). A short walk also shows noise as branches.
    Set `nearest` first, the rank of the neighbor whose distance decides how far a step goes, then `time`, the number of
    steps.

    How it works: A walker steps from point to point, to near ones with a larger probability. After some steps the noise
    of single steps has averaged out, and the more the places differ where walks from two points end, the farther apart
    the points are along the data. A layout shows these distances.

    The affinity of a point to another one at distance d is exp(-(d/σ)^α), with σ the distance of the first to its k-th
    neighbor (`nearest`) and α the option `decay`. Affinities below `threshold` are set to zero; then both affinities of
    a pair are replaced by their mean. If the k-th neighbor is an equal point, at distance zero, σ is the smallest
    distance of the point above zero. In a given graph, each point gets an affinity to itself, equal to the largest one
    in the graph. The affinities of a point divided by their sum are the probabilities P of a step.

    After t steps (`time`), the potential of a point is -log(P^t + 1e-7), one number for each point where the walk may
    end. Potential distances are the Euclidean distances between the potentials of points. The layout minimizes the
    stress, the squared differences between these distances and those of the layout, by the iterations of `smacof` from
    a start by classical scaling (`mds`). With `gamma` γ below 1, the potential of a probability p is p^c / c with c =
    (1 - γ)/2: at γ = 0 it is 2√p. Coordinates are rotated to their principal axes; their scale is not that of the
    input.

    Time of the walk: By default t comes from the curve of the von Neumann entropy of P, P², ...: it is one less than
    the power at the knee, where two straight lines fit the curve best. The entropy of a power is that of its singular
    values divided by their sum.

    Many points: With more than 5,000 points, 2,000 clusters of points are laid out in their place (`landmarks`). They
    are found by k-means, which compares points by the leading eigenvectors of the walk. A point is placed at the mean
    of the clusters, weighted by its probabilities to reach them in a step. Affinities of features are then looked for
    among nearest neighbors, as many as it takes for each point until the next one has none, and not among all pairs.
    With `search: approximate` the first of these neighbors are found approximately, six times `nearest` of them, and
    the share of them that was found is measured; more of a point are searched for exactly.

    New points: A new point is placed at the mean of the training points or clusters, weighted by its affinities, so it
    lies among them. So is a training row that is projected again: it lands near its own place, not exactly on it.

    Files: `entropy.csv` holds the entropy of each power of P; the knee is at the power t + 1, as the authors' program
    counts t from zero. `trace.csv` holds the stress after each iteration of the layout.

    Source: Moon and others, "Visualizing structure and transitions in high-dimensional biological data", 2019.
    """

    loses: ClassVar = ("Paths of a random walk are kept: sizes and densities of groups mean little here, and distances "
                       "between groups that no walk connects mean nothing.")
    accepts: ClassVar = (Features, Dissimilarities, AffinityGraph)
    judged_by: ClassVar = "neighbors"
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    takes_start: ClassVar = False  # where clusters are laid out, they are none of the points
    variants: ClassVar = (variant(), variant("landmarks", "permutation", landmarks=30),
                          variant("square root", "rotation", metric="cityblock", gamma=0.0, time=8))
    takes_anchors: ClassVar = False  # rows lie where their clusters are
    later: ClassVar = ("search",)
    axis: ClassVar = "PHATE"
    name: Literal["phate"] = "phate"
    metric: AnyMetric = EUCLIDEAN
    nearest: int = option(5, "Rank k of the neighbor whose distance is the width σ of a point's affinities.", ge=1,
                          synonyms={"knn": "knn", "k": "k"})
    decay: float = option(40.0, "Exponent α of the affinities exp(-(d/σ)^α).", gt=0, le=1000,
                          synonyms={"alpha": "alpha", "a": "a"})
    search: Search = option("exact", SEARCH)
    threshold: float = option(1e-4, "Affinities below this number are set to zero.", gt=0, le=0.1,
                              synonyms={"thresh": "thresh"})
    time: int | None = option(None, "Diffusion time t, the number of steps of the walk (default: from the knee of the "
                              "von Neumann entropy).", ge=1, le=100_000, synonyms={"t": "t"})
    gamma: float = option(1.0, "Form γ of the potential: logarithms (1), square roots (0), or the probabilities (-1).",
                          ge=-1, le=1)
    landmarks: int | None = option(None, "Clusters of points that are laid out in place of all points (default: none "
                                   "for up to 5,000 points, 2,000 for more).", ge=2, adapts=True)
    starts: int = option(1, "Number of starts: classical scaling, then random ones; the best result is kept.", ge=1)
    iterate: Iterate = Iterate(tolerance=1e-4)
    axes: Axes = Axes()

    def require(self, data: Input) -> None:
        """Raise ConfigError for a search that the metric does not allow."""
        super().require(data)
        require_search(self.search, data)

    def resolved_stages(self, data: Any) -> dict[str, Any]:
        """Return the number of clusters and a width within the neighbors; raises ConfigError for unused options."""
        count = len(data.values)
        joined = LANDMARKS if self.landmarks is None and count > EXACT else self.landmarks
        if isinstance(data, AffinityGraph):
            self.refuse_unused("the affinities are given", "nearest", "decay", "search", "threshold")
        elif self.nearest > max(count - 1, 1):
            note("N-NEAREST", f"widths of affinities are distances to the farthest point: each point has {count - 1} "
                 f"others, fewer than {self.nearest}", rank=count - 1)
            return {"nearest": max(count - 1, 1), "landmarks": joined}
        return {"landmarks": joined}

    def landmark_count(self, data: Any) -> int | None:
        """Return the number of clusters, None where each is a point; raises ConfigError for more than points."""
        found = super().landmark_count(data)
        return None if found == len(data.values) else found

    def place_among(self, data: Any, places: Array, moving: Indices, model: Model, compute: Compute) -> Model:
        """Return the model of rows that are added: each is the mean of points or clusters by its own affinities."""
        return Method.place_among(self, data, places, moving, model, compute)

    def checks_among(self, subject: Subject, moving: Indices) -> Iterator[Check]:
        """Check that added rows lie where the projector places them."""
        return Method.checks_among(self, subject, moving)

    def steps_among(self, data: Any, count: int, compute: Compute) -> list[Step]:
        """Return the steps of the projector."""
        return Method.steps_among(self, data, count, compute)

    def reproduces(self) -> bool:
        """Whether projecting a training row gives its coordinates: it gives a mean with those of its neighbors."""
        return False

    def composition(self, data: Any, compute: Compute, share: float | None = None) -> "PHATEComposition":
        """Return the stages: affinities, a walk by them, potential distances where it ends, and their layout."""
        return PHATEComposition(self, data, compute)

    def certified_seconds(self, data: Any, steps: Sequence[Step]) -> float:
        """Predict the seconds of affinities and potentials, which the certificate computes again step by step."""
        again = {"weights": 1.0, "distances": AGAIN}
        return sum(again.get(step.stage, 0.0) * step.seconds for step in steps)

    @property
    def affinity(self) -> Decay:
        """The affinity of a pair by its distance."""
        return Decay(self.nearest, self.decay, self.threshold)

    def searched(self, data: Any) -> int:
        """Return how many neighbors of each point an approximate search looks for; 0 where there is none."""
        found = self.search == "approximate" and by_lists(data)
        return searched(self.affinity, len(data.values)) if found else 0

    @property
    def neighborhood(self) -> float:
        """The neighbor that the width of affinities is the distance to."""
        return float(self.nearest)

    def point_losses(self, data: Input, model: Model, compute: Compute) -> LayoutLosses | None:
        """Return the stress of each point's potential distances; None where clusters are laid out: a point of these is
        a mean of places, and has no loss of its own.
        """
        from mlcli.methods.neighbor_embedding.own_losses import potential_losses

        if self.landmark_count(data) is not None:
            return None
        time = int(model.fit["time"])
        walk = PHATEComposition(self.replace(time=time), data, compute).walk[0]
        assert isinstance(model.projector, Projector)
        placing = model.projector.similarity
        return potential_losses(model.embedding, walk, time, self.gamma,
                                placing if isinstance(placing, DecaySteps) else None)

    @classmethod
    def trials(cls, seen: InputSummary) -> Trials:
        """Return the defaults; nothing for very many rows."""
        if seen.rows > MANY:
            return Trials(reason="distances of all pairs of so many rows take long")
        return single_trial()

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check the walk, its time, potential distances by other products, their stress, and that no step moves."""
        yield from super().checks(subject)
        count = self.searched(subject.data)
        yield from potential_checks(self, subject.data, subject.model, full=subject.plan.full, exact=not count or (
            searches_all(subject.data.values.shape, count)))


@frozen
class PHATEComposition(Composition[Model]):
    """The layout of potential distances of points or clusters, and from it all points."""

    method: PHATE
    data: Any
    compute: Compute

    @FitStage
    def kernel(self) -> Any:
        """The sparse affinities of neighbors (n x n)."""
        with running("weights"):
            return graph_kernel(self.data) if isinstance(self.data, AffinityGraph) else decay_kernel(
                self.data, self.method.affinity, self.method.search)

    @kernel.cost
    def _(self) -> list[Step]:
        count, threads = len(self.data.values), self.compute.thread_count()
        if by_lists(self.data):
            near = searched(self.method.affinity, count)
            return [nearest_by(self.method.search, near).step(self.data, self.compute),
                    Step("weights", f"affinities of {count} points", WEIGHED * pass_cost(float(count) * near),
                         LISTED * near * count + 3 * self.entries)]
        pairs = 0.0 if isinstance(self.data, AffinityGraph) else seconds_of_squares(
            self.data, count, threads) + 6 * pass_cost(float(count) ** 2) / threads
        return [Step("weights", f"affinities of {count} points", pairs,
                     3 * self.entries + 8.0 * min(2**22, count**2) * threads)]

    @property
    def entries(self) -> float:
        """The predicted bytes of affinities."""
        return 12.0 * NEIGHBORS * len(self.data.values)

    @property
    def nodes(self) -> int:
        """The number of points or clusters that are laid out."""
        return self.method.landmark_count(self.data) or len(self.data.values)

    @property
    def joined(self) -> bool:
        """Whether these are clusters."""
        return self.nodes < len(self.data.values)

    @FitStage
    def walk(self) -> tuple[Walk, Array | None, int, Indices | None]:
        """The walk between points or clusters, the curve of its entropy and its time, and the points' clusters (n)."""
        with running("walk"):
            note_pieces(self.kernel)
            count = self.method.landmark_count(self.data)
            clusters = None if count is None else walk_clusters(self.kernel, count, self.compute.generator())
            walk = walk_between(self.kernel, clusters)
            curve = entropy_curve(walk) if self.method.time is None else None
            return walk, curve, knee(curve) if curve is not None else self.method.time or 1, clusters

    @walk.cost
    def _(self) -> list[Step]:
        count, nodes, threads = len(self.data.values), self.nodes, self.compute.thread_count()
        square = 8.0 * nodes**2
        functions = float(NEAR_POWERS * count * (FUNCTIONS + SPARE) ** 2) * ORTHOGONAL / product_rate(threads)
        functions += (NEAR_POWERS + 1) * NEIGHBORS * count * (FUNCTIONS + SPARE) * GATHERED * rates().moved / threads
        means = PASSES * 2.0 * count * nodes * FUNCTIONS / product_rate(threads)
        clusters = 0.0 if nodes == count else functions + means
        return [Step("walk", f"between {nodes} {'clusters of points' if self.joined else 'points'}",
                     clusters + 2 * nodes**3 * rates().decomposed,
                     3 * square + self.entries + 54.0 * FUNCTIONS * count * self.joined, square=not self.joined)]

    @FitStage
    def pairs(self) -> Pairs:
        """The potential distances of where walks end."""
        walk, _, time, _ = self.walk
        with running("distances"):
            nodes = [str(number) for number in range(len(walk.sums))]
            return Pairs.of(potential_distances(walk, time, self.method.gamma), 0.0, nodes)

    @pairs.cost
    def _(self) -> list[Step]:
        nodes, powers = self.nodes, np.log2(self.method.time or USUAL_TIME) + 1
        cube, square = HALF * 2.0 * nodes**3 / product_rate(self.compute.thread_count()), 8.0 * nodes**2
        return [Step("distances", "of potentials, where walks end", powers * cube + 30 * pass_cost(nodes**2),
                     4 * square + self.entries, square=not self.joined)]

    @FitStage
    def runs(self) -> BestMinimization:
        """The layouts of least stress from all starts."""
        return self.method.runs(self.pairs, self.compute)

    @runs.cost
    def _(self) -> list[Step]:
        return self.method.layout_steps(self.nodes, self.compute)

    def result(self) -> Model:
        """Return the best layout on principal axes, with all points at the means of their clusters."""
        (walk, curve, time, clusters), pairs, data = self.walk, self.pairs, self.data
        best = best_of(self.runs)
        layout = best.points[pairs.places]
        center, turn = principal_axes(layout if walk.entries is None else sparse_product(walk.entries, layout))
        layout = combine(layout - center, turn)
        similarity = EdgeSteps(clusters, len(layout)) if isinstance(data, AffinityGraph) else DecaySteps(
            self.method.affinity, training_points(data)[0], clusters, len(layout), training_points(data)[1])
        return Model(embedding=layout if walk.entries is None else sparse_product(walk.entries, layout),
                     objective=Quantity(best.trace), entropy=curve,
                     goodness=self.method.goodness(pairs, best) if walk.entries is None else None,
                     projector=Projector(similarity, uncentered(len(layout)), layout),
                     fit={"time": time, **self.method.facts(self.runs, best)})
