"""Distance-based redundancy analysis."""

from collections.abc import Iterator
from typing import ClassVar, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import FIRST_TOUCH, pass_cost
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.stages.composition import Composition, FitStage
from mlcli.base.stages.stage import note, running
from mlcli.base.stages.steps import Step
from mlcli.base.types import AnyArray, Array
from mlcli.base.units import percent
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input, TwoViews, ViewedDissimilarities
from mlcli.base.values.signs import leading_signs
from mlcli.certify.subject import Subject
from mlcli.core.centering import uncentered
from mlcli.core.eigen.eigensolve import NOTABLE
from mlcli.core.eigen.options import SpectrumRequest, first_columns
from mlcli.core.eigen.solved import rounding_floor
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.euclidean_distances import halve
from mlcli.core.kernels.corrections import Correction
from mlcli.core.kernels.forms import Dense, gower_steps
from mlcli.core.linalg import singular_step, symmetric_eigen
from mlcli.core.metrics import EUCLIDEAN, AnyMetric
from mlcli.core.metrics.distances import metric_of, seconds_of_squares, squares
from mlcli.core.model import Loadings, Model
from mlcli.core.permutations import Permutations
from mlcli.core.similarities.kernels import Distances, GivenDistances
from mlcli.core.similarities.projector import Projector
from mlcli.methods.ordination.check import distance_checks
from mlcli.methods.ordination.constraints import (
    ConstrainedInertia,
    ConstrainedMethod,
    Constraints,
    constraints_of,
    permutation_steps,
    permutation_test,
)
from mlcli.methods.trials import variant

REMEDY = "give fewer points"


@frozen
class DistanceRedundancy:
    """Constrained axes, then unconstrained ones, of a Gower-centered matrix G."""

    values: Array  # m: positive eigenvalues of constrained axes, of unconstrained ones, then negative ones of either
    constrained: AnyArray  # m, whether an eigenvalue is of constrained axes
    axes: int  # the number of positive ones
    vectors: Array  # n x p, of length one
    sums: Array  # n x p: weighted sums G u / √λ on constrained axes, U √λ on the others
    complete: bool  # whether all eigenvalues were computed
    explained: float  # tr(H G H)
    residual: float  # tr((I - H) G (I - H))

    @property
    def combinations(self) -> Array:
        """Coordinates U √λ (n x p): on constrained axes linear combinations of the constraints."""
        return self.vectors * np.sqrt(self.values[: self.vectors.shape[1]])


def project_out(matrix: Array, basis: Array) -> Array:
    """Replace a symmetric matrix G (n x n) by (I - QQᵀ) G (I - QQᵀ), a few rows at a time; return G Q (n x q).

    `basis` is Q, an (n, q) array of orthonormal columns.
    """
    product = matrix @ basis
    half = product - 0.5 * basis @ (basis.T @ product)
    for rows in row_blocks(len(matrix), 2**20, len(matrix)) if basis.size else ():
        part = matrix[rows]
        part -= basis[rows] @ half.T
        part -= half[rows] @ basis.T
    return product


def distance_redundancy(matrix: Array, found: Constraints, count: int, compute: Compute) -> DistanceRedundancy:
    """Return up to `count` axes of Q Qᵀ G Q Qᵀ and of its residual, for G (n x n) without the condition; G is lost.

    With an orthonormal basis Q of the constraints the first matrix has the eigenvalues of QᵀGQ (q x q), and vectors Q e
    (Legendre and Anderson; McArdle and Anderson).
    """
    with running("eigensolve"):
        product = project_out(matrix, found.basis)
        inner = found.basis.T @ product
        inside, turn = symmetric_eigen((inner + inner.T) / 2) if found.rank else (np.zeros(0), inner)
        floor = rounding_floor(inside, len(matrix))
        demand = SpectrumRequest.model_construct(components=max(count - int(np.sum(inside > floor)), 1))
        solved = Dense(matrix, uncentered(len(matrix))).solve(demand, compute)
        floor = max(floor, solved.floor)
        first, outer = int(np.sum(inside > floor)), solved.values[solved.values > floor]
        kept = min(len(outer), max(count - first, 0))
        outside = solved.take(kept)[0] if kept else np.zeros((len(matrix), 0))
        sums = [product @ turn[:, :first] / np.sqrt(inside[:first]), outside * np.sqrt(outer[:kept])]
        parts = [inside[:first], outer, inside[inside < -floor], solved.values[solved.values < -floor]]
        marks = [np.full(len(part), place % 2 == 0) for place, part in enumerate(parts)]
    values = np.concatenate(parts)
    _note_negative(values, complete=solved.complete)
    return DistanceRedundancy(
        values=values, constrained=np.concatenate(marks), axes=first + len(outer),
        vectors=np.hstack([found.basis @ turn[:, :first], outside])[:, :count], sums=np.hstack(sums)[:, :count],
        complete=solved.complete, explained=float(np.trace(inner)), residual=float(np.trace(matrix)))


def _note_negative(values: Array, *, complete: bool) -> None:
    """Warn of negative eigenvalues of notable size; `values` is an (m,) array."""
    negative = values[values < 0]
    if negative.min(initial=0.0) < -NOTABLE * values.max(initial=0.0):
        share = float(-negative.sum() / np.abs(values).sum())
        said = (f"{percent(share)} of the sum of absolute eigenvalues" if complete else
                "a part of the computed eigenvalues")
        note("W-NEGATIVE", f"not Euclidean: {said} is negative; negative eigenvalues stay in the spectrum but give no "
             "axes", share=share)


UNCORRECTED = Correction("none", 0.0)


class DBRDA(ConstrainedMethod):
    """Principal coordinates constrained to combinations of the columns of a second view, `--view`; then of the rest.

    It keeps what the constraints explain of the dissimilarities, on axes of its own. It fails with almost as many
    constraints as rows: these explain anything. Set `--metric` first, or `--dissimilarities` if the file holds them,
    and the second view (`--view`).

    How it works: The dissimilarities are given (`--kind dissimilarities`), or those of features under a metric. They
    are turned into a matrix G of inner products as in `mds`. The constraints are the columns of the second view, and Q
    projects on them. The first axes, the constrained ones, are the eigenvectors U of Q G Q, at most as many as there
    are independent constraints. Axes after them are the eigenvectors of (I - Q) G (I - Q). Constraints that depend on
    others are left out with a warning.

    Coordinates are the weighted sums G U / √λ, or with `scores: lc` U √λ, combinations of the constraints. For
    Euclidean distances they are the same as in `rda`.

    The test: Whether the constraints explain more than chance is tested by permutations. Pseudo-F, the ratio of the
    traces of both parts, each divided by its degrees of freedom, is compared with its values for permuted rows, or if
    there is a `condition`, for permuted residuals of the condition.

    New points: New points get weighted sums on constrained axes, by Gower's interpolation. With a `condition`, or on
    axes of the residuals, new points would need constraints too, and are refused.

    Files: `spectrum.csv` holds eigenvalues as in `mds`, without a divisor, so they are n - 1 times those of `rda`.
    Negative ones of both parts come last, and never become axes. The column `constrained` is 1 for eigenvalues of Q G
    Q, else 0. `loadings.csv` holds the correlations of the constraints with the constrained axes: the arrows of a
    biplot.

    Source: Legendre and Anderson, 1999; McArdle and Anderson, 2001.
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

    def composition(self, data: TwoViews | ViewedDissimilarities, compute: Compute,
                    share: float | None = None) -> "DBRDAComposition":
        """Return the stages: inner products, a basis of the constraints, the permutations, and the axes of both parts.
        """
        return DBRDAComposition(self, data, compute)

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check axes, coordinates, arrows and pseudo-F by a Householder basis of the constraints."""
        yield from super().checks(subject)
        yield from distance_checks(subject.data, subject.model, self.condition, self.scores, full=subject.plan.full)


@frozen
class DBRDAComposition(Composition[Model]):
    """QᵀGQ = E Λ Eᵀ with Q a basis of the constraints, and U = Q E; then eigenvectors of the residual."""

    method: DBRDA
    data: TwoViews | ViewedDissimilarities
    compute: Compute

    @FitStage
    def products(self) -> tuple[Dense, float]:
        """G = -H D² H / 2 of the dissimilarities (Gower, 1966), which later stages project in its place; its trace."""
        with running("distances"):
            squared = squares(self.data)
        with running("kernel"):
            halved = halve(squared)
        kernel = Dense.of(halved)
        return kernel, kernel.trace

    @products.cost
    def _(self) -> list[Step]:
        rows = len(self.data.values)
        square = 8.0 * rows**2  # squared distances become inner products in place
        seconds = seconds_of_squares(self.data, rows, self.compute.thread_count()) + FIRST_TOUCH * pass_cost(rows**2)
        return [Step("distances", f"{rows} x {rows}, in memory", seconds, square, remedy=REMEDY, square=True),
                *gower_steps(rows**2, square, REMEDY, square=True)]

    @FitStage
    def constraints(self) -> Constraints:
        """Q."""
        return constraints_of(self.data.view.values, self.data.view.columns, self.method.condition)

    @constraints.cost
    def _(self) -> list[Step]:
        return [singular_step("constraints", self.data.view.values.shape, self.compute.thread_count())]

    @FitStage
    def tested(self) -> float:
        """The share of permutations whose pseudo-F is no lower, with the condition partialed out of G."""
        kernel, method = self.products[0], self.method
        project_out(kernel.matrix, self.constraints.condition)
        return permutation_test(self.constraints, lambda bases: np.sum(bases * (kernel.matrix @ bases), axis=0),
                                kernel.trace, Permutations(method.permutations, self.compute.seed))

    @tested.cost
    def _(self) -> list[Step]:
        rows, constraints = len(self.data.values), self.data.view.values.shape[1]
        return permutation_steps(rows, rows, constraints, count=self.method.permutations,
                                 threads=self.compute.thread_count(), held=8.0 * rows**2)

    @FitStage
    def axes(self) -> DistanceRedundancy:
        """U and Λ, and those of the residual."""
        return distance_redundancy(self.products[0].matrix, self.constraints, self.method.axes.count, self.compute)

    @axes.cost
    def _(self) -> list[Step]:
        rows = len(self.data.values)
        request = SpectrumRequest.model_construct(components=self.method.axes.count)
        return [request.step(rows, self.compute.thread_count(), 8.0 * rows**2, REMEDY, square=True)]

    def result(self) -> Model:
        """Return the coordinates, and correlations of the constraints with the axes."""
        method, data, found, axes, (kernel, total) = (
            self.method, self.data, self.constraints, self.axes, self.products)
        count, first = method.axes.available_count(axes.axes), int(axes.constrained[: axes.axes].sum())
        scores = first_columns(axes.sums if method.scores == "wa" else axes.combinations, count)
        signs = leading_signs(scores)
        vectors = first_columns(axes.vectors, count) * signs
        roots = np.sqrt(first_columns(axes.values[None, : axes.axes], count)[0])
        similarity = Distances(data.values, UNCORRECTED, metric_of(data)) if isinstance(
            data, TwoViews) else GivenDistances(UNCORRECTED)
        arrows = found.arrows(vectors)
        arrows[:, first:] = 0.0
        explained = ConstrainedInertia(axes.explained, axes.residual, (found.rank, found.residual_freedom))
        return Model(embedding=scores * signs,
                     spectrum=Spectrum.of_values(axes.values, total, complete=axes.complete,
                                                 constrained=axes.constrained),
                     projector=method.not_placed(first, count) or Projector(
                         similarity, kernel.centering, vectors / np.where(roots > 0, roots, 1.0)),
                     fit=method.figures(explained, found, total, 1.0, self.tested),
                     loadings=Loadings(arrows, found.names, power=0))
