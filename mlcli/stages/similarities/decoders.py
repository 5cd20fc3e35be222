"""Decoders: the ways from coordinates back to features."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array
from mlcli.stages.eigen.spectrum import Spectrum


@frozen
class Decoder:
    """What leads from coordinates back to features; each kind is frozen, stored, and needs NumPy only."""

    def __call__(self, embedding: Array) -> Array:
        """Features (m x d) of coordinates (m x p)."""
        raise NotImplementedError

    def variance(self, coordinates: Array) -> Array | None:
        """The posterior variance of a feature at each place (m of m x p), in the features' unit squared.

        None where a decoder does not know how sure it is.
        """
        return None

    def unlike(self, new: Array, coordinates: Array) -> AnyArray:
        """Which rows (m of m x d; NaN where missing) this map does not explain at their places (m x p): none, where it
        does not know how sure it is.
        """
        return np.zeros(len(new), dtype=bool)

    @property
    def affine(self) -> "Affine | None":
        """This map if it is affine: what directions can be asked of."""
        return None


@stored("decoder", mean="d", directions="dp")
@frozen
class Affine(Decoder):
    """A mean, and a direction for each axis."""

    mean: Array  # d
    directions: Array  # d x p

    def __call__(self, embedding: Array) -> Array:
        """Features (m x d) of coordinates (m x p)."""
        return self.mean + embedding @ self.directions.T

    @property
    def affine(self) -> "Affine":
        """Itself."""
        return self


def linear_decoder(points: Array, spectrum: Spectrum) -> Affine:
    """Reconstruction where the kernel is that of inner products: directions XᵀV / √λ."""
    mean = points.mean(axis=0)
    return Affine(mean, (points - mean).T @ spectrum.inverse_roots())
