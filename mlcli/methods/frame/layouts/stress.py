"""The base of layouts of least stress, from several starts."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mlcli.base.stages.stage import mute_notes, note, running
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Dissimilarities, Features, Given, Spatial
from mlcli.base.values.quantity import Quantity
from mlcli.methods.frame.layouts.layout import LayoutMethod, principal
from mlcli.methods.frame.model import Model
from mlcli.methods.frame.trials import InputSummary, Trials, single_trial
from mlcli.stages.algebra.centering import uncentered
from mlcli.stages.algebra.metrics.points import seconds_of_squares, squares, training_points
from mlcli.stages.chain.layouts import classical_chain, classical_start, layout_starts, reproduces
from mlcli.stages.eigen.axes import Axes
from mlcli.stages.layout.disparities import Monotone
from mlcli.stages.layout.goodness import Goodness, metric_goodness
from mlcli.stages.layout.pairs import Pairs
from mlcli.stages.layout.starts import Ended, Run, Starts, run_starts
from mlcli.stages.similarities.layouts.stress import LeastStress
from mlcli.stages.similarities.projector import Projector

FEW = 3_000  # rows up to which exploration tries layouts
SAME = 1e-3  # stress above the least up to which a run counts as having reached it, as in vegan's metaMDS


class StressMethod(LayoutMethod):
    """The base of methods that minimize a stress of dissimilarities, given or of features under a metric."""

    accepts: ClassVar[tuple[type[Given], ...]] = (Features, Dissimilarities)
    rules: ClassVar = ("stress",)
    if TYPE_CHECKING:  # every method declares these itself, so that its options keep their order
        starts: int
        axes: Axes

    @property
    def exponent(self) -> float:
        """The power of a dissimilarity that is the weight of its pair."""
        return 0.0

    @classmethod
    def trials(cls, seen: InputSummary) -> Trials:
        """Return one setting where all pairs of points are few enough."""
        return single_trial() if seen.rows <= FEW else Trials(reason=f"of more than {FEW:,} rows it takes long")

    def runner(self, pairs: Pairs) -> Callable[[Array], Run]:
        """Return the minimization of the stress from coordinates (u x p); what all starts need is computed once."""
        raise NotImplementedError

    def disparities(self, pairs: Pairs, best: Run) -> Monotone | None:
        """Return the lengths that distances of a new point should have, by its dissimilarities; None: these."""
        return None

    def goodness(self, pairs: Pairs, best: Run) -> Goodness:
        """Return the stress of each point, and pairs for a Shepard diagram."""
        return metric_goodness(pairs, best.points)

    def steps(self, data: Spatial, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of distances, classical scaling and the minimizations from all starts."""
        count, threads = len(data.values), compute.thread_count()
        return [Step("distances", f"{count} x {count}, in memory", seconds_of_squares(data, count, threads),
                     16.0 * count**2, square=True), *self.layout_steps(count, compute)]

    def layout_steps(self, count: int, compute: Compute) -> list[Step]:
        """Return the steps of classical scaling and the minimizations, for the dissimilarities of `count` points."""
        classical = classical_chain(min(self.axes.count, max(count - 1, 1))).compose(
            Dissimilarities(np.broadcast_to(0.0, (count, count)), [""] * count), compute,
            lambda steps, rows: None).steps(None)
        return [*(replace(step, memory=step.memory + 8.0 * count**2) for step in classical
                  if step.stage != "distances"), self.iteration_step(count, compute.thread_count())]

    def iteration_step(self, count: int, threads: int) -> Step:
        """Return the step of all minimizations of `count` points."""
        raise NotImplementedError

    def solve(self, data: Spatial, compute: Compute) -> Model:
        """Compute the coordinates of least stress of those reached from all starts, on principal axes."""
        with running("distances"):
            pairs = Pairs.of(np.sqrt(squares(data)), self.exponent, list(data.ids))
        return self.model(data, pairs, self.runs(pairs, compute, self.first_points(data)))

    def runs(self, pairs: Pairs, compute: Compute, given: Array | None = None) -> Ended:
        """Return what is kept of the minimizations from all starts: `given` (n x p) or classical scaling, then random.
        """
        if len(pairs) == 1:
            return Ended(self.without_extent(pairs), np.zeros(1))
        self.require_order(pairs)
        first = classical_start(pairs, self.axes.count, compute) if given is None else given[pairs.firsts]
        available, axes = first.shape[1], self.axes.count
        if available < axes and reproduces(pairs, first):
            axes = self.axes.available_count(available)
        with mute_notes():
            return run_starts(self.runner(pairs), Starts(
                self.starts, len(pairs), partial(layout_starts, pairs, first, axes, self.starts, compute)))

    def without_extent(self, pairs: Pairs) -> Run:
        """Return the layout of points that are all equal: one axis of zeros, with a note."""
        points = np.zeros((1, self.axes.available_count(0)))
        return Run(points, 0.0, np.zeros(0), converged=True)

    def model(self, data: Spatial, pairs: Pairs, runs: Ended) -> Model:
        """Return the model of the run of least stress."""
        best = best_of(runs)
        axes = best.points.shape[1]
        embedding = principal(best.points[pairs.places])
        points, metric = training_points(data)
        similarity = LeastStress(embedding, points, self.exponent, self.disparities(pairs, best), metric)
        goodness = self.goodness(pairs, best)
        return Model(embedding=embedding, objective=Quantity(best.trace), goodness=goodness,
                     projector=Projector(similarity, uncentered(axes), np.eye(axes)),
                     fit=self.facts(runs, best) | {"linear_r_squared": goodness.linear})

    def facts(self, runs: Ended, best: Run) -> dict[str, Any]:
        """Return the figures of a fit: the least stress, and how many of the runs reached it."""
        return {"stress": best.stress, "starts": self.starts,
                "reached": int(np.sum(runs.stresses <= best.stress + SAME)), **best.facts}

    def require_order(self, pairs: Pairs) -> None:
        """Raise DataError for dissimilarities without an order, where the method keeps only that."""


def best_of(runs: Ended) -> Run:
    """Return the run of least stress; warns where it did not converge."""
    best = runs.best
    if not best.converged:
        note("W-UNCONVERGED", f"stopped after {len(best.trace)} iterations without convergence",
             iterations=len(best.trace), change=None)
    return best
