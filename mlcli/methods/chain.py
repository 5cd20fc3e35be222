"""A chain of stages of the user's choice."""

from typing import Any, ClassVar, Literal, Self

from mlcli.base.stages.steps import Step
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import AffinityGraph, Dissimilarities, Features, Input, LengthGraph, Similarities
from mlcli.methods.frame.base import Method
from mlcli.methods.frame.model import Model, Powers
from mlcli.methods.frame.variants import variant
from mlcli.stages.chain.refusals import rename_errors, rename_remedies, require_sense
from mlcli.stages.chain.stages import Stages

NINE: dict[str, Any] = {"neighbors": {"count": 9}}


class Chain(Stages, Method):  # type: ignore[misc,override]  # what others declare follows here from the stages
    """Stages of the user's choice: a graph, paths, a kernel, its centering, its eigenvectors, coordinates.

    Every spectral method is such a chain, and `mlcli methods NAME --yaml` writes it out. Other chains are possible: a
    gaussian kernel of geodesic distances, principal components of rows that are not centered, the kernels of the
    textbook without centering. A stage that is null is left out. An invalid chain, or an option that it would ignore,
    is refused with the reason and the nearest valid chain.

    By default it is classical multidimensional scaling. [Chains](../chains.md) has examples. Source: Schölkopf, Smola
    and Müller, 1998; Ham, Lee, Mika and Schölkopf, "A kernel view of the dimensionality reduction of manifolds", 2004.
    """

    accepts: ClassVar = (Features, Dissimilarities, Similarities, LengthGraph, AffinityGraph)
    decodes: ClassVar = "linear kernel, gower of features without paths and correction, or method.decoder"
    repeat_tolerance: ClassVar = 1e-5  # what the weights of a reconstruction leave
    variants: ClassVar = (
        variant(), variant("laplacian kernel", kernel={"name": "laplacian"}),
        variant("unit", coordinates={"scale": "unit"}),
        variant("sigmoid", "shift", kernel={"name": "sigmoid", "gamma": 0.05, "coef0": 0.1}),
        variant("cosine", "shift", kernel={"name": "cosine"}, centering="none"),
        variant("singular", "shift", kernel={"name": "linear"}, centering="none"),
        variant("principal", kernel={"name": "linear"}, centering="columns", coordinates={"scale": "variance"}),
        variant("geodesic gaussian", graph=NINE, paths={}, kernel={"name": "gaussian"}),
        variant("reconstruction", "twins", graph=NINE, kernel={"name": "reconstruction"}),
        variant("graph laplacian", graph=NINE, kernel={"name": "graph_laplacian"}),
        variant("unfolding", "quick", graph={"neighbors": {"count": 6}}, kernel={"name": "unfolding"}))
    later: ClassVar = ("decoder",)
    name: Literal["chain"] = "chain"

    def chain(self, kind: str = "features") -> Stages:
        """Return the method, which is a chain."""
        return self

    def require_kind(self, kind: str, missing: str = "error") -> None:
        """Raise ConfigError where the stages do not fit this kind of input, or each other."""
        super().require_kind(kind, missing)
        require_sense(self, kind)

    def resolve(self, data: Input) -> Self:
        """Resolve like any method, with errors that name a chain's options."""
        with rename_errors(self.kernel):
            return super().resolve(data)

    def fit(self, data: Input, compute: Compute) -> Model:
        """Fit like any method, with errors that name a chain's options."""
        with rename_errors(self.kernel):
            return super().fit(data, compute)

    def steps(self, data: Any, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps, with errors and remedies that name a chain's options."""
        with rename_errors(self.kernel):
            return rename_remedies(super().steps(data, compute, share), self.kernel)

    def limit(self, data: Input) -> int:
        """Return the number of points or landmarks, less one if centered; the columns' limit if axes are of columns."""
        return self.most(data) or (self.landmark_count(data) or len(data.values)) - (self.centering == "double")

    def eigenvalues(self, data: Input) -> int:
        """Return the number of eigenvalues, zeros included."""
        return min(data.values.shape) if self.by_columns else super().eigenvalues(data)

    def steps_before_fit(self, data: Any, compute: Compute) -> list[Step]:
        """Return the steps whose memory the data alone determines."""
        return self.search_steps(data, compute) or self.steps(data, compute, None)

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return graph and kernel for the data; raises ConfigError for an option that another one makes void."""
        return self.refuse_void() or self.resolve_graph(data)

    def powers_of(self, data: Input) -> Powers:
        """Return the kernel's powers of the unit; coordinates of fixed size carry none."""
        return Powers(self.power if self.coordinates.scale == "roots" else 0, 2 * self.power)
