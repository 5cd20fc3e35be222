"""Hidden sequences whose steps and rows are Gaussian processes of the states: the bound, its fit, and new sequences.

    x₁ ~ N(0, 1),   xₜ₊₁ = f(xₜ) + N(0, s²),   yₜ = mean + g(xₜ) + N(0, r²),

with q(x) a normal sequence with the Markov property, and inducing points of f and of g. Given q(x), the best values at
these have a closed form. With the bound of a process of d columns (`likelihoods`), the evidence is at least

    bound of g for the rows + bound of f for the steps + E log N(x₁; 0, 1) + H(q),

where the rows of f are the next states, so that Ψ₁ᵀ Y is Σ E k(Z, xₜ) xₜ₊₁ᵀ = Σ E k(Z, xₜ) E xₜ₊₁ᵀ + E k'(Z, xₜ) Cₜᵀ by
Stein's lemma, with C = cov(xₜ₊₁, xₜ). Source: Titsias and Lawrence, "Bayesian Gaussian process latent variable model",
2010; Frigola, Chen and Rasmussen, "Variational Gaussian process state-space models", 2014; Eleftheriadis, Nicholson,
Deisenroth and Hensman, "Identification of Gaussian process state space models", 2017.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import log, pi
from typing import Self

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import computed
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.core.iterate import Iterated
from mlcli.core.linalg import threads_for
from mlcli.core.minimize import Minimize, Point
from mlcli.methods.processes.dynamics import Motion
from mlcli.methods.processes.expectations import (
    GaussianPoints,
    KernelGradient,
    KernelMoments,
    kernel_gradient,
    kernel_moments,
)
from mlcli.methods.processes.fitting import FLOOR, FittedParameters, FittedProcess, Objective
from mlcli.methods.processes.kalman import Sequence as Rows
from mlcli.methods.processes.likelihoods import (
    Explained,
    Observations,
    Statistics,
    bound,
    farthest_points,
    jitter_of,
    posterior_of,
)
from mlcli.methods.processes.markov import Markov, MarkovParameters, MomentObjective, States, ascend
from mlcli.methods.processes.new_points import LatentSequence, extrapolate, place
from mlcli.methods.processes.process import CovarianceFunction, GaussianProcess, Linear, Name, Rbf, start_covariance

BLUR = 0.1  # variance of states before their first step


@frozen
class ByMoments:
    """Derivatives of a bound by its statistics: Ψ₁ᵀ Y (m x d), Ψ₂ (m x m), ψ₀ and tr Y Yᵀ."""

    products: Array
    squared: Array
    total: float
    energy: float

    @classmethod
    def of_posterior(cls, process: GaussianProcess) -> "ByMoments":
        """Return those of the expected log-density of columns that vary, given the posterior of their process."""
        beta, weights = 1 / process.covariance.whole_noise, process.weights
        columns = int(process.varying.sum())
        return cls(beta * weights, squared=-0.5 * beta * (weights @ weights.T - columns * process.known),
                   total=-0.5 * beta * columns, energy=-0.5 * beta)


@frozen
class StepMoments:
    """Expectations of the steps' kernel over states: those of the states but the last, and products with the next."""

    kernel: KernelMoments
    products: Array  # Σ E k(Z, xₜ) xₜ₊₁ᵀ, m x p
    energy: float  # Σ E ‖xₜ₊₁‖²

    @classmethod
    def of(cls, covariance: CovarianceFunction, states: States, places: Array) -> "StepMoments":
        """Return the expectations for places (m x p)."""
        known, after = kernel_moments(covariance, states.take(slice(-1)), places), states.means[1:]
        products = known.crossed.T @ after + np.tensordot(known.slopes, states.following, ((0, 2), (0, 2)))
        return cls(known, products, float(np.sum(after**2) + np.einsum("tpp->", states.covariances[1:])))

    def gradient(self, covariance: CovarianceFunction, states: States, places: Array, by: ByMoments,
                 ) -> tuple[States, KernelGradient]:
        """Return the derivatives by the states, and by places (m x p) and parameters."""
        after, pulled = states.means[1:], by.products
        weights = KernelMoments(by.total, crossed=after @ pulled.T,
                                slopes=pulled @ states.following, squared=by.squared)
        pulls = kernel_gradient(covariance, states.take(slice(-1)), places, weights)
        means, covariances = np.zeros_like(states.means), np.zeros_like(states.covariances)
        means[:-1], covariances[:-1] = pulls.points.means, pulls.points.covariances
        means[1:] += self.kernel.crossed @ pulled + 2 * by.energy * after
        covariances[1:] += by.energy * np.eye(states.means.shape[1])
        return States(means, covariances, pulled.T @ self.kernel.slopes), pulls


def start_density(states: States) -> tuple[float, States]:
    """Return E log N(x₁; 0, 1), with its derivatives by the states."""
    first, size = states.means[0], states.means.shape[1]
    means, covariances = np.zeros_like(states.means), np.zeros_like(states.covariances)
    means[0], covariances[0] = -first, -0.5 * np.eye(size)
    value = -0.5 * (float(first @ first) + float(np.trace(states.covariances[0])) + size * log(2 * pi))
    return value, States(means, covariances, np.zeros_like(states.following))


def add_states(one: States, other: GaussianPoints) -> States:
    """Return the sum of derivatives by states, of which the other may have none by covariances of neighbors."""
    following = one.following + other.following if isinstance(other, States) else one.following
    return States(one.means + other.means, one.covariances + other.covariances, following)


@frozen
class ProcessPart:
    """A process within the bound: its covariance, and its inducing points."""

    covariance: CovarianceFunction
    places: Array  # m x p

    def bound(self, seen: Explained, known: KernelMoments) -> tuple[float, ByMoments, Array, Array] | None:
        """Return the bound, with its derivatives by statistics, by places (m x p) and by log parameters through the
        inducing points' covariance and the noise alone; None where that covariance is singular.
        """
        parts = self.covariance.parts(self.places, self.places)
        found = bound(seen, self.covariance, np.sum(parts, axis=0), self.statistics(known))
        if found is None:
            return None
        logs, places = self.covariance.pull_back(found.inducing, parts, left=self.places, right=self.places)
        by = ByMoments(found.by_products * found.weights, squared=found.squared, total=found.total,
                       energy=-0.5 / self.covariance.whole_noise)
        return found.value, by, 2 * places, np.append(logs, self.covariance.noise * found.noise)

    def statistics(self, known: KernelMoments) -> Statistics:
        """Return the statistics of the bound."""
        return Statistics(known.total, known.crossed, known.squared)

    def rotate(self, turn: Array) -> Self:
        """Return the process of states times a (p, p) rotation."""
        return replace(self, covariance=self.covariance.rotate(turn), places=self.places @ turn)


def rank_of(covariance: CovarianceFunction, axes: int) -> int | None:
    """Return how many inducing points make the bound exact; None where none do."""
    if any(isinstance(term, Rbf) for term in covariance.terms):
        return None
    return sum(axes if isinstance(term, Linear) else 1 for term in covariance.terms)


@frozen
class StateSpaceProblem(Objective):
    """Minus the bound, less the log-priors of parameters.

    A state has the parameters of the sequence q, the inducing points of g above those of f, and their log parameters
    after each other.
    """

    data: Observations
    axes: int
    inducing: int
    rows: CovarianceFunction  # of g at the start
    steps: CovarianceFunction  # of f at the start

    @classmethod
    def of(cls, data: Observations, axes: int, inducing: int, kernels: tuple[Sequence[Name], Sequence[Name]],
           ) -> "StateSpaceProblem":
        """Return the problem for the terms of the kernels of rows and steps; states have variance one at the start."""
        return cls(data, axes=axes, inducing=inducing,
                   rows=start_covariance(kernels[0], data.variance, FLOOR, axes),
                   steps=start_covariance(kernels[1], 1.0, FLOOR, axes))

    @property
    def cells(self) -> int:
        """The number of values that the likelihood covers."""
        return self.data.cells

    @property
    def parameters(self) -> MarkovParameters:
        """The parameters of the sequence."""
        return MarkovParameters(self.axes)

    def count(self, covariance: CovarianceFunction) -> int:
        """Return the number of inducing points of a process: no more than it has use for."""
        rank, most = rank_of(covariance, self.axes), min(self.inducing, len(self.data.values))
        return most if rank is None else min(rank, most)

    def constrain(self, logs: Array, like: Array | float) -> Array:
        """Return log parameters (q), with the mean of `like` (q, or one number) over those with a fixed product.

        These are the parameters of g that only set the scale of the states.
        """
        fixed = np.append(self.rows.scales, np.zeros(len(self.steps.logs), dtype=bool))
        return logs + fixed * np.mean(like - logs, where=fixed) if fixed.any() else logs

    def parts(self, state: FittedParameters) -> tuple[ProcessPart, ProcessPart]:
        """Return the processes of rows and steps."""
        count, size = self.count(self.rows), len(self.rows.logs)
        return (ProcessPart(self.rows.at(state.logs[:size]), state.places[:count]),
                ProcessPart(self.steps.at(state.logs[size:]), state.places[count:]))

    def evidence(self, parts: tuple[ProcessPart, ProcessPart], states: States,
                 ) -> tuple[float, States, Array, Array] | None:
        """Return the bound without the entropy, with its derivatives by states, places (m x p) and log parameters.

        None where a covariance is singular.
        """
        (rows, steps), factor = parts, self.data.factor
        seen = kernel_moments(rows.covariance, states, rows.places)
        moved = StepMoments.of(steps.covariance, states, steps.places)
        first = rows.bound(Explained.of(self.data, seen.crossed), seen)
        second = steps.bound(Explained(moved.products, moved.energy, len(states.means) - 1, self.axes), moved.kernel)
        if first is None or second is None:
            return None
        (value, by, places, logs), (more, by_steps, step_places, step_logs) = first, second
        weights = KernelMoments(by.total, crossed=factor @ by.products.T, slopes=np.zeros_like(seen.slopes),
                                squared=by.squared)
        pulls = kernel_gradient(rows.covariance, states, rows.places, weights)
        slope, step_pulls = moved.gradient(steps.covariance, states, steps.places, by_steps)
        start, by_start = start_density(states)
        slope = add_states(add_states(by_start, slope), pulls.points)
        logs[:-1] += pulls.logs
        step_logs[:-1] += step_pulls.logs
        return (value + more + start, slope, np.vstack([places + pulls.places, step_places + step_pulls.places]),
                np.concatenate([logs, step_logs]))

    def __call__(self, state: FittedParameters) -> tuple[float, FittedParameters]:
        """Return the objective and its derivatives."""
        sequence = self.parameters.sequence(state.latent)
        states = sequence.states
        found = self.evidence(self.parts(state), states)
        if found is None:
            return np.inf, FittedParameters(0 * state.latent, 0 * state.places, 0 * state.logs)
        value, slope, places, logs = found
        off = state.logs - np.concatenate([self.rows.logs, self.steps.logs])
        off[[len(self.rows.logs) - 1, -1]] = 0.0
        pulled = sequence.pull_back(states, slope)
        inverse = np.eye(self.axes) / np.einsum("tpp->tp", sequence.roots)[:, None]  # of the entropy by the roots
        latent = self.parameters.pull_back(sequence, replace(pulled, roots=pulled.roots + inverse))
        return (0.5 * float(off @ off) - value - sequence.entropy,
                FittedParameters(-latent, -places, self.constrain(off - logs, 0.0)))

    def fit(self, points: Array, minimize: Minimize) -> tuple[FittedParameters, Iterated[Point]]:
        """Return the minimum reached from states (n x p), and the iterations; raises NumericalError."""
        return self.minimize_from(self.start(points), minimize)

    def start(self, points: Array) -> FittedParameters:
        """Return independent states around points (n x p), with the first parameters; raises NumericalError."""
        places = [farthest_points(points, self.count(covariance)) for covariance in (self.rows, self.steps)]
        for covariance, own in zip((self.rows, self.steps), places, strict=True):
            jitter_of(covariance, own)  # raises NumericalError
        return FittedParameters(self.parameters.vector(Markov.apart(points, BLUR)), np.vstack(places),
                                np.concatenate([self.rows.logs, self.steps.logs]))

    def result(self, state: FittedParameters, iterated: Iterated[Point]) -> "FittedSequence":
        """Return the fitted processes with canonical axes.

        The bound is that before axes are rotated, where the iterations found it: inducing points may be so near each
        other that other rounding would make their covariance singular.
        """
        sequence, parts = self.parameters.sequence(state.latent), self.parts(state)
        turn, value = parts[0].covariance.turn(sequence.means), self.bound(sequence, parts)
        sequence, parts = sequence.rotate(turn), (parts[0].rotate(turn), parts[1].rotate(turn))
        posterior, motion = self.posteriors(sequence, parts)
        computed("process", (posterior.covariance, sequence.means))
        return FittedSequence(latent=self.parameters.vector(sequence), points=sequence.means, posteriors=(posterior,),
                              value=value, iterated=iterated, sequence=sequence, motion=motion,
                              jitter=max(jitter_of(part.covariance, part.places) for part in parts))

    def bound(self, sequence: Markov, parts: tuple[ProcessPart, ProcessPart]) -> float:
        """Return the bound of a sequence; minus infinity where a covariance is singular."""
        found = self.evidence(parts, sequence.states)
        return -np.inf if found is None else found[0] + sequence.entropy

    def posteriors(self, sequence: Markov, parts: tuple[ProcessPart, ProcessPart]) -> tuple[GaussianProcess, Motion]:
        """Return the best posteriors of rows and steps given a sequence; raises NumericalError."""
        (rows, steps), states = parts, sequence.states
        seen = kernel_moments(rows.covariance, states, rows.places)
        moved = StepMoments.of(steps.covariance, states, steps.places)
        posterior = posterior_of(seen.crossed.T @ self.data.values, self.data.mean, rows.covariance, rows.places,
                                 rows.statistics(seen))
        motion = posterior_of(moved.products, np.zeros(self.axes), steps.covariance, steps.places,
                              steps.statistics(moved.kernel))
        return posterior, Motion(motion.covariance, before=motion.places[:, None], weights=motion.weights,
                                 known=motion.known)


@frozen
class FittedSequence(FittedProcess):
    """A fitted model of a sequence."""

    sequence: Markov
    motion: Motion


def smoothing_bound(posterior: GaussianProcess, motion: Motion, new: Array) -> MomentObjective:
    """Return E log p(y | x) + E log p(x) of rows in time order (m x d; NaN where missing), given the processes."""
    rows, steps = Rows.of((new - posterior.mean)[:, posterior.varying]), motion.posterior
    moving, weights = ByMoments.of_posterior(steps), posterior.weights[:, posterior.varying]
    beta, cells = 1 / posterior.covariance.whole_noise, float(rows.present.sum())
    constant = 0.5 * cells * log(beta / (2 * pi)) - 0.5 * beta * float(np.sum(rows.values**2))
    constant += 0.5 * max(len(new) - 1, 0) * len(steps.mean) * log(-2 * moving.energy / (2 * pi))

    def function(states: States) -> tuple[float, States]:
        moved = StepMoments.of(steps.covariance, states, steps.places)
        value, slope = start_density(states)
        slope = add_states(slope, moved.gradient(steps.covariance, states, steps.places, moving)[0])
        value += (constant + moving.total * moved.kernel.total + float(np.sum(moving.products * moved.products))
                  + float(np.sum(moving.squared * moved.kernel.squared)) + moving.energy * moved.energy)
        for kind, present in enumerate(rows.kinds):
            chosen, own, count = np.flatnonzero(rows.kind == kind), weights * present, int(present.sum())
            some = GaussianPoints(states.means[chosen], states.covariances[chosen])
            seen = kernel_moments(posterior.covariance, some, posterior.places)
            by = KernelMoments(-0.5 * beta * count, crossed=beta * rows.values[chosen] @ own.T,
                               slopes=np.zeros_like(seen.slopes),
                               squared=-0.5 * beta * (own @ own.T - count * posterior.known))
            value += (by.total * seen.total + float(np.sum(by.crossed * seen.crossed))
                      + float(np.sum(by.squared * seen.squared)))
            pulls = kernel_gradient(posterior.covariance, some, posterior.places, by).points
            slope.means[chosen] += pulls.means
            slope.covariances[chosen] += pulls.covariances
        return value, slope

    return function


def smooth_rows(posterior: GaussianProcess, motion: Motion, new: Array) -> Markov:
    """Return the best normal sequence of states for rows in time order (m x d; NaN where missing), given the processes.
    """
    unseen = np.flatnonzero(~(~np.isnan(new) & posterior.varying).any(axis=1))
    start = extrapolate(motion, place(posterior, True, new), unseen)
    with threads_for(len(new)), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return ascend(smoothing_bound(posterior, motion, new), Markov.apart(start, BLUR))[0]


@stored("smoothed-sequence")
@frozen
class SmoothedSequence(LatentSequence):
    """The mean states of successive rows, given their observed cells."""

    sequence: Markov  # of the training rows

    def rows(self, new: Array) -> Array:
        """Return the mean states (m x p) of an (m, d) array of new rows."""
        if not len(self.posterior.places) or not len(new):
            return np.zeros((len(new), self.posterior.places.shape[1]))
        return smooth_rows(self.posterior, self.motion, new).means
