"""Kernels of distances, of any kind: between points, given, or along a graph."""

from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices, RowsOf
from mlcli.base.values.compute import Compute
from mlcli.base.values.products import Products, Square
from mlcli.base.values.scaling import Unit
from mlcli.core.centering import Centering
from mlcli.core.euclidean_distances import gower
from mlcli.core.graph.graph import Graph
from mlcli.core.kernels.functions import Gaussian, LaplacianKernel
from mlcli.core.kernels.square import distance_products
from mlcli.core.similarities.base import OfOtherDistances, Parts
from mlcli.core.similarities.kernels import Distances, GivenDistances
from mlcli.core.similarities.path_lengths import Geodesics, GivenGraph
from mlcli.core.similarities.spaces import Rows, Space


@stored("of-distances")
@frozen
class OfDistances(OfOtherDistances):
    """A kernel function of the distances of another similarity."""

    base: Distances | GivenDistances | Geodesics | GivenGraph
    function: Gaussian | LaplacianKernel

    def rows(self, new: Array) -> Array:
        """Return k(δ), an (m, n) array, for an (m, d) array of new points."""
        return self.function.of_halved(self.base.rows(new))

    def diagonal(self, new: Array) -> Array | None:
        """Return ones, an (m,) array, of an (m, d) array of new points; None where distances may not be Euclidean."""
        return None if self.base.diagonal(new) is None else np.ones(len(new))

    @property
    def parts(self) -> Parts:
        """The parts of the distances, and the function."""
        return replace(super().parts, function=self.function)

    def width(self, given: int) -> int:
        """Return the number of distances in a row."""
        return self.base.width(given)

    def space(self, rows: RowsOf | None, units: tuple[Unit, Unit], compute: Compute) -> Space | None:
        """Return the feature space of the function; None where distances are the `method_distances`."""
        inner = self.base.space(None, units, compute)
        return None if inner is None else KernelSpace(inner, self.function, units)

    @property
    def path_graph(self) -> Graph | None:
        """The graph along which distances are measured; None where there is none."""
        return self.base.path_graph

    def products(self, centering: Centering) -> Products:
        """Return the matrices of the distances, with the function's kernel instead of theirs."""
        made = self.base.products(centering)
        lengths = made.get("distances")
        return made if not isinstance(lengths, Square) else {**made, **distance_products(
            lengths.size, lengths.rows, centering, lambda squares: self.function.of_halved(gower(squares)))}

    def method_distances(self, distances: Array) -> Array:
        """Return distances in the feature space, from an array of any shape."""
        return in_feature_space(self.function, -0.5 * np.square(self.base.method_distances(distances)))


@frozen
class KernelSpace:
    """The feature space of a function of the distances of another space."""

    inner: Space
    function: Gaussian | LaplacianKernel
    units: tuple[Unit, Unit]
    name: str = "kernel"

    @property
    def unit(self) -> Unit:
        """The unit of coordinates."""
        return self.units[1]

    @property
    def work(self) -> float:
        """The cost of one of the distances."""
        return self.inner.work

    @property
    def portable(self) -> bool:
        """Whether the space of the distances is portable."""
        return self.inner.portable

    def rows_of(self, anchors: Indices) -> Rows:
        """Return a function that computes 2 - 2 k(δ) from slices of the anchors, a (b,) array, to all points."""
        squared = self.inner.rows_of(anchors)
        return lambda part: np.square(in_feature_space(self.function, -0.5 * squared(part)))

    def between(self, sources: Indices, targets: Indices) -> Array:
        """Return √(2 - 2 k(δ)) between (s,) sources and (t,) targets, an (s, t) array."""
        return in_feature_space(self.function, -0.5 * np.square(self.inner.between(sources, targets)))


def in_feature_space(function: Any, halved: Array) -> Array:
    """Return distances √(2 - 2 k(δ)) from an array of -δ²/2, of any shape, which may be overwritten."""
    return np.sqrt(np.maximum(2 - 2 * function.of_halved(halved), 0.0))
