"""Decoders: the ways from coordinates back to features."""


from mlcli.base.frozen import frozen
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.stages.eigen.spectrum import Spectrum


@frozen
class Decoder:
    """What leads from coordinates back to features; each kind is frozen, stored, and needs NumPy only."""

    def __call__(self, embedding: Array) -> Array:
        """Features (m x d) of coordinates (m x p)."""
        raise NotImplementedError

    def variance(self, coordinates: Array) -> Array | None:
        """The variance (m) that each feature has at coordinates (m x p), where the model knows one."""
        return None

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
