"""Measures of an embedding that only ranks of distances decide, seen from each of some points.

All follow from the co-ranking matrix (Lee and Verleysen, 2009): how near a point is to another, counted, in the input
and in the embedding. So they do not change where an embedding is rotated, mirrored or scaled.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.stages.stage import advance
from mlcli.base.types import Array, Indices
from mlcli.findings.quality.neighborhoods import Order
from mlcli.stages.similarities.spaces import Euclidean, Rows, Space

BLOCK = 2**17  # distances of a block of work
HELD = 2**24  # distances of the input that are held at once
NAMES = ("r_nx", "trustworthiness", "continuity", "distances", "geodesics", "label_error")
Scores = Mapping[str, Array]  # by measure: one number for each point that is looked from (b)


@frozen
class Judged:
    """What is measured of one embedding: means over points are the figures."""

    scores: Scores
    curve: Array  # R_NX for neighborhoods of 1 to n - 2


@frozen
class Seen:
    """The points that are looked from, and what every embedding is compared with."""

    anchors: Indices  # b, ascending
    size: int  # n
    neighbors: int  # of trustworthiness and continuity, below n/2
    input: Space
    graph: Space | None  # distances along the neighbor graph
    codes: Indices | None  # n: the class of each point, -1 without one


def ranks_of(squared: Array, rows: Indices) -> Indices:
    """The rank of every other point from each of some (b x n), from 1; that of the point itself is 0."""
    count = squared.shape[1]
    nearest = Order.of(squared, rows, count - 1).nearest(count - 1)
    ranks = np.zeros(squared.shape, dtype=np.int64)
    np.put_along_axis(ranks, nearest, np.arange(1, count), axis=1)
    return ranks


def agreement_curves(source: Indices, embedded: Indices) -> Array:
    """R_NX of each point (b x n-2): the share of common neighbors beyond chance, of neighborhoods of 1 to n - 2.

    R_NX(K) = ((n - 1) Q_NX(K) - K) / (n - 1 - K), with Q_NX(K) the share of the K nearest that are the same: 1 for the
    same neighborhoods, 0 for those of points placed at random (Lee, Renard, Bernard, Dupont and Verleysen, 2013).
    """
    rows, count = source.shape
    enters = np.maximum(source, embedded) + count * np.arange(rows)[:, None]
    shared = np.bincount(enters.ravel(), minlength=rows * count).reshape(rows, count)[:, 1 : count - 1].cumsum(axis=1)
    sizes = np.arange(1, count - 1)
    curves: Array = ((count - 1) * (shared / sizes) - sizes) / (count - 1 - sizes)
    return curves


def area(curves: Array) -> Array:
    """The area under R_NX over log K: a mean over sizes in which each doubling counts alike (Lee et al., 2015)."""
    weights = 1 / np.arange(1, curves.shape[-1] + 1)
    areas: Array = curves @ (weights / weights.sum())
    return areas


def beyond(near: Indices, other: Indices, neighbors: int) -> Array:
    """How far, by rank in `other`, the k nearest of `near` lie beyond k: 1 where none does, 0 where all do the most."""
    count = near.shape[1]
    among = (near >= 1) & (near <= neighbors)
    worst = neighbors * (2 * count - 3 * neighbors - 1) / 2
    kept: Array = 1 - np.where(among, np.maximum(other - neighbors, 0), 0).sum(axis=1) / worst
    return kept


def rank_correlation(source: Indices, embedded: Indices) -> Array:
    """Spearman's correlation of the distances from each point to all others (b)."""
    others = source.shape[1] - 1
    if others < 2:
        return np.ones(len(source))
    squares = np.square((source - embedded).astype(np.float64)).sum(axis=1)
    correlations: Array = 1 - 6 * squares / (others * (others**2 - 1.0))
    return correlations


def judged(seen: Seen, embeddings: Sequence[Array]) -> list[Judged]:
    """What is measured of every embedding (n x p each), the distances of the input computed once for all."""
    spaces = [Euclidean.of(values, seen.anchors) for values in embeddings]
    totals = [Total(np.zeros(max(seen.size - 2, 0))) for _ in embeddings]
    for group in row_blocks(len(seen.anchors), HELD, seen.size):
        anchors = seen.anchors[group]
        source, graph = seen.input.rows_of(anchors), None if seen.graph is None else seen.graph.rows_of(anchors)
        strips = [space.rows_of(anchors) for space in spaces]

        def work(block: slice, source: Rows = source, graph: Rows | None = graph, strips: Sequence[Rows] = strips,
                 anchors: Indices = anchors) -> list[Judged]:
            here = anchors[block]
            near = ranks_of(source(block), here)
            along = None if graph is None else ranks_of(graph(block), here)
            return [_one(seen, here, near, along, strip(block)) for strip in strips]

        blocks = row_blocks(len(anchors), BLOCK, seen.size)
        for block, found in zip(blocks, in_order(work, blocks), strict=True):
            for total, one in zip(totals, found, strict=True):
                total.add(one)
            advance(group.start + block.stop, len(seen.anchors))
    return [total.mean() for total in totals]


@dataclass
class Total:
    """What is measured of one embedding so far; curves of large inputs are long, so only their sum is held."""

    curve: Array
    scores: list[Scores] = field(default_factory=list)

    def add(self, part: Judged) -> None:
        """Adds what some points see."""
        self.scores.append(part.scores)
        self.curve += part.curve

    def mean(self) -> Judged:
        """The figures of all points, and the mean of their curves."""
        scores = {name: np.concatenate([part[name] for part in self.scores]) for name in self.scores[0]}
        return Judged(scores, self.curve / len(scores["r_nx"]))


def _one(seen: Seen, rows: Indices, near: Indices, along: Indices | None, squared: Array) -> Judged:
    """The measures of one embedding as seen from some points; the curve is summed over these."""
    ranks = ranks_of(squared, rows)
    curves = agreement_curves(near, ranks)
    scores = {"r_nx": area(curves), "trustworthiness": beyond(ranks, near, seen.neighbors),
              "continuity": beyond(near, ranks, seen.neighbors), "distances": rank_correlation(near, ranks)}
    if along is not None:
        scores["geodesics"] = rank_correlation(along, ranks)
        scores["geodesic_r_nx"] = area(agreement_curves(along, ranks))
    if seen.codes is not None:
        scores["label_error"] = _label_errors(seen.codes, rows, ranks)
    return Judged(scores, curves.sum(axis=0))


def _label_errors(codes: Indices, rows: Indices, ranks: Indices) -> Array:
    """Whether the nearest labeled point has another label (b); NaN for points without one."""
    others = np.where((codes >= 0) & (ranks > 0), ranks, np.iinfo(np.int64).max)
    wrong = codes[others.argmin(axis=1)] != codes[rows]
    return np.where(codes[rows] >= 0, wrong.astype(np.float64), np.nan)
