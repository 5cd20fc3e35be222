"""The certificate of a linear-Gaussian model: the equations of its states, its likelihood and stationarity.

Given all rows, the states and the start of largest probability are unique: there the gradient of

    Σ ‖yₜ - C xₜ‖² / noise + Σ (xₜ₊₁ - A xₜ)ᵀ Q⁻¹ (xₜ₊₁ - A xₜ)

is zero. The check uses no part of Kalman's recursions.

Rows y and states x are normal together, so log p(y) = log p(y, x) - log p(x | y) at any x. At the states of largest
probability, with H the precision of the states given the rows, a block-tridiagonal matrix,

    log p(y) = log p(y, x) + n K/2 log 2π - log |H|/2.

The start before the first row is a parameter, and at its best the first state is equal to it. Model: Shumway and
Stoffer, 1982; precision of states: Fahrmeir and Kaufmann, "On Kalman filtering, posterior mode estimation and Fisher
scoring in dynamic exponential family regression", 1991.
"""

from dataclasses import replace
from functools import cached_property
from math import pi
from typing import Any, Self

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS, Check, count, later, ratio, skipped
from mlcli.base.values.inputs import Features
from mlcli.certify.subject import max_abs
from mlcli.core.check.stationarity import SEED, Course, of_size_one, stationarity_check
from mlcli.core.iterate import SMALL
from mlcli.core.model import Model
from mlcli.methods.processes.kalman import StateSpace
from mlcli.methods.processes.state_space import StateSpaceForm

NEAR = 1e-9  # relative rounding of a likelihood: it is a small difference of large sums where noise is at its floor
STARTED = 3e-9  # the most that the rounding of what rows say of the start may explain, relative
FEW = 1e-7  # relative error of a likelihood that is worth a warning, though rounding may explain it
INVERSION = 8  # roundings of each row of an inverse, in units of its size
SHARE = 1e-3  # of what a filter leaves out, to which this is known: it hardly shows in the rows
SINGULAR = 1e12  # condition of the innovation beyond which its inverse has no digits to compare


def state_checks(similarity: Any, points: Array, states: Array, carried: Array, form: StateSpaceForm, floor: float,
                 ) -> list[Check]:
    """Check a sequence's states (n x K) for points (n x d) with their model; `carried` (K) is the spectrum."""
    if similarity.rowwise:
        return [count("model", 1, "models that are none of a sequence")]
    model = similarity.model
    least = floor * np.nanvar(points[:, model.noise > 0], axis=0)
    return [gradient_check(points, similarity.means, states, model), *form_checks(model, carried, form, least),
            *([] if form.dynamics.diagonal else basis_checks(model, carried))]


def gradient_check(points: Array, means: Array, states: Array, model: StateSpace) -> Check:
    """Check that the gradient at the states (n x K) is zero, for points (n x d; NaN where missing) with means (d)."""
    varying = model.noise > 0
    if not varying.any():
        return count("states", int(np.any(states != 0)), "states of a sequence that never changes are zero")
    if np.linalg.cond(model.innovation) > SINGULAR:
        return skipped("states", "states follow each other almost without innovation")
    loadings, weights = model.loadings[varying], 1 / model.noise[varying]
    errors = np.nan_to_num((points - means)[:, varying] - states @ loadings.T)
    precision = np.linalg.inv(model.innovation)
    surprise = (states[1:] - states[:-1] @ model.transition.T) @ precision
    gradient = (errors * weights) @ loadings
    gradient[:-1] += surprise @ model.transition
    gradient[1:] -= surprise
    evidence = float(np.linalg.norm((loadings.T * weights) @ loadings, 2))
    stiffness = float(np.linalg.norm(precision, 2)) * (1 + float(np.linalg.norm(model.transition, 2))) ** 2
    # the error of the recursions
    scale = EPS * (evidence + stiffness) * condition(evidence, model) * max_abs(states)
    origin = float((np.abs(loadings.T * weights) @ np.abs(means[varying])).max(initial=0.0))
    return ratio("states", max_abs(gradient), scale * len(model.transition) + 10 * EPS * origin,
                 "the gradient of the probability of all rows and states is zero")


def condition(evidence: float, model: StateSpace) -> float:
    """Return the condition of 1 + J P, which Kalman's recursions invert, for rows with information J of a norm.

    The covariance P of a state before its row is taken for Q.
    """
    return 1 + evidence * float(np.linalg.norm(model.innovation, 2))


def form_checks(model: StateSpace, carried: Array, form: StateSpaceForm, least: Array) -> list[Check]:
    """Check that the dynamics are those of autoregressions of variance one, and the noise the same in all columns.

    With diagonal dynamics the spectrum `carried` (K) holds slownesses; `least` are the least noises of the columns that
    vary, as an array.
    """
    noise, checks = model.noise[model.noise > 0], []
    if not len(noise):
        return []
    if form.dynamics.diagonal:
        own = np.diag(model.transition)
        known = own if form.dynamics.coefficients is None else np.sort(form.dynamics.coefficients)[::-1]
        wrong = max(float(np.abs(model.transition - np.diag(known)).max()),
                    float(np.abs(model.innovation - np.diag((1 - own) * (1 + own))).max()),
                    float(np.diff(own).max(initial=0.0)))
        apart = float(np.abs(carried[:len(own)] - 2 * (1 - own)).max())
        checks += [ratio("dynamics", wrong, EPS, "A is diagonal, the slowest state first, with Q = 1 - A²"),
                   ratio("slowness", apart, 4 * EPS, "the spectrum holds the slownesses 2 - 2 λ")]
    if form.noise != "each":
        right = noise[0] if form.noise == "equal" else least.mean()
        checks += [ratio("noise", float(np.abs(noise - right).max()), NEAR * right,
                         "the noise of all columns is the same" if form.noise == "equal" else
                         "the noise of all columns is the given share of their mean variance")]
    return checks


def basis_checks(model: StateSpace, carried: Array) -> list[Check]:
    """Check that columns of C (d x K) are orthogonal, and their squared lengths proportional to `carried` (K)."""
    product = model.loadings.T @ model.loadings
    squares = np.diag(product).copy()
    top, stated = float(squares.max(initial=0.0)), float(carried.max(initial=0.0))
    apart = max_abs(product - np.diag(squares))
    shares = squares / (top or 1.0) - carried[: len(squares)] / (stated or 1.0)
    rounding = EPS * max(*model.loadings.shape, 10)
    return [ratio("loadings", apart, 10 * rounding * top, "columns of C are orthogonal"),
            ratio("carried", max_abs(shares), rounding,
                  "the spectrum holds the squared lengths of the columns of C, as shares of the first")]


def ascent_check(trace: Array | None, points: Array) -> Check:
    """Check that no iteration lowers the log-likelihood, an (i,) array; points (n x d) give the number of cells."""
    if trace is None or len(trace) < 2:
        return skipped("likelihood", "the objective of the iterations is not at hand")
    cells = int(np.isfinite(points).sum())
    falls = float(np.maximum(-np.diff(trace), 0.0).max())
    return ratio("likelihood", falls, NEAR * (cells + float(np.abs(trace).max())),
                 "no iteration lowers the log-likelihood")


MOST = 10**7  # cells times squares of states of a quick check
AT_BOUND = 1e-6  # relative distance from the lower bound of a noise that counts as zero


@frozen
class RowLikelihood:
    """The log-likelihood of rows in columns that vary, as a function of the parameters."""

    values: Array  # n x d, centered; zero where missing
    present: AnyArray  # n x d
    origin: Array  # d: sizes of the columns before they were centered, which bound their rounding

    @classmethod
    def of(cls, points: Array, means: Array) -> "RowLikelihood":
        """Return the likelihood of points (n x d; NaN where missing) less their means (d)."""
        present = ~np.isnan(points)
        return cls(np.where(present, points - means, 0.0), present, np.nanmax(np.abs(points), axis=0))

    @cached_property
    def patterns(self) -> tuple[AnyArray, Indices]:
        """The patterns of cells (g x d), and which of them each row has (n)."""
        kinds, kind = np.unique(self.present, axis=0, return_inverse=True)
        return kinds, kind.ravel()

    def __call__(self, model: StateSpace) -> tuple[float, float]:
        """Return the log-likelihood at the best start, and its rounding; minus infinity where Q is singular."""
        weights = 1 / model.noise
        precision, spread = long_inverse(model.innovation)
        if not np.isfinite(spread):
            return -np.inf, np.inf
        band, best = self.most_probable(model, precision)
        errors = np.where(self.present, self.values - best.states @ model.loadings.T, 0.0)
        steps = (best.states[1:] - best.states[:-1] @ model.transition.T).astype(np.longdouble)
        squares = float(np.sum(errors**2 * weights)) + float(np.sum((steps @ precision) * steps))
        terms = np.array([squares, float(np.sum(self.present @ np.log(2 * pi * model.noise))),
                          len(errors) * spread, float(np.log(best.pivots).sum())])
        rounding = float(np.abs(terms).sum()) + float(np.abs(errors * weights).sum(axis=0) @ self.origin)
        rounding += float(np.sum(band[0] / best.pivots))  # of H
        lost = float(np.finfo(np.longdouble).eps) * float(np.max(band[0] / best.pivots)) * len(errors)
        return -0.5 * float(terms.sum()), 4 * EPS * rounding + lost * float(np.linalg.cond(model.innovation))

    def most_probable(self, model: StateSpace, precision: Array) -> tuple[Array, "BestStates"]:
        """Return the band of H (2K x n K) and the most probable states, with Q⁻¹ (K x K)."""
        (kinds, kind), weights = self.patterns, 1 / model.noise
        evidence = np.stack([(model.loadings.T * (weights * some)) @ model.loadings for some in kinds])[kind]
        band = precision_band(evidence, precision, model.transition)
        return band, BestStates.of(band, (self.values * weights) @ model.loadings, precision)

    def filter_losses(self, model: StateSpace) -> tuple[float, float, float]:
        """Return the rounding of Kalman's value, that of what rows say of the start, and what it leaves out.

        Q must not be singular.

        With errors e of its prediction, here that from the most probable state before, J = Cᵀ R⁻¹ C, the covariance P
        of the predicted state, which is taken for Q, and its step δ to the mean given the row, a row adds

            (e - C δ)ᵀ R⁻¹ (e - C δ) + δᵀ P⁻¹ δ + log |1 + J P|.

        The inverse of 1 + J P has lost about its norm, and so has each of the logarithm's K factors; δ has lost it too,
        but the squares are least at δ, so that they change with the square of that. What the rows say of the start no
        more clearly than their sum is rounded is left out.
        """
        _, best = self.most_probable(model, long_inverse(model.innovation)[0])
        before = np.vstack([best.states[:1], best.states[:-1] @ model.transition.T])
        errors = np.where(self.present, self.values - before @ model.loadings.T, 0.0)
        evidence = float(np.linalg.norm((model.loadings.T / model.noise) @ model.loadings, 2))
        squares, lost = float(np.sum(errors**2 / model.noise)), EPS * condition(evidence, model)
        left_out, rounded = best.undetermined
        return lost * before.size + (EPS + (INVERSION * before.shape[1] * lost)**2) * squares, rounded, left_out


def long_inverse(matrix: Array) -> tuple[Array, float]:
    """Return the inverse (K x K) of a positive matrix and its log-determinant, in the longest numbers of the machine.

    What the precision of a step has lost to rounding is lost again in every row. The log-determinant is NaN where the
    matrix is not positive.
    """
    size, logarithm = len(matrix), np.longdouble(0)
    work = np.hstack([matrix, np.eye(size)]).astype(np.longdouble)
    for place in range(size):
        pivot = work[place, place]
        logarithm += np.log(pivot) if pivot > 0 else np.nan
        work[place] /= pivot
        others = work[:, place].copy()
        others[place] = 0
        work -= others[:, None] * work[place]
    inverse = work[:, size:]
    return (inverse + inverse.T) / 2, float(logarithm)


def precision_band(evidence: Array, precision: Array, transition: Array) -> Array:
    """Return the lower band (2K x n K) of the states' precision, from what rows say of them (n x K x K) and Q⁻¹."""
    rows, size = evidence.shape[:2]
    own = np.asarray(evidence + precision, dtype=np.float64)
    own[:-1] = evidence[:-1] + (precision + transition.T @ precision @ transition)
    below = -precision @ transition
    band = np.zeros((2 * size, rows, size))
    for column in range(size):
        for row in range(size):
            if row >= column:
                band[row - column, :, column] = own[:, row, column]
            band[size + row - column, :-1, column] = below[row, column]
    return band.reshape(2 * size, -1)


@frozen
class BestStates:
    """The states of largest probability, and the best start."""

    states: Array  # n x K
    pivots: Array  # n K, of H; NaN where it is not positive
    start: Array  # K
    information: Array  # K x K: of the rows about the start
    rounding: float  # of the information

    @classmethod
    def of(cls, band: Array, pull: Array, precision: Array) -> Self:
        """Return the states for the band of H (2K x n K), the pull of the rows (n x K) and Q⁻¹."""
        from scipy.linalg import LinAlgError, cho_solve_banded, cholesky_banded

        size = len(precision)
        try:
            factor = cholesky_banded(band, lower=True)
        except LinAlgError:
            return cls(pull, np.full(band.shape[1], np.nan), np.zeros(size), np.zeros((size, size)), 0.0)
        first = np.zeros((band.shape[1], size))
        first[:size] = precision  # the start's part in the pull, for each of its numbers
        solved = cho_solve_banded((factor, True), np.column_stack([pull.ravel(), first]))
        rest = np.eye(size) - solved[:size, 1:]
        start = np.linalg.lstsq(rest, solved[:size, 0], rcond=None)[0]
        return cls(states=(solved[:, 0] + solved[:, 1:] @ start).reshape(pull.shape), pivots=factor[0] ** 2,
                   start=start, information=np.asarray(precision @ rest, dtype=np.float64),
                   rounding=size * EPS * float(np.abs(precision).max()))

    @property
    def undetermined(self) -> tuple[float, float]:
        """The log-likelihood that the start adds where a sum over the rows, of rounded terms, cannot determine it.

        The second number is the rounding of what it adds elsewhere: that of the sum, over what rows say of a direction.
        """
        values, vectors = np.linalg.eigh((self.information + self.information.T) / 2)
        added = 0.5 * np.abs(values) * (vectors.T @ self.start) ** 2
        known = values > 10 * EPS * len(self.pivots) * values[-1] + self.rounding
        usual = EPS * np.sqrt(len(self.pivots)) * values[-1] + self.rounding  # of a sum, not the largest
        return float(added[~known].sum()), float(np.sum(added[known] * usual / values[known]))


@frozen
class Displacement:
    """A model at small changes (m) of its free parameters, each of size one.

    They are A and a root of Q, or unbounded coefficients of diagonal dynamics; C; and logarithms of noises.
    """

    model: StateSpace
    free: AnyArray  # d: noises that are not at their lower bound
    form: StateSpaceForm
    squares: Array  # K: mean squares of the states

    @property
    def sizes(self) -> list[int]:
        """The numbers of A or coefficients, Q, C and noises."""
        size, columns = len(self.squares), len(self.model.noise)
        dynamics, noises = self.form.dynamics, {"each": columns, "equal": 1, "vanishing": 0}
        moved = [size if dynamics.coefficients is None else 0, 0] if dynamics.diagonal else [size**2, size**2]
        return [*moved, size * columns, noises[self.form.noise]]

    def parts(self, changes: Array) -> tuple[Array, Array, Array, Array]:
        """Return changes of A (K x K) or coefficients (K), the root of Q (K x K), C (d x K), and noises (d)."""
        transition, root, loadings, noise = np.split(changes, np.cumsum(self.sizes)[:-1])
        size = len(self.squares)
        if not self.form.dynamics.diagonal:
            transition, root = transition.reshape(size, size), np.tril(root.reshape(size, size))
        elif not len(transition):
            transition = np.zeros(size)
        return transition, root, loadings.reshape(-1, size), (noise if len(noise) else np.zeros(1)) * self.free

    def __call__(self, changes: Array) -> StateSpace:
        """Return the model after changes."""
        (moved, root, loadings, noise), model = self.parts(changes), self.model
        lengths = np.sqrt(np.sum(model.loadings**2, axis=1) + model.noise)
        if self.form.dynamics.diagonal:
            own = np.tanh(np.arctanh(np.diag(model.transition)) + moved)
            transition, innovation = np.diag(own), np.diag((1 - own) * (1 + own))
        else:
            stretch = np.linalg.cholesky(model.innovation) @ (np.eye(len(root)) + root)
            transition, innovation = model.transition + moved, stretch @ stretch.T
        return StateSpace(transition=transition, innovation=innovation,
                          loadings=model.loadings + lengths[:, None] * loadings, noise=model.noise * np.exp(noise))

    def directions(self, count: int) -> list[Array]:
        """Return `count` random directions in each part that has parameters."""
        whole = np.cumsum([0, *self.sizes])
        normal = np.random.default_rng(SEED).standard_normal((count, whole[-1]))
        part = np.repeat(np.arange(4), self.sizes)
        return [of_size_one(some * (part == place)) for some in normal for place in np.unique(part)]

    def information(self, direction: Array, rows: int, cells: Array) -> float:
        """Return the information of rows and states together along a direction (m).

        That is n tr(Aᵀ Q⁻¹ A), n (‖E‖² + tr E²) for a root (1 + E), n (1 + λ²) for an unbounded coefficient, Σ m c²/r
        and Σ m/2 for columns with m cells, for states of mean square one but in the part of C.
        """
        (moved, root, loadings, noise), model = self.parts(direction), self.model
        shown = np.sum(self.squares * loadings**2, axis=1) * (np.sum(model.loadings**2, axis=1) / model.noise + 1)
        if self.form.dynamics.diagonal:
            known = moved**2 @ (1 + np.diag(model.transition) ** 2)
        else:
            known = (np.sum(moved * np.linalg.solve(model.innovation, moved)) + np.sum(root**2)
                     + np.trace(root @ root))
        return float(rows * known + cells @ (shown + noise**2 / 2))


def likelihood_checks(similarity: Any, data: Features, fitted: Model, *, form: StateSpaceForm, tolerance: float,
                      floor: float, full: bool) -> list[Check]:
    """Check the log-likelihood of a sequence with gaps as NaN, and that a step of EM would gain no more.

    Convergence says that the gain to come, if gains shrink by a steady factor, is within `tolerance` of the
    likelihood; or that what it gains is as small as rounding, which its falls and changes of 10⁻¹⁰ show. What the
    filter leaves out, it does not seek to gain either.
    """
    model, varying, points = similarity.model, similarity.model.noise > 0, data.values
    stated, trace = fitted.fit["log_likelihood"], fitted.trace
    if not varying.any():
        return [skipped("log-likelihood", "no column varies")]
    if points.size * len(model.transition) ** 2 > MOST and not full:
        return [later("log-likelihood"), later("stationarity")]
    likelihood = RowLikelihood.of(points[:, varying], similarity.means[varying])
    model = replace(model, loadings=model.loadings[varying], noise=model.noise[varying])
    found, noise = likelihood(model)
    if not np.isfinite(found):
        return [skipped("log-likelihood", "states follow each other almost without innovation")]
    cells = likelihood.present.sum(axis=0)
    (lost, rounded, left_out), size = likelihood.filter_losses(model), abs(found) + float(cells.sum())
    apart = np.inf if stated is None else found - stated - data.unit.logarithm(int(cells.sum()))
    gap, known = min((abs(apart), 0.0), (abs(apart - left_out), SHARE * left_out))  # of the best start, or the filter's
    checks = [ratio("log-likelihood", gap, noise + 0.1 * NEAR * size + min(lost, FEW * size)
                    + min(rounded, STARTED * size) + known,
                    "log p(y, x) - log p(x | y), by the precision of the states")]
    least = floor * np.nanvar(points[:, varying], axis=0)
    least = least if form.noise == "each" else np.full(len(least), least.mean())
    displacement = Displacement(model, model.noise > least * (1 + AT_BOUND), form, mean_squares(fitted, form))
    directions = displacement.directions(8 if full else 1)
    hidden = 0.0 if trace is None else float(np.maximum(-np.diff(trace), 0.0).max(initial=0.0))
    course = Course(lambda some: -likelihood(displacement(some))[0], np.zeros(sum(displacement.sizes)), -found,
                    directions, noise, max(tolerance, SMALL) * abs(found) + hidden + noise + left_out)
    information = np.array([displacement.information(some, len(points), cells) for some in directions])
    return [*checks, stationarity_check(course, information, bool(fitted.fit["converged"]))]


def mean_squares(fitted: Model, form: StateSpaceForm) -> Array:
    """Return the mean squares of the states (K), which the canonical form of full dynamics makes one."""
    squares: Array = np.mean(fitted.embedding**2, axis=0)
    if not form.dynamics.diagonal:
        return np.ones(len(squares))
    return squares if fitted.spreads is None else squares + np.mean(np.einsum("tkk->tk", fitted.spreads), axis=0)
