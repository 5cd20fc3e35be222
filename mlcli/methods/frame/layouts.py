"""The base of layouts: coordinates of least stress, from several starts, without an eigenproblem."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import mute_notes, note, running
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Dissimilarities, Features, Spatial
from mlcli.base.values.quantity import Quantity
from mlcli.base.values.signs import leading_signs
from mlcli.methods.frame.base import Method
from mlcli.methods.frame.model import Model
from mlcli.stages.algebra.centering import uncentered
from mlcli.stages.algebra.iterate import Iterated
from mlcli.stages.algebra.metrics.points import seconds_of_squares, squares, training_points
from mlcli.stages.chain.layouts import classical_chain, classical_start, layout_starts, reproduces
from mlcli.stages.eigen.axes import Axes
from mlcli.stages.layout.disparities import Monotone
from mlcli.stages.layout.pairs import Pairs, Weights
from mlcli.stages.similarities.projector import Projector
from mlcli.stages.similarities.stress import LeastStress

SAME = 1e-3  # stress above the least up to which a run counts as having reached it, as in vegan's metaMDS


@frozen
class Run:
    """The end of one minimization: coordinates of distinct points (u x p), stress, and the course of the stress."""

    points: Array
    stress: float
    iterated: Iterated[Any]
    trace: Array


class LayoutMethod(Method):
    """The base of methods that minimize a stress of dissimilarities, given or of features under a metric."""

    accepts: ClassVar = (Features, Dissimilarities)
    ranked_by: ClassVar = None
    decodes: ClassVar = None
    rules: ClassVar = ()
    has_loadings: ClassVar = False
    variance_shares: ClassVar = False
    weights: ClassVar[Weights] = "one"
    if TYPE_CHECKING:  # every method declares these itself, so that its options keep their order
        starts: int
        axes: Axes

    def run(self, pairs: Pairs, start: Array) -> Run:
        """Minimize the stress from coordinates (u x p)."""
        raise NotImplementedError

    def disparities(self, pairs: Pairs, best: Run) -> Monotone | None:
        """Return the lengths that distances of a new point should have, by its dissimilarities; None: these."""
        return None

    def steps(self, data: Spatial, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of distances, classical scaling and the minimizations from all starts."""
        count, threads = len(data.values), compute.thread_count()
        square = 8.0 * count**2
        classical = classical_chain(min(self.axes.count, max(count - 1, 1))).compose(
            data, compute, lambda steps, rows: None).steps(None)
        return [Step("distances", f"{count} x {count}, in memory", seconds_of_squares(data, count, threads), 2 * square,
                     square=True),
                *(replace(step, memory=step.memory + square) for step in classical if step.stage != "distances"),
                self.iteration_step(count, threads)]

    def iteration_step(self, count: int, threads: int) -> Step:
        """Return the step of all minimizations of `count` points."""
        raise NotImplementedError

    def solve(self, data: Spatial, compute: Compute) -> Model:
        """Compute the coordinates of least stress of those reached from all starts, on principal axes."""
        with running("distances"):
            pairs = Pairs.of(np.sqrt(squares(data)), self.weights, list(data.ids))
        if len(pairs) == 1:
            return self.model(data, pairs, [self.without_extent(pairs)])
        self.require_order(pairs)
        first = classical_start(pairs, self.axes.count, compute)
        available, axes = first.shape[1], self.axes.count
        if available < axes and reproduces(pairs, first):
            axes = self.axes.available_count(available)
        with mute_notes():
            runs = [self.run(pairs, start) for start in layout_starts(pairs, first, axes, self.starts, compute)]
        return self.model(data, pairs, runs)

    def without_extent(self, pairs: Pairs) -> Run:
        """Return the layout of points that are all equal: one axis of zeros, with a note."""
        points = np.zeros((1, self.axes.available_count(0)))
        return Run(points, 0.0, Iterated(None, np.zeros(0), converged=True), np.zeros(0))

    def model(self, data: Spatial, pairs: Pairs, runs: list[Run]) -> Model:
        """Return the model of the run of least stress."""
        best = min(runs, key=lambda run: run.stress)
        if not best.iterated.converged:
            note("W-UNCONVERGED", f"stopped after {len(best.trace)} iterations without convergence",
                 iterations=len(best.trace), change=None)
        axes = best.points.shape[1]
        embedding = principal(best.points[pairs.places])
        points, metric = training_points(data)
        similarity = LeastStress(embedding, points, self.weights, self.disparities(pairs, best), metric)
        return Model(embedding=embedding, objective=Quantity(best.trace),
                     projector=Projector(similarity, uncentered(axes), np.eye(axes)),
                     fit={"stress": best.stress, "starts": self.starts,
                          "reached": int(np.sum([run.stress <= best.stress + SAME for run in runs])),
                          **best.iterated.facts})

    def require_order(self, pairs: Pairs) -> None:
        """Raise DataError for dissimilarities without an order, where the method keeps only that."""


def principal(points: Array) -> Array:
    """Return coordinates (n x p), centered and turned to their principal axes, with the common rule of signs."""
    centered = points - points.mean(axis=0)
    _, axes = np.linalg.eigh(centered.T @ centered)
    turned = centered @ axes[:, ::-1]
    return np.asarray(turned * leading_signs(turned))


def centered_axes(points: Array) -> Array:
    """Return coordinates (n x p) on principal axes, where they may lie far from zero: with small means taken again."""
    centered = points - points.mean(axis=0)
    return principal(centered - centered.mean(axis=0))
