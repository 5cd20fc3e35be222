"""The alpha-decay kernel: affinities exp(-(d/σ)^α) of near points, with a width σ of each (Moon and others, 2019)."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.base.values.inputs import Dissimilarities, Spatial, WeightedGraph
from mlcli.stages.algebra.distances import BLOCK, squared_distances
from mlcli.stages.algebra.metrics.blocks import distances_to
from mlcli.stages.algebra.metrics.points import metric_of

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
        near = ratios <= 2 * (-np.log(self.threshold)) ** (1 / self.exponent)  # of others the power is far too large
        found = np.zeros_like(ratios)
        found[near] = np.exp(-(ratios[near] ** self.exponent))
        found[found < self.threshold] = 0.0
        return found


def decay_kernel(data: Spatial, decay: Decay) -> "sparse.csr_array":
    """Return the mean of the affinities of either point of a pair (n x n): symmetric, one on the diagonal."""
    from scipy import sparse

    rows_of = distance_rows(data)

    def work(rows: slice) -> "sparse.csr_array":
        return sparse.csr_array(decay.affinities(rows_of(rows), 1))

    count = len(data.values)
    found = sparse.vstack(list(in_order(work, row_blocks(count, BLOCK, max(data.values.shape)), progress=True)), "csr")
    kernel = sparse.csr_array((found + found.T) / 2)
    kernel.sort_indices()
    return kernel


def graph_kernel(graph: WeightedGraph) -> "sparse.csr_array":
    """Return the affinities of a given graph (n x n); that of a point with itself is the largest of all."""
    from scipy import sparse

    count = len(graph.values)
    edges = sparse.csr_array((graph.weights, graph.indices, graph.starts), shape=(count, count))
    own = np.full(count, graph.weights.max(initial=0.0) or 1.0)
    kernel = sparse.csr_array(edges + sparse.diags_array(own - edges.diagonal()))
    kernel.sort_indices()
    return kernel


def distance_rows(data: Spatial) -> Callable[[slice], Array]:
    """Return a function for the distances of some rows to all points (m x n), on one thread."""
    values, metric = data.values, metric_of(data)
    if isinstance(data, Dissimilarities):
        return lambda rows: values[rows]
    if metric.plain:
        return lambda rows: np.sqrt(squared_distances(values[rows], values))
    to_all = distances_to(metric, values)
    return lambda rows: to_all(values[rows])
