"""Claims of Gaussian process latent variable models: their objectives at the results that they store."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.base.values.inputs import Features
from mlcli.methods.frame.model import Model
from mlcli.methods.identities.processes.gaussian_objective import (
    Claim,
    Varying,
    figures_of,
    log_bound,
    log_density,
    parameter_energy,
)
from mlcli.methods.identities.processes.latent_sequence import sequence_density
from mlcli.stages.gaussian.dynamics import Motion, SequenceProblem
from mlcli.stages.gaussian.evidence import Exact
from mlcli.stages.gaussian.fitting import Problem, State
from mlcli.stages.gaussian.latents import HiddenUnits
from mlcli.stages.gaussian.posterior import Posterior


def stated_objective(data: Features, model: Model, problem: Problem) -> float | None:
    """Return the last objective of the iterations, in the units of the computation; None where it is not at hand."""
    trace, cells = model.trace, problem.evidence.data.cells
    return None if trace is None or not len(trace) else -float(trace[-1]) - data.unit.logarithm(cells)


def latent_claim(data: Features, model: Model, problem: Problem, posterior: Posterior, latent: Array,
                 tolerance: float) -> Claim:
    """Return the claim of a GP-LVM at latent points (n x p), or clouds (n x 2p: means, logarithms of variances).

    With a back constraint points move as the layers of its map allow.
    """
    varying, axes = Varying.of(data.values).compact, model.embedding.shape[1]
    exact = isinstance(problem.evidence, Exact)

    def again(state: State) -> tuple[float, float]:
        points, figures = state.latent.reshape(latent.shape), figures_of(posterior.covariance.at(state.logs))
        if exact:
            found = log_density(figures, points, varying)
            value, noise = found.value, found.noise
        else:
            value, noise = log_bound(figures, points, state.places, varying)
        prior = 0.5 * float(np.sum(points**2)) if problem.prior else 0.0
        return parameter_energy(figures, varying.variance, axes) + prior - value, noise

    state = State(latent.ravel(), latent[:0, :axes] if exact else posterior.places, posterior.covariance.logs)
    moves, placed = layers(model, data.values)
    return Claim(problem=problem, state=state, again=again, stated=stated_objective(data, model, problem),
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


def sequence_claim(data: Features, model: Model, problem: SequenceProblem, processes: tuple[Posterior, Motion],
                   tolerance: float) -> Claim:
    """Return the claim of a GPDM, whose points have mean zero and mean square one over all axes."""
    (posterior, motion), varying = processes, Varying.of(data.values).compact
    axes, density = model.embedding.shape[1], problem.latents.density
    size = model.embedding.size

    def again(state: State) -> tuple[float, float]:
        points = state.latent[:size].reshape(-1, axes)
        points = points - points.mean(axis=0)
        points = points / np.sqrt(np.mean(points**2))
        figures, moving = figures_of(posterior.covariance.at(state.logs)), figures_of(
            motion.covariance.at(state.latent[size:]))
        found, (steps, noise) = log_density(figures, points, varying), sequence_density(moving, points, density.order)
        priors = parameter_energy(figures, varying.variance, axes) + parameter_energy(moving, 1.0, axes)
        return priors - found.value - density.weight * steps, found.noise + density.weight * noise

    state = State(np.concatenate([model.embedding.ravel(), motion.covariance.logs]), model.embedding[:0],
                  posterior.covariance.logs)
    return Claim(problem=problem, state=state, again=again, stated=stated_objective(data, model, problem),
                 converged=bool(model.fit["converged"]), tolerance=tolerance, work=2.0 * len(model.embedding) ** 3)
