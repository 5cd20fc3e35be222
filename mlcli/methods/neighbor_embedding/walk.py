"""Random walks on points: alpha-decay affinities, clusters that a walk hardly tells apart, and potential distances.

Source: Moon and others, "Visualizing structure and transitions in high-dimensional biological data", 2019.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.threads import single_threaded_blas
from mlcli.base.rows.blocks import each, in_order, row_blocks
from mlcli.base.rows.memo import memoize
from mlcli.base.stages.stage import part
from mlcli.base.stored import stored
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS
from mlcli.base.values.inputs import Dissimilarities, Features, Spatial, WeightedGraph
from mlcli.core import arithmetic
from mlcli.core.arithmetic import row_products, sparse_product, symmetric_products
from mlcli.core.euclidean_distances import BLOCK, CACHED, squared_distances_in_order
from mlcli.core.graph.approximate import note_searched_all
from mlcli.core.graph.neighbors import Search, nearest_by, nearest_lists, search_neighbors
from mlcli.core.graph.search import Lists, Near, nearest_of_new, nearest_of_some, sort_lists
from mlcli.core.linalg import symmetric_eigenvalues
from mlcli.core.metrics.distances import distances_to, metric_of

if TYPE_CHECKING:
    from scipy import sparse


@stored("decay")
@frozen
class Decay:
    """The form of the affinities exp(-(d/σ)^α), zero below a threshold; σ is the distance to the k-th neighbor."""

    nearest: int  # k
    exponent: float  # α
    threshold: float

    def widths(self, lengths: Array, own: int) -> Array:
        """Return σ (m) of distances to all points (m x n), `own` of which are the point itself.

        Where the k-th neighbor is an equal point, σ is the least distance above zero, or 1 where there is none.
        """
        place = min(self.nearest + own, lengths.shape[1]) - 1
        widths = np.partition(lengths, place, axis=1)[:, place]
        for row in np.flatnonzero(widths == 0):
            apart = lengths[row][lengths[row] > 0]
            widths[row] = apart.min() if len(apart) else 1.0
        return np.asarray(widths)

    def affinities(self, lengths: Array, own: int) -> Array:
        """Return affinities (m x n) of distances to all points (m x n), `own` of which are the point itself."""
        ratios = lengths / self.widths(lengths, own)[:, None]
        with np.errstate(over="ignore"):
            farthest = 2 * (-np.log(self.threshold)) ** (1 / self.exponent)
        near = ratios <= farthest  # of others the power is far too large
        found = np.zeros_like(ratios)
        found[near] = arithmetic.exponential(-arithmetic.power(ratios[near], self.exponent))
        found[found < self.threshold] = 0.0
        return found


def decay_kernel(data: Spatial, decay: Decay, search: Search = "exact") -> "sparse.csr_array":
    """Return the mean of the affinities of either point of a pair (n x n): symmetric, one on the diagonal.

    They come from the distances of all pairs, and of many points from those of neighbors alone.
    """
    from scipy import sparse

    if by_lists(data):
        return _symmetric(_of_lists(decay_lists(data, decay, search), decay))
    if search == "approximate":
        note_searched_all()
    rows_of = distance_rows(data)

    def work(rows: slice) -> "sparse.csr_array":
        return sparse.csr_array(decay.affinities(rows_of(rows), 1))

    count = len(data.values)
    found = sparse.vstack(list(in_order(work, row_blocks(count, BLOCK, max(data.values.shape)), progress=True)), "csr")
    return _symmetric(found)


def _symmetric(found: "sparse.csr_array") -> "sparse.csr_array":
    """Return the mean of a sparse matrix (n x n) and its transpose."""
    from scipy import sparse

    kernel = sparse.csr_array((found + found.T) / 2)
    kernel.sort_indices()
    return kernel


ALL_PAIRS = 5_000  # points up to which affinities come from the distances of all pairs
SEARCHED, MORE = 6, 4  # neighbors that are searched for at first, in those at the width; and growth of later searches
HELD = 2**22  # numbers of the lists that are searched for at once again


def by_lists(data: Spatial) -> bool:
    """Whether affinities come from lists of neighbors."""
    return isinstance(data, Features) and len(data.values) > ALL_PAIRS


def decay_lists(data: Spatial, decay: Decay, search: Search = "exact") -> Lists:
    """Return all other points to which each point has an affinity, nearest first.

    They are among its neighbors up to one whose affinity is zero. Of a point without one among these, more are searched
    for, exactly.
    """
    return memoize("decay lists", (data.values, str(metric_of(data)), decay.nearest, decay.exponent, decay.threshold,
                                   search), lambda: _search(data, decay, search))


def searched(decay: Decay, size: int) -> int:
    """Return the number of neighbors of each of `size` points that are searched for at first."""
    return min(SEARCHED * decay.nearest, size - 1)


def _search(data: Spatial, decay: Decay, search: Search) -> Lists:
    """Return the lists of `decay_lists`."""
    values, metric, size = data.values, metric_of(data), len(data.values)
    reach = (1 + ROUNDING) * (-np.log(decay.threshold)) ** (1 / decay.exponent)  # of ratios with an affinity
    count, left, parts = searched(decay, size), np.arange(size), list[Near]()
    first = nearest_lists(data, count) if search == "exact" else search_neighbors(
        values, metric, nearest_by(search, count))
    blocks = [(left, first)]
    while len(left):
        short = []
        for rows, lists in blocks:
            ratios = lists.lengths / widths_of(lists, decay)[lists.rows]
            whole = (ratios[lists.starts[1:] - 1] > reach) | (count == size - 1)
            kept = whole[lists.rows] & (ratios <= reach)
            parts.append((rows[lists.rows[kept]], lists.indices[kept], lists.lengths[kept]))
            short.append(rows[~whole])
        left, count = np.concatenate(short), min(MORE * count, size - 1)
        blocks = [(left[some], nearest_of_some(values, left[some], count, metric))
                  for some in row_blocks(len(left), HELD, count)]
    return sort_lists(size, *(np.concatenate(some) for some in zip(*parts, strict=True)))


def widths_of(lists: Lists, decay: Decay) -> Array:
    """Return σ (m) of lists of distances to others: infinite where all of them are zero."""
    widths = lists.lengths[lists.starts[:-1] + np.minimum(decay.nearest, lists.counts) - 1]
    least = np.minimum.reduceat(np.where(lists.lengths > 0, lists.lengths, np.inf), lists.starts[:-1])
    return np.asarray(np.where(widths > 0, widths, least))


def _of_lists(lists: Lists, decay: Decay) -> "sparse.csr_array":
    """Return the affinities of each point to the others in its list, and to itself (n x n)."""
    from scipy import sparse

    size, ratios = len(lists.starts) - 1, lists.lengths / widths_of(lists, decay)[lists.rows]
    weights = arithmetic.exponential(-arithmetic.power(ratios, decay.exponent))
    weights[weights < decay.threshold] = 0.0
    found = sparse.csr_array((weights, lists.indices.astype(np.int32), lists.starts.astype(np.int32)),
                             shape=(size, size))
    found.eliminate_zeros()
    return sparse.csr_array(found + sparse.eye_array(size, format="csr"))


def graph_kernel(graph: WeightedGraph) -> "sparse.csr_array":
    """Return the affinities of a given graph (n x n); that of a point with itself is the largest of all."""
    from scipy import sparse

    count = len(graph.values)
    edges = sparse.csr_array((graph.weights, graph.indices, graph.starts), shape=(count, count))
    own = np.full(count, graph.weights.max(initial=0.0) or 1.0)
    kernel = sparse.csr_array(edges + sparse.diags_array(own - edges.diagonal()))
    kernel.sort_indices()
    return kernel


def distance_rows(data: Spatial) -> Callable[[slice | Indices], Array]:
    """Return a function for the distances of some rows to all points (m x n), on one thread."""
    values, metric = data.values, metric_of(data)
    if isinstance(data, Dissimilarities):
        return lambda rows: values[rows]
    if metric.plain:
        return lambda rows: np.sqrt(squared_distances_in_order(values[rows], values))
    to_all = distances_to(metric, values)
    return lambda rows: to_all(values[rows])


FUNCTIONS = 100  # leading functions of the walk by which points are compared
SPARE = 10  # more of them while they are computed
NEAR_POWERS = 7  # products with the walk that bring them near
PASSES = 10  # of k-means; later ones move few points


def walk_clusters(kernel: "sparse.csr_array", count: int, generator: np.random.Generator) -> Indices:
    """Return the cluster of each point (n), from 0: at most `count` of them by k-means, from points drawn at random.

    Points are compared by where one step of the walk leads them, in the leading functions of a symmetric kernel
    (n x n). Clusters are numbered in the order of their first points.
    """
    points = leading_functions(kernel, generator)
    centers = points[np.sort(generator.choice(len(points), min(count, len(points)), replace=False))]
    labels = nearest_of_new(points, centers, 1).indices
    for number in range(PASSES):
        before = labels
        with part(f"pass {number + 1}"):
            labels = nearest_of_new(points, means(points, labels), 1).indices
        if np.array_equal(before, labels):
            break
    _, first, places = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[places]


def leading_functions(kernel: "sparse.csr_array", generator: np.random.Generator) -> Array:
    """Return the leading functions of a walk after one step (n x q), by subspace iteration from random vectors.

    These are eigenvectors V of D^(-1/2) K D^(-1/2), D the sums of a symmetric kernel K (n x n), times D⁻¹ K.
    """
    sums, count = kernel.sum(axis=1), kernel.shape[0]
    symmetric = scaled(kernel, 1 / np.sqrt(sums), 1 / np.sqrt(sums))
    basis = arithmetic.normal_numbers(generator, (count, min(FUNCTIONS + SPARE, count)))
    for _ in range(NEAR_POWERS):
        basis = arithmetic.orthonormal(sparse_product(symmetric, basis))
    rows, images = (np.ascontiguousarray(some.T) for some in (basis, sparse_product(symmetric, basis)))
    values, turn = arithmetic.symmetric_eigen(symmetric_products(rows, images))
    largest = np.argsort(-np.abs(values), kind="stable")[:FUNCTIONS]
    functions = row_products(basis, np.ascontiguousarray(turn[:, largest].T))
    return sparse_product(kernel, functions) / sums[:, None]


def means(points: Array, labels: Indices) -> Array:
    """Return the means (c x q) of the points (n x q) of each label that occurs in an (n,) array."""
    kinds, places = np.unique(labels, return_inverse=True)
    sums = memberships(places, len(kinds))
    return sparse_product(sums, points) / sums.sum(axis=1)[:, None]


def memberships(labels: Indices, count: int) -> "sparse.csr_array":
    """Return the matrix of ones where a point belongs to one of `count` clusters (count x n), for labels (n) from 0."""
    from scipy import sparse

    places = np.asarray(labels, dtype=np.int32), np.arange(len(labels), dtype=np.int32)  # as kernels take them
    return sparse.csr_array((np.ones(len(labels)), places), shape=(count, len(labels)))


POWERS = 100  # of the walk, whose entropy is computed
ROUNDING = 1e-13  # of potentials, relative to their size
DENSE = 1 / 8  # share of entries from which on a product takes all pairs
TOGETHER = 32  # columns that are multiplied together, at least
FLOOR = 1e-7  # added to probabilities ahead of their logarithm
SAME = 1e-9  # difference of errors of two lines, in nats, that is rounding


@frozen
class Walk:
    """A symmetric kernel K between L nodes, its sums D, and the probabilities from each of n points to the nodes.

    A step between nodes has the probabilities P = D⁻¹ K.
    """

    kernel: "sparse.csr_array"  # L x L
    sums: Array  # L
    entries: "sparse.csr_array | None"  # n x L; None: the nodes are the points


def walk_between(kernel: "sparse.csr_array", clusters: Indices | None) -> Walk:
    """Return the walk of a symmetric kernel (n x n), between points or between the clusters (n).

    From a cluster it goes to a point, by the sum of the kernel over its members, and from there to a cluster, by the
    sum over members again.
    """
    from scipy import sparse

    entries = None
    if clusters is not None:
        joint = memberships(clusters, int(clusters.max()) + 1) @ kernel
        entries = shares(joint.T)
        columns, (count, size) = entries.tocsc(), entries.shape
        between = np.hstack([sparse_product(joint, columns[:, some].toarray())
                             for some in row_blocks(size, max(BLOCK, TOGETHER * count), count)])
        kernel = sparse.csr_array((between + between.T) / 2)
    return Walk(kernel, kernel.sum(axis=1), entries)


def shares(matrix: "sparse.sparray") -> "sparse.csr_array":
    """Return a matrix with rows divided by their sums."""
    from scipy import sparse

    rows = sparse.csr_array(matrix)
    return scaled(rows, 1 / rows.sum(axis=1), np.ones(rows.shape[1]))


def entropy_curve(walk: Walk) -> Array:
    """Return the von Neumann entropy of P, P², ..., an array of `POWERS` numbers, in nats.

    That is the entropy of the shares of σ, σ², ..., with σ the singular values of P (n x n), as in the program of the
    authors of the method. Their squares are LAPACK's, whose rounding depends on the processor; those that may be zero
    are.
    """
    ends = scaled(walk.kernel, np.ones(len(walk.sums)), 1 / walk.sums)  # Pᵀ, as K is symmetric
    products = times(ends, ends.toarray())
    with single_threaded_blas():  # the same bits for any number of threads
        squares = symmetric_eigenvalues(products)
    return entropies(np.sqrt(np.where(squares > len(squares) * EPS * squares[0], squares, 0.0)))


def entropies(values: Array) -> Array:
    """Return the entropy of the shares of the powers 1, 2, ... of singular values (n, descending), in nats."""
    powers = np.multiply.accumulate(np.broadcast_to(values / values[0], (POWERS, len(values))))
    parts = powers / powers.sum(axis=1, keepdims=True)
    logs = arithmetic.logarithm(np.where(parts > 0, parts, 1.0))
    return np.asarray(-(parts * logs).sum(axis=1))


def knee(curve: Array) -> int:
    """Return the place in a curve (m >= 3) where two lines of least squares fit best, one up to it and one from it.

    As in the program of the authors of the method, the second line is fitted from one place before on, the fit is
    measured by absolute errors, and the first of equal ones counts. Of two straight lines it is their corner, or at
    times the place after it. Errors are equal where they differ by no more than rounding, so that the place does not
    depend on the processor.
    """
    places = np.arange(len(curve), dtype=np.float64)
    errors = np.array([line_error(places[: place + 1], curve[: place + 1]) + line_error(
        places[place - 1:], curve[place - 1:], 1) for place in range(1, len(curve) - 1)])
    return 1 + int(np.argmax(errors <= errors.min() + SAME))


def line_error(places: Array, values: Array, first: int = 0) -> float:
    """Return the sum of absolute errors, from the `first` on, of the line of least squares through values (m >= 2)."""
    moved = places - places.mean()
    slope = arithmetic.dot(moved, values) / arithmetic.dot(moved, moved)
    return float(np.abs(values - values.mean() - slope * moved)[first:].sum())


def power(walk: Walk, time: int) -> Array:
    """Return P^t (L x L) by squares of the symmetric D^(-1/2) K D^(-1/2), of whose powers half need be computed."""
    roots = np.sqrt(walk.sums)
    once = scaled(walk.kernel, 1 / roots, 1 / roots)
    result = once.toarray()
    for place, digit in enumerate(f"{time:b}"[1:]):
        result = symmetric_products(result, result) if place else times(once, result)
        if digit == "1":
            result = times(once, result)
    result *= roots
    result /= roots[:, None]
    return result


def scaled(kernel: "sparse.csr_array", left: Array, right: Array) -> "sparse.csr_array":
    """Return a sparse matrix (m x n) with its rows times numbers (m) and its columns times others (n)."""
    from scipy import sparse

    return sparse.csr_array(sparse.diags_array(left) @ kernel @ sparse.diags_array(right))


def times(left: "sparse.csr_array", right: Array) -> Array:
    """Return LRᵀ where it is symmetric (n x n), of a sparse matrix and rows (n x n), by entries where they are few."""
    if left.nnz < DENSE * right.size:
        return sparse_product(left, right.T)
    return symmetric_products(left.toarray(), right)


def potential(probabilities: Array, gamma: float) -> Array:
    """Return the potentials of probabilities p (m x n): -log(p + 1e-7) for γ = 1, else p^c / c, c = (1 - γ) / 2."""
    found, exponent = np.empty_like(probabilities), (1 - gamma) / 2

    def fill(rows: slice) -> None:
        if exponent == 0:
            found[rows] = -arithmetic.logarithm(probabilities[rows] + FLOOR)
        else:
            found[rows] = arithmetic.power(probabilities[rows], exponent) / exponent

    each(fill, row_blocks(len(found), CACHED, max(found.shape[1], 1)))
    return found


def potential_distances(walk: Walk, time: int, gamma: float) -> Array:
    """Return the Euclidean distances (L x L) of the rows of potentials after `time` steps of a walk."""
    potentials = potential(power(walk, time), gamma)
    found = squared_distances_in_order(potentials, potentials)
    np.sqrt(found, out=found)
    found[found <= noise(potentials)] = 0.0
    return found


def noise(potentials: Array) -> float:
    """Return the distance of two rows of potentials (n x n) up to which it is rounding of probabilities."""
    return ROUNDING * float(np.sqrt(np.sum(potentials * potentials, axis=1).max(initial=0.0)))
