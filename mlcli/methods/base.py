"""What all methods share: the frame of a fit, and the model it returns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from mlcli.base.blocks import one_by_one, row_blocks
from mlcli.base.check import EPS, Check
from mlcli.base.compute import Compute
from mlcli.base.frozen import frozen
from mlcli.base.inputs import Features, Given, Input, TwoViews
from mlcli.base.options import Options
from mlcli.base.scaling import largest_of, scaled
from mlcli.base.signs import leading_signs
from mlcli.base.stage import note, stage
from mlcli.base.steps import Step
from mlcli.base.types import Array, Indices, RowsOf
from mlcli.errors import ConfigError, NumericalError
from mlcli.methods.memory import require_memory
from mlcli.stages.algebra.distances import HELD
from mlcli.stages.eigen.axes import Axes
from mlcli.stages.eigen.eigensolve import Eigensolve
from mlcli.stages.eigen.spectrum import Spectrum
from mlcli.stages.kernels.forms import Centering
from mlcli.stages.similarities import Monomials, Similarity, Smoother
from mlcli.stages.unfolding.unfolded import Unfolded


@frozen
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
        whole = isinstance(self.similarity, Smoother)
        few = row_blocks(len(new), HELD, max(len(self.axes), new.shape[1]))
        for block in [slice(None)] if whole else one_by_one(few):
            rows = self.centering(self.similarity.rows(scaled(new[block], -self.exponent_in)))
            coordinates[block] = scaled(rows @ self.axes, self.exponent_out)
        if not np.isfinite(coordinates).all():
            raise NumericalError("PROJECTION", "some projected coordinates are not finite",
                                 hint="the new points are too far from the training points for double precision")
        return coordinates

    @stage("reconstruct")
    def reconstruct(self, embedding: Array) -> Array:
        """Features (m x d) of coordinates (m x p); only where there is a way back."""
        decode = self.decode
        if decode is None:
            raise TypeError("this projector has no way back")
        return decode(embedding)

    def rounding(self, points: Array) -> float:
        """What coordinates of points may be wrong by: much where axes amplify what columns have least of."""
        rows = self.similarity.rows(points)
        wrong = EPS * rows.shape[1] * (np.abs(rows) + np.abs(self.centering.means))
        if isinstance(self.similarity, Monomials):
            wrong += self.similarity.rounding(points)
        return float((wrong.max(axis=0, initial=0.0) @ np.abs(self.axes)).max(initial=0.0))

    @property
    def decode(self) -> Callable[[Array], Array] | None:
        """The way back from coordinates to features in the data's units, where there is one."""
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
    """How strongly each column hangs on each axis."""

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

    def project(self, new: Array) -> Array:
        """Coordinates (m x p) of new points; raises ConfigError where there is nothing to place them by."""
        return existing(self.projector).project(new)

    def reconstruct(self, embedding: Array) -> Array:
        """Features (m x d) of coordinates (m x p); only where there is a way back."""
        return existing(self.projector).reconstruct(embedding)

    def rounding(self, data: Features) -> float:
        """What coordinates may be wrong by where there is a projector for them."""
        return existing(self.projector).rounding(data.values)

    @property
    def axes(self) -> Array:
        """What rows are multiplied by to make coordinates (columns of the rows x p)."""
        return existing(self.projector).axes

    @property
    def directions(self) -> Array | None:
        """The way back from one unit on each axis to features (d x p), where it is linear."""
        decoder = existing(self.projector).decoder
        return None if decoder is None else decoder.directions

    def placing(self, rows: Array) -> "Model":
        """The model of landmarks with all points placed by their kernel rows (n x landmarks), axes turned anew."""
        projector = existing(self.projector)
        embedding = projector.centering(rows) @ projector.axes
        signs = leading_signs(embedding)
        spectrum = replace(self.spectrum, vectors=self.spectrum.vectors * signs)
        projector = replace(projector, axes=projector.axes * signs)
        return replace(self, embedding=embedding * signs, spectrum=spectrum, projector=projector)

    def in_units(self, units: Units) -> "Model":
        """The model with its embedding, spectrum and projector in the data's own units.

        Raises NumericalError where coordinates have no digits there, or are no doubles at all.
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
        return replace(self, embedding=embedding, spectrum=spectrum, projector=projector)


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


class Method(Options):
    """A method: a frozen declaration of its stages, and `solve`, which composes them."""

    accepts: ClassVar[tuple[type[Given], ...]]
    reach: ClassVar[int] = 0  # binary exponents of data that the method takes as it is, without a scaled copy
    # What the certificate may hold the result to: coordinates are V √λ of the kernel that the projector's similarity
    # gives; √n V of (I - W)ᵀ(I - W) with its weights; V √λ of another kernel; scores of the latent model that makes
    # the data most likely; or only what `identities` says.
    proof: ClassVar[Literal["kernel", "weights", "spectrum", "latent", "own"]] = "own"
    missing: ClassVar[bool] = False  # whether it takes features with missing cells
    ranked_by: ClassVar[str] = "eigenvalues"  # what spectrum.csv holds
    decodes: ClassVar[str | None] = ""  # when coordinates lead back to features, in words: always; None: never
    if TYPE_CHECKING:  # every method declares these itself, so that its options keep their order
        name: str
        eigensolve: Eigensolve | Axes

    def fit(self, data: Input, compute: Compute) -> Model:
        """The model of the data, computed in units that keep squares in range; raises RefusedByPlan."""
        normalized = data.normalized(self.reach)
        self.require_memory(self.known(normalized, compute), normalized, compute)
        model = self.solve(normalized, compute)
        return model.in_units(self.units(normalized))

    def settle(self, data: Input) -> Self:
        """This method with defaults clipped to the data; raises ConfigError where an explicit option does not fit."""
        self.require(data)
        eigensolve = self.eigensolve.settled(self.limit(data), self.eigenvalues(data))
        return self.replace(eigensolve=eigensolve, **self.settled_stages(data))

    def require_kind(self, kind: str, missing: str = "error") -> None:
        """Raises ConfigError where the method cannot take this kind of input, or missing cells left in it."""
        kinds = list(dict.fromkeys(accepted.kind for accepted in self.accepts))
        if kind not in kinds:
            raise ConfigError("KIND", f"{self.name} takes {' or '.join(kinds)}, not {kind}", where="input.kind",
                              hint="choose another method, or give the data in another form")
        if missing == "model" and not self.missing:
            raise ConfigError("NO-MODEL", f"{self.name} has no model of missing cells", where="prepare.missing",
                              hint="ppca and lgssm have one; or choose error, drop or mean")

    def require(self, data: Input) -> None:
        """Raises ConfigError where the data lacks what the method needs, or has a view it has no use for."""
        self.require_kind(data.kind)
        if isinstance(data, TwoViews) and not any(issubclass(accepted, TwoViews) for accepted in self.accepts):
            raise ConfigError("VIEW", f"{self.name} has no use for a second view", where="input.view",
                              hint="leave it out, or choose cca or ibfa")
        if not isinstance(data, self.accepts):
            needs = next(accepted.needs for accepted in self.accepts if accepted.kind == data.kind)
            raise ConfigError("NEEDS", f"{self.name} needs {needs.partition(';')[0]}", where="input",
                              hint=needs.partition(";")[2].strip())

    def with_components(self, count: int) -> Self:
        """This method with the count of axes that were kept in the end; a share of variance stays a share."""
        if not isinstance(self.eigensolve.components, int) or self.eigensolve.components == count:
            return self
        return self.replace(eigensolve=self.eigensolve.replace(components=count))

    def reproduces(self) -> bool:
        """Whether projecting a training row gives the coordinates that the row has."""
        return True

    def identities(self, data: Any, model: Model) -> list[Check]:
        """Statements of this method's own for the certificate; data and model in the units of the computation."""
        return []

    def settled_stages(self, data: Input) -> dict[str, Any]:
        """Stages other than the eigensolve whose defaults depend on the data."""
        return {}

    def limit(self, data: Input) -> int:
        """The most axes that data of this shape can have."""
        return (self.landmark_count(data) or len(data.values)) - 1

    def eigenvalues(self, data: Input) -> int:
        """How many eigenvalues there are, zeros included."""
        return self.landmark_count(data) or len(data.values)

    def landmark_count(self, data: Input) -> int | None:
        """The number of landmarks, where some are asked for; raises ConfigError where there are too many."""
        count: int | None = getattr(self, "landmarks", None)
        if count is not None and count > len(data.values):
            raise ConfigError("LANDMARKS", f"{count} landmarks were asked for and there are {len(data.values)} points",
                              where="method.landmarks", hint="ask for fewer, or leave landmarks out")
        return count

    def units(self, data: Input) -> Units:
        """The powers of two that input, coordinates and spectrum are scaled by: as the data, and as its squares."""
        return Units(data.exponent, data.unit, 2 * data.unit)

    def known(self, data: Any, compute: Compute) -> list[Step]:
        """The steps whose memory the data alone decide; where a graph decides on the rest, `solve` checks them."""
        rule = getattr(self, "neighbors", None) if hasattr(self, "graph") else None
        return self.steps(data, compute, None) if rule is None else [rule.step(data, compute)]

    def require_memory(self, steps: Sequence[Step], data: Input, compute: Compute) -> None:
        """Refuses a fit of these steps before it starts; raises RefusedByPlan."""
        require_memory(steps, data, self, compute)

    def steps(self, data: Any, compute: Compute, share: float | None) -> list[Step]:
        """The stages of a fit with their costs; with a share, that part of the dearest work is done to measure it."""
        raise NotImplementedError

    def solve(self, data: Any, compute: Compute) -> Model:
        """The method's formula."""
        raise NotImplementedError
