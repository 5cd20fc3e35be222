"""The certificate of several views of the same latent points: bounds, shares of relevances, and the objective."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, count, ratio, skipped
from mlcli.base.values.inputs import Features
from mlcli.methods.frame.model import Model
from mlcli.methods.identities.processes.gaussian_objective import (
    Claim,
    Varying,
    figures_of,
    log_bound,
    parameter_energy,
)
from mlcli.methods.identities.processes.smoothing_equations import ascent_check
from mlcli.stages.algebra.minimize import Minimize
from mlcli.stages.gaussian.evidence import Observations
from mlcli.stages.gaussian.fitting import State
from mlcli.stages.gaussian.posterior import Posterior
from mlcli.stages.gaussian.views import SharedProblem
from mlcli.stages.similarities.projector import require_projector


def shared_checks(views: Sequence[Features], model: Model, inducing: int, minimize: Minimize, threshold: float,
                  full: bool) -> list[Check]:
    """Check a model of views in the units of the computation, each n x d."""
    similarity: Any = require_projector(model.projector).similarity
    processes = (similarity.posterior, *similarity.others)
    if len(processes) != len(views) or any(process.places.shape[1] != model.embedding.shape[1]
                                           for process in processes):
        return [count("views", 1, "processes that are not those of the views")]
    known = list(zip(views, processes, strict=True))
    active = [(view, posterior) for view, posterior in known if len(posterior.places)]
    wrong = sum(bool(np.ptp(view.values, axis=0).any()) != bool(len(posterior.places)) for view, posterior in known)
    checks = [count("views", wrong, "views that vary without a process, or have one without varying")]
    if wrong or not active:
        return checks
    checks += share_checks([posterior for _, posterior in known], model, threshold)
    if model.spreads is None:
        return [*checks, skipped("log_likelihood", "the variances of the clouds are not at hand"),
                ascent_check(model.trace, np.hstack([view.values for view in views]))]
    clouds = np.hstack([model.embedding, np.log(np.diagonal(model.spreads, axis1=1, axis2=2))])
    claim = shared_claim(active, model, clouds, inducing, minimize)
    stated = model.fit.get("log_likelihood")
    value, noise = joint_bound(active, clouds)
    shift = sum(view.unit.logarithm(Observations.of(view.values).cells) for view, _ in active)
    return [*checks, ratio("log_likelihood", np.inf if stated is None else abs(value - stated - shift), noise,
                           "the sum of the views' bounds, from eigenvalues of Q, with one distance from the prior"),
            *claim.checks(full), ascent_check(model.trace, np.hstack([view.values for view in views]))]


def joint_bound(active: Sequence[tuple[Features, Posterior]], clouds: Array, logs: Sequence[Array] = (),
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


def shared_claim(active: Sequence[tuple[Features, Posterior]], model: Model, clouds: Array, inducing: int,
                 minimize: Minimize) -> Claim:
    """Return the claim of the fit at clouds (n x 2p)."""
    axes = model.embedding.shape[1]
    problem: Any = SharedProblem.of([Observations.of(view.values) for view, _ in active], inducing, axes)
    if model.fit["iterations"] < minimize.limit:  # otherwise the limit may have come before all were free
        problem = problem.final
    variances = [Varying.of(view.values).variance for view, _ in active]

    def again(state: State) -> tuple[float, float]:
        places, logs = problem.parts(state)
        value, noise = joint_bound(active, state.latent.reshape(clouds.shape), logs, places)
        energies = [parameter_energy(figures_of(posterior.covariance.at(own)), variance, axes)
                    for (_, posterior), own, variance in zip(active, logs, variances, strict=True)]
        return sum(energies) - value, noise

    state = State(clouds.ravel(), np.vstack([posterior.places for _, posterior in active]),
                  np.concatenate([posterior.covariance.logs for _, posterior in active]))
    shift = sum(view.unit.logarithm(Observations.of(view.values).cells) for view, _ in active)
    trace = model.trace
    return Claim(problem=problem, state=state, again=again,
                 stated=None if trace is None or not len(trace) else -float(trace[-1]) - shift,
                 converged=bool(model.fit["converged"]), tolerance=minimize.tolerance,
                 work=float(len(clouds)) * sum(len(posterior.places) ** 2 for _, posterior in active))


def share_checks(posteriors: Sequence[Posterior], model: Model, threshold: float) -> list[Check]:
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
