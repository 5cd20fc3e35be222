"""Probabilistic principal component analysis."""

from typing import Any, ClassVar, Literal

from mlcli.base.rows.source import rows_of
from mlcli.base.stages.steps import Step, repeated
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.options import option
from mlcli.base.values.scaling import all_finite
from mlcli.errors import ConfigError
from mlcli.methods.frame.model import Model, Powers
from mlcli.methods.frame.rotated import RotatedAxes, rotated_model
from mlcli.methods.frame.variants import variant
from mlcli.stages.algebra.iterate import Iterate
from mlcli.stages.eigen.eigensolve import Eigensolve
from mlcli.stages.kernels.row_factor import row_steps
from mlcli.stages.kernels.sides import side_steps
from mlcli.stages.latent.em import EXPECTED, USUAL, em_seconds
from mlcli.stages.latent.probabilistic import fit_closed_form, fit_em
from mlcli.stages.latent.rotations import Rotation, Unrotated


class PPCA(RotatedAxes):
    """PCA as a model of the data, with a likelihood: a few hidden coordinates, and equal noise in every column.

    y = μ + W x + ε with x ~ N(0, I) and ε ~ N(0, σ² I). The noise σ² is the mean of the discarded eigenvalues of the
    covariance (divisor n); an axis is the posterior mean of a hidden coordinate, the principal component in units of
    its own spread and drawn a little toward zero. Missing cells (`prepare.missing: model`) take no part in the
    likelihood, which EM maximizes exactly; `mlcli reconstruct` gives the posterior means of all cells, `posterior.csv`
    each row's posterior covariance.

    A rotation (`rotation`) makes loadings simpler and changes neither the likelihood nor reconstructions. Coordinates
    turn with them, and so does their posterior covariance; oblique ones are correlated (`fit.factor_correlations`).
    Axes are then ordered by the squares of their loadings, and `spectrum.csv` still holds the eigenvalues of the
    covariance, which belong to no single axis. Source: Tipping and Bishop, "Probabilistic principal component
    analysis", 1999.
    """

    in_blocks: ClassVar = "but for solver em"
    accepts: ClassVar = (Features,)
    missing: ClassVar[bool] = True
    proof: ClassVar = "latent"
    powers: ClassVar = Powers(coordinates=0, spectrum=2)
    ranked_by: ClassVar = "eigenvalues of the covariance"
    rules: ClassVar = ("minka_evidence", "ppca_bic", "parallel_analysis", "velicer_map")
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
        turning = self.turning_steps(len(data.values) * self.eigensolve.wanted(min(data.values.shape)))
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

    def identities(self, data: Features, model: Model, full: bool = False) -> list[Check]:
        """Check that a rotation is one of its criterion, of the stored model."""
        from mlcli.methods.identities.rotated_loadings import rotated_checks

        return [] if self.rotation.name == "none" else rotated_checks(self.rotation, model)
