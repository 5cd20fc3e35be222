"""Distance-based redundancy analysis: eigenvectors of what constraints explain of a Gower-centered matrix."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.stages.stage import note, running
from mlcli.base.stages.steps import Step
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Spatial
from mlcli.base.values.percent import percent
from mlcli.stages.algebra.centering import uncentered
from mlcli.stages.algebra.costs import FIRST, gower_steps, pass_cost
from mlcli.stages.algebra.distances import halve
from mlcli.stages.algebra.linalg import symmetric_eigen
from mlcli.stages.algebra.metrics.points import seconds_of_squares, squares
from mlcli.stages.eigen.eigensolve import NOTABLE
from mlcli.stages.eigen.solved import rounding_floor
from mlcli.stages.eigen.spectrum_request import SpectrumRequest
from mlcli.stages.kernels.forms import Dense
from mlcli.stages.linear.constraints import Constraints

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


def inner_product_steps(data: Spatial, threads: int) -> list[Step]:
    """Return the steps of `inner_products`, whose squared distances become them in place."""
    rows = len(data.values)
    square = 8.0 * rows**2
    seconds = seconds_of_squares(data, rows, threads) + FIRST * pass_cost(rows**2)
    return [Step("distances", f"{rows} x {rows}, in memory", seconds, square, remedy=REMEDY, square=True),
            *gower_steps(rows**2, square, REMEDY, square=True)]


def inner_products(data: Spatial) -> Dense:
    """Return -H D² H / 2 (n x n) of the dissimilarities of the data (Gower, 1966)."""
    with running("distances"):
        squared = squares(data)
    with running("kernel"):
        halved = halve(squared)
    return Dense.of(halved)


def residual_step(rows: int, axes: int, threads: int) -> Step:
    """Return the step of the spectrum of residuals (n x n)."""
    request = SpectrumRequest.model_construct(components=axes)
    return request.step(rows, threads, 8.0 * rows**2, REMEDY, square=True)


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
