"""The base of layouts of potential distances: how differently random walks from points end."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mlcli.base.machine.rates import rates
from mlcli.base.stages.stage import note, running
from mlcli.base.stages.steps import Step
from mlcli.base.types import Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import AffinityGraph, Dissimilarities, Features
from mlcli.base.values.quantity import Quantity
from mlcli.methods.frame.layouts.layout import principal_axes
from mlcli.methods.frame.layouts.majorized import MajorizedMethod
from mlcli.methods.frame.layouts.stress import best_of
from mlcli.methods.frame.model import Model, Powers
from mlcli.stages.algebra.centering import uncentered
from mlcli.stages.algebra.costs import pass_cost, product_rate
from mlcli.stages.algebra.metrics.points import seconds_of_squares, training_points
from mlcli.stages.graph.graph import by_size
from mlcli.stages.graph.pieces import listed
from mlcli.stages.graph.walks.clusters import FUNCTIONS, PASSES, walk_clusters
from mlcli.stages.graph.walks.decay import Decay, decay_kernel, graph_kernel
from mlcli.stages.graph.walks.walk import entropy_curve, knee, potential_distances, walk_between
from mlcli.stages.layout.pairs import Pairs
from mlcli.stages.similarities.layouts.decay import DecaySteps, EdgeSteps
from mlcli.stages.similarities.projector import Projector

EXACT, LANDMARKS = 5_000, 2_000  # points that are not joined to clusters, and clusters of more of them
NEIGHBORS = 30  # edges of a point, predicted
USUAL_TIME = 32  # steps of most walks
AGAIN = 0.5  # time of the certificate's walk, in that of the fit's


class PotentialMethod(MajorizedMethod):
    """The base of methods that lay out potential distances of points, or of clusters of them, by majorization."""

    loses: ClassVar = ("Paths of a random walk are kept: sizes and densities of groups mean little here, and distances "
                       "between groups that no walk connects mean nothing.")
    accepts: ClassVar = (Features, Dissimilarities, AffinityGraph)
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    takes_start: ClassVar = False  # where clusters are laid out, they are none of the points
    if TYPE_CHECKING:
        nearest: int
        decay: float
        threshold: float
        time: int | None
        gamma: float
        landmarks: int | None

    def resolved_stages(self, data: Any) -> dict[str, Any]:
        """Return the number of clusters and a width within the neighbors; raises ConfigError for unused options."""
        count = len(data.values)
        joined = LANDMARKS if self.landmarks is None and count > EXACT else self.landmarks
        if isinstance(data, AffinityGraph):
            self.refuse_unused("the affinities are given", "nearest", "decay", "threshold")
        elif self.nearest > max(count - 1, 1):
            note("N-NEAREST", f"widths of affinities are distances to the farthest point: each point has {count - 1} "
                 f"others, fewer than {self.nearest}", rank=count - 1)
            return {"nearest": max(count - 1, 1), "landmarks": joined}
        return {"landmarks": joined}

    def landmark_count(self, data: Any) -> int | None:
        """Return the number of clusters, None where each is a point; raises ConfigError for more than points."""
        found = super().landmark_count(data)
        return None if found == len(data.values) else found

    def reproduces(self) -> bool:
        """Whether projecting a training row gives its coordinates: it gives a mean with those of its neighbors."""
        return False

    def steps(self, data: Any, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of the affinities, the walk, its potential distances, and their layout."""
        count, threads = len(data.values), compute.thread_count()
        nodes, entries = self.landmark_count(data) or count, 12.0 * NEIGHBORS * count
        pairs = 0.0 if isinstance(data, AffinityGraph) else seconds_of_squares(data, count, threads) + 6 * pass_cost(
            float(count) ** 2) / threads
        cube, square = 2.0 * nodes**3 / product_rate(threads), 8.0 * nodes**2
        clusters = 0.0 if nodes == count else PASSES * 2.0 * count * nodes * FUNCTIONS / product_rate(threads)
        powers = np.log2(self.time or USUAL_TIME) + 2
        joined = nodes < count
        return [Step("weights", f"affinities of {count} points", pairs,
                     3 * entries + 8.0 * min(2**22, count**2) * threads),
                Step("walk", f"between {nodes} {'clusters of points' if joined else 'points'}",
                     clusters + cube + 2 * nodes**3 * rates().decomposed,
                     3 * square + entries + 32.0 * FUNCTIONS * count * joined, square=not joined),
                Step("distances", "of potentials, where walks end", powers * cube + 30 * pass_cost(nodes**2),
                     4 * square + entries, square=not joined), *self.layout_steps(nodes, compute)]

    def certified_seconds(self, data: Any, steps: Sequence[Step]) -> float:
        """Predict the seconds of the walk's potentials, which the certificate computes again step by step."""
        return AGAIN * sum(step.seconds for step in steps if step.stage == "distances")

    def solve(self, data: Any, compute: Compute) -> Model:
        """Compute the layout of potential distances of points or clusters, and from it all points."""
        decay = Decay(self.nearest, self.decay, self.threshold)
        with running("weights"):
            kernel = graph_kernel(data) if isinstance(data, AffinityGraph) else decay_kernel(data, decay)
        with running("walk"):
            note_pieces(kernel)
            count = self.landmark_count(data)
            clusters = None if count is None else walk_clusters(kernel, count, compute.generator())
            walk = walk_between(kernel, clusters)
            curve = entropy_curve(walk.steps) if self.time is None else None
            time = knee(curve) if curve is not None else self.time or 1
        with running("distances"):
            nodes = [str(number) for number in range(len(walk.steps))]
            pairs = Pairs.of(potential_distances(walk.steps, time, self.gamma), 0.0, nodes)
        runs = self.runs(pairs, compute)
        best = best_of(runs)
        layout = best.points[pairs.places]
        center, turn = principal_axes(layout if walk.entries is None else walk.entries @ layout)
        layout = (layout - center) @ turn
        similarity = EdgeSteps(clusters, len(layout)) if isinstance(data, AffinityGraph) else DecaySteps(
            decay, training_points(data)[0], clusters, len(layout), training_points(data)[1])
        return Model(embedding=layout if walk.entries is None else walk.entries @ layout,
                     objective=Quantity(best.trace), entropy=curve,
                     goodness=self.goodness(pairs, best) if walk.entries is None else None,
                     projector=Projector(similarity, uncentered(len(layout)), layout),
                     fit={"time": time, **self.facts(runs, best)})


def note_pieces(kernel: Any) -> None:
    """Warn where a walk by a kernel (n x n) does not reach all points."""
    from scipy.sparse.csgraph import connected_components

    pieces: Indices = by_size(connected_components(kernel, directed=False)[1])
    if pieces.max(initial=0) > 0:
        sizes = np.bincount(pieces)
        note("W-WALK-PIECES", f"no walk leads from one to another of {len(sizes)} pieces of {listed(sizes)} points: "
             "distances between them do not tell how far apart they are; choose a larger method.nearest")
