"""The model that a fit returns: coordinates, spectrum, projection and reconstruction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from mlcli.base.check import EPS
from mlcli.base.compute import Compute
from mlcli.base.frozen import frozen
from mlcli.base.inputs import Features
from mlcli.base.products import Products
from mlcli.base.scaling import largest_of, scaled
from mlcli.base.signs import leading_signs
from mlcli.base.stage import note, stage
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array, Indices, RowsOf
from mlcli.errors import ConfigError, NumericalError
from mlcli.stages.algebra.centering import Centering
from mlcli.stages.eigen.spectrum import Spectrum
from mlcli.stages.similarities import Similarity
from mlcli.stages.similarities.spaces import Euclidean, Space
from mlcli.stages.unfolding.unfolded import Unfolded

FARTHEST = 2.0**500  # size of new points whose squares are safe, in units in which training points are about 1


@stored("decoder", mean="d", directions="dp")
@frozen
class Decoder:
    """The map from coordinates back to features, affine."""

    mean: Array  # d
    directions: Array  # d x p

    def __call__(self, embedding: Array) -> Array:
        """Features (m x d) of coordinates (m x p)."""
        return self.mean + embedding @ self.directions.T


def linear_decoder(points: Array, spectrum: Spectrum) -> Decoder:
    """Reconstruction where the kernel is that of inner products: directions XᵀV / √λ."""
    mean = points.mean(axis=0)
    return Decoder(mean, (points - mean).T @ spectrum.inverse_roots())


@stored("projector", axes="cp")
@frozen
class Projector:
    """The way from new points to coordinates: rows of similarity, centered, times axes."""

    similarity: Similarity
    centering: Centering
    axes: Array  # columns of the rows x p
    decoder: Decoder | None = None
    exponent_in: int = 0  # inputs are 2**exponent_in times what the similarity expects
    exponent_out: int = 0  # coordinates are 2**exponent_out times rows x axes

    @stage("project")
    def project(self, new: Array) -> Array:
        """Coordinates (m x p) of new points, in the training data's units; a few rows at a time, but for a sequence."""
        coordinates = np.empty((len(new), self.axes.shape[1]))
        for block in self.similarity.batches(new, len(self.axes)):
            moved = scaled(new[block], -self.exponent_in)
            if not self.similarity.in_features:
                require_near(np.abs(moved) > FARTHEST, block.start or 0)
            with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused below
                rows = self.centering(self.similarity.rows(moved))
                coordinates[block] = scaled(rows @ self.axes, self.exponent_out)
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

    def rounding(self, points: Array) -> float:
        """The errors of coordinates of points: large where axes amplify the columns' smallest variation."""
        rows = self.similarity.rows(points)
        wrong = EPS * rows.shape[1] * (np.abs(rows) + np.abs(self.centering.means)) + self.similarity.rounding(points)
        return float((wrong.max(axis=0, initial=0.0) @ np.abs(self.axes)).max(initial=0.0))

    @property
    def decode(self) -> Callable[[Array], Array] | None:
        """The map from coordinates back to features in the data's units, where there is one."""
        decoder = self.decoder
        if decoder is None:
            return None
        return lambda embedding: scaled(decoder(scaled(embedding, -self.exponent_out)), self.exponent_in)


@frozen
class Units:
    """The powers of two from a method's units to the data's own."""

    input: int
    coordinates: int = 0
    spectrum: int = 0


@frozen
class Loadings:
    """The loading of each column on each axis."""

    values: Array  # d x p
    columns: Sequence[str]  # d


@frozen
class Model:
    """What a fit returns; the figures, the objective and the loadings are in the data's own units from the start."""

    embedding: Array  # n x p, or the kept rows only; 0 x p where the input has no rows
    spectrum: Spectrum
    projector: Projector | None  # None where nothing can be placed: the input has no rows
    kept: Indices | None = None  # the rows embedded, where a policy left some out
    fit: Mapping[str, Any] = field(default_factory=dict)  # figures of the fit in plain values, as in run.json
    trace: Array | None = None  # the objective after each iteration, of an iterative method
    loadings: Loadings | None = None
    spreads: Array | None = None  # n x p x p, posterior covariances, where they differ from row to row
    unfolded: Unfolded | None = None  # a kernel that was learned, in the units of the computation
    rows: RowsOf | None = None  # finds rows of the kernel, not centered, where the fit holds what makes that quick
    products: Products = field(default_factory=dict)  # what a run may keep

    @classmethod
    def of_kernel(cls, spectrum: Spectrum, similarity: Similarity, *, decoder: Decoder | None = None,
                  kept: Indices | None = None, rows: RowsOf | None = None, products: Products | None = None) -> "Model":
        """Coordinates V √λ of a kernel whose rows the similarity gives, and of new rows by the axes V / √λ.

        What a run may keep is what the similarity makes, where it is not given.
        """
        projector = Projector(similarity, spectrum.centering, spectrum.inverse_roots(), decoder)
        return cls(spectrum.coordinates(), spectrum, projector, kept, rows=rows,
                   products=products or similarity.products(spectrum.centering))

    def project(self, new: Array) -> Array:
        """Coordinates (m x p) of new points; raises ConfigError where the method cannot place them."""
        return existing(self.projector).project(new)

    def reconstruct(self, embedding: Array) -> Array:
        """Features (m x d) of coordinates (m x p); only where there is a decoder."""
        return existing(self.projector).reconstruct(embedding)

    def rounding(self, data: Features) -> float:
        """The errors of coordinates where there is a projector."""
        return existing(self.projector).rounding(data.values)

    def space(self, compute: Compute) -> Space | None:
        """Where distances are the ones that the axes are to keep, where that is not the input's space."""
        projector = existing(self.projector)
        exponents = projector.exponent_in, projector.exponent_out
        if self.unfolded is not None:
            return Euclidean(self.unfolded.factor, projector.exponent_out, "kernel")
        return projector.similarity.space(self.rows, exponents, compute)

    @property
    def axes(self) -> Array:
        """What rows are multiplied by to make coordinates (columns of the rows x p)."""
        return existing(self.projector).axes

    @property
    def directions(self) -> Array | None:
        """The features of one unit on each axis (d x p), where reconstruction is linear."""
        decoder = existing(self.projector).decoder
        return None if decoder is None else decoder.directions

    def placing(self, rows: Array) -> "Model":
        """The model of landmarks with all points placed by their kernel rows (n x landmarks), axes rotated again."""
        projector = existing(self.projector)
        embedding = projector.centering(rows) @ projector.axes
        signs = leading_signs(embedding)
        spectrum = replace(self.spectrum, vectors=self.spectrum.vectors * signs)
        projector = replace(projector, axes=projector.axes * signs)
        return replace(self, embedding=embedding * signs, spectrum=spectrum, projector=projector)

    def in_units(self, units: Units) -> "Model":
        """The model with its embedding, spectrum and projector in the data's own units.

        Raises NumericalError where coordinates have no digits there, or are not doubles at all.
        """
        spectrum = self.spectrum.rescaled(units.spectrum)
        top = spectrum.values[:1]
        if np.any(self.spectrum.solved[:1] != 0) and not (np.isfinite(top) & (top != 0)).all():
            note("W-RANGE", "eigenvalues leave the range of double precision; proportions and coordinates are right")
        embedding = scaled(self.embedding, units.coordinates) + 0.0
        if np.isfinite(largest_of(self.embedding)) and not in_range(embedding, self.embedding):
            raise NumericalError("RANGE", "coordinates in the data's unit leave the range of double precision",
                                 hint="give the data in another unit, features with --scale standard")
        projector = self.projector and replace(
            self.projector, exponent_in=units.input, exponent_out=units.coordinates)
        powers = {"input": units.input, "spectrum": units.spectrum, "none": 0}
        products = {name: product.scaled(powers[product.unit]) for name, product in self.products.items()}
        return replace(self, embedding=embedding, spectrum=spectrum, projector=projector, products=products)


def require_near(far: AnyArray, first: int = 0) -> None:
    """Raises NumericalError where something of a new point is too far (m x anything)."""
    if far.any():
        row = first + int(np.flatnonzero(far.any(axis=1))[0]) + 1
        raise NumericalError("PROJECTION", f"new point {row} is too far from the training points for double precision",
                             hint="check its numbers, or leave it out")


def in_range(values: Array, same: Array) -> bool:
    """Whether the largest of values is a normal number, as that of the same in another unit is."""
    largest = largest_of(values)
    return bool(np.isfinite(largest)) and bool(largest >= np.finfo(np.float64).tiny or largest_of(same) == 0)


def existing(projector: Projector | None) -> Projector:
    """The projector of a run; raises ConfigError where there is none."""
    if projector is None:
        raise ConfigError("NO-ROWS", "this run was made of a covariance matrix, which has no points and no means to "
                          "place others by", hint="fit the points themselves")
    return projector
