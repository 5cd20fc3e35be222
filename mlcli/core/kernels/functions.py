"""Kernel functions: the similarity of two points as a formula (Schölkopf, Smola and Müller, 1998)."""

from typing import Any, ClassVar, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.stages.stage import note
from mlcli.base.stages.steps import Step
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.options import Power, option
from mlcli.base.values.products import Name
from mlcli.base.values.scaling import Unit
from mlcli.core.euclidean_distances import GAUSSIAN_RATE, gower, inner_products, squared_distances
from mlcli.core.kernels.median import (
    euclidean_median_step,
    median_square,
    median_squared_distance,
    metric_median_step,
)
from mlcli.core.kernels.options import OF_DISTANCES, KernelOptions, OfProducts
from mlcli.core.linalg import require_finite
from mlcli.core.metrics import RowMetric
from mlcli.core.metrics.distances import SIDE, in_tiles, squared
from mlcli.errors import GeometryError

NARROW = 64.0  # rate times the largest squared norm up to which passes may start in single precision


@stored("linear")
class Linear(OfProducts):
    """⟨x, y⟩: kernel PCA with it is PCA."""

    name: Literal["linear"] = "linear"
    movable: ClassVar[bool] = True
    unit_power: ClassVar[int] = 1


@stored("polynomial")
class Polynomial(OfProducts):
    """(gamma ⟨x, y⟩ + coef0)**degree."""

    name: Literal["polynomial"] = "polynomial"
    degree: int = option(3, "Degree of the polynomial.", ge=1)
    gamma: float = option(1.0, "Factor of the inner product.", power=-2, gt=0)
    coef0: float = option(1.0, "Constant added to the inner product.", ge=0)

    def for_points(self, points: Array, unit: Unit) -> "Polynomial":
        """Return this kernel for an (n, d) array of points; raises NumericalError where squares of its values overflow.
        """
        with np.errstate(over="ignore"):
            require_finite((len(points) * self.diagonal(points)) ** 3, "the third power of the polynomial kernel")
        return self

    def __call__(self, left: Array, right: Array) -> Array:
        """Return the (m, n) array of values for all pairs."""
        with np.errstate(over="ignore"):
            values: Array = (self.gamma * inner_products(left, right) + self.coef0) ** self.degree
        return values

    def diagonal(self, points: Array) -> Array:
        """Return each point's value with itself, an (n,) array, for an (n, d) array of points."""
        with np.errstate(over="ignore"):
            values: Array = (self.gamma * np.einsum("ij,ij->i", points, points) + self.coef0) ** self.degree
        return values

    def finish(self, products: AnyArray) -> AnyArray:
        """Turn an array of inner products, of any shape, into values in place."""
        with np.errstate(over="ignore"):
            products *= self.gamma
            products += self.coef0
            return np.power(products, self.degree, out=products)


@stored("gaussian")
class Gaussian(OfProducts):
    """exp(-rate d²) with d = ‖x - y‖, or the distance of another metric."""

    of_coordinates: ClassVar[bool] = False
    of_distances: ClassVar[bool] = True
    bent: ClassVar[bool] = True
    makes: ClassVar[tuple[Name, ...]] = ("distances", "kernel")
    rules: ClassVar[tuple[str, ...]] = OF_DISTANCES
    name: Literal["gaussian"] = "gaussian"
    movable: ClassVar[bool] = True
    exponential: ClassVar[bool] = True
    rate: float | None = option(
        None, "Rate r of exp(-r d²) (default: 1 / median of d² over all pairs of different points).",
        power=-2, gt=0, synonyms=GAUSSIAN_RATE)

    @property
    def adapts(self) -> bool:
        """Whether the rate is chosen by the data."""
        return self.rate is None

    def for_points(self, points: Array, unit: Unit) -> "Gaussian":
        """Return the kernel with a default rate fixed from an (n, d) array of points, measured in `unit`."""
        if self.rate is not None:
            return self
        return self.replace(rate=gaussian_rate(median_squared_distance(points), unit))

    def __call__(self, left: Array, right: Array) -> Array:
        """Return the (m, n) array of values for all pairs."""
        squared = squared_distances(left, right)
        squared *= -(self.rate or 0.0)
        return np.exp(squared, out=squared)

    def diagonal(self, points: Array) -> Array:
        """Return each point's value with itself, an (n,) array, for an (n, d) array of points."""
        return np.ones(len(points))

    def factors(self, points: Array) -> tuple[Array, Array]:
        """Return left and right factors, (n, d + 2) arrays whose inner products are -rate ‖x - y‖²."""
        rate = self.rate or 0.0
        own = -rate * np.einsum("ij,ij->i", points, points)
        ones = np.ones(len(points))
        return np.column_stack([2 * rate * points, own, ones]), np.column_stack([points, ones, own])

    def finish(self, products: AnyArray) -> AnyArray:
        """Turn an array of inner products, of any shape, into values in place."""
        np.minimum(products, 0.0, out=products)
        return np.exp(products, out=products)

    def narrow(self, points: Array) -> bool:
        """Whether single precision is enough for the first passes over (n, d) points: products err by about 1e-5."""
        return (self.rate or 0.0) * float(np.einsum("ij,ij->i", points, points).max(initial=0.0)) <= NARROW

    def of_halved(self, values: Array) -> Array:
        """Turn an array of -δ²/2 for any distances δ, of any shape, into values in place."""
        values *= 2 * (self.rate or 0.0)
        return np.exp(values, out=values)

    def for_halved(self, values: Array, unit: Unit) -> "Gaussian":
        """Return the kernel with a default rate fixed from an (n, n) array of -δ²/2, with δ in `unit`."""
        if self.rate is not None:
            return self
        return self.replace(rate=gaussian_rate(median_length(values, self.exponent), unit))


@stored("sigmoid")
class Sigmoid(OfProducts):
    """tanh(gamma ⟨x, y⟩ + coef0): not positive semidefinite, so some eigenvalues may be negative."""

    definite: ClassVar[bool] = False
    name: Literal["sigmoid"] = "sigmoid"
    gamma: float = option(1.0, "Factor of the inner product.", power=-2, gt=0)
    coef0: float = option(1.0, "Constant added to the inner product.")

    def finish(self, products: AnyArray) -> AnyArray:
        """Turn an array of inner products, of any shape, into values in place."""
        products *= self.gamma
        products += self.coef0
        return np.tanh(products, out=products)


@stored("cosine")
class CosineKernel(OfProducts):
    """⟨x, y⟩ / (‖x‖ ‖y‖): the cosine of the angle between two rows, neither of them zero."""

    name: Literal["cosine"] = "cosine"

    def __call__(self, left: Array, right: Array) -> Array:
        """Return the (m, n) array of values for all pairs; raises GeometryError for a row of zeros."""
        return inner_products(directions(left), directions(right))

    def diagonal(self, points: Array) -> Array:
        """Return each point's value with itself, an (n,) array of ones, for an (n, d) array of points."""
        return np.ones(len(points))

    def factors(self, points: Array) -> tuple[Array, Array]:
        """Return left and right factors, (n, d) arrays whose inner products are the values."""
        unit = directions(points)
        return unit, unit


@stored("laplacian")
class LaplacianKernel(KernelOptions):
    """exp(-rate d), with d the distance of two points: rougher than the gaussian kernel, and with a longer tail."""

    name: Literal["laplacian"] = "laplacian"
    of_distances: ClassVar[bool] = True
    bent: ClassVar[bool] = True
    makes: ClassVar[tuple[Name, ...]] = ("distances", "kernel")
    rules: ClassVar[tuple[str, ...]] = OF_DISTANCES
    exponent: ClassVar[int] = 1
    unit_power: ClassVar[int] = 0  # power of the data's unit in the coordinates
    rate: float | None = option(
        None, "Rate r of exp(-r d) (default: one over the median of d over all pairs of different points).",
        power=-1, gt=0, synonyms={
            "gamma": Power("gamma", 1, 1), "sigma": Power("1 / sigma", 1, -1), "length_scale": "1 / length_scale"})

    def for_halved(self, values: Array, unit: Unit) -> "LaplacianKernel":
        """Return the kernel with a default rate fixed from an (n, n) array of -δ²/2, with δ in `unit`."""
        if self.rate is not None:
            return self
        middle = median_length(values, self.exponent)
        if not middle:
            return self.replace(rate=1.0)
        note("N-RATE", f"laplacian rate {(unit**-1).shown(1 / middle)}: one over the median distance",
             rate=(unit**-1).number(1 / middle))
        return self.replace(rate=1 / middle)

    def of_halved(self, values: Array) -> Array:
        """Turn an array of -δ²/2 for any distances δ, of any shape, into values in place."""
        values *= -2
        np.sqrt(values, out=values)
        values *= -(self.rate or 0.0)
        return np.exp(values, out=values)


Function = Linear | Polynomial | Gaussian | Sigmoid | CosineKernel


@stored("radial")
@frozen
class Radial:
    """exp(-rate d²) with the distance d of a metric."""

    metric: RowMetric
    rate: float
    name: ClassVar[str] = "gaussian"
    definite: ClassVar[bool] = False
    movable: ClassVar[bool] = False
    exponential: ClassVar[bool] = False

    @classmethod
    def of(cls, kernel: Any, metric: RowMetric, points: Array, unit: Unit) -> "Radial":
        """Return the gaussian kernel under a metric, a default rate fixed from an (n, d) array of points; lengths in
        `unit`.
        """
        if kernel.rate is not None:
            return cls(metric, kernel.rate)
        return cls(metric, gaussian_rate(median_square(metric, points), unit))

    def __call__(self, left: Array, right: Array) -> Array:
        """Return the (m, n) array of values for all pairs."""
        return self._of_squares(squared(self.metric, left, right))

    def diagonal(self, points: Array) -> Array:
        """Return each point's value with itself, an (n,) array of ones, for an (n, d) array of points."""
        return np.ones(len(points))

    def factors(self, points: Array) -> tuple[Array, Array]:
        """Return the rows of an (n, d) array as the metric compares them, for both sides."""
        rows = self.metric.represent(points)
        return rows, rows

    def tile(self, left: AnyArray, right: AnyArray) -> Any:
        """Return values from factors of two blocks of points, on one thread."""
        distances = in_tiles(self.metric, left, right)
        return self._of_squares(np.square(distances, out=distances))

    block = tile

    def narrow(self, points: Array) -> bool:
        """Whether single precision is enough for (n, d) points: no, distances are computed in double precision."""
        return False

    def _of_squares(self, squares: Array) -> Array:
        squares *= -self.rate
        return np.exp(squares, out=squares)


@stored("halved-squares")
@frozen
class HalvedSquares:
    """-d²/2 with the distance d of a metric, which centering turns into inner products."""

    metric: RowMetric
    name: ClassVar[str] = "gower"
    definite: ClassVar[bool] = False
    movable: ClassVar[bool] = False
    exponential: ClassVar[bool] = False

    def __call__(self, left: Array, right: Array) -> Array:
        """Return the (m, n) array of values for all pairs."""
        return gower(squared(self.metric, left, right))

    def diagonal(self, points: Array) -> Array:
        """Return each point's value with itself, an (n,) array of zeros, for an (n, d) array of points."""
        return np.zeros(len(points))

    def factors(self, points: Array) -> tuple[Array, Array]:
        """Return the rows of an (n, d) array as the metric compares them, for both sides."""
        rows = self.metric.represent(points)
        return rows, rows

    def tile(self, left: AnyArray, right: AnyArray) -> Any:
        """Return values from factors of two blocks of points, on one thread."""
        distances = self.metric.in_bulk(left, right)
        np.square(distances, out=distances)
        return gower(distances, distances)

    def block(self, left: Array, right: Array) -> Array:
        """Return the (m, n) array of values from (m, c) and (n, c) factors, on all threads."""
        values = np.empty((len(left), len(right)))

        def fill(columns: slice) -> None:
            values[:, columns] = self.tile(left, right[columns])

        each(fill, row_blocks(len(right), SIDE))
        return values

    def narrow(self, points: Array) -> bool:
        """Whether single precision is enough for (n, d) points: no, distances are computed in double precision."""
        return False


def fix_defaults(kernel: Function, metric: RowMetric, points: Array, unit: Unit) -> Function | Radial:
    """Return a kernel function with defaults fixed from an (n, d) array of points; the gaussian one under `metric`."""
    return kernel.for_points(points, unit) if metric.plain else Radial.of(kernel, metric, points, unit)


def rate_step(metric: RowMetric, shape: tuple[int, ...], threads: int) -> Step:
    """Return the cost of the median distance of data of this shape."""
    rows, columns = shape
    if metric.plain:
        return euclidean_median_step(rows, columns, threads)
    return metric_median_step(metric, rows, columns, threads)


def directions(points: Array) -> Array:
    """Return the rows of an (n, d) array scaled to length one; raises GeometryError for a row of zeros."""
    largest = np.abs(points).max(axis=1, initial=0.0, keepdims=True)
    if not largest.all():
        raise GeometryError("ZERO-ROW", "cosine is not defined for a row of zeros", row=int(np.argmin(largest)),
                            hint="leave such rows out, or choose another kernel")
    scaled = points / largest
    return np.asarray(scaled / np.linalg.norm(scaled, axis=1, keepdims=True))


def median_length(halved: Array, power: int) -> float:
    """Return the median of δ (`power` 1) or δ² (2) over pairs at a distance, from an (n, n) array of -δ²/2; 0 for none.
    """
    squares = halved[np.triu_indices(len(halved), 1)]
    squares = squares[squares < 0]
    squares *= -2
    return float(np.median(squares if power == 2 else np.sqrt(squares))) if len(squares) else 0.0


def gaussian_rate(middle: float, unit: Unit) -> float:
    """Return one over a median of δ², with δ in `unit`, and report it; 1 where no points differ."""
    if not middle:
        return 1.0
    note("N-RATE", f"gaussian rate {(unit**-2).shown(1 / middle)}: one over the median squared distance",
         rate=(unit**-2).number(1 / middle))
    return 1 / middle
