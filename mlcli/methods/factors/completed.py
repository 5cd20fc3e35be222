"""Posterior means of a latent-variable model as rows: missing cells filled."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.base.values.scaling import all_finite
from mlcli.core.latent.probabilistic import Grouped, Latent, posterior
from mlcli.core.similarities.base import Parts, Similarity


@stored("completed")
@frozen
class Completed(Similarity):
    """The features with missing cells replaced by their conditional means: probabilistic PCA.

    The coordinates of a completed row are the posterior means given its observed cells.
    """

    latent: Latent

    @property
    def parts(self) -> Parts:
        """The model of the columns."""
        return Parts(latent=self.latent)

    def rows(self, new: Array) -> Array:
        """Return the new points, an (m, d) array, each NaN replaced by μ + W x with x the posterior mean."""
        if all_finite(new):
            return new
        data = Grouped.of(new)
        means = np.empty((len(new), self.latent.loadings.shape[1]))
        means[data.order] = posterior(self.latent, data).means
        return np.where(np.isnan(new), self.latent.mean + means @ self.latent.loadings.T, new)

    @property
    def variances(self) -> Array:
        """The squared lengths of the loadings' columns (p): distances are those of W x."""
        return self.latent.lengths
