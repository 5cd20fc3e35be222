"""Checks on neighbors: the graph and the neighborhood that connects it, hubs, concentration of distances."""

import numpy as np

from mlcli.base.rows.blocks import one_by_one, row_blocks
from mlcli.base.stages.stage import stage
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Dissimilarities, Features, Spatial, WeightedGraph
from mlcli.base.values.sample_size import sample_of
from mlcli.checkup.report import Concentration, EdgeFacts, GraphFacts, HubnessFacts, IntrinsicDimension, Reach
from mlcli.core.euclidean_distances import HELD, squared_distances
from mlcli.core.graph.connecting import connecting_count, connecting_radius
from mlcli.core.graph.graph import Graph, graph_of
from mlcli.core.graph.neighbors import Neighbors, nearest_lists
from mlcli.core.graph.search import Lists
from mlcli.core.metrics.distances import metric_of
from mlcli.core.paths.geodesics import dijkstra_rows
from mlcli.findings.dimension.intrinsic_dimension import maximum_likelihood, two_nn, two_nn_error

LISTED = 10
ROUNDING = 1e-12  # of an edge: a path shorter by no more counts as equally long


@stage("graph")
def edges_of(data: WeightedGraph, largest: int) -> EdgeFacts:
    """Count and describe the edges of a graph.

    Edges longer than a path between their ends are counted if the graph has at most `largest` points and
    its weights are lengths.
    """
    graph = Graph(data.starts, data.indices, data.weights)
    counts, sizes, weights = np.diff(data.starts), np.bincount(graph.pieces()), data.weights
    there = data.apart and len(data.values) <= largest
    low, high = (float(weights.min()), float(weights.max())) if len(weights) else (None, None)
    return EdgeFacts(numbers="lengths" if data.apart else "affinities", edges=graph.edges,
                     zeros=int(np.sum(weights == 0)) // 2, smallest=low, largest=high,
                     fewest=int(counts.min()), most=int(counts.max()), hub=str(data.ids[int(counts.argmax())]),
                     pieces=len(sizes), piece_sizes=tuple(sizes[:LISTED].tolist()),
                     detours=detours(graph) if there else None)


def detours(graph: Graph) -> int:
    """Return the number of edges that are longer than the shortest path between their ends."""
    count = 0
    for block in one_by_one(row_blocks(graph.size, HELD, graph.size)):
        sources = np.arange(block.start, block.stop)
        edges = slice(graph.starts[block.start], graph.starts[block.stop])
        rows = np.repeat(np.arange(len(sources)), np.diff(graph.starts)[block])
        paths = dijkstra_rows(graph, sources)[rows, graph.indices[edges]]
        count += int(np.sum(paths < (1 - ROUNDING) * graph.lengths[edges]))
    return count // 2


BLOCK = 2**20  # numbers in a block
SAMPLE = 1000  # points that neighborhoods are drawn around
SHARES = (0.01, 0.1)
INNER = 0.9  # of the length: points beyond are near the boundary


def edge_length(share: float, dimensions: float) -> float:
    """Return r^(1/d), the edge of a cube that holds a share r of points uniform in a unit cube.

    It is also the radius of a ball that holds this share of a unit ball.
    """
    return float(share ** (1 / dimensions))


def median_nearest(points: int, dimensions: float) -> float:
    """Return (1 - 2^(-1/N))^(1/d), the median distance from the center to the nearest of N uniform points in a ball.

    All N lie beyond r with probability (1 - rᵈ)ᴺ, which is one half there. For 5,000 points in 10
    dimensions it is 0.411. Source: Hastie, Tibshirani and Friedman, "The elements of statistical learning",
    2.5.
    """
    return float((-np.expm1(-np.log(2) / points)) ** (1 / dimensions))


def uniform_reach(points: int, dimensions: float) -> Reach:
    """Return the reach expected of `points` points uniform in a ball of `dimensions` dimensions."""
    one, ten = (edge_length(share, dimensions) for share in SHARES)
    return Reach(dimensions=dimensions, one_percent=one, ten_percent=ten,
                 center_nearest=median_nearest(points, dimensions), outer_tenth=outer_share(dimensions))


def outer_share(dimensions: float) -> float:
    """Return 1 - 0.9^d, the share of points uniform in a ball or a cube that lie in its outer tenth by length."""
    return float(1 - INNER**dimensions)


@stage("concentration")
def concentration_of(data: Features, intrinsic: float, compute: Compute) -> Concentration | None:
    """Compare distances from a seeded sample of points to all others; return None if all points are equal."""
    points, size = data.values, len(data.values)
    chosen = sample_of(size, SAMPLE, compute.generator())
    ranks = [max(1, int(np.ceil(share * (size - 1)))) for share in SHARES]
    parts = [_around(np.sqrt(squared_distances(points[chosen[rows]], points)), chosen[rows], ranks)
             for rows in one_by_one(row_blocks(len(chosen), BLOCK, size))]
    around = np.concatenate(parts)
    around = around[around[:, 3] > 0]
    if len(around) == 0:
        return None
    nearest, farthest = around[:, 0], around[:, 3]
    mean = float(around[:, 4].mean())
    deviation = float(np.sqrt(max(around[:, 5].mean() - mean**2, 0.0)))
    near, outer = _from_center(points)
    measured = Reach(dimensions=None, one_percent=float(np.median(around[:, 1] / farthest)),
                     ten_percent=float(np.median(around[:, 2] / farthest)), center_nearest=near, outer_tenth=outer)
    ratio = float(np.median(nearest / farthest))
    finite = np.isfinite(intrinsic) and intrinsic > 0
    expected = uniform_reach(size, intrinsic) if finite else None
    return Concentration(measured, uniform_reach(size, points.shape[1]), expected,
                         contrast=1 / ratio - 1 if ratio > 0 else float("inf"), nearest_over_farthest=ratio,
                         spread=deviation / mean, box_outer_tenth=_near_walls(points))


def _around(distances: Array, own: Indices, ranks: list[int]) -> Array:
    """Return nearest, at two ranks, farthest, mean and mean square of each row of an (m, n) array of distances.

    `own` holds the column of each row's own point, which is left out. Returns an (m, 6) array.
    """
    others = distances.shape[1] - 1
    distances[np.arange(len(own)), own] = 0.0
    first, second = (np.partition(distances, rank, axis=1)[:, rank] for rank in ranks)  # the point itself is rank 0
    sums, squares = distances.sum(axis=1), np.einsum("ij,ij->i", distances, distances)
    farthest = distances.max(axis=1)
    distances[np.arange(len(own)), own] = np.inf
    return np.stack([distances.min(axis=1), first, second, farthest, sums / others, squares / others], axis=1)


def _from_center(points: Array) -> tuple[float, float]:
    """Return the distance from the mean to the nearest point over that to the farthest, and the share of far points."""
    lengths = np.sqrt(squared_distances(points.mean(axis=0)[None, :], points)[0])
    farthest = lengths.max()
    return (float(lengths.min() / farthest), float((lengths > INNER * farthest).mean())) if farthest > 0 else (0.0, 0.0)


def _near_walls(points: Array) -> float:
    """Return the share of points near a wall of the smallest box, with sides along the columns, around all points."""
    low, high = points.min(axis=0), points.max(axis=0)
    margin = (1 - INNER) / 2 * (high - low)
    near = [((points[rows] < low + margin) | (points[rows] > high - margin)) & (margin > 0)
            for rows in row_blocks(len(points), BLOCK, points.shape[1])]
    return float(np.concatenate([block.any(axis=1) for block in near]).mean())


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


def hubness_of(data: Spatial, lists: Lists) -> HubnessFacts:
    """Count how often each point is a neighbor of another; skewness of the counts (Radovanović et al., 2010)."""
    often = np.bincount(lists.indices, minlength=len(data.values)).astype(np.float64)
    centered = often - often.mean()
    deviation = float(np.sqrt((centered**2).mean()))
    skewness = float((centered**3).mean() / deviation**3) if deviation > 0 else 0.0
    hub = int(often.argmax())
    return HubnessFacts(int(lists.counts[0]), skewness, int(often[hub]), str(data.ids[hub]), int((often == 0).sum()))


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
