"""Rotations of loadings: rotations of the axes that leave the fit as it is and make the loadings easier to read."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from mlcli.base.frozen import frozen
from mlcli.base.options import Options, option
from mlcli.base.stored import result
from mlcli.base.types import Array
from mlcli.stages.algebra.iterate import Iterate
from mlcli.stages.algebra.linalg import inverse, singular


class Unrotated(Options):
    """The axes as the likelihood finds them."""

    name: Literal["none"] = "none"

    def turn(self, loadings: Array) -> Array:
        """The rotation (q x q) of loadings (d x q)."""
        return np.eye(loadings.shape[1])


class Varimax(Options):
    """Orthogonal: squared loadings as different as can be within each axis (Kaiser, 1958)."""

    name: Literal["varimax"] = "varimax"
    normalize: bool = option(True, "Whether every column counts alike, whatever its communality (Kaiser).")

    def turn(self, loadings: Array) -> Array:
        """The rotation (q x q) of loadings (d x q), by alternating with the nearest orthogonal matrix."""
        if loadings.shape[1] < 2:
            return np.eye(loadings.shape[1])
        lengths = np.linalg.norm(loadings, axis=1, keepdims=True)
        rows = np.divide(loadings, lengths, out=np.zeros_like(loadings), where=lengths > 0)
        rows = rows if self.normalize else loadings

        def step(state: Turned) -> Turned:
            turned = rows @ state.turn
            target = turned**3 - turned * (turned**2).mean(axis=0)
            left, sizes, right = singular(rows.T @ target)
            return Turned(left @ right, float(sizes.sum()))

        start = Turned(np.eye(loadings.shape[1]), 0.0)
        return Iterate(limit=5000, tolerance=1e-12)(step, start, apart).state.turn


class Promax(Options):
    """Oblique: from varimax toward its loadings with contrasts raised to a power (Hendrickson and White, 1964)."""

    name: Literal["promax"] = "promax"
    power: float = option(4.0, "The power that contrasts are raised to.", ge=1)

    def turn(self, loadings: Array) -> Array:
        """The rotation (q x q) of loadings (d x q); axes keep unit variance and become correlated."""
        first = Varimax().turn(loadings)
        if loadings.shape[1] < 2:
            return first
        turned = loadings @ first
        target = turned * np.abs(turned) ** (self.power - 1)
        left, sizes, right = singular(turned)
        fitted = right.T @ ((left.T @ target) / sizes[:, None])
        sizes = (inverse(fitted, where="method.axes.components", hint="ask for fewer factors") ** 2).sum(axis=1)
        return np.asarray(first @ fitted * np.sqrt(sizes))


Rotation = Annotated[Unrotated | Varimax | Promax, Field(discriminator="name")]


@result("turned")
@frozen
class Turned:
    """A rotation during the iteration."""

    turn: Array  # q x q
    objective: float


def apart(before: Turned, after: Turned) -> float:
    """How far two rotations are from each other."""
    return float(np.abs(after.turn - before.turn).max())
