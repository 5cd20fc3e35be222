"""Linear functions of least cost on a graph: XᵀM X a = λ XᵀD X a, with M, D and a basis of the columns computed again.
"""

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, count, later, ratio
from mlcli.certify.eigen import worst
from mlcli.certify.graph import Joined, Rule, neighbor_check
from mlcli.certify.projection import projector_checks
from mlcli.certify.subject import Subject, max_abs

ROW, PAIR, BASIS = 1e-4, 5e-10, 1e-9  # seconds for a row, a column of a distance, and one of a product
BEYOND = 1e3  # roundings of an extent that counts


@frozen
class Root:
    """The root R of a cost RᵀR, and its errors."""

    matrix: Any  # sparse, m x n
    unsure: float  # relative rounding of a number of R
    members: Any = None  # sparse, m' x n: neighborhoods whose rows have errors of their own
    errors: Array = field(default_factory=lambda: np.zeros(0))  # m': of these rows, relative to the values on them

    def slack(self, vectors: Array) -> Array:
        """Return bounds of the errors of RᵀR v (n x p) from neighborhoods, for vectors (n x p)."""
        if self.members is None:
            return np.zeros_like(vectors)
        return np.asarray(self.members.T @ (self.errors[:, None] * self._sizes(vectors)))

    def noise(self, vectors: Array) -> Array:
        """Return bounds of the squared errors of R v (p) from neighborhoods, for vectors (n x p)."""
        if self.members is None:
            return np.zeros(vectors.shape[1])
        return np.asarray(np.sum((self.errors[:, None] * self._sizes(vectors)) ** 2, axis=0))

    @property
    def spread(self) -> float:
        """A bound of the norm of the errors of RᵀR from neighborhoods."""
        if self.members is None:
            return 0.0
        sizes = self.members.sum(axis=1)
        return float((self.members.T @ (self.errors * sizes)).max(initial=0.0))

    def _sizes(self, vectors: Array) -> Array:
        return np.sqrt(self.members @ vectors**2)


@frozen
class Costs:
    """The cost ‖R y‖² of a function, its norm Σ d y², and the neighbors from which they were computed again."""

    root: Root
    masses: Array  # d (n)
    joined: Joined
    rule: Rule


def linearization_checks(subject: Subject, costs: Callable[[], Costs]) -> Iterator[Check]:
    """Yield the checks of linear functions of least cost on a graph; `costs` are computed again where rows are few."""
    yield from projector_checks(subject, _linear_map_checks(subject, costs))


def _linear_map_checks(subject: Subject, costs: Callable[[], Costs]) -> Iterator[Check]:
    """Yield the checks of loadings, and those of the eigenproblem with all rows, where these are few."""
    yield from _loadings(subject)
    rows, columns = subject.data.values.shape
    if not subject.plan.allows(0.5, rows * (ROW + PAIR * rows * columns + BASIS * columns * min(rows, columns))):
        yield later("residual")
        return
    found = costs()
    if len(found.masses) != subject.size:
        yield count("graph", abs(len(found.masses) - subject.size), "rows of the graph without coordinates")
        return
    yield from _equations(subject, found)
    yield neighbor_check(subject, found.joined, found.rule)


def _loadings(subject: Subject) -> Iterator[Check]:
    """Yield the check that loadings are the coefficients of the linear map."""
    loadings = subject.model.loadings
    if loadings is not None:
        axes = (subject.data.value_unit**-1).plain(subject.projector.axes)
        same = axes.shape == loadings.values.shape and np.array_equal(axes, loadings.values)
        yield count("loadings", int(not same), "loadings that are not the coefficients of the linear map")


def _equations(subject: Subject, costs: Costs) -> Iterator[Check]:
    """Yield checks of weighted covariance and residuals, and of all costs, in an orthonormal basis of the columns."""
    roots, coordinates = np.sqrt(costs.masses), subject.embedding
    volume, drawn = float(costs.masses.sum()), np.any(coordinates != 0, axis=0)
    solved = subject.spectrum.solved[subject.spectrum.solved > 0]
    basis = basis_of(subject.data.values, roots, len(solved))
    yield count("count", int(basis.beyond > BEYOND), f"directions of the columns besides the {basis.vectors.shape[1]} "
                "with a cost")
    root = costs.root.matrix
    sizes = abs(root) / roots
    norm = float(sizes.sum(axis=0).max() * sizes.sum(axis=1).max())  # a bound of that of D^(-1/2) M D^(-1/2)
    wrong = subject.projector.rounding(subject.data.values)  # of a coordinate
    products = coordinates.T @ (costs.masses[:, None] * coordinates) / volume - np.diag(drawn.astype(float))
    yield ratio("covariance", max_abs(products), subject.rounding + wrong * (2 + wrong), "YᵀD Y = Σd I")
    yield ratio("centering", max_abs(costs.masses @ coordinates) / volume, subject.rounding + wrong, "Σ d y = 0")
    allowed = subject.rounding + costs.root.unsure + basis.span
    stated_costs = np.divide(1.0, subject.values, out=np.zeros_like(subject.values), where=subject.values > 0)
    gaps = root.T @ (root @ coordinates) - costs.masses[:, None] * coordinates * stated_costs
    gap = np.linalg.norm(basis.vectors.T @ (gaps / roots[:, None]), axis=0) / np.sqrt(volume)
    rough = np.linalg.norm(costs.root.slack(coordinates), axis=0) / np.sqrt(volume * costs.masses.min())
    yield ratio("residual", worst(gap * drawn, norm * (allowed + wrong) + rough), 1.0, "XᵀM X a = λ XᵀD X a, all rows")
    again = np.linalg.svd((root / roots) @ basis.vectors, compute_uv=False)[::-1]
    again = np.concatenate([np.zeros(max(basis.vectors.shape[1] - len(again), 0)), again])
    stated, spread = 1 / np.sqrt(solved), costs.root.spread
    if len(stated) != len(again):
        yield ratio("costs", float("inf"), 1.0, "there is a cost for every direction of the columns")
        return
    rough = np.minimum(np.sqrt(spread), spread / np.maximum(again, np.finfo(np.float64).tiny))
    yield ratio("costs", worst(np.abs(stated - again), np.sqrt(norm) * allowed + rough), 1.0,
                "roots of all costs are the singular values of R U, with other white columns U")


def _lengths(columns: Array) -> Array:
    """Return the length of each column (d) of an (n, d) array; squares of small numbers do not underflow."""
    sizes = np.abs(columns).max(axis=0, initial=0.0)
    return np.asarray(sizes * np.linalg.norm(columns / np.where(sizes > 0, sizes, 1.0), axis=0))


@frozen
class Basis:
    """An orthonormal basis of columns."""

    vectors: Array  # n x r
    span: float  # the rounding of its span: large where columns nearly depend on each other in directions that count
    beyond: float  # the extent of the columns in another direction, in roundings


def basis_of(points: Array, roots: Array, rank: int) -> Basis:
    """Return an orthonormal basis of `rank` directions of the columns of points (n x d), by QR with pivots.

    Columns are without their means, weighted by squares of `roots` (n), times `roots`, and of length one.
    """
    from scipy.linalg import qr

    shares = roots**2 / np.sum(roots**2)
    centered = points - shares @ points
    centered -= shares @ centered
    columns = centered * roots[:, None]
    lengths, sizes = _lengths(columns), _lengths(points * roots[:, None])
    there = lengths > 10 * EPS * sizes
    if not there.any():
        return Basis(np.zeros((len(points), 0)), 0.0, 0.0)
    vectors, triangle, _ = qr(columns[:, there] / lengths[there], mode="economic", pivoting=True)
    extents = np.append(np.abs(np.diag(triangle)), 0.0)
    rank = min(rank, len(extents) - 1)
    noise = EPS * (max(points.shape) + float((sizes[there] / lengths[there]).max()))
    span = (noise + float(extents[rank])) / float(extents[rank - 1]) if rank else 0.0
    return Basis(vectors[:, :rank], span, float(extents[rank]) / noise)
