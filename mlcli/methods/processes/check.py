"""The certificate of Gaussian processes: objectives at latent points, written out again without Cholesky factors.

Of features Y (n x d) at points X, with K the covariance: -log p(Y | X) = d/2 log |K| + tr(K⁻¹ Y Yᵀ)/2 + n d/2 log 2π
(Lawrence, 2005). By inducing points Z, with Q = k(X, Z) k(Z, Z)⁻¹ k(Z, X) and noise σ² (Titsias, 2009; Titsias and
Lawrence, 2010):

    -log N(Y; 0, E Q + σ²) + d/2σ² (E tr k(X, X) - E tr Q) + KL(X ‖ N(0, 1)), the last for Gaussian clouds X.

Added are ‖X‖²/2 for a normal prior, and (log θ - log θ₀)²/2 for parameters θ that begin at θ₀, but the noise.

It uses no factors: solutions are inserted into their equations, and the determinant comes from elimination.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import pi
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, count, later, ratio, skipped
from mlcli.base.values.inputs import Features
from mlcli.certify.subject import max_abs
from mlcli.core.check.stationarity import SEED, Course, gradient_check, of_size_one, stationarity_check
from mlcli.core.linalg import threads_for
from mlcli.core.minimize import STEADY, Minimize
from mlcli.core.model import Model
from mlcli.core.similarities.projector import Decoder, require_projector
from mlcli.methods.processes.dynamics import Motion, SequenceProblem
from mlcli.methods.processes.fitting import FittedParameters, Objective, Problem
from mlcli.methods.processes.latents import HiddenUnits
from mlcli.methods.processes.likelihoods import Exact, Observations
from mlcli.methods.processes.new_points import ProcessMeans
from mlcli.methods.processes.process import CovarianceFunction, GaussianProcess
from mlcli.methods.processes.state_space_check import ascent_check
from mlcli.methods.processes.views import SharedProblem

WORK = 10**8  # products of one evaluation that a quick check allows
NUGGET = 1e-8  # share of the mean diagonal that belongs to the covariance of inducing points
BLOCK = 1 << 20  # numbers of a block of clouds
Figures = Mapping[str, Any]


@frozen
class LogDensity:
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
        wrong = EPS * max_abs(varying) * np.sqrt(len(points))
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


def figures_of(covariance: CovarianceFunction) -> dict[str, Any]:
    """Return the parameters of a covariance by name, in the units of the computation."""
    return {name: getattr(value, "value", value) for name, value in covariance.facts().items()}


def one_process_check(decoder: Decoder | None, posterior: GaussianProcess) -> Check:
    """Check that rows are decoded by the process that places new ones."""
    what = "parts of the decoder that are not those of the process of rows"
    parts = "places", "weights", "known", "mean"
    if not isinstance(decoder, ProcessMeans):
        return count("one process", len(parts), what)
    own = decoder.posterior
    wrong = sum(not np.array_equal(getattr(own, part), getattr(posterior, part)) for part in parts)
    return count("one process", wrong + int(figures_of(own.covariance) != figures_of(posterior.covariance)), what)


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


def log_density(figures: Figures, points: Array, varying: Varying) -> LogDensity:
    """Return log p(Y | X) of columns at points (n x p), by elimination with pivots."""
    from scipy.linalg.lapack import dgetrf, dgetrs

    matrix, values = kernel(figures, points, points), varying.values
    matrix[np.diag_indices_from(matrix)] += figures["noise_variance"]
    condition = float(np.trace(matrix)) / figures["noise_variance"]
    if not np.isfinite(matrix).all():
        return LogDensity(-np.inf, np.zeros_like(values), np.inf, np.inf)
    with threads_for(len(matrix)):
        factors, order, pivots_of_zero = dgetrf(matrix, overwrite_a=True)
        if pivots_of_zero:  # by a damaged model
            return LogDensity(-np.inf, np.zeros_like(values), np.inf, np.inf)
        solved = dgetrs(factors, order, values)[0]
    logarithm, energy = float(np.log(np.abs(np.diag(factors))).sum()), float(np.sum(solved * values))
    cells = varying.columns * len(points)
    noise = EPS * (condition * energy + cells * (condition + np.log(condition)))
    return LogDensity(-0.5 * (varying.columns * logarithm + energy + cells * np.log(2 * pi)), solved, condition,
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
class EndOfIteration:
    """An objective of a fit: as the fit has it, computed again, and what is stated of it."""

    problem: Objective
    state: FittedParameters
    again: Callable[[FittedParameters], tuple[float, float]]  # with its rounding
    stated: float | None  # at the end of the iterations
    converged: bool
    tolerance: float  # nats for each number of the data
    layers: tuple[Callable[[Array], Array], ...] = (lambda direction: direction,)  # of moves of points
    work: float = 0.0  # products of an evaluation
    placed: Array | None = None  # rounding of latent points where a map gives them

    def checks(self, full: bool) -> list[Check]:
        """Check the stated objective, the fit's gradient by differences, and that it is small at convergence.

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


def process_checks(posterior: GaussianProcess, points: Array, latent: Array, stated: float | None) -> list[Check]:
    """Check places, decoder and likelihood of features (n x d) at latent points (n x p), without inducing points.

    `stated` is the log-likelihood in the unit of the features; None where the run states none.
    """
    if not len(posterior.places):
        return [skipped("process", "rows are all equal")]
    alike = posterior.places.shape == latent.shape
    places = count("places", int(np.sum(posterior.places != latent)) if alike else len(latent),
                   "latent points that are not the embedding's")
    if places.verdict == "fail":
        return [places]
    figures, there = figures_of(posterior.covariance), np.ptp(points, axis=0) > 0
    varying = Varying.of(points)
    found = log_density(figures, latent, varying)
    gaps = (posterior.means(latent) - points)[:, there] + figures["noise_variance"] * found.solved
    size = float(np.abs(varying.values).max())
    return [places, ratio("decoder", float(np.abs(gaps).max()), EPS * found.condition * size + varying.wrong,
                          "the decoder at the latent points leaves the noise's share of K⁻¹ Y"),
            ratio("log_likelihood", np.inf if stated is None else abs(found.value - stated), found.noise,
                  "log |K| and tr K⁻¹ Y Yᵀ from elimination")]


def bound_checks(posterior: GaussianProcess, points: Array, latent: Array, stated: float | None) -> list[Check]:
    """Check the bound on the likelihood of features (n x d) by inducing points; `latent` are points or clouds.

    Clouds are means, then logarithms of variances (n x 2p).
    """
    if not len(posterior.places):
        return [skipped("process", "rows are all equal")]
    value, noise = log_bound(figures_of(posterior.covariance), latent, posterior.places, Varying.of(points).compact)
    return [ratio("log_likelihood", np.inf if stated is None else abs(value - stated), noise,
                  "the bound by inducing points, from eigenvalues of Q")]


def relevance_check(posterior: GaussianProcess, latent: Array, stated: Array) -> Check:
    """Check that the spectrum (p) holds variances of slopes along axes, times those of latent points (n x p)."""
    figures = figures_of(posterior.covariance)
    lengths = np.broadcast_to(np.asarray(figures.get("rbf_lengths", [1.0])), latent.shape[1])
    slopes = figures.get("rbf_variance", 0.0) / lengths**2 + figures.get("linear_variance", 0.0)
    spread = np.mean((latent - latent.mean(axis=0)) ** 2, axis=0)
    gap = np.abs(slopes * spread - stated[: len(spread)])
    size = float(np.max(slopes * (spread + latent.mean(axis=0) ** 2), initial=0.0))
    return ratio("relevances", float(gap.max(initial=0.0)), 10 * EPS * max(len(latent), 10) * size,
                 "variances of the axes, times those of slopes along them")


def sequence_checks(similarity: Any, latent: Array, fit: Mapping[str, Any]) -> Iterator[Check]:
    """Check latent points (n x p) and their dynamics; `similarity` is a `LatentSequence`."""
    posterior, motion = similarity.posterior, similarity.motion
    if not len(posterior.places):
        yield skipped("steps", "rows are all equal")
        return
    order, before = motion.order, points_before(latent, motion.order)
    if before.shape != motion.before.shape or np.any(before != motion.before):
        yield count("steps", 1, "steps that are not the embedding's")
        return
    figures, after = figures_of(motion.covariance), latent[order:]
    before = before.reshape(len(after), -1)
    matrix, noise = kernel(figures, before, before), figures["noise_variance"]
    matrix[np.diag_indices_from(matrix)] += noise
    left = max(np.abs(matrix @ motion.weights - after).max() / np.abs(after).max(),
               np.abs(matrix @ motion.known - np.eye(len(after))).max())
    yield ratio("steps", float(left), EPS * float(np.trace(matrix)) / noise,
                "K W are the later points, and K times its inverse is 1")
    (value, scale), stated = sequence_density(figures, latent, order), fit["dynamics_log_density"]
    yield ratio("density", np.inf if stated is None else abs(value - stated), scale,
                "log |K| and tr K⁻¹ X Xᵀ of the steps, from elimination")
    wrong = sum(fit[f"dynamics_{name}"] != value for name, value in figures.items())
    yield count("parameters of steps", wrong, "parameters in the model that are not those stated")


def points_before(points: Array, order: int) -> Array:
    """Return the `order` points before each point of a sequence (n x p) but the first ones (n - order x order x p)."""
    last = len(points) - order
    return np.stack([points[lag : lag + last] for lag in range(order)], axis=1)


def sequence_density(figures: Mapping[str, Any], latent: Array, order: int) -> tuple[float, float]:
    """Return the log-density of a sequence of latent points (n x p) with its rounding; the first points are normal.

    Source: Wang, Fleet and Hertzmann, 2008.
    """
    after = latent[order:]
    before = points_before(latent, order).reshape(len(after), -1)
    found = log_density(figures, before, Varying(after, latent.shape[1], 0.0))
    first = latent[:order]
    return (found.value - 0.5 * float(np.sum(first**2)) - 0.5 * first.size * np.log(2 * np.pi),
            found.noise + EPS * float(np.sum(first**2)))


def forecast_check(similarity: Any, model: Model) -> Iterator[Check]:
    """Check that each point of the forecast follows from those before it, and is decoded to its row."""
    ahead, motion, posterior = model.forecast, similarity.motion, similarity.posterior
    if ahead is None or not len(posterior.places):
        return
    order, steps = motion.order, motion.posterior
    points = np.vstack([model.embedding[len(model.embedding) - order :], ahead.points])
    before = points_before(points, order).reshape(len(ahead.points), -1)
    gaps = [forecast_error(steps, before, ahead.points), forecast_error(posterior, ahead.points, ahead.means)]
    yield ratio("forecast", max(gaps), EPS * len(posterior.places),
                "every point is the mean step from those before, and leads to its row")


def forecast_error(process: GaussianProcess, places: Array, stated: Array) -> float:
    """Return the largest error of stated means (m x d) at places (m x p), relative to the terms of their sums."""
    values = kernel(figures_of(process.covariance), places, process.places)
    sizes = np.abs(values) @ np.abs(process.weights) + np.abs(process.mean)
    return float(np.max(np.abs(process.mean + values @ process.weights - stated) / np.where(sizes > 0, sizes, 1.0)))


def stated_objective(data: Features, model: Model, problem: Objective) -> float | None:
    """Return the last objective of the iterations, in the units of the computation; None where it is not at hand."""
    trace = model.trace
    return None if trace is None or not len(trace) else -float(trace[-1]) - data.unit.logarithm(problem.cells)


def latent_end(data: Features, model: Model, problem: Problem, posterior: GaussianProcess, latent: Array,
               tolerance: float) -> EndOfIteration:
    """Return the end of a GP-LVM's iteration at latent points (n x p), or clouds (n x 2p: means, log variances).

    With a back constraint points move as the layers of its map allow.
    """
    varying, axes = Varying.of(data.values).compact, model.embedding.shape[1]
    exact = isinstance(problem.evidence, Exact)

    def again(state: FittedParameters) -> tuple[float, float]:
        points, figures = state.latent.reshape(latent.shape), figures_of(posterior.covariance.at(state.logs))
        if exact:
            found = log_density(figures, points, varying)
            value, noise = found.value, found.noise
        else:
            value, noise = log_bound(figures, points, state.places, varying)
        prior = 0.5 * float(np.sum(points**2)) if problem.prior else 0.0
        return parameter_energy(figures, varying.variance, axes) + prior - value, noise

    state = FittedParameters(latent.ravel(), latent[:0, :axes] if exact else posterior.places,
                             posterior.covariance.logs)
    moves, placed = layers(model, data.values)
    return EndOfIteration(problem=problem, state=state, again=again, stated=stated_objective(data, model, problem),
                          converged=bool(model.fit["converged"]), tolerance=tolerance, layers=moves, placed=placed,
                          work=float(len(latent)) * max(len(state.places), len(latent) if exact else 1) ** 2)


def layers(model: Model, points: Array) -> tuple[tuple[Callable[[Array], Array], ...], Array | None]:
    """Return maps of directions of latent points (n p) to those that layers of a back constraint give, and rounding.

    Of a map with layers, each takes a slope to the change of points where its weights follow their own slope: the
    output layer, and hidden units, of features (n x d) of mean zero and total variance one. Free points stay. The
    rounding is that of the map's points (n p), None for free ones.
    """
    projector: Any = model.projector
    values = getattr(projector.similarity, "map", None)
    if values is None:
        return (lambda direction: direction,), None
    rows, axes = np.asarray(values(points)), projector.axes
    rounding = EPS * (np.abs(rows) @ np.abs(axes)).ravel()

    def output(direction: Array) -> Array:
        return np.asarray(rows @ (rows.T @ direction.reshape(len(rows), -1))).ravel()

    if not isinstance(values, HiddenUnits):
        return (output,), rounding
    features, slopes = points - values.mean, 1 - rows[:, :-1] ** 2
    features = np.column_stack([features / np.sqrt(np.sum(features**2) / len(features)), np.ones(len(features))])

    def hidden(direction: Array) -> Array:
        weights = features.T @ ((direction.reshape(len(rows), -1) @ axes[:-1].T) * slopes)
        return np.asarray(((features @ weights) * slopes) @ axes[:-1]).ravel()

    return (output, hidden), rounding


def sequence_end(data: Features, model: Model, problem: SequenceProblem, processes: tuple[GaussianProcess, Motion],
                 tolerance: float) -> EndOfIteration:
    """Return the end of the iteration of a GPDM, whose points have mean zero and mean square one over all axes."""
    (posterior, motion), varying = processes, Varying.of(data.values).compact
    axes, density = model.embedding.shape[1], problem.latents.density
    size = model.embedding.size

    def again(state: FittedParameters) -> tuple[float, float]:
        points = state.latent[:size].reshape(-1, axes)
        points = points - points.mean(axis=0)
        points = points / np.sqrt(np.mean(points**2))
        figures, moving = figures_of(posterior.covariance.at(state.logs)), figures_of(
            motion.covariance.at(state.latent[size:]))
        found, (steps, noise) = log_density(figures, points, varying), sequence_density(moving, points, density.order)
        priors = parameter_energy(figures, varying.variance, axes) + parameter_energy(moving, 1.0, axes)
        return priors - found.value - density.weight * steps, found.noise + density.weight * noise

    state = FittedParameters(np.concatenate([model.embedding.ravel(), motion.covariance.logs]), model.embedding[:0],
                             posterior.covariance.logs)
    return EndOfIteration(problem=problem, state=state, again=again, stated=stated_objective(data, model, problem),
                          converged=bool(model.fit["converged"]), tolerance=tolerance,
                          work=2.0 * len(model.embedding) ** 3)


def shared_checks(views: Sequence[Features], model: Model, inducing: int, minimize: Minimize, threshold: float,
                  full: bool) -> list[Check]:
    """Check a model of views in the units of the computation, each n x d."""
    projector: Any = require_projector(model.projector)
    similarity = projector.similarity
    processes = (similarity.posterior, *similarity.others)
    if len(processes) != len(views) or any(process.places.shape[1] != model.embedding.shape[1]
                                           for process in processes):
        return [count("views", 1, "processes that are not those of the views")]
    known = list(zip(views, processes, strict=True))
    active = [(view, posterior) for view, posterior in known if len(posterior.places)]
    wrong = sum(bool(np.ptp(view.values, axis=0).any()) != bool(len(posterior.places)) for view, posterior in known)
    checks = [count("views", wrong, "views that vary without a process, or have one without varying"),
              one_process_check(projector.decoder, similarity.posterior)]
    if wrong or not active:
        return checks
    checks += share_checks([posterior for _, posterior in known], model, threshold)
    if model.spreads is None:
        return [*checks, skipped("log_likelihood", "the variances of the clouds are not at hand"),
                ascent_check(model.trace, np.hstack([view.values for view in views]))]
    clouds = np.hstack([model.embedding, np.log(np.diagonal(model.spreads, axis1=1, axis2=2))])
    end = shared_end(active, model, clouds, inducing, minimize)
    stated = model.fit.get("log_likelihood")
    value, noise = joint_bound(active, clouds)
    shift = sum(view.unit.logarithm(Observations.of(view.values).cells) for view, _ in active)
    return [*checks, ratio("log_likelihood", np.inf if stated is None else abs(value - stated - shift), noise,
                           "the sum of the views' bounds, from eigenvalues of Q, with one distance from the prior"),
            *end.checks(full), ascent_check(model.trace, np.hstack([view.values for view in views]))]


def joint_bound(active: Sequence[tuple[Features, GaussianProcess]], clouds: Array, logs: Sequence[Array] = (),
                places: Sequence[Array] = ()) -> tuple[float, float]:
    """Return the bound of all views and its rounding at clouds (n x 2p); parameters may be others than the model's."""
    size = clouds.shape[1] // 2
    means, spreads = clouds[:, :size], clouds[:, size:]
    distance = 0.5 * float(np.sum(means**2 + np.exp(spreads) - spreads - 1))
    found = [log_bound(figures_of(posterior.covariance.at(logs[i]) if logs else posterior.covariance), clouds,
                       places[i] if places else posterior.places, Varying.of(view.values).compact)
             for i, (view, posterior) in enumerate(active)]
    rounding = sum(noise for _, noise in found) + EPS * len(active) * abs(distance)
    return sum(value for value, _ in found) + (len(active) - 1) * distance, rounding


def shared_end(active: Sequence[tuple[Features, GaussianProcess]], model: Model, clouds: Array, inducing: int,
               minimize: Minimize) -> EndOfIteration:
    """Return the end of the iteration of the fit at clouds (n x 2p)."""
    axes = model.embedding.shape[1]
    problem: Any = SharedProblem.of([Observations.of(view.values) for view, _ in active], inducing, axes)
    if model.fit["iterations"] < minimize.limit:  # otherwise the limit may have come before all were free
        problem = problem.final
    variances = [Varying.of(view.values).variance for view, _ in active]

    def again(state: FittedParameters) -> tuple[float, float]:
        places, logs = problem.parts(state)
        value, noise = joint_bound(active, state.latent.reshape(clouds.shape), logs, places)
        energies = [parameter_energy(figures_of(posterior.covariance.at(own)), variance, axes)
                    for (_, posterior), own, variance in zip(active, logs, variances, strict=True)]
        return sum(energies) - value, noise

    state = FittedParameters(clouds.ravel(), np.vstack([posterior.places for _, posterior in active]),
                             np.concatenate([posterior.covariance.logs for _, posterior in active]))
    shift = sum(view.unit.logarithm(Observations.of(view.values).cells) for view, _ in active)
    trace = model.trace
    return EndOfIteration(problem=problem, state=state, again=again,
                          stated=None if trace is None or not len(trace) else -float(trace[-1]) - shift,
                          converged=bool(model.fit["converged"]), tolerance=minimize.tolerance,
                          work=float(len(clouds)) * sum(len(posterior.places) ** 2 for _, posterior in active))


def share_checks(posteriors: Sequence[GaussianProcess], model: Model, threshold: float) -> list[Check]:
    """Check the shares of relevances of every view, their means in the spectrum, and the axes in use."""
    spread = np.mean((model.embedding - model.embedding.mean(axis=0)) ** 2, axis=0)
    size = np.max(spread + model.embedding.mean(axis=0) ** 2)
    rows, lost = [], 0.0
    for posterior in posteriors:
        figures = figures_of(posterior.covariance)
        own = spread / np.asarray(figures["rbf_lengths"]) ** 2 if "rbf_lengths" in figures else 0 * spread
        rows.append(own / (own.sum() or 1.0))
        if "rbf_lengths" in figures:
            lost = max(lost, float(size * np.max(1 / np.asarray(figures["rbf_lengths"]) ** 2) / (own.sum() or 1.0)))
    shares, given = np.array(rows), model.fit.get("relevances")
    if not is_table(given, shares.shape):
        return [count("relevances", 1, "tables of shares that are absent or of another shape")]
    stated = np.array(given, dtype=np.float64)
    rounding = 10 * EPS * max(len(spread), len(model.embedding), 10) * max(lost, 1.0)
    gap = max(float(np.abs(shares - stated).max()), float(np.abs(
        shares.mean(axis=0) - model.ranks.solved[:len(spread)]).max()))
    used = [[axis + 1 for axis in range(len(spread)) if own[axis] > 0 and own[axis] >= threshold * own.max()]
            for own in stated]
    shared = sorted(set.intersection(*map(set, used)))
    alone = [[axis for axis in own if sum(axis in other for other in used) == 1] for own in used]
    wrong = int(shared != model.fit.get("shared_axes")) + int(alone != model.fit.get("private_axes"))
    return [ratio("relevances", gap, rounding, "each axis's share of the slopes' variances times those of the axes"),
            count("axes", wrong, "lists of shared and private axes that do not follow from the shares")]


def is_table(value: Any, shape: tuple[int, ...]) -> bool:
    """Whether a value is a list of lists of numbers, of a shape."""
    return (isinstance(value, list) and len(value) == shape[0] and all(
        isinstance(row, list) and len(row) == shape[1] and all(isinstance(one, int | float) for one in row)
        for row in value))
