"""Maximum likelihood for the linear-Gaussian state-space model: start, EM step, and the form that makes it unique."""

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
from mlcli.stages.latent.kalman import Sequence, Smoothed, StateSpace, smoothed
from mlcli.stages.linear.whitening import Extent, require_no_faint, without_rounding

TURNS = 4  # changes of basis until states smoothed in it have its form
FAINT = 2.0**-400  # of the largest number: shares of the squares of smaller columns, as noise is, have no digits
MEMORY = 10  # steps that bend the next one
NEAR = 1e-10  # to which mean squares are one
STEADY = 10  # steps considered for convergence
USUAL, CALLS = 100, 3.4  # iterations of most fits; small calls of the smoother for a row


@result("state-space-fit")
@frozen
class Fitted:
    """A model with the states of the sequence that it was fitted to."""

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
    """The model of largest likelihood in canonical form, ignoring columns that do not vary."""

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


def fitted_model(points: Array, axes: Axes, iterate: Iterate, floor: float) -> Solution:
    """The state-space model of a sequence (n x d; NaN where missing), by EM from a deterministic beginning.

    The noise of a column is kept above `floor` times its variance.
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
        start = with_states(sequence, first_guess(sequence, axes.count))
        ended = iterate(lambda fitted: accelerated(sequence, fitted), start, largest_gain, rising=True)
    fitted = as_read(sequence, ended.state)
    noiseless = int(np.sum(fitted.model.noise <= sequence.least * (1 + 1e-9)))
    if noiseless:
        note("W-NOISELESS", f"the noise of {noiseless} columns is at its floor: the states reproduce them all but "
             "exactly; fewer states may do, or a lower method.floor",
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
    """The means of the columns over the cells that are there, and the rest, zero in a column that does not vary.

    Raises DataError where a column is too small beside the largest.
    """
    means = np.nanmean(points, axis=0)
    rest = points - means
    more = np.nanmean(rest, axis=0)
    present = ~np.isnan(points)
    cells = np.where(present, points, 0.0)
    means = means + more
    moved = np.where(present, points - means, 0.0)  # bit by bit as new rows are centered
    whole = without_rounding(moved, Extent.of(cells))
    require_no_faint(whole, cells, FAINT)
    return means, np.where(present, whole, np.nan)


def seconds_of(rows: int, size: int) -> float:
    """Predicted seconds of one pass of the smoother."""
    return rows * CALLS * rates().called * (1 + size**3 / 1000)


def first_guess(sequence: Sequence, size: int) -> StateSpace:
    """A model to begin with: states from the leading components of rows joined with the rows after them (centered).

    Where no more states than columns are asked for, those are the principal components.
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


def accelerated(sequence: Sequence, fitted: Fitted) -> Fitted:
    """A step of EM bent by those before it (Anderson's acceleration), or a plain one where that is not better."""
    plain = maximized(sequence, fitted.states)
    try:
        past = (*fitted.past[-MEMORY:], (packed(fitted.model), packed(plain)))
        with np.errstate(over="ignore", invalid="ignore"):  # states that overflow are not better
            bold = with_states(sequence, floored(unpacked(bent(past), plain), sequence)) if len(past) > 1 else None
    except (np.linalg.LinAlgError, NumericalError):
        past, bold = (), None
    better = bold is not None and bold.objective > fitted.objective
    best = bold if bold is not None and better else with_states(sequence, plain)
    gains = (*fitted.gains[1 - STEADY:], objective_change(fitted, best))
    return replace(best, past=past if better else past[-1:], gains=gains)


def bent(past: tuple[tuple[Array, Array], ...]) -> Array:
    """The limit of EM's steps, from points to points, if they were linear in their start."""
    starts, ends = (np.array(part) for part in zip(*past, strict=True))
    steps = ends - starts
    weights = np.linalg.lstsq(np.diff(steps, axis=0).T, steps[-1], rcond=np.sqrt(EPS))[0]
    ahead: Array = ends[-1] - weights @ np.diff(ends, axis=0)
    return ahead


def largest_gain(_: Fitted, after: Fitted) -> float:
    """How far the last steps went: bent steps are uneven, and a short one does not mean convergence."""
    return max(after.gains) if len(after.gains) == STEADY else np.inf


def packed(model: StateSpace) -> Array:
    """The parameters as free numbers; raises LinAlgError where the innovation is singular."""
    root = np.linalg.cholesky(model.innovation)
    diagonal = np.diag(root)
    return np.concatenate([model.transition.ravel(), (np.tril(root, -1) + np.diag(np.log(diagonal))).ravel(),
                           model.loadings.ravel(), np.log(model.noise)])


def unpacked(numbers: Array, like: StateSpace) -> StateSpace:
    """The model of free numbers; raises NumericalError where they are too large."""
    size, columns = len(like.transition), len(like.noise)
    transition, root, loadings, noise = np.split(numbers, np.cumsum([size**2, size**2, size * columns]))
    root = root.reshape(size, size)
    with np.errstate(over="ignore", divide="ignore"):
        root = np.tril(root, -1) + np.diag(np.exp(np.diag(root)))
        model = StateSpace(transition=transition.reshape(size, size), innovation=root @ root.T,
                           loadings=loadings.reshape(columns, size), noise=np.exp(noise))
        require_finite(np.concatenate([model.innovation.ravel(), model.noise, 1 / model.noise]), "the model")
    return model


def with_states(sequence: Sequence, model: StateSpace) -> Fitted:
    """A model with its smoothed states."""
    return Fitted(model, smoothed(sequence, model))


def maximized(sequence: Sequence, states: Smoothed) -> StateSpace:
    """The M-step: regressions of states on the states before, and of columns on the states where they were seen.

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
    return floored(StateSpace(transition=transition, innovation=(innovation + innovation.T) / 2, loadings=loadings,
                              noise=noise), sequence)


def floored(model: StateSpace, sequence: Sequence) -> StateSpace:
    """The model with noise in every column."""
    return replace(model, noise=np.maximum(model.noise, sequence.least))


def _regressions(sequence: Sequence, states: Smoothed, moments: Array) -> tuple[Array, Array]:
    """Loadings and noise of every column, from the rows in which it was seen."""
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


def as_read(sequence: Sequence, fitted: Fitted) -> Fitted:
    """The canonical form, its states smoothed by that very model: the same rows, projected, have the same states.

    Where rows hardly determine the start, a new basis determines another part of it, and is computed again.
    """
    for _ in range(TURNS):
        fitted = with_states(sequence, canonical_form(fitted).model)
        if float(np.abs(moments_of(fitted.states) - np.eye(len(fitted.model.transition))).max()) < NEAR:
            break
    return fitted


def moments_of(states: Smoothed) -> Array:
    """The mean squares and products of the states, their uncertainty included (K x K)."""
    moment = (states.covariances.sum(axis=0) + states.means.T @ states.means) / len(states.means)
    return np.asarray((moment + moment.T) / 2)


def canonical_form(fitted: Fitted) -> Fitted:
    """The same model in the one basis where states have mean square 1, are uncorrelated and load orthogonally.

    Axes are in descending order of CᵀC, the variance that each carries; signs make the largest state positive.
    """
    model, states = fitted.model, fitted.states
    values, vectors = symmetric_eigen(moments_of(states))
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
    """Least squares from second moments (K x K), in the directions that they determine."""
    values, vectors = symmetric_eigen((moments + moments.T) / 2)
    determined = values > len(values) * EPS * 10 * values[0]
    return vectors[:, determined] @ ((vectors[:, determined].T @ targets) / values[determined, None])
