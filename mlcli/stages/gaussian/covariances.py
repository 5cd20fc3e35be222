"""Covariance functions of Gaussian processes: sums of terms and white noise, with their derivatives.

Every parameter is positive and moved by its logarithm. Source: Rasmussen and Williams, "Gaussian Processes for Machine
Learning", 2006, chapters 4 and 5.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.quantity import Quantity
from mlcli.base.values.signs import leading_signs
from mlcli.stages.algebra.distances import by_differences
from mlcli.stages.algebra.linalg import symmetric_eigen

Name = Literal["rbf", "rbf-ard", "linear", "bias"]
USUAL = 2  # axes over which points of variance one are about as far apart as a length scale of one asks for


@stored("rbf", lengths="l")
@frozen
class Rbf:
    """v exp(-Σ (x - y)² / 2 l²): smooth functions, with one length scale l for all axes or one for each."""

    variance: float  # v
    lengths: Array  # of one, or p

    def __call__(self, left: Array, right: Array) -> Array:
        """Values for all pairs (m x n)."""
        values = by_differences(left / self.lengths, right / self.lengths)
        values *= -0.5
        np.exp(values, out=values)
        values *= self.variance
        return values

    def diagonal(self, points: Array) -> Array:
        """Each point's value with itself (n)."""
        return np.full(len(points), self.variance)

    @property
    def parameters(self) -> Array:
        """Variance, then lengths."""
        return np.append(self.variance, self.lengths)

    def at(self, parameters: Array) -> "Rbf":
        """The same with other parameters."""
        return Rbf(float(parameters[0]), parameters[1:])

    def pulled(self, weights: Array, values: Array, *, left: Array, right: Array) -> tuple[Array, Array]:
        """Derivatives of Σ wᵢⱼ k(xᵢ, yⱼ): by the logarithms of the parameters, and by the left points (m x p)."""
        weighted = weights * values
        own, other = left / self.lengths, right / self.lengths
        rows, columns, met = weighted.sum(axis=1), weighted.sum(axis=0), weighted @ other
        squares = rows @ own**2 + columns @ other**2 - 2 * np.sum(own * met, axis=0)  # for each axis
        lengths = squares if len(self.lengths) > 1 else squares.sum(keepdims=True)
        return np.append(rows.sum(), lengths), (met - rows[:, None] * own) / self.lengths

    def pulled_diagonal(self, weights: Array, points: Array) -> tuple[Array, Array]:
        """The same of Σ wᵢ k(xᵢ, xᵢ)."""
        return np.append(weights.sum() * self.variance, np.zeros(len(self.lengths))), np.zeros_like(points)

    def slopes(self, axes: int) -> Array:
        """The variance of a function's slope along each axis (p)."""
        return np.broadcast_to(self.variance / self.lengths**2, axes)

    def turned(self, turn: Array) -> "Rbf":
        """The same of points whose axes were turned, or changed places where each has a length scale."""
        return self if len(self.lengths) == 1 else Rbf(self.variance, self.lengths @ np.abs(turn))

    def facts(self) -> dict[str, Any]:
        """The parameters by name."""
        return {"rbf_variance": Quantity(self.variance, 2), "rbf_lengths": self.lengths.tolist()}

    @property
    def scales(self) -> AnyArray:
        """Which parameters only say how large latent coordinates are."""
        return np.arange(1 + len(self.lengths)) > 0


@stored("linear-term")
@frozen
class Linear:
    """v ⟨x, y⟩: linear functions."""

    variance: float  # v

    def __call__(self, left: Array, right: Array) -> Array:
        """Values for all pairs (m x n)."""
        return self.variance * (left @ right.T)

    def diagonal(self, points: Array) -> Array:
        """Each point's value with itself (n)."""
        return self.variance * np.einsum("ij,ij->i", points, points)

    @property
    def parameters(self) -> Array:
        """The variance."""
        return np.array([self.variance])

    def at(self, parameters: Array) -> "Linear":
        """The same with another variance."""
        return Linear(float(parameters[0]))

    def pulled(self, weights: Array, values: Array, *, left: Array, right: Array) -> tuple[Array, Array]:
        """Derivatives of Σ wᵢⱼ k(xᵢ, yⱼ): by the logarithm of the variance, and by the left points (m x p)."""
        return np.array([np.sum(weights * values)]), self.variance * (weights @ right)

    def pulled_diagonal(self, weights: Array, points: Array) -> tuple[Array, Array]:
        """The same of Σ wᵢ k(xᵢ, xᵢ)."""
        return np.array([weights @ self.diagonal(points)]), 2 * self.variance * weights[:, None] * points

    def slopes(self, axes: int) -> Array:
        """The variance of a function's slope along each axis (p)."""
        return np.full(axes, self.variance)

    def turned(self, turn: Array) -> "Linear":
        """The same."""
        return self

    def facts(self) -> dict[str, Any]:
        """The parameter by name."""
        return {"linear_variance": Quantity(self.variance, 2)}

    @property
    def scales(self) -> AnyArray:
        """Which parameters only say how large latent coordinates are."""
        return np.ones(1, dtype=bool)


@stored("bias-term")
@frozen
class Bias:
    """b: constant functions."""

    variance: float  # b

    def __call__(self, left: Array, right: Array) -> Array:
        """Values for all pairs (m x n)."""
        return np.full((len(left), len(right)), self.variance)

    def diagonal(self, points: Array) -> Array:
        """Each point's value with itself (n)."""
        return np.full(len(points), self.variance)

    @property
    def parameters(self) -> Array:
        """The variance."""
        return np.array([self.variance])

    def at(self, parameters: Array) -> "Bias":
        """The same with another variance."""
        return Bias(float(parameters[0]))

    def pulled(self, weights: Array, values: Array, *, left: Array, right: Array) -> tuple[Array, Array]:
        """Derivatives of Σ wᵢⱼ k(xᵢ, yⱼ): by the logarithm of the variance, and by the left points (m x p)."""
        return np.array([self.variance * weights.sum()]), np.zeros_like(left)

    def pulled_diagonal(self, weights: Array, points: Array) -> tuple[Array, Array]:
        """The same of Σ wᵢ k(xᵢ, xᵢ)."""
        return np.array([self.variance * weights.sum()]), np.zeros_like(points)

    def slopes(self, axes: int) -> Array:
        """The variance of a function's slope along each axis (p)."""
        return np.zeros(axes)

    def turned(self, turn: Array) -> "Bias":
        """The same."""
        return self

    def facts(self) -> dict[str, Any]:
        """The parameter by name."""
        return {"bias_variance": Quantity(self.variance, 2)}

    @property
    def scales(self) -> AnyArray:
        """Which parameters only say how large latent coordinates are."""
        return np.zeros(1, dtype=bool)


Term = Rbf | Linear | Bias


@stored("covariance")
@frozen
class Covariance:
    """A sum of terms, and white noise in every observation."""

    terms: tuple[Term, ...]
    noise: float  # variance
    least: float = 0.0  # variance that noise has besides, so that it never vanishes

    def parts(self, left: Array, right: Array) -> list[Array]:
        """The values of every term for all pairs (m x n each)."""
        return [term(left, right) for term in self.terms]

    def __call__(self, left: Array, right: Array) -> Array:
        """Values for all pairs (m x n), without noise."""
        return np.sum(self.parts(left, right), axis=0)

    def diagonal(self, points: Array) -> Array:
        """Each point's value with itself (n), without noise."""
        return np.sum([term.diagonal(points) for term in self.terms], axis=0)

    @property
    def whole_noise(self) -> float:
        """The variance of the noise."""
        return self.noise + self.least

    @property
    def logs(self) -> Array:
        """The logarithms of all parameters, the noise last."""
        return np.log(np.concatenate([*(term.parameters for term in self.terms), [self.noise]]))

    def at(self, logs: Array) -> "Covariance":
        """The same with other parameters."""
        ends = np.cumsum([len(term.parameters) for term in self.terms])
        *parts, noise = np.split(np.exp(logs), ends)
        terms: list[Any] = [term.at(own) for term, own in zip(self.terms, parts, strict=True)]
        return replace(self, terms=tuple(terms), noise=float(noise[0]))

    def pulled(self, weights: Array, parts: Sequence[Array], *, left: Array, right: Array) -> tuple[Array, Array]:
        """Derivatives of Σ wᵢⱼ k(xᵢ, yⱼ): by the logarithms of the terms' parameters, and by the left points."""
        pulls = [term.pulled(weights, values, left=left, right=right)
                 for term, values in zip(self.terms, parts, strict=True)]
        return np.concatenate([logs for logs, _ in pulls]), np.sum([points for _, points in pulls], axis=0)

    def pulled_diagonal(self, weights: Array, points: Array) -> tuple[Array, Array]:
        """The same of Σ wᵢ k(xᵢ, xᵢ)."""
        pulls = [term.pulled_diagonal(weights, points) for term in self.terms]
        return np.concatenate([logs for logs, _ in pulls]), np.sum([points for _, points in pulls], axis=0)

    def slopes(self, axes: int) -> Array:
        """The variance of a function's slope along each axis (p)."""
        return np.sum([term.slopes(axes) for term in self.terms], axis=0)

    def turn(self, points: Array) -> Array:
        """What leaves the model as it is and makes axes descend in relevance (p x p), with signs by the sign rule.

        Where length scales are equal, axes become principal; else they change places.
        """
        centered, size = points - points.mean(axis=0), points.shape[1]
        if all(len(term.parameters) <= 2 for term in self.terms):
            turn = symmetric_eigen(centered.T @ centered)[1]
        else:
            turn = np.eye(size)[:, np.argsort(-self.relevances(points), kind="stable")]
        return turn * leading_signs(points @ turn)

    def turned(self, turn: Array) -> "Covariance":
        """The covariance of points that were turned so."""
        return replace(self, terms=tuple([term.turned(turn) for term in self.terms]))

    def relevances(self, points: Array) -> Array:
        """How much features vary along each axis (p): the variance of their slope times that of coordinates."""
        return np.asarray(self.slopes(points.shape[1]) * points.var(axis=0))

    def facts(self) -> dict[str, Any]:
        """The parameters by name."""
        named = [(name, value) for term in self.terms for name, value in term.facts().items()]
        return {**dict(named), "noise_variance": Quantity(self.whole_noise, 2)}

    @property
    def scales(self) -> AnyArray:
        """Which parameters of the first term that has such only say how large latent coordinates are."""
        marked = [term.scales for term in self.terms]
        first = next((place for place, own in enumerate(marked) if own.any()), None)
        return np.concatenate([*(own & (place == first) for place, own in enumerate(marked)), [False]])


def started(names: Sequence[Name], variance: float, least: float, axes: int = 1) -> Covariance:
    """Terms by their names, each with the data's variance, for coordinates of variance one; a tenth is noise.

    With `rbf-ard` every one of the axes has a length scale of its own; the more they are, the longer.
    """
    lengths = np.full(axes, np.sqrt(max(axes / USUAL, 1.0)))
    terms: dict[Name, Term] = {"rbf": Rbf(variance, np.ones(1)), "rbf-ard": Rbf(variance, lengths),
                               "linear": Linear(variance), "bias": Bias(variance)}
    return Covariance(tuple(terms[name] for name in names), 0.1 * variance, least * variance)
