"""Options that only chains have: the neighbor graph as a section, the scale of eigenvectors, and decoders."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from mlcli.base.types import Array
from mlcli.base.values.options import Options, option
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.graph.neighbors import SAME_BOTH_WAYS, Neighbors

Centered = Literal["double", "columns", "none"]


class NeighborGraph(Options):
    """The graph that joins neighbors."""

    neighbors: Neighbors = Neighbors()
    rule: Literal["union", "mutual"] = option(
        "union", "Points are joined when either is a neighbor of the other (union), or both are (mutual).")

    def resolved(self, size: int) -> "NeighborGraph":
        """Return the options with at most n - 1 neighbors; raises ConfigError for a rule beside a radius."""
        if self.neighbors.radius is not None:
            self.refuse_unused(SAME_BOTH_WAYS, "rule", where="method.graph")
        return self.replace(neighbors=self.neighbors.resolved(size))


class Coordinates(Options):
    """How eigenvectors become coordinates."""

    scale: Literal["roots", "unit", "variance"] = option(
        "roots", "Length of an axis: the square root of its eigenvalue (roots), 1 (unit), or such that its variance "
        "is 1 (variance).")
    divisor: Literal["none", "n", "n-1"] = option("none", "Divisor of the eigenvalues that are written.")

    def sizes(self, spectrum: Spectrum) -> Array:
        """Return the length of each kept axis (p), zero for one without extent."""
        if self.scale == "roots":
            return np.sqrt(spectrum.axis_eigenvalues)
        length = 1.0 if self.scale == "unit" else np.sqrt(len(spectrum.vectors))
        return np.where(spectrum.axis_eigenvalues > 0, length, 0.0)

    def of_variance(self, embedding: Array, spectrum: Spectrum) -> Array:
        """Return coordinates (n x p) of this scale with variance one; an axis without extent stays zero."""
        if self.scale == "variance":
            return embedding
        sizes = self.sizes(spectrum)
        return embedding * np.divide(np.sqrt(len(embedding)), sizes, out=np.zeros_like(sizes), where=sizes > 0)

    def over(self, rows: int) -> float:
        """Return the divisor of the eigenvalues for `rows` points."""
        return 1.0 if self.divisor == "none" else float(max(rows - (self.divisor == "n-1"), 1))


class NoDecoder(Options):
    """No map from coordinates back to features."""

    name: Literal["none"] = "none"


class BarycentricDecoder(Options):
    """A weighted mean of the rows whose coordinates are nearest, with weights that reproduce the coordinates."""

    name: Literal["barycentric"] = "barycentric"
    neighbors: int = option(10, "Number of nearest training rows in the embedding.", ge=1)
    ridge: float = option(1e-6, "Regularization of the weights, relative to the trace of the local Gram matrix.", gt=0)


class RidgeDecoder(Options):
    """Kernel ridge regression of the features on the coordinates, with a gaussian kernel."""

    name: Literal["ridge"] = "ridge"
    alpha: float = option(1.0, "Ridge α that is added to the diagonal of the kernel of the coordinates.", gt=0)
    rate: float | None = option(None, "Rate r of exp(-r d²) between coordinates (default: 1 / median of d² over all "
                                "pairs of training rows).", gt=0)


class FixedPointDecoder(Options):
    """The point whose image under the gaussian kernel is nearest to the one with these coordinates."""

    name: Literal["fixed_point"] = "fixed_point"
    limit: int = option(500, "Largest number of iterations.", ge=1)
    tolerance: float = option(1e-9, "Length of the last step, relative to the width of the kernel.", gt=0, lt=1)


AnyDecoder = Annotated[NoDecoder | BarycentricDecoder | RidgeDecoder | FixedPointDecoder, Field(discriminator="name")]
