"""Decoders: maps from coordinates to features."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array
from mlcli.core.eigen.spectrum import Spectrum


@frozen
class Decoder:
    """A map from coordinates to features; each kind is frozen, stored, and needs NumPy only."""

    def __call__(self, embedding: Array) -> Array:
        """Return features (m x d) at coordinates (m x p)."""
        raise NotImplementedError

    def decode_left_out(self, embedding: Array) -> Array:
        """Return features (m x d) at coordinates (m x p) of training rows, without those rows themselves where all
        weight would be on them.
        """
        return self(embedding)

    def variance(self, coordinates: Array) -> Array | None:
        """Return the posterior variance of a feature at (m, p) coordinates: an (m,) array, in squared feature units.

        None where the decoder has no variance.
        """
        return None

    def unexplained(self, new: Array, coordinates: Array) -> AnyArray:
        """Return an (m,) mask of the rows (m x d, NaN if missing) that the (m x p) coordinates do not explain; all
        False if the decoder has no variance.
        """
        return np.zeros(len(new), dtype=bool)

    @property
    def affine(self) -> "Affine | None":
        """This map where it is affine, for uses that need directions; else None."""
        return None


@stored("decoder", mean="d", directions="dp")
@frozen
class Affine(Decoder):
    """A mean, and a direction for each axis."""

    mean: Array  # d
    directions: Array  # d x p

    def __call__(self, embedding: Array) -> Array:
        """Return features (m x d) at coordinates (m x p)."""
        return self.mean + embedding @ self.directions.T

    @property
    def affine(self) -> "Affine":
        """This map."""
        return self


def linear_decoder(points: Array, spectrum: Spectrum) -> Affine:
    """Return the reconstruction for a kernel of inner products of an (n, d) array: directions XᵀV / √λ."""
    mean = points.mean(axis=0)
    return Affine(mean, (points - mean).T @ spectrum.inverse_roots())
