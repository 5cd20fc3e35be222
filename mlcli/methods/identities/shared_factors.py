"""Inter-battery factor analysis, by its likelihood at the loadings that a run states.

Columns are taken in orthonormal coordinates of each view, X = Q₁R₁ √n and Y = Q₂R₂ √n, in which the data have the
covariance J = [I B; Bᵀ I] with B = Q₁ᵀQ₂, and loadings Aₖ = Rₖ⁻ᵀWₖ give the model M = [I A₁A₂ᵀ; A₂A₁ᵀ I]: noise may
have any covariance, so that each view's own is that of the data. The log-likelihood is

    -n/2 (D ln 2π + 2 Σ ln |Rₖ| + ln |M| + tr M⁻¹J),

whose slope is that of M⁻¹(M - J)M⁻¹ across: zero where (A₁A₂ᵀ - B) A₂ and (A₂A₁ᵀ - Bᵀ) A₁ are. AₖᵀAₖ holds the
correlations.
"""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, later, ratio, skipped
from mlcli.base.values.inputs import Features, TwoViews
from mlcli.methods.frame.model import Model

MOST = 10**8  # products of columns of a quick check
SOLID = 1e-3  # relative rounding up to which a likelihood has a maximum


@frozen
class OrthonormalView:
    """Rows of a view in orthonormal coordinates, and its loadings in these."""

    rows: Array  # n x d, Q √n
    loadings: Array  # d x p, A
    volume: float  # ln |R| in the unit of the input
    wrong: float  # relative rounding of A and B

    @classmethod
    def of(cls, view: Features, stated: Array) -> "OrthonormalView | None":
        """Return a view (n x d) with loadings (d x p); None where its columns depend on each other."""
        from scipy.linalg import solve_triangular

        points = view.values
        centered = points - points.mean(axis=0)
        scale = np.sqrt(np.mean(centered**2, axis=0))
        if len(points) <= len(scale) or not (scale > 0).all():
            return None
        axes, triangle = np.linalg.qr(centered / scale)
        root = np.sqrt(len(points))
        triangle, sizes = triangle / root, np.abs(np.diag(triangle)) / root
        condition = float(np.linalg.cond(triangle))
        lost = float((np.abs(points).max(axis=0) / scale).max())  # about rounded means
        wrong = EPS * (max(points.shape[0], 10) + root * lost) * condition
        if not wrong < SOLID:
            return None
        loadings = solve_triangular(triangle, view.unit.measured(stated) / scale[:, None], trans="T")
        volume = float(np.log(sizes).sum() + np.log(scale).sum()) + view.unit.logarithm(len(scale))
        return cls(axes * root, loadings, volume, wrong)


def shared_factor_checks(data: TwoViews, model: Model, *, both: bool, full: bool) -> list[Check]:
    """Check lengths of loadings, scores and likelihood, and that the likelihood has no slope at the loadings."""
    rows, first = data.values.shape
    size = first + data.view.values.shape[1]
    if max(rows, size) * size**2 > MOST and not full:
        return [later("log-likelihood"), later("stationarity")]
    stated = model.fit["log_likelihood"]
    loadings = None if model.loadings is None else model.loadings.values
    views = [] if loadings is None else [OrthonormalView.of(data, loadings[:first]),
                                         OrthonormalView.of(data.view, loadings[first:])]
    known = [view for view in views if view is not None]
    if len(known) < 2:
        return [skipped("log-likelihood", "the columns of a view depend on each other, or loadings are not at hand")]
    (one, other), correlations = known, model.ranks.solved
    crossed, wrong = one.rows.T @ other.rows / rows, one.wrong + other.wrong
    sizes = np.linalg.svd(crossed, compute_uv=False)
    if not wrong < SOLID * (1 - sizes[0]):
        return [skipped("log-likelihood", "a canonical correlation is one")]
    count = min(len(correlations), one.loadings.shape[1])
    kept = np.pad(correlations[:count], (0, one.loadings.shape[1] - count))
    lengths = [view.loadings.T @ view.loadings - np.diag(kept) for view in known]
    left = one.loadings @ other.loadings.T - crossed
    covariance = joint(one.loadings @ other.loadings.T)
    terms = np.array([size * np.log(2 * np.pi) + 2 * (one.volume + other.volume), np.linalg.slogdet(covariance)[1],
                      np.trace(np.linalg.solve(covariance, joint(crossed)))])
    noise = rows * (size * wrong / (1 - float(kept.max(initial=0.0))) + EPS * float(np.abs(terms).sum()))
    return [
        ratio("correlations", largest(sizes[:len(correlations)] - correlations), wrong,
              "canonical correlations, from orthonormal coordinates of both views"),
        ratio("lengths", max(map(largest, lengths)), wrong,
              "WᵀS⁻¹W of each view is diagonal and holds the canonical correlations"),
        posterior_check(known, covariance if both else np.eye(first), model, wrong),
        ratio("log-likelihood", np.inf if stated is None else abs(rows / 2 * float(terms.sum()) + stated), noise,
              "that of the normal distribution of both views, by their loadings"),
        ratio("stationarity", max(largest(left @ other.loadings), largest(left.T @ one.loadings)), wrong,
              "the likelihood has no slope in the loadings: (W₁W₂ᵀ - S₁₂) S₂⁻¹W₂ = 0, and so for W₁")]


def joint(crossed: Array) -> Array:
    """Return the covariance of two white views with a covariance (d x e) across."""
    return np.block([[np.eye(len(crossed)), crossed], [crossed.T, np.eye(crossed.shape[1])]])


def largest(values: Array) -> float:
    """Return the largest absolute value of an array of any shape."""
    return float(np.abs(values).max(initial=0.0))


def posterior_check(views: list[OrthonormalView], covariance: Array, model: Model, wrong: float) -> Check:
    """Check that coordinates are WᵀC⁻¹(x - mean), by the covariance C of the first view, or of both."""
    given = views if len(covariance) > len(views[0].loadings) else views[:1]
    rows, loadings = np.hstack([view.rows for view in given]), np.vstack([view.loadings for view in given])
    return ratio("posterior", largest(rows @ np.linalg.solve(covariance, loadings) - model.embedding),
                 wrong * float(np.linalg.norm(rows, axis=1).max()) * float(np.linalg.cond(covariance)),
                 "coordinates are the factors' expectations, given the rows")
