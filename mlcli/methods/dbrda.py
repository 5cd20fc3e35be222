"""Distance-based redundancy analysis."""

from typing import ClassVar, Literal

import numpy as np

from mlcli.base.stages.steps import Step
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input, TwoViews, ViewedDissimilarities
from mlcli.base.values.signs import leading_signs
from mlcli.methods.frame.constrained import ConstrainedMethod
from mlcli.methods.frame.model import Loadings, Model
from mlcli.methods.frame.variants import variant
from mlcli.methods.identities.constrained import distance_checks
from mlcli.stages.algebra.costs import singular_step
from mlcli.stages.algebra.metrics.points import EUCLIDEAN, AnyMetric, metric_of
from mlcli.stages.algebra.permutations import Permutations
from mlcli.stages.eigen.axes import first_columns
from mlcli.stages.eigen.spectrum import Spectrum
from mlcli.stages.kernels.corrections import Correction
from mlcli.stages.linear.constraints import Explained, constraints_of, permutation_steps, permutation_test
from mlcli.stages.linear.distance_redundancy import (
    distance_redundancy,
    inner_product_steps,
    inner_products,
    project_out,
    residual_step,
)
from mlcli.stages.similarities.kernels import Distances, GivenDistances
from mlcli.stages.similarities.projector import Projector

UNCORRECTED = Correction("none", 0.0)


class DBRDA(ConstrainedMethod):
    """Principal coordinates constrained to combinations of the columns of a second view, `--view`; then of the rest.

    The dissimilarities are given (`--kind dissimilarities`), or those of features under a metric. They are made a
    matrix of inner products G as in `mds`. With H the projection on the constraints, the first axes are eigenvectors
    U of H G H, at most as many as there are independent constraints; axes after them are those of (I - H) G (I - H).
    Coordinates are G U / √λ, the weighted sums, or with `scores: lc` U √λ, combinations of the constraints. Of
    Euclidean distances they are those of `rda`. `spectrum.csv` holds eigenvalues as in `mds`, without a divisor: those
    of `rda` times n - 1. Negative ones of both parts come last, and never become axes. The column `constrained` is 1
    for eigenvalues of H G H, else 0. `loadings.csv` holds the correlations of the constraints with the constrained
    axes: the arrows of a biplot.

    Pseudo-F, the ratio of the traces over their degrees of freedom, is tested by permutations of the rows, of the
    residuals of the condition if there is one. Constraints that depend on others are left out with a warning. New
    points get weighted sums on constrained axes, by Gower's interpolation. With a condition, or on residual axes, they
    would need constraints, and are refused.

    It fails with almost as many constraints as rows: they explain anything. Source: Legendre and Anderson, 1999;
    McArdle and Anderson, 2001.
    """

    accepts: ClassVar = (ViewedDissimilarities, TwoViews)
    variants: ClassVar = (variant("", "descending"), variant("lc", "descending", "rotation", scores="lc",
                                                             metric="cityblock", permutations=0))
    axis: ClassVar = "dbRDA"
    residual_axis: ClassVar = "PCo"
    name: Literal["dbrda"] = "dbrda"
    metric: AnyMetric = EUCLIDEAN

    def limit(self, data: Input) -> int:
        """Return n - 1: axes of either part are orthogonal to those of the other."""
        return len(data.values) - 1

    def stored(self, data: Input) -> float:
        """Return the bytes of the points, which features leave in the model."""
        return float(data.bytes) if isinstance(data, Features) else 0.0

    def steps(self, data: TwoViews | ViewedDissimilarities, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of the distances, the constraints, the permutations and the spectrum, in memory."""
        rows, constraints, threads = len(data.values), data.view.values.shape[1], compute.thread_count()
        return [*inner_product_steps(data, threads), singular_step("constraints", data.view.values.shape, threads),
                *permutation_steps(rows, rows, constraints, count=self.permutations, threads=threads,
                                   held=8.0 * rows**2),
                residual_step(rows, self.axes.count, threads)]

    def solve(self, data: TwoViews | ViewedDissimilarities, compute: Compute) -> Model:
        """Compute QᵀGQ = E Λ Eᵀ with Q a basis of the constraints: U = Q E; then eigenvectors of the residual."""
        kernel = inner_products(data)
        total = kernel.trace
        found = constraints_of(data.view.values, data.view.columns, self.condition)
        project_out(kernel.matrix, found.condition)
        value = permutation_test(found, lambda bases: np.sum(bases * (kernel.matrix @ bases), axis=0), kernel.trace,
                                 Permutations(self.permutations, compute.seed))
        axes = distance_redundancy(kernel.matrix, found, self.axes.count, compute)
        count, first = self.axes.available_count(axes.axes), int(axes.constrained[: axes.axes].sum())
        scores = first_columns(axes.sums if self.scores == "wa" else axes.combinations, count)
        signs = leading_signs(scores)
        vectors = first_columns(axes.vectors, count) * signs
        roots = np.sqrt(first_columns(axes.values[None, : axes.axes], count)[0])
        similarity = Distances(data.values, UNCORRECTED, metric_of(data)) if isinstance(
            data, TwoViews) else GivenDistances(UNCORRECTED)
        arrows = found.arrows(vectors)
        arrows[:, first:] = 0.0
        return Model(embedding=scores * signs,
                     spectrum=Spectrum.of_values(axes.values, total, complete=axes.complete,
                                                 constrained=axes.constrained),
                     projector=self.not_placed(first, count) or Projector(
                         similarity, kernel.centering, vectors / np.where(roots > 0, roots, 1.0)),
                     fit=self.figures(Explained(axes.explained, axes.residual, (found.rank, found.residual_freedom)),
                                      found, total, 1.0, value),
                     loadings=Loadings(arrows, found.names, power=0))

    def identities(self, data: TwoViews | ViewedDissimilarities, model: Model, full: bool = False) -> list[Check]:
        """Check axes, coordinates, arrows and pseudo-F by a Householder basis of the constraints."""
        return distance_checks(data, model, self.condition, self.scores, full=full)
