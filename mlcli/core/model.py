"""The model that a fit returns: coordinates, figures, and optional parts."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.scratch import map_blocks
from mlcli.base.rows.source import rows_of
from mlcli.base.stages.stage import note
from mlcli.base.stored import result, stored
from mlcli.base.types import AnyArray, Array, Indices, RowsOf
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Covariance, Features, Given
from mlcli.base.values.products import Products
from mlcli.base.values.quantity import Quantity, plain_figures
from mlcli.base.values.scaling import Unit, largest_of
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.similarities.projector import OF_COVARIANCE, NoProjection, Projector, require_projector
from mlcli.core.similarities.spaces import EuclideanSpace, Space
from mlcli.errors import ConfigError, NumericalError

if TYPE_CHECKING:
    from mlcli.core.classifier import Memberships
    from mlcli.core.similarities.registration import Registration


@stored("joint-views", precisions="vpp", weights="p")
@frozen
class JointViews:
    """How coordinates given several of v views follow from the coordinates given each: one of two rules.

    Posterior means of z ~ N(0, I) have a precision Pₖ = I + WₖᵀΨₖ⁻¹Wₖ given view k alone, and evidence of views adds:
    (I + Σ (Pₖ - I))⁻¹ Σ Pₖ sₖ. Scores of all views may also add up with weights.
    """

    precisions: Array | None  # v x p x p
    weights: Array | None  # p, of the sum over all views

    def combine(self, scores: Sequence[Array], views: Sequence[int], count: int) -> Array:
        """Return coordinates (m x p) given the scores (m x p) of some of `count` views, whose numbers count from 0.

        Raises ConfigError where they follow only from all views.
        """
        if self.precisions is None or self.weights is not None:
            if len(views) < count or self.weights is None:
                raise ConfigError("AS-VIEW", f"the coordinates follow from rows of one view, or of all {count}",
                                  where="--view", hint="leave the second file out, or give all views")
            return sum(scores, np.zeros_like(scores[0])) * self.weights
        chosen = self.precisions[list(views)]
        whole = np.eye(chosen.shape[1]) + (chosen - np.eye(chosen.shape[1])).sum(axis=0)
        evidence = sum((score @ precision for score, precision in zip(scores, chosen, strict=True)),
                       np.zeros_like(scores[0]))
        return np.linalg.solve(whole, evidence.T).T


@frozen
class Forecast:
    """Predicted rows after the last one."""

    points: Array  # N x p, latent
    means: Array  # N x d
    deviations: Array  # N x d

    def plain(self, unit: Unit) -> "Forecast":
        """Return the forecast in plain numbers, given the unit of features."""
        return replace(self, means=unit.plain(self.means), deviations=unit.plain(self.deviations))


@frozen
class Goodness:
    """The fit of n points: squared, `points` sum to the squared stress (under Sammon's weights, to his stress)."""

    points: Array  # n, √(Σⱼ w (d - d̂)² / 2 Σ w d²) as vegan's `goodness`; metric scaling divides by Σ w δ²
    pairs: Array  # s x 3: dissimilarity, distance and disparity, by ascending dissimilarity
    linear: float = np.nan  # squared correlation of distances and disparities, as in vegan's `stressplot`, if known

    def plain(self, unit: Unit) -> "Goodness":
        """Return the value with pairs in plain numbers."""
        return replace(self, pairs=unit.plain(self.pairs))


@result("unfolded")
@stored("unfolded", factor="uf", left="m", right="m", counted="w", weights="w", basis="ub",
        within={"left": "u", "right": "u", "counted": "m"})
@frozen
class Unfolded:
    """A learned kernel K = F Fᵀ and the weights that bound the trace of all others, in the units of the computation.

    The bound is over kernels V R Vᵀ: of a face that all kernels with these distances lie in, or of a
    Laplacian basis. Pairs that others imply, such as those of equal points, have no weight.
    """

    factor: Array  # n x r
    left: Indices  # m: pairs of points whose distances are constrained
    right: Indices  # m
    counted: Indices  # m', the pairs that have a weight, by their places among the m
    weights: Array  # m'
    basis: Array | None  # V (n x r), orthonormal and mean-free; None: all mean-free vectors
    penalty: float | None = None  # κ of a program over a Laplacian basis


@frozen
class TableGroups:
    """What each of several tables says about the axes that a sum of their kernels has.

    A kernel K is divided by its norm, so that all tables count alike; u is the unit eigenvector of an axis.
    """

    names: tuple[str, ...]  # g
    active: AnyArray  # g, whether a table is in the sum; else it is supplementary
    widths: Indices  # g: columns of each; zero where there are none
    eigenvalues: Array  # g: the first of each table's own kernel, before it is divided
    weights: Array  # g: of the divided kernels in the sum
    products: Array  # (g + 1) x (g + 1): traces of products of two kernels; the last is the sum's, over its first one
    coordinates: Array  # g x p: u'Ku
    correlations: Array  # g x p, of the partial points with the coordinates of the rows
    partial: Array | None = None  # g x n x p: rows as each table alone places them; None where that is not computed

    @property
    def rv(self) -> Array:
        """The RV coefficients ((g + 1) x (g + 1)): the cosine of two kernels (Escoufier, 1973); zero for one of zeros.
        """
        roots = np.sqrt(np.diag(self.products))
        roots = np.where(roots > 0, roots, 1.0)
        return np.asarray(self.products / np.outer(roots, roots))

    @property
    def contributions(self) -> Array:
        """The shares (g x p) of the tables in each eigenvalue; zero for supplementary ones."""
        parts = self.coordinates * self.weights[:, None]
        whole = parts.sum(axis=0)
        return np.asarray(parts / np.where(whole > 0, whole, 1.0))

    @property
    def cosines(self) -> Array:
        """The squared cosines (g x p) of a table's kernel with the kernel u u' of an axis."""
        own = np.diag(self.products)[:-1]
        return np.asarray(self.coordinates**2 / np.where(own > 0, own, 1.0)[:, None])


OTHER_PIECE = "outside the largest piece of the neighbor graph"  # why a row is left out
NO_SPECTRUM = Spectrum.of_values(np.zeros(0))


@frozen
class Powers:
    """The powers of the data's unit in coordinates and spectrum."""

    coordinates: int
    spectrum: int


@frozen
class Loadings:
    """The loading of each column on each axis."""

    values: Array  # d x p
    columns: Sequence[str]  # d
    power: int = 1  # of the columns' units
    unitless: int = 0  # the last so many rows carry no unit: correlations

    def plain(self, data: Given) -> "Loadings":
        """Return plain loadings, converted from the units of the data's columns; a zero has no sign."""
        measured, others = np.split(self.values, [len(self.values) - self.unitless])
        plain = data.plain_rows(measured, self.power)
        return replace(self, values=(np.vstack([plain, others]) if self.unitless else plain) + 0.0, power=0)

    @property
    def directions(self) -> "Loadings":
        """Each axis as a direction of length one; an axis of zeros stays zero."""
        lengths = np.linalg.norm(self.values, axis=0)
        return replace(self, values=self.values / np.where(lengths > 0, lengths, 1.0), power=0)


@frozen
class Model:
    """The result of a fit, in the units of the computation; `in_units` converts it to plain numbers."""

    _: KW_ONLY
    embedding: Array  # n x p, or the kept rows only; 0 x p where the input has no rows
    spectrum: Spectrum | None = None  # None where axes have no rank
    projector: Projector | NoProjection = OF_COVARIANCE
    kept: Indices | None = None  # the rows embedded, where some are left out
    left_out: str = OTHER_PIECE  # the reason of the others
    fit: Mapping[str, Any] = field(default_factory=dict)  # figures of the fit: quantities, and plain values
    objective: Quantity | None = None  # after each iteration, of an iterative method
    entropy: Array | None = None  # of the powers of a random walk, in nats
    information: Mapping[str, Array] | None = None  # the curve of a bottleneck by column, for rising β, in nats
    curves: Mapping[str, Quantity] = field(default_factory=dict)  # further curves of the iterations, by name
    loadings: Loadings | None = None
    # of methods of several views: projectors of the second and further ones, and where coordinates follow from several
    others: tuple[Projector | NoProjection, ...] = ()
    joint: "JointViews | None" = None
    private: Loadings | None = None  # of factors that only one view has, zero beyond as many as it has columns
    # posterior covariances (n x p x p) where they differ from row to row, or deviations of independent axes (n x p)
    spreads: Array | None = None
    memberships: "Memberships | None" = None  # posterior probabilities of classes
    goodness: "Goodness | None" = None  # of a layout: stress by point, and distances that it fits
    radii: Array | None = None  # of a layout that keeps densities: log local radii in data and layout (n x 2)
    forecast: "Forecast | None" = None  # the next rows, of a method of sequences
    groups: "TableGroups | None" = None  # of a method of several tables
    unfolded: "Unfolded | None" = None  # a learned kernel, in the units of the computation
    rows: RowsOf | None = None  # a function for rows of the kernel, not centered, where that is quick
    products: Products = field(default_factory=dict)  # what a run may keep
    registration: "Registration | None" = None  # onto the map of an earlier run, of coordinates fitted anew
    added: bool = False  # whether some rows were placed by the projector of a fit without them

    def with_loadings(self, data: Given) -> "Model":
        """Return the model of a chain with loadings, where its axes are directions of the data's columns."""
        spectrum = self.ranks
        if spectrum.directions is None or self.loadings is not None or not isinstance(data, Features):
            return self
        return replace(self, loadings=Loadings(
            spectrum.feature_directions() * np.sqrt(spectrum.axis_eigenvalues / spectrum.divisor), data.columns))

    @classmethod
    def of_covariance(cls, spectrum: Spectrum, data: Covariance) -> "Model":
        """Return the model of a covariance's principal axes: loadings without points."""
        return cls(embedding=np.zeros((0, len(spectrum.axis_eigenvalues))), spectrum=spectrum,
                   fit={"variances": Quantity(np.diag(data.values), 2, names=data.columns)},
                   loadings=Loadings(spectrum.coordinates(), data.columns))

    def with_directions(self) -> "Model":
        """Return the model with loadings of length one."""
        return replace(self, loadings=self.loadings and self.loadings.directions)

    def project(self, new: Array) -> Array:
        """Return coordinates (m x p) of new points (m x d); raises ConfigError where the method cannot place them."""
        return require_projector(self.projector).project(new)

    def reconstruct(self, embedding: Array) -> Array:
        """Return features (m x d) for coordinates (m x p); only where there is a decoder."""
        return require_projector(self.projector).reconstruct(embedding)

    def rounding(self, data: Features) -> float:
        """Return a bound of the rounding errors of coordinates; only where there is a projector."""
        rows = rows_of(data.values)
        return require_projector(self.projector).rounding(data.values if rows is None else rows.reach[None, :])

    def space(self, compute: Compute) -> Space | None:
        """Return the space whose distances the axes should keep; None where it is the input's space.

        So it is of rows that were added: the space of a fit holds no others than its own.
        """
        projector = self.projector
        if self.unfolded is not None:
            return EuclideanSpace(self.unfolded.factor, projector.output_unit, "kernel")
        if isinstance(projector, NoProjection) or self.added:
            return None
        lengths = projector.similarity.distance_unit(projector.input_unit)
        return projector.similarity.space(self.rows, (lengths, projector.output_unit), compute)

    @property
    def required_projector(self) -> Projector:
        """The projector; raises ConfigError with the reason where there is none."""
        return require_projector(self.projector)

    @property
    def needs_all_views(self) -> bool:
        """Whether coordinates follow from all views together, so that rows of the first have others."""
        return self.joint is not None and self.joint.weights is not None

    @property
    def ranks(self) -> Spectrum:
        """The spectrum; an empty one where the method has none."""
        return NO_SPECTRUM if self.spectrum is None else self.spectrum

    @property
    def trace(self) -> Array | None:
        """The objective after each iteration, as numbers."""
        return None if self.objective is None else np.asarray(self.objective.value)

    @property
    def axes(self) -> Array:
        """The matrix that maps centered rows of the similarity to coordinates (columns of the rows x p)."""
        return require_projector(self.projector).axes

    @property
    def directions(self) -> Array | None:
        """Change of features for one unit on each axis (d x p); None where reconstruction is not affine, or absent."""
        affine = self.projector.affine
        return None if affine is None else affine.directions

    def in_units(self, data: Given, powers: Powers) -> "Model":
        """Return the model in plain numbers; `data` is that of the fit, in its units.

        Raises NumericalError where coordinates leave the range of doubles.
        """
        unit = data.unit**powers.coordinates
        spectrum = None if self.spectrum is None else in_unit(self.spectrum, data.unit**powers.spectrum)
        embedding = map_blocks(lambda some: unit.plain(some) + 0.0, self.embedding)
        if np.isfinite(largest_of(self.embedding)) and not in_range(embedding, self.embedding):
            raise NumericalError("RANGE", "coordinates in the data's unit are outside the range of double precision",
                                 hint="give the data in another unit, features with {prepare.scale=standard}")
        units = {"none": Unit(), "input": data.number_unit, "spectrum": data.unit**powers.spectrum}
        products = {name: product.plain(units[product.carried]) for name, product in self.products.items()}
        return replace(self, embedding=embedding, spectrum=spectrum, fit=plain_figures(self.fit, data.units),
                       projector=self.projector.in_units(data.value_unit, unit),
                       objective=self.objective and Quantity(self.objective.plain(data.units)),
                       curves={name: Quantity(curve.plain(data.units)) for name, curve in self.curves.items()},
                       loadings=self.loadings and self.loadings.plain(data), products=products,
                       private=self.private and self.private.plain(data),
                       others=tuple(other.in_units(view, unit) for other, view in zip(self.others, data.units[1:],
                                                                                      strict=False)),
                       goodness=self.goodness and self.goodness.plain(unit),
                       forecast=self.forecast and self.forecast.plain(data.unit))


def in_unit(spectrum: Spectrum, unit: Unit) -> Spectrum:
    """Return a spectrum with its unit; warns where eigenvalues leave the range of doubles."""
    spectrum = replace(spectrum, unit=unit)
    top = spectrum.values[:1]
    if np.any(spectrum.solved[:1] != 0) and not (np.isfinite(top) & (top != 0)).all():
        note("W-RANGE", "eigenvalues are outside the range of double precision; proportions and coordinates are right")
    return spectrum


def in_range(values: Array, same: Array) -> bool:
    """Whether the largest of values (any shape) is a normal number; `same` are the values in the computation's unit."""
    largest = largest_of(values)
    return bool(np.isfinite(largest)) and bool(largest >= np.finfo(np.float64).tiny or largest_of(same) == 0)
