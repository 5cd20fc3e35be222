"""Redundancy analysis."""

from collections.abc import Iterator
from typing import ClassVar, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.composition import Composition, FitStage
from mlcli.base.stages.stage import running
from mlcli.base.stages.steps import Step
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Input, TwoViews
from mlcli.base.values.signs import leading_signs
from mlcli.certify.subject import Subject
from mlcli.core.centering import Centering
from mlcli.core.eigen.options import first_columns
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.linalg import singular, singular_step
from mlcli.core.model import Loadings, Model
from mlcli.core.permutations import Permutations
from mlcli.core.similarities.base import Columns
from mlcli.core.similarities.projector import Projector
from mlcli.core.whitening import SampleExtent, centered_columns, negligible
from mlcli.methods.ordination.check import redundancy_checks
from mlcli.methods.ordination.constraints import (
    ConstrainedInertia,
    ConstrainedMethod,
    Constraints,
    constraints_of,
    permutation_steps,
    permutation_test,
)
from mlcli.methods.trials import variant


@frozen
class Redundancy:
    """Constrained axes, then unconstrained ones."""

    means: Array  # d
    squares: Array  # r + s: sums of squares along the axes, those of the constrained ones first, each part descending
    constrained: AnyArray  # r + s, whether an axis is
    directions: Array  # d x (r + s), of length one
    combinations: Array  # n x (r + s): linear combinations of the constraints; of unconstrained axes the residuals
    sums: Array  # n x (r + s): weighted sums of the columns
    units: Array  # n x r: the combinations with length one
    rest: Array  # n x d: the columns without the condition
    total: float  # sum of squares of the centered columns


def redundancy(points: Array, found: Constraints) -> Redundancy:
    """Return the redundancy analysis of points (n x d) by constraints (van den Wollenberg; Legendre and Legendre).

    With an orthonormal basis Q of the constraints the fitted values are Q Qᵀ X, whose axes follow from Qᵀ X (q x d).
    """
    with running("eigensolve"):
        means, centered = centered_columns(points)
        rest = found.conditioned(centered)
        explained = found.basis.T @ rest
        left, sizes, right = singular(explained)
        scores, spread, turn = singular(rest - found.basis @ explained)
        floor = negligible(SampleExtent.of(points), np.ones(points.shape[1]),
                           float(max(sizes.max(initial=0.0), spread.max(initial=0.0))))
        first, second = int(np.sum(sizes > floor)), int(np.sum(spread > floor))
        units = found.basis @ left[:, :first]
        directions = np.hstack([right[:first].T, turn[:second].T])
        outside = scores[:, :second] * spread[:second]
        return Redundancy(
            means=means, squares=np.concatenate([sizes[:first], spread[:second]]) ** 2,
            constrained=np.arange(first + second) < first, directions=directions,
            combinations=np.hstack([units * sizes[:first], outside]),
            sums=np.hstack([rest @ right[:first].T, outside]), units=units, rest=rest,
            total=float(np.sum(centered**2)))


class RDA(ConstrainedMethod):
    """PCA with axes constrained to combinations of the columns of a second view, `--view`; then PCA of the residuals.

    It keeps the variance of the columns that the constraints explain, on axes of its own. It fails with almost as many
    constraints as rows: these explain anything, which a low `adjusted_explained_share` shows (Ezekiel, 1930). Set the
    second view first (`--view`), a few columns of it.

    How it works: The columns, such as species, are regressed on those of the second view, the constraints, such as soil
    and use of the sites. The first axes are the principal axes of the fitted values: the constrained axes, at most as
    many as there are independent constraints. Axes after them are the principal axes of the residuals. Constraints that
    depend on others are left out with a warning.

    Coordinates are (x - mean) v along the directions v of the axes, on the scale of `pca`. These are called weighted
    sums. With `scores: lc` the fitted values take the place of x, and coordinates are combinations of the constraints.

    The test: Whether the constraints explain more than chance is tested by permutations. Pseudo-F, the explained
    variance relative to the rest, each divided by its degrees of freedom, is compared with its values for permuted
    rows, or if there is a `condition`, for permuted residuals of the condition.

    New points: New rows are rows of the first view, and get the weighted sums on the constrained axes. With a
    `condition`, or on axes of the residuals, new rows would need constraints too, and are refused.

    Files: `spectrum.csv` holds the variance of each axis (divisor n - 1) and its share in that of all columns; its
    column `constrained` is 1 for constrained axes, and 0 for the others. `loadings.csv` holds the directions times the
    roots of the variances, then for each constraint its correlations with the constrained axes: the arrows of a biplot.

    Source: Rao, 1964; van den Wollenberg, 1977; Legendre and Legendre, "Numerical ecology", 2012.
    """

    accepts: ClassVar = (TwoViews,)
    variants: ClassVar = (variant("", "descending"), variant("lc", "descending", scores="lc", permutations=0))
    axis: ClassVar = "RDA"
    residual_axis: ClassVar = "PC"
    name: Literal["rda"] = "rda"

    def limit(self, data: Input) -> int:
        """Return the smaller of n - 1 and the most constrained axes and axes of residuals together."""
        rows, columns = data.values.shape
        constraints = data.view.values.shape[1] if isinstance(data, TwoViews) else 1
        return min(rows - 1, min(columns, constraints) + columns)

    def composition(self, data: TwoViews, compute: Compute, share: float | None = None) -> "RDAComposition":
        """Return the stages: a basis of the constraints, the axes of both parts, and the permutations."""
        return RDAComposition(self, data, compute)

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check axes, coordinates, arrows and pseudo-F against a regression by normal equations."""
        yield from super().checks(subject)
        yield from redundancy_checks(subject.data, subject.model, self.condition, self.scores, full=subject.plan.full)


@frozen
class RDAComposition(Composition[Model]):
    """QᵀX = U Σ Vᵀ with Q a basis of the constraints: coordinates X V or Q Qᵀ X V; then those of the rest."""

    method: RDA
    data: TwoViews
    compute: Compute

    @FitStage
    def constraints(self) -> Constraints:
        """Q."""
        return constraints_of(self.data.view.values, self.data.view.columns, self.method.condition)

    @constraints.cost
    def _(self) -> list[Step]:
        return [singular_step("constraints", self.data.view.values.shape, self.compute.thread_count())]

    @FitStage
    def axes(self) -> tuple[Redundancy, int]:
        """Σ and V of both parts, and the number of axes."""
        axes = redundancy(self.data.values, self.constraints)
        return axes, self.method.axes.available_count(len(axes.squares))

    @axes.cost
    def _(self) -> list[Step]:
        return [singular_step("eigensolve", self.data.values.shape, self.compute.thread_count(), copies=6.0)]

    @FitStage
    def tested(self) -> float:
        """The share of permutations whose pseudo-F is no lower."""
        rest = self.axes[0].rest
        return permutation_test(self.constraints, lambda bases: np.sum((bases.T @ rest) ** 2, axis=1),
                                float(np.sum(rest**2)), Permutations(self.method.permutations, self.compute.seed))

    @tested.cost
    def _(self) -> list[Step]:
        (rows, columns), constraints = self.data.values.shape, self.data.view.values.shape[1]
        return permutation_steps(rows, columns, constraints, count=self.method.permutations,
                                 threads=self.compute.thread_count(), held=32.0 * rows * columns)

    def result(self) -> Model:
        """Return the coordinates, and correlations of the constraints with the axes."""
        method, data, found, (axes, count) = self.method, self.data, self.constraints, self.axes
        divisor, first = max(len(data.values) - 1, 1), int(axes.constrained.sum())
        scores = first_columns(axes.sums if method.scores == "wa" else axes.combinations, count)
        signs = leading_signs(scores)
        directions = first_columns(axes.directions, count) * signs
        arrows = first_columns(found.arrows(axes.units), count) * signs
        roots = np.sqrt(first_columns(axes.squares[None, :], count)[0] / divisor)
        spectrum = Spectrum.of_values(axes.squares, axes.total, complete=True, divisor=divisor,
                                      constrained=axes.constrained)
        explained = ConstrainedInertia(float(axes.squares[axes.constrained].sum()),
                                       float(axes.squares[~axes.constrained].sum()),
                                       (found.rank, found.residual_freedom))
        return Model(embedding=scores * signs, spectrum=spectrum,
                     projector=method.not_placed(first, count) or Projector(
                         Columns(), Centering(axes.means, across=False), directions),
                     fit=method.figures(explained, found, axes.total, divisor, self.tested),
                     loadings=Loadings(np.vstack([directions * roots, arrows]), (*data.columns, *found.names),
                                       unitless=len(arrows)))
