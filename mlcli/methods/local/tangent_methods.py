"""The base of methods on tangent spaces of neighborhoods: input, chain, units, and the fewest neighbors."""

from typing import TYPE_CHECKING, Any, ClassVar

from mlcli.base.values.inputs import Dissimilarities, Features, Input
from mlcli.core.chain.local_costs import TangentKernel
from mlcli.core.chain.stages import Coordinates, NeighborGraph, Stages
from mlcli.core.metrics import AnyMetric
from mlcli.core.model import Powers
from mlcli.methods.method import Method
from mlcli.methods.trials import InputSummary, Trials


class TangentMethod(Method):
    """The base of methods whose kernel is M⁺ of a cost M on tangent spaces."""

    accepts: ClassVar = (Features, Dissimilarities)
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    decodes: ClassVar = None
    rules: ClassVar = ("two_nn", "maximum_likelihood")
    scaleless: ClassVar = True
    repeat_tolerance: ClassVar = 1e-5  # gaps of M⁺ are small relative to rounding in tangent spaces
    if TYPE_CHECKING:  # every method has these
        metric: AnyMetric

        @property
        def kernel(self) -> TangentKernel:
            """The kernel with the method's options."""

    @classmethod
    def trials(cls, seen: InputSummary) -> Trials:
        """Return nothing: tangent spaces need the number of axes that trials are to find."""
        return Trials(reason="its tangent spaces need the number of dimensions first")

    def chain(self, kind: str = "features") -> Stages:
        """Return the chain of K = M⁺, M = RᵀR with functionals of neighborhoods as rows of R; coordinates √n V."""
        return Stages(metric=self.metric, graph=NeighborGraph(neighbors=self.neighbors), kernel=self.kernel,
                      eigensolve=self.eigensolve, coordinates=Coordinates(scale="variance"))

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return the neighbors; raises ConfigError where they are too few for the dimension of tangent spaces."""
        found = super().resolved_stages(data)
        self.kernel.require_axes(self.eigensolve, found["neighbors"], len(data.values))
        return found
