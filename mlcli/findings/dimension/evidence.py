"""The evidence for the rules, from a fitted model and its input, and the verdict of a rule."""

from collections.abc import Callable
from dataclasses import field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.source import Rows, rows_of
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Covariance, Features, Given, Input
from mlcli.base.values.sample_size import sample_of
from mlcli.base.values.scaling import all_finite
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.graph.search import nearest, nearest_in_matrix
from mlcli.core.linalg import symmetric_eigenvalues
from mlcli.core.metrics.distances import metric_of
from mlcli.core.model import Model
from mlcli.core.similarities.projector import NoProjection, Projector, require_projector
from mlcli.core.similarities.spaces import EuclideanSpace, input_space
from mlcli.methods.method import Method


@frozen
class RuleVerdict:
    """The answer of a rule that applies."""

    components: int | None  # axes to keep; None where the rule gives figures and no count
    rule: str  # the rule in one sentence
    detail: str  # the deciding figure, in a few words
    figures: dict[str, Any] = field(default_factory=dict)
    doubt: str = ""  # why it has no vote in the recommendation here, where it has none


@frozen
class NotApplicable:
    """A rule that does not apply, with the reason."""

    reason: str


@frozen
class Evidence:
    """The evidence for the rules: the eigenvalues of `method`, and everything else where it exists.

    Of factor analysis they are the eigenvalues of the correlations of the columns, and `points` is standardized.
    """

    method: Method
    spectrum: Spectrum
    axes: Array  # (n, q) array: coordinates on the kept axes and on further ones that were computed, in one unit
    points: Array | None  # where `of_columns`: all rows, or of very many a sample, in the units of `solved` (m x d)
    width: int  # number of columns of the input, the cost of one distance
    distances: Callable[[Indices, Indices], Array] | None  # from some points to some (s x t), those the method keeps
    nearest: Callable[[Indices, int], Array] | None  # to the nearest others among some points (m x k), of the input
    seed: int = 0
    of_columns: bool = False  # whether the eigenvalues are variances of combinations of columns
    moments: Array | None = None  # d x d: the covariance of the columns in the units of `solved`, where no row is known
    observations: int | None = None  # rows that the eigenvalues are sums over, or that a covariance was made of
    no_eigenvalues: str = ""  # why the spectrum does not say how many axes to keep, where it does not
    rows: Rows | None = None  # of a table read in blocks, some of which are in memory
    factors: int = 0  # the most factors that factor analysis can determine; 0 for other methods

    @property
    def positive(self) -> Array:
        """The computed eigenvalues above rounding, in the units of `solved`."""
        solved = self.spectrum.solved
        return solved[solved > 10 * max(self.size, 1) * EPS * float(solved[:1].max(initial=0.0))]

    @property
    def parts(self) -> tuple[int, float] | None:
        """The number of eigenvalues in the positive total, and that total; None where either is unknown."""
        if self.of_columns:
            most = self.width if self.points is None else self.size - 1
            return min(most, len(self.norms)), self.spectrum.solved_trace
        return (len(self.positive), float(self.positive.sum())) if self.spectrum.complete else None

    @cached_property
    def columns(self) -> Array:
        """The columns of `points` that vary, minus their means, an (m, c) array."""
        if self.points is None:
            return np.zeros((0, 0))
        points = self.points
        varying = points.max(axis=0) > points.min(axis=0) if len(points) else np.zeros(points.shape[1], dtype=bool)
        return points[:, varying] - points[:, varying].mean(axis=0)

    @cached_property
    def norms(self) -> Array:
        """The norms of the columns that vary, scaled so that the squares sum to the trace, a (c,) array."""
        if self.moments is not None:
            return np.sqrt(np.diag(self.moments)[np.diag(self.moments) > 0])
        norms = np.linalg.norm(self.columns, axis=0)
        size = float(np.linalg.norm(norms))  # zero where all squares vanish
        return norms * np.sqrt(self.spectrum.solved_trace) / size if size else norms

    @property
    def correlations(self) -> Array:
        """The correlations of the columns that vary, a (c, c) array."""
        if self.moments is None:
            norms = np.linalg.norm(self.columns, axis=0)
            return np.asarray(self.columns.T @ self.columns / np.outer(norms, norms))
        varying = np.diag(self.moments) > 0
        return np.asarray(self.moments[np.ix_(varying, varying)] / np.outer(self.norms, self.norms))

    @property
    def correlation_eigenvalues(self) -> list[float]:
        """The eigenvalues of the correlations in factor analysis; empty for other methods."""
        if not self.factors or self.no_eigenvalues:
            return []
        shares = self.spectrum.solved / self.spectrum.solved_trace
        return [float(share) for share in shares * len(self.norms)]

    @property
    def size(self) -> int:
        """The number of points."""
        return len(self.axes)

    def generator(self) -> np.random.Generator:
        """Return a new random generator; every call gives the same stream."""
        return np.random.default_rng(self.seed)

    def sample(self, most: int) -> Indices:
        """Return all points, or a random sample of `most` in their order; of those in memory where not all are."""
        return sample_of(self.size, most, self.generator()) if self.rows is None else self.rows.some(most)


def count_leading(above: AnyArray) -> int:
    """Return how many of the first values are true, before the first false one."""
    return int(np.argmin(np.append(above, False)))


WIDEST = 300  # number of columns up to which the eigenvalues of their correlations cost little
THE_MODELS = "the spectrum is the model's: all eigenvalues after those of its axes are its noise"
ROOM, FEWEST = 2**20, 2000  # numbers in a sample of the rows of PCA, and its fewest rows
Pairs = Callable[[Indices, Indices], Array]  # sources (s) and targets (t) to distances (s, t), in any unit


def evidence_of(method: Method, model: Model, data: Input, compute: Compute) -> Evidence:
    """Return the evidence of a run; `data` holds the rows that were embedded."""
    spectrum, reason, seed = model.ranks, without_eigenvalues(method), compute.seed
    if isinstance(data, Covariance):
        return matrix_evidence(method, model, data, seed)
    if model.fit.get("polychoric"):
        return matrix_evidence(method, model, polychoric_of(model, data), seed)
    if not all_finite(data.values):  # there are no distances of rows with missing cells
        moments = model.projector.similarity.column_moments if isinstance(model.projector, Projector) else None
        if moments is not None and isinstance(data, Features):
            return matrix_evidence(method, model, Covariance(moments, data.columns, observations=len(data.values)),
                                   seed)
        return Evidence(method, spectrum, model.embedding, None, 1, None, None, seed,
                        no_eigenvalues=reason or THE_MODELS)
    width, rows = data.values.shape[1] if isinstance(data, Features) else 1, rows_of(data.values)
    evidence = Evidence(method, spectrum, axes_of(model), None, width, method_distances(model, data, compute),
                        partial(nearest_among, data) if data.apart else None, seed, observations=len(data.values),
                        no_eigenvalues=reason, rows=rows)
    if method.columns_model == "own noise":
        return factor_evidence(evidence, some_rows(evidence, model, data), method.limit(data))
    if spectrum.directions is not None:
        return replace(evidence, points=some_rows(evidence, model, data), of_columns=True)
    if reason:  # a method without eigenvalues does not aim to keep distances either
        return replace(evidence, distances=None)
    modeled = isinstance(model.projector, Projector) and model.projector.similarity.variances is not None
    return replace(evidence, no_eigenvalues=THE_MODELS) if modeled else evidence


def polychoric_of(model: Model, data: Input) -> Covariance:
    """Return the polychoric correlations that a model was fitted to, of the columns that vary."""
    from mlcli.core.latent.polychoric import definite

    fit: Any = model.fit
    values = np.array(fit["polychoric"], dtype=np.float64)
    return Covariance(definite(values), tuple(map(str, range(len(values)))), observations=len(data.values))


def without_eigenvalues(method: Method) -> str:
    """Return why a method's spectrum does not determine the number of axes; empty where it holds eigenvalues."""
    ranks = method.ranks_by()
    if ranks is None:
        return f"{method.name} has no spectrum"
    return "" if ranks.startswith("eigenvalues") else f"the spectrum of {method.name} holds {ranks}"


def some_rows(evidence: Evidence, model: Model, data: Given) -> Array:
    """Return all rows, or of very many a sample, an (m, d) array, in the units of the computation."""
    most = max(ROOM // max(evidence.width, 1), FEWEST)
    some = data.values if evidence.size <= most and evidence.rows is None else data.values[evidence.sample(most)]
    return model.projector.input_unit.measured(some)


def matrix_evidence(method: Method, model: Model, data: Covariance, seed: int) -> Evidence:
    """Return the evidence of a covariance: eigenvalues and columns, without rows; for factor analysis of correlations.
    """
    solved = (data.value_unit / model.ranks.unit).plain(data.values)
    evidence = Evidence(method, model.ranks, model.embedding, None, len(data.values), None, None, seed,
                        of_columns=True, moments=solved, observations=data.observations)
    if method.columns_model != "own noise":
        return evidence
    evidence = replace(evidence, moments=data.normalized().values)
    evidence = replace(evidence, spectrum=correlation_spectrum(evidence.correlations), factors=method.limit(data))
    return replace(evidence, moments=evidence.correlations)


def factor_evidence(evidence: Evidence, points: Array, most: int) -> Evidence:
    """Return the evidence of factor analysis: standardized columns, and the eigenvalues of their correlations.

    `points` is an (m, d) array; `most` is the largest number of factors.
    """
    if evidence.width > WIDEST:
        return replace(evidence, distances=None, no_eigenvalues=f"there are more than {WIDEST} columns")
    deviations = points.std(axis=0)
    varying = points.max(axis=0) > points.min(axis=0)
    if not varying.any():
        return replace(evidence, distances=None, no_eigenvalues="no column varies")
    points = (points[:, varying] - points[:, varying].mean(axis=0)) / deviations[varying]
    widened = replace(evidence, points=points, of_columns=True, distances=None, factors=most,
                      no_eigenvalues="")
    spectrum = correlation_spectrum(widened.correlations)
    return replace(widened, spectrum=replace(spectrum, solved=spectrum.solved * evidence.size,
                                             solved_trace=spectrum.solved_trace * evidence.size))


def correlation_spectrum(correlations: Array) -> Spectrum:
    """Return the eigenvalues of correlations, a (d, d) array; those of very many columns cost too much for a report.
    """
    return Spectrum.of_values(symmetric_eigenvalues(correlations), float(len(correlations)), complete=True)


def axes_of(model: Model) -> Array:
    """Return coordinates on the kept axes and on further computed ones, an (n, q) array, in the units of `solved`."""
    projector, spectrum, further = model.projector, model.ranks, model.ranks.further
    kept = projector.output_unit.measured(model.embedding)
    variances = projector.similarity.variances if isinstance(projector, Projector) else None
    if variances is not None:
        whole = len(spectrum.vectors) == len(kept)
        kept = spectrum.coordinates() if whole else before_rotation(projector, kept) * np.sqrt(variances)
    if len(further) != len(kept):
        return kept  # landmarks only, or none
    first = kept.shape[1]
    return np.column_stack([kept, further * np.sqrt(spectrum.solved[first: first + further.shape[1]])])


def before_rotation(projector: Projector | NoProjection, coordinates: Array) -> Array:
    """Return coordinates (n x q) on the axes of orthogonal loadings W: x = (WᵀW)⁻¹WᵀΛ y for rotated loadings Λ."""
    latent, affine = require_projector(projector).similarity.parts.latent, projector.affine
    if latent is None or affine is None or np.array_equal(latent.loadings, affine.directions):
        return coordinates
    turned = affine.directions.T @ latent.loadings
    return coordinates @ np.divide(turned, latent.lengths, out=np.zeros_like(turned), where=latent.lengths > 0)


def method_distances(model: Model, data: Given, compute: Compute) -> Pairs | None:
    """Return the distances that the method aims to keep; None for one that does not keep any."""
    projector, space = model.projector, model.space(compute)
    if space is not None:
        return space.between
    if isinstance(projector, NoProjection):
        return input_space(data).between
    similarity = projector.similarity
    if not similarity.keeps_distances:
        return None
    unit = similarity.distance_unit(projector.input_unit)
    if isinstance(data, Features) and data.metric is None:  # between large numbers there are distances beyond doubles
        return lambda sources, targets: similarity.method_distances(EuclideanSpace(unit.measured(
            data.values[np.append(sources, targets)])).between(*np.split(np.arange(len(sources) + len(targets)),
                                                                          [len(sources)])))
    own = input_space(data)
    return lambda sources, targets: similarity.method_distances(
        (own.unit / unit).plain(own.between(sources, targets)))


def nearest_among(data: Given, rows: Indices, count: int) -> Array:
    """Return distances to the nearest others among `rows`, an (m, k) array; duplicates are one point."""
    if not isinstance(data, Features):
        apart = input_space(data).between(rows, rows)
        return nearest_in_matrix(apart, count, without_self=True).lengths.reshape(-1, count)
    points, metric = data.take(rows).normalized().values, metric_of(data)
    lengths = nearest(points, count, metric).lengths.reshape(-1, count)
    if lengths[:, 0].all():
        return lengths
    places = points[np.unique(metric.represent(points), axis=0, return_index=True)[1]]
    count = min(count, len(places) - 1)
    return nearest(places, count, metric).lengths.reshape(-1, count) if count else np.empty((0, 0))
