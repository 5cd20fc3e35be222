"""The neighbor graph of a chain: the neighbor rule, the connected graph, and the fill of a cost along it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from mlcli import native
from mlcli.base.frozen import frozen
from mlcli.base.machine.footprint import resident
from mlcli.base.rows.blocks import in_stages
from mlcli.base.rows.memo import memoize
from mlcli.base.rows.source import rows_of
from mlcli.base.stages.checkpoints import keeping
from mlcli.base.stages.composition import Composition
from mlcli.base.stages.stage import computed
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import Joined
from mlcli.core.chain.input import ChainInput
from mlcli.core.chebyshev import null_vectors, smallest
from mlcli.core.graph.affinities import incidence
from mlcli.core.graph.graph import Graph, graph_of
from mlcli.core.graph.neighbors import Nearest, Neighborhood
from mlcli.core.graph.pieces import connected_graph, graph_steps, planned_graph
from mlcli.core.graph.search import nearest
from mlcli.core.kernels.inverse import FACTORED, FLAT, WHOLE_SVD, CostSize
from mlcli.core.model import Model

SIZES, HALVINGS = (1000, 4000), 3  # rows of samples, as a surface shows only over two doublings; and how often halved
ENTRY, MEMBER = 10.0, 32.0  # bytes of an entry of a sample's factor while it is counted, and of an entry of its R
SURFACE, MOST = 1.4, 2.0  # growth of a row's entries as points double: the most of a surface's, and of many dimensions'


def fill_of(points: Array, count: int, *, squared: bool, room: float = np.inf) -> float | None:
    """Return about how many entries the factor has, for an (n, d) array of points with `count` neighbors each.

    The cost joins neighbors and, where it is `squared`, points that share a neighbor. By nested dissection a row's
    entries grow with the logarithm of the number of points on a surface, and with a power of it in more dimensions.
    Of points that are no more than the larger sample it is their number. Samples are smaller where there is no `room`
    (bytes) to count larger ones. None where there are no native kernels, or room for no samples: then there is none for
    the fit of all points either.
    """
    rows = len(points)
    if not native.available():
        return None
    for halvings in range(HALVINGS + 1):
        few, many = (size >> halvings for size in SIZES)
        sizes = (few, many) if rows > many else (rows,)
        counts = _counts(points, count, sizes, squared=squared, room=room)
        if len(counts) == len(sizes):
            return _beyond(rows, sizes, counts)
    return None


def _counts(points: Array, count: int, sizes: Sequence[int], *, squared: bool, room: float) -> list[float]:
    """Return entries of the factor for each row of samples of these sizes, up to one that there is no room for."""
    rows, counts = len(points), list[float]()
    for size in sizes:
        entries = min(size**2 / 2, counts[0] * (size / sizes[0]) ** 2 * sizes[0] if counts else np.inf)
        if ENTRY * entries + MEMBER * size * (count + 1 if squared else 2 * count) > room:
            break
        some = points if size == rows else points[np.linspace(0, rows - 1, size).astype(np.int64)]
        counts.append(_fill(some, min(count, size - 1), squared) / size)
    return counts


def _beyond(rows: int, sizes: Sequence[int], counts: Sequence[float]) -> float:
    """Return the entries for all rows, by those for each row of samples of two sizes, or of all rows."""
    if len(sizes) == 1:
        return rows * counts[0]
    apart, beyond = np.log2(sizes[1] / sizes[0]), np.log2(rows / sizes[1])
    doubled = float(max(counts[1], 1.0) / max(counts[0], 1.0)) ** (1 / apart)
    if doubled <= SURFACE:
        return float(rows * (counts[1] + max(counts[1] - counts[0], 0.0) / apart * beyond))
    return float(rows * counts[1] * min(doubled, MOST) ** beyond)


def _fill(points: Array, count: int, squared: bool) -> int:
    """Return the number of entries below the diagonal of the factor, for a sample."""
    return memoize(f"fill {len(points)}", (points, count, squared), lambda: _eliminated(points, count, squared))


def _eliminated(points: Array, count: int, squared: bool) -> int:
    """Return the number of entries below the diagonal of the factor of RᵀR.

    R has a row for each neighborhood where the cost is `squared`, else for each pair of neighbors.
    """
    lists, size = nearest(points, count), len(points)
    own = np.arange(size) if squared else lists.rows
    members = np.column_stack([own, lists.indices.reshape(len(own), -1)])
    starts = members.shape[1] * np.arange(len(own) + 1)
    factors = native.NormalCholesky(starts, members.ravel(), np.ones(members.size), columns=size, shift=1.0)
    for _ in in_stages(factors.steps, factors.prepare):
        pass
    return factors.fill


SHARE, HALF, USUAL = 100, 0.5, 1e-9  # eigenvalues of a sample at most, as a share; growth on a curve or surface at
# most; and residuals
SAMPLES = 64.0 * 2**20  # bytes of samples for filters, with what finds their eigenvalues
FEW, LOCAL = 10_000, 20  # points, and neighbors of each, up to which a usual factor is a good estimate in few columns


def neighborhood(chain: ChainInput) -> Neighborhood:
    """Return the neighbor rule of a chain for its data."""
    return chain.joining.neighbors.neighborhood(chain.data)


def joined_graph(chain: ChainInput, consequence: str = "") -> tuple[Graph, Joined, Indices | None]:
    """Return the connected graph, its points, and their indices (m of n) where some are left out, otherwise None."""
    joining = chain.joining
    data, neighbors = chain.joined, neighborhood(chain)
    graph, kept = connected_graph(data, neighbors, joining.neighbors.pieces, joining.rule, consequence)
    computed("graph", graph)
    return graph, data if kept is None else data.take(kept), kept


def neighbor_steps(chain: ChainInput) -> list[Step]:
    """Return the cost of the chain's neighbor graph, which the data alone determines."""
    return graph_steps(chain.joined, neighborhood(chain), chain.compute)


@frozen
class GraphStages(Composition[Model]):
    """The base of the stages that follow the neighbor graph."""

    chain: ChainInput
    graph: Graph
    data: Joined  # the points of the graph
    kept: Indices | None  # which these are, where some are left out (m)


class GraphChain(Composition[Model]):
    """The base of chains whose costs depend on the graph: it is made first, and then memory is required for the rest.
    """

    chain: ChainInput
    consequence: ClassVar[str] = ""  # of a graph in pieces

    def after_graph(self, graph: Graph, data: Joined, kept: Indices | None) -> GraphStages:
        """Return the stages after the graph of `data`, of which `kept` (m) are the rows, where some are left out."""
        raise NotImplementedError

    def steps(self) -> list[Step]:
        """Return the stages with their costs; the graph is computed for this."""
        chain, joining = self.chain, self.chain.joining
        graph, made = planned_graph(chain.joined, neighborhood(chain), joining.neighbors.pieces, joining.rule,
                                    chain.compute)
        return [*made, *self.after_graph(graph, chain.joined, None).steps()]

    def fit(self) -> Model:
        """Compute the graph, and what follows from it; raises RefusedByPlan where memory does not allow that."""
        graph, data, kept = joined_graph(self.chain, self.consequence)
        found = self.after_graph(graph, data, kept)
        self.chain.require(found.steps(), data)
        return found.fit()


def predict_cost(chain: ChainInput, neighbors: Neighborhood, size: CostSize) -> CostSize:
    """Return the size of a cost with entries of its factor and products of filters, estimated from samples of points.

    Both are unknown for few points, and where none are in memory or hardly any memory is left. Samples take a tenth of
    a second, and a tenth of the fit at most. In few columns, with few neighbors, the factor has little fill, and is
    known without them up to FEW points. Products are unknown for costs of neighborhoods, whose smallest eigenvalues
    depend on more than the graph.
    """
    points = chain.joined.points
    if points is None or rows_of(points) is not None or not isinstance(neighbors, Nearest):
        return size
    if len(points) <= (FEW if points.shape[1] <= FLAT and neighbors.usual <= LOCAL else WHOLE_SVD):
        return size
    room = chain.compute.memory_bytes() - resident(chain.compute.thread_count()) - 2.0 * points.nbytes  # as read, and
    # in units
    fill = fill_of(points, neighbors.usual, squared=size.squared, room=room)
    if size.squared or len(points) <= FACTORED or fill is None or room < SAMPLES:
        return replace(size, fill=fill)
    wanted = chain.stages.eigensolve.wanted(len(points)) + 1
    return replace(size, fill=fill, products=products_of(points, neighbors.usual, wanted))


def products_of(points: Array, count: int, wanted: int) -> float:
    """Return about how many products with the normalized Laplacian of `count` neighbors filters take, for an (n, d)
    array of points and so many `wanted` eigenvalues.

    They grow as the root of the inverse of these, which is a power of the number of points: n^(1/d) for d dimensions
    that the points fill. The power is that between samples of two sizes.
    """
    few, many = (_filtered(points, count, min(wanted, size // SHARE), size) for size in SIZES)
    power = float(np.clip(np.log(many / few) / np.log(SIZES[1] / SIZES[0]), 0.0, HALF))
    return float(many * (len(points) / SIZES[1]) ** power)


def _filtered(points: Array, count: int, wanted: int, size: int) -> int:
    """Return the number of products for a sample of a size."""
    some = points[np.linspace(0, len(points) - 1, size).astype(np.int64)]
    return memoize(f"filters {size}", (some, count, wanted), lambda: _products(some, count, wanted))


def _products(points: Array, count: int, wanted: int) -> int:
    """Return the number of products that filters take for so many eigenvalues over zero of a sample."""
    graph = graph_of(nearest(points, count), "union")
    degrees = np.diff(graph.starts).astype(np.float64)
    cost = incidence(graph, np.ones(len(graph.indices)), np.sqrt(degrees)).normal()
    null = np.sqrt(degrees / degrees.sum())
    zeros = len(null_vectors(cost, null).indptr) - 2  # of a sample in pieces, beside the null vector
    with keeping(None):  # a checkpoint that was left is one of all points
        return smallest(cost, null, zeros + wanted, USUAL, np.random.default_rng(0)).products
