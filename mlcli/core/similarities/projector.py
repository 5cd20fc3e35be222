"""The projector: from new points to coordinates, and by decoders from coordinates back to features."""

from collections.abc import Callable, Mapping, Sequence
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
from mlcli.core.centering import Centering
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.similarities.base import Similarity
from mlcli.errors import ConfigError, NumericalError, rows_from


@frozen
class Decoder:
    """A map from coordinates to features; each kind is frozen, stored, and needs NumPy only."""

    view: ClassVar[int] = 1  # whose features it gives

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

    @property
    def unit(self) -> Unit | None:
        """The unit of its features; None where it is that of the rows that are placed."""
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


LARGEST_EXPONENT = 1 << 14
FARTHEST = 2.0**500  # size of new points with safe squares, in units in which training points are about 1


class ProjectionUnits:
    """The units of new points and of coordinates: the base of a projector, and of its absence."""

    exponent_in: int
    exponent_out: int

    def __post_init__(self) -> None:
        """Raise ValueError for exponents beyond the range of numbers and their squares, as of a damaged model."""
        if max(abs(self.exponent_in), abs(self.exponent_out)) > LARGEST_EXPONENT:
            raise ValueError("units are powers of two in the range of numbers")

    @property
    def input_unit(self) -> Unit:
        """The unit in which the similarity expects new points."""
        return Unit(self.exponent_in)

    @property
    def output_unit(self) -> Unit:
        """The unit of rows times axes, and of coordinates."""
        return Unit(self.exponent_out)

    def in_units(self, inputs: Unit, outputs: Unit) -> Self:
        """Return a copy for new points and coordinates in these units."""
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
    decode_rows: ClassVar[None] = None
    affine: ClassVar[None] = None

    def require_places(self) -> NoReturn:
        """Raise ConfigError with the reason."""
        raise ConfigError(self.code, self.reason, hint=self.hint)


OF_COVARIANCE = NoProjection("this run was made of a covariance matrix, which has no points and no means to place "
                             "others by", "fit the points themselves", "NO-ROWS")


@stored("projector", axes="cp")
@frozen
class Projector(ProjectionUnits):
    """The map from new points to coordinates: rows of similarity, centered, times axes."""

    similarity: Similarity
    centering: Centering
    axes: Array  # c x p
    decoder: Decoder | None = None
    exponent_in: int = 0  # exponents of the units of inputs and of coordinates; the names are stored
    exponent_out: int = 0

    @stage("project")
    def project(self, new: Array) -> Array:
        """Return coordinates (m x p) of (m x d) new points, in the training data's units; raises NumericalError.

        Runs over a few rows at a time, except for a sequence.
        """
        coordinates = np.empty((len(new), self.axes.shape[1]))
        for block in self.similarity.batches(new, len(self.axes)):
            measured = self.input_unit.measured(new[block])
            if not self.similarity.in_features and self.similarity.comparison.scalable:  # else nothing is squared
                require_near(np.abs(measured) > FARTHEST, block.start or 0)
            with np.errstate(over="ignore", invalid="ignore"), rows_from(block.start or 0):  # raised below
                rows = self.centering(self.similarity.rows(measured))
                coordinates[block] = self.output_unit.plain(self.similarity.combine(rows, self.axes))
        require_near(~np.isfinite(coordinates))
        return coordinates

    def place(self, new: Array, labels: Sequence[Sequence[str]]) -> Array:
        """Return coordinates (m x p) of new points (m x d), whose labels (m each) count only where there are styles."""
        return self.project(new)

    def place_with(self, new: Array, labels: Sequence[Sequence[str]]) -> tuple[Array, Mapping[str, Array]]:
        """Return coordinates (m x p) of new points (m x d), and further numbers of them (m each) by their names."""
        return self.place(new, labels), {}

    @property
    def beside(self) -> tuple[str, ...]:
        """The names of these further numbers, which the way back to features needs as well."""
        return ()

    @property
    def leads_back(self) -> bool:
        """Whether coordinates lead back to features."""
        return self.decoder is not None

    @property
    def rowwise(self) -> bool:
        """Whether coordinates of a new point do not depend on those that come with it."""
        return self.similarity.rowwise

    def require_places(self) -> None:
        """Raise ConfigError where new points cannot be compared with the training points."""
        if not self.similarity.places:
            self.similarity.rows(np.zeros((0, 0)))

    @stage("reconstruct")
    def reconstruct(self, embedding: Array) -> Array:
        """Return features (m x d) at coordinates (m x p); raises TypeError where there is no decoder."""
        decode = self.decode
        if decode is None:
            raise TypeError("this projector has no decoder")
        return decode(embedding)

    def own_coordinates(self, embedding: Array) -> Array:
        """Return coordinates (m x p) as the fit has them, in the units of the computation: those of the decoder."""
        return self.output_unit.measured(embedding)

    def unexplained(self, new: Array, embedding: Array) -> AnyArray:
        """Return an (m,) mask of the new rows (m x d) that the decoder does not explain at coordinates (m x p)."""
        if self.decoder is None:
            return np.zeros(len(new), dtype=bool)
        with np.errstate(over="ignore", invalid="ignore"):  # what leaves the range of doubles is not explained
            return self.decoder.unexplained(self.input_unit.measured(new), self.output_unit.measured(embedding))

    def variance(self, embedding: Array) -> Array | None:
        """Return the variance of each feature at (m, p) coordinates, an (m,) array; None where it is unknown."""
        deviation = self.deviation(embedding)
        return None if deviation is None else deviation**2

    def rounding(self, points: Array) -> float:
        """Return a bound of the errors of coordinates of an (m, d) array of points.

        It is large where axes amplify the smallest variation of the columns.
        """
        rows = self.similarity.rows(points)
        wrong = EPS * rows.shape[1] * (np.abs(rows) + np.abs(self.centering.means)) + self.similarity.rounding(points)
        return float((wrong.max(axis=0, initial=0.0) @ np.abs(self.axes)).max(initial=0.0))

    @property
    def decode(self) -> Callable[[Array], Array] | None:
        """The map from coordinates to features in the data's units; None where there is none."""
        return None if self.decoder is None else partial(
            _decoded, self.decoder, self.output_unit, self.decoder.unit or self.input_unit)

    @property
    def decode_rows(self) -> Callable[[Array], Array] | None:
        """The map from coordinates of training rows to features, by other rows where they would be their own."""
        return None if self.decoder is None else partial(
            _decoded, self.decoder.decode_left_out, self.output_unit, self.decoder.unit or self.input_unit)

    def deviation(self, places: Array) -> Array | None:
        """Return the posterior standard deviation of a feature at (m, p) places, an (m,) array in the data's units.

        None where the decoder has no variance, or there is no decoder.
        """
        variance = None if self.decoder is None else self.decoder.variance(self.output_unit.measured(places))
        return None if variance is None else self.input_unit.plain(np.sqrt(variance))

    @property
    def affine(self) -> Affine | None:
        """The decoder where it is affine; else None."""
        return None if self.decoder is None else self.decoder.affine


def require_projector(found: Projector | NoProjection) -> Projector:
    """Return the projector; raises ConfigError with the reason where there is none."""
    if isinstance(found, NoProjection):
        found.require_places()
    return found


def require_near(far: AnyArray, first: int = 0) -> None:
    """Raise NumericalError for the first row where `far`, an (m, c) mask, is true; rows count from `first`."""
    if far.any():
        row = first + int(np.flatnonzero(far.any(axis=1))[0])
        raise NumericalError("PROJECTION", "this point is too far from the training points for double precision",
                             hint="check its numbers, or leave it out", row=row)


def _decoded(decoder: Callable[[Array], Array], measured: Unit, plain: Unit, embedding: Array) -> Array:
    return plain.plain(decoder(measured.measured(embedding)))
