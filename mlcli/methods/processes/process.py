"""Gaussian processes: their covariance functions, sums of terms and white noise with derivatives, and the posterior.

Every parameter is positive and optimized as its logarithm. Source: Rasmussen and Williams, "Gaussian Processes for
Machine Learning", 2006, chapters 4 and 5.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.quantity import Quantity
from mlcli.base.values.signs import leading_signs
from mlcli.core.euclidean_distances import BLOCK, by_differences
from mlcli.core.linalg import symmetric_eigen

Name = Literal["rbf", "rbf-ard", "linear", "bias"]
USUAL = 2  # axes for which a length scale of one suits points of variance one


@stored("rbf", lengths="_", positive=("lengths",))
@frozen
class Rbf:
    """v exp(-Σ (x - y)² / 2 l²): smooth functions, with one length scale l for all axes or one for each."""

    variance: float  # v
    lengths: Array  # of one, or p

    def __call__(self, left: Array, right: Array) -> Array:
        """Return values for all pairs (m x n)."""
        with np.errstate(over="ignore", invalid="ignore"):  # points too far for double precision have the value zero
            values = by_differences(left / self.lengths, right / self.lengths)
        values *= -0.5
        np.exp(values, out=values)
        values *= self.variance
        return values

    def diagonal(self, points: Array) -> Array:
        """Return each point's value with itself, an (n,) array, for (n, p) points."""
        return np.full(len(points), self.variance)

    @property
    def parameters(self) -> Array:
        """Variance, then lengths."""
        return np.append(self.variance, self.lengths)

    def at(self, parameters: Array) -> "Rbf":
        """Return the term with other parameters, a (1 + l,) array."""
        return Rbf(float(parameters[0]), parameters[1:])

    def pull_back(self, weights: Array, values: Array, *, left: Array, right: Array) -> tuple[Array, Array]:
        """Return derivatives of Σ wᵢⱼ k(xᵢ, yⱼ): by the log parameters, and by the left points (m x p)."""
        weighted = weights * values
        own, other = left / self.lengths, right / self.lengths
        rows, columns, met = weighted.sum(axis=1), weighted.sum(axis=0), weighted @ other
        squares = rows @ own**2 + columns @ other**2 - 2 * np.sum(own * met, axis=0)  # for each axis
        lengths = squares if len(self.lengths) > 1 else squares.sum(keepdims=True)
        return np.append(rows.sum(), lengths), (met - rows[:, None] * own) / self.lengths

    def pull_back_diagonal(self, weights: Array, points: Array) -> tuple[Array, Array]:
        """Return derivatives of Σ wᵢ k(xᵢ, xᵢ): by the log parameters, and by the points (n x p)."""
        return np.append(weights.sum() * self.variance, np.zeros(len(self.lengths))), np.zeros_like(points)

    def slopes(self, axes: int) -> Array:
        """Return the variance of a function's slope along each axis (p)."""
        return np.broadcast_to(self.variance / self.lengths**2, axes)

    def rotate(self, turn: Array) -> "Rbf":
        """Return the term for points times a (p, p) rotation, or permutation where axes have length scales."""
        return self if len(self.lengths) == 1 else Rbf(self.variance, self.lengths @ np.abs(turn))

    def facts(self) -> dict[str, Any]:
        """Return the parameters by name."""
        return {"rbf_variance": Quantity(self.variance, 2), "rbf_lengths": self.lengths.tolist()}

    @property
    def scales(self) -> AnyArray:
        """Mask of the parameters that only set the scale of latent coordinates."""
        return np.arange(1 + len(self.lengths)) > 0


@stored("linear-term")
@frozen
class Linear:
    """v ⟨x, y⟩: linear functions."""

    variance: float  # v

    def __call__(self, left: Array, right: Array) -> Array:
        """Return values for all pairs (m x n)."""
        return self.variance * (left @ right.T)

    def diagonal(self, points: Array) -> Array:
        """Return each point's value with itself, an (n,) array, for (n, p) points."""
        return self.variance * np.einsum("ij,ij->i", points, points)

    @property
    def parameters(self) -> Array:
        """The variance."""
        return np.array([self.variance])

    def at(self, parameters: Array) -> "Linear":
        """Return the term with another variance, a (1,) array."""
        return Linear(float(parameters[0]))

    def pull_back(self, weights: Array, values: Array, *, left: Array, right: Array) -> tuple[Array, Array]:
        """Return derivatives of Σ wᵢⱼ k(xᵢ, yⱼ): by the log variance, and by the left points (m x p)."""
        return np.array([np.sum(weights * values)]), self.variance * (weights @ right)

    def pull_back_diagonal(self, weights: Array, points: Array) -> tuple[Array, Array]:
        """Return derivatives of Σ wᵢ k(xᵢ, xᵢ): by the log variance, and by the points (n x p)."""
        return np.array([weights @ self.diagonal(points)]), 2 * self.variance * weights[:, None] * points

    def slopes(self, axes: int) -> Array:
        """Return the variance of a function's slope along each axis (p)."""
        return np.full(axes, self.variance)

    def rotate(self, turn: Array) -> "Linear":
        """Return the term for points times a (p, p) rotation: it does not change."""
        return self

    def facts(self) -> dict[str, Any]:
        """Return the parameter by name."""
        return {"linear_variance": Quantity(self.variance, 2)}

    @property
    def scales(self) -> AnyArray:
        """Mask of the parameters that only set the scale of latent coordinates."""
        return np.ones(1, dtype=bool)


@stored("bias-term")
@frozen
class Bias:
    """b: constant functions."""

    variance: float  # b

    def __call__(self, left: Array, right: Array) -> Array:
        """Return values for all pairs (m x n)."""
        return np.full((len(left), len(right)), self.variance)

    def diagonal(self, points: Array) -> Array:
        """Return each point's value with itself, an (n,) array, for (n, p) points."""
        return np.full(len(points), self.variance)

    @property
    def parameters(self) -> Array:
        """The variance."""
        return np.array([self.variance])

    def at(self, parameters: Array) -> "Bias":
        """Return the term with another variance, a (1,) array."""
        return Bias(float(parameters[0]))

    def pull_back(self, weights: Array, values: Array, *, left: Array, right: Array) -> tuple[Array, Array]:
        """Return derivatives of Σ wᵢⱼ k(xᵢ, yⱼ): by the log variance, and by the left points (m x p)."""
        return np.array([self.variance * weights.sum()]), np.zeros_like(left)

    def pull_back_diagonal(self, weights: Array, points: Array) -> tuple[Array, Array]:
        """Return derivatives of Σ wᵢ k(xᵢ, xᵢ): by the log variance, and by the points (n x p)."""
        return np.array([self.variance * weights.sum()]), np.zeros_like(points)

    def slopes(self, axes: int) -> Array:
        """Return the variance of a function's slope along each axis (p)."""
        return np.zeros(axes)

    def rotate(self, turn: Array) -> "Bias":
        """Return the term for points times a (p, p) rotation: it does not change."""
        return self

    def facts(self) -> dict[str, Any]:
        """Return the parameter by name."""
        return {"bias_variance": Quantity(self.variance, 2)}

    @property
    def scales(self) -> AnyArray:
        """Mask of the parameters that only set the scale of latent coordinates."""
        return np.zeros(1, dtype=bool)


Term = Rbf | Linear | Bias


@stored("covariance")
@frozen
class CovarianceFunction:
    """A sum of terms, and white noise in every observation."""

    terms: tuple[Term, ...]
    noise: float  # variance
    least: float = 0.0  # variance added to the noise, so that it never vanishes

    def __post_init__(self) -> None:
        """Raise ValueError where there is no term, as of a damaged model."""
        if not self.terms:
            raise ValueError("a kernel has a term at least")

    def parts(self, left: Array, right: Array) -> list[Array]:
        """Return the values of every term for all pairs (m x n each)."""
        return [term(left, right) for term in self.terms]

    def __call__(self, left: Array, right: Array) -> Array:
        """Return values for all pairs (m x n), without noise."""
        return np.sum(self.parts(left, right), axis=0)

    def diagonal(self, points: Array) -> Array:
        """Return each point's value with itself, an (n,) array, for (n, p) points, without noise."""
        return np.sum([term.diagonal(points) for term in self.terms], axis=0)

    def require_axes(self, axes: int) -> None:
        """Raise ValueError for a term with length scales of another number of axes."""
        if any(isinstance(term, Rbf) and len(term.lengths) not in (1, axes) for term in self.terms):
            raise ValueError("a kernel has length scales of other axes")

    @property
    def whole_noise(self) -> float:
        """The variance of the noise."""
        return self.noise + self.least

    @property
    def logs(self) -> Array:
        """The logarithms of all parameters, the noise last."""
        return np.log(np.concatenate([*(term.parameters for term in self.terms), [self.noise]]))

    def at(self, logs: Array) -> "CovarianceFunction":
        """Return the covariance with other parameters: a (q,) array of logarithms, the noise last."""
        ends = np.cumsum([len(term.parameters) for term in self.terms])
        *parts, noise = np.split(np.exp(logs), ends)
        terms: list[Any] = [term.at(own) for term, own in zip(self.terms, parts, strict=True)]
        return replace(self, terms=tuple(terms), noise=float(noise[0]))

    def pull_back(self, weights: Array, parts: Sequence[Array], *, left: Array, right: Array) -> tuple[Array, Array]:
        """Return derivatives of Σ wᵢⱼ k(xᵢ, yⱼ): by the terms' log parameters, and by the left points (m x p)."""
        pulls = [term.pull_back(weights, values, left=left, right=right)
                 for term, values in zip(self.terms, parts, strict=True)]
        return np.concatenate([logs for logs, _ in pulls]), np.sum([points for _, points in pulls], axis=0)

    def pull_back_diagonal(self, weights: Array, points: Array) -> tuple[Array, Array]:
        """Return derivatives of Σ wᵢ k(xᵢ, xᵢ): by the terms' log parameters, and by the points (n x p)."""
        pulls = [term.pull_back_diagonal(weights, points) for term in self.terms]
        return np.concatenate([logs for logs, _ in pulls]), np.sum([points for _, points in pulls], axis=0)

    def slopes(self, axes: int) -> Array:
        """Return the variance of a function's slope along each axis (p)."""
        return np.sum([term.slopes(axes) for term in self.terms], axis=0)

    def turn(self, points: Array) -> Array:
        """Return the rotation (p x p) of (n, p) points that makes axes descend in relevance, with canonical signs.

        It does not change the model: axes become principal where length scales are equal, and are only permuted if not.
        """
        centered, size = points - points.mean(axis=0), points.shape[1]
        if all(len(term.parameters) <= 2 for term in self.terms):
            turn = symmetric_eigen(centered.T @ centered)[1]
        else:
            turn = np.eye(size)[:, np.argsort(-self.relevances(points), kind="stable")]
        return turn * leading_signs(points @ turn)

    def rotate(self, turn: Array) -> "CovarianceFunction":
        """Return the covariance for points times a (p, p) rotation."""
        return replace(self, terms=tuple([term.rotate(turn) for term in self.terms]))

    def relevances(self, points: Array) -> Array:
        """Return how much features vary along each axis of (n, p) points, a (p,) array: the variance of their slope
        times that of coordinates.
        """
        return np.asarray(self.slopes(points.shape[1]) * points.var(axis=0))

    def facts(self) -> dict[str, Any]:
        """Return the parameters by name."""
        named = [(name, value) for term in self.terms for name, value in term.facts().items()]
        return {**dict(named), "noise_variance": Quantity(self.whole_noise, 2)}

    @property
    def scales(self) -> AnyArray:
        """Mask of the parameters that only set the scale of latent coordinates, of the first term that has any."""
        marked = [term.scales for term in self.terms]
        first = next((place for place, own in enumerate(marked) if own.any()), None)
        return np.concatenate([*(own & (place == first) for place, own in enumerate(marked)), [False]])


def start_covariance(names: Sequence[Name], variance: float, least: float, axes: int = 1) -> CovarianceFunction:
    """Return terms by their names, each with the data's variance, for coordinates of variance one; a tenth is noise.

    With `rbf-ard` each of the axes has its own length scale, longer the more axes there are.
    """
    lengths = np.full(axes, np.sqrt(max(axes / USUAL, 1.0)))
    terms: dict[Name, Term] = {"rbf": Rbf(variance, np.ones(1)), "rbf-ard": Rbf(variance, lengths),
                               "linear": Linear(variance), "bias": Bias(variance)}
    return CovarianceFunction(tuple(terms[name] for name in names), 0.1 * variance, least * variance)


@stored("gaussian-process", places="up", weights="ud", known="uu", mean="d")
@frozen
class GaussianProcess:
    """Features at latent points x: mean + k(x, Z) W, with variance k(x, x) - k(x, Z) A k(Z, x) + noise.

    Z are the training points, or fewer inducing points.
    """

    covariance: CovarianceFunction
    places: Array  # Z, u x p
    weights: Array  # W, u x d; zero for a column that does not vary
    known: Array  # A, u x u
    mean: Array  # d

    def __post_init__(self) -> None:
        """Raise ValueError for length scales of other axes, as of a damaged model."""
        self.covariance.require_axes(self.places.shape[-1])

    @classmethod
    def constant(cls, mean: Array) -> "GaussianProcess":
        """Return a process with one irrelevant latent axis and the (d,) mean, for rows that are all equal."""
        nothing = np.zeros((0, len(mean)))
        return cls(CovarianceFunction((Bias(0.0),), 0.0), places=np.zeros((0, 1)), weights=nothing,
                   known=np.zeros((0, 0)),
                   mean=mean)

    def means(self, points: Array) -> Array:
        """Return the means of the features (m x d) at latent points (m x p)."""
        means = np.empty((len(points), len(self.mean)))
        for block in self.blocks(len(points)):
            means[block] = self.mean + self.covariance(points[block], self.places) @ self.weights
        return means

    def variances(self, points: Array) -> Array:
        """Return the variance of every varying feature at (m, p) latent points, an (m,) array, noise included."""
        variances = np.empty(len(points))
        for block in self.blocks(len(points)):
            near = self.covariance(points[block], self.places)
            variances[block] = self.covariance.diagonal(points[block]) - np.einsum("ij,ij->i", near @ self.known, near)
        return np.maximum(variances, 0.0) + self.covariance.whole_noise

    @property
    def varying(self) -> AnyArray:
        """Mask of the columns that depend on the latent point (d)."""
        return np.any(self.weights != 0, axis=0)

    def blocks(self, count: int) -> list[slice]:
        """Return slices of `count` points, small enough for memory."""
        return row_blocks(count, BLOCK, max(len(self.places), len(self.mean)))
