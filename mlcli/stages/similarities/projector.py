"""The projector: new points to coordinates, and coordinates back to features."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import ClassVar, NoReturn, Self

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import stage
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.check import EPS
from mlcli.base.values.scaling import Unit
from mlcli.errors import ConfigError, NumericalError, rows_from
from mlcli.stages.algebra.centering import Centering
from mlcli.stages.similarities.base import Similarity
from mlcli.stages.similarities.decoders import Affine, Decoder

FARTHEST = 2.0**500  # size of new points whose squares are safe, in units in which training points are about 1


class ProjectionUnits:
    """The units of new points and of coordinates, of what places points and of what cannot."""

    exponent_in: int
    exponent_out: int

    @property
    def input_unit(self) -> Unit:
        """The unit in which the similarity expects new points."""
        return Unit(self.exponent_in)

    @property
    def output_unit(self) -> Unit:
        """The unit of rows times axes, and of coordinates."""
        return Unit(self.exponent_out)

    def in_units(self, inputs: Unit, outputs: Unit) -> Self:
        """The same for new points and coordinates in these units."""
        return replace(self, exponent_in=inputs.exponent, exponent_out=outputs.exponent)  # type: ignore[type-var]


@stored("no-projection")
@frozen
class NoProjection(ProjectionUnits):
    """The reason why a model cannot place new points."""

    reason: str  # a sentence about the run
    hint: str
    code: str = "NO-PROJECTION"
    exponent_in: int = 0
    exponent_out: int = 0

    decoder: ClassVar[None] = None
    decode: ClassVar[None] = None
    affine: ClassVar[None] = None

    def require_places(self) -> NoReturn:
        """Raises ConfigError, with the reason."""
        raise ConfigError(self.code, self.reason, hint=self.hint)


OF_COVARIANCE = NoProjection("this run was made of a covariance matrix, which has no points and no means to place "
                             "others by", "fit the points themselves", "NO-ROWS")


@stored("projector", axes="cp")
@frozen
class Projector(ProjectionUnits):
    """The way from new points to coordinates: rows of similarity, centered, times axes."""

    similarity: Similarity
    centering: Centering
    axes: Array  # columns of the rows x p
    decoder: Decoder | None = None
    exponent_in: int = 0  # of the units of inputs and of coordinates, under the names that they are stored by
    exponent_out: int = 0

    @stage("project")
    def project(self, new: Array) -> Array:
        """Coordinates (m x p) of new points, in the training data's units; a few rows at a time, but for a sequence."""
        coordinates = np.empty((len(new), self.axes.shape[1]))
        for block in self.similarity.batches(new, len(self.axes)):
            measured = self.input_unit.measured(new[block])
            if not self.similarity.in_features and self.similarity.comparison.scalable:  # else none is squared
                require_near(np.abs(measured) > FARTHEST, block.start or 0)
            with np.errstate(over="ignore", invalid="ignore"), rows_from(block.start or 0):  # overflow: refused below
                rows = self.centering(self.similarity.rows(measured))
                coordinates[block] = self.output_unit.plain(rows @ self.axes)
        require_near(~np.isfinite(coordinates))
        return coordinates

    def require_places(self) -> None:
        """Raises ConfigError where no new point can be compared with the training points, and so none placed."""
        if not self.similarity.places:
            self.similarity.rows(np.zeros((0, 0)))

    @stage("reconstruct")
    def reconstruct(self, embedding: Array) -> Array:
        """Features (m x d) of coordinates (m x p); only where there is a decoder."""
        decode = self.decode
        if decode is None:
            raise TypeError("this projector has no decoder")
        return decode(embedding)

    def unlike(self, new: Array, embedding: Array) -> AnyArray:
        """Which new rows (m of m x d) the decoder does not explain at their coordinates (m x p)."""
        if self.decoder is None:
            return np.zeros(len(new), dtype=bool)
        return self.decoder.unlike(self.input_unit.measured(new), self.output_unit.measured(embedding))

    def variance(self, embedding: Array) -> Array | None:
        """The variance (m) that each feature has at coordinates (m x p), where the decoder knows one."""
        deviation = self.deviation(embedding)
        return None if deviation is None else deviation**2

    def rounding(self, points: Array) -> float:
        """The errors of coordinates of points: large where axes amplify the columns' smallest variation."""
        rows = self.similarity.rows(points)
        wrong = EPS * rows.shape[1] * (np.abs(rows) + np.abs(self.centering.means)) + self.similarity.rounding(points)
        return float((wrong.max(axis=0, initial=0.0) @ np.abs(self.axes)).max(initial=0.0))

    @property
    def decode(self) -> Callable[[Array], Array] | None:
        """The map from coordinates back to features in the data's units, where there is one."""
        return None if self.decoder is None else partial(_decoded, self.decoder, self.output_unit, self.input_unit)

    def deviation(self, places: Array) -> Array | None:
        """How unsure the decoder is at places (m x p): the posterior standard deviation of a feature (m), in the data's
        units. None where it does not know, or there is no decoder.
        """
        variance = None if self.decoder is None else self.decoder.variance(self.output_unit.measured(places))
        return None if variance is None else self.input_unit.plain(np.sqrt(variance))

    @property
    def affine(self) -> Affine | None:
        """The decoder where it is affine."""
        return None if self.decoder is None else self.decoder.affine


def require_projector(found: Projector | NoProjection) -> Projector:
    """The projector; raises ConfigError with the reason where there is none."""
    if isinstance(found, NoProjection):
        found.require_places()
    return found


def require_near(far: AnyArray, first: int = 0) -> None:
    """Raises NumericalError where something of a new point is too far (m x anything)."""
    if far.any():
        row = first + int(np.flatnonzero(far.any(axis=1))[0])
        raise NumericalError("PROJECTION", "this point is too far from the training points for double precision",
                             hint="check its numbers, or leave it out", row=row)


def _decoded(decoder: Decoder, measured: Unit, plain: Unit, embedding: Array) -> Array:
    return plain.plain(decoder(measured.measured(embedding)))
