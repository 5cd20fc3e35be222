"""Neighbor graphs in pieces, lists with closed groups, and the policies for both; rows left out are always reported."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np

from mlcli import native
from mlcli.base.machine.rates import pass_cost, rates
from mlcli.base.rows.memo import memoize
from mlcli.base.stages.stage import note, running
from mlcli.base.stages.steps import Step
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Joined, Spatial, WeightedGraph
from mlcli.core.graph.graph import Graph, graph_of
from mlcli.core.graph.neighbors import Neighborhood, first_neighbors, nearest_lists
from mlcli.core.graph.search import Lists
from mlcli.errors import ConfigError, GeometryError

UNKNOWN = "; its pieces are not looked for before the run"
WORKING = 6  # numbers in memory per list entry, while edges are made of lists

Policy = Literal["error", "largest", "connect"]


def entries_of(data: Joined, neighbors: Neighborhood) -> int:
    """Return about how many list entries all points have together; exactly for a given graph."""
    return len(data.indices) if isinstance(data, WeightedGraph) else len(data.values) * neighbors.usual


def graph_steps(data: Joined, neighbors: Neighborhood, compute: Compute) -> list[Step]:
    """Return the cost of the neighbor graph, including the search for neighbors."""
    if isinstance(data, WeightedGraph):
        return [Step("graph", f"given: {len(data.indices) // 2:,} edges", pass_cost(len(data.indices)),
                     float(data.bytes))]
    entries = entries_of(data, neighbors)
    return [neighbors.step(data, compute), Step("graph", f"about {entries} neighbors sorted into one graph{UNKNOWN}",
                                                entries * rates().neighbor, 8.0 * WORKING * entries)]


def planned_graph(data: Joined, neighbors: Neighborhood, policy: Policy, rule: Literal["union", "mutual"],
                  compute: Compute) -> tuple[Graph, list[Step]]:
    """Return the graph whose paths a run would use, with its cost; all pieces where the run would refuse it.

    The advice on connecting these is not computed, because it can take another search for neighbors.
    """
    steps = [replace(step, how=step.how.removesuffix(UNKNOWN)) for step in graph_steps(data, neighbors, compute)]
    if policy != "error" or isinstance(data, WeightedGraph):
        return connected_graph(data, neighbors, policy, rule)[0], steps
    lists = neighbors.lists(data)
    with running("graph"):
        graph = memoize("graph", (lists.starts, lists.indices, lists.lengths, rule), lambda: graph_of(lists, rule))
        sizes = np.bincount(graph.pieces())
    if len(sizes) == 1:
        return graph, steps
    said = f"{steps[-1].how}; in {len(sizes)} pieces of {listed(sizes)} points, which the run refuses"
    return graph, [*steps[:-1], replace(steps[-1], how=said)]


def connected_graph(data: Joined, neighbors: Neighborhood, policy: Policy, rule: Literal["union", "mutual"],
                    consequence: str = "") -> tuple[Graph, Indices | None]:
    """Return the neighbor graph in one piece, and the rows kept where the policy leaves some out.

    Raises GeometryError under the policy `error`, with the pieces, the consequence and advice that connects them.
    """
    if isinstance(data, WeightedGraph):
        with running("graph"):
            return _require_one_piece(data, policy, consequence)
    if rule == "mutual" and neighbors.mutual:
        note("N-GRAPH", "within a radius points are neighbors of each other: mutual and union are the same graph")
    lists = neighbors.lists(data)
    with running("graph"):
        given = lists.starts, lists.indices, lists.lengths, rule
        graph = memoize("graph", given, lambda: graph_of(lists, rule))
        return _in_one_piece(data, neighbors, policy, lists, graph, rule, consequence)


def _in_one_piece(data: Spatial, neighbors: Neighborhood, policy: Policy, lists: Lists, graph: Graph,
                  rule: Literal["union", "mutual"], consequence: str) -> tuple[Graph, Indices | None]:
    pieces = graph.pieces()
    if pieces.max() == 0:
        return graph, None
    from mlcli.core.graph.connecting import shortest_links

    if policy == "error":
        connected = None if rule == "union" else lambda found: graph_of(found, rule).pieces().max() == 0
        raise _error_of_pieces(data, neighbors, pieces, consequence,
                               fewest=partial(fewest_neighbors, data, lists, connected))
    if policy == "largest":
        kept = keep_largest(pieces)
        return graph.subgraph(kept), kept
    links = shortest_links(data, pieces)
    note_connected(len(links[0]))
    return graph.joined(*links), None


def _require_one_piece(data: WeightedGraph, policy: Policy, consequence: str) -> tuple[Graph, Indices | None]:
    """Return a given graph in one piece, and the rows kept; its pieces have no distances to connect them by."""
    if len(data.values) < 2:
        raise GeometryError("ONE-POINT", "one point has no neighbors", hint="this method needs two points or more")
    if not data.weights.any():
        raise GeometryError("ALL-EQUAL", f"no edge between the {len(data.values)} points is longer than zero",
                            hint="check that the right column or matrix was read")
    if policy == "connect":
        raise ConfigError("UNUSED", "the pieces of a given graph cannot be connected: there are no distances between "
                          "them",
                          where="method.neighbors.pieces", hint="add edges, or choose largest")
    graph = Graph(data.starts, data.indices, data.weights)
    pieces = graph.pieces()
    if pieces.max() == 0:
        return graph, None
    if policy == "error":
        raise _pieces_error(data.ids, pieces, consequence, "join them by edges, or give "
                            "{method.neighbors.pieces=largest}")
    kept = keep_largest(pieces)
    return graph.subgraph(kept), kept


def connected_lists(data: Spatial, neighbors: Neighborhood, policy: Policy) -> tuple[Lists, Indices | None]:
    """Return directed neighbor lists with a single closed group, and the rows kept where some are left out.

    A closed group is a set of points whose neighbors are all in the set; every piece of the graph has at least one.
    Raises GeometryError under the policy `error`.
    """
    lists = neighbors.lists(data)
    with running("graph"):
        return _with_one_group(data, neighbors, policy, lists)


def _with_one_group(data: Spatial, neighbors: Neighborhood, policy: Policy,
                    lists: Lists) -> tuple[Lists, Indices | None]:
    if _closed_count(lists) == 1:
        return lists, None
    pieces = graph_of(lists, "union").pieces()
    if policy == "connect":
        return _open_groups(data, lists), None
    if policy == "largest" and pieces.max() > 0:
        kept = keep_largest(pieces)
        lists = neighbors.lists(data.take(kept))
        if _closed_count(lists) == 1:
            return lists, kept
    elif pieces.max() > 0:
        raise _error_of_pieces(data, neighbors, pieces,
                               fewest=partial(fewest_neighbors, data, lists, lambda found: _closed_count(found) == 1))
    raise _error_of_groups(data, lists)


def _closed_count(lists: Lists) -> int:
    groups = closed_groups(lists)
    return len(np.unique(groups[groups >= 0])) if lists.counts.min() > 0 else len(groups) + 1


def keep_largest(pieces: Indices) -> Indices:
    """Return the rows of the largest piece, with a warning that counts those left out."""
    kept = np.flatnonzero(pieces == 0)
    note("W-LARGEST-PIECE", f"kept the largest piece of the neighbor graph: {len(kept)} of {len(pieces)} points; "
         "the others are left out", kept=len(kept), dropped=len(pieces) - len(kept))
    return kept


def note_connected(edges: int) -> None:
    note("W-CONNECTED", f"the neighbor graph was in pieces and was connected; edges added: {edges}", edges=edges)


def _error_of_pieces(data: Spatial, neighbors: Neighborhood, pieces: Indices, consequence: str = "", *,
                     fewest: Callable[[int], int | None]) -> GeometryError:
    """Return the error with advice that connects the pieces."""
    return _pieces_error(data.ids, pieces, consequence, neighbors.remedy(data, pieces, fewest))


def _pieces_error(ids: Sequence[str], pieces: Indices, consequence: str, hint: str) -> GeometryError:
    """Return the error with the pieces' sizes and members of the small ones."""
    sizes = np.bincount(pieces)
    return GeometryError("PIECES", f"the neighbor graph is in {len(sizes)} pieces of {listed(sizes)} "
                         f"points{consequence}", where=f"outside the largest: {first_ids(ids, pieces > 0)}", hint=hint)


def listed(sizes: Indices) -> str:
    """Return the largest sizes, as text."""
    return ", ".join(str(size) for size in sizes[:8]) + (", ..." if len(sizes) > 8 else "")


def _error_of_groups(data: Spatial, lists: Lists) -> GeometryError:
    groups = closed_groups(lists)
    numbers, sizes = np.unique(groups[groups >= 0], return_counts=True)
    members = groups == numbers[sizes.argmin()]
    return GeometryError("CLOSED-GROUPS", f"{len(numbers)} groups of points have all their neighbors among themselves",
                         where=f"the smallest: {first_ids(data.ids, members)}",
                         hint="use more neighbors, or give {method.neighbors.pieces=connect}")


def first_ids(ids: Sequence[str], members: AnyArray) -> str:
    """Return the first few names of a set of points."""
    rows = np.flatnonzero(members)
    return ", ".join(str(ids[i])[:40] for i in rows[:5]) + (", ..." if len(rows) > 5 else "")


def fewest_neighbors(data: Spatial, lists: Lists, connected: Callable[[Lists], bool] | None, most: int) -> int | None:
    """Return the fewest neighbors, more than those of `lists`, that are connected; None if more than `most` are.

    Lists that are connected have a union graph in one piece, which is all that None asks for. So the least count that
    joins its pieces is found first, and only from there on whole lists are tried: doubling, then bisection.
    """
    from mlcli.core.graph.connecting import connecting_count_up_to

    most, low = min(most, len(data.values) - 1), int(lists.counts[0])
    pieces = graph_of(lists, "union").pieces()
    least = connecting_count_up_to(most, data, pieces) if pieces.max() > 0 else low + 1
    if least is None or connected is None:
        return least
    wide = nearest_lists(data, most)
    high = low = max(low, least - 1)
    while not connected(first_neighbors(wide, high)):
        if high == most:
            return None
        low, high = high, min(2 * high, most)
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if connected(first_neighbors(wide, middle)) else (middle, high)
    return high


def _open_groups(data: Spatial, lists: Lists) -> Lists:
    """Add edges in both directions, from closed groups to the nearest points with neighbors in several of them.

    Points that lead into one closed group only are skipped: with them the group would only grow. So every closed group
    comes to lead into another one, and each round leaves half of them at most (Borůvka's algorithm).
    """
    from mlcli.core.graph.connecting import leaving_edges

    added = 0
    while _closed_count(lists) > 1:
        groups = closed_groups(lists)
        inside = np.flatnonzero(groups >= 0)
        left, right, lengths = leaving_edges(data, basins(lists, groups), inside)
        added += len(left)
        lists = extend(lists, np.concatenate([left, right]), np.concatenate([right, left]), np.tile(lengths, 2))
    note_connected(added)
    return lists


def extend(lists: Lists, rows: Indices, columns: Indices, lengths: Array) -> Lists:
    """Return the lists with more entries, each entry once."""
    size = len(lists.starts) - 1
    rows, columns = np.concatenate([lists.rows, rows]), np.concatenate([lists.indices, columns])
    lengths = np.concatenate([lists.lengths, lengths])
    first = np.unique(rows * size + columns, return_index=True)[1]
    rows, columns, lengths = rows[first], columns[first], lengths[first]
    order = np.lexsort((columns, lengths, rows))
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=size))])
    return Lists(starts, columns[order], lengths[order])


def closed_groups(lists: Lists) -> Indices:
    """Return the closed group of each point, an (n,) array, or -1: a group whose neighbors are all in the group.

    I - W has one null vector for every closed group, so more than one leaves no room for coordinates.
    """
    labels = _strong_pieces(lists)
    own = np.repeat(labels, lists.counts)
    closed = np.ones(labels.max(initial=-1) + 1, dtype=bool)
    closed[own[own != labels[lists.indices]]] = False
    return np.where(closed[labels], labels, -1)


def _strong_pieces(lists: Lists) -> Indices:
    """Return the strongly connected piece of each point (n)."""
    if native.available():
        return native.strong_pieces(lists.starts, lists.indices)
    from scipy.sparse.csgraph import connected_components

    graph = lists.matrix(len(lists.starts) - 1)
    labels: Indices = connected_components(graph, directed=True, connection="strong")[1]
    return labels


def basins(lists: Lists, groups: Indices) -> Indices:
    """Return the closed group, by (n,) `groups`, that each point leads into by its neighbors and theirs; -1 for
    several.
    """
    first = np.where(groups >= 0, groups, groups.max(initial=0) + 1)
    last = groups.copy()
    while True:
        lower, higher = first.copy(), last.copy()
        np.minimum.at(lower, lists.rows, first[lists.indices])
        np.maximum.at(higher, lists.rows, last[lists.indices])
        if np.array_equal(lower, first) and np.array_equal(higher, last):
            return np.where(first == last, first, -1)
        first, last = lower, higher
