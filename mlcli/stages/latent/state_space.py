"""Maximum likelihood for the linear-Gaussian state-space model: start, EM step, and the unique canonical form."""

from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import rates
from mlcli.base.stages.stage import note, running
from mlcli.base.stored import result
from mlcli.base.types import Array
from mlcli.base.values.quantity import Quantity
from mlcli.base.values.signs import leading_signs
from mlcli.errors import NumericalError
from mlcli.stages.algebra.iterate import Iterate, objective_change
from mlcli.stages.algebra.linalg import EPS, require_finite, singular, symmetric_eigen
from mlcli.stages.eigen.axes import Axes
from mlcli.stages.latent.kalman import Sequence, Smoothed, StateSpace, smooth
from mlcli.stages.linear.whitening import Extent, require_no_faint, zero_rounding

TURNS = 4  # changes of basis at most until smoothed states have the canonical form
FAINT = 2.0**-400  # share of the largest number: the noise of smaller columns, a share of their squares, has no digits
MEMORY = 10  # steps that Anderson's acceleration uses
NEAR = 1e-10  # to which mean squares are one
STEADY = 10  # steps considered for convergence
USUAL, CALLS = 100, 3.4  # iterations of most fits; small calls of the smoother for a row


@result("state-space-fit")
@frozen
class Fitted:
    """A model during EM, with the states of the sequence."""

    model: StateSpace
    states: Smoothed
    past: tuple[tuple[Array, Array], ...] = ()  # parameters before and after the last steps of EM
    gains: tuple[float, ...] = ()  # of the last steps, relative to the log-likelihood

    @property
    def objective(self) -> float:
        """The log-likelihood."""
        return self.states.log_likelihood


@frozen
class Solution:
    """The model of largest likelihood in canonical form; columns that do not vary are ignored."""

    means: Array  # d
    model: StateSpace  # loadings and noise zero in a column that does not vary
    states: Array  # n x K
    spreads: Array  # n x K x K
    variance: float  # of all columns together
    cells: int  # numbers that the log-likelihood is of
    log_likelihood: float
    trace: Array
    facts: dict[str, Any]

    @property
    def figures(self) -> dict[str, Any]:
        """The parameters and their likelihood."""
        model = self.model
        return {"log_likelihood": Quantity(self.log_likelihood, cells=(self.cells,)),
                "transition": model.transition.tolist(), "innovation": model.innovation.tolist(),
                "noise_variances": Quantity(model.noise, 2), **self.facts}


def fit_model(points: Array, axes: Axes, iterate: Iterate, floor: float) -> Solution:
    """Fit the state-space model to a sequence (n x d; NaN where missing), by EM from a deterministic start.

    The noise of a column stays above `floor` times its variance. Raises DataError for columns too small beside others.
    """
    means, centered = centered_sequence(points)
    varying = np.any(centered != 0, axis=0, where=~np.isnan(centered))
    inner = centered[:, varying]
    cells = int(np.sum(~np.isnan(inner)))
    if not cells:
        size = axes.available_count(0)
        nothing = StateSpace(transition=np.zeros((size, size)), innovation=np.eye(size),
                             loadings=np.zeros((len(means), size)), noise=np.zeros(len(means)))
        return Solution(means=means, model=nothing, states=np.zeros((len(points), size)),
                        spreads=np.tile(np.eye(size), (len(points), 1, 1)), variance=0.0, cells=0, log_likelihood=0.0,
                        trace=np.zeros(0), facts={"iterations": 0, "converged": True})
    sequence = Sequence.of(inner, floor)
    with running("iterate"):
        start = smooth_states(sequence, first_guess(sequence, axes.count))
        ended = iterate(lambda fitted: accelerated_step(sequence, fitted), start, largest_gain, rising=True)
    fitted = canonical_fit(sequence, ended.state)
    noiseless = int(np.sum(fitted.model.noise <= sequence.least * (1 + 1e-9)))
    if noiseless:
        note("W-NOISELESS", f"the noise of {noiseless} columns is at its floor: the states reproduce them almost "
             "exactly; try fewer states, or a lower method.floor",
             columns=noiseless)
    loadings = np.zeros((len(means), axes.count))
    loadings[varying] = fitted.model.loadings
    noise = np.zeros(len(means))
    noise[varying] = fitted.model.noise
    return Solution(means=means, model=replace(fitted.model, loadings=loadings, noise=noise),
                    states=fitted.states.means, spreads=fitted.states.covariances,
                    variance=float(sequence.variances.sum()), cells=cells, log_likelihood=fitted.objective,
                    trace=ended.trace, facts=ended.facts)


def centered_sequence(points: Array) -> tuple[Array, Array]:
    """Return column means (d) over observed cells, and centered points (n x d), zero in a column that does not vary.

    Raises DataError where a column is too small beside the largest.
    """
    means = np.nanmean(points, axis=0)
    rest = points - means
    more = np.nanmean(rest, axis=0)
    present = ~np.isnan(points)
    cells = np.where(present, points, 0.0)
    means = means + more
    moved = np.where(present, points - means, 0.0)  # bit by bit as new rows are centered
    whole = zero_rounding(moved, Extent.of(cells))
    require_no_faint(whole, cells, FAINT)
    return means, np.where(present, whole, np.nan)


def smoother_seconds(rows: int, size: int) -> float:
    """Predict the seconds of one pass of the smoother."""
    return rows * CALLS * rates().called * (1 + size**3 / 1000)


def first_guess(sequence: Sequence, size: int) -> StateSpace:
    """Return the start of EM: states from the leading components of rows joined with the rows after them (centered).

    With no more states than columns, these are the principal components.
    """
    values = sequence.values
    depth = 1 if size <= values.shape[1] else -(-size // values.shape[1]) + 1
    rows = len(values) - depth + 1
    left = singular(np.hstack([values[lag:lag + rows] for lag in range(depth)]))[0]
    states = left[:, :size] * leading_signs(left[:, :size]) * np.sqrt(rows)
    states = np.pad(states, ((0, 0), (0, size - states.shape[1])))
    loadings = values[:rows].T @ states / rows
    transition = np.linalg.lstsq(states[:-1], states[1:], rcond=None)[0].T
    steps = states[1:] - states[:-1] @ transition.T
    noise = np.maximum(sequence.variances - np.einsum("ij,ij->i", loadings, loadings), 0.1 * sequence.variances)
    return StateSpace(transition=transition, innovation=steps.T @ steps / len(steps) + 0.01 * np.eye(size),
                      loadings=loadings, noise=noise)


def accelerated_step(sequence: Sequence, fitted: Fitted) -> Fitted:
    """Return the model after a step of EM with Anderson's acceleration, or a plain one where that is not better."""
    plain = maximize(sequence, fitted.states)
    try:
        past = (*fitted.past[-MEMORY:], (pack_parameters(fitted.model), pack_parameters(plain)))
        with np.errstate(over="ignore", invalid="ignore"):  # states that overflow are not better
            bold = None
            if len(past) > 1:
                bold = smooth_states(sequence, bound_noise(unpack_parameters(extrapolate(past), plain), sequence))
    except (np.linalg.LinAlgError, NumericalError):
        past, bold = (), None
    better = bold is not None and bold.objective > fitted.objective
    best = bold if bold is not None and better else smooth_states(sequence, plain)
    gains = (*fitted.gains[1 - STEADY:], objective_change(fitted, best))
    return replace(best, past=past if better else past[-1:], gains=gains)


def extrapolate(past: tuple[tuple[Array, Array], ...]) -> Array:
    """Return the limit of EM's steps if they were linear in their start; `past` holds pairs of (m,) parameters."""
    starts, ends = (np.array(part) for part in zip(*past, strict=True))
    steps = ends - starts
    weights = np.linalg.lstsq(np.diff(steps, axis=0).T, steps[-1], rcond=np.sqrt(EPS))[0]
    ahead: Array = ends[-1] - weights @ np.diff(ends, axis=0)
    return ahead


def largest_gain(_: Fitted, after: Fitted) -> float:
    """Return the largest gain of the last steps: accelerated steps are uneven, and a short one may come by chance."""
    return max(after.gains) if len(after.gains) == STEADY else np.inf


def pack_parameters(model: StateSpace) -> Array:
    """Return the parameters as unconstrained numbers (m); raises LinAlgError where the innovation is singular."""
    root = np.linalg.cholesky(model.innovation)
    diagonal = np.diag(root)
    return np.concatenate([model.transition.ravel(), (np.tril(root, -1) + np.diag(np.log(diagonal))).ravel(),
                           model.loadings.ravel(), np.log(model.noise)])


def unpack_parameters(numbers: Array, like: StateSpace) -> StateSpace:
    """Return the model of unconstrained numbers (m), in the shapes of `like`; NumericalError where too large."""
    size, columns = len(like.transition), len(like.noise)
    transition, root, loadings, noise = np.split(numbers, np.cumsum([size**2, size**2, size * columns]))
    root = root.reshape(size, size)
    with np.errstate(over="ignore", divide="ignore"):
        root = np.tril(root, -1) + np.diag(np.exp(np.diag(root)))
        model = StateSpace(transition=transition.reshape(size, size), innovation=root @ root.T,
                           loadings=loadings.reshape(columns, size), noise=np.exp(noise))
        require_finite(np.concatenate([model.innovation.ravel(), model.noise, 1 / model.noise]), "the model")
    return model


def smooth_states(sequence: Sequence, model: StateSpace) -> Fitted:
    """Return a model with its smoothed states."""
    return Fitted(model, smooth(sequence, model))


def maximize(sequence: Sequence, states: Smoothed) -> StateSpace:
    """Return the M-step: regressions of states on the states before, and of columns on the states of observed rows.

    The likelihood of the result is no smaller. Source: Shumway and Stoffer; Ghahramani and Hinton.
    """
    means = states.means
    moments = states.covariances + means[:, :, None] * means[:, None, :]
    crossed = np.sum(states.following, axis=0) + means[1:].T @ means[:-1]
    transition = _solved(moments[:-1].sum(axis=0), crossed.T).T
    first = states.covariances[0] + np.outer(means[0] - states.start, means[0] - states.start)
    steps = moments[1:].sum(axis=0) - transition @ crossed.T
    innovation = (first + steps) / len(means)
    loadings, noise = _regressions(sequence, states, moments)
    return bound_noise(StateSpace(transition=transition, innovation=(innovation + innovation.T) / 2, loadings=loadings,
                                  noise=noise), sequence)


def bound_noise(model: StateSpace, sequence: Sequence) -> StateSpace:
    """Return the model with noise of at least the sequence's bound in every column."""
    return replace(model, noise=np.maximum(model.noise, sequence.least))


def _regressions(sequence: Sequence, states: Smoothed, moments: Array) -> tuple[Array, Array]:
    """Return loadings (d x K) and noise (d) of every column, from the rows that observe it."""
    present = sequence.present
    targets = sequence.values.T @ states.means
    loadings, spread = np.empty_like(targets), np.empty(len(targets))
    alike = len(sequence.kinds) == 1
    groups = [np.arange(len(targets))] if alike else [np.array([column]) for column in range(len(targets))]
    for columns in groups:
        seen = present[:, columns[0]]
        loadings[columns] = _solved(moments[seen].sum(axis=0), targets[columns].T).T
        covariance = states.covariances[seen].sum(axis=0)
        spread[columns] = np.einsum("ij,jk,ik->i", loadings[columns], covariance, loadings[columns])
    errors = np.where(present, sequence.values - states.means @ loadings.T, 0.0)
    noise = (np.sum(errors**2, axis=0) + spread) / present.sum(axis=0)
    return loadings, noise


def canonical_fit(sequence: Sequence, fitted: Fitted) -> Fitted:
    """Return the canonical form with states smoothed by that model, so that the same rows, projected, get them too.

    Where rows hardly determine the start, a new basis determines another part of it: then the form is computed again.
    """
    for _ in range(TURNS):
        fitted = smooth_states(sequence, canonical_form(fitted).model)
        if float(np.abs(state_moments(fitted.states) - np.eye(len(fitted.model.transition))).max()) < NEAR:
            break
    return fitted


def state_moments(states: Smoothed) -> Array:
    """Return the mean squares and products of the states, their uncertainty included (K x K)."""
    moment = (states.covariances.sum(axis=0) + states.means.T @ states.means) / len(states.means)
    return np.asarray((moment + moment.T) / 2)


def canonical_form(fitted: Fitted) -> Fitted:
    """Return the same model in the basis where states have mean square 1, are uncorrelated and load orthogonally.

    Axes are in descending order of CᵀC, the variance that each carries; signs make the largest state positive.
    """
    model, states = fitted.model, fitted.states
    values, vectors = symmetric_eigen(state_moments(states))
    significant = values > EPS * len(values) * 10 * values[0]
    roots = np.sqrt(np.where(significant, values, values[0]))
    _, _, right = singular(np.vstack([model.loadings @ (vectors * roots), np.zeros_like(vectors)]))
    into = right @ (vectors / roots).T  # new states = into @ old
    into = into * leading_signs(states.means @ into.T)[:, None]
    back = np.linalg.inv(into)
    turned = replace(states, means=states.means @ into.T, covariances=into @ states.covariances @ into.T,
                     following=into @ states.following @ into.T, start=into @ states.start)
    return Fitted(StateSpace(transition=into @ model.transition @ back, innovation=into @ model.innovation @ into.T,
                             loadings=model.loadings @ back, noise=model.noise), turned)


def _solved(moments: Array, targets: Array) -> Array:
    """Return least squares from second moments (K x K), in the directions that they determine."""
    values, vectors = symmetric_eigen((moments + moments.T) / 2)
    determined = values > len(values) * EPS * 10 * values[0]
    return vectors[:, determined] @ ((vectors[:, determined].T @ targets) / values[determined, None])
