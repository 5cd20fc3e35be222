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
PATIENCE = 500  # steps without a smaller change: directions of Gaussian data never converge
CONTRAST, CALLS = 20, 60  # a contrast and its derivatives, in functions of one distance; small calls of a step


@result("unmixing")
@frozen
class Unmixing:
    """Orthonormal directions of white data, with the data's negentropies along them."""

    directions: Array  # p x r
    negentropy: Array  # p, (E G(y) - E G(v))^2

    @property
    def objective(self) -> float:
        """The sum that the fixed point maximizes."""
        return float(self.negentropy.sum())


@frozen
class IndependentComponents:
    """Independent components in descending order of negentropy, with the course of the iteration."""

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


def fastica(white: Array, contrast: Contrast, order: Order, iterate: Iterate,
            random: np.random.Generator) -> IndependentComponents:
    """Return the independent components of white points (n x p), from random directions (Hyvärinen and Oja)."""
    size = white.shape[1]
    start = symmetric_decorrelation(random.standard_normal((size, size))) if size else np.zeros((0, 0))
    runs = (_symmetric_runs if order == "symmetric" else _deflation_runs)(white, contrast, iterate, start)
    directions = np.vstack([start[:0], *(run.state.directions for run in runs)])
    negentropy = with_negentropy(white, directions, contrast).negentropy
    best = np.argsort(-negentropy, kind="stable")
    trace = np.concatenate([np.zeros(0), *(run.trace for run in runs)])
    return IndependentComponents(directions[best], negentropy[best], trace,
                                 {"iterations": len(trace), "converged": all(run.converged for run in runs)})


def _symmetric_runs(white: Array, contrast: Contrast, iterate: Iterate, start: Array) -> list[Iterated[Unmixing]]:
    """Iterate all directions at once."""
    def step(state: Unmixing) -> Unmixing:
        stepped = fixed_point_step(white, state.directions, contrast)
        return with_negentropy(white, symmetric_decorrelation(stepped), contrast)

    if not len(start):
        return []
    return [iterate(step, with_negentropy(white, start, contrast), rotation_change, patience=PATIENCE)]


def _deflation_runs(white: Array, contrast: Contrast, iterate: Iterate, start: Array) -> list[Iterated[Unmixing]]:
    """Iterate one direction after another, each orthogonal to those before."""
    rows: list[Iterated[Unmixing]] = []
    for first in start:
        before = np.vstack([start[:0], *(run.state.directions for run in rows)])

        def step(state: Unmixing, before: Array = before) -> Unmixing:
            stepped = fixed_point_step(white, state.directions, contrast)
            return with_negentropy(white, deflate(stepped, before), contrast)

        begun = with_negentropy(white, deflate(first[None, :], before), contrast)
        rows.append(iterate(step, begun, rotation_change, patience=PATIENCE))
    return rows


def with_negentropy(white: Array, directions: Array, contrast: Contrast) -> Unmixing:
    """Return directions (r x p) with their negentropies, for white points (n x p)."""
    means = CONTRASTS[contrast](white @ directions.T)[0].mean(axis=0)
    return Unmixing(directions, (means - gaussian_mean(contrast)) ** 2)


@cache
def gaussian_mean(contrast: Contrast) -> float:
    """Return E G(v) of a standard Gaussian v, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    return float(CONTRASTS[contrast](nodes)[0] @ weights / np.sqrt(2 * np.pi))


def fixed_point_step(white: Array, directions: Array, contrast: Contrast) -> Array:
    """Return each direction (p x r) after one step of the fixed point on white points (n x r), not yet orthogonal."""
    _, first, second = CONTRASTS[contrast](white @ directions.T)
    return first.T @ white / len(white) - second.mean(axis=0)[:, None] * directions


def step_seconds(rows: int, count: int) -> float:
    """Predict the seconds of one step: the contrast of all points twice, and the small calls."""
    return rows * count * (CONTRAST * rates().bent + 8 * count * rates().product) + CALLS * rates().called


def symmetric_decorrelation(directions: Array) -> Array:
    """Return the orthonormal directions (p x r) nearest to directions (p x r), by their polar factor."""
    left, _, right = singular(directions)
    return left @ right


def deflate(direction: Array, before: Array) -> Array:
    """Return a direction (1 x r) made orthogonal to those `before` (q x r), of length one."""
    for _ in range(2):
        direction = direction - (direction @ before.T) @ before
    return direction / np.linalg.norm(direction)


def rotation_change(before: Unmixing, after: Unmixing) -> float:
    """Return the largest change of any entry of the directions, up to signs."""
    old, new = before.directions, after.directions
    signs = np.where(np.einsum("ij,ij->i", new, old) < 0, -1.0, 1.0)
    return float(np.abs(new - signs[:, None] * old).max(initial=0.0))
