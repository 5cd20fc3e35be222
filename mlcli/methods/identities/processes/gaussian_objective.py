"""The objectives of Gaussian processes at latent points, written out again; no Cholesky factors are used.

Of features Y (n x d) at points X, with K the covariance: -log p(Y | X) = d/2 log |K| + tr(K⁻¹ Y Yᵀ)/2 + n d/2 log 2π
(Lawrence, 2005). By inducing points Z, with Q = k(X, Z) k(Z, Z)⁻¹ k(Z, X) and noise σ² (Titsias, 2009; Titsias and
Lawrence, 2010):

    -log N(Y; 0, E Q + σ²) + d/2σ² (E tr k(X, X) - E tr Q) + KL(X ‖ N(0, 1)), the last for Gaussian clouds X.

Added are ‖X‖²/2 for a normal prior, and (log θ - log θ₀)²/2 for parameters θ that begin at θ₀, but the noise.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from math import pi
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, later, ratio, skipped
from mlcli.methods.identities.stationarity import SEED, Course, gradient_check, of_size_one, stationarity_check
from mlcli.stages.algebra.linalg import threads_for
from mlcli.stages.algebra.minimize import STEADY
from mlcli.stages.gaussian.covariances import Covariance
from mlcli.stages.gaussian.fitting import Problem, State

WORK = 10**8  # products of one evaluation that a quick check allows
NUGGET = 1e-8  # share of the mean diagonal that belongs to the covariance of inducing points
BLOCK = 1 << 20  # numbers of a block of clouds
Figures = Mapping[str, Any]


@frozen
class Density:
    """A log-density, with what it was computed from."""

    value: float
    solved: Array  # n x k, K⁻¹ Y
    condition: float  # a bound of K's condition number
    noise: float  # rounding of the value


@frozen
class Varying:
    """The columns that vary, less their means, and the rounding of that."""

    values: Array  # n x d, or fewer columns with the same products of rows
    columns: int  # d
    wrong: float

    @classmethod
    def of(cls, points: Array) -> "Varying":
        """Return the varying columns of points (n x d)."""
        varying = points[:, np.ptp(points, axis=0) > 0]
        values = varying - varying.mean(axis=0)
        wrong = EPS * float(np.abs(varying).max(initial=0.0)) * np.sqrt(len(points))
        return cls(values, varying.shape[1], wrong)

    @property
    def variance(self) -> float:
        """The mean square of all d columns."""
        return float(np.mean(self.values**2)) * self.values.shape[1] / self.columns

    @property
    def compact(self) -> "Varying":
        """Columns with equal products of rows, n of them at most."""
        if self.columns <= len(self.values):
            return self
        return Varying(np.linalg.qr(self.values.T).R.T, self.columns, self.wrong)


def figures_of(covariance: Covariance) -> dict[str, Any]:
    """Return the parameters of a covariance by name, in the units of the computation."""
    return {name: getattr(value, "value", value) for name, value in covariance.facts().items()}


def kernel(figures: Figures, left: Array, right: Array) -> Array:
    """Return the sum of the kernel's terms for all pairs of points (m x p and n x p)."""
    from scipy.spatial.distance import cdist

    matrix = np.full((len(left), len(right)), float(figures.get("bias_variance", 0.0)))
    if "rbf_variance" in figures:
        lengths = np.asarray(figures["rbf_lengths"])
        matrix += figures["rbf_variance"] * np.exp(-0.5 * cdist(left / lengths, right / lengths, "sqeuclidean"))
    if "linear_variance" in figures:
        matrix += figures["linear_variance"] * np.einsum("iq,jq->ij", left, right)
    return matrix


def log_density(figures: Figures, points: Array, varying: Varying) -> Density:
    """Return log p(Y | X) of columns at points (n x p), by elimination with pivots."""
    from scipy.linalg import lu_factor, lu_solve

    matrix, values = kernel(figures, points, points), varying.values
    matrix[np.diag_indices_from(matrix)] += figures["noise_variance"]
    condition = float(np.trace(matrix)) / figures["noise_variance"]
    if not np.isfinite(matrix).all():
        return Density(-np.inf, np.zeros_like(values), np.inf, np.inf)
    with threads_for(len(matrix)):
        factors, order = lu_factor(matrix, overwrite_a=True, check_finite=False)
        solved = lu_solve((factors, order), values, check_finite=False)
    logarithm, energy = float(np.log(np.abs(np.diag(factors))).sum()), float(np.sum(solved * values))
    cells = varying.columns * len(points)
    noise = EPS * (condition * energy + cells * (condition + np.log(condition)))
    return Density(-0.5 * (varying.columns * logarithm + energy + cells * np.log(2 * pi)), solved, condition,
                   noise + varying.wrong * float(np.abs(solved).sum()))


def log_bound(figures: Figures, points: Array, places: Array, varying: Varying) -> tuple[float, float]:
    """Return the bound by inducing points (m x p) and its rounding; points are n x p, or clouds (n x 2p).

    The columns of clouds are means, then logarithms of variances.
    """
    inner, size = kernel(figures, places, places), places.shape[1]
    inner[np.diag_indices_from(inner)] += NUGGET * np.trace(inner) / len(inner)
    clouds = points.shape[1] > size
    total, crossed, squared = (expectations if clouds else moments)(figures, points, places)
    values, vectors = np.linalg.eigh(inner)
    if not values[0] > 0:
        return -np.inf, np.inf
    root, beta = vectors / np.sqrt(values), 1 / figures["noise_variance"]
    white = root.T @ squared @ root if clouds else (crossed @ root).T @ (crossed @ root)
    shares, turn = np.linalg.eigh(white)
    shares = np.maximum(shares, 0.0)  # eigenvalues of Q
    gained = (crossed @ (root @ turn)).T @ varying.values
    energy = float(np.sum(varying.values**2))
    explained = float(np.sum(gained**2 / (1 / beta + shares)[:, None]))
    cells, lost = varying.columns * len(points), total - float(shares.sum())
    determinant = float(np.log1p(beta * shares).sum())
    value = -0.5 * (cells * np.log(2 * pi / beta) + varying.columns * (determinant + beta * lost)
                    + beta * (energy - explained))
    grown = float(np.trace(squared)) / values[0]  # what rounding of products and their roots is multiplied by
    rough = EPS * len(places) * beta * (varying.columns * (total + (grown if clouds else 10 * np.sqrt(grown * total)))
                                        + energy)
    rough += beta * varying.wrong * float(np.abs(varying.values).sum())
    if not clouds:
        return value, rough
    means, logs = points[:, :size], points[:, size:]
    return value - 0.5 * float(np.sum(means**2 + np.exp(logs) - logs - 1)), rough


def moments(figures: Figures, points: Array, places: Array) -> tuple[float, Array, Array]:
    """Return tr k(X, X), k(X, Z) (n x m), and k(Z, X) k(X, Z), for points (n x p) and inducing points (m x p)."""
    crossed = kernel(figures, points, places)
    same = figures.get("rbf_variance", 0.0) + figures.get("bias_variance", 0.0)
    total = len(points) * same + figures.get("linear_variance", 0.0) * float(np.sum(points**2))
    return total, crossed, crossed.T @ crossed


def expectations(figures: Figures, clouds: Array, places: Array) -> tuple[float, Array, Array]:
    """Return the expectations of `moments` over clouds (n x 2p), axis by axis, for inducing points (m x p)."""
    variance, squares, size = figures["rbf_variance"], np.asarray(figures["rbf_lengths"]) ** 2, places.shape[1]
    means, spreads = clouds[:, :size], np.exp(clouds[:, size:])
    crossed = np.zeros((len(clouds), len(places)))
    for axis in range(size):
        wide = squares[axis] + spreads[:, axis, None]
        crossed -= 0.5 * (np.log(wide / squares[axis]) + (means[:, axis, None] - places[:, axis]) ** 2 / wide)
    squared = np.zeros((len(places), len(places)))
    step = max(1, BLOCK // len(places) ** 2)
    for start in range(0, len(clouds), step):
        part = slice(start, start + step)
        products = np.zeros((len(means[part]), *squared.shape))
        for axis in range(size):
            place, wide = places[:, axis], squares[axis] + 2 * spreads[part, axis, None, None]
            middle = (place[:, None] + place) / 2 - means[part, axis, None, None]
            products -= 0.5 * np.log(wide / squares[axis]) + middle**2 / wide
            products -= (place[:, None] - place) ** 2 / (4 * squares[axis])
        squared += np.exp(products).sum(axis=0)
    return len(clouds) * variance, variance * np.exp(crossed), variance**2 * squared


def parameter_energy(figures: Figures, variance: float, axes: int) -> float:
    """Return Σ (log θ - log θ₀)²/2 of a kernel's parameters that began at the variance of what it explains."""
    names = ("rbf_variance", "linear_variance", "bias_variance")
    off = [np.log(figures[name] / variance) for name in names if name in figures]
    lengths = np.asarray(figures.get("rbf_lengths", []))
    start = np.sqrt(max(axes / 2, 1.0)) if len(lengths) > 1 else 1.0
    return 0.5 * float(np.sum(np.square(off)) + np.sum(np.log(lengths / start) ** 2))


@frozen
class Claim:
    """An objective of a fit: as the fit has it, computed again, and what is stated of it."""

    problem: Problem
    state: State
    again: Callable[[State], tuple[float, float]]  # with its rounding
    stated: float | None  # at the end of the iterations
    converged: bool
    tolerance: float  # nats for each number of the data
    layers: tuple[Callable[[Array], Array], ...] = (lambda direction: direction,)  # of moves of points
    work: float = 0.0  # products of an evaluation
    placed: Array | None = None  # rounding of latent points where a map gives them

    def checks(self, full: bool) -> list[Check]:
        """Check the stated objective, the fit's gradient by differences, and that it is small where it is claimed.

        Convergence says that five iterations bring no more than the tolerance for each number of the data, so that one
        brings a fifth, and a step along the gradient, by the largest curvature seen, should bring no more.
        """
        here, noise = self.again(self.state)
        quick = self.work <= WORK or full
        gradient = self.problem.vector(self.problem(self.state)[1]) if quick or self.placed is not None else np.zeros(0)
        if self.placed is not None:
            noise += float(self.placed @ np.abs(gradient[:len(self.placed)]))
        found = (skipped("objective", "the objective of the iterations is not at hand") if self.stated is None else
                 ratio("objective", abs(here - self.stated), noise,
                       "the objective at the latent points and parameters, with its priors"))
        if not quick:
            return [found, later("stationarity")]
        values = self.problem.vector(self.state)
        directions = self.directions(gradient, 8 if full else 1)
        course = Course(lambda some: self.again(self.problem.at(self.state, some))[0], values, here, directions, noise,
                        self.tolerance * self.problem.cells / STEADY + noise)
        lengths = np.array([max(float(some @ some), 1e-300) for some in directions])
        return [found, gradient_check(course, np.array([gradient @ some for some in directions])),
                stationarity_check(course, float(np.max(course.curvatures / lengths)) * lengths, self.converged)]

    def directions(self, gradient: Array, count: int) -> list[Array]:
        """Return the steepest directions of points by layer, inducing points, parameters, and `count` random ones."""
        points, places = self.state.latent.size, self.state.places.size
        ends = np.cumsum([0, points, places, len(gradient) - points - places])
        blocks = [(np.arange(len(gradient)) >= a) & (np.arange(len(gradient)) < b)
                  for a, b in pairwise(ends) if a < b]
        normal = np.random.default_rng(SEED).standard_normal((count, len(gradient)))
        steep = [self.free(gradient * blocks[0], layer) for layer in self.layers]
        steep += [self.free(gradient * block, None) for block in blocks[1:]]
        return [of_size_one(some) for some in [*steep, *(self.free(one, None) for one in normal)]]

    def free(self, direction: Array, layer: Callable[[Array], Array] | None) -> Array:
        """Return a direction of all parameters without what the fit holds; points move by one layer, or by all."""
        points, places, logs = np.split(direction, np.cumsum([self.state.latent.size, self.state.places.size]))
        moved = sum((one(points) for one in (self.layers if layer is None else (layer,))), np.zeros_like(points))
        return np.concatenate([moved, places, self.problem.constrain(logs, 0.0)])
