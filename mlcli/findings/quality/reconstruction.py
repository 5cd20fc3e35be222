"""Reconstruction: the distance between the data and its reconstruction."""

from collections.abc import Callable

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.findings.quality.sampling import Sums
from mlcli.findings.quality.strips import Measure, Strip


@frozen
class Reconstruction(Measure):
    """The mean squared reconstruction error, of methods with a decoder."""

    points: Array  # n x d
    embedding: Array  # n x p
    decode: Callable[[Array], Array]  # from coordinates to features

    def sums(self, strip: Strip) -> Sums:
        """Return each anchor's squared distance to its reconstruction."""
        with np.errstate(over="ignore"):
            off = self.points[strip.rows] - self.decode(self.embedding[strip.rows])
            return {"anchors": np.ones(len(off)), "squares": np.einsum("ij,ij->i", off, off)}

    def values(self, sums: Sums) -> dict[str, Array]:
        """Return the mean square over points, summed over features: for PCA with divisor n the eigenvalues left out."""
        return {"reconstruction_error": sums["squares"] / sums["anchors"]}
