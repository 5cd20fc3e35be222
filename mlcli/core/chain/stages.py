"""The stages of a chain as options, and the properties of the result that they determine."""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from mlcli.base.stages.steps import Step
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Given, WeightedGraph
from mlcli.base.values.options import Options, option
from mlcli.base.values.products import Name
from mlcli.core.chain.kernels import ChainKernel, GowerKernel
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.graph.neighbors import SAME_BOTH_WAYS, Neighbors
from mlcli.core.kernels.corrections import Rule
from mlcli.core.metrics import EUCLIDEAN, AnyMetric
from mlcli.core.paths.paths import OF_LANDMARKS, Paths
from mlcli.errors import ConfigError

Centered = Literal["double", "columns", "none"]


class NeighborGraph(Options):
    """The graph that joins neighbors."""

    neighbors: Neighbors = Neighbors()
    rule: Literal["union", "mutual"] = option(
        "union", "Points are joined when either is a neighbor of the other (union), or both are (mutual).")

    def resolved(self, size: int) -> "NeighborGraph":
        """Return the options with at most n - 1 neighbors; raises ConfigError for a rule beside a radius."""
        if self.neighbors.radius is not None:
            self.refuse_unused(SAME_BOTH_WAYS, "rule", where="method.graph")
        return self.replace(neighbors=self.neighbors.resolved(size))


class Coordinates(Options):
    """How eigenvectors become coordinates."""

    scale: Literal["roots", "unit", "variance"] = option(
        "roots", "Length of an axis: the square root of its eigenvalue (roots), 1 (unit), or such that its variance "
        "is 1 (variance).")
    divisor: Literal["none", "n", "n-1"] = option("none", "Divisor of the eigenvalues that are written.")

    def sizes(self, spectrum: Spectrum) -> Array:
        """Return the length of each kept axis (p), zero for one without extent."""
        if self.scale == "roots":
            return np.sqrt(spectrum.axis_eigenvalues)
        length = 1.0 if self.scale == "unit" else np.sqrt(len(spectrum.vectors))
        return np.where(spectrum.axis_eigenvalues > 0, length, 0.0)

    def of_variance(self, embedding: Array, spectrum: Spectrum) -> Array:
        """Return coordinates (n x p) of this scale with variance one; an axis without extent stays zero."""
        if self.scale == "variance":
            return embedding
        sizes = self.sizes(spectrum)
        return embedding * np.divide(np.sqrt(len(embedding)), sizes, out=np.zeros_like(sizes), where=sizes > 0)

    def over(self, rows: int) -> float:
        """Return the divisor of the eigenvalues for `rows` points."""
        return 1.0 if self.divisor == "none" else float(max(rows - (self.divisor == "n-1"), 1))


class NoDecoder(Options):
    """No map from coordinates back to features."""

    name: Literal["none"] = "none"


class BarycentricDecoder(Options):
    """A weighted mean of the rows whose coordinates are nearest, with weights that reproduce the coordinates."""

    name: Literal["barycentric"] = "barycentric"
    neighbors: int = option(10, "Number of nearest training rows in the embedding.", ge=1)
    ridge: float = option(1e-6, "Regularization of the weights, relative to the trace of the local Gram matrix.", gt=0)


class RidgeDecoder(Options):
    """Kernel ridge regression of the features on the coordinates, with a gaussian kernel."""

    name: Literal["ridge"] = "ridge"
    alpha: float = option(1.0, "Ridge α that is added to the diagonal of the kernel of the coordinates.", gt=0)
    rate: float | None = option(None, "Rate r of exp(-r d²) between coordinates (default: 1 / median of d² over all "
                                "pairs of training rows).", gt=0)


class FixedPointDecoder(Options):
    """The point whose image under the gaussian kernel is nearest to the one with these coordinates."""

    name: Literal["fixed_point"] = "fixed_point"
    limit: int = option(500, "Largest number of iterations.", ge=1)
    tolerance: float = option(1e-9, "Length of the last step, relative to the width of the kernel.", gt=0, lt=1)


RowDecoder = Annotated[NoDecoder | BarycentricDecoder | RidgeDecoder, Field(discriminator="name")]  # of any kernel
AnyDecoder = Annotated[NoDecoder | BarycentricDecoder | RidgeDecoder | FixedPointDecoder, Field(discriminator="name")]


def limit_of_columns(points: Array, centered: bool) -> int:
    """Return the largest number of axes that the columns of points (n x d) allow."""
    return min(len(points) - centered, points.shape[1])


class Stages(Options):
    """The stages of a chain, in the order in which they are computed. A stage that is null is left out."""

    metric: AnyMetric = EUCLIDEAN
    graph: NeighborGraph | None = option(None, "The neighbor graph (default: none).")
    paths: Paths | None = option(None, "Shortest paths along the graph (default: none).")
    kernel: ChainKernel = option(GowerKernel(), "The kernel; each has its own parameters.")
    correction: Rule = option("none", "Correction that makes distances Euclidean.")
    landmarks: int | None = option(None, "Fit only this many randomly drawn points, the landmarks, and place the "
                                   "others by these (default: fit all points).", ge=2)
    centering: Centered = option("double", "Centering: rows and columns of the kernel (double), the columns of the "
                                 "features with a linear kernel (columns), or none.")
    eigensolve: Eigensolve = Eigensolve()
    coordinates: Coordinates = Coordinates()
    decoder: AnyDecoder = option(NoDecoder(), "Map from coordinates back to features, of a nonlinear method.")

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
        if self.by_columns or self.landmarks is not None:
            return graph
        changed = "kernel" in self.kernel.makes and not self.kernel.centered and self.centering == "double"
        return (*graph, *self.kernel.makes, *(("uncentered",) if changed else ()))

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
        return 100 if self.by_columns else self.kernel.unscaled

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
