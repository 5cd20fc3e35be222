"""Kernels of distances, whatever the distances are: between points, given, or along a graph."""

from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices, RowsOf
from mlcli.base.values.check import EPS
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Given
from mlcli.base.values.products import Products, Square
from mlcli.base.values.scaling import Unit
from mlcli.stages.algebra.centering import Centering
from mlcli.stages.algebra.distances import gower
from mlcli.stages.algebra.metrics import Fitted
from mlcli.stages.graph.graph import Graph
from mlcli.stages.kernels.functions import Gaussian
from mlcli.stages.kernels.laplacian import LaplacianKernel
from mlcli.stages.kernels.products import distance_products
from mlcli.stages.similarities.base import Parts, Similarity
from mlcli.stages.similarities.given_graph import GivenGraph
from mlcli.stages.similarities.kernels import Distances, Geodesics, GivenDistances
from mlcli.stages.similarities.spaces import Rows, Space
from mlcli.stages.similarities.witness import Witness


@stored("of-distances")
@frozen
class OfDistances(Similarity):
    """A function of distances that another similarity finds, whose rows are -δ²/2."""

    base: Distances | GivenDistances | Geodesics | GivenGraph
    function: Gaussian | LaplacianKernel

    @property
    def places(self) -> bool:
        """Where the distances of new points can be found."""
        return self.base.places

    def rows(self, new: Array) -> Array:
        """k(δ) (m x n)."""
        return self.function.of_halved(self.base.rows(new))

    @property
    def parts(self) -> Parts:
        """Those of the distances, and the function."""
        return replace(self.base.parts, function=self.function)

    @property
    def source(self) -> Similarity:
        """What finds the distances."""
        return self.base

    def width(self, given: int) -> int:
        """As many as there are distances."""
        return self.base.width(given)

    @property
    def comparison(self) -> Fitted:
        """That of the distances."""
        return self.base.comparison

    def rounding(self, new: Array) -> Array | float:
        """That of the distances, in the units of the function, whose values are at most one."""
        return 16 * EPS

    def witness(self, data: Given, fit: Indices, full: bool) -> Witness | None:
        """By the function's formula, of the distances computed again."""
        source = self.base.witness(data, fit, full)
        if source is None:
            return None
        rate, power = self.function.rate or 0.0, self.function.exponent

        def rows(chosen: Indices) -> Array:
            return np.exp(-rate * np.sqrt(-2 * source.rows(chosen)) ** power)

        return replace(source, rows=rows, diagonal=np.ones(len(source.diagonal)), noise=8 * source.noise,
                       how=f"{self.function.name} kernel by its formula: {source.how}")

    def space(self, rows: RowsOf | None, units: tuple[Unit, Unit], compute: Compute) -> Space | None:
        """The feature space of the function; None where distances are the input's, as `seen`."""
        inner = self.base.space(None, units, compute)
        return None if inner is None else KernelSpace(inner, self.function, units)

    @property
    def walkable(self) -> Graph | None:
        """The graph that distances are measured along, where they are."""
        return self.base.walkable

    def products(self, centering: Centering) -> Products:
        """Those of the distances, with the function's kernel in the place of theirs."""
        made = self.base.products(centering)
        lengths = made.get("distances")
        return made if not isinstance(lengths, Square) else {**made, **distance_products(
            lengths.size, lengths.rows, centering, lambda squares: self.function.of_halved(gower(squares)))}

    def seen(self, distances: Array) -> Array:
        """Distances in the feature space."""
        return in_feature_space(self.function, -0.5 * np.square(self.base.seen(distances)))


@frozen
class KernelSpace:
    """The feature space of a function of the distances of another space."""

    inner: Space
    function: Gaussian | LaplacianKernel
    units: tuple[Unit, Unit]
    name: str = "kernel"

    @property
    def unit(self) -> Unit:
        """That of coordinates."""
        return self.units[1]

    @property
    def work(self) -> float:
        """That of the distances."""
        return self.inner.work

    @property
    def travels(self) -> bool:
        """As the distances do."""
        return self.inner.travels

    def rows_of(self, anchors: Indices) -> Rows:
        """2 - 2 k(δ)."""
        squared = self.inner.rows_of(anchors)
        return lambda part: np.square(in_feature_space(self.function, -0.5 * squared(part)))

    def between(self, sources: Indices, targets: Indices) -> Array:
        """The roots of 2 - 2 k(δ)."""
        return in_feature_space(self.function, -0.5 * np.square(self.inner.between(sources, targets)))


def in_feature_space(function: Any, halved: Array) -> Array:
    """Distances √(2 - 2 k(δ)) from -δ²/2."""
    return np.sqrt(np.maximum(2 - 2 * function.of_halved(halved), 0.0))
