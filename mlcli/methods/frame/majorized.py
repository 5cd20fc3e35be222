"""The base of metric layouts: weighted stress of dissimilarities, lowered by majorization."""

from typing import TYPE_CHECKING, ClassVar

from mlcli.base.stages.steps import Step, repeated
from mlcli.base.types import Array
from mlcli.methods.frame.layouts import LayoutMethod, Run
from mlcli.stages.algebra.iterate import Iterate
from mlcli.stages.layout.majorize import BLOCK, USUAL, minimize_stress, step_seconds
from mlcli.stages.layout.pairs import Pairs

COPIES = 2.0  # n x n matrices beside the dissimilarities: weights and their factor


class MajorizedMethod(LayoutMethod):
    """The base of methods whose stress is Σ w (δ - d)², divided by Σ w δ²."""

    squared: ClassVar[bool] = False  # whether the stress is that ratio, and not its root
    if TYPE_CHECKING:
        iterate: Iterate

    def run(self, pairs: Pairs, start: Array) -> Run:
        """Minimize the stress from coordinates (u x p) by relaxed Guttman transforms."""
        ended = minimize_stress(pairs, start, self.iterate)
        trace = ended.trace**2 if self.squared else ended.trace
        stress = ended.state.stress**2 if self.squared else ended.state.stress
        return Run(ended.state.points, stress, ended, trace)

    def iteration_step(self, count: int, threads: int) -> Step:
        """Return the step of majorization from all starts."""
        held = 8.0 * count**2 * (COPIES if self.weights == "inverse" else 0.0) + 8.0 * 6 * BLOCK * threads
        return repeated("iterate", f"majorization from {self.starts} start{'s' * (self.starts > 1)}",
                        self.starts * step_seconds(count, self.axes.count, threads), held, usual=USUAL,
                        most=self.iterate.limit, square=True)
