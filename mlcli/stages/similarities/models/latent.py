"""Posterior means of a latent-variable model as rows: missing cells filled, or the states of a sequence."""

from dataclasses import replace
from typing import ClassVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.base.values.scaling import all_finite
from mlcli.stages.latent.kalman import Sequence, StateSpace, smooth
from mlcli.stages.latent.model import Grouped, Latent, posterior
from mlcli.stages.similarities.base import Parts, Similarity


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


@stored("smoother", means="d")
@frozen
class Smoother(Similarity):
    """The states of a sequence given all its rows: the linear-Gaussian state-space model."""

    rowwise: ClassVar[bool] = False  # a state depends on the rows before and after it
    means: Array  # d
    model: StateSpace

    def rows(self, new: Array) -> Array:
        """Return the smoothed states (m x K) of successive rows, started from the model's prior."""
        varying = self.model.noise > 0
        if not varying.any():
            return np.zeros((len(new), len(self.model.transition)))
        model = replace(self.model, loadings=self.model.loadings[varying], noise=self.model.noise[varying])
        return smooth(Sequence.of((new - self.means)[:, varying]), model).means

    def width(self, given: int) -> int:
        """Return the number of states."""
        return len(self.model.transition)
