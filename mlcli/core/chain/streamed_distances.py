"""The chain of distances that memory does not hold: each pass computes those of all pairs again, tile by tile."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.composition import Composition, FitStage
from mlcli.base.stages.stage import note
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array
from mlcli.core.chain.input import ChainInput
from mlcli.core.chain.scaling import build_fit, solve_spectrum
from mlcli.core.eigen.options import ROOM
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.kernels.corrections import Correction
from mlcli.core.kernels.functions import HalvedSquares
from mlcli.core.kernels.square import corrected_rows, distance_products
from mlcli.core.kernels.streamed import PassCount, Streamed
from mlcli.core.kernels.tiles import TILE, WIDTH, Tiles, tiled_passes
from mlcli.core.metrics.distances import bulk_cost, metric_of
from mlcli.core.model import Model
from mlcli.core.similarities.kernels import Distances
from mlcli.core.similarities.projector import linear_decoder

PASSES = PassCount(6, 5, 8)
TOLERANCE = 1e-9  # residual to reach: a smaller one is not worth more passes


@frozen
class StreamedChain(Composition[Model]):
    """Coordinates from the distances D of all pairs of points, none of which are kept."""

    chain: ChainInput

    @property
    def points(self) -> Array:
        """The points (n x d); less their mean where only differences count, so that products keep their digits."""
        values = self.chain.data.values
        return values - values.mean(axis=0) if metric_of(self.chain.data).plain else values

    @FitStage
    def kernel(self) -> Streamed:
        """K = -H D² H / 2 as an operator."""
        size = self.chain.size
        note("F-STREAMED", f"the kernel of {size} points is computed in tiles of {TILE} x {TILE} and never stored")
        function = HalvedSquares(metric_of(self.chain.data))
        return Streamed(Tiles(function, self.points, np.float64), TOLERANCE)

    @kernel.cost
    def _(self) -> list[Step]:
        return []

    @FitStage
    def spectrum(self) -> Spectrum:
        """K = V Λ Vᵀ, its top, by a few passes over all pairs."""
        return solve_spectrum(self.chain, self.kernel, self.chain.size - 1, 0.0)

    @spectrum.cost
    def _(self) -> list[Step]:
        chain, points, threads = self.chain, self.chain.data.values, self.chain.compute.thread_count()
        seconds = bulk_cost(metric_of(chain.data), points, threads)
        held = 8.0 * (3 * min(ROOM, chain.size * 750) + 16 * WIDTH * chain.size)
        return [Step("eigensolve", f"block Krylov: {PASSES}, in each of which the distances are computed and centered",
                     PASSES.usual * seconds, held, spread=PASSES.spread,
                     passes=tiled_passes(points, PASSES.usual, seconds * threads))]

    def result(self) -> Model:
        """Return the coordinates V √Λ, and axes V / √Λ for new points."""
        data, none, metric = self.chain.features, Correction("none", 0.0), metric_of(self.chain.data)
        products = distance_products(len(data.values), corrected_rows(data, none), self.spectrum.centering)
        return build_fit(self.chain, self.spectrum, Distances(data.values, none, metric), products=products,
                         decoder=linear_decoder(data.values, self.spectrum) if metric.plain else None)
