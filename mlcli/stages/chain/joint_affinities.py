"""The joint affinities of an input: calibrated over neighbors or the edges of a graph, or given."""

import numpy as np

from mlcli.base.machine.rates import rates
from mlcli.base.rows.blocks import one_by_one, row_blocks
from mlcli.base.stages.stage import note, running
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import AffinityGraph, Dissimilarities, Features, Joined, Spatial, WeightedGraph
from mlcli.errors import GeometryError
from mlcli.stages.algebra.costs import pass_cost
from mlcli.stages.algebra.metrics.blocks import squared
from mlcli.stages.algebra.metrics.points import metric_of
from mlcli.stages.graph.graph import undirected
from mlcli.stages.graph.nearest import Lists
from mlcli.stages.graph.neighborhoods import Nearest
from mlcli.stages.graph.perplexity import Affinities, calibrate, joint, reach
from mlcli.stages.graph.pieces import first_ids
from mlcli.stages.layout.pairs import SAME, alike

FEWEST = 5  # points of which some have a perplexity above 1 and below (n - 1) / 3
BOTH_WAYS = 1.6  # entries of joint affinities for each neighbor, as some of these are neighbors of each other
WORKING = 12  # numbers in memory for each entry, while affinities are made
TRIALS = 12  # evaluations of a row's entropy until it has the perplexity
HELD = 2**20  # numbers of a block of distances


def require_points(data: Joined) -> None:
    """Raise GeometryError for too few points, and for points of a graph without edges."""
    if len(data.values) < FEWEST:
        raise GeometryError("FEW-POINTS", f"a perplexity above 1 needs {FEWEST} points, and there are "
                            f"{len(data.values)}", hint="give more points, or choose mds or smacof")
    if isinstance(data, WeightedGraph):
        degrees = np.bincount(np.repeat(np.arange(len(data.values)), np.diff(data.starts)), minlength=len(data.values))
        alone = degrees == 0
        if alone.any():
            raise GeometryError("ISOLATED", f"{int(alone.sum())} of {len(alone)} points have no edge: nothing attracts "
                                "them", where=f"points: {first_ids(data.ids, alone)}",
                                hint="leave them out, or join them by edges")


def joint_affinities(data: Joined, lists: Lists, perplexities: tuple[float, ...]) -> Affinities:
    """Return the joint affinities of points with the neighbors of `lists_of`: given ones over their sum, or calibrated.

    Raises GeometryError where all points are equal, or all at one distance from each other.
    """
    if isinstance(data, AffinityGraph):
        with running("weights"):
            return joint(lists, data.weights * (len(data.values) / float(data.weights.sum())),
                         np.zeros((len(data.values), 0)))
    if isinstance(data, WeightedGraph):
        few = int(np.sum(lists.counts <= max(perplexities)))
        if few:
            note("N-FEW-EDGES", f"{few} points have no more edges than the perplexity: theirs have equal affinities",
                 points=few)
    else:
        require_lengths(data, lists)
    return calibrate(lists, perplexities)


def lists_of(data: Joined, perplexities: tuple[float, ...]) -> Lists:
    """Return the neighbors that affinities are of: the nearest, or the ends of a graph's edges."""
    if isinstance(data, WeightedGraph):
        return Lists(data.starts, data.indices, data.weights)
    return Nearest(reach(perplexities)).lists(data)


def require_lengths(data: Spatial, lists: Lists) -> None:
    """Raise GeometryError where all pairs of points are at one distance."""
    if lists.lengths.min() < lists.lengths.max():
        return
    with running("neighbors"):
        values, one = data.values, lists.lengths[0] ** 2
        for rows in one_by_one(row_blocks(len(values), HELD, len(values))):
            apart = squared(metric_of(data), values[rows], values) if isinstance(data, Features) else values[rows] ** 2
            apart[np.arange(len(apart)), np.arange(rows.start, rows.stop)] = one
            if not np.allclose(apart, one, rtol=SAME, atol=0):
                return
    raise GeometryError("ALL-EQUAL", f"all {len(values)} points are at one distance from each other, so none is nearer "
                        "than another", hint="check that the right columns or matrix was read")


def equal_groups(lists: Lists, square: Array | None) -> Indices | None:
    """Return the group of equal points that each one is in (n), None where all differ.

    Points at distance zero are equal; in a matrix of dissimilarities (n x n), if they are so to all others too.
    """
    near = np.flatnonzero(lists.lengths == 0)
    if not len(near):
        return None
    rows, columns, size = lists.rows[near], lists.indices[near], len(lists.starts) - 1
    if square is not None:
        same = alike(square, rows, columns)
        rows, columns = rows[same], columns[same]
    groups = undirected(size, rows, columns, np.zeros(len(rows)), "union").pieces()
    return groups if groups.max() + 1 < size else None


def groups_of(data: Joined, lists: Lists) -> Indices | None:
    """Return the groups of equal points; None where all differ, and for a graph, whose points have places of their own.
    """
    if isinstance(data, WeightedGraph):
        return None
    with running("weights"):
        return equal_groups(lists, data.values if isinstance(data, Dissimilarities) else None)


def affinity_steps(data: Joined, perplexities: tuple[float, ...], compute: Compute) -> list[Step]:
    """Return the steps of neighbors and of their affinities."""
    if isinstance(data, WeightedGraph):
        entries, searching = len(data.indices), []
    else:
        entries = len(data.values) * reach(perplexities)
        searching = [Nearest(reach(perplexities)).step(data, compute)]
    trials = 0 if isinstance(data, AffinityGraph) else TRIALS * len(perplexities)
    seconds = (trials * rates().bent / compute.thread_count() + rates().neighbor + 4 * pass_cost(1) * 8) * entries
    return [*searching, Step("weights", f"of {entries:,} neighbors" if searching else f"of {entries:,} edges", seconds,
                             8.0 * WORKING * entries)]


def entries_of(data: Joined, perplexities: tuple[float, ...]) -> float:
    """Return about how many entries joint affinities have."""
    return float(len(data.indices)) if isinstance(data, WeightedGraph) else (
        BOTH_WAYS * len(data.values) * reach(perplexities))
