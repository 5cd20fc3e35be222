"""A fit of probabilistic PCA on rotated axes: the same distribution of the rows, with loadings that are simpler."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.scratch import map_blocks
from mlcli.base.stages.stage import running
from mlcli.base.types import Array
from mlcli.base.values.signs import leading_signs
from mlcli.stages.algebra.linalg import EPS, inverse
from mlcli.stages.latent.model import COUNT, FEWER, Latent, negligible
from mlcli.stages.latent.probabilistic import Fitted
from mlcli.stages.latent.rotations import Rotation


@frozen
class RotatedFit:
    """Loadings W T, coordinates T⁻¹ x with covariance Φ = T⁻¹T⁻ᵀ, and their posterior covariances; longest loadings
    first.
    """

    loadings: Array  # d x q
    axes: Array  # d x q: posterior means are centered rows times these
    means: Array  # n x q, posterior
    spread: Array  # q x q, posterior, of a complete row
    factors: Array  # q x q, Φ
    spreads: Array | None = None  # n x q x q, posterior, where they differ
    converged: bool = True

    @property
    def facts(self) -> dict[str, object]:
        """The figures of the rotation."""
        return {"factor_correlations": self.factors.tolist()} | (
            {} if self.converged else {"rotation_converged": False})


def unit_of(loadings: Array, factors: Array, noise: float) -> float:
    """Return the root of the model's mean variance of a column, of loadings (d x q) and factors (q x q)."""
    return float(np.sqrt(np.sum((loadings @ factors) * loadings) / len(loadings) + noise))


def without_rounding(loadings: Array, factors: Array) -> Array:
    """Return loadings (d x q) with rows of zeros for columns that vary by rounding alone, given the covariance of the
    factors (q x q): normalization would give such a row the weight of any other.
    """
    shares = np.sum((loadings @ factors) * loadings, axis=1)
    least = (10 * len(loadings) * EPS) ** 2 * float(shares.max(initial=0.0))
    return np.where((shares > least)[:, None], loadings, 0.0)


def rotate_fit(fitted: Fitted, rotation: Rotation) -> RotatedFit:
    """Return a fit on rotated axes; signs by the sign rule. Axes with loadings of rounding alone stay, and are last."""
    latent = fitted.latent
    plain = RotatedFit(loadings=latent.loadings, axes=latent.axes, means=fitted.means, spread=latent.spread,
                       factors=np.eye(latent.loadings.shape[1]), spreads=fitted.spreads)
    if rotation.name == "none":
        return plain
    with running("coordinates"):
        active = int(np.sum(latent.lengths > negligible(latent.lengths, len(latent.mean))))
        return plain if active < 2 else _rotated(plain, latent, rotation, active)


def _rotated(plain: RotatedFit, latent: Latent, rotation: Rotation, active: int) -> RotatedFit:
    turn, found = np.eye(len(plain.factors)), rotation.turn(without_rounding(
        plain.loadings[:, :active] / unit_of(plain.loadings, plain.factors, latent.noise), np.eye(active)))
    turn[:active, :active] = found.matrix
    turn = turn[:, np.argsort(-np.sum((plain.loadings @ turn) ** 2, axis=0), kind="stable")]
    back = inverse(turn, where=COUNT, hint=FEWER).T
    means = map_blocks(lambda some: some @ back, plain.means)
    signs = leading_signs(means)
    turn, back = turn * signs, back * signs
    spreads = None if plain.spreads is None else back.T @ plain.spreads @ back
    return RotatedFit(loadings=plain.loadings @ turn, axes=plain.axes @ back,
                      means=map_blocks(lambda some: some * signs, means), spread=back.T @ plain.spread @ back,
                      factors=back.T @ back, spreads=spreads, converged=found.converged)
