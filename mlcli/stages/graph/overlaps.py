"""Neighborhoods that overlap: functionals on them determine a function only along chains of shared members."""

from functools import partial

import numpy as np

from mlcli.base.stages.stage import running
from mlcli.base.types import Indices
from mlcli.base.values.inputs import Spatial
from mlcli.errors import GeometryError
from mlcli.stages.algebra.metrics.local import squares_of_pairs
from mlcli.stages.graph.connecting import shortest_links
from mlcli.stages.graph.graph import by_size
from mlcli.stages.graph.nearest import Lists, some_lists
from mlcli.stages.graph.neighborhoods import Neighborhood
from mlcli.stages.graph.pieces import (
    Policy,
    extend,
    fewest_neighbors,
    first_ids,
    keep_largest,
    listed,
    note_connected,
)
from mlcli.stages.graph.weights import weight_matrix


def overlapping_lists(data: Spatial, neighbors: Neighborhood, policy: Policy) -> tuple[Lists, Indices | None]:
    """Return neighbor lists whose neighborhoods overlap in one group, and the rows kept where some are left out.

    A function that is constant on each group of overlapping neighborhoods costs nothing, so more than one group leaves
    no room for coordinates. Raises GeometryError under the policy `error`.
    """
    lists, kept = neighbors.lists(data), None
    with running("graph"):
        groups = overlap_groups(lists)
        if groups.max() > 0 and policy == "connect":
            return _connect(data, lists, groups), None
        if groups.max() > 0 and policy == "largest":
            kept = keep_largest(groups)
            if len(kept) <= neighbors.least:
                raise GeometryError("FEW-POINTS", f"the largest group of overlapping neighborhoods has {len(kept)} "
                                    f"points, too few for {neighbors.least} neighbors each", where="method.neighbors",
                                    hint="use fewer neighbors, or give {method.neighbors.pieces=connect}")
            data = data.take(kept)
            lists = neighbors.lists(data)
            groups = overlap_groups(lists)
        if groups.max() > 0:
            raise _error_of_overlaps(data, neighbors, lists, groups)
    return lists, kept


def overlap_groups(lists: Lists) -> Indices:
    """Return the group of each point (n), numbered from the largest.

    Members of one neighborhood are in one group. A point that is in none counts as a member of its own.
    """
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    size, own = len(lists.counts), strangers(lists)
    members = weight_matrix(np.ones(len(lists.indices)), lists, size)
    members = members + sparse.csr_array((np.ones(len(own)), (own, own)), shape=members.shape)
    both = sparse.block_array([[None, members], [members.T, None]], format="csr")
    return by_size(connected_components(both, directed=False)[1][size:])


def strangers(lists: Lists) -> Indices:
    """Return the points that are neighbors of no other (m)."""
    return np.flatnonzero(np.bincount(lists.indices, minlength=len(lists.counts)) == 0)


def _connect(data: Spatial, lists: Lists, groups: Indices) -> Lists:
    """Return lists in which one end of each shortest link between groups has the other end's neighborhood as well.

    So its neighborhood has enough members in both groups for one tangent space to align them.
    """
    edges = 0
    while groups.max() > 0:
        left, right, _ = shortest_links(data, groups)
        edges += len(left)
        others = some_lists(lists, right)
        rows = np.concatenate([left, left[others.rows]])
        columns = np.concatenate([right, others.indices])
        order = np.argsort(rows, kind="stable")
        rows, columns = rows[order], columns[order]
        apart = rows != columns
        rows, columns = rows[apart], columns[apart]
        lists = extend(lists, rows, columns, np.sqrt(squares_of_pairs(data, rows, columns)))
        groups = overlap_groups(lists)
    note_connected(edges)
    return lists


def _error_of_overlaps(data: Spatial, neighbors: Neighborhood, lists: Lists, groups: Indices) -> GeometryError:
    """Return the error with the groups' sizes, members of the small ones, and advice that joins them."""
    fewest = partial(fewest_neighbors, data, lists, lambda found: overlap_groups(found).max() == 0)
    return GeometryError("OVERLAP", f"the neighborhoods are in {groups.max() + 1} groups of "
                         f"{listed(np.bincount(groups))} points that do not overlap",
                         where=f"outside the largest: {first_ids(data.ids, groups > 0)}",
                         hint=neighbors.remedy(data, groups, fewest))
