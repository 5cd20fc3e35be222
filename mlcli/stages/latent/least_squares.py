"""The factor model by least squares of the residual correlations (minres): Newton steps on the uniquenesses Ψ.

Loadings from the leading eigenpairs (θ, u) of S - Ψ leave f = ½ Σ θ² over the others, the least sum of squared
residuals; at its minimum the diagonal is fitted, so that the residuals off the diagonal are the least too. Gradient and
Hessian in ψ are exact: those of a function of eigenvalues. Source: Harman and Jones, "Factor analysis by minimizing
residuals (minres)", 1966; Jöreskog, 1977; R's psych (`fa`, `fm = "minres"`).
"""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import result
from mlcli.base.types import Array
from mlcli.stages.algebra.iterate import Iterate, Iterated
from mlcli.stages.algebra.linalg import EPS, singular, symmetric_eigen
from mlcli.stages.latent.factor_analysis import DESCENT, HALVINGS, Bounds, Estimate, Moments, Whole, downhill


@result("least-squares")
@frozen
class Residuals:
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


def least_squares(moments: Moments, factors: int, bounds: Bounds, iterate: Iterate) -> Iterated[Estimate]:
    """Return the estimate with the least squared residuals; its f is the likelihood's, for the test of fit."""
    matrix = moments.matrix if isinstance(moments, Whole) else moments.factor.T @ moments.factor

    def at(parameters: Array) -> Residuals:
        psi = np.exp(parameters)
        values, vectors = symmetric_eigen(matrix - np.diag(psi))
        return Residuals(parameters=parameters, uniquenesses=psi, values=values, vectors=vectors,
                         active=int(np.sum(values[:factors] > 0)))

    def step(state: Residuals) -> Residuals:
        slope, curvature = derivatives(state)
        direction = downhill(slope, curvature, bounds.free(state.parameters, slope))
        rounding = 16 * EPS * len(matrix) * float(np.abs(state.values).max()) ** 2
        for halving in range(HALVINGS):
            moved = np.clip(state.parameters + 0.5**halving * direction, bounds.low, bounds.high)
            reached = at(moved)
            promised = DESCENT * float(slope @ (moved - state.parameters))
            if -reached.objective <= -state.objective + promised + rounding:
                return reached
        return state

    start = (1 - 0.5 * factors / len(matrix)) * moments.partial_variances
    found = iterate(step, at(np.clip(np.log(start), bounds.low, bounds.high)), step_size)
    return Iterated(estimate(found.state, moments), np.zeros(len(found.trace)), found.converged)


def step_size(before: Residuals, after: Residuals) -> float:
    """Return the largest relative change of a uniqueness."""
    return float(np.abs(after.parameters - before.parameters).max(initial=0.0))


def derivatives(state: Residuals) -> tuple[Array, Array]:
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


def estimate(state: Residuals, moments: Moments) -> Estimate:
    """Return the estimate of the likelihood's form: Λ W = Ψ^½ U (Θ - I)^½ with a rotation W to its axes."""
    loadings, psi = state.loadings, state.uniquenesses
    vectors, sizes, turn = singular(loadings / np.sqrt(psi)[:, None])
    values = 1 + sizes**2
    scaled = vectors / np.sqrt(psi)[:, None]
    carried = np.einsum("ij,ij->j", scaled, moments.times(scaled))
    f = float(np.log(psi).sum() + np.log(values).sum() + (moments.variances / psi).sum()
              - ((1 - 1 / values) * carried).sum())
    return Estimate(parameters=state.parameters, uniquenesses=psi, values=values, vectors=vectors,
                    active=state.active, f=f, turn=turn)
