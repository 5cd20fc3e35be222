"""Gaussian processes from coordinates to features: new rows placed at the most probable points, and the decoder."""

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array
from mlcli.core.centering import uncentered
from mlcli.core.similarities.base import Similarity
from mlcli.core.similarities.projector import Decoder, Projector
from mlcli.errors import DataError
from mlcli.methods.processes.covariances import Rbf
from mlcli.methods.processes.dynamics import Motion
from mlcli.methods.processes.latents import HiddenUnits, RadialRows
from mlcli.methods.processes.new_points import Candidates, place, track
from mlcli.methods.processes.posterior import GaussianProcess

UNLIKE = 1e-3  # share of rows of the process itself that may be flagged
KNOWN = 0.5  # share of the prior variance above which a place is far from all data


@stored("latent-points")
@frozen
class LatentPoints(Similarity):
    """The most probable latent point of each row, given its observed cells."""

    posterior: GaussianProcess
    prior: bool  # whether latent points are standard normal

    def rows(self, new: Array) -> Array:
        """Return the latent points (m x p) of an (m, d) array of new rows."""
        return place(self.posterior, self.prior, new, self.candidates)

    @cached_property
    def candidates(self) -> Candidates | None:
        """Starting points for all batches of new rows; None for a process without points."""
        return Candidates.of(self.posterior) if len(self.posterior.places) else None

    def width(self, given: int) -> int:
        """Return the number of axes."""
        return int(self.posterior.places.shape[1])


@stored("view-process", places="vp", weights="ve", known="vv", mean="e")
@frozen
class ViewProcess(GaussianProcess):
    """The process of a further view, with columns of its own."""

    @classmethod
    def of(cls, posterior: GaussianProcess) -> "ViewProcess":
        """Return the process of a posterior."""
        return cls(posterior.covariance, places=posterior.places, weights=posterior.weights, known=posterior.known,
                   mean=posterior.mean)


@stored("shared-latent-points")
@frozen
class SharedLatentPoints(LatentPoints):
    """The most probable latent point of each row of the first view; further views have processes of these points."""

    others: tuple[ViewProcess, ...]

    def __post_init__(self) -> None:
        """Raise ValueError for a view with data whose kernel is not one with a length scale for each axis."""
        for process in (self.posterior, *self.others):
            terms, axes = process.covariance.terms, process.places.shape[1]
            if len(process.places) and not (len(terms) == 1 and isinstance(terms[0], Rbf)
                                            and len(terms[0].lengths) == axes):
                raise ValueError("a view's kernel has other terms")


@stored("latent-sequence")
@frozen
class LatentSequence(Similarity):
    """The most probable latent points of successive rows, given their observed cells."""

    rowwise: ClassVar[bool] = False  # a point depends on the rows before and after it
    posterior: GaussianProcess
    motion: Motion

    def rows(self, new: Array) -> Array:
        """Return the latent points (m x p) of an (m, d) array of new rows."""
        return track(self.posterior, self.motion, new)

    def width(self, given: int) -> int:
        """Return the number of axes."""
        return int(self.posterior.places.shape[1])


@stored("back-constraint")
@frozen
class BackConstrained(Similarity):
    """Values of a map from features to latent points; coordinates are linear functions of them."""

    map: RadialRows | HiddenUnits

    def rows(self, new: Array) -> Array:
        """Return the map's values (m x c) for an (m, d) array; raises DataError where a cell is missing."""
        if (gaps := np.isnan(new).any(axis=1)).any():
            raise DataError("MISSING", "a back constraint needs all cells, and one is missing",
                            hint="fit with method.constraint=none, or complete the rows",
                            row=int(np.flatnonzero(gaps)[0]))
        return self.map(new)

    def width(self, given: int) -> int:
        """Return the number of values of the map."""
        return self.map.width


@stored("gaussian-process-decoder")
@frozen
class ProcessMeans(Decoder):
    """The posterior means of the features."""

    posterior: GaussianProcess

    def __call__(self, embedding: Array) -> Array:
        """Return features (m x d) at coordinates (m x p)."""
        return self.posterior.means(embedding)

    def variance(self, coordinates: Array) -> Array:
        """Return the variance of each feature at (m, p) coordinates, an (m,) array, noise included."""
        return self.posterior.variances(coordinates)

    def unexplained(self, new: Array, coordinates: Array) -> AnyArray:
        """Return an (m,) mask of the rows (m x d) that the process does not explain at (m x p) coordinates.

        These are rows whose squared error, in variances, is beyond the 99.9% quantile of χ², and rows far from all
        data, where the posterior variance is more than half of the prior variance.
        """
        from scipy.special import chdtrc

        posterior = self.posterior
        seen = ~np.isnan(new) & posterior.varying
        variances = posterior.variances(coordinates)
        squares = np.sum(np.where(seen, new - posterior.means(coordinates), 0.0) ** 2, axis=1)
        before = posterior.covariance.diagonal(coordinates) + posterior.covariance.whole_noise
        wrong = chdtrc(np.maximum(seen.sum(axis=1), 1), squares / variances) < UNLIKE
        return (wrong | (variances > KNOWN * before)) & seen.any(axis=1)


def projector_of(posterior: GaussianProcess, prior: bool,
                 mapped: tuple[RadialRows | HiddenUnits, Array] | None) -> Projector:
    """Return the projector of a fitted process: by a map and its axes (c x p) if any, or else by probability."""
    if mapped is None:
        return latent_projector(LatentPoints(posterior, prior))
    return Projector(BackConstrained(mapped[0]), uncentered(len(mapped[1])), mapped[1], ProcessMeans(posterior))


def latent_projector(similarity: LatentPoints | LatentSequence) -> Projector:
    """Return the projector of a process whose rows of similarity are latent points."""
    axes = similarity.posterior.places.shape[1]
    return Projector(similarity, uncentered(axes), np.eye(axes), ProcessMeans(similarity.posterior))


def projector_of_views(processes: Sequence[GaussianProcess]) -> Projector:
    """Return the projector of rows of the first view, with the processes of all views."""
    first, *others = processes
    return latent_projector(SharedLatentPoints(first, True, tuple([ViewProcess.of(other) for other in others])))
