"""The fit of a chain's decoder, its error on the training rows, and the costs of both."""

from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import product_rate
from mlcli.base.stages.composition import Composition, FitStage
from mlcli.base.stages.stage import note, running
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array
from mlcli.base.values.scaling import Unit
from mlcli.core.chain.input import ChainInput
from mlcli.core.graph.search import neighbors_cost
from mlcli.core.kernels.median import median_squared_distance
from mlcli.core.linalg import positive_inverse, positive_solver
from mlcli.core.metrics.distances import kernel_cost
from mlcli.core.model import Model
from mlcli.core.similarities.preimages import Barycentric, FixedPoint, KernelRidge, gaussian
from mlcli.core.similarities.projector import Decoder
from mlcli.errors import NumericalError

SEEN = 500  # training rows from which the error of fixed points is estimated
ITERATIONS = 60  # of most fixed points
SQUARES = 5.0  # n x n matrices at once for a ridge regression: kernel, factor, inverse and its triangles


@frozen
class FitRows:
    """The rows that a similarity compares new ones with: all of the fit, or its landmarks."""

    points: Array  # m x d, less the origin
    origin: Array  # d
    coordinates: Array  # m x p

    @classmethod
    def of(cls, fit: Model) -> "FitRows":
        """Return the rows of a fit, with their coordinates as embedded, or of landmarks as projected."""
        projector, parts = fit.required_projector, fit.required_projector.similarity.parts
        assert parts.points is not None  # of features
        origin = np.zeros(parts.points.shape[1]) if parts.origin is None else parts.origin
        coordinates = fit.embedding
        if len(coordinates) != len(parts.points):
            rows = projector.similarity.rows(parts.points + origin)
            coordinates = projector.centering(rows) @ projector.axes
        return cls(parts.points, origin, coordinates)

    def error(self, features: Array, rows: slice = slice(None)) -> float:
        """Return Σ ‖x - x̂‖² / Σ ‖x - mean‖² over some rows, with x̂ the (m, d) array `features`; NaN where equal."""
        unit = Unit.of(self.points)  # squares stay in the range of doubles
        every = unit.measured(self.points)
        points = every[rows]
        return share(float(np.sum((points + unit.measured(self.origin) - unit.measured(features)) ** 2)),
                     float(np.sum((points - every.mean(axis=0)) ** 2)))


def share(part: float, whole: float) -> float:
    """Return a quotient; NaN where the whole is zero."""
    return part / whole if whole > 0 else float("nan")


@frozen
class DecoderChain(Composition[Model]):
    """The computation of coordinates, and then of a map from these back to features."""

    of_coordinates: Composition[Model]
    chain: ChainInput
    unit: Unit  # of the coordinates

    @FitStage
    def coordinates(self) -> Model:
        """The fit without a decoder."""
        return self.of_coordinates.fit()

    @coordinates.cost
    def _(self) -> list[Step]:
        return self.of_coordinates.steps()

    @FitStage
    def decoder(self) -> tuple[Decoder, dict[str, Any]]:
        """The decoder that the options choose, with its error on the training rows."""
        fit, option = self.coordinates, self.chain.stages.decoder
        with running("decoder"):
            return FITS[option.name](option, FitRows.of(fit), fit, self.unit, self.chain.stages.centering)

    @decoder.cost
    def decoder_steps(self) -> list[Step]:
        """Return the cost of the decoder, and of its error."""
        chain, stages = self.chain, self.chain.stages
        placed = stages.landmarks if stages.landmarks is not None and stages.paths is None else chain.size
        return [decoder_step(stages.decoder, (placed, chain.data.values.shape[1]), stages.eigensolve.wanted(placed),
                             chain.compute.thread_count())]

    def fit(self) -> Model:
        """Compute coordinates and decoder; raises RefusedByPlan first where memory does not allow the decoder."""
        self.chain.require(self.decoder_steps(), self.chain.data)
        return super().fit()

    def result(self) -> Model:
        """Return the fit with its decoder, whose error is among the figures."""
        fit, (decoder, figures) = self.coordinates, self.decoder
        return replace(fit, projector=replace(fit.required_projector, decoder=decoder), fit={**fit.fit, **figures})


def _barycentric(option: Any, rows: FitRows, *_: Any) -> tuple[Decoder, dict[str, Any]]:
    decoder = Barycentric(coordinates=rows.coordinates, points=rows.points, origin=rows.origin,
                          neighbors=min(option.neighbors, len(rows.points)), ridge=option.ridge)
    return decoder, {"decoder_error_left_out": rows.error(decoder.decode_left_out(rows.coordinates))}


def _ridge(option: Any, rows: FitRows, fit: Model, unit: Unit, *_: Any) -> tuple[Decoder, dict[str, Any]]:
    rate = (unit**-2).parameter(option.rate, "method.decoder.rate") if option.rate else 1 / (
        median_squared_distance(rows.coordinates) or 1.0)
    kernel = gaussian(rows.coordinates, rows.coordinates, rate)
    kernel[np.diag_indices_from(kernel)] = 1.0 + option.alpha
    mean = rows.points.mean(axis=0)
    solve = positive_solver(kernel.copy())
    weights = None if solve is None else solve(rows.points - mean)
    del solve  # and with it the factor
    found = positive_inverse(kernel)
    if found is None or weights is None:
        raise NumericalError("DECODER", f"the ridge of {option.alpha:g} is lost in rounding", where="method.decoder."
                             "alpha", hint="use a larger alpha")
    total = float(np.sum((rows.points - mean) ** 2))
    left_out = weights / np.diag(found[0])[:, None]
    decoder = KernelRidge(rows.coordinates, weights, mean + rows.origin, rate)
    return decoder, {"decoder_error": share(float(np.sum((option.alpha * weights)**2)), total),
                     "decoder_error_left_out": share(float(np.sum(left_out**2)), total),
                     "decoder_rate": (unit**-2).number(rate)}


def _fixed_point(option: Any, rows: FitRows, fit: Model, unit: Unit, centering: str,
                 ) -> tuple[Decoder, dict[str, Any]]:
    decoder = FixedPoint(points=rows.points, axes=fit.required_projector.axes, origin=rows.origin,
                         rate=fit.required_projector.similarity.parts.function.rate, limit=option.limit,
                         tolerance=option.tolerance, share=(centering == "double") / len(rows.points))
    some = slice(None, None, max(len(rows.points) // SEEN, 1))
    coordinates = rows.coordinates[some]
    found = decoder(coordinates)
    left = int(np.sum(decoder.lengths(coordinates, found) > 2 * option.tolerance))
    if left:
        note("W-DECODER", f"{left} of {len(found)} pre-images did not converge in {option.limit} iterations", rows=left)
    return decoder, {"decoder_error": rows.error(found, some), "decoder_rows": len(found), "decoder_unconverged": left}


FITS = {"barycentric": _barycentric, "ridge": _ridge, "fixed_point": _fixed_point}


def decoder_step(option: Any, shape: tuple[int, int], axes: int, threads: int) -> Step:
    """Return the cost of a decoder of training rows (m x d) with so many axes, and of its error."""
    size, columns = shape
    if option.name == "barycentric":
        seconds = neighbors_cost(points=size, columns=axes, count=option.neighbors + 1, tree=True, threads=threads,
                                 native=True) + (
            size * option.neighbors * (option.neighbors**2 + columns)) / product_rate(threads)
        return Step("decoder", f"barycentric, of {option.neighbors} neighbors", seconds,
                    8.0 * size * (2 * columns + 3 * option.neighbors))
    if option.name == "ridge":
        return Step("decoder", f"kernel ridge regression on {size} rows", kernel_cost(size, axes, threads) + (
            4.0 * size**3 / 3 + 4.0 * size**2 * columns) / product_rate(threads), 8.0 * (
                SQUARES * size**2 + 3 * size * columns), remedy="use decoder barycentric", square=True)
    seen = min(size, SEEN)
    return Step("decoder", f"fixed points of {seen} rows", kernel_cost(size, columns, threads) + ITERATIONS * (
        4.0 * seen * size * columns / product_rate(threads)), 8.0 * (2 * seen * columns + 4 * min(size * seen, 2**22)))
