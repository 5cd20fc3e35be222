"""Rotated loadings, by the equations of their criterion at the loadings that a run states; nothing is rotated again.

A step of varimax (Kaiser, 1958) turns loadings Λ by the orthogonal matrix nearest to P = Λᵀ (Λ³ - Λ diag mean Λ²), in
each plane by the angle (Pⱼₖ - Pₖⱼ) / (Pⱼⱼ + Pₖₖ). Quartimin with factors of correlations Φ has no slope where
M = diag(M) Φ, M = Λᵀ (Λ ∘ N), with Nᵢⱼ the squared loadings of a row on the other factors: by Λ = A T⁻ᵀ and Φ = TᵀT
this is the gradient in T along columns of length one (Jennrich, 2002). Promax is varimax, from which least squares lead
to powers of it (Hendrickson and White, 1964); varimax starts from the axes of the likelihood, to which the stated
loadings lead back: Λ Φ Λᵀ = L Lᵀ with orthogonal columns of Ψ^(-1/2) L.
"""

from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, ratio, skipped
from mlcli.base.values.inputs import Covariance, Features
from mlcli.certify.subject import max_abs
from mlcli.core.check.stationarity import UNCONVERGED
from mlcli.core.iterate import SMALL
from mlcli.core.latent.rotations import Rotation, Varimax, rows_of_length_one
from mlcli.core.model import Model
from mlcli.core.similarities.projector import require_projector

BALANCED = 1e3  # small steps and roundings of a slope that may be rounding of none


@frozen
class RotatedLoadings:
    """Loadings of the columns that vary over their deviations, on factors that carry something."""

    values: Array  # d x q
    factors: Array  # q x q, Φ
    noise: Array  # d: uniquenesses, or ones where the noise is equal

    @classmethod
    def of(cls, data: Features | Covariance, model: Model, *, equal: bool, weighed: bool = True,
           ) -> "RotatedLoadings | None":
        """Return the loadings that a model states; None where no column varies, or a variance is no positive number.

        Without rotation those of the likelihood are orthogonal where they are `weighed` by the noise.
        """
        fit: Any = model.fit
        if not fit.get("uniquenesses"):
            return None
        shares, variances = (np.array([np.nan if value is None else value for value in dict(fit[name]).values()])
                             for name in ("uniquenesses", "variances"))
        varying = np.isfinite(shares)
        if isinstance(data, Covariance):
            loadings = np.zeros((len(shares), 0)) if model.loadings is None else model.loadings.values
        else:
            loadings = (data.unit**-1).measured(np.asarray(model.directions))
        used = np.any(loadings != 0, axis=0)
        squares = np.full(varying.sum(), variances[varying].mean()) if equal and varying.any() else variances[varying]
        if not np.all((squares > 0) & np.isfinite(squares)):  # of numbers as small as 1e-160, or as large as 1e160
            return None
        return cls(loadings[varying][:, used] / np.sqrt(squares)[:, None],
                   np.asarray(fit["factor_correlations"], dtype=np.float64)[np.ix_(used, used)],
                   np.ones_like(squares) if equal or not weighed else shares[varying])

    @classmethod
    def of_equal_noise(cls, model: Model) -> "RotatedLoadings":
        """Return the loadings of probabilistic PCA, over the root of the model's mean variance of a column."""
        loadings, fit = np.asarray(model.directions), dict(model.fit)
        factors = np.asarray(fit.get("factor_correlations") or np.eye(loadings.shape[1]), dtype=np.float64)
        lengths = np.sum(loadings**2, axis=0)
        used = lengths > 10 * len(loadings) * EPS * lengths.max(initial=0.0)  # others are not rotated
        noise = float(require_projector(model.projector).similarity.parts.latent.noise)
        scale = np.sqrt(np.einsum("ij,jk,ik->", loadings, factors, loadings) / len(loadings) + noise) or 1.0
        factors = factors[np.ix_(used, used)]
        shares = np.sum((loadings[:, used] @ factors) * loadings[:, used], axis=1)
        vary = shares > (10 * len(loadings) * EPS) ** 2 * shares.max(initial=0.0)  # others vary by rounding alone
        return cls(loadings[vary][:, used] / scale, factors, np.ones(int(vary.sum())))

    @property
    def rounding(self) -> float:
        """The rounding of products of columns."""
        return EPS * max(*self.values.shape, 10)

    @property
    def over_noise(self) -> Array:
        """Loadings over deviations of the noise (d x q)."""
        return self.values / np.sqrt(self.noise)[:, None]

    def rows(self, *, normalize: bool) -> Array:
        """Return the loadings (d x q), or where to `normalize` those over the roots of communalities that are not zero.
        """
        if not normalize:
            return self.values
        squares = np.einsum("ij,jk,ik->i", self.values, self.factors, self.values)
        return self.values / np.sqrt(np.where(squares > 0, squares, np.inf))[:, None]

    @property
    def of_likelihood(self) -> Array:
        """The loadings before rotation (d x q), up to signs: Λ Φ^(1/2) on its principal axes, in units of the noise."""
        directions, sizes = principal(self.over_noise, self.factors)
        return np.asarray(directions * sizes * np.sqrt(self.noise)[:, None])


def principal(loadings: Array, factors: Array) -> tuple[Array, Array]:
    """Return the principal directions (d x q) of Λ Φ Λᵀ, and the roots of its eigenvalues (q)."""
    values, vectors = np.linalg.eigh(factors)
    roots = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.linalg.svd(loadings @ roots, full_matrices=False)[:2]


def rotated_checks(rotation: Rotation, model: Model) -> list[Check]:
    """Check rotated loadings of probabilistic PCA: their criterion, distribution and posterior covariance."""
    latent, loadings = require_projector(model.projector).similarity.parts.latent, np.asarray(model.directions)
    fit: Any = model.fit
    factors = np.asarray(fit["factor_correlations"], dtype=np.float64)
    rounding = EPS * max(*loadings.shape, 10) * float(np.linalg.cond(factors))
    gap = loadings @ factors @ loadings.T - latent.loadings @ latent.loadings.T
    size = float(np.sum(latent.loadings**2)) + latent.noise
    precision = loadings.T @ loadings + latent.noise * np.linalg.inv(factors)
    stated = np.asarray(fit["posterior_covariance"], dtype=np.float64)
    apart = precision @ stated - latent.noise * np.eye(len(factors))
    carried = np.sum(loadings**2, axis=0) > 0
    return [ratio("turned", float(np.abs(gap).max()), rounding * size, "Λ Φ Λᵀ of the rotated loadings = W Wᵀ"),
            ratio("posterior covariance", max_abs(apart[carried]), rounding * size * max(
                float(np.abs(stated).max()), 1.0), "σ² (ΛᵀΛ + σ² Φ⁻¹)⁻¹, as stated"),
            *rotation_checks(rotation, RotatedLoadings.of_equal_noise(model),
                             bool(fit.get("rotation_converged", True)))]


def rotation_checks(rotation: Rotation, loadings: RotatedLoadings | None, converged: bool) -> list[Check]:
    """Check factors of unit variance, and that rotated loadings are where their criterion has no slope."""
    if loadings is None or not loadings.values.size:
        return [skipped("rotation", "no column has a loading, or variances are outside the range of numbers")]
    size, oblique = len(loadings.factors), rotation.name in ("promax", "oblimin")
    gap = np.diag(loadings.factors) - 1 if oblique else loadings.factors - np.eye(size)
    checks = [ratio("factors", float(np.abs(gap).max()), EPS * max(size, 10) * float(np.linalg.cond(loadings.factors)),
                    "factors have variance one" + ("" if oblique else " and no correlations"))]
    if size < 2:
        return checks
    if not converged:
        return [*checks, skipped("rotation", UNCONVERGED)]
    return [*checks, CRITERIA[rotation.name](rotation, loadings)]


def principal_check(_: Any, loadings: RotatedLoadings) -> Check:
    """Check that loadings over deviations of the noise are orthogonal."""
    products = loadings.over_noise.T @ loadings.over_noise
    return ratio("rotation", float(np.abs(products - np.diag(np.diag(products))).max()),
                 loadings.rounding * float(np.diag(products).max()), "ΛᵀΨ⁻¹Λ is diagonal")


@frozen
class Planes:
    """The slopes of varimax in the planes of pairs of axes of loadings."""

    turning: Array  # q x q: Pⱼₖ - Pₖⱼ
    still: Array  # q x q: what is allowed of it, as small steps and rounding
    bend: Array  # q x q: its slope by the angle

    @classmethod
    def of(cls, values: Array, rounding: float) -> "Planes":
        """Return the planes of loadings (d x q)."""
        squares = values**2
        centered = squares - squares.mean(axis=0)
        product = values.T @ (values * centered)
        sizes = np.diag(product)
        crossed = values[:, :, None] * values[:, None, :]
        apart = np.sum((centered[:, :, None] - centered[:, None, :]) ** 2, axis=0)
        mixed = 4 * np.sum((crossed - crossed.mean(axis=0)) ** 2, axis=0)
        return cls(product - product.T, SMALL * (sizes[:, None] + sizes) + rounding * float(np.sum(squares**2)),
                   apart - mixed)

    @property
    def angle(self) -> float:
        """The angle that small steps and rounding leave open."""
        pairs = np.triu_indices(len(self.bend), 1)
        with np.errstate(divide="ignore"):
            return float(np.max(self.still[pairs] / np.abs(self.bend[pairs])))


    @property
    def balanced(self) -> bool:
        """Whether some plane has no slope where it is no maximum."""
        pairs = np.triu_indices(len(self.bend), 1)
        return bool(np.any((np.abs(self.turning) <= BALANCED * self.still)[pairs] & (self.bend <= 0)[pairs]))


def varimax_check(rotation: Any, loadings: RotatedLoadings) -> Check:
    """Check that the next step of varimax would turn no plane farther than a small step."""
    planes = Planes.of(loadings.rows(normalize=rotation.normalize), loadings.rounding)
    return ratio("rotation", float(np.max(np.abs(planes.turning) / planes.still)), 1.0,
                 "the angle by which a step of varimax would turn two factors, over what convergence allows")


def quartimin_check(rotation: Any, loadings: RotatedLoadings) -> Check:
    """Check that quartimin has no slope under oblique rotations, beyond a small one and rounding."""
    values = loadings.rows(normalize=rotation.normalize)
    squares = values**2
    product = values.T @ (values * (squares.sum(axis=1, keepdims=True) - squares))
    gap = np.diag(product)[:, None] * loadings.factors - product
    slope = float(np.sqrt(np.abs(np.sum(gap.T * np.linalg.solve(loadings.factors, gap.T)))))
    size = loadings.rounding * float(np.sum(squares.sum(axis=1) ** 2)) * float(np.linalg.cond(loadings.factors))
    return ratio("rotation", slope, SMALL + size, "the slope of quartimin under oblique rotations")


def promax_check(rotation: Any, loadings: RotatedLoadings) -> Check:
    """Check that loadings are those to which least squares lead from varimax, in any order and with any signs."""
    from scipy.optimize import linear_sum_assignment

    start = loadings.of_likelihood
    if Planes.of(rows_of_length_one(start), loadings.rounding).balanced:
        return skipped("rotation", "varimax starts where it has no slope, and is not the largest: rounding decides")
    turned = Varimax().turn(start)
    if not turned.converged:
        return skipped("rotation", "varimax from the axes of the likelihood did not converge")
    first = start @ turned.matrix
    planes = Planes.of(rows_of_length_one(first), loadings.rounding)
    fitted = np.linalg.lstsq(first, first * np.abs(first) ** (rotation.power - 1), rcond=None)[0]
    grown = rotation.power * float(np.linalg.cond(fitted)) * float(np.linalg.cond(first))
    if not loadings.rounding * grown < 1:
        return skipped("rotation", "factors agree to all digits, and powers of their loadings have none left")
    expected = first @ fitted * np.linalg.norm(np.linalg.inv(fitted), axis=1)
    alike = expected.T @ loadings.values
    order = linear_sum_assignment(-np.abs(alike))[1]
    gap = expected * np.sign(alike[np.arange(len(order)), order]) - loadings.values[:, order]
    return ratio("rotation", float(np.abs(gap).max()),
                 (planes.angle + loadings.rounding * grown) * grown * float(np.abs(expected).max()),
                 "least squares of powers of varimax lead to the loadings")


CRITERIA = {"none": principal_check, "varimax": varimax_check, "promax": promax_check, "oblimin": quartimin_check}
