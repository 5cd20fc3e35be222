"""Classical multidimensional scaling, or principal coordinates analysis."""

from typing import ClassVar, Literal

import numpy as np

from mlcli.base.compute import Compute
from mlcli.base.inputs import Dissimilarities, Features
from mlcli.base.options import option
from mlcli.methods.base import Decoder, Method, Model, Projector
from mlcli.stages.corrections import correction_for
from mlcli.stages.distances import squared_distances
from mlcli.stages.eigensolve import Eigensolve
from mlcli.stages.kernels import Dense, square_memory
from mlcli.stages.similarities import Distances, GivenDistances
from mlcli.stages.spectrum import Spectrum


class MDS(Method):
    """Points whose distances reproduce given dissimilarities (PCoA); of features, Euclidean distances are taken.

    The kernel is -H D² H / 2 with D² the squared dissimilarities. Where they are Euclidean the
    result is PCA's. Where they are not, some eigenvalues are negative: they stay in the
    spectrum and never become axes. The Lingoes correction adds the smallest constant to the
    squared dissimilarities, Cailliez's to the dissimilarities, that makes all of them nonnegative.

    New points are placed by Gower's interpolation. Source: Torgerson, 1952; Gower, 1966 and 1968;
    Lingoes, 1971; Cailliez, 1983.
    """

    accepts: ClassVar = (Dissimilarities, Features)
    name: Literal["mds"] = "mds"
    correction: Literal["none", "lingoes", "cailliez"] = option(
        "none", "Correction that makes the dissimilarities Euclidean.")
    eigensolve: Eigensolve = Eigensolve()

    def solve(self, data: Dissimilarities | Features, compute: Compute) -> Model:
        """K = -H D² H / 2; coordinates are V √λ."""
        points = data.values if isinstance(data, Features) else None
        square_memory(compute, len(data.values), 5, "mds", "of features, pca gives the same embedding in little memory")
        squared = data.values**2 if points is None else squared_distances(points, points)
        correction = correction_for(squared, self.correction, data.exponent)
        kernel, centering = Dense(-0.5 * correction.off_diagonal(squared)).centered()
        spectrum = self.eigensolve(kernel, len(squared) - 1, compute, notable=0.0)
        similarity = GivenDistances(correction) if points is None else Distances(points, correction)
        decoder = None if points is None or correction.constant else linear_decoder(points, spectrum)
        return Model(spectrum.coordinates(), spectrum,
                     Projector(similarity, centering, spectrum.inverse_roots(), decoder))


def linear_decoder(points: np.ndarray, spectrum: Spectrum) -> Decoder:
    """The way back where the kernel is that of inner products: directions XᵀV / √λ."""
    mean = points.mean(axis=0)
    return Decoder(mean, (points - mean).T @ spectrum.inverse_roots())
