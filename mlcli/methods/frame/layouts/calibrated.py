"""The base of neighbor embeddings whose affinities have a perplexity: their options, start, model and plan."""

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mlcli.base.machine.footprint import SPARSE
from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.stages.stage import note, running
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import AffinityGraph, Input, Joined, WeightedGraph
from mlcli.base.values.products import Name, Sparse
from mlcli.base.values.quantity import Quantity
from mlcli.errors import ConfigError
from mlcli.methods.frame.layouts.layout import NeighborEmbedding, principal
from mlcli.methods.frame.model import Model
from mlcli.stages.algebra.centering import uncentered
from mlcli.stages.algebra.metrics.points import training_points
from mlcli.stages.chain.joint_affinities import (
    affinity_steps,
    entries_of,
    groups_of,
    joint_affinities,
    lists_of,
    require_points,
)
from mlcli.stages.chain.small_starts import (
    SIZE,
    Start,
    eigenmap_step,
    eigenmaps,
    principal_start,
    principal_steps,
    random_start,
    small_start,
)
from mlcli.stages.eigen.axes import Axes
from mlcli.stages.graph.perplexity import Affinities
from mlcli.stages.layout.descent import Descent
from mlcli.stages.layout.divergence import Divergence
from mlcli.stages.layout.repulsion import (
    Summation,
    attract_bytes,
    attract_seconds,
    choose_summation,
    repel_bytes,
    repel_seconds,
)
from mlcli.stages.similarities.base import Similarity
from mlcli.stages.similarities.layouts.entering import Calibrated, Entering
from mlcli.stages.similarities.projector import Projector

MOST_AXES = 3
TRUE_ROWS = 10_000  # up to which the divergence that is stated is that of all pairs
MOTION = 12  # arrays of coordinates while a step is made
FEW = 1.2  # least perplexity of a graph by default
ENTRY = 12.0  # bytes of an affinity and its column


class CalibratedMethod(NeighborEmbedding):
    """The base of methods that minimize the divergence of affinities from those of the layout."""

    loses: ClassVar = ("Neighbors are kept, and nothing else: distances between groups and the sizes and densities of "
                       "groups mean little here, and there may be groups that the data does not have.")
    if TYPE_CHECKING:  # every method declares these itself, so that its options keep their order
        perplexity: float | tuple[float, ...]
        start: Start
        dof: float
        descent: Descent
        axes: Axes

    @property
    def perplexities(self) -> tuple[float, ...]:
        """The perplexities, of which the affinities are means."""
        return self.perplexity if isinstance(self.perplexity, tuple) else (float(self.perplexity),)

    def makes(self, kind: str = "features") -> tuple[Name, ...]:
        """Return the intermediate results that a run may keep: the joint affinities."""
        return ("weights",)

    def require(self, data: Input) -> None:
        """Raise ConfigError for more axes than repulsion is computed for."""
        super().require(data)
        if self.axes.count > MOST_AXES:
            raise ConfigError("COMPONENTS", f"{self.axes.count} axes were requested, but {self.name} has at most "
                              f"{MOST_AXES}", where="method.axes.components", hint=f"ask for at most {MOST_AXES}")

    def resolved_stages(self, data: Any) -> dict[str, Any]:
        """Return perplexity and start for the data; raises ConfigError for chosen ones that it does not allow."""
        require_points(data)
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

    def limit(self, data: Input) -> int:
        """Return the largest number of axes: three, as repulsion is computed for no more."""
        return MOST_AXES

    def stored(self, data: Input) -> float:
        """Return the bytes of training rows and their coordinates in the model."""
        rows = 0.0 if data.points is None else 8.0 * data.points.size
        return rows + 8.0 * len(data.values) * (self.axes_of(data) + len(self.perplexities))

    def steps(self, data: Joined, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of neighbors, affinities, first coordinates and the descent."""
        count, axes, threads = len(data.values), self.axes.count, compute.thread_count()
        entries, how = entries_of(data, self.perplexities), choose_summation(count, axes)
        each = repel_seconds(count, axes, how, threads) + attract_seconds(int(entries), axes, threads)
        held = ENTRY * entries + 8.0 * MOTION * count * axes + repel_bytes(
            count, axes, how) + attract_bytes(count, axes)
        return [*affinity_steps(data, self.perplexities, compute), *self.start_steps(data, entries, compute),
                Step("iterate", f"{self.descent.count} steps, repulsion by {NAMED[how]}", self.descent.count * each,
                     held),
                Step("coordinates", "principal axes, and the divergence there", repel_seconds(count, axes, self.last(
                    count, axes), threads), held, needs=SPARSE)]  # of the checks

    def start_steps(self, data: Joined, entries: float, compute: Compute) -> list[Step]:
        """Return the steps of the first coordinates; none of random or given ones."""
        if self._first is not None:
            return []
        if self.start == "pca":
            return principal_steps(data, self.axes.count, compute)  # type: ignore[arg-type]
        return [eigenmap_step(entries, len(data.values), self.axes.count)] if self.start == "laplacian" else []

    def solve(self, data: Joined, compute: Compute) -> Model:
        """Compute coordinates by descent from the start, on principal axes."""
        affinities, equal = self.affinities(data)
        start = self.first(data, affinities, compute)
        divergence = Divergence(affinities, self.dof, equal)
        ended = self.descent(divergence, start, choose_summation(len(start), start.shape[1]))
        with running("coordinates"), single_threaded_blas():
            points = principal(ended.state.points)
            found = divergence.forces(points, self.last(*points.shape))
        axes = points.shape[1]
        similarity: Similarity = Calibrated(affinities.precisions, self.dof, axes)
        if not isinstance(data, WeightedGraph):
            training, metric = training_points(data)
            similarity = Entering(points, training, affinities.precisions, self.perplexities, self.dof, metric)
        return Model(embedding=points, objective=Quantity(ended.trace),
                     projector=Projector(similarity, uncentered(axes), np.eye(axes)),
                     fit={"divergence": found.divergence, "slope": found.slope, "iterations": len(ended.trace)},
                     products={"weights": Sparse(affinities.starts, affinities.indices, affinities.values)})

    def affinities(self, data: Joined) -> tuple[Affinities, Indices | None]:
        """Return the joint affinities, and the groups of equal points (n), from one search of neighbors."""
        lists = lists_of(data, self.perplexities)
        return joint_affinities(data, lists, self.perplexities), groups_of(data, lists)

    @staticmethod
    def last(count: int, axes: int) -> Summation:
        """Return how the divergence that is stated is summed, for so many points and axes."""
        return "exact" if count <= TRUE_ROWS else choose_summation(count, axes)

    def first(self, data: Joined, affinities: Affinities, compute: Compute) -> Array:
        """Return the first coordinates (n x p); given ones as they are."""
        axes, given = self.axes.count, self.first_points(data)
        if given is not None:
            return given
        if self.start == "random":
            return random_start(len(data.values), axes, compute) * SIZE
        found = eigenmaps(affinities, axes, compute) if self.start == "laplacian" else principal_start(
            data, axes, compute)  # type: ignore[arg-type]
        return small_start(found, axes, compute)


NAMED = {"exact": "all pairs", "grid": "a grid", "tree": "a tree"}


def largest(count: int) -> float:
    """Return the largest perplexity that so many points allow: one below a third of the others."""
    return (count - 1.5) / 3
