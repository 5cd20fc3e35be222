"""What the methods of two views share: their input, the pairs of axes that there can be, costs and units."""

from typing import ClassVar

from mlcli.base.compute import Compute
from mlcli.base.inputs import Input, TwoViews
from mlcli.base.steps import Step
from mlcli.methods.base import Method
from mlcli.methods.model import Powers
from mlcli.stages.algebra.costs import singular_step
from mlcli.stages.linear.canonical import most_pairs


class OfTwoViews(Method):
    """A method whose axes come in pairs, one of each view, ranked by their canonical correlation."""

    accepts: ClassVar = (TwoViews,)
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    ranked_by: ClassVar = "canonical correlations"
    rules: ClassVar = ()

    def limit(self, data: Input) -> int:
        """The smaller of n - 1 and the columns of the smaller view."""
        return most_pairs(data)

    def steps(self, data: TwoViews, compute: Compute, share: float | None) -> list[Step]:
        """The singular values of each view."""
        return [singular_step("whiten", part.values.shape, compute.thread_count()) for part in (data, data.view)]
