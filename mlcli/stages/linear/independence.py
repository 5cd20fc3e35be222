"""Independent components: FastICA's fixed point for the directions in which white data is least Gaussian."""

from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import rates
from mlcli.base.stored import result
from mlcli.base.types import Array
from mlcli.stages.algebra.iterate import Iterate, Iterated
from mlcli.stages.algebra.linalg import singular

Contrast = Literal["logcosh", "exp", "cube"]
Order = Literal["symmetric", "deflation"]
Values = tuple[Array, Array, Array]  # G, its derivative and its second derivative
USUAL = 20  # steps of most fits
PATIENCE = 500  # steps that come no closer to rest: directions of Gaussian data are turned for ever
CONTRAST, CALLS = 20, 60  # a contrast and its derivatives, in functions of one distance; small calls of a step


@result("unmixing")
@frozen
class Unmixing:
    """Orthonormal directions of white data, and how far from Gaussian the data is along them."""

    directions: Array  # p x r
    negentropy: Array  # p, (E G(y) - E G(v))^2

    @property
    def objective(self) -> float:
        """The sum that the fixed point maximizes."""
        return float(self.negentropy.sum())


@frozen
class Unmixed:
    """Independent components in descending order of negentropy, and how they were found."""

    directions: Array  # p x p
    negentropy: Array  # p
    trace: Array  # the objective after each iteration
    facts: dict[str, Any]


def _logcosh(values: Array) -> Values:
    slope, size = np.tanh(values), np.abs(values)
    return size + np.log1p(np.exp(-2 * size)) - np.log(2.0), slope, 1 - slope**2


def _exp(values: Array) -> Values:
    bell = np.exp(-values**2 / 2)
    return -bell, values * bell, (1 - values**2) * bell


def _cube(values: Array) -> Values:
    return values**4 / 4, values**3, 3 * values**2


CONTRASTS: dict[str, Callable[[Array], Values]] = {"logcosh": _logcosh, "exp": _exp, "cube": _cube}


def unmixed(white: Array, contrast: Contrast, order: Order, iterate: Iterate, random: np.random.Generator) -> Unmixed:
    """The independent components of white points (n x p), from random directions (Hyvärinen and Oja)."""
    size = white.shape[1]
    start = symmetric(random.standard_normal((size, size))) if size else np.zeros((0, 0))
    runs = (_together if order == "symmetric" else _one_by_one)(white, contrast, iterate, start)
    directions = np.vstack([start[:0], *(run.state.directions for run in runs)])
    negentropy = measured(white, directions, contrast).negentropy
    best = np.argsort(-negentropy, kind="stable")
    trace = np.concatenate([np.zeros(0), *(run.trace for run in runs)])
    return Unmixed(directions[best], negentropy[best], trace,
                   {"iterations": len(trace), "converged": all(run.converged for run in runs)})


def _together(white: Array, contrast: Contrast, iterate: Iterate, start: Array) -> list[Iterated[Unmixing]]:
    """All directions at once."""
    def step(state: Unmixing) -> Unmixing:
        return measured(white, symmetric(stepped(white, state.directions, contrast)), contrast)

    return [iterate(step, measured(white, start, contrast), turned, patience=PATIENCE)] if len(start) else []


def _one_by_one(white: Array, contrast: Contrast, iterate: Iterate, start: Array) -> list[Iterated[Unmixing]]:
    """Each direction orthogonal to those found before it."""
    rows: list[Iterated[Unmixing]] = []
    for first in start:
        before = np.vstack([start[:0], *(run.state.directions for run in rows)])

        def step(state: Unmixing, before: Array = before) -> Unmixing:
            return measured(white, deflated(stepped(white, state.directions, contrast), before), contrast)

        begun = measured(white, deflated(first[None, :], before), contrast)
        rows.append(iterate(step, begun, turned, patience=PATIENCE))
    return rows


def measured(white: Array, directions: Array, contrast: Contrast) -> Unmixing:
    """Directions with their negentropies."""
    means = CONTRASTS[contrast](white @ directions.T)[0].mean(axis=0)
    return Unmixing(directions, (means - gaussian_mean(contrast)) ** 2)


@cache
def gaussian_mean(contrast: Contrast) -> float:
    """E G(v) of a standard Gaussian v, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    return float(CONTRASTS[contrast](nodes)[0] @ weights / np.sqrt(2 * np.pi))


def stepped(white: Array, directions: Array, contrast: Contrast) -> Array:
    """One step of the fixed point for each direction (p x r) of white points (n x r), not yet orthogonal."""
    _, first, second = CONTRASTS[contrast](white @ directions.T)
    return first.T @ white / len(white) - second.mean(axis=0)[:, None] * directions


def seconds_of(rows: int, count: int) -> float:
    """Predicted seconds of one step: the contrast of all points twice, and the small calls."""
    return rows * count * (CONTRAST * rates().bent + 8 * count * rates().product) + CALLS * rates().called


def symmetric(directions: Array) -> Array:
    """The nearest orthonormal directions, symmetrically."""
    left, _, right = singular(directions)
    return left @ right


def deflated(direction: Array, before: Array) -> Array:
    """A direction (1 x r) made orthogonal to those before it and brought to length one."""
    for _ in range(2):
        direction = direction - (direction @ before.T) @ before
    return direction / np.linalg.norm(direction)


def turned(before: Unmixing, after: Unmixing) -> float:
    """How far directions have moved: the largest change of any entry, up to signs."""
    old, new = before.directions, after.directions
    signs = np.where(np.einsum("ij,ij->i", new, old) < 0, -1.0, 1.0)
    return float(np.abs(new - signs[:, None] * old).max(initial=0.0))
