"""What all methods share: the frame of a fit, and the model it returns."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from mlcli.base.compute import Compute
from mlcli.base.inputs import Given, Input
from mlcli.base.options import Options
from mlcli.base.scaling import scaled
from mlcli.base.signs import leading_signs
from mlcli.base.stage import note, stage
from mlcli.base.steps import Step
from mlcli.base.types import Array, Indices
from mlcli.errors import ConfigError, NumericalError
from mlcli.stages.distances import row_blocks
from mlcli.stages.eigensolve import Eigensolve
from mlcli.stages.kernels import Centering
from mlcli.stages.similarities import Similarity
from mlcli.stages.spectrum import Spectrum


@dataclass(frozen=True)
class Decoder:
    """The way back from coordinates to features, an affine map."""

    mean: Array  # d
    directions: Array  # d x p

    def __call__(self, embedding: Array) -> Array:
        """Features (m x d) of coordinates (m x p)."""
        return self.mean + embedding @ self.directions.T


def linear_decoder(points: Array, spectrum: Spectrum) -> Decoder:
    """The way back where the kernel is that of inner products: directions XᵀV / √λ."""
    mean = points.mean(axis=0)
    return Decoder(mean, (points - mean).T @ spectrum.inverse_roots())


@dataclass(frozen=True)
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
        """Coordinates (m x p) of new points, in the training data's units; a few rows at a time."""
        coordinates = np.empty((len(new), self.axes.shape[1]))
        for block in row_blocks(len(new), max(len(self.axes), new.shape[1])):
            rows = self.centering(self.similarity.rows(scaled(new[block], -self.exponent_in)))
            coordinates[block] = scaled(rows @ self.axes, self.exponent_out)
        if not np.isfinite(coordinates).all():
            raise NumericalError("PROJECTION", "some projected coordinates are not finite",
                                 hint="the new points are too far from the training points for double precision")
        return coordinates

    @stage("reconstruct")
    def reconstruct(self, embedding: Array) -> Array:
        """Features (m x d) of coordinates (m x p); raises ConfigError where the method has no way back."""
        if self.decoder is None:
            raise ConfigError("NO-RECONSTRUCTION", "this run's method has no way back from coordinates to features",
                              hint="pca, mds of features and kpca with the linear kernel have one")
        return scaled(self.decoder(scaled(embedding, -self.exponent_out)), self.exponent_in)


@dataclass(frozen=True)
class Model:
    """What a fit returns."""

    embedding: Array  # n x p, or the kept rows only
    spectrum: Spectrum
    projector: Projector
    kept: Indices | None = None  # the rows embedded, where a policy left some out
    fit: dict[str, Any] = field(default_factory=dict)  # the method's own figures, for run.json

    def project(self, new: Array) -> Array:
        """Coordinates (m x p) of new points."""
        return self.projector.project(new)

    def reconstruct(self, embedding: Array) -> Array:
        """Features (m x d) of coordinates (m x p)."""
        return self.projector.reconstruct(embedding)

    def placing(self, rows: Array) -> "Model":
        """The model of landmarks with all points placed by their kernel rows (n x landmarks), axes turned anew."""
        embedding = self.projector.centering(rows) @ self.projector.axes
        signs = leading_signs(embedding)
        spectrum = replace(self.spectrum, vectors=self.spectrum.vectors * signs)
        projector = replace(self.projector, axes=self.projector.axes * signs)
        return replace(self, embedding=embedding * signs, spectrum=spectrum, projector=projector)

    def in_units(self, exponent_in: int, exponent_out: int) -> "Model":
        """The model of 2**exponent_in times the data, whose coordinates are 2**exponent_out times these."""
        spectrum = self.spectrum.rescaled(2 * exponent_out)
        top = spectrum.values[:1]
        if np.any(self.spectrum.solved[:1] != 0) and not (np.isfinite(top) & (top != 0)).all():
            note("W-RANGE", "eigenvalues leave the range of double precision; proportions and coordinates are right")
        return Model(scaled(self.embedding, exponent_out) + 0.0, spectrum,
                     replace(self.projector, exponent_in=exponent_in, exponent_out=exponent_out), self.kept, self.fit)


class Method(Options):
    """A method: a frozen declaration of its stages, and `solve`, which composes them."""

    accepts: ClassVar[tuple[type[Given], ...]]
    reach: ClassVar[int] = 0  # binary exponents of data that the method takes as it is, without a scaled copy
    if TYPE_CHECKING:  # every method declares these itself, so that its options keep their order
        name: str
        eigensolve: Eigensolve

    def fit(self, data: Input, compute: Compute) -> Model:
        """The model of the data; everything is computed in units that keep squares in range."""
        normalized = data.normalized(self.reach)
        model = self.solve(normalized, compute)
        return model.in_units(*self.exponents(normalized))

    def settle(self, data: Input) -> Self:
        """This method with defaults clipped to the data; raises ConfigError where an explicit option does not fit."""
        self.require_kind(data.kind)
        return self.replace(eigensolve=self.eigensolve.settled(self.limit(data)), **self.settled_stages(data))

    def require_kind(self, kind: str) -> None:
        """Raises ConfigError where the method cannot take this kind of input."""
        kinds = [accepted.kind for accepted in self.accepts]
        if kind not in kinds:
            raise ConfigError("KIND", f"{self.name} takes {' or '.join(kinds)}, not {kind}", where="input.kind",
                              hint="choose another method, or give the data in another form")

    def with_components(self, count: int) -> Self:
        """This method with the count of axes that were kept in the end; a share of variance stays a share."""
        if not isinstance(self.eigensolve.components, int) or self.eigensolve.components == count:
            return self
        return self.replace(eigensolve=self.eigensolve.replace(components=count))

    def settled_stages(self, data: Input) -> dict[str, Any]:
        """Stages other than the eigensolve whose defaults depend on the data."""
        return {}

    def limit(self, data: Input) -> int:
        """The most axes that data of this shape can have."""
        return (self.landmark_count(data) or len(data.values)) - 1

    def landmark_count(self, data: Input) -> int | None:
        """The number of landmarks, where some are asked for; raises ConfigError where there are too many."""
        count: int | None = getattr(self, "landmarks", None)
        if count is not None and count > len(data.values):
            raise ConfigError("LANDMARKS", f"{count} landmarks were asked for and there are {len(data.values)} points",
                              where="method.landmarks", hint="ask for fewer, or leave landmarks out")
        return count

    def exponents(self, data: Input) -> tuple[int, int]:
        """The powers of two that the input, and with it the coordinates, are scaled by."""
        return data.exponent, data.exponent

    def plan(self, data: Input, compute: Compute, share: float | None) -> list[Step]:
        """What a fit would do and cost; with a share, that part of the dearest work is done to measure it."""
        return self.steps(data.normalized(), compute, share)

    def steps(self, data: Any, compute: Compute, share: float | None) -> list[Step]:
        """The stages of a fit with their costs."""
        raise NotImplementedError

    def solve(self, data: Any, compute: Compute) -> Model:
        """The method's formula."""
        raise NotImplementedError
