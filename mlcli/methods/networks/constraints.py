"""Constraints that keep a code from copying its input: corrupted inputs, and codes that are small or rarely active.

JAX is imported where a formula is traced, which happens only in training.
"""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from mlcli.base.values.options import Options, option

if TYPE_CHECKING:
    Traced = Any  # an array that JAX follows


class Uncorrupted(Options):
    """No corruption: rows as they are."""

    name: Literal["none"] = "none"

    def __call__(self, rows: "Traced", key: "Traced") -> "Traced":
        """Return the rows unchanged."""
        return rows


class GaussianNoise(Options):
    """Noise is added to the rows that the encoder sees, and the decoder must remove it (Vincent et al., 2008)."""

    name: Literal["gaussian"] = "gaussian"
    deviation: float = option(0.3, "Standard deviation of the noise, relative to that of all columns together.", gt=0)

    def __call__(self, rows: "Traced", key: "Traced") -> "Traced":
        """Return the rows with noise."""
        from jax import random

        return rows + self.deviation * random.normal(key, rows.shape, rows.dtype)


class Masking(Options):
    """Cells that the encoder sees are set to the mean of their column, and the decoder must fill them."""

    name: Literal["masking"] = "masking"
    share: float = option(0.3, "Share of the cells that are replaced by the mean of their column.", gt=0, lt=1)

    def __call__(self, rows: "Traced", key: "Traced") -> "Traced":
        """Return the rows with masked cells at zero, the mean."""
        from jax import numpy, random

        return numpy.where(random.bernoulli(key, 1 - self.share, rows.shape), rows, 0)


class Dense(Options):
    """No constraint on codes."""

    name: Literal["none"] = "none"
    code: ClassVar[Literal["identity", "logistic"]] = "identity"  # the activation of the code

    def __call__(self, codes: "Traced") -> "Traced":
        """Return zero."""
        return 0.0


class Absolute(Options):
    """The mean size of coordinates is added to the objective (L1)."""

    name: Literal["l1"] = "l1"
    code: ClassVar[Literal["identity", "logistic"]] = "identity"
    weight: float = option(0.01, "Weight of the constraint, relative to the reconstruction error.", gt=0)

    def __call__(self, codes: "Traced") -> "Traced":
        """Return λ E |y|."""
        from jax import numpy

        return self.weight * numpy.mean(numpy.abs(codes))


class RarelyActive(Options):
    """Coordinates are activities between 0 and 1, drawn to a mean by the Kullback-Leibler divergence (Ng, 2011)."""

    name: Literal["kl"] = "kl"
    code: ClassVar[Literal["identity", "logistic"]] = "logistic"
    target: float = option(0.05, "Mean activity of each coordinate.", gt=0, lt=1)
    weight: float = option(3.0, "Weight of the constraint, relative to the reconstruction error.", gt=0)

    def __call__(self, codes: "Traced") -> "Traced":
        """Return λ Σ KL(ρ ‖ mean activity), over the rows of a step."""
        from jax import numpy

        active = numpy.clip(numpy.mean(codes, axis=0), 1e-6, 1 - 1e-6)
        return self.weight * numpy.sum(self.target * numpy.log(self.target / active) + (1 - self.target) * numpy.log(
            (1 - self.target) / (1 - active)))


Corruption = Annotated[Uncorrupted | GaussianNoise | Masking, Field(discriminator="name")]
Sparsity = Annotated[Dense | Absolute | RarelyActive, Field(discriminator="name")]
