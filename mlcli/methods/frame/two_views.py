"""The base of methods of two views: input, number of pairs of axes, costs and units."""

from typing import ClassVar

from mlcli.base.stages.steps import Step
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Input, TwoViews
from mlcli.methods.frame.base import Method
from mlcli.methods.frame.model import Powers
from mlcli.stages.algebra.costs import merge_steps, product_rate, singular_step
from mlcli.stages.linear.canonical import most_pairs
from mlcli.stages.linear.whitening import WHITE


class TwoViewMethod(Method):
    """The base of methods whose axes are pairs, one of each view, ranked by their canonical correlation."""

    accepts: ClassVar = (TwoViews,)
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    ranked_by: ClassVar = "canonical correlations"
    variance_shares: ClassVar = False
    rules: ClassVar = ()
    can_resample: ClassVar = True

    def limit(self, data: Input) -> int:
        """Return the smaller of n - 1 and the columns of the smaller view."""
        return most_pairs(data)

    def steps(self, data: TwoViews, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of the singular values of each view."""
        shapes, threads = [part.values.shape for part in (data, data.view)], compute.thread_count()
        pairs = 2.0 * len(data.values) * shapes[0][1] * shapes[1][1] / product_rate(threads)
        return [merge_steps([singular_step("whitening", shape, threads, 1.4 * WHITE) for shape in shapes]),
                Step("correlations", f"singular values of {shapes[0][1]} x {shapes[1][1]}", pairs,
                     8.0 * shapes[0][1] * shapes[1][1])]
