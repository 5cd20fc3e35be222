"""Approximate posteriors q(z | x) of a variational autoencoder: Gaussians by the numbers that say each of them.

The p means come first, then the logarithms of the squared diagonal of a lower triangle L, and for a full covariance
L Lᵀ the entries of L below its diagonal, row by row. A recognition network gives these numbers (Kingma and Welling, "An
introduction to variational autoencoders", 2019, 2.5); or each row has those of the largest bound of its own, found from
there with the decoder fixed (Krishnan, Liang and Hoffman, "On the challenges of learning with inference networks on
sparse, high-dimensional data", 2018).
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array
from mlcli.core.row_descent import SMALL, descend
from mlcli.methods.networks.network import Encoder, Network

Values = Any  # an array of NumPy, or one that JAX follows
Family = Literal["mean-field", "full", "free"]
BLOCK = 1 << 19  # activations of a layer in a thread's memory
PAIRS, MORE = 16, 2  # draws with their negatives: at least so many, and so many for each axis


def gaussian_log_density(rows: Values, sums: Values, level: Values, module: Any) -> Values:
    """Return log N(x; s, σ²) of rows (… x d) at the decoder's sums (… x d); the level is ln σ²."""
    squares = module.square(rows - sums) / module.exp(level)
    return -0.5 * module.sum(squares + level + np.log(2 * np.pi), axis=-1)


def bernoulli_log_density(rows: Values, sums: Values, level: Values, module: Any) -> Values:
    """Return the logarithm of the probability of rows (… x d), given logits (… x d)."""
    return module.sum(rows * sums - module.logaddexp(sums, 0.0), axis=-1)


LOG_DENSITIES: Mapping[str, Callable[..., Values]] = {
    "gaussian": gaussian_log_density, "bernoulli": bernoulli_log_density}
BY_SUMS: Mapping[str, Callable[[Array, Array, float], Array]] = {  # slopes of these by the sums
    "gaussian": lambda rows, sums, level: (rows - sums) * np.exp(-level),
    "bernoulli": lambda rows, sums, level: rows - np.exp(-np.logaddexp(0.0, -sums))}


def numbers_of(family: Family, axes: int) -> int:
    """Return how many numbers say a posterior on so many axes."""
    return 2 * axes if family == "mean-field" else 2 * axes + axes * (axes - 1) // 2


@frozen
class Posterior:
    """Gaussian posteriors of some rows; without `below` axes are independent."""

    means: Values  # m x p
    logs: Values  # m x p: of the squared diagonal of the factor
    below: Values | None  # m x p x p: of the factor, zero on its diagonal and above; None where axes are independent
    module: Any  # numpy or jax.numpy

    @classmethod
    def of(cls, numbers: Values, axes: int, module: Any) -> "Posterior":
        """Return the posteriors that numbers (m x c) say, by numpy or jax.numpy."""
        if numbers.shape[1] == 2 * axes:
            means, logs = module.split(numbers, 2, axis=1)
            return cls(means, logs, None, module)
        rows, columns = np.tril_indices(axes, -1)
        places = np.zeros((len(rows), axes * axes), dtype=numbers.dtype)
        places[np.arange(len(rows)), rows * axes + columns] = 1
        below = module.reshape(numbers[:, 2 * axes:] @ places, (-1, axes, axes))
        return cls(numbers[:, :axes], numbers[:, axes:2 * axes], below, module)

    @property
    def deviations(self) -> Values:
        """The diagonal of the factor (m x p), which are standard deviations where axes are independent."""
        return self.module.exp(self.logs / 2)

    @property
    def factor(self) -> Values:
        """The lower triangle L of each covariance L Lᵀ (m x p x p)."""
        diagonal = self.deviations[:, :, None] * np.eye(self.means.shape[1], dtype=self.means.dtype)
        return diagonal if self.below is None else diagonal + self.below

    @property
    def covariances(self) -> Values:
        """The covariances (m x p x p)."""
        return self.module.einsum("nij,nkj->nik", self.factor, self.factor)

    @property
    def variances(self) -> Values:
        """The variance of each axis (m x p)."""
        if self.below is not None:
            return self.module.sum(self.factor**2, axis=2)
        return self.deviations**2 if self.module is np else self.module.exp(self.logs)

    def at(self, normal: Values) -> Values:
        """Return points (m x p) for draws of a standard normal distribution (m x p)."""
        found = self.means + self.deviations * normal
        return found if self.below is None else found + self.module.einsum("nij,nj->ni", self.below, normal)

    def spread(self, weights: Values) -> Values:
        """Return the sum of the variances (m) of z W for weights W (p x d)."""
        if self.below is None:
            return self.variances @ self.module.sum(self.module.square(weights), axis=1)
        ways = self.module.einsum("nij,id->njd", self.factor, weights)
        return self.module.sum(self.module.square(ways), axis=(1, 2))


def draws_of(axes: int, generator: np.random.Generator) -> Array:
    """Return draws (s x p) of a standard normal distribution, with their negatives, of covariance exactly one."""
    half = generator.standard_normal((max(PAIRS, MORE * axes), axes))
    left, _, right = np.linalg.svd(half, full_matrices=False)
    half = np.sqrt(len(half)) * left @ right
    return np.vstack([half, -half])


@stored("free-posteriors", means="d", draws="sp")
@frozen
class FreePosteriors(Encoder):
    """The numbers of the posterior with each row's largest bound, found from those that a recognition network gives.

    The bound is E log p(x | z) - β KL(q ‖ N(0, I)) with the decoder fixed, its mean over draws that all rows share.
    Raises ValueError for parts that do not fit together.
    """

    farthest: ClassVar[float] = 4.0  # step of the search, in deviations of the prior
    decoder: Network  # to the sums of the last layer
    likelihood: Literal["gaussian", "bernoulli"]
    level: float  # the logarithm of the noise's variance over the squared scale
    beta: float
    draws: Array  # s x p

    def __post_init__(self) -> None:
        axes = self.draws.shape[1]
        if (self.network.outputs, self.decoder.inputs, self.decoder.outputs) != (
                numbers_of("free", axes), axes, len(self.means)) or not self.beta > 0:
            raise ValueError("a decoder leads from the means of posteriors to features")

    def rows(self, new: Array) -> Array:
        """Return the numbers (m x c) of the posteriors of new rows (m x d).

        A row's digits do not depend on others: products are of one row at a time.
        """
        seen = (new - self.means) / self.scale
        found = np.empty((len(new), self.network.outputs))
        for block in row_blocks(len(new), BLOCK, len(self.draws) * self.decoder.width):
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what is not finite rejects a step
                start = self.network(seen[block][:, None, :])[:, 0]
                found[block] = descend(NegatedBounds(self, seen[block]), start, self.farthest)[0]
        return found

    def rounding(self, new: Array) -> Array:
        """Return errors of the numbers (m x c): a search that ends at a fall of t is within √(2 t / β) of its end."""
        seen = (new - self.means) / self.scale
        falls = SMALL * np.maximum(np.abs(NegatedBounds(self, seen)(self.rows(new))[0]), 1.0)
        return np.repeat(np.sqrt(2 * falls / self.beta)[:, None], self.network.outputs, axis=1)


@frozen
class NegatedBounds:
    """The negative bound of each row, as a function of the numbers of its posterior."""

    posteriors: FreePosteriors
    seen: Array  # m x d, standardized

    def take(self, chosen: AnyArray) -> "NegatedBounds":
        """Return the bounds of some of the rows."""
        return NegatedBounds(self.posteriors, self.seen[chosen])

    def __call__(self, points: Array) -> tuple[Array, Array]:
        """Return the negative bounds (m) for numbers (m x c), and their slopes (m x c)."""
        model, draws = self.posteriors, self.posteriors.draws
        found = Posterior.of(points, draws.shape[1], np)
        factor, rows = found.factor, self.seen[:, None, :]
        sums, pull_back = model.decoder.with_slopes(found.means[:, None, :] + draws @ factor.transpose(0, 2, 1))
        logs = LOG_DENSITIES[model.likelihood](rows, sums, model.level, np)
        by_draws = pull_back(BY_SUMS[model.likelihood](rows, sums, model.level)) / len(draws)
        apart = 0.5 * np.sum(found.means**2 + found.variances - 1 - found.logs, axis=1)
        by_factor = model.beta * factor - by_draws.transpose(0, 2, 1) @ draws
        by_logs = 0.5 * (np.einsum("nii->ni", by_factor) * found.deviations - model.beta)
        below = np.tril_indices(draws.shape[1], -1)
        return model.beta * apart - logs.mean(axis=1), np.hstack([
            model.beta * found.means - by_draws.sum(axis=1), by_logs, by_factor[:, below[0], below[1]]])
