"""Gaussian processes from coordinates to features: new rows placed where they are most probable, and the decoder."""

from functools import cached_property
from typing import ClassVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array
from mlcli.errors import DataError
from mlcli.stages.algebra.centering import uncentered
from mlcli.stages.gaussian.dynamics import Motion
from mlcli.stages.gaussian.latents import HiddenUnits, KernelRows
from mlcli.stages.gaussian.placing import Candidates, placed
from mlcli.stages.gaussian.posterior import Posterior
from mlcli.stages.gaussian.tracking import tracked
from mlcli.stages.similarities.base import Similarity
from mlcli.stages.similarities.decoders import Decoder
from mlcli.stages.similarities.projector import Projector

UNLIKE = 1e-3  # of rows that follow from the process, how many may be flagged
KNOWN = 0.5  # of the variance before any data, which the process has where it knows next to nothing


@stored("latent-points")
@frozen
class LatentPoints(Similarity):
    """The most probable latent point of each row, given the cells that it has."""

    posterior: Posterior
    prior: bool  # whether latent points are standard normal

    def rows(self, new: Array) -> Array:
        """The latent points (m x p)."""
        return placed(self.posterior, self.prior, new, self.candidates)

    @cached_property
    def candidates(self) -> Candidates | None:
        """The places to start from, for all batches of new rows; none of a process without points."""
        return Candidates.of(self.posterior) if len(self.posterior.places) else None

    def width(self, given: int) -> int:
        """One for each axis."""
        return int(self.posterior.places.shape[1])


@stored("latent-sequence")
@frozen
class LatentSequence(Similarity):
    """The most probable latent points of rows that follow each other, given the cells that they have."""

    alone: ClassVar[bool] = False  # a point follows from the rows before and after it
    posterior: Posterior
    motion: Motion

    def rows(self, new: Array) -> Array:
        """The latent points (m x p)."""
        return tracked(self.posterior, self.motion, new)

    def width(self, given: int) -> int:
        """One for each axis."""
        return int(self.posterior.places.shape[1])


@stored("back-constraint")
@frozen
class BackConstrained(Similarity):
    """Values of a map from features to latent points, of which coordinates are linear functions."""

    map: KernelRows | HiddenUnits

    def rows(self, new: Array) -> Array:
        """The values (m x c); raises DataError where a cell is missing."""
        if (gaps := np.isnan(new).any(axis=1)).any():
            raise DataError("MISSING", "a back constraint needs all cells, and one is missing",
                            hint="fit with method.constraint=none, or complete the rows",
                            row=int(np.flatnonzero(gaps)[0]))
        return self.map(new)

    def width(self, given: int) -> int:
        """One for each value."""
        return self.map.width


@stored("gaussian-process-decoder")
@frozen
class ProcessMeans(Decoder):
    """The posterior means of the features."""

    posterior: Posterior

    def __call__(self, embedding: Array) -> Array:
        """Features (m x d) of coordinates (m x p)."""
        return self.posterior.means(embedding)

    def variance(self, coordinates: Array) -> Array:
        """The variance (m) that each feature has at coordinates (m x p), noise included."""
        return self.posterior.variances(coordinates)

    def unlike(self, new: Array, coordinates: Array) -> AnyArray:
        """The rows whose squared error, in variances, is beyond all but a thousandth of χ², and those at places where
        the process knows next to nothing: its variance there is more than half of what it is before any data.
        """
        from scipy.special import chdtrc

        posterior = self.posterior
        seen = ~np.isnan(new) & posterior.varying
        variances = posterior.variances(coordinates)
        squares = np.sum(np.where(seen, new - posterior.means(coordinates), 0.0) ** 2, axis=1)
        before = posterior.covariance.diagonal(coordinates) + posterior.covariance.whole_noise
        wrong = chdtrc(np.maximum(seen.sum(axis=1), 1), squares / variances) < UNLIKE
        return (wrong | (variances > KNOWN * before)) & seen.any(axis=1)


def projector_of(posterior: Posterior, prior: bool, mapped: tuple[KernelRows | HiddenUnits, Array] | None) -> Projector:
    """The projector of a fitted process: by a map with its axes where there is one, else by the most probable points.
    """
    if mapped is None:
        return placing(LatentPoints(posterior, prior))
    return Projector(BackConstrained(mapped[0]), uncentered(len(mapped[1])), mapped[1], ProcessMeans(posterior))


def placing(similarity: LatentPoints | LatentSequence) -> Projector:
    """The projector of a process whose rows of similarity are latent points."""
    axes = similarity.posterior.places.shape[1]
    return Projector(similarity, uncentered(axes), np.eye(axes), ProcessMeans(similarity.posterior))
