"""Forms of a state-space model: which parameters are free, their starts, M-steps, and numbers without bounds.

With diagonal dynamics every state is an autoregression of its own, xₜ₊₁ = λ xₜ + N(0, 1 - λ²), so that it has variance
one in the long run. With as many states as columns and noise that vanishes, the loadings of largest likelihood are then
those of slow feature analysis. Source: Turner and Sahani, "A maximum-likelihood interpretation for slow feature
analysis", 2007.
"""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, Strict

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.base.values.options import Options, option
from mlcli.errors import ConfigError
from mlcli.stages.algebra.linalg import EPS, singular, symmetric_eigen
from mlcli.stages.eigen.axes import Axes
from mlcli.stages.latent.kalman import Sequence, Smoothed, StateSpace

Noise = Literal["each", "equal", "vanishing"]
Coefficient = Annotated[float, Field(gt=-1, lt=1)]
LARGEST = 1 - 1e-8  # size of an estimated coefficient: beyond it the innovation has no digits


class Full(Options):
    """Dynamics by any matrix."""

    diagonal: ClassVar[bool] = False
    coefficients: ClassVar[None] = None
    name: Literal["full"] = "full"

    def axes(self, axes: Axes, limit: int) -> Axes:
        """Return the number of states as it is."""
        return axes

    def start(self, states: Array, sizes: Array) -> tuple[Array, Array, Array]:
        """Return states (n x K) as they are, with the transition and the innovation (K x K) of their regression."""
        transition = np.asarray(np.linalg.lstsq(states[:-1], states[1:], rcond=None)[0].T, dtype=np.float64)
        steps = states[1:] - states[:-1] @ transition.T
        innovation: Array = steps.T @ steps / len(steps) + 0.01 * np.eye(states.shape[1])
        return states, transition, innovation

    def maximize(self, states: Smoothed, moments: Array) -> tuple[Array, Array]:
        """Return the regression of states on the states before, and its covariance (K x K each)."""
        before, crossed, after = dynamic_moments(states, moments)
        transition = solve_moments(before, crossed.T).T
        innovation = (after - transition @ crossed.T) / len(moments)
        return transition, (innovation + innovation.T) / 2

    def pack(self, model: StateSpace) -> Array:
        """Return the transition and a root of the innovation (2 K²); raises LinAlgError where that is singular."""
        root = np.linalg.cholesky(model.innovation)
        return np.concatenate([model.transition.ravel(),
                               (np.tril(root, -1) + np.diag(np.log(np.diag(root)))).ravel()])

    def slope(self, model: StateSpace, states: Smoothed, moments: Array) -> Array:
        """Return the gradient of the log-likelihood by the numbers of `pack` (2 K²)."""
        before, crossed, after = dynamic_moments(states, moments)
        across, precision = model.transition @ crossed.T, np.linalg.inv(model.innovation)
        spread = after - across - across.T + model.transition @ before @ model.transition.T
        by_innovation = (precision @ spread @ precision - len(moments) * precision) / 2
        root = np.linalg.cholesky(model.innovation)
        by_root = np.tril(2 * by_innovation @ root)
        by_root[np.diag_indices(len(root))] *= np.diag(root)
        return np.concatenate([(precision @ (crossed - model.transition @ before)).ravel(), by_root.ravel()])

    def unpack(self, numbers: Array, like: StateSpace) -> tuple[Array, Array]:
        """Return the transition and the innovation (K x K each)."""
        transition, root = numbers.reshape(2, *like.transition.shape)
        root = np.tril(root, -1) + np.diag(np.exp(np.diag(root)))
        return transition, root @ root.T

    def width(self, size: int) -> int:
        """Return the number of parameters for K states."""
        return 2 * size**2


class Diagonal(Options):
    """Dynamics of every state by itself, with an innovation that gives it variance one in the long run."""

    diagonal: ClassVar[bool] = True
    name: Literal["diagonal"] = "diagonal"
    coefficients: Annotated[tuple[Coefficient, ...], Strict(False)] | None = option(
        None, "Autoregressive coefficients of the states, all different, if they are known; estimated if left out.",
        min_length=1)

    @property
    def fixed(self) -> Array | None:
        """The coefficients that are given (K), the largest first."""
        return None if self.coefficients is None else np.sort(self.coefficients)[::-1].astype(np.float64)

    def axes(self, axes: Axes, limit: int) -> Axes:
        """Return as many states as given coefficients, at most `limit`; raises ConfigError where these do not fit."""
        known, where = self.coefficients, "method.dynamics.coefficients"
        if known is None:
            return axes
        if len(set(known)) < len(known):
            raise ConfigError("COEFFICIENTS", "two states have the same coefficient: a rotation of them is as likely",
                              where=where, hint="give coefficients that differ")
        if len(known) > limit:
            raise ConfigError("COEFFICIENTS", f"{len(known)} coefficients were given, but the data has at most {limit} "
                              "axes", where=where, hint="give fewer coefficients, or more rows")
        if axes.chosen("components") and axes.components != len(known):
            raise ConfigError("COEFFICIENTS", f"{len(known)} coefficients were given for {axes.components} axes",
                              where=where, hint="give one for each axis, or leave the number of axes out")
        return Axes(components=len(known))

    def start(self, states: Array, sizes: Array) -> tuple[Array, Array, Array]:
        """Return the slow features (n x K) of uncorrelated states, with their coefficients and innovation (K x K).

        Only states with `sizes` (K) above rounding are turned into slow features; the others become zero.
        """
        extent = sizes > 10 * EPS * max(states.shape) * sizes.max(initial=0.0)
        white = states[:, extent]
        _, steps, right = singular(np.vstack([np.diff(white, axis=0), np.zeros((white.shape[1], white.shape[1]))]))
        slow = white @ right[::-1].T
        coefficients = np.zeros(states.shape[1])
        coefficients[:slow.shape[1]] = np.clip(1 - steps[::-1] ** 2 / (2 * len(states)), -LARGEST, LARGEST)
        slow = np.pad(slow, ((0, 0), (0, states.shape[1] - slow.shape[1])))
        return slow, *autoregression(coefficients if self.fixed is None else self.fixed)

    def maximize(self, states: Smoothed, moments: Array) -> tuple[Array, Array]:
        """Return the coefficients of largest likelihood, or the known ones, and their innovation (K x K each)."""
        return autoregression(best_coefficients(states, moments) if self.fixed is None else self.fixed)

    def pack(self, model: StateSpace) -> Array:
        """Return the coefficients without bounds (K), if they are not known."""
        return np.arctanh(np.diag(model.transition)) if self.fixed is None else np.zeros(0)

    def slope(self, model: StateSpace, states: Smoothed, moments: Array) -> Array:
        """Return the gradient of the log-likelihood by the numbers of `pack` (K, or none)."""
        if self.fixed is not None:
            return np.zeros(0)
        before, crossed, after = (np.diag(part) for part in dynamic_moments(states, moments))
        own = np.diag(model.transition)
        spread = after - 2 * own * crossed + own**2 * before
        return np.asarray(len(moments) * own + crossed - own * before - own * spread / ((1 - own) * (1 + own)))

    def unpack(self, numbers: Array, like: StateSpace) -> tuple[Array, Array]:
        """Return the transition and the innovation (K x K each)."""
        return autoregression(np.clip(np.tanh(numbers), -LARGEST, LARGEST) if self.fixed is None else self.fixed)

    def width(self, size: int) -> int:
        """Return the number of parameters for K states."""
        return size if self.fixed is None else 0


Dynamics = Annotated[Full | Diagonal, Field(discriminator="name")]


@frozen
class Form:
    """Dynamics, and the noise of columns: of each, equal in all, or equal and known, as it vanishes."""

    dynamics: Full | Diagonal = Full()
    noise: Noise = "each"

    def bounds(self, sequence: Sequence) -> Array:
        """Return the least noise of the columns (d); where it vanishes, their noise."""
        least = sequence.least
        return least if self.noise == "each" else np.full(len(least), least.mean())

    def noise_of(self, noise: Array, sequence: Sequence) -> Array:
        """Return the noise (d) of largest likelihood in this form, from that of every column by itself (d)."""
        if self.noise == "equal":
            noise = np.full(len(noise), np.average(noise, weights=sequence.present.sum(axis=0)))
        least = self.bounds(sequence)
        return least if self.noise == "vanishing" else np.maximum(noise, least)

    def pack(self, model: StateSpace) -> Array:
        """Return the free parameters as unbounded numbers (m); raises LinAlgError where the innovation is singular."""
        noise = model.noise[:{"each": len(model.noise), "equal": 1, "vanishing": 0}[self.noise]]
        return np.concatenate([self.dynamics.pack(model), model.loadings.ravel(), np.log(noise)])

    def slope(self, model: StateSpace, states: Smoothed, moments: Array, *, by_loadings: Array,
              by_noise: Array) -> Array:
        """Return the gradient of the log-likelihood by the numbers of `pack` (m).

        `by_loadings` (d x K) and `by_noise` (d; by the logarithm) are the parts of columns, `moments` (n x K x K) those
        of the states.
        """
        noise = {"each": by_noise, "equal": by_noise.sum(keepdims=True), "vanishing": np.zeros(0)}[self.noise]
        return np.concatenate([self.dynamics.slope(model, states, moments), by_loadings.ravel(), noise])

    def least(self, sequence: Sequence, like: Array) -> Array:
        """Return the lower bounds of the numbers of `pack`, an (m,) array like `like`."""
        count = {"each": len(sequence.least), "equal": 1, "vanishing": 0}[self.noise]
        return np.concatenate([np.full(len(like) - count, -np.inf), np.log(self.bounds(sequence)[:count])])

    def unpack(self, numbers: Array, like: StateSpace) -> StateSpace:
        """Return the model of unbounded numbers (m), in the shapes of `like` and with its known parameters."""
        width = self.dynamics.width(len(like.transition))
        moved, loadings, noise = np.split(numbers, np.cumsum([width, like.loadings.size]))
        transition, innovation = self.dynamics.unpack(moved, like)
        return StateSpace(transition=transition, innovation=innovation, loadings=loadings.reshape(like.loadings.shape),
                          noise=like.noise if self.noise == "vanishing" else np.exp(noise) * np.ones(len(like.noise)))


def dynamic_moments(states: Smoothed, moments: Array) -> tuple[Array, Array, Array]:
    """Return the sums of xₜ xₜᵀ, xₜ₊₁ xₜᵀ and xₜ₊₁ xₜ₊₁ᵀ over the steps (K x K each), the first one from the start."""
    means = states.means
    crossed = np.sum(states.following, axis=0) + means[1:].T @ means[:-1]
    first = states.covariances[0] + np.outer(means[0] - states.start, means[0] - states.start)
    return moments[:-1].sum(axis=0), crossed, first + moments[1:].sum(axis=0)


def autoregression(coefficients: Array) -> tuple[Array, Array]:
    """Return transition and innovation (K x K each) of states with coefficients (K) and variance one."""
    return np.diag(coefficients), np.diag((1 - coefficients) * (1 + coefficients))


def best_coefficients(states: Smoothed, moments: Array) -> Array:
    """Return the coefficients (K) of largest likelihood, roots of a cubic, from second moments (n x K x K).

    With S₀ = Σ x²ₜ, S₁ = Σ x²ₜ₊₁ and the first state's square about the start, and C = Σ xₜ xₜ₊₁ they maximize
    -n/2 log(1 - λ²) - (S₁ - 2 λ C + λ² S₀) / 2 (1 - λ²).
    """
    rows, means = len(states.means), states.means
    squares = np.einsum("tkk->tk", moments)
    crossed = np.einsum("tkk->k", states.following) + np.sum(means[1:] * means[:-1], axis=0)
    before = squares[:-1].sum(axis=0)
    after = squares[1:].sum(axis=0) + np.diag(states.covariances[0]) + (means[0] - states.start) ** 2
    found = np.empty(len(before))
    for state, (early, late, both) in enumerate(zip(before, after, crossed, strict=True)):
        roots = np.roots([-rows, both, rows - early - late, both])
        near = np.clip(np.concatenate([roots.real[np.abs(roots.imag) < 1e-6], [0.0]]), -LARGEST, LARGEST)
        spread = (1 - near) * (1 + near)
        values = -0.5 * (rows * np.log(spread) + (late - 2 * near * both + near**2 * early) / spread)
        found[state] = near[values.argmax()]
    return found


def solve_moments(moments: Array, targets: Array) -> Array:
    """Return least squares from second moments (K x K), in the directions that they determine."""
    values, vectors = symmetric_eigen((moments + moments.T) / 2)
    determined = values > len(values) * EPS * 10 * values[0]
    return vectors[:, determined] @ ((vectors[:, determined].T @ targets) / values[determined, None])
