"""A chain of stages of the user's choice.

Chains that make no sense are refused here, each with the reason.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from re import Match, sub
from typing import Any, ClassVar, Literal, Self

from mlcli.base.stages.steps import Step
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import AffinityGraph, Dissimilarities, Features, Input, LengthGraph, Similarities
from mlcli.core.chain.stages import Stages
from mlcli.core.model import Model, Powers
from mlcli.errors import ConfigError, MlcliError
from mlcli.methods.method import Method
from mlcli.methods.trials import variant

Refusal = tuple[str, str, str]  # the option, why, and what to do


def require_sense(chain: Any, kind: str) -> None:
    """Raise ConfigError where stages do not fit together, would be ignored, or do not fit this kind of input."""
    own = ((f"kernel.{path}", why, remedy) for path, why, remedy in chain.kernel.refusals())
    for path, why, remedy in (*_of_input(chain, kind), *_of_graph(chain, kind == "graph"), *_of_distances(chain),
                              *_of_centering(chain), *_of_coordinates(chain), *own):
        raise ConfigError("CHAIN", f"this chain is not valid: {why}", where=f"method.{path}", hint=remedy)


def _of_input(chain: Any, kind: str) -> Iterator[Refusal]:
    name = chain.kernel.name
    if chain.kernel.of_input != (kind == "kernel"):
        yield ("kernel.name", f"the input is {kind} and the chain's kernel is {name}",
               "set kernel to {name: given}" if kind == "kernel" else "give the matrix with input.kind: kernel, or "
               "choose a kernel that is computed, such as gower")
    if kind == "dissimilarities" and chain.kernel.of_coordinates:
        yield "kernel.name", f"{name} needs points and dissimilarities are given", "use gower, gaussian or laplacian"
    if kind == "graph" and not (
            chain.kernel.of_distances or (chain.kernel.of_graph and not chain.kernel.one_sided)):
        yield ("kernel.name", f"{name} needs distances of all points or coordinates, and a graph is given",
               "use graph_laplacian or unfolding, or gower, gaussian or laplacian with paths")
    if not chain.metric.plain and chain.kernel.of_coordinates:
        yield "metric", *(("each table of a sum has a metric of its own", "leave metric out, and give those of "
                           "kernel.tables") if name == "sum" else
                          (f"{name} is made of coordinates, not of distances",
                           "leave metric out, or use gower or gaussian"))


def _of_graph(chain: Any, given: bool) -> Iterator[Refusal]:
    kernel, joined = chain.kernel, given or chain.graph is not None
    if chain.paths is not None and not kernel.of_distances:
        yield "paths", f"{kernel.name} has no use for paths", "leave paths out, or use gower, gaussian or laplacian"
    if chain.paths is not None and not joined:
        yield "paths", "paths need a graph", "give graph: {neighbors: {count: 10}}, or leave paths out"
    if kernel.of_graph and not joined:
        yield "graph", f"{kernel.name} needs a graph", "give graph: {neighbors: {count: 10}}"
    if given and chain.paths is None and kernel.of_distances:
        yield "paths", "a graph has distances of all points only along its edges", "give paths: {} as well"
    if chain.graph is not None and chain.paths is None and not kernel.of_graph:
        yield ("graph", f"{kernel.name} has no use for a graph without paths",
               "give paths: {} as well, or leave graph out" if kernel.of_distances else "leave graph out")
    if chain.graph is not None and chain.graph.rule == "mutual" and kernel.one_sided:
        yield "graph.rule", "weights lead from each point to its own neighbors, mutual or not", "leave rule out"


def _of_distances(chain: Any) -> Iterator[Refusal]:
    plain = chain.kernel.of_distances and not chain.kernel.bent
    if chain.correction != "none" and not (plain and chain.paths is None):
        yield ("correction", "a correction makes distances Euclidean, those of all pairs and not along a graph",
               "use kernel gower without paths, or leave correction out")
    if chain.landmarks is not None and not chain.kernel.of_distances:
        yield ("landmarks", f"{chain.kernel.name} does not use distances, which landmarks need",
               "use kernel gower, gaussian or laplacian, or leave landmarks out")
    if chain.paths is not None and chain.paths.store == "streamed" and not plain:
        yield "paths.store", f"{chain.kernel.name} needs paths that are stored", "use memory or disk, or kernel gower"


def _of_centering(chain: Any) -> Iterator[Refusal]:
    kernel, centering = chain.kernel, chain.centering
    if centering == "columns" and not kernel.by_columns:
        yield "centering", f"{kernel.name} has no columns to center", "use double, or kernel linear"
    if centering == "none" and kernel.of_distances and not kernel.bent:
        yield "centering", "only centering turns -δ²/2 into inner products", "use double, or kernel gaussian"
    if centering == "none" and kernel.centered:
        yield "centering", f"{kernel.name} is centered as it is", "leave centering out"
    if centering == "double" and kernel.requested_route != "auto":
        yield "kernel.route", "a kernel centered by rows and columns is solved as a matrix", "use centering columns"


def _of_coordinates(chain: Any) -> Iterator[Refusal]:
    if chain.coordinates.divisor != "none" and not chain.kernel.variances:
        yield "coordinates.divisor", f"the eigenvalues of {chain.kernel.name} are no variances", "leave divisor out"
    if chain.coordinates.scale != "roots" and chain.kernel.sized:
        yield "coordinates.scale", f"{chain.kernel.name} gives coordinates a size of their own", "leave scale out"
    if chain.coordinates.scale != "roots" and chain.landmarks is not None:
        yield ("coordinates.scale", "landmarks place points at the size of their distances",
               "use roots, or leave landmarks out")


def chain_paths(text: str, kernel: Any) -> str:
    """Replace the paths of methods' options in a text by their paths in a chain with this kernel."""

    def path(place: Match[str]) -> str:
        of_kernel = place[1] in type(kernel).model_fields and place[1] != "name"  # the chain has a name itself
        inside = "graph." if place[1] == "neighbors" else "kernel." * of_kernel
        return f"method.{inside}{place[1]}"

    return sub(r"method\.(\w+)", path, text)


@contextmanager
def rename_errors(kernel: Any) -> Iterator[None]:
    """Rewrite errors in the block: options of methods get their paths in a chain with this kernel."""
    try:
        yield
    except MlcliError as error:
        raise error.changed(where=chain_paths(error.where, kernel), hint=chain_paths(error.hint, kernel)) from error


NINE: dict[str, Any] = {"neighbors": {"count": 9}}


class Chain(Stages, Method):  # type: ignore[misc,override]  # what others declare follows here from the stages
    """Stages of the user's choice: a graph, paths, a kernel, its centering, its eigenvectors, coordinates.

    It keeps what its kernel says is alike; the stages before it decide what that is. It fails where stages do not fit
    each other, which is refused with the reason and the nearest valid chain. Set the `kernel` first, then what it is
    computed from: `graph`, `paths` or the rows themselves.

    How it works: Every spectral method is a chain of stages: neighbors make a graph, paths along it make distances,
    these make a kernel, it is centered, and its eigenvectors on some scale are coordinates. `mlcli methods NAME --yaml`
    writes the chain of a method out. Other chains are possible: a gaussian kernel of geodesic distances, principal
    components of rows that are not centered, the kernels of the textbook without centering.

    The kernel `sum` adds kernels of several tables, which are groups of columns, each divided by its norm and times a
    weight: `mfa` and `statis` are such chains, and so are sums of kernels of other distances.

    A stage that is null is left out. An invalid chain, or an option that it would ignore, is refused. By default it is
    classical multidimensional scaling. [Chains](../chains.md) has examples.

    New points: Their kernel values with the training points are centered as those of the training points were, and
    multiplied by the axes.

    Files: With the kernel `sum`, `groups.csv`, `groups_axes.csv`, `groups_rv.csv` and `partial.csv` say of each table
    what they say of a group of `mfa`.

    Source: Schölkopf, Smola and Müller, 1998; Ham, Lee, Mika and Schölkopf, "A kernel view of the dimensionality
    reduction of manifolds", 2004.
    """

    accepts: ClassVar = (Features, Dissimilarities, Similarities, LengthGraph, AffinityGraph)
    judged_by: ClassVar = "neighbors"
    decodes: ClassVar = "linear kernel, gower of features without paths and correction, or method.decoder"
    repeat_tolerance: ClassVar = 1e-5  # what the weights of a reconstruction leave
    variants: ClassVar = (
        variant(), variant("laplacian kernel", kernel={"name": "laplacian"}),
        variant("unit", coordinates={"scale": "unit"}),
        variant("sigmoid", "shift", kernel={"name": "sigmoid", "gamma": 0.05, "coef0": 0.1}),
        variant("cosine", "shift", kernel={"name": "cosine"}, centering="none"),
        variant("singular", "shift", kernel={"name": "linear"}, centering="none"),
        variant("principal", kernel={"name": "linear"}, centering="columns", coordinates={"scale": "variance"}),
        variant("sum", "rotation", "columns", kernel={"name": "sum", "tables": [
            {"name": "first", "columns": ["x1", "x2"]},
            {"name": "second", "columns": ["x3", "x4"], "kernel": {"name": "gaussian"}, "scale": "standard"}]}),
        variant("geodesic gaussian", graph=NINE, paths={}, kernel={"name": "gaussian"}),
        variant("reconstruction", "twins", graph=NINE, kernel={"name": "reconstruction"}),
        variant("graph laplacian", graph=NINE, kernel={"name": "graph_laplacian"}),
        variant("unfolding", "quick", graph={"neighbors": {"count": 6}}, kernel={"name": "unfolding"}))
    later: ClassVar = ("decoder",)
    name: Literal["chain"] = "chain"

    def chain(self, kind: str = "features") -> Stages:
        """Return the method, which is a chain."""
        return self

    def chain_of(self, kind: str) -> Stages:
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

    def in_range(self, data: Input) -> Any:
        """Return the data like any method, with errors that name a chain's options."""
        with rename_errors(self.kernel):
            self.kernel.check(data)
            return super().in_range(data)

    def fit_in_range(self, normalized: Any, steps: Sequence[Step], compute: Compute) -> Model:
        """Fit like any method, with errors that name a chain's options."""
        with rename_errors(self.kernel):
            return super().fit_in_range(normalized, steps, compute)

    def steps(self, data: Any, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps, with errors and remedies that name a chain's options."""
        with rename_errors(self.kernel):
            return [replace(step, remedy=chain_paths(step.remedy, self.kernel))
                    for step in super().steps(data, compute, share)]

    def limit(self, data: Input) -> int:
        """Return the number of points or landmarks, less one if centered; the columns' limit if axes are of columns."""
        return self.most(data) or (self.landmark_count(data) or len(data.values)) - (self.centering == "double")

    def eigenvalues(self, data: Input) -> int:
        """Return the number of eigenvalues, zeros included."""
        return min(data.values.shape) if self.by_columns else super().eigenvalues(data)

    def steps_before_fit(self, data: Any, compute: Compute) -> list[Step]:
        """Return the steps whose memory the data alone determines."""
        with rename_errors(self.kernel):
            return self.search_steps(data, compute) or self.steps(data, compute, None)

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return graph and kernel for the data; raises ConfigError for an option that another one makes void."""
        return self.refuse_void() or self.resolve_graph(data)

    def compared(self, data: Input, model: Model) -> Input:
        """Return the data with its metric: of a sum, the distance that the kernels of its tables make together."""
        found = self.with_metric(data)
        if self.kernel.name != "sum" or not isinstance(found, Features):
            return found
        projector = model.required_projector
        function: Any = projector.similarity.comparison
        return replace(found, metric=function.in_plain_units(projector.input_unit))

    def powers_of(self, data: Input) -> Powers:
        """Return the kernel's powers of the unit; coordinates of fixed size carry none."""
        return Powers(self.power if self.coordinates.scale == "roots" else 0, 2 * self.power)
