"""The stages of a chain as options, and the properties of the result that they determine."""

from collections.abc import Callable, Sequence
from typing import Any

from mlcli.base.stages.composition import Composition
from mlcli.base.stages.steps import Step
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Given, WeightedGraph
from mlcli.base.values.options import Options, option
from mlcli.base.values.plugins import object_at
from mlcli.base.values.products import Name
from mlcli.core.chain.input import ChainInput, limit_of_columns
from mlcli.core.chain.kernels import ChainKernel, GowerKernel
from mlcli.core.chain.options import AnyDecoder, Centered, Coordinates, NeighborGraph, NoDecoder
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.kernels.corrections import Rule
from mlcli.core.metrics import EUCLIDEAN, AnyMetric
from mlcli.core.model import Model
from mlcli.core.paths.paths import OF_LANDMARKS, Paths
from mlcli.errors import ConfigError


class Stages(Options):
    """The stages of a chain, in the order in which they are computed. A stage that is null is left out."""

    metric: AnyMetric = EUCLIDEAN
    graph: NeighborGraph | None = option(None, "The neighbor graph (default: none).")
    paths: Paths | None = option(None, "Shortest paths along the graph (default: none).")
    kernel: ChainKernel = option(GowerKernel(), "The kernel; each has its own parameters.")
    correction: Rule = option("none", "Correction that makes distances Euclidean.")
    landmarks: int | None = option(None, "Number of landmarks: points of a random sample that are fitted, and by "
                                   "which the others are placed (default: all points).", ge=2)
    centering: Centered = option("double", "Centering: rows and columns of the kernel (double), the columns of the "
                                 "features with a linear kernel (columns), or none.")
    eigensolve: Eigensolve = Eigensolve()
    coordinates: Coordinates = Coordinates()
    decoder: AnyDecoder = option(NoDecoder(), "Map from coordinates back to features, of a nonlinear method.")

    def compose(self, data: Any, compute: Compute,
                require: Callable[[Sequence[Step], Given], None] = lambda steps, rows: None,
                share: float | None = None) -> Composition[Model]:
        """Return the computation of coordinates: the kernel's own, or by paths, distances, columns or pairs of points.

        `require` refuses steps that memory does not allow. With a `share`, that part of the most expensive work is
        measured for the steps. A chain imports its own computation and no other.
        """
        chain = ChainInput(**{name: getattr(self, name) for name in Stages.model_fields}, data=data, compute=compute,
                           require=require, share=share)
        found = self._composition(chain)
        if self.decoder.name == "none":
            return found
        from mlcli.core.chain.decoding import DecoderChain

        return DecoderChain(found, chain, data.unit ** (self.power if self.coordinates.scale == "roots" else 0))

    def _composition(self, chain: ChainInput) -> Composition[Model]:
        """Return the computation of coordinates, without a decoder."""
        kernel = self.kernel
        if kernel.way is not None:
            own: Composition[Model] = kernel.way(chain)
            return own
        if kernel.of_distances and self.paths is not None:
            found: Composition[Model] = object_at(self.paths.way)(chain)
            return found
        if kernel.of_distances and not (chain.data.kind == "features" and kernel.direct and self.landmarks is None):
            from mlcli.core.chain.distances import distance_chain

            return distance_chain(chain)
        if self.by_columns:
            from mlcli.core.chain.columns import ColumnChain

            return ColumnChain(chain)
        from mlcli.core.chain.functions import FunctionChain, GivenChain

        return (GivenChain if kernel.of_input else FunctionChain)(chain)

    def search_steps(self, data: Any, compute: Compute) -> list[Step] | None:
        """Return the steps of the neighbor search, where other steps depend on its graph; None where they do not."""
        if self.graph is None or self.kernel.sparse:
            return None
        from mlcli.core.graph.pieces import graph_steps

        return graph_steps(data, self.graph.neighbors.neighborhood(data), compute)

    def refuse_void(self) -> dict[str, Any]:
        """Raise ConfigError for options that another one makes void; returns no changes."""
        route = self.kernel.requested_route
        if route == "svd":
            self.refuse_unused("svd is a direct solver", "eigensolve.solver=dense", "eigensolve.tolerance")
        if route == "power":
            self.refuse_unused("power iteration is a solver", "eigensolve.solver")
        if self.landmarks is not None and self.paths is not None:
            self.refuse_unused("with landmarks there is only one solver", *OF_LANDMARKS)
        return {}

    def resolve_graph(self, data: Given) -> dict[str, Any]:
        """Return `graph` with at most n - 1 neighbors, and `kernel` with the weights of a graph Laplacian's edges.

        Raises ConfigError for options that a given graph has no use for, and for weights that the data does not have.
        """
        apart = not isinstance(data, WeightedGraph)
        graph = self.graph and self.graph.resolved(len(data.values)) if apart else self.graph
        kernel = self.kernel.for_data(data, (graph or NeighborGraph()).neighbors)
        if apart:
            if graph is not None:
                kernel.require_axes(self.eigensolve, graph.neighbors, len(data.values))
            return {"graph": graph, "kernel": kernel}
        joining = graph or NeighborGraph()
        joining.refuse_unused("the graph is given", "neighbors.radius", "neighbors.count", "rule", where="method.graph")
        kernel.refuse_unused("the graph is given", *kernel.of_points, where="method.kernel")
        if not kernel.of_weights and not data.apart:
            raise ConfigError("NEEDS", f"{kernel.name} needs lengths of the edges", where="input",
                              hint="give {input.edges=lengths}, or use kernel graph_laplacian")
        return {"graph": joining, "kernel": kernel}

    @property
    def neighbor_count(self) -> int | None:
        """The number of neighbors of its graph; None for a radius, and without a graph."""
        return None if self.graph is None else self.graph.neighbors.count

    def makes(self, kind: str = "features") -> tuple[Name, ...]:
        """Return the intermediate results that a run may keep; with landmarks there are none of all pairs."""
        graph: tuple[Name, ...] = ("graph",) if self.graph is not None or kind == "graph" else ()
        return graph if self.by_columns or self.landmarks is not None else (*graph, *self.kernel.makes)

    def require_decoder(self, kind: str) -> None:
        """Raise ConfigError for a decoder without features, beside a linear one, or that the kernel does not allow."""
        asked = self.decoder.name
        if asked == "none":
            return
        gaussian = self.kernel.name == "gaussian" and self.metric.plain and self.paths is None and (
            self.coordinates.scale == "roots")
        why, hint = (
            ("there are no features to lead back to", "leave it out, or give features") if kind != "features" else
            ("coordinates of this kernel lead back to features linearly", "leave it out") if self.linear else
            ("fixed points need the gaussian kernel of Euclidean distances", "use barycentric or ridge")
            if asked == "fixed_point" and not gaussian else ("", ""))
        if why:
            raise ConfigError("DECODER", f"decoder {asked} was chosen, but {why}", where="method.decoder", hint=hint)

    @property
    def has_decoder(self) -> bool:
        """Whether coordinates of features have a decoder: a linear one, or one that was chosen."""
        return self.linear or self.decoder.name != "none"

    @property
    def linear(self) -> bool:
        """Whether the kernel holds inner products of features, so that coordinates decode to features linearly."""
        straight = self.metric.plain and self.paths is None and self.correction == "none"
        return self.kernel.by_columns or (straight and self.kernel.of_distances and not self.kernel.bent)

    def most(self, data: Given) -> int | None:
        """Return the largest number of axes that the columns allow; None where axes are not directions of columns."""
        return limit_of_columns(data.values, self.centering == "columns") if self.by_columns else None

    @property
    def by_columns(self) -> bool:
        """Whether the axes are directions of the columns."""
        return self.kernel.by_columns and self.centering != "double"

    @property
    def unscaled(self) -> int:
        """The power of two up to which data is not scaled: for columns, squares are far from the range's end."""
        return 100 if self.by_columns else 0

    @property
    def scaleless(self) -> bool:
        """Whether coordinates have no scale."""
        return self.coordinates.scale != "roots" or not self.kernel.variances

    def reproduces(self) -> bool:
        """Whether projected training rows get their coordinates.

        They do not with paths along a mutual graph, which joins a training row to fewer points than a new one.
        """
        return self.paths is None or self.graph is None or self.graph.rule == "union"

    @property
    def columns_model(self) -> str:
        """The linear-Gaussian model of the columns: "equal noise" or "none"."""
        return "equal noise" if self.by_columns and self.centering == "columns" else "none"

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules for the number of axes, best first."""
        if self.columns_model != "none":
            return ("parallel_analysis", "velicer_map", "broken_stick", "elbow")
        if self.scaleless:
            return ("two_nn", "maximum_likelihood")
        if self.paths is not None:
            return ("residual_variance", "two_nn", "broken_stick", "elbow")
        return self.kernel.rules

    @property
    def power(self) -> int:
        """The power of the data's unit in V √λ."""
        return self.kernel.unit_power
