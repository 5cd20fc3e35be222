"""The base of metric layouts: weighted stress of dissimilarities, lowered by majorization."""

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from mlcli.base.machine.footprint import SPARSE
from mlcli.base.stages.steps import Step, repeated
from mlcli.base.types import Array
from mlcli.methods.frame.layouts.stress import StressMethod
from mlcli.stages.algebra.iterate import Iterate
from mlcli.stages.layout.majorize import MEMORY, USUAL, laplacian_solver, minimize_stress, step_seconds
from mlcli.stages.layout.pairs import Pairs
from mlcli.stages.layout.starts import Run, workers

COPIES = 2.0  # n x n matrices beside the dissimilarities: weights and their factor


class MajorizedMethod(StressMethod):
    """The base of methods whose stress is Σ w (δ - d)², divided by Σ w δ²."""

    squared: ClassVar[bool] = False  # whether the stress is that ratio, and not its root
    if TYPE_CHECKING:
        iterate: Iterate

    def runner(self, pairs: Pairs) -> Callable[[Array], Run]:
        """Return the minimization of the stress by relaxed Guttman transforms."""
        solve = laplacian_solver(pairs)

        def run(start: Array) -> Run:
            ended = minimize_stress(pairs, start, self.iterate, solve)
            power = 2 if self.squared else 1
            return Run(ended.state.points, ended.state.stress**power, ended.trace**power, ended.converged)

        return run

    def iteration_step(self, count: int, threads: int) -> Step:
        """Return the step of majorization from all starts."""
        beside = workers(self.starts, count, threads)
        held = 8.0 * count**2 * (COPIES if self.exponent != 0 else 0.0) + 16.0 * (
            MEMORY + 6) * count * self.axes.count * beside + 8.0 * self.starts
        each = self.starts / beside * step_seconds(
            count, self.axes.count, 1 if beside > 1 else threads, self.exponent != 0)
        return repeated("iterate", f"majorization from {self.starts} start{'s' * (self.starts > 1)}", each, held,
                        usual=USUAL, most=self.iterate.limit, square=True, needs=SPARSE)  # of the checks
