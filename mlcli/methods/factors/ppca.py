"""Probabilistic principal component analysis."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import pass_cost
from mlcli.base.rows.scratch import map_blocks
from mlcli.base.rows.source import rows_of
from mlcli.base.stages.stage import running
from mlcli.base.stages.steps import Step, repeated
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.options import option
from mlcli.base.values.quantity import Quantity
from mlcli.base.values.scaling import all_finite
from mlcli.base.values.signs import leading_signs
from mlcli.certify.subject import Subject
from mlcli.core.centering import Centering
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.iterate import Iterate
from mlcli.core.kernels.factor_solver import side_steps
from mlcli.core.kernels.row_factor import row_steps
from mlcli.core.latent.probabilistic import (
    COUNT,
    EXPECTED,
    FEWER,
    USUAL,
    Grouped,
    Latent,
    ProbabilisticFit,
    em_seconds,
    fit_closed_form,
    fit_em,
    negligible,
    posterior,
)
from mlcli.core.latent.rotations import Rotation, Unrotated
from mlcli.core.linalg import inverse
from mlcli.core.model import Loadings, Model, Powers
from mlcli.core.similarities.base import Parts, Similarity
from mlcli.core.similarities.projector import Affine, Projector
from mlcli.errors import ConfigError
from mlcli.methods.method import Method
from mlcli.methods.trials import variant


@stored("completed")
@frozen
class Completed(Similarity):
    """The features with missing cells replaced by their conditional means: probabilistic PCA.

    The coordinates of a completed row are the posterior means given its observed cells.
    """

    latent: Latent

    @property
    def parts(self) -> Parts:
        """The model of the columns."""
        return Parts(latent=self.latent)

    def rows(self, new: Array) -> Array:
        """Return the new points, an (m, d) array, each NaN replaced by μ + W x with x the posterior mean."""
        if all_finite(new):
            return new
        data = Grouped.of(new)
        means = np.empty((len(new), self.latent.loadings.shape[1]))
        means[data.order] = posterior(self.latent, data).means
        return np.where(np.isnan(new), self.latent.mean + means @ self.latent.loadings.T, new)

    @property
    def variances(self) -> Array:
        """The squared lengths of the loadings' columns (p): distances are those of W x."""
        return self.latent.lengths


@frozen
class RotatedFit:
    """Loadings W T, coordinates T⁻¹ x with covariance Φ = T⁻¹T⁻ᵀ, and their posterior covariances; longest loadings
    first.
    """

    loadings: Array  # d x q
    axes: Array  # d x q: posterior means are centered rows times these
    means: Array  # n x q, posterior
    spread: Array  # q x q, posterior, of a complete row
    factors: Array  # q x q, Φ
    spreads: Array | None = None  # n x q x q, posterior, where they differ
    converged: bool = True

    @property
    def facts(self) -> dict[str, object]:
        """The figures of the rotation."""
        return {"factor_correlations": self.factors.tolist()} | (
            {} if self.converged else {"rotation_converged": False})


def unit_of(loadings: Array, factors: Array, noise: float) -> float:
    """Return the root of the model's mean variance of a column, of loadings (d x q) and factors (q x q)."""
    return float(np.sqrt(np.sum((loadings @ factors) * loadings) / len(loadings) + noise))


def without_rounding(loadings: Array, factors: Array) -> Array:
    """Return loadings (d x q) with rows of zeros for columns that vary by rounding alone, given the covariance of the
    factors (q x q): normalization would give such a row the weight of any other.
    """
    shares = np.sum((loadings @ factors) * loadings, axis=1)
    least = (10 * len(loadings) * EPS) ** 2 * float(shares.max(initial=0.0))
    return np.where((shares > least)[:, None], loadings, 0.0)


def rotate_fit(fitted: ProbabilisticFit, rotation: Rotation) -> RotatedFit:
    """Return a fit on rotated axes; signs by the sign rule. Axes with loadings of rounding alone stay, and are last."""
    latent = fitted.latent
    plain = RotatedFit(loadings=latent.loadings, axes=latent.axes, means=fitted.means, spread=latent.spread,
                       factors=np.eye(latent.loadings.shape[1]), spreads=fitted.spreads)
    if rotation.name == "none":
        return plain
    with running("coordinates"):
        active = int(np.sum(latent.lengths > negligible(latent.lengths, len(latent.mean))))
        return plain if active < 2 else _rotated(plain, latent, rotation, active)


def _rotated(plain: RotatedFit, latent: Latent, rotation: Rotation, active: int) -> RotatedFit:
    turn, found = np.eye(len(plain.factors)), rotation.turn(without_rounding(
        plain.loadings[:, :active] / unit_of(plain.loadings, plain.factors, latent.noise), np.eye(active)))
    turn[:active, :active] = found.matrix
    turn = turn[:, np.argsort(-np.sum((plain.loadings @ turn) ** 2, axis=0), kind="stable")]
    back = inverse(turn, where=COUNT, hint=FEWER).T
    means = map_blocks(lambda some: some @ back, plain.means)
    signs = leading_signs(means)
    turn, back = turn * signs, back * signs
    spreads = None if plain.spreads is None else back.T @ plain.spreads @ back
    return RotatedFit(loadings=plain.loadings @ turn, axes=plain.axes @ back,
                      means=map_blocks(lambda some: some * signs, means), spread=back.T @ plain.spread @ back,
                      factors=back.T @ back, spreads=spreads, converged=found.converged)


def rotated_model(found: ProbabilisticFit, rotation: Rotation, columns: Sequence[str]) -> Model:
    """Return the model of a fit on rotated axes."""
    latent, cells, value = found.latent, (found.cells,), found.log_likelihood
    turned = rotate_fit(found, rotation)
    fit = {"log_likelihood": None if value is None else Quantity(value, cells=cells),
           "noise_variance": Quantity(latent.noise, 2), "posterior_covariance": turned.spread.tolist(),
           **found.facts, **({} if rotation.name == "none" else turned.facts)}
    projector = Projector(Completed(latent), Centering(latent.mean, across=False), turned.axes,
                          Affine(latent.mean, turned.loadings))
    return Model(embedding=turned.means, spectrum=found.spectrum, projector=projector, fit=fit,
                 objective=None if found.trace is None else Quantity(found.trace, cells=cells),
                 loadings=Loadings(turned.loadings, columns), spreads=turned.spreads)


class PPCA(Method):
    """PCA as a model of the data, with a likelihood: a few hidden coordinates, and equal noise in every column.

    It keeps what PCA keeps, with a probability: how likely the rows are, and how certain each coordinate is. It fails
    if columns have noise of different sizes, since it takes these to be equal: `fa` gives each column a noise of its
    own. Set the number of axes first (`-p`), because the noise is what the axes leave.

    How it works: Each row is taken as y = μ + W x + ε with x ~ N(0, I) and ε ~ N(0, σ² I): a few hidden coordinates x,
    mapped linearly to the columns, and noise. The noise σ² is the mean of the discarded eigenvalues of the covariance
    (divisor n). The coordinates of a row are the posterior means of its hidden coordinates: its principal components in
    units of their own spread, and drawn a little toward zero.

    Missing cells: With `prepare.missing: model` missing cells have no part in the likelihood, which the EM algorithm
    maximizes exactly. `mlcli reconstruct` gives the posterior means of all cells.

    Rotation: A rotation (`rotation`) makes loadings simpler and changes neither the likelihood nor reconstructions.
    Coordinates and their posterior covariance turn with the loadings; after an oblique rotation coordinates are
    correlated (`fit.factor_correlations`). Axes are then in the order of the sums of their squared loadings.

    New points: A new row gets the posterior mean of its hidden coordinates.

    Files: `posterior.csv` holds each row's posterior covariance, where cells are missing. `spectrum.csv` holds the
    eigenvalues of the covariance; after a rotation they belong to no single axis.

    Source: Tipping and Bishop, "Probabilistic principal component analysis", 1999.
    """

    in_blocks: ClassVar = "but for solver em"
    accepts: ClassVar = (Features,)
    missing: ClassVar[bool] = True
    powers: ClassVar = Powers(coordinates=0, spectrum=2)
    ranked_by: ClassVar = "eigenvalues of the covariance"
    rules: ClassVar = ("minka_evidence", "ppca_bic", "parallel_analysis", "velicer_map")
    checked_tables: ClassVar = 2.2  # of scores computed again
    columns_model: ClassVar = "equal noise"
    variants: ClassVar = (variant("", "constant column"), variant(
        "em", "constant column", "share", "quick", solver="em", iterate={"tolerance": 1e-12}), variant(
        "varimax", "constant column", "rotation", rotation={"name": "varimax"}))
    later: ClassVar = ("rotation",)
    axis: ClassVar = "PC"
    name: Literal["ppca"] = "ppca"
    solver: Literal["auto", "closed", "em"] = option(
        "auto", "In closed form, by expectation and maximization (em), or em where cells are missing (auto).")
    rotation: Rotation = option(Unrotated(), "Rotation of the axes.")
    iterate: Iterate = Iterate()
    eigensolve: Eigensolve = Eigensolve()

    def axis_names(self, proportions: Sequence[float | None], count: int, constrained: int | None = None) -> list[str]:
        """Return labels for `count` axes; rotated ones have no eigenvalues, and so no shares."""
        if self.rotation.name == "none":
            return super().axis_names(proportions, count, constrained)
        return [f"RC {place}" for place in range(1, count + 1)]

    def limit(self, data: Input) -> int:
        """Return the smaller of n - 1 and d - 1: at least one direction is noise."""
        return min(len(data.values), data.values.shape[1]) - 1

    def streams(self, kind: str) -> bool:
        """Whether the input is features and the solver has a closed form."""
        return kind == "features" and self.solver != "em"

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return the solver for the data; raises ConfigError for a closed form of missing cells, and unused options."""
        complete = self.solver != "em" and all_finite(data.values)
        if self.solver == "closed" and not complete:
            raise ConfigError("CLOSED-FORM", "the closed form needs complete data", where="method.solver",
                              hint="use em")
        return {"solver": "closed" if complete else "em", **(
            self.refuse_unused("a closed form has no iterations", "iterate") if complete else {})}

    def steps(self, data: Features, compute: Compute, share: float | None) -> list[Step]:
        """Return the step of the eigenproblem of the smaller side, or of EM, one pass over the data per iteration."""
        threads, held = compute.thread_count(), 8.0 * EXPECTED * data.values.size
        numbers = len(data.values) * self.eigensolve.wanted(min(data.values.shape))
        turning = [] if self.rotation.name == "none" else [
            Step("coordinates", f"rotation: {self.rotation.name}", pass_cost(numbers), 8.0 * numbers)]
        if (rows := rows_of(data.values)) is not None:
            return [*row_steps(rows, self.eigensolve, threads), *turning]
        steps = side_steps(data.values, "auto", self.eigensolve, threads)
        if self.solver != "em":
            return [*steps, *turning]
        once = em_seconds(data.values.shape, self.eigensolve.wanted(min(data.values.shape)))
        return [*steps, repeated("iterate", "em", once, held, usual=USUAL, most=self.iterate.limit),
                Step("coordinates", "posterior means and covariances", once, held)]

    def solve(self, data: Features, compute: Compute) -> Model:
        """Compute loadings W and noise σ² of the largest likelihood; coordinates are posterior means."""
        found = (fit_em(data.values, self.eigensolve, self.iterate, self.limit(data), compute)
                  if self.solver == "em" else fit_closed_form(data.values, self.eigensolve, self.limit(data), compute))
        return rotated_model(found, self.rotation, data.columns)

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check the equations of the largest likelihood, and that a rotation is one of its criterion."""
        from mlcli.methods.factors.check import rotated_checks
        from mlcli.methods.factors.latent_check import LatentOptions, latent_checks

        rotated = self.rotation.name != "none"
        yield from latent_checks(subject, LatentOptions(self.iterate.tolerance, rotated))
        if rotated:
            yield from rotated_checks(self.rotation, subject.model)
