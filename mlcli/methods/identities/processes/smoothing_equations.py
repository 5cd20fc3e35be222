"""The certificate of the states of a linear-Gaussian model, by the equations that define them.

Given all rows, the states and the start of largest probability are unique: there the gradient of

    Σ ‖yₜ - C xₜ‖² / noise + Σ (xₜ₊₁ - A xₜ)ᵀ Q⁻¹ (xₜ₊₁ - A xₜ)

is zero. The check uses no part of Kalman's recursions.
"""

from typing import Any

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, count, ratio, skipped
from mlcli.stages.latent.forms import Form
from mlcli.stages.latent.kalman import StateSpace

NEAR = 1e-9  # relative rounding of a likelihood: it is a small difference of large sums where noise is at its floor
SINGULAR = 1e12  # condition of the innovation beyond which its inverse has no digits to compare


def state_checks(similarity: Any, points: Array, states: Array, carried: Array, form: Form, floor: float,
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
    spread = float(np.linalg.norm(model.innovation, 2))
    # the error of the recursions: rounding times the information of the rows over the prior information
    scale = EPS * (evidence + stiffness) * (1 + evidence * spread) * float(np.abs(states).max(initial=0.0))
    origin = float((np.abs(loadings.T * weights) @ np.abs(means[varying])).max(initial=0.0))
    return ratio("states", float(np.abs(gradient).max(initial=0.0)), scale * len(model.transition) + 10 * EPS * origin,
                 "the gradient of the probability of all rows and states is zero")


def form_checks(model: StateSpace, carried: Array, form: Form, least: Array) -> list[Check]:
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
    apart = float(np.abs(product - np.diag(squares)).max(initial=0.0))
    shares = squares / (top or 1.0) - carried[: len(squares)] / (stated or 1.0)
    rounding = EPS * max(*model.loadings.shape, 10)
    return [ratio("loadings", apart, 10 * rounding * top, "columns of C are orthogonal"),
            ratio("carried", float(np.abs(shares).max(initial=0.0)), rounding,
                  "the spectrum holds the squared lengths of the columns of C, as shares of the first")]


def ascent_check(trace: Array | None, points: Array) -> Check:
    """Check that no iteration lowers the log-likelihood, an (i,) array; points (n x d) give the number of cells."""
    if trace is None or len(trace) < 2:
        return skipped("likelihood", "the objective of the iterations is not at hand")
    cells = int(np.isfinite(points).sum())
    falls = float(np.maximum(-np.diff(trace), 0.0).max())
    return ratio("likelihood", falls, NEAR * (cells + float(np.abs(trace).max())),
                 "no iteration lowers the log-likelihood")
