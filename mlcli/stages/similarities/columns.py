"""Similarities that are columns, or made of them: the axes live in feature space."""

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
    """The features themselves: PCA, whose axes live in feature space; or kernel values given as they are."""

    in_features: ClassVar[bool] = True

    def rows(self, new: Array) -> Array:
        """The new points (m x d)."""
        return new

    def witness(self, data: Given, fit: Indices, full: bool) -> Witness | None:
        """The kernel that was given."""
        return of_matrix(data.values) if isinstance(data, Similarities) else None


@stored("completed")
@frozen
class Completed(Similarity):
    """The features with missing cells at their conditional means: probabilistic PCA.

    The coordinates of a row completed so are the posterior means given the cells that it has.
    """

    latent: Latent

    @property
    def parts(self) -> Parts:
        """The model of the columns."""
        return Parts(latent=self.latent)

    def rows(self, new: Array) -> Array:
        """The new points (m x d), each NaN replaced by μ + W x with x the posterior mean."""
        if all_finite(new):
            return new
        data = Grouped.of(new)
        means = np.empty((len(new), self.latent.loadings.shape[1]))
        means[data.order] = posterior(self.latent, data).means
        return np.where(np.isnan(new), self.latent.mean + means @ self.latent.loadings.T, new)

    @property
    def variances(self) -> Array:
        """Distances are those of W x."""
        return self.latent.lengths


@stored("monomials", means="d", into="dr")
@frozen
class Monomials(Similarity):
    """White coordinates, and with degree 2 their products of two as well: slow feature analysis."""

    means: Array  # d
    into: Array  # d x r
    degree: int

    def rows(self, new: Array) -> Array:
        """The monomials of new points (m x r, or m x r (r + 3) / 2)."""
        return monomials((new - self.means) @ self.into, self.degree)

    def width(self, given: int) -> int:
        """One for each monomial."""
        rank = self.into.shape[1]
        return rank if self.degree == 1 else rank * (rank + 3) // 2

    def rounding(self, new: Array) -> Array:
        """From the rounding of the white coordinates."""
        wrong = EPS * new.shape[1] * (np.abs(new) + np.abs(self.means)) @ np.abs(self.into)
        return monomials_rounding((new - self.means) @ self.into, wrong, self.degree)


@stored("smoother", means="d")
@frozen
class Smoother(Similarity):
    """The states of a sequence given all of it: the linear-Gaussian state-space model."""

    alone: ClassVar[bool] = False  # a state follows from the rows before and after it
    means: Array  # d
    model: StateSpace

    def rows(self, new: Array) -> Array:
        """The smoothed states (m x K) of rows that follow each other, from a start of their own."""
        varying = self.model.noise > 0
        if not varying.any():
            return np.zeros((len(new), len(self.model.transition)))
        model = replace(self.model, loadings=self.model.loadings[varying], noise=self.model.noise[varying])
        return smooth(Sequence.of((new - self.means)[:, varying]), model).means

    def width(self, given: int) -> int:
        """One for each state."""
        return len(self.model.transition)
