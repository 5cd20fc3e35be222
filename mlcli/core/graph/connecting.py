"""Parameters that make a neighbor graph connected: the fewest neighbors, the smallest radius, the shortest links."""

import numpy as np

from mlcli.base.rows.blocks import one_by_one, row_blocks
from mlcli.base.types import Array, Indices
from mlcli.base.values.inputs import Dissimilarities, Spatial
from mlcli.core.euclidean_distances import HELD
from mlcli.core.euclidean_distances import squared_distances as squared_euclidean
from mlcli.core.graph.graph import Graph, by_size, graph_of, undirected
from mlcli.core.graph.search import Lists, nearest_of_some, smallest
from mlcli.core.metrics.distances import metric_of
from mlcli.core.metrics.distances import squared as squared_distances

Edges = tuple[Indices, Indices, Array]  # both ends, and the length
BOUNDED = 100  # pieces up to which bounds on the distances between them cost less than a search
PAIRED = 1000  # pieces up to which one pass over all pairs of points finds the shortest link of each pair of pieces
FOUND = 2**20  # neighbors in memory at a time, while the fewest that connect are looked for
SLACK = 1e-6  # rounding of distances, over the largest of them


def connecting_count(data: Spatial, lists: Lists) -> int:
    """Return the fewest neighbors for which the union graph of neighbor lists is connected.

    It is the longest edge of the minimum spanning tree, with the smaller of the two ranks that the ends of an edge have
    in each other's list as its length. `lists` contain equally many neighbors of each point; where their graph has
    several pieces, one pass over all pairs computes the ranks between these.
    """
    size = len(lists.counts)
    pieces = graph_of(lists, "union").pieces()
    if pieces.max() > 0:
        return int(_bottleneck(_ranks_between(data, pieces)))
    ranks = (np.arange(len(lists.indices)) - lists.starts[lists.rows] + 1).astype(np.float64)
    return int(_bottleneck(undirected(size, lists.rows, lists.indices, ranks, "union")))


def connecting_count_up_to(most: int, data: Spatial, pieces: Indices) -> int | None:
    """Return the fewest neighbors whose union graph joins its (n,) pieces; None if these are more than `most`.

    This costs another search for neighbors at most: only points are searched that may have a point of another piece
    among so many neighbors, and none at all where these points are too few to join all pieces.
    """
    count = int(pieces.max()) + 1
    ranks = np.full((count, count), np.inf)
    rows = _may_leave(data, pieces, most)
    for block in one_by_one(row_blocks(len(rows), FOUND, most)):
        some = rows[block]
        indices = (smallest(data.values[some], most, some)[0] if isinstance(data, Dissimilarities) else
                   nearest_of_some(data.values, some, most, metric_of(data)).indices.reshape(-1, most))
        np.minimum.at(ranks, (pieces[some][:, None], pieces[indices]), np.arange(most) + 1.0)
    longest = _joining(ranks)
    return None if longest is None else int(longest)


def _joining(lengths: Array) -> float | None:
    """Return the longest edge of the minimum spanning tree of pieces, by the (p, p) lengths from one to another.

    Infinite lengths are no edges; None where the others do not join all pieces.
    """
    rows, columns = np.nonzero(np.isfinite(lengths) & ~np.eye(len(lengths), dtype=bool))
    joined = undirected(len(lengths), rows, columns, lengths[rows, columns], "union")
    return None if joined.pieces().max() > 0 else _bottleneck(joined)


def _may_leave(data: Spatial, pieces: Indices, most: int) -> Indices:
    """Return the points that may have a point of another piece among their `most` nearest; none where too few do.

    By the triangle inequality, from the distances to one point of each piece: no point of a piece is nearer than that
    one less the piece's radius about it, and `most` points of the own piece are no farther than that one plus the
    radius of so many.
    """
    count, everyone = int(pieces.max()) + 1, np.arange(len(pieces))
    if isinstance(data, Dissimilarities) or count > BOUNDED or not (metric_of(data).plain or metric_of(data).embeds):
        return everyone
    points = metric_of(data).represent(data.values)
    centers = np.unique(pieces, return_index=True)[1]
    apart = np.sqrt(squared_euclidean(points, points[centers]))
    own = apart[everyone, pieces]
    radii, reaches = np.empty(count), np.full(count, np.inf)
    for piece in range(count):
        lengths = np.sort(own[pieces == piece])
        radii[piece] = lengths[-1]
        if len(lengths) > most:
            reaches[piece] = lengths[most]
    may = apart - radii <= (own + reaches[pieces])[:, None] + SLACK * apart.max()
    may[everyone, pieces] = False
    some = np.flatnonzero(may.any(axis=1))
    from_piece = np.zeros((count, count), dtype=bool)
    np.logical_or.at(from_piece, pieces[some], may[some])
    return some if _joining(np.where(from_piece, 1.0, np.inf)) is not None else some[:0]


def connecting_radius(data: Spatial, lists: Lists) -> tuple[float, int, int]:
    """Return the smallest radius that connects all points, and the two points at that distance.

    It is the longest edge of the minimum spanning tree, by Borůvka's algorithm. A point's list gives its nearest point
    in another group until all of the list is in its own; then its row is searched again where it could matter.
    """
    groups = np.arange(len(lists.counts))
    longest, ends = -1.0, (0, 0)
    while groups.max() > 0:
        columns, lengths = _nearest_outside_by_lists(data, lists, groups)
        order = np.lexsort((lengths, groups))
        firsts = order[np.unique(groups[order], return_index=True)[1]]
        top = firsts[lengths[firsts].argmax()]
        if lengths[top] > longest:
            longest, ends = float(lengths[top]), (int(top), int(columns[top]))
        ones = np.ones(len(firsts))
        joined = undirected(int(groups.max()) + 1, groups[firsts], groups[columns[firsts]], ones, "union")
        groups = by_size(joined.pieces()[groups])
    return max(longest, 0.0), *ends


def shortest_links(data: Spatial, pieces: Indices) -> Edges:
    """Return the shortest edges that connect the (n,) pieces: their minimum spanning tree (Borůvka's algorithm)."""
    links: list[tuple[int, int, float]] = []
    while pieces.max() > 0:
        for left, right, length in zip(*leaving_edges(data, pieces, np.arange(len(pieces))), strict=True):
            if pieces[left] != pieces[right]:
                pieces = np.where(pieces == pieces[right], pieces[left], pieces)
                links.append((int(left), int(right), float(length)))
        pieces = by_size(pieces)
    left, right, lengths = zip(*links, strict=True)
    return np.array(left), np.array(right), np.array(lengths)


def connecting_link(data: Spatial, pieces: Indices) -> float:
    """Return the longest of the shortest links between the (n,) pieces: the radius that connects them."""
    count = int(pieces.max()) + 1
    if count > PAIRED:
        return float(shortest_links(data, pieces)[2].max())
    order = np.argsort(pieces, kind="stable")
    sorted_pieces = pieces[order]
    starts = np.searchsorted(sorted_pieces, np.arange(count))
    points = data.values[order]
    shortest = np.full((count, count), np.inf)
    for block in one_by_one(row_blocks(len(order), HELD, max(len(order), points.shape[1]))):
        part = points[block]
        apart = (part[:, order]**2 if isinstance(data, Dissimilarities)
                 else squared_distances(metric_of(data), part, points))
        nearest, firsts = np.unique(sorted_pieces[block], return_index=True)
        shortest[nearest] = np.minimum(shortest[nearest], np.minimum.reduceat(
            np.minimum.reduceat(apart, starts, axis=1), firsts, axis=0))
    return float(np.sqrt(_joining(shortest) or 0.0))


def leaving_edges(data: Spatial, groups: Indices, rows: Indices) -> Edges:
    """Return for each of the (n,) groups its shortest edge from points among the (m,) `rows` to a point outside.

    Edges are in ascending order of length.
    """
    columns, lengths = nearest_outside(data, groups, rows)
    order = np.lexsort((rows, lengths, groups[rows]))
    firsts = order[np.unique(groups[rows][order], return_index=True)[1]]
    firsts = firsts[np.argsort(lengths[firsts], kind="stable")]
    return rows[firsts], columns[firsts], lengths[firsts]


def nearest_outside(data: Spatial, groups: Indices, rows: Indices) -> tuple[Indices, Array]:
    """Return for the (m,) `rows` the nearest point of another of the (n,) groups, and its distance: (m,) arrays."""
    columns, squared = np.empty(len(rows), dtype=np.int64), np.empty(len(rows))
    for block in one_by_one(row_blocks(len(rows), HELD, max(len(groups), data.values.shape[1]))):
        part = data.values[rows[block]]
        apart = part**2 if isinstance(data, Dissimilarities) else squared_distances(metric_of(data), part, data.values)
        apart = np.where(groups[rows[block], None] == groups[None, :], np.inf, apart)
        columns[block], squared[block] = apart.argmin(axis=1), apart.min(axis=1)
    return columns, np.sqrt(squared)


def _nearest_outside_by_lists(data: Spatial, lists: Lists, groups: Indices) -> tuple[Indices, Array]:
    """Return for every point the nearest point of another group; infinity where it is not its group's shortest."""
    size = len(groups)
    indices, lengths = lists.indices.reshape(size, -1), lists.lengths.reshape(size, -1)
    outside = groups[indices] != groups[:, None]
    place, known = outside.argmax(axis=1), outside.any(axis=1)
    everyone = np.arange(size)
    columns, distances = indices[everyone, place], np.where(known, lengths[everyone, place], np.inf)
    best = np.full(int(groups.max()) + 1, np.inf)
    np.minimum.at(best, groups, distances)
    doubtful = np.flatnonzero(~known & (lengths[:, -1] < best[groups]))
    columns[doubtful], distances[doubtful] = nearest_outside(data, groups, doubtful)
    return columns, distances


def _ranks_between(data: Spatial, pieces: Indices) -> Graph:
    """Return the graph of pieces with the smallest rank that a point of one has in a list of the other as length."""
    size, count = len(pieces), int(pieces.max()) + 1
    ranks = np.full((count, count), np.inf)
    for block in one_by_one(row_blocks(size, HELD, max(size, data.values.shape[1]))):
        part = data.values[block]
        apart = (part.copy() if isinstance(data, Dissimilarities)
                 else squared_distances(metric_of(data), part, data.values))
        apart[np.arange(len(apart)), np.arange(block.start, block.stop)] = -1.0  # rank 0: the point itself
        order = np.argsort(apart, axis=1, kind="stable")
        own = np.broadcast_to(pieces[block, None], order.shape)
        np.minimum.at(ranks, (own, pieces[order]), np.broadcast_to(np.arange(float(size)), order.shape))
    rows, columns = np.nonzero(~np.eye(count, dtype=bool))
    return undirected(count, rows, columns, ranks[rows, columns], "union")


def _bottleneck(graph: Graph) -> float:
    """Return the longest edge of a minimum spanning tree of a graph in one piece; 0 for a single vertex."""
    from scipy.sparse.csgraph import minimum_spanning_tree

    return float(minimum_spanning_tree(graph.matrix()).max()) if graph.edges else 0.0
