"""Estimates of the factor model S = Λ Λᵀ + Ψ: Newton steps on the uniquenesses Ψ, loadings concentrated out.

At given Ψ the best loadings come from the leading eigenpairs (θ, u) of Ψ^-½ S Ψ^-½, and the function to minimize is
f = log |Σ| + tr Σ⁻¹ S = Σ log ψ + tr Ψ⁻¹S + Σ (log θ + 1 - θ) over the leading θ > 1. Gradient and Hessian in log ψ
are exact (the latter by perturbation of the eigenpairs). Source: Jöreskog, "Some contributions to maximum likelihood
factor analysis", 1967; Lawley and Maxwell, "Factor analysis as a statistical method", 1971.

Loadings from the leading eigenpairs (θ, u) of S - Ψ leave f = ½ Σ θ² over the others, the least sum of squared
residuals; at its minimum the diagonal is fitted, so that the residuals off the diagonal are the least too. Gradient and
Hessian in ψ are exact: those of a function of eigenvalues. Source: Harman and Jones, "Factor analysis by minimizing
residuals (minres)", 1966; Jöreskog, 1977; R's psych (`fa`, `fm = "minres"`).
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import result
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.check import EPS
from mlcli.core.iterate import Iterate, Iterated
from mlcli.core.krylov import SPARE, krylov
from mlcli.core.linalg import MANY, singular, symmetric_eigen
from mlcli.errors import NumericalError

NEWTON = 500  # columns up to which the Hessian is used whole; beyond, where it is nearly diagonal, its diagonal
DESCENT = 1e-4  # share of the decrease predicted by the slope, at least (Armijo)
HALVINGS = 40
NOTHING = 20  # roundings that are taken for no noise
RESIDUAL = 1e-12  # of eigenpairs computed without the others, relative to the largest eigenvalue


@frozen
class ColumnCovariance:
    """S (d x d), the covariance of columns in units near their deviations."""

    matrix: Array

    @property
    def variances(self) -> Array:
        """The diagonal of S (d)."""
        return np.diag(self.matrix)

    @property
    def rank(self) -> int:
        """The size of the eigenproblem."""
        return len(self.matrix)

    def eigenpairs(self, uniquenesses: Array) -> tuple[Array, Array]:
        """Return eigenvalues (d, descending) and eigenvectors (d x d) of Ψ^-½ S Ψ^-½ for uniquenesses (d)."""
        roots = 1 / np.sqrt(uniquenesses)
        return symmetric_eigen(self.matrix * np.outer(roots, roots))

    def times(self, block: Array) -> Array:
        """Return S times a block of vectors (d x b)."""
        return self.matrix @ block

    @property
    def log_determinant(self) -> float | None:
        """log |S|; None where S is singular."""
        values = symmetric_eigen(self.matrix)[0]
        return float(np.log(values).sum()) if regular(values) else None

    @property
    def partial_variances(self) -> Array:
        """Each column's residual variance given all others (d); half of its variance where S is singular."""
        values, vectors = symmetric_eigen(self.matrix)
        return 1 / (vectors**2 / values).sum(axis=1) if regular(values) else 0.5 * self.variances


@frozen
class Thin:
    """S = FᵀF by a factor F (r x d) with fewer rows than columns: singular."""

    factor: Array
    log_determinant = None

    @property
    def variances(self) -> Array:
        """The diagonal of S (d)."""
        return np.einsum("ij,ij->j", self.factor, self.factor)

    @property
    def rank(self) -> int:
        """The size of the eigenproblem."""
        return len(self.factor)

    def eigenpairs(self, uniquenesses: Array) -> tuple[Array, Array]:
        """Return the r eigenvalues (descending) of Ψ^-½ S Ψ^-½ that may not be zero, and their eigenvectors (d x r)."""
        part = self.factor / np.sqrt(uniquenesses)
        values, vectors = symmetric_eigen(part @ part.T)
        return values, part.T @ vectors / np.sqrt(np.maximum(values, EPS * values[0]))

    def times(self, block: Array) -> Array:
        """Return S times a block of vectors (d x b)."""
        return self.factor.T @ (self.factor @ block)

    @property
    def partial_variances(self) -> Array:
        """Half of each column's variance (d): there are too few points for a better start."""
        return 0.5 * self.variances


Moments = ColumnCovariance | Thin


def leading_eigenpairs(moments: Moments, uniquenesses: Array, start: Array, count: int) -> tuple[Array, Array]:
    """Return the first eigenvalues (descending) and eigenvectors of Ψ^-½ S Ψ^-½ for uniquenesses (d).

    `start` (d x b) are vectors near the eigenvectors. Returns all eigenpairs where a few are not cheaper.
    """
    roots = 1 / np.sqrt(uniquenesses)[:, None]
    if moments.rank >= MANY and 4 * start.shape[1] <= moments.rank:
        try:
            found = krylov(lambda block: roots * moments.times(roots * block), start, count, RESIDUAL)
        except NumericalError:
            pass
        else:
            return found.values[:count], found.block[:, : start.shape[1]]
    return moments.eigenpairs(uniquenesses)


def regular(values: Array) -> bool:
    """Whether no eigenvalue of a covariance, a (d,) array in descending order, is zero to rounding."""
    return bool(values[-1] > len(values) * EPS * values[0])


@frozen
class Bounds:
    """Bounds of the uniquenesses: low ≤ t ≤ high for t = log ψ."""

    low: Array  # d
    high: Array  # d

    @classmethod
    def of(cls, moments: Moments, lower: float) -> "Bounds":
        """Return the bounds from `lower`, a share of each column's variance, to all of it."""
        high = np.log(moments.variances)
        return cls(high + np.log(lower), high)

    def start(self, moments: Moments, factors: int) -> Array:
        """Return parameters to start from (d), those of R's factanal."""
        start = (1 - 0.5 * factors / len(moments.variances)) * moments.partial_variances
        return np.asarray(np.clip(np.log(start), self.low, self.high))

    def free(self, parameters: Array, slope: Array) -> AnyArray:
        """Return which parameters (d) a descent along the slope (d) does not push beyond a bound, a (d,) array."""
        pressed = ((parameters <= self.low) & (slope > 0)) | ((parameters >= self.high) & (slope < 0))
        return np.asarray(~pressed)


@result("factors")
@frozen
class FactorEstimate:
    """The factor model at some parameters."""

    parameters: Array  # d, log ψ
    uniquenesses: Array  # d, ψ
    values: Array  # θ, descending
    vectors: Array  # d x r
    active: int  # factors that carry something: leading θ > 1
    f: float  # log |Σ| + tr Σ⁻¹ S
    turn: Array | None = None  # active x active, orthogonal: from the axes of the likelihood to others, as of minres

    @property
    def objective(self) -> float:
        """The log-likelihood of one observation without its constant, times two."""
        return -self.f

    @property
    def noiseless(self) -> bool:
        """Whether the uniquenesses are only rounding compared with the largest factor's variance."""
        return bool(self.values[0] * NOTHING * len(self.uniquenesses) * EPS >= 1)

    @property
    def loadings(self) -> Array:
        """Λ = Ψ^½ U (Θ - I)^½ (d x active), turned to other axes where there are any."""
        leading = np.sqrt(self.values[: self.active] - 1)
        loadings = np.sqrt(self.uniquenesses)[:, None] * self.vectors[:, : self.active] * leading
        return loadings if self.turn is None else loadings @ self.turn


class Estimate(Protocol):
    """An estimate at some parameters, whose objective a descent raises."""

    @property
    def parameters(self) -> Array:
        """The logarithms of the uniquenesses (d)."""

    @property
    def objective(self) -> float:
        """Minus what the descent lowers."""


E = TypeVar("E", bound=Estimate)


def descend(first: E, at: Callable[[Array, E], E], derivatives: Callable[[E], tuple[Array, Array]],
            rounding: Callable[[E], float], bounds: Bounds, iterate: Iterate) -> Iterated[E]:
    """Return the minimum of minus the objective by Newton's steps within bounds, halved until they lower it (Armijo).

    `at` gives the estimate at parameters (d), given one nearby; `derivatives` are gradient (d) and Hessian (d x d) in
    log ψ, and `rounding` is that of the objective.
    """
    def step(state: E) -> E:
        slope, curvature = derivatives(state)
        direction = downhill(slope, curvature, bounds.free(state.parameters, slope))
        allowed = rounding(state)
        for halving in range(HALVINGS):
            moved = np.clip(state.parameters + 0.5**halving * direction, bounds.low, bounds.high)
            reached = at(moved, state)
            promised = DESCENT * float(slope @ (moved - state.parameters))
            if -reached.objective <= -state.objective + promised + allowed:
                return reached
        return state

    def change(before: E, after: E) -> float:  # the largest relative change of a uniqueness
        return float(np.abs(after.parameters - before.parameters).max(initial=0.0))

    return iterate(step, first, change)


def maximum_likelihood(moments: Moments, factors: int, bounds: Bounds, iterate: Iterate) -> Iterated[FactorEstimate]:
    """Return the uniquenesses and loadings of largest likelihood."""
    columns = len(moments.variances)
    width = factors + SPARE

    def at(parameters: Array, near: Array) -> FactorEstimate:
        psi = np.exp(parameters)
        values, vectors = leading_eigenpairs(moments, psi, near[:, :width], factors)
        active = int(np.sum(values[:factors] > 1))
        leading = values[:active]
        f = float(np.log(psi).sum() + (moments.variances / psi).sum() + (np.log(leading) + 1 - leading).sum())
        return FactorEstimate(parameters=parameters, uniquenesses=psi, values=values, vectors=vectors, active=active,
                              f=f)

    def rounding(state: FactorEstimate) -> float:  # of f, a sum of terms of this size
        terms = float(np.abs(np.log(state.uniquenesses)).sum() + (moments.variances / state.uniquenesses).sum())
        return 16 * EPS * (terms + columns)

    near = np.random.default_rng(0).standard_normal((columns, width))
    return descend(at(bounds.start(moments, factors), near), lambda parameters, state: at(parameters, state.vectors),
                   lambda state: (gradient(state, moments), hessian(state, moments)), rounding, bounds, iterate)


def equal_noise(moments: Moments, factors: int) -> FactorEstimate:
    """Return the maximum for equal uniquenesses, in closed form: the mean of the discarded eigenvalues.

    Source: Tipping and Bishop, 1999. Noise within rounding counts as rounding.
    """
    columns = len(moments.variances)
    values, vectors = moments.eigenpairs(np.ones(columns))
    rest = (float(moments.variances.sum()) - float(values[:factors].sum())) / (columns - factors)
    noise = max(rest, 0.5 * NOTHING * columns * EPS * float(values[0]))
    active = int(np.sum(values[:factors] > noise))
    f = columns * (np.log(noise) + 1) + float(np.log(values[:active] / noise).sum())
    return FactorEstimate(parameters=np.full(columns, np.log(noise)), uniquenesses=np.full(columns, noise),
                          values=values / noise, vectors=vectors, active=active, f=f)


def gradient(state: FactorEstimate, moments: Moments) -> Array:
    """Return ∂f / ∂ log ψ (d)."""
    leading = state.values[: state.active]
    explained = (state.vectors[:, : state.active] ** 2 * (leading - 1)).sum(axis=1)
    return np.asarray(1 - moments.variances / state.uniquenesses + explained)


def hessian(state: FactorEstimate, moments: Moments) -> Array:
    """Return ∂²f / ∂ (log ψ)² (d x d), from all eigenpairs; for many columns its diagonal (d), without a small part."""
    few, unit = state.active, state.vectors**2
    if isinstance(moments, Thin) or len(unit) > NEWTON:
        rest = moments.variances / state.uniquenesses - unit[:, :few] @ state.values[:few]
        return np.asarray((1 - unit[:, :few].sum(axis=1)) * rest)
    values, rest, vectors = state.values[:few], state.values[few:], state.vectors[:, few:]
    result = (vectors @ vectors.T) * ((vectors * rest) @ vectors.T)
    for value, vector in zip(values, state.vectors[:, :few].T, strict=True):
        weights = (1 - rest) * (value + rest) / np.maximum(value - rest, EPS * value)
        result += np.outer(vector, vector) * ((vectors * weights) @ vectors.T)
    return result


def downhill(slope: Array, curvature: Array, free: AnyArray) -> Array:
    """Return Newton's direction (d) for a slope (d) in the free parameters, with curvatures (d x d) by their size.

    Negative curvature counts as positive, so that the direction leads down.
    """
    direction = np.zeros_like(slope)
    if not free.any():
        return direction
    if curvature.ndim == 1:
        direction[free] = -slope[free] / np.maximum(np.abs(curvature[free]), np.sqrt(EPS))
        return direction
    values, vectors = symmetric_eigen(curvature[np.ix_(free, free)])
    sizes = np.maximum(np.abs(values), np.sqrt(EPS) * np.abs(values).max())
    direction[free] = -vectors @ ((vectors.T @ slope[free]) / sizes)
    return direction


@result("least-squares")
@frozen
class FactorResiduals:
    """The factor model at some uniquenesses."""

    parameters: Array  # d, log ψ
    uniquenesses: Array  # d, ψ
    values: Array  # d, θ, descending
    vectors: Array  # d x d
    active: int  # factors that carry something: leading θ > 0

    @property
    def objective(self) -> float:
        """Minus half the sum of squared residuals."""
        return -0.5 * float((self.values[self.active:] ** 2).sum())

    @property
    def loadings(self) -> Array:
        """Λ = U Θ^½ (d x active)."""
        return self.vectors[:, : self.active] * np.sqrt(self.values[: self.active])


def least_squares(moments: Moments, factors: int, bounds: Bounds, iterate: Iterate) -> Iterated[FactorEstimate]:
    """Return the estimate with the least squared residuals; its f is the likelihood's, for the test of fit."""
    matrix = moments.matrix if isinstance(moments, ColumnCovariance) else moments.factor.T @ moments.factor

    def at(parameters: Array) -> FactorResiduals:
        psi = np.exp(parameters)
        values, vectors = symmetric_eigen(matrix - np.diag(psi))
        return FactorResiduals(parameters=parameters, uniquenesses=psi, values=values, vectors=vectors,
                               active=int(np.sum(values[:factors] > 0)))

    found = descend(at(bounds.start(moments, factors)), lambda parameters, _: at(parameters), derivatives,
                    lambda state: 16 * EPS * len(matrix) * float(np.abs(state.values).max()) ** 2, bounds, iterate)
    return Iterated(estimate(found.state, moments), np.zeros(len(found.trace)), found.converged)


def derivatives(state: FactorResiduals) -> tuple[Array, Array]:
    """Return gradient (d) and Hessian (d x d) of f = ½ Σ θ² over the trailing θ in log ψ.

    With h(θ) = θ for trailing values and 0 for leading ones, ∂f/∂ψᵢ = -h(S - Ψ)ᵢᵢ, and the second derivatives are
    Σ Hₘₙ uᵢₘ uᵢₙ uₖₘ uₖₙ with Hₘₙ the divided differences of h.
    """
    few = state.active
    leading, trailing = state.vectors[:, :few], state.vectors[:, few:]
    values, rest = state.values[:few], state.values[few:]
    slope = -((trailing**2) @ rest)
    bend = (trailing @ trailing.T) ** 2
    for value, vector in zip(values, leading.T, strict=True):
        weights = rest / np.minimum(rest - value, -EPS * max(value, 1.0))
        bend += 2 * np.outer(vector, vector) * ((trailing * weights) @ trailing.T)
    psi = state.uniquenesses
    return psi * slope, np.outer(psi, psi) * bend + np.diag(psi * slope)


def estimate(state: FactorResiduals, moments: Moments) -> FactorEstimate:
    """Return the estimate of the likelihood's form: Λ W = Ψ^½ U (Θ - I)^½ with a rotation W to its axes."""
    loadings, psi = state.loadings, state.uniquenesses
    vectors, sizes, turn = singular(loadings / np.sqrt(psi)[:, None])
    values = 1 + sizes**2
    scaled = vectors / np.sqrt(psi)[:, None]
    carried = np.einsum("ij,ij->j", scaled, moments.times(scaled))
    f = float(np.log(psi).sum() + np.log(values).sum() + (moments.variances / psi).sum()
              - ((1 - 1 / values) * carried).sum())
    return FactorEstimate(parameters=state.parameters, uniquenesses=psi, values=values, vectors=vectors,
                          active=state.active, f=f, turn=turn)
