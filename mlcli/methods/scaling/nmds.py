"""Non-metric multidimensional scaling."""

from collections.abc import Callable, Iterator
from typing import ClassVar, Literal

import numpy as np

from mlcli.base.machine.footprint import OPTIMIZE
from mlcli.base.machine.rates import rates
from mlcli.base.stages.steps import Step, repeated
from mlcli.base.types import Array
from mlcli.base.values.check import Check
from mlcli.base.values.options import option
from mlcli.certify.subject import Subject
from mlcli.core.eigen.options import Axes
from mlcli.core.iterate import Iterate
from mlcli.core.layouts.anchors import Anchors, Springs
from mlcli.core.layouts.goodness import rank_goodness
from mlcli.core.layouts.majorize import tie_rates
from mlcli.core.layouts.pairs import Pairs
from mlcli.core.layouts.ranks import LEAST, PASSES, USUAL, Monotone, PairOrder, Ranks, Ties, function_at_rest
from mlcli.core.layouts.several_starts import Minimization, workers
from mlcli.core.lbfgs import run_fixed_lbfgs
from mlcli.core.metrics import EUCLIDEAN, AnyMetric
from mlcli.core.minimize import Minimize
from mlcli.core.model import Goodness
from mlcli.errors import DataError
from mlcli.methods.layout_checks import rank_checks, rank_stress, tied_rank_checks
from mlcli.methods.layouts import StressMethod
from mlcli.methods.trials import variant

ARRAYS = 5, 5  # numbers of a pair at once: for all starts, and for each that runs

EXACT = {"tolerance": 1e-9}  # as invariances ask for


class NMDS(StressMethod):
    """Points whose distances have the order of given dissimilarities (NMDS).

    It keeps the order of dissimilarities: the more alike two points are, the nearer they lie. It fails with few points,
    since many layouts then have the same order of distances, and if one group is far from all others: the points of
    this group then fall together. Set `--metric` first, for counts of species mostly `braycurtis`, then the number of
    axes (`-p`) by the stress.

    How it works: Coordinates minimize Kruskal's stress-1, √(Σ (d - d̂)² / Σ d²) over all pairs, with d the distances of
    the coordinates and d̂ the numbers nearest to d that never fall as dissimilarities rise. So only the order of
    dissimilarities counts. Pairs of equal dissimilarity may have any d̂ (`ties: primary`), or must have the same
    (`secondary`).

    An iterative optimizer (L-BFGS) lowers the stress, first from classical scaling (`mds`) and then from random
    coordinates (`starts`). The layout of least stress is kept. `fit.reached` in `run.json` counts the starts that end
    within 0.001 of its stress: if only few of many do, there may be a better layout. Coordinates are rotated to their
    principal axes, and their distances have the mean square of the dissimilarities.

    How good it is: A stress below 0.05 is excellent, below 0.1 good; above 0.2 the picture misleads (Clarke, 1993).

    New points: A new point is placed where its distances are nearest to those that the fitted monotone function gives
    for its dissimilarities.

    Files: `trace.csv` holds the stress after each iteration.

    Source: Kruskal, "Nonmetric multidimensional scaling: a numerical method", 1964; Minchin, 1987.
    """

    keeps_order: ClassVar = True
    repeat_tolerance: ClassVar = 1e-6
    variants: ClassVar = (variant("", starts=1, minimize=EXACT),
                          variant("secondary", starts=1, ties="secondary", minimize=EXACT),
                          variant("starts", "permutation", starts=3, minimize=EXACT))
    axis: ClassVar = "NMDS"
    name: Literal["nmds"] = "nmds"
    metric: AnyMetric = EUCLIDEAN
    ties: Ties = option("primary", "Equal dissimilarities: their distances may differ (primary), or not (secondary).")
    starts: int = option(20, "Number of starts: classical scaling, then random ones; the best result is kept.", ge=1)
    minimize: Minimize = Minimize(tolerance=1e-5)
    axes: Axes = Axes()

    def require_order(self, pairs: Pairs) -> None:
        """Raise DataError where all dissimilarities of three or more different points are equal."""
        apart = pairs.lengths[~np.eye(len(pairs), dtype=bool)]
        if len(pairs) > 2 and apart.min() == apart.max():
            raise DataError("ALL-EQUAL", "all dissimilarities of different points are equal, so they have no order",
                            hint="use smacof, which keeps sizes")

    def runner(self, pairs: Pairs) -> Callable[[Array], Minimization]:
        """Return the minimization of squared stress-1 by L-BFGS, after which distances get the data's size."""
        order = PairOrder.of(pairs, self.ties)

        def run(start: Array) -> Minimization:
            ranks = Ranks(order, pairs.counts)
            ended = self.minimize(ranks, start.ravel(), run=run_fixed_lbfgs)
            points = ended.state.values.reshape(start.shape)
            stress = float(np.sqrt(max(ended.state.objective, 0.0)))
            return Minimization(points * np.sqrt(pairs.size / ranks.fit(points).spread), stress,
                                np.sqrt(np.maximum(ended.trace, 0.0)), ended.converged or stress < LEAST)

        return run

    def tied_run(self, pairs: Pairs, start: Array, anchors: Anchors) -> Minimization:
        """Return the minimization of squared stress-1 with a penalty of anchors, relative to Σ w δ², by L-BFGS.

        The penalty decides the size of the layout.
        """
        ranks = Ranks(PairOrder.of(pairs, self.ties), pairs.counts)
        targets, pulls = tie_rates(pairs, anchors)
        springs = Springs(targets, pulls / (pairs.size or 1.0))

        def penalized(numbers: Array) -> tuple[float, Array]:
            squares, slope = ranks(numbers)
            points = numbers.reshape(start.shape)
            return squares + springs.energy(points), slope + 2 * springs.slope(points).ravel()

        ended = self.minimize(penalized, start.ravel(), run=run_fixed_lbfgs)
        points = ended.state.values.reshape(start.shape)
        stress = float(np.sqrt(max(ranks.fit(points).stress, 0.0)))
        return Minimization(points, stress, np.sqrt(np.maximum(ended.trace, 0.0)), ended.converged)

    def checks_tied(self, subject: Subject, anchors: Anchors) -> Iterator[Check]:
        """Check the stress as stated, by distances of another library, and that the penalized stress has no slope."""
        yield from tied_rank_checks(subject.data, subject.model, anchors.places, weight=anchors.weight, ties=self.ties,
                                    tolerance=self.minimize.tolerance)

    @property
    def stopping(self) -> Iterate:
        """When the placement of added rows stops."""
        return Iterate(tolerance=self.minimize.tolerance)

    def stress_again(self, lengths: Array, distances: Array) -> float:
        """Return stress-1 of condensed dissimilarities and distances, for the certificate."""
        return rank_stress(lengths, distances, self.ties)

    def disparities(self, pairs: Pairs, best: Minimization) -> Monotone:
        """Return the disparities as a function of dissimilarities, so scaled that training points are at rest."""
        return function_at_rest(pairs, self.ties, best.points, best.stress)

    def goodness(self, pairs: Pairs, best: Minimization) -> Goodness:
        """Return the stress of each point, and pairs for a Shepard diagram."""
        return rank_goodness(pairs, PairOrder.of(pairs, self.ties), best.points)

    def iteration_step(self, count: int, threads: int) -> Step:
        """Return the step of L-BFGS from all starts."""
        pairs = count * (count - 1) / 2
        beside = workers(self.starts, count, threads)
        each = self.starts / beside * pairs * (PASSES + 4 * self.axes.count) * rates().bent
        return repeated("iterate", f"L-BFGS from {self.starts} start{'s' * (self.starts > 1)}", each,
                        8.0 * ((ARRAYS[0] + ARRAYS[1] * beside) * pairs + count**2 + self.starts), usual=USUAL,
                        most=self.minimize.limit, square=True, needs=OPTIMIZE)  # of the checks

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check principal axes, size and stress by distances of another library, and that the stress has no slope."""
        yield from super().checks(subject)
        yield from rank_checks(subject.data, subject.model, ties=self.ties, tolerance=self.minimize.tolerance)
