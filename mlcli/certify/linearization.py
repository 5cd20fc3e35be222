"""Linear functions of least cost on a graph: XᵀM X a = λ XᵀD X a, with M, D and a basis of the columns computed again.
"""

from collections.abc import Iterator

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, count, later, ratio
from mlcli.certify.eigen import worst
from mlcli.certify.graph import Joined, adjacency, neighbor_check, pair_distances
from mlcli.certify.subject import Subject, max_abs
from mlcli.certify.weights import ROOTS, Root, residual_matrix
from mlcli.core.graph.pieces import connected_graph
from mlcli.methods.laplacian.check import weights_of_edges

ROW, PAIR, BASIS = 1e-4, 5e-10, 1e-9  # seconds for a row, a column of a distance, and one of a product
SLACK = 8.0  # roundings of a weight
BEYOND = 1e3  # roundings of an extent that counts


@frozen
class Witness:
    """The cost ‖R y‖² of a function, its norm Σ d y², and the neighbors from which they were computed again."""

    root: Root
    masses: Array  # d (n)
    joined: Joined
    rule: str


def linearization_checks(subject: Subject) -> Iterator[Check]:
    """Yield the checks of loadings, and those of the eigenproblem with all rows, where these are few."""
    yield from _loadings(subject)
    rows, columns = subject.data.values.shape
    if not subject.plan.allows(0.5, rows * (ROW + PAIR * rows * columns + BASIS * columns * min(rows, columns))):
        yield later("residual")
        return
    witness = edge_costs(subject) if subject.method.kernel.of_weights else local_costs(subject)
    if len(witness.masses) != subject.size:
        yield count("graph", abs(len(witness.masses) - subject.size), "rows of the graph without coordinates")
        return
    yield from _equations(subject, witness)
    yield neighbor_check(subject, witness.joined, witness.rule)


def edge_costs(subject: Subject) -> Witness:
    """Return the weighted differences along edges, and degrees, of lengths and weights computed again."""
    from scipy import sparse

    method, given = subject.method, subject.given
    graph, _ = connected_graph(given, subject.neighborhood, subject.pieces, method.graph)  # see `neighbor_check`
    rows = np.repeat(np.arange(graph.size), np.diff(graph.starts))
    lengths, errors = pair_distances(subject, rows, graph.indices)
    weights, powers = weights_of_edges(method.weights.measured_in(given.unit), graph, lengths)
    once = np.flatnonzero(rows < graph.indices)
    ends = np.column_stack([rows[once], graph.indices[once]])
    values = np.sqrt(weights[once])[:, None] * [1.0, -1.0]
    root = sparse.csr_array((values.ravel(), ends.ravel(), 2 * np.arange(len(once) + 1)), shape=(len(once), graph.size))
    rough = np.divide(powers * errors, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    unsure = SLACK * EPS * (1 + max_abs(powers)) + max_abs(rough)
    degrees = np.bincount(rows, weights, minlength=graph.size).astype(np.float64)
    return Witness(Root(root, unsure), degrees, adjacency(subject, graph.starts, graph.indices), method.graph)


def local_costs(subject: Subject) -> Witness:
    """Return the rows of numbers on neighborhoods: reconstruction weights, or functionals on tangent spaces."""
    kernel = subject.method.kernel
    lists, kept = kernel.lists(subject.given, subject.neighborhood, subject.pieces)
    data = subject.given if kept is None else subject.given.take(kept)
    if kernel.name in ROOTS:
        root = ROOTS[kernel.name](data, lists, kernel, subject.embedding.shape[1])
    else:
        matrix, rough = residual_matrix(data, lists, kernel.ridge)
        root = Root(matrix, (EPS + rough) / kernel.ridge)
    return Witness(root, np.ones(len(data.values)), adjacency(subject, lists.starts, lists.indices), "lists")


def _loadings(subject: Subject) -> Iterator[Check]:
    """Yield the check that loadings are the coefficients of the linear map."""
    loadings = subject.model.loadings
    if loadings is not None:
        axes = (subject.data.value_unit**-1).plain(subject.projector.axes)
        same = axes.shape == loadings.values.shape and np.array_equal(axes, loadings.values)
        yield count("loadings", int(not same), "loadings that are not the coefficients of the linear map")


def _equations(subject: Subject, witness: Witness) -> Iterator[Check]:
    """Yield checks of weighted covariance and residuals, and of all costs, in an orthonormal basis of the columns."""
    roots, coordinates = np.sqrt(witness.masses), subject.embedding
    volume, drawn = float(witness.masses.sum()), np.any(coordinates != 0, axis=0)
    solved = subject.spectrum.solved[subject.spectrum.solved > 0]
    basis = basis_of(subject.data.values, roots, len(solved))
    yield count("count", int(basis.beyond > BEYOND), f"directions of the columns besides the {basis.vectors.shape[1]} "
                "with a cost")
    root = witness.root.matrix
    sizes = abs(root) / roots
    norm = float(sizes.sum(axis=0).max() * sizes.sum(axis=1).max())  # a bound of that of D^(-1/2) M D^(-1/2)
    wrong = subject.projector.rounding(subject.data.values)  # of a coordinate
    products = coordinates.T @ (witness.masses[:, None] * coordinates) / volume - np.diag(drawn.astype(float))
    yield ratio("covariance", max_abs(products), subject.rounding + wrong * (2 + wrong), "YᵀD Y = Σd I")
    yield ratio("centering", max_abs(witness.masses @ coordinates) / volume, subject.rounding + wrong, "Σ d y = 0")
    allowed = subject.rounding + witness.root.unsure + basis.span
    costs = np.divide(1.0, subject.values, out=np.zeros_like(subject.values), where=subject.values > 0)
    gaps = root.T @ (root @ coordinates) - witness.masses[:, None] * coordinates * costs
    gap = np.linalg.norm(basis.vectors.T @ (gaps / roots[:, None]), axis=0) / np.sqrt(volume)
    rough = np.linalg.norm(witness.root.slack(coordinates), axis=0) / np.sqrt(volume * witness.masses.min())
    yield ratio("residual", worst(gap * drawn, norm * (allowed + wrong) + rough), 1.0, "XᵀM X a = λ XᵀD X a, all rows")
    again = np.linalg.svd((root / roots) @ basis.vectors, compute_uv=False)[::-1]
    again = np.concatenate([np.zeros(max(basis.vectors.shape[1] - len(again), 0)), again])
    stated, spread = 1 / np.sqrt(solved), witness.root.spread
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
