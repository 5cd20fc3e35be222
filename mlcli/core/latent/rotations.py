"""Rotations of loadings, which leave the fit unchanged and make loadings easier to interpret."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from mlcli.base.frozen import frozen
from mlcli.base.stored import result
from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.base.values.options import Options, option
from mlcli.core.iterate import Iterate
from mlcli.core.linalg import inverse, require_finite, singular

HALVINGS = 40


@frozen
class Turn:
    """A rotation, and whether its iteration converged."""

    matrix: Array  # q x q: rotated loadings are loadings times this
    converged: bool = True


class Unrotated(Options):
    """No rotation: the axes of the likelihood's closed form."""

    name: Literal["none"] = "none"

    def turn(self, loadings: Array) -> Turn:
        """Return the identity (q x q) for loadings (d x q)."""
        return Turn(np.eye(loadings.shape[1]))


class Varimax(Options):
    """Orthogonal: squared loadings as different as can be within each axis (Kaiser, 1958)."""

    name: Literal["varimax"] = "varimax"
    normalize: bool = option(True, "Whether columns have equal weight, whatever share of their variance is common "
                             "(Kaiser normalization).")

    def turn(self, loadings: Array) -> Turn:
        """Return the rotation (q x q) of loadings (d x q), by repeated projection to the nearest orthogonal matrix."""
        if loadings.shape[1] < 2:
            return Turn(np.eye(loadings.shape[1]))
        rows = rows_of_length_one(loadings) if self.normalize else loadings

        def step(state: RotationState) -> RotationState:
            turned = rows @ state.turn
            target = turned**3 - turned * (turned**2).mean(axis=0)
            left, sizes, right = singular(rows.T @ target)
            return RotationState(left @ right, float(sizes.sum()))

        start = RotationState(np.eye(loadings.shape[1]), 0.0)
        ended = Iterate(limit=5000, tolerance=1e-12)(step, start, largest_difference)
        return Turn(ended.state.turn, ended.converged)


class Promax(Options):
    """Oblique: from varimax toward its loadings with contrasts raised to a power (Hendrickson and White, 1964)."""

    name: Literal["promax"] = "promax"
    power: float = option(4.0, "Exponent to which loadings are raised in the target of the rotation.", ge=1)

    def turn(self, loadings: Array) -> Turn:
        """Return the rotation (q x q) of loadings (d x q); axes keep unit variance and become correlated."""
        first = Varimax().turn(loadings)
        if loadings.shape[1] < 2:
            return first
        turned = loadings @ first.matrix
        with np.errstate(over="ignore"):
            target = turned * np.abs(turned) ** (self.power - 1)
        require_finite(target, "the target of the rotation")
        left, sizes, right = singular(turned)
        fitted = right.T @ ((left.T @ target) / sizes[:, None])
        sizes = (inverse(fitted, where="method.axes.components", hint="ask for fewer factors") ** 2).sum(axis=1)
        return Turn(first.matrix @ fitted * np.sqrt(sizes), first.converged)


class Oblimin(Options):
    """Oblique: products of squared loadings on different axes as small as can be (direct quartimin, γ = 0).

    Source: Jennrich and Sampson, "Rotation for simple loadings", 1966; Jennrich, "A simple general method for oblique
    rotation", 2002.
    """

    name: Literal["oblimin"] = "oblimin"
    normalize: bool = option(False, "Whether columns have equal weight, whatever share of their variance is common "
                             "(Kaiser normalization).")

    def turn(self, loadings: Array) -> Turn:
        """Return the rotation (q x q) of loadings (d x q); axes keep unit variance and become correlated."""
        size = loadings.shape[1]
        if size < 2:
            return Turn(np.eye(size))
        start = quartimin(rows_of_length_one(loadings) if self.normalize else loadings, np.eye(size), 1.0)
        ended = Iterate(limit=5000, tolerance=1e-12)(descend, start, lambda _, after: after.steepness)
        return Turn(inverse(ended.state.turn, where="method.axes.components", hint="ask for fewer factors").T,
                    ended.converged)


Rotation = Annotated[Unrotated | Varimax | Promax | Oblimin, Field(discriminator="name")]


@result("turned")
@frozen
class RotationState:
    """A rotation during the iteration."""

    turn: Array  # q x q
    objective: float


def largest_difference(before: RotationState, after: RotationState) -> float:
    """Return the largest difference of two rotations' entries."""
    return float(np.abs(after.turn - before.turn).max())


def rows_of_length_one(loadings: Array) -> Array:
    """Return loadings (d x q) over the roots of their communalities; zero where a communality is zero."""
    lengths = np.linalg.norm(loadings, axis=1, keepdims=True)
    return np.divide(loadings, lengths, out=np.zeros_like(loadings), where=lengths > 0)


@result("oblique")
@frozen
class Oblique:
    """An oblique rotation during gradient projection: loadings are A T⁻ᵀ, the factors' correlations TᵀT."""

    loadings: Array  # d x q, A: the loadings before rotation
    turn: Array  # q x q, T, with columns of length one
    objective: float  # Σ λ²_ij λ²_ik over i and j < k, halved
    slope: Array  # q x q: the gradient in T along columns of length one
    step: float  # length of the last step

    @property
    def steepness(self) -> float:
        """The size of the slope."""
        return float(np.linalg.norm(self.slope))


def quartimin(loadings: Array, turn: Array, step: float) -> Oblique:
    """Return quartimin and its slope at a rotation T (q x q) of loadings (d x q)."""
    back = np.linalg.inv(turn)
    turned = loadings @ back.T
    squares = turned**2
    others = squares.sum(axis=1, keepdims=True) - squares
    gradient = -(turned.T @ (turned * others) @ back).T
    return Oblique(loadings=loadings, turn=turn, objective=float(np.sum(squares * others)) / 4,
                   slope=gradient - turn * np.sum(turn * gradient, axis=0), step=step)


def descend(state: Oblique) -> Oblique:
    """Return the rotation after a step down the slope, with columns of length one.

    Where only rounding is left to gain, a step is accepted if the slope becomes gentler.
    """
    size, steep = 2 * state.step, state.steepness
    rounding = 16 * EPS * float(np.sum(state.loadings**2) ** 2)
    for _ in range(HALVINGS):
        moved = state.turn - size * state.slope
        reached = quartimin(state.loadings, moved / np.linalg.norm(moved, axis=0), size)
        promised, gain = 0.5 * steep**2 * size, state.objective - reached.objective
        if gain > promised if promised > rounding else reached.steepness < steep:
            return reached
        size /= 2
    return state
