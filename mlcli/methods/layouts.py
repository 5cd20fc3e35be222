"""The bases of layouts: methods whose coordinates minimize an objective over pairs of points, from several starts."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from pydantic import PrivateAttr

from mlcli.base.frozen import frozen
from mlcli.base.machine.footprint import SPARSE
from mlcli.base.stages.composition import Composition, FitStage
from mlcli.base.stages.stage import mute_notes, note, running
from mlcli.base.stages.steps import Step, repeated
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import AffinityGraph, Dissimilarities, Features, Given, Input, LengthGraph, Spatial
from mlcli.base.values.quantity import Quantity
from mlcli.base.values.scaling import Unit
from mlcli.base.values.signs import leading_signs
from mlcli.certify.subject import Subject
from mlcli.core.arithmetic import combine, inner_products, symmetric_eigen
from mlcli.core.centering import uncentered
from mlcli.core.eigen.options import AUTO, Axes
from mlcli.core.iterate import Iterate
from mlcli.core.layouts.added_points import place_together, relative_weights_together
from mlcli.core.layouts.anchors import Anchors
from mlcli.core.layouts.first_coordinates import classical_start, layout_starts, leading_step, reproduces
from mlcli.core.layouts.goodness import metric_goodness
from mlcli.core.layouts.majorize import (
    MEMORY,
    USUAL,
    laplacian_solver,
    minimize_stress,
    minimize_tied_stress,
    step_seconds,
    stress_terms,
)
from mlcli.core.layouts.new_points import LeastStress
from mlcli.core.layouts.own_losses import LayoutLosses
from mlcli.core.layouts.pairs import Pairs
from mlcli.core.layouts.ranks import Monotone
from mlcli.core.layouts.several_starts import BestMinimization, Minimization, Starts, run_starts, workers
from mlcli.core.metrics.distances import lengths_of, seconds_of_lengths, training_points
from mlcli.core.model import Goodness, Model, Powers
from mlcli.core.similarities.projector import Projector
from mlcli.errors import ConfigError
from mlcli.methods.method import Method
from mlcli.methods.trials import InputSummary, Trials, single_trial


@frozen
class FirstPoints:
    """Coordinates of points (m x p), by their ids (m), that a layout starts from in place of its own start."""

    points: Array
    ids: Sequence[str]

    def of(self, ids: Sequence[str]) -> Array:
        """Return the coordinates of some of the points, in their order (n x p)."""
        places = {name: place for place, name in enumerate(self.ids)}
        return np.array(self.points[[places[name] for name in ids]])


class LayoutMethod(Method):
    """The base of methods that minimize an objective over pairs of points, without an eigenproblem."""

    takes_start: ClassVar[bool] = True  # whether it can start from coordinates of the points
    _first: FirstPoints | None = PrivateAttr(default=None)  # a value of a call, and no option: a file has none
    _anchors: Anchors | None = PrivateAttr(default=None)  # likewise, of a layout whose points are tied to former places

    ranked_by: ClassVar = None
    judged_by: ClassVar = "neighbors"
    decodes: ClassVar = None
    rules: ClassVar[tuple[str, ...]] = ()
    has_loadings: ClassVar = False
    variance_shares: ClassVar = False
    beside_baseline: ClassVar = True

    @property
    def neighborhood(self) -> float:
        """The number of neighbors of a point that count; zero where all points do."""
        return 0.0

    def point_losses(self, data: Input, model: Model, compute: Compute) -> LayoutLosses | None:
        """Return the loss of each point of a fitted layout as a function of its own place; None where it has none."""
        raise NotImplementedError

    def stored(self, data: Input) -> float:
        """Return the bytes of training rows in the model, all of which place new points."""
        return 0.0 if data.points is None else 8.0 * data.points.size

    def starting_at(self, points: Array, ids: Sequence[str]) -> Self:
        """Return the method that starts from given coordinates (m x p), in the layout's unit, of points by their ids.

        Their number of axes is that of the layout; raises ConfigError where another one was chosen.
        """
        axes, asked = points.shape[1], self.axes.components
        if self.axes.chosen("components") and asked not in (axes, AUTO):
            raise ConfigError("START", f"the start has {axes} {'axis' if axes == 1 else 'axes'}, and {asked} "
                              f"{'was' if asked == 1 else 'were'} requested", where="start",
                              hint="give a column for each axis, or leave the number of axes out")
        started = self.with_axes(axes)
        started._first = FirstPoints(points, ids)
        return started

    def place_among(self, data: Input, places: Array, moving: Indices, model: Model, compute: Compute) -> Model:
        """Return the model of rows that are added to a layout, where they move among its rows and each other.

        They are compared in the units of the layout's fit, which its model has.
        """
        projector = model.required_projector
        measured: Any = self.with_metric(data).over(projector.input_unit)
        method = self.measured_in(measured.unit)
        places = projector.output_unit.measured(places)
        found = method.layout_among(measured, places, moving, projector, compute) if len(moving) else (
            method.model_among(measured, places, moving, projector, {**model.fit, "added": 0}))
        return found.in_units(measured, self.powers_of(measured))

    def tied_to(self, places: Array, start: Array, weight: float, ids: Sequence[str]) -> Self:
        """Return the method that starts from coordinates (n x p) of points by their ids, tied to `places` (n x p).

        Both are in the layout's unit; places are NaN for points that are free. Axes then stay as they are.
        """
        tied = self.starting_at(start, ids)
        tied._anchors = Anchors(places, weight)
        return tied

    def layout_among(self, data: Any, places: Array, moving: Indices, projector: Projector, compute: Compute) -> Model:
        """Return the model of rows `moving` (m) that are placed among the others at `places` (n x p)."""
        raise NotImplementedError

    def model_among(self, data: Any, places: Array, moving: Indices, projector: Projector, fit: dict[str, Any],
                    trace: Array | None = None, **parts: Any) -> Model:
        """Return the model of a layout (n x p) whose rows place new ones, with other `parts` of its similarity."""
        similarity: Any = replace(projector.similarity, coordinates=places, points=np.asarray(data.values),  # type: ignore[call-arg]
                                  metric=training_points(data)[1], **parts)
        return Model(embedding=places, objective=None if trace is None else Quantity(trace), fit=fit,
                     projector=replace(projector, similarity=similarity))

    def first_points(self, data: Input) -> Array | None:
        """Return the coordinates that were given to start from (n x p); None where none were."""
        return None if self._first is None else self._first.of(data.ids)[:, : self.axes.count]

    def measured_in(self, unit: Unit, where: str = "method") -> Self:
        """Return the method in a unit of the data, which the coordinates to start from have as the layout has it."""
        measured, first = super().measured_in(unit, where), self._first
        if first is None:
            return measured
        measured, length = measured.replace(), unit**self.powers.coordinates
        measured._first = replace(first, points=length.measured(first.points))
        measured._anchors = self._anchors and replace(self._anchors, places=length.measured(self._anchors.places))
        return measured


class NeighborEmbedding(LayoutMethod):
    """The base of layouts that only keep neighbors, of every kind of input that has them; the scale is of no meaning.
    """

    accepts: ClassVar = (Features, Dissimilarities, LengthGraph, AffinityGraph)
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    scaleless: ClassVar = True


def principal(points: Array) -> Array:
    """Return coordinates (n x p), centered and turned to their principal axes, with the common rule of signs."""
    center, axes = principal_axes(points)
    return combine(points - center, axes)


def principal_axes(points: Array) -> tuple[Array, Array]:
    """Return the mean (p) and the principal axes (p x p, columns) of coordinates (n x p), with the rule of signs."""
    center = points.mean(axis=0)
    centered = points - center
    _, turn = symmetric_eigen(inner_products(centered, centered))
    return center, turn * leading_signs(combine(centered, turn))


def centered_axes(points: Array) -> Array:
    """Return coordinates (n x p) on principal axes, where they may lie far from zero: with small means taken again."""
    centered = points - points.mean(axis=0)
    return principal(centered - centered.mean(axis=0))


FEW = 3_000  # rows up to which exploration tries layouts
SAME = 1e-3  # stress above the least up to which a run counts as having reached it, as in vegan's metaMDS


class StressMethod(LayoutMethod):
    """The base of methods that minimize a stress of dissimilarities, given or of features under a metric."""

    accepts: ClassVar[tuple[type[Given], ...]] = (Features, Dissimilarities)
    takes_anchors: ClassVar = True
    judged_by: ClassVar = "stress"
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

    def runner(self, pairs: Pairs) -> Callable[[Array], Minimization]:
        """Return the minimization of the stress from coordinates (u x p); what all starts need is computed once."""
        raise NotImplementedError

    def tied_run(self, pairs: Pairs, start: Array, anchors: Anchors) -> Minimization:
        """Return the minimization of the stress with a penalty of anchors, from coordinates (u x p)."""
        raise NotImplementedError

    def disparities(self, pairs: Pairs, best: Minimization) -> Monotone | None:
        """Return the lengths that distances of a new point should have, by its dissimilarities; None: these."""
        return None

    def goodness(self, pairs: Pairs, best: Minimization) -> Goodness:
        """Return the stress of each point, and pairs for a Shepard diagram."""
        return metric_goodness(pairs, best.points)

    def composition(self, data: Any, compute: Compute, share: float | None = None) -> Composition[Model]:
        """Return the stages: distances of all pairs, and the minimizations from all starts."""
        return StressComposition(self, data, compute)

    def layout_steps(self, count: int, compute: Compute) -> list[Step]:
        """Return the steps of classical scaling and the minimizations, for the dissimilarities of `count` points."""
        return [leading_step(count, count, min(self.axes.count, max(count - 1, 1))),
                self.iteration_step(count, compute.thread_count())]

    def iteration_step(self, count: int, threads: int) -> Step:
        """Return the step of all minimizations of `count` points."""
        raise NotImplementedError

    def runs(self, pairs: Pairs, compute: Compute, given: Array | None = None) -> BestMinimization:
        """Return what is kept of the minimizations from all starts: `given` (n x p) or classical scaling, then random.
        """
        if len(pairs) == 1:
            return BestMinimization(self.without_extent(pairs), np.zeros(1))
        self.require_order(pairs)
        if self._anchors is not None and given is not None:
            found = self.tied_run(pairs, given[pairs.firsts], self._anchors)
            return BestMinimization(found, np.array([found.stress]))
        if given is None:
            with running("eigensolve"):
                first = classical_start(pairs, min(self.axes.count, len(pairs) - 1))
        else:
            first = given[pairs.firsts]
        available, axes = first.shape[1], self.axes.count
        if available < axes and reproduces(pairs, first):
            axes = self.axes.available_count(available)
        with mute_notes():
            return run_starts(self.runner(pairs), Starts(
                self.starts, len(pairs), partial(layout_starts, pairs, first, axes, self.starts, compute)))

    def point_losses(self, data: Input, model: Model, compute: Compute) -> LayoutLosses | None:
        """Return the stress of each point as a function of its own place, with disparities as they are."""
        from mlcli.core.layouts.own_stress import stress_losses

        assert isinstance(model.projector, Projector) and isinstance(model.projector.similarity, LeastStress)
        return stress_losses(model.projector.similarity, None if isinstance(data, Features) else data.values)

    def without_extent(self, pairs: Pairs) -> Minimization:
        """Return the layout of points that are all equal: one axis of zeros, with a note."""
        points = np.zeros((1, self.axes.available_count(0)))
        return Minimization(points, 0.0, np.zeros(0), converged=True)

    def model(self, data: Spatial, pairs: Pairs, runs: BestMinimization) -> Model:
        """Return the model of the run of least stress."""
        best = best_of(runs)
        axes = best.points.shape[1]
        embedding = best.points[pairs.places] if self._anchors is not None else principal(best.points[pairs.places])
        points, metric = training_points(data)
        similarity = LeastStress(embedding, points, self.exponent, self.disparities(pairs, best), metric)
        goodness = self.goodness(pairs, best)
        return Model(embedding=embedding, objective=Quantity(best.trace), goodness=goodness,
                     projector=Projector(similarity, uncentered(axes), np.eye(axes)),
                     fit=self.facts(runs, best) | {"linear_r_squared": goodness.linear})

    def facts(self, runs: BestMinimization, best: Minimization) -> dict[str, Any]:
        """Return the figures of a fit: the least stress, and how many of the runs reached it."""
        return {"stress": best.stress, "starts": 1 if self._anchors is not None else self.starts,
                "reached": int(np.sum(runs.stresses <= best.stress + SAME)), **best.facts}

    def layout_among(self, data: Any, places: Array, moving: Indices, projector: Projector, compute: Compute) -> Model:
        """Return the model of rows of least stress of the pairs that they are in; those equal to others are on them."""
        with running("distances"):
            lengths = lengths_of(data)
        firsts = (lengths == 0).argmax(axis=1)
        fixed = np.setdiff1d(np.arange(len(places)), moving)
        among = (lengths[np.ix_(moving, fixed)] == 0)
        on = among.any(axis=1)
        places[moving[on]] = places[fixed[among[on].argmax(axis=1)]]
        free = moving[~on]
        single = free[np.isin(firsts[free], free, invert=True) | (firsts[free] == free)]
        twins, roots = np.setdiff1d(free, single), np.arange(len(places))
        for row in twins.tolist():  # each after its first, which may be a twin itself
            roots[row] = roots[firsts[row]]
        trace, converged, known = np.zeros(0), True, np.setdiff1d(np.arange(len(places)), free)
        if len(single):
            rows = np.concatenate([single, known])
            some = lengths[np.ix_(single, rows)]
            counts = np.bincount(roots)  # as points that equal each other move as one
            weights = relative_weights_together(some, self.exponent)
            weights *= counts[single, None]
            weights *= counts[rows]
            disparities = projector.similarity.disparities  # type: ignore[attr-defined]
            ended = place_together(some if disparities is None else disparities(some), weights, places[known],
                                   self.stopping)
            places[single], trace, converged = ended.state.points, ended.trace, ended.converged
        places[twins] = places[roots[twins]]
        pairs = Pairs.of(lengths, self.exponent, list(data.ids))
        return self.assessed(self.model_among(data, places, moving, projector, {
            "added": len(moving), "iterations": len(trace), "converged": converged}, trace), pairs, places)

    @property
    def stopping(self) -> Iterate:
        """When the placement of added rows stops."""
        raise NotImplementedError

    def steps_among(self, data: Any, count: int, compute: Compute) -> list[Step]:
        """Return the steps of distances of all pairs, and of the placement of so many rows among the others."""
        size, threads = len(data.values), compute.thread_count()
        each = step_seconds(size, self.axes.count, threads, False) * count / max(size, 1)
        return [Step("distances", f"{size} x {size}, in memory", seconds_of_lengths(data, size, threads),
                     16.0 * size**2, square=True),
                repeated("iterate", f"majorization of {count:,} rows", each, 8.0 * (5 * count * size + 2 * count**2),
                         usual=USUAL, most=self.stopping.limit, square=True, needs=SPARSE)]

    def checks_among(self, subject: Subject, moving: Indices) -> Iterator[Check]:
        """Check the stress as stated, by distances of another library, and that no step moves an added row."""
        from mlcli.methods.layout_checks import added_stress_checks

        yield from added_stress_checks(subject.data, subject.model, moving, power=self.exponent,
                                       tolerance=self.stopping.tolerance, stress=self.stress_again)

    def checks_tied(self, subject: Subject, anchors: Anchors) -> Iterator[Check]:
        """Check the stress as stated, by distances of another library, and that no point's step lowers the sum."""
        from mlcli.methods.layout_checks import tied_stress_checks

        yield from tied_stress_checks(subject.data, subject.model, anchors.places, power=self.exponent,
                                      weight=anchors.weight, tolerance=self.stopping.tolerance,
                                      stress=self.stress_again)

    def stress_again(self, lengths: Array, distances: Array) -> float:
        """Return the stress of condensed dissimilarities and distances, for the certificate."""
        raise NotImplementedError

    def assessed(self, model: Model, pairs: Pairs, places: Array) -> Model:
        """Return the model of a layout (n x p) with its stress, that of each point, and pairs of a Shepard diagram."""
        goodness = self.goodness(pairs, Minimization(places[pairs.firsts], 0.0, np.zeros(0), converged=True))
        squares = float(np.cumsum(goodness.points * goodness.points)[-1])
        return replace(model, goodness=goodness, fit={
            "stress": self.stress_of(squares), **model.fit, "linear_r_squared": goodness.linear})

    def stress_of(self, squares: float) -> float:
        """Return the stress that the method states, of the squares of the points' shares (`Goodness`)."""
        return float(np.sqrt(squares))

    def require_order(self, pairs: Pairs) -> None:
        """Raise DataError for dissimilarities without an order, where the method keeps only that."""


@frozen
class StressComposition(Composition[Model]):
    """The coordinates of least stress of those reached from all starts, on principal axes."""

    method: StressMethod
    data: Spatial
    compute: Compute

    @FitStage
    def pairs(self) -> Pairs:
        """The dissimilarities of all pairs."""
        with running("distances"):
            return Pairs.of(lengths_of(self.data), self.method.exponent, list(self.data.ids))

    @pairs.cost
    def _(self) -> list[Step]:
        count = len(self.data.values)
        return [Step("distances", f"{count} x {count}, in memory",
                     seconds_of_lengths(self.data, count, self.compute.thread_count()), 16.0 * count**2, square=True)]

    @FitStage
    def runs(self) -> BestMinimization:
        """What is kept of the minimizations, from given coordinates or classical scaling, and then from random ones."""
        return self.method.runs(self.pairs, self.compute, self.method.first_points(self.data))

    @runs.cost
    def _(self) -> list[Step]:
        return self.method.layout_steps(len(self.data.values), self.compute)

    def result(self) -> Model:
        """Return the model of the run of least stress."""
        return self.method.model(self.data, self.pairs, self.runs)


def best_of(runs: BestMinimization) -> Minimization:
    """Return the run of least stress; warns where it did not converge."""
    best = runs.best
    if not best.converged:
        note("W-UNCONVERGED", f"stopped after {len(best.trace)} iterations without convergence",
             iterations=len(best.trace), change=None)
    return best


COPIES = 2.5  # n x n matrices beside the dissimilarities: weights, their Laplacian, and the half that is its factor


class MajorizedMethod(StressMethod):
    """The base of methods whose stress is Σ w (δ - d)², divided by Σ w δ²."""

    squared: ClassVar[bool] = False  # whether the stress is that ratio, and not its root
    if TYPE_CHECKING:
        iterate: Iterate

    @property
    def stopping(self) -> Iterate:
        """When the placement of added rows stops."""
        return self.iterate

    def stress_of(self, squares: float) -> float:
        """Return the stress that the method states, of the squares of the points' shares (`Goodness`)."""
        return squares if self.squared else float(np.sqrt(squares))

    def runner(self, pairs: Pairs) -> Callable[[Array], Minimization]:
        """Return the minimization of the stress by relaxed Guttman transforms."""
        solve = laplacian_solver(pairs)

        def run(start: Array) -> Minimization:
            ended = minimize_stress(pairs, start, self.iterate, solve)
            found = Minimization(ended.state.points, ended.state.stress, ended.trace, ended.converged)
            if self.squared:
                return replace(found, stress=found.stress * found.stress, trace=found.trace * found.trace)
            return found

        return run

    def tied_run(self, pairs: Pairs, start: Array, anchors: Anchors) -> Minimization:
        """Return the minimization of the stress with a penalty of anchors by majorization, from coordinates (u x p)."""
        ended = minimize_tied_stress(pairs, start, anchors, self.iterate)
        points = ended.state.points
        squares = max(stress_terms(pairs, points).errors, 0.0) / (pairs.size or 1.0)
        trace = ended.trace * ended.trace if self.squared else ended.trace
        return Minimization(points, self.stress_of(squares), trace, ended.converged)

    def stress_again(self, lengths: Array, distances: Array) -> float:
        """Return the stress of condensed dissimilarities and distances, for the certificate."""
        from mlcli.methods.layout_checks import metric_stress

        return metric_stress(lengths, distances, power=self.exponent, squared=self.squared)

    def iteration_step(self, count: int, threads: int) -> Step:
        """Return the step of majorization from all starts."""
        beside = workers(self.starts, count, threads)
        held = 8.0 * count**2 * (COPIES if self.exponent != 0 else 0.0) + 16.0 * (
            MEMORY + 6) * count * self.axes.count * beside + 8.0 * self.starts
        each = self.starts / beside * step_seconds(
            count, self.axes.count, 1 if beside > 1 else threads, self.exponent != 0)
        return repeated("iterate", f"majorization from {self.starts} start{'s' * (self.starts > 1)}", each, held,
                        usual=USUAL, most=self.iterate.limit, square=True, needs=SPARSE)  # of the checks
