"""The posterior of a Gaussian process with one covariance for all features: means and variances, by NumPy alone."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array
from mlcli.core.distances import BLOCK
from mlcli.methods.processes.covariances import Bias, CovarianceFunction


@stored("gaussian-process", places="up", weights="ud", known="uu", mean="d")
@frozen
class GaussianProcess:
    """Features at latent points x: mean + k(x, Z) W, with variance k(x, x) - k(x, Z) A k(Z, x) + noise.

    Z are the training points, or fewer inducing points.
    """

    covariance: CovarianceFunction
    places: Array  # Z, u x p
    weights: Array  # W, u x d; zero for a column that does not vary
    known: Array  # A, u x u
    mean: Array  # d

    @classmethod
    def constant(cls, mean: Array) -> "GaussianProcess":
        """Return a process with one irrelevant latent axis and the (d,) mean, for rows that are all equal."""
        nothing = np.zeros((0, len(mean)))
        return cls(CovarianceFunction((Bias(0.0),), 0.0), places=np.zeros((0, 1)), weights=nothing,
                   known=np.zeros((0, 0)),
                   mean=mean)

    def means(self, points: Array) -> Array:
        """Return the means of the features (m x d) at latent points (m x p)."""
        means = np.empty((len(points), len(self.mean)))
        for block in self.blocks(len(points)):
            means[block] = self.mean + self.covariance(points[block], self.places) @ self.weights
        return means

    def variances(self, points: Array) -> Array:
        """Return the variance of every varying feature at (m, p) latent points, an (m,) array, noise included."""
        variances = np.empty(len(points))
        for block in self.blocks(len(points)):
            near = self.covariance(points[block], self.places)
            variances[block] = self.covariance.diagonal(points[block]) - np.einsum("ij,ij->i", near @ self.known, near)
        return np.maximum(variances, 0.0) + self.covariance.whole_noise

    @property
    def varying(self) -> AnyArray:
        """Mask of the columns that depend on the latent point (d)."""
        return np.any(self.weights != 0, axis=0)

    def blocks(self, count: int) -> list[slice]:
        """Return slices of `count` points, small enough for memory."""
        return row_blocks(count, BLOCK, max(len(self.places), len(self.mean)))
