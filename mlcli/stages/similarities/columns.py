"""Similarities whose rows are the features, or functions of them: the axes are vectors in feature space."""

from dataclasses import replace
from typing import ClassVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS
from mlcli.base.values.inputs import Given, Similarities
from mlcli.base.values.scaling import all_finite
from mlcli.stages.latent.kalman import Sequence, StateSpace, smooth
from mlcli.stages.latent.model import Grouped, Latent, posterior
from mlcli.stages.linear.slowness import monomials, monomials_rounding
from mlcli.stages.similarities.base import Parts, Similarity
from mlcli.stages.similarities.witness import Witness, of_matrix


@stored("columns")
@frozen
class Columns(Similarity):
    """The features themselves: PCA, whose axes are vectors in feature space; or given kernel values."""

    in_features: ClassVar[bool] = True

    def rows(self, new: Array) -> Array:
        """Return the new points unchanged, an (m, d) array."""
        return new

    def witness(self, data: Given, fit: Indices, full: bool) -> Witness | None:
        """Return the given kernel, for the rows in an (n,) array `fit`; None for features."""
        return of_matrix(data.values) if isinstance(data, Similarities) else None


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


@stored("monomials", means="d", into="dr")
@frozen
class Monomials(Similarity):
    """White coordinates and, with degree 2, products of two of them: slow feature analysis."""

    means: Array  # d
    into: Array  # d x r
    degree: int

    def rows(self, new: Array) -> Array:
        """Return the monomials of new points (m x r, or m x r (r + 3) / 2)."""
        return monomials((new - self.means) @ self.into, self.degree)

    def width(self, given: int) -> int:
        """Return the number of monomials."""
        rank = self.into.shape[1]
        return rank if self.degree == 1 else rank * (rank + 3) // 2

    def rounding(self, new: Array) -> Array:
        """Return errors of the monomials of an (m, d) array, from the rounding of the white coordinates."""
        wrong = EPS * new.shape[1] * (np.abs(new) + np.abs(self.means)) @ np.abs(self.into)
        return monomials_rounding((new - self.means) @ self.into, wrong, self.degree)


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
