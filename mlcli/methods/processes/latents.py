"""Parameterizations of latent points: free, or by a map from the features (back constraints).

Source: Lawrence and Quiñonero-Candela, "Local distance preservation in the GP-LVM through back constraints", 2006.
"""

from typing import Annotated, ClassVar, Literal, Protocol

import numpy as np
from pydantic import Field

from mlcli.base.frozen import frozen
from mlcli.base.stages.steps import Step
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.base.values.compute import Compute
from mlcli.base.values.options import Options, option
from mlcli.base.values.signs import leading_signs
from mlcli.core.euclidean_distances import GAUSSIAN_RATE, squared_distances
from mlcli.core.kernels.median import euclidean_median_step, median_squared_distance
from mlcli.core.linalg import singular, symmetric_eigen

BLUR = 0.5  # variance of clouds at the start
LAYERS, KEPT = 3, 26  # copies of a hidden layer, and of its weights, including ten steps of L-BFGS


@stored("kernel-rows", origins="cd")
@frozen
class RadialRows:
    """exp(-rate ‖y - yⱼ‖²) for each training row."""

    origins: Array  # n x d
    rate: float

    def __call__(self, new: Array) -> Array:
        """Return the values of new rows (m x n)."""
        return np.asarray(np.exp(-self.rate * squared_distances(new, self.origins)))

    @property
    def width(self) -> int:
        """n, the number of values of a row."""
        return len(self.origins)


@stored("hidden-units", mean="d", into="dh", offsets="h")
@frozen
class HiddenUnits:
    """tanh of linear functions of a row, and a constant one."""

    mean: Array  # d
    into: Array  # d x h
    offsets: Array  # h

    def __call__(self, new: Array) -> Array:
        """Return the values of new rows (m x h + 1)."""
        return np.column_stack([np.tanh((new - self.mean) @ self.into + self.offsets), np.ones(len(new))])

    @property
    def width(self) -> int:
        """h + 1, the number of values of a row."""
        return len(self.offsets) + 1


class Latents(Protocol):
    """A map from a vector of parameters to latent points."""

    def start(self, points: Array) -> Array:
        """Return parameters that give approximately these points (n x p)."""

    def points(self, parameters: Array) -> Array:
        """Return the latent points (n x p, or n x 2p: means, and logarithms of variances)."""

    def pull_back(self, parameters: Array, slope: Array) -> Array:
        """Return the derivative by the parameters, from that by the points (n x p, or n x 2p)."""

    def rotate(self, parameters: Array, turn: Array) -> Array:
        """Return parameters that give the points times a (p x p) rotation."""

    def map(self, parameters: Array) -> tuple[RadialRows | HiddenUnits, Array] | None:
        """Return the map from features to points: values of a row (c), and axes (c x p); None for free points."""


@frozen
class Free:
    """Every latent point is a parameter."""

    axes: int

    def start(self, points: Array) -> Array:
        """Return the points (n x p) as a vector."""
        return points.ravel()

    def points(self, parameters: Array) -> Array:
        """Return the parameters as (n, p) points."""
        return parameters.reshape(-1, self.axes)

    def pull_back(self, parameters: Array, slope: Array) -> Array:
        """Return the derivative by the points (n x p) as a vector."""
        return slope.ravel()

    def rotate(self, parameters: Array, turn: Array) -> Array:
        """Return the points times a (p, p) rotation, as a vector."""
        return (self.points(parameters) @ turn).ravel()

    def map(self, parameters: Array) -> None:
        """Return None: the points are no function of features. Takes a parameter vector of any shape."""


@frozen
class FreeClouds:
    """Every latent point is a Gaussian cloud, and its mean and variances are parameters."""

    axes: int

    def start(self, points: Array) -> Array:
        """Return clouds of equal variance around the points (n x p)."""
        return np.hstack([points, np.full_like(points, np.log(BLUR))]).ravel()

    def points(self, parameters: Array) -> Array:
        """Return the parameters (n x 2p)."""
        return parameters.reshape(-1, 2 * self.axes)

    def pull_back(self, parameters: Array, slope: Array) -> Array:
        """Return the derivative by the points (n x 2p) as a vector."""
        return slope.ravel()

    def rotate(self, parameters: Array, turn: Array) -> Array:
        """Return clouds with their axes permuted and mirrored by a (p, p) array."""
        means, logs = np.hsplit(self.points(parameters), 2)
        return np.hstack([means @ turn, logs @ np.abs(turn)]).ravel()

    def map(self, parameters: Array) -> None:
        """Return None: the points are no function of features. Takes a parameter vector of any shape."""


@frozen
class KernelSmoother:
    """Latent points K (K + ridge)⁻¹ B with kernel values K of the features: kernel regression on parameters B."""

    rows: RadialRows
    values: Array  # eigenvalues of K
    vectors: Array
    ridge: float
    axes: int

    def start(self, points: Array) -> Array:
        """Return the points (n x p) as parameters."""
        return points.ravel()

    def points(self, parameters: Array) -> Array:
        """Return the smoothed points (n x p)."""
        return self._smooth(parameters.reshape(-1, self.axes), self.values / (self.values + self.ridge))

    def pull_back(self, parameters: Array, slope: Array) -> Array:
        """Return the derivative by the points (n x p) times the same symmetric matrix."""
        return self._smooth(slope, self.values / (self.values + self.ridge)).ravel()

    def rotate(self, parameters: Array, turn: Array) -> Array:
        """Return the parameters times a (p, p) rotation."""
        return (parameters.reshape(-1, self.axes) @ turn).ravel()

    def map(self, parameters: Array) -> tuple[RadialRows, Array]:
        """Return kernel values, and (K + ridge)⁻¹ B (n x p)."""
        return self.rows, self._smooth(parameters.reshape(-1, self.axes), 1 / (self.values + self.ridge))

    def _smooth(self, points: Array, factors: Array) -> Array:
        return np.asarray(self.vectors @ (factors[:, None] * (self.vectors.T @ points)))


@frozen
class Perceptron:
    """Latent points are the output of a network with one hidden layer."""

    features: Array  # n x d, of mean zero and total variance one
    mean: Array
    deviation: float
    into: Array  # d x h, at the start
    axes: int

    def start(self, points: Array) -> Array:
        """Return the initial hidden layer, and the output layer by least squares on (n, p) points."""
        hidden = self.into.shape[1]
        values = np.column_stack([np.tanh(self.features @ self.into), np.ones(len(points))])
        out = np.linalg.lstsq(values, points, rcond=EPS * len(points))[0]
        return np.concatenate([self.into.ravel(), np.zeros(hidden), out.ravel()])

    def points(self, parameters: Array) -> Array:
        """Return the output of the network (n x p)."""
        into, offsets, out = self._layers(parameters)
        return np.tanh(self.features @ into + offsets) @ out[:-1] + out[-1]

    def pull_back(self, parameters: Array, slope: Array) -> Array:
        """Propagate the derivative by the points (n x p) back through the layers."""
        into, offsets, out = self._layers(parameters)
        values = np.tanh(self.features @ into + offsets)
        back = (slope @ out[:-1].T) * (1 - values**2)
        return np.concatenate([(self.features.T @ back).ravel(), back.sum(axis=0), (values.T @ slope).ravel(),
                               slope.sum(axis=0)])

    def rotate(self, parameters: Array, turn: Array) -> Array:
        """Return the parameters with the output layer times a (p, p) rotation."""
        into, offsets, out = self._layers(parameters)
        return np.concatenate([into.ravel(), offsets, (out @ turn).ravel()])

    def map(self, parameters: Array) -> tuple[HiddenUnits, Array]:
        """Return the hidden layer, and the output layer (h + 1 x p)."""
        into, offsets, out = self._layers(parameters)
        return HiddenUnits(self.mean, into / self.deviation, offsets), out

    def _layers(self, parameters: Array) -> tuple[Array, Array, Array]:
        width, hidden = self.into.shape
        into, offsets, out = np.split(parameters, np.cumsum([width * hidden, hidden]))
        return into.reshape(width, hidden), offsets, out.reshape(hidden + 1, self.axes)


class Unconstrained(Options):
    """Latent points are free: new rows are placed where they are most probable."""

    maps: ClassVar[bool] = False  # whether latent points are functions of the features
    name: Literal["none"] = "none"

    def steps(self, shape: tuple[int, ...], compute: Compute) -> list[Step]:
        """Return no steps."""
        return []

    def memory(self, shape: tuple[int, ...], axes: int) -> float:
        """Return no bytes."""
        return 0.0

    def latents(self, points: Array, axes: int, generator: np.random.Generator) -> Latents:
        """Return free points; `points` is an (n, d) array of features."""
        return Free(axes)


class KernelRegression(Options):
    """Latent points are smooth functions of the features, by a gaussian kernel on the training rows."""

    maps: ClassVar[bool] = True
    name: Literal["kernel"] = "kernel"
    rate: float | None = option(None, "Rate r of exp(-r d²) (default: one over the median of d²).", power=-2, gt=0,
                                synonyms=GAUSSIAN_RATE)
    ridge: float = option(1e-2, "Regularization of the regression; a larger value gives smoother coordinates.", gt=0)

    def steps(self, shape: tuple[int, ...], compute: Compute) -> list[Step]:
        """Return the cost of the default rate."""
        rows, columns = shape
        return [euclidean_median_step(rows, columns, compute.thread_count())] if self.rate is None else []

    def memory(self, shape: tuple[int, ...], axes: int) -> float:
        """Return no bytes beyond those of the covariance."""
        return 0.0

    def latents(self, points: Array, axes: int, generator: np.random.Generator) -> Latents:
        """Return kernel regression on the rows of `points`, an (n, d) array of features."""
        rate = self.rate or 1 / (median_squared_distance(points) or 1.0)
        rows = RadialRows(points, rate)
        values, vectors = symmetric_eigen(rows(points))
        return KernelSmoother(rows, values=np.maximum(values, 0.0), vectors=vectors, ridge=self.ridge, axes=axes)


class Network(Options):
    """Latent points are functions of the features, by a network with one hidden layer."""

    maps: ClassVar[bool] = True
    name: Literal["mlp"] = "mlp"
    hidden: int = option(30, "Number of hidden units.", ge=1)

    def steps(self, shape: tuple[int, ...], compute: Compute) -> list[Step]:
        """Return no steps."""
        return []

    def memory(self, shape: tuple[int, ...], axes: int) -> float:
        """Return the bytes of the hidden layer of all rows, and of the steps that L-BFGS keeps of all weights."""
        rows, columns = shape
        return 8.0 * self.hidden * (LAYERS * rows + KEPT * (columns + 1 + axes))

    def latents(self, points: Array, axes: int, generator: np.random.Generator) -> Latents:
        """Return a network on (n, d) features, its hidden layer at random combinations of principal components."""
        mean = points.mean(axis=0)
        deviation = float(np.sqrt(np.sum((points - mean) ** 2) / len(points))) or 1.0
        features = (points - mean) / deviation
        left, sizes, right = singular(features)
        there = sizes > EPS * max(points.shape) * sizes[:1]
        directions = right[there].T * leading_signs(left[:, there])
        into = directions @ generator.standard_normal((directions.shape[1], self.hidden))
        return Perceptron(features=features, mean=mean, deviation=deviation, into=into, axes=axes)


BackConstraint = Annotated[Unconstrained | KernelRegression | Network, Field(discriminator="name")]
