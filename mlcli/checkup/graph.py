"""Checks on neighbors: the graph and the neighborhood that connects it, hubs, intrinsic dimension."""

import numpy as np

from mlcli.base.stages.stage import stage
from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import Dissimilarities, Spatial
from mlcli.checkup.report import GraphFacts, Hubness, IntrinsicDimension
from mlcli.core.graph.connecting import connecting_count, connecting_radius
from mlcli.core.graph.graph import graph_of
from mlcli.core.graph.neighborhoods import nearest_lists
from mlcli.core.graph.neighbors import Neighbors
from mlcli.core.graph.search import Lists
from mlcli.core.metrics.points import metric_of
from mlcli.findings.dimension.neighbor_growth import maximum_likelihood, two_nn, two_nn_error

LISTED = 10


@stage("graph")
def graph_facts(data: Spatial, neighbors: Neighbors, lists: Lists) -> GraphFacts:
    """Return the pieces of the graph of `neighbors`, and the smallest neighborhoods that would connect all points.

    `lists` hold equally many nearest neighbors of every point.
    """
    graph = graph_of(neighbors.neighborhood(data).from_nearest(data, lists), "union")
    sizes = np.bincount(graph.pieces())
    radius, left, right = connecting_radius(data, lists)
    return GraphFacts(neighbors=neighbors.count, radius=neighbors.radius, edges=graph.edges, pieces=len(sizes),
                      piece_sizes=tuple(sizes[:LISTED].tolist()), connecting_k=connecting_count(data, lists),
                      connecting_radius=data.unit.number(radius),
                      widest_gap=(str(data.ids[left]), str(data.ids[right])))


def hubness_of(data: Spatial, lists: Lists) -> Hubness:
    """Count how often each point is a neighbor of another; skewness of the counts (Radovanović et al., 2010)."""
    often = np.bincount(lists.indices, minlength=len(data.values)).astype(np.float64)
    centered = often - often.mean()
    deviation = float(np.sqrt((centered**2).mean()))
    skewness = float((centered**3).mean() / deviation**3) if deviation > 0 else 0.0
    hub = int(often.argmax())
    return Hubness(int(lists.counts[0]), skewness, int(often[hub]), str(data.ids[hub]), int((often == 0).sum()))


def intrinsic_of(data: Spatial, lists: Lists) -> IntrinsicDimension:
    """Estimate the intrinsic dimension in two ways among distinct points: zero distances carry no information."""
    if not lists.lengths.all():
        distinct = distinct_rows(data)
        if len(distinct) > 1:
            lists = nearest_lists(data.take(distinct), min(int(lists.counts[0]), len(distinct) - 1))
    nearest: Array = lists.lengths.reshape(len(lists.counts), -1)
    return IntrinsicDimension(two_nn(nearest), two_nn_error(nearest), maximum_likelihood(nearest), nearest.shape[1])


def distinct_rows(data: Spatial) -> Indices:
    """Return the first row of every group of equal points, in the order of the rows."""
    if isinstance(data, Dissimilarities):
        return np.flatnonzero((data.values == 0).argmax(axis=1) == np.arange(len(data.values)))
    return np.sort(np.unique(metric_of(data).represent(data.values), axis=0, return_index=True)[1])
