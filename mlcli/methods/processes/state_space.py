"""Maximum likelihood for the linear-Gaussian state-space model: its forms, the start, and steps of EM.

With diagonal dynamics every state is an autoregression of its own, xₜ₊₁ = λ xₜ + N(0, 1 - λ²), so that it has variance
one in the long run. With as many states as columns and noise that vanishes, the loadings of largest likelihood are then
those of slow feature analysis. Source: Turner and Sahani, "A maximum-likelihood interpretation for slow feature
analysis", 2007.
"""

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, Strict

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import rates
from mlcli.base.stages.stage import Limit, advance, note, running
from mlcli.base.stored import result
from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.base.values.options import Options, option
from mlcli.base.values.quantity import Quantity
from mlcli.base.values.signs import leading_signs
from mlcli.core.eigen.options import Axes
from mlcli.core.iterate import Iterate, Iterated, objective_change
from mlcli.core.linalg import require_finite, singular, symmetric_eigen
from mlcli.core.whitening import SampleExtent, require_no_faint, zero_rounding
from mlcli.errors import ConfigError, NumericalError
from mlcli.methods.processes.kalman import Sequence, Smoothed, StateSpace, smooth

Noise = Literal["each", "equal", "vanishing"]
Coefficient = Annotated[float, Field(gt=-1, lt=1)]
LARGEST = 1 - 1e-8  # size of an estimated coefficient: beyond it the innovation has no digits


class Full(Options):
    """Dynamics by any matrix."""

    diagonal: ClassVar[bool] = False
    coefficients: ClassVar[None] = None
    name: Literal["full"] = "full"

    def axes(self, axes: Axes, limit: int) -> Axes:
        """Return the number of states as it is."""
        return axes

    def start(self, states: Array, sizes: Array) -> tuple[Array, Array, Array]:
        """Return states (n x K) as they are, with the transition and the innovation (K x K) of their regression."""
        transition = np.asarray(np.linalg.lstsq(states[:-1], states[1:], rcond=None)[0].T, dtype=np.float64)
        steps = states[1:] - states[:-1] @ transition.T
        innovation: Array = steps.T @ steps / len(steps) + 0.01 * np.eye(states.shape[1])
        return states, transition, innovation

    def maximize(self, states: Smoothed, moments: Array) -> tuple[Array, Array]:
        """Return the regression of states on the states before, and its covariance (K x K each)."""
        before, crossed, after = dynamic_moments(states, moments)
        transition = solve_moments(before, crossed.T).T
        innovation = (after - transition @ crossed.T) / len(moments)
        return transition, (innovation + innovation.T) / 2

    def pack(self, model: StateSpace) -> Array:
        """Return the transition and a root of the innovation (2 K²); raises LinAlgError where that is singular."""
        root = np.linalg.cholesky(model.innovation)
        return np.concatenate([model.transition.ravel(),
                               (np.tril(root, -1) + np.diag(np.log(np.diag(root)))).ravel()])

    def slope(self, model: StateSpace, states: Smoothed, moments: Array) -> Array:
        """Return the gradient of the log-likelihood by the numbers of `pack` (2 K²)."""
        before, crossed, after = dynamic_moments(states, moments)
        across, precision = model.transition @ crossed.T, np.linalg.inv(model.innovation)
        spread = after - across - across.T + model.transition @ before @ model.transition.T
        by_innovation = (precision @ spread @ precision - len(moments) * precision) / 2
        root = np.linalg.cholesky(model.innovation)
        by_root = np.tril(2 * by_innovation @ root)
        by_root[np.diag_indices(len(root))] *= np.diag(root)
        return np.concatenate([(precision @ (crossed - model.transition @ before)).ravel(), by_root.ravel()])

    def unpack(self, numbers: Array, like: StateSpace) -> tuple[Array, Array]:
        """Return the transition and the innovation (K x K each)."""
        transition, root = numbers.reshape(2, *like.transition.shape)
        root = np.tril(root, -1) + np.diag(np.exp(np.diag(root)))
        return transition, root @ root.T

    def width(self, size: int) -> int:
        """Return the number of parameters for K states."""
        return 2 * size**2


class Diagonal(Options):
    """Dynamics of every state by itself, with an innovation that gives it variance one in the long run."""

    diagonal: ClassVar[bool] = True
    name: Literal["diagonal"] = "diagonal"
    coefficients: Annotated[tuple[Coefficient, ...], Strict(False)] | None = option(
        None, "Autoregressive coefficients of the states, all different, if they are known; estimated if left out.",
        min_length=1)

    @property
    def fixed(self) -> Array | None:
        """The coefficients that are given (K), the largest first."""
        return None if self.coefficients is None else np.sort(self.coefficients)[::-1].astype(np.float64)

    def axes(self, axes: Axes, limit: int) -> Axes:
        """Return as many states as given coefficients, at most `limit`; raises ConfigError where these do not fit."""
        known, where = self.coefficients, "method.dynamics.coefficients"
        if known is None:
            return axes
        if len(set(known)) < len(known):
            raise ConfigError("COEFFICIENTS", "two states have the same coefficient: a rotation of them is as likely",
                              where=where, hint="give coefficients that differ")
        if len(known) > limit:
            raise ConfigError("COEFFICIENTS", f"{len(known)} coefficients were given, but the data has at most {limit} "
                              "axes", where=where, hint="give fewer coefficients, or more rows")
        if axes.chosen("components") and axes.components != len(known):
            raise ConfigError("COEFFICIENTS", f"{len(known)} coefficients were given for {axes.components} axes",
                              where=where, hint="give one for each axis, or leave the number of axes out")
        return axes.replace(components=len(known))

    def start(self, states: Array, sizes: Array) -> tuple[Array, Array, Array]:
        """Return the slow features (n x K) of uncorrelated states, with their coefficients and innovation (K x K).

        Only states with `sizes` (K) above rounding are turned into slow features; the others become zero.
        """
        extent = sizes > 10 * EPS * max(states.shape) * sizes.max(initial=0.0)
        white = states[:, extent]
        _, steps, right = singular(np.vstack([np.diff(white, axis=0), np.zeros((white.shape[1], white.shape[1]))]))
        slow = white @ right[::-1].T
        coefficients = np.zeros(states.shape[1])
        coefficients[:slow.shape[1]] = np.clip(1 - steps[::-1] ** 2 / (2 * len(states)), -LARGEST, LARGEST)
        slow = np.pad(slow, ((0, 0), (0, states.shape[1] - slow.shape[1])))
        return slow, *autoregression(coefficients if self.fixed is None else self.fixed)

    def maximize(self, states: Smoothed, moments: Array) -> tuple[Array, Array]:
        """Return the coefficients of largest likelihood, or the known ones, and their innovation (K x K each)."""
        return autoregression(best_coefficients(states, moments) if self.fixed is None else self.fixed)

    def pack(self, model: StateSpace) -> Array:
        """Return the coefficients without bounds (K), if they are not known."""
        return np.arctanh(np.diag(model.transition)) if self.fixed is None else np.zeros(0)

    def slope(self, model: StateSpace, states: Smoothed, moments: Array) -> Array:
        """Return the gradient of the log-likelihood by the numbers of `pack` (K, or none)."""
        if self.fixed is not None:
            return np.zeros(0)
        before, crossed, after = (np.diag(part) for part in dynamic_moments(states, moments))
        own = np.diag(model.transition)
        spread = after - 2 * own * crossed + own**2 * before
        return np.asarray(len(moments) * own + crossed - own * before - own * spread / ((1 - own) * (1 + own)))

    def unpack(self, numbers: Array, like: StateSpace) -> tuple[Array, Array]:
        """Return the transition and the innovation (K x K each)."""
        return autoregression(np.clip(np.tanh(numbers), -LARGEST, LARGEST) if self.fixed is None else self.fixed)

    def width(self, size: int) -> int:
        """Return the number of parameters for K states."""
        return size if self.fixed is None else 0


Dynamics = Annotated[Full | Diagonal, Field(discriminator="name")]


@frozen
class StateSpaceForm:
    """Dynamics, and the noise of columns: of each, equal in all, or equal and known, as it vanishes."""

    dynamics: Full | Diagonal = Full()
    noise: Noise = "each"

    def bounds(self, sequence: Sequence) -> Array:
        """Return the least noise of the columns (d); where it vanishes, their noise."""
        least = sequence.least
        return least if self.noise == "each" else np.full(len(least), least.mean())

    def noise_of(self, noise: Array, sequence: Sequence) -> Array:
        """Return the noise (d) of largest likelihood in this form, from that of every column by itself (d)."""
        if self.noise == "equal":
            noise = np.full(len(noise), np.average(noise, weights=sequence.present.sum(axis=0)))
        least = self.bounds(sequence)
        return least if self.noise == "vanishing" else np.maximum(noise, least)

    def pack(self, model: StateSpace) -> Array:
        """Return the free parameters as unbounded numbers (m); raises LinAlgError where the innovation is singular."""
        noise = model.noise[:{"each": len(model.noise), "equal": 1, "vanishing": 0}[self.noise]]
        return np.concatenate([self.dynamics.pack(model), model.loadings.ravel(), np.log(noise)])

    def slope(self, model: StateSpace, states: Smoothed, moments: Array, *, by_loadings: Array,
              by_noise: Array) -> Array:
        """Return the gradient of the log-likelihood by the numbers of `pack` (m).

        `by_loadings` (d x K) and `by_noise` (d; by the logarithm) are the parts of columns, `moments` (n x K x K) those
        of the states.
        """
        noise = {"each": by_noise, "equal": by_noise.sum(keepdims=True), "vanishing": np.zeros(0)}[self.noise]
        return np.concatenate([self.dynamics.slope(model, states, moments), by_loadings.ravel(), noise])

    def least(self, sequence: Sequence, like: Array) -> Array:
        """Return the lower bounds of the numbers of `pack`, an (m,) array like `like`."""
        count = {"each": len(sequence.least), "equal": 1, "vanishing": 0}[self.noise]
        with np.errstate(divide="ignore"):  # a bound of zero is none
            return np.concatenate([np.full(len(like) - count, -np.inf), np.log(self.bounds(sequence)[:count])])

    def unpack(self, numbers: Array, like: StateSpace) -> StateSpace:
        """Return the model of unbounded numbers (m), in the shapes of `like` and with its known parameters."""
        width = self.dynamics.width(len(like.transition))
        moved, loadings, noise = np.split(numbers, np.cumsum([width, like.loadings.size]))
        transition, innovation = self.dynamics.unpack(moved, like)
        return StateSpace(transition=transition, innovation=innovation, loadings=loadings.reshape(like.loadings.shape),
                          noise=like.noise if self.noise == "vanishing" else np.exp(noise) * np.ones(len(like.noise)))


def dynamic_moments(states: Smoothed, moments: Array) -> tuple[Array, Array, Array]:
    """Return the sums of xₜ xₜᵀ, xₜ₊₁ xₜᵀ and xₜ₊₁ xₜ₊₁ᵀ over the steps (K x K each), the first one from the start."""
    means = states.means
    crossed = np.sum(states.following, axis=0) + means[1:].T @ means[:-1]
    first = states.covariances[0] + np.outer(means[0] - states.start, means[0] - states.start)
    return moments[:-1].sum(axis=0), crossed, first + moments[1:].sum(axis=0)


def autoregression(coefficients: Array) -> tuple[Array, Array]:
    """Return transition and innovation (K x K each) of states with coefficients (K) and variance one."""
    return np.diag(coefficients), np.diag((1 - coefficients) * (1 + coefficients))


def best_coefficients(states: Smoothed, moments: Array) -> Array:
    """Return the coefficients (K) of largest likelihood, roots of a cubic, from second moments (n x K x K).

    With S₀ = Σ x²ₜ, S₁ = Σ x²ₜ₊₁ and the first state's square about the start, and C = Σ xₜ xₜ₊₁ they maximize
    -n/2 log(1 - λ²) - (S₁ - 2 λ C + λ² S₀) / 2 (1 - λ²).
    """
    rows, means = len(states.means), states.means
    squares = np.einsum("tkk->tk", moments)
    crossed = np.einsum("tkk->k", states.following) + np.sum(means[1:] * means[:-1], axis=0)
    before = squares[:-1].sum(axis=0)
    after = squares[1:].sum(axis=0) + np.diag(states.covariances[0]) + (means[0] - states.start) ** 2
    found = np.empty(len(before))
    for state, (early, late, both) in enumerate(zip(before, after, crossed, strict=True)):
        roots = np.roots([-rows, both, rows - early - late, both])
        near = np.clip(np.concatenate([roots.real[np.abs(roots.imag) < 1e-6], [0.0]]), -LARGEST, LARGEST)
        spread = (1 - near) * (1 + near)
        values = -0.5 * (rows * np.log(spread) + (late - 2 * near * both + near**2 * early) / spread)
        found[state] = near[values.argmax()]
    return found


def solve_moments(moments: Array, targets: Array) -> Array:
    """Return least squares from second moments (K x K), in the directions that they determine."""
    values, vectors = symmetric_eigen((moments + moments.T) / 2)
    determined = values > len(values) * EPS * 10 * values[0]
    return vectors[:, determined] @ ((vectors[:, determined].T @ targets) / values[determined, None])


TURNS = 12  # changes of basis at most until smoothed states have the canonical form
FAINT = 2.0**-400  # share of the largest number: the noise of smaller columns, a share of their squares, has no digits
MEMORY = 10  # steps that Anderson's acceleration uses
NEAR = 1e-10  # to which mean squares are one
FAR = 1e3  # times the likelihood at the end of EM: what overflows lies as far below
STEADY = 10  # steps considered for convergence
CLIMB = 500  # steps of L-BFGS from the end of EM at most
REST = 1e-12  # gain of STEADY such steps, relative to the log-likelihood, that is none
SINGULAR = 1e7  # condition of an innovation beyond which states that rows hardly show decide the likelihood
USUAL_FORM = StateSpaceForm()  # any dynamics, and noise of each column
USUAL, CALLS = 100, 3.4  # iterations of most fits; small calls of the smoother for a row


@result("state-space-fit")
@frozen
class SmoothedModel:
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
class StateSpaceFit:
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


def fit_model(points: Array, axes: Axes, iterate: Iterate, floor: float, form: StateSpaceForm) -> StateSpaceFit:
    """Fit the state-space model to a sequence (n x d; NaN where missing), by EM from a deterministic start.

    The noise of a column stays above `floor` times its variance, or one in all columns above that share of the mean
    variance. Raises DataError for columns too small beside others.
    """
    means, centered = centered_sequence(points)
    varying = np.any(centered != 0, axis=0, where=~np.isnan(centered))
    inner = centered[:, varying]
    cells = int(np.sum(~np.isnan(inner)))
    if not cells:
        size = axes.available_count(0)
        nothing = StateSpace(transition=np.zeros((size, size)), innovation=np.eye(size),
                             loadings=np.zeros((len(means), size)), noise=np.zeros(len(means)))
        return StateSpaceFit(means=means, model=nothing, states=np.zeros((len(points), size)),
                             spreads=np.tile(np.eye(size), (len(points), 1, 1)), variance=0.0, cells=0,
                             log_likelihood=0.0,
                             trace=np.zeros(0), facts={"iterations": 0, "converged": True})
    sequence = Sequence.of(inner, floor)
    with running("iterate"):
        start = smooth_states(sequence, first_guess(sequence, axes.count, form))
        ended = iterate(lambda fitted: accelerated_step(sequence, fitted, form), start, largest_gain, rising=True)
        ended = climb(sequence, ended, form)
    fitted = canonical_fit(sequence, ended.state, form)
    noiseless = int(np.sum(fitted.model.noise <= form.bounds(sequence) * (1 + 1e-9)))
    if noiseless and form.noise != "vanishing":
        note("W-NOISELESS", f"the noise of {noiseless} columns is at its floor: the states reproduce them almost "
             "exactly; try fewer states, or a lower method.floor",
             columns=noiseless)
    loadings = np.zeros((len(means), axes.count))
    loadings[varying] = fitted.model.loadings
    noise = np.zeros(len(means))
    noise[varying] = fitted.model.noise
    return StateSpaceFit(means=means, model=replace(fitted.model, loadings=loadings, noise=noise),
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
    whole = zero_rounding(moved, SampleExtent.of(cells))
    require_no_faint(whole, cells, FAINT)
    return means, np.where(present, whole, np.nan)


def smoother_seconds(rows: int, size: int) -> float:
    """Predict the seconds of one pass of the smoother."""
    return rows * CALLS * rates().called * (1 + size**3 / 1000)


def first_guess(sequence: Sequence, size: int, form: StateSpaceForm = USUAL_FORM) -> StateSpace:
    """Return the start of EM: states from the leading components of rows joined with the rows after them (centered).

    With no more states than columns, these are the principal components; with diagonal dynamics their slow features.
    """
    values = sequence.values
    depth = 1 if size <= values.shape[1] else -(-size // values.shape[1]) + 1
    rows = len(values) - depth + 1
    left, sizes, _ = singular(np.hstack([values[lag:lag + rows] for lag in range(depth)]))
    states = left[:, :size] * leading_signs(left[:, :size]) * np.sqrt(rows)
    states = np.pad(states, ((0, 0), (0, size - states.shape[1])))
    states, transition, innovation = form.dynamics.start(states, np.pad(sizes[:size], (0, max(size - len(sizes), 0))))
    loadings = values[:rows].T @ states / rows
    noise = np.maximum(sequence.variances - np.einsum("ij,ij->i", loadings, loadings), 0.1 * sequence.variances)
    return StateSpace(transition=transition, innovation=innovation, loadings=loadings,
                      noise=form.noise_of(noise, sequence))


def accelerated_step(sequence: Sequence, fitted: SmoothedModel, form: StateSpaceForm = USUAL_FORM) -> SmoothedModel:
    """Return the model after a step of EM with Anderson's acceleration, or a plain one where that is not better."""
    plain = maximize(sequence, fitted.states, form)
    try:
        past = (*fitted.past[-MEMORY:], (form.pack(fitted.model), form.pack(plain)))
        with np.errstate(over="ignore", invalid="ignore"):  # states that overflow are not better
            bold = None
            if len(past) > 1:
                ahead = unpack_parameters(extrapolate(past), plain, form)
                bold = smooth_states(sequence, replace(ahead, noise=np.maximum(ahead.noise, form.bounds(sequence))))
    except (np.linalg.LinAlgError, NumericalError):
        past, bold = (), None
    better = bold is not None and bold.objective > fitted.objective
    best = bold if bold is not None and better else smooth_states(sequence, plain)
    gain = objective_change(fitted, best)
    if form != USUAL_FORM and fitted.gains:  # a first step of large gain does not make the small ones after it converge
        gain = max(gain, fitted.gains[-1] / 2)
    return replace(best, past=past if better else past[-1:], gains=(*fitted.gains[1 - STEADY:], gain))


def extrapolate(past: tuple[tuple[Array, Array], ...]) -> Array:
    """Return the limit of EM's steps if they were linear in their start; `past` holds pairs of (m,) parameters."""
    starts, ends = (np.array(part) for part in zip(*past, strict=True))
    steps = ends - starts
    weights = np.linalg.lstsq(np.diff(steps, axis=0).T, steps[-1], rcond=np.sqrt(EPS))[0]
    ahead: Array = ends[-1] - weights @ np.diff(ends, axis=0)
    return ahead


def climb(sequence: Sequence, ended: Iterated[SmoothedModel], form: StateSpaceForm) -> Iterated[SmoothedModel]:
    """Return the maximum of the likelihood near the end of EM, by L-BFGS; or that end, if it is not near.

    Where the likelihood is flat, EM creeps: its gains become small long before the maximum, and say little about the
    gain that is left. So an end of EM from which `CLIMB` steps reach no maximum has not converged; nor has one from
    which the likelihood rises towards states without innovation. The gradient is that of EM's expectation (Fisher).
    """
    from mlcli.core.minimize import run_lbfgs

    if not ended.converged or np.linalg.cond(ended.state.model.innovation) > SINGULAR:
        return ended
    first, heights = ended.state, [ended.state.objective]
    numbers = form.pack(first.model)
    best, done = numbers, False
    sizes = np.ones(len(numbers))  # of the numbers: loadings are of the size of their column's noise
    place, size = form.dynamics.width(len(first.model.transition)), len(first.model.transition)
    sizes[place : place + first.model.loadings.size] = np.repeat(np.sqrt(first.model.noise), size)

    def objective(scaled: Array) -> tuple[float, Array]:
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                found = smooth_states(sequence, unpack_parameters(scaled * sizes, first.model, form))
                value, slope = -found.objective, -gradient(sequence, found, form) * sizes
        except (np.linalg.LinAlgError, NumericalError):
            value, slope = np.inf, np.zeros(len(scaled))
        if np.isfinite(value) and np.isfinite(slope).all():
            return value, slope
        return abs(first.objective) * FAR + FAR, np.zeros(len(scaled))  # so that the line search steps back

    def after(scaled: Array, value: float) -> None:
        nonlocal best, done
        best = scaled * sizes
        heights.append(-value)
        advance(len(heights) - 1, Limit(CLIMB))
        done = len(heights) > STEADY and heights[-1] - heights[-1 - STEADY] <= REST * abs(value)
        if done or np.linalg.cond(unpack_parameters(best, first.model, form).innovation) > SINGULAR:
            raise StopIteration

    rest = run_lbfgs(objective, numbers / sizes, after, CLIMB, form.least(sequence, numbers) / sizes)
    if not (done or rest is not None):
        note("W-UNCONVERGED", f"stopped after {len(ended.trace)} iterations without convergence: the log-likelihood "
             "rises on in a flat direction", iterations=len(ended.trace), change=objective_change(
                 first, SmoothedModel(first.model, replace(first.states, log_likelihood=heights[-1]))))
        return Iterated(first, ended.trace, False)
    top = smooth_states(sequence, unpack_parameters(best, first.model, form))
    if not top.objective > first.objective:
        return ended
    return Iterated(top, np.append(ended.trace, [*heights[1:-1], top.objective]), True)


def gradient(sequence: Sequence, fitted: SmoothedModel, form: StateSpaceForm) -> Array:
    """Return the gradient of the log-likelihood by the free parameters as unbounded numbers (m)."""
    model, states = fitted.model, fitted.states
    moments = states.covariances + states.means[:, :, None] * states.means[:, None, :]
    present = sequence.present.astype(np.float64)
    size = len(model.transition)
    seen = (present.T @ moments.reshape(len(moments), -1)).reshape(-1, size, size)
    spread = (present.T @ states.covariances.reshape(len(moments), -1)).reshape(-1, size, size)
    by_loadings = sequence.values.T @ states.means - np.einsum("dj,djk->dk", model.loadings, seen)
    errors = np.where(sequence.present, sequence.values - states.means @ model.loadings.T, 0.0)
    squares = np.sum(errors**2, axis=0) + np.einsum("di,dij,dj->d", model.loadings, spread, model.loadings)
    return form.slope(model, states, moments, by_loadings=by_loadings / model.noise[:, None],
                      by_noise=(squares / model.noise - present.sum(axis=0)) / 2)


def largest_gain(_: SmoothedModel, after: SmoothedModel) -> float:
    """Return the largest gain of the last steps: accelerated steps are uneven, and a short one may come by chance."""
    return max(after.gains) if len(after.gains) == STEADY else np.inf


def unpack_parameters(numbers: Array, like: StateSpace, form: StateSpaceForm) -> StateSpace:
    """Return the model of unbounded numbers (m), in the shapes of `like`; NumericalError where too large."""
    with np.errstate(over="ignore", divide="ignore"):
        model = form.unpack(numbers, like)
        require_finite(np.concatenate([model.innovation.ravel(), model.noise, 1 / model.noise]), "the model")
    return model


def smooth_states(sequence: Sequence, model: StateSpace) -> SmoothedModel:
    """Return a model with its smoothed states."""
    return SmoothedModel(model, smooth(sequence, model))


def maximize(sequence: Sequence, states: Smoothed, form: StateSpaceForm = USUAL_FORM) -> StateSpace:
    """Return the M-step: regressions of states on the states before, and of columns on the states of observed rows.

    The likelihood of the result is no smaller. Source: Shumway and Stoffer; Ghahramani and Hinton.
    """
    means = states.means
    moments = states.covariances + means[:, :, None] * means[:, None, :]
    transition, innovation = form.dynamics.maximize(states, moments)
    loadings, noise = _regressions(sequence, states, moments)
    return StateSpace(transition=transition, innovation=innovation, loadings=loadings,
                      noise=form.noise_of(noise, sequence))


def _regressions(sequence: Sequence, states: Smoothed, moments: Array) -> tuple[Array, Array]:
    """Return loadings (d x K) and noise (d) of every column, from the rows that observe it."""
    present = sequence.present
    targets = sequence.values.T @ states.means
    loadings, spread = np.empty_like(targets), np.empty(len(targets))
    alike = len(sequence.kinds) == 1
    groups = [np.arange(len(targets))] if alike else [np.array([column]) for column in range(len(targets))]
    for columns in groups:
        seen = present[:, columns[0]]
        loadings[columns] = solve_moments(moments[seen].sum(axis=0), targets[columns].T).T
        covariance = states.covariances[seen].sum(axis=0)
        spread[columns] = np.einsum("ij,jk,ik->i", loadings[columns], covariance, loadings[columns])
    errors = np.where(present, sequence.values - states.means @ loadings.T, 0.0)
    noise = (np.sum(errors**2, axis=0) + spread) / present.sum(axis=0)
    return loadings, noise


def canonical_fit(sequence: Sequence, fitted: SmoothedModel, form: StateSpaceForm) -> SmoothedModel:
    """Return the canonical form with states smoothed by that model, so that the same rows, projected, get them too.

    Where rows hardly determine the start, a new basis determines another part of it: then the form is computed again.
    """
    if form.dynamics.diagonal:
        return smooth_states(sequence, order_states(fitted))
    for _ in range(TURNS):
        fitted = smooth_states(sequence, canonical_form(fitted).model)
        if float(np.abs(state_moments(fitted.states) - np.eye(len(fitted.model.transition))).max()) < NEAR:
            break
    return fitted


def order_states(fitted: SmoothedModel) -> StateSpace:
    """Return the model with its states in descending order of their coefficients; the largest of each is positive."""
    model = fitted.model
    order = np.argsort(-np.diag(model.transition), kind="stable")
    signs = leading_signs(fitted.states.means[:, order])
    return replace(model, transition=model.transition[np.ix_(order, order)],
                   innovation=model.innovation[np.ix_(order, order)], loadings=model.loadings[:, order] * signs)


def state_moments(states: Smoothed) -> Array:
    """Return the mean squares and products of the states, their uncertainty included (K x K)."""
    moment = (states.covariances.sum(axis=0) + states.means.T @ states.means) / len(states.means)
    return np.asarray((moment + moment.T) / 2)


def canonical_form(fitted: SmoothedModel) -> SmoothedModel:
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
    return SmoothedModel(StateSpace(transition=into @ model.transition @ back,
                                    innovation=into @ model.innovation @ into.T,
                                    loadings=model.loadings @ back, noise=model.noise), turned)
