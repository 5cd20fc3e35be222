"""Measures of an embedding that depend on ranks of distances alone, from each point of a sample; and ranks by them.

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
from mlcli.core.similarities.spaces import EuclideanSpace, Rows, Space
from mlcli.findings.quality.measures import DistanceOrder

BLOCK = 2**17  # distances in a block of work
HELD = 2**24  # distances of the input in memory at a time
NAMES = ("r_nx", "trustworthiness", "continuity", "distances", "geodesics", "label_error")
Scores = Mapping[str, Array]  # by measure: one number for each point of the sample (b)


@frozen
class Assessment:
    """The scores of one embedding for each point of the sample; their means are the reported figures."""

    scores: Scores
    curve: Array  # R_NX for neighborhoods of 1 to n - 2


@frozen
class Reference:
    """The points that embeddings are scored from, and the input's distances."""

    anchors: Indices  # b, ascending
    size: int  # n
    neighbors: int  # size of neighborhoods for trustworthiness and continuity, below n/2
    input: Space
    graph: Space | None  # distances along the neighbor graph
    codes: Indices | None  # n: the class of each point, -1 without one


def ranks_of(squared: Array, rows: Indices) -> Indices:
    """Return the rank of every point from each of some, a (b, n) array, from 1; that of the point itself is 0.

    `squared` is a (b, n) array of squared distances, `rows` a (b,) array with the points' own numbers.
    """
    count = squared.shape[1]
    nearest = DistanceOrder.of(squared, rows, count - 1).nearest(count - 1)
    ranks = np.zeros(squared.shape, dtype=np.int64)
    np.put_along_axis(ranks, nearest, np.arange(1, count), axis=1)
    return ranks


def agreement_curves(source: Indices, embedded: Indices) -> Array:
    """Return R_NX of each point, a (b, n - 2) array: common neighbors beyond chance, for sizes 1 to n - 2.

    `source` and `embedded` are (b, n) arrays of ranks. R_NX(K) = ((n - 1) Q_NX(K) - K) / (n - 1 - K), with Q_NX(K) the
    share of the K nearest that are the same: 1 for the same neighborhoods, 0 for those of points placed at random (Lee,
    Renard, Bernard, Dupont and Verleysen, 2013).
    """
    rows, count = source.shape
    enters = np.maximum(source, embedded) + count * np.arange(rows)[:, None]
    shared = np.bincount(enters.ravel(), minlength=rows * count).reshape(rows, count)[:, 1 : count - 1].cumsum(axis=1)
    sizes = np.arange(1, count - 1)
    curves: Array = ((count - 1) * (shared / sizes) - sizes) / (count - 1 - sizes)
    return curves


def area(curves: Array) -> Array:
    """Return the area under R_NX over log K (Lee et al., 2015) of a (..., n - 2) array; each doubling counts alike.

    The result has the shape of `curves` without its last axis.
    """
    weights = 1 / np.arange(1, curves.shape[-1] + 1)
    areas: Array = curves @ (weights / weights.sum())
    return areas


def neighbor_preservation(near: Indices, other: Indices, neighbors: int) -> Array:
    """Return 1 minus the normalized excess over k of the ranks in `other` of the k nearest of `near`, a (b,) array.

    `near` and `other` are (b, n) arrays of ranks. 1 where all stay within k, 0 in the worst case: trustworthiness and
    continuity (Venna and Kaski, 2001).
    """
    count = near.shape[1]
    among = (near >= 1) & (near <= neighbors)
    worst = neighbors * (2 * count - 3 * neighbors - 1) / 2
    kept: Array = 1 - np.where(among, np.maximum(other - neighbors, 0), 0).sum(axis=1) / worst
    return kept


def rank_correlation(source: Indices, embedded: Indices) -> Array:
    """Return Spearman's correlation of the distances from each point to all others, a (b,) array.

    `source` and `embedded` are (b, n) arrays of ranks.
    """
    others = source.shape[1] - 1
    if others < 2:
        return np.ones(len(source))
    squares = np.square((source - embedded).astype(np.float64)).sum(axis=1)
    correlations: Array = 1 - 6 * squares / (others * (others**2 - 1.0))
    return correlations


def assess(reference: Reference, embeddings: Sequence[Array]) -> list[Assessment]:
    """Return the scores of every embedding, (n, p) arrays; distances of the input are computed once for all."""
    spaces = [EuclideanSpace.of(values, reference.anchors) for values in embeddings]
    totals = [Total(np.zeros(max(reference.size - 2, 0))) for _ in embeddings]
    for group in row_blocks(len(reference.anchors), HELD, reference.size):
        anchors = reference.anchors[group]
        source = reference.input.rows_of(anchors)
        graph = None if reference.graph is None else reference.graph.rows_of(anchors)
        strips = [space.rows_of(anchors) for space in spaces]

        def work(block: slice, source: Rows = source, graph: Rows | None = graph, strips: Sequence[Rows] = strips,
                 anchors: Indices = anchors) -> list[Assessment]:
            """Return the scores of every embedding from a block of the anchors, a (b,) array."""
            here = anchors[block]
            near = ranks_of(source(block), here)
            along = None if graph is None else ranks_of(graph(block), here)
            return [_assess_block(reference, here, near, along, strip(block)) for strip in strips]

        blocks = row_blocks(len(anchors), BLOCK, reference.size)
        for block, found in zip(blocks, in_order(work, blocks), strict=True):
            for total, one in zip(totals, found, strict=True):
                total.add(one)
            advance(group.start + block.stop, len(reference.anchors))
    return [total.mean() for total in totals]


@dataclass
class Total:
    """Sums over blocks of points for one embedding; curves of large inputs are long, so only their sum is kept."""

    curve: Array
    scores: list[Scores] = field(default_factory=list)

    def add(self, part: Assessment) -> None:
        """Add the scores of a block of points."""
        self.scores.append(part.scores)
        self.curve += part.curve

    def mean(self) -> Assessment:
        """Return the scores of all points, and the mean of their curves."""
        scores = {name: np.concatenate([part[name] for part in self.scores]) for name in self.scores[0]}
        return Assessment(scores, self.curve / len(scores["r_nx"]))


def _assess_block(reference: Reference, rows: Indices, near: Indices, along: Indices | None,
                  squared: Array) -> Assessment:
    """Return the scores of one embedding from a block of points; the curve is summed over them."""
    ranks = ranks_of(squared, rows)
    curves = agreement_curves(near, ranks)
    scores = {"r_nx": area(curves), "trustworthiness": neighbor_preservation(ranks, near, reference.neighbors),
              "continuity": neighbor_preservation(near, ranks, reference.neighbors),
              "distances": rank_correlation(near, ranks)}
    if along is not None:
        scores["geodesics"] = rank_correlation(along, ranks)
        scores["geodesic_r_nx"] = area(agreement_curves(along, ranks))
    if reference.codes is not None:
        scores["label_error"] = _label_errors(reference.codes, rows, ranks)
    return Assessment(scores, curves.sum(axis=0))


def _label_errors(codes: Indices, rows: Indices, ranks: Indices) -> Array:
    """Return one where the nearest labeled point has another label, else zero; NaN for points without a label (b)."""
    others = np.where((codes >= 0) & (ranks > 0), ranks, np.iinfo(np.int64).max)
    wrong = codes[others.argmin(axis=1)] != codes[rows]
    return np.where(codes[rows] >= 0, wrong.astype(np.float64), np.nan)


MEASURES = ("r_nx", "trustworthiness", "continuity")  # measures for the ranks: larger is better
DRAWS = 1_000  # bootstrap samples of the points
OPEN = 0.05  # share of the samples above which a method that comes first there counts as tied
ENOUGH = 0.02  # difference of R_NX below which the simpler method is preferred


@frozen
class MeanRank:
    """The mean rank of one method, with its uncertainty."""

    mean_rank: float
    interval: tuple[float, float]  # contains nine of ten samples
    tied: bool  # whether it is first, or comes first in enough of the samples


@frozen
class Gain:
    """The difference of R_NX between two embeddings."""

    value: float
    error: float  # its standard error over the points

    @property
    def counts(self) -> bool:
        """Whether the difference is more than twice its standard error, and more than `ENOUGH`."""
        return self.value > max(2 * self.error, ENOUGH)


def mean_ranks(values: Array) -> Array:
    """Return the mean rank over measures, an array of shape (..., m), of values of shape (..., measures, m).

    Rank 1 is the largest value; equal values share the mean of their ranks.
    """
    better = (values[..., None, :] > values[..., :, None]).sum(axis=-1)
    equal = (values[..., None, :] == values[..., :, None]).sum(axis=-1)
    ranks: Array = (better + (equal + 1) / 2).mean(axis=-2)
    return ranks


def rank_methods(judged: Sequence[Assessment], generator: np.random.Generator) -> list[MeanRank]:
    """Return the rank of each embedding, with its uncertainty over bootstrap samples of the points."""
    scores = np.array([[one.scores[name] for one in judged] for name in MEASURES])  # measures x m x b
    count = scores.shape[-1]
    weights = generator.multinomial(count, np.full(count, 1 / count), DRAWS) / count
    ranks = mean_ranks(scores.mean(axis=-1))
    drawn = mean_ranks(np.moveaxis(scores @ weights.T, -1, 0))
    first = int(ranks.argmin())
    open_to = (drawn <= drawn[:, [first]]).mean(axis=0) > OPEN
    low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
    return [MeanRank(float(rank), (float(low[i]), float(high[i])), bool(open_to[i])) for i, rank in enumerate(ranks)]


def best_of(judged: Sequence[Assessment]) -> int:
    """Return the index of the first embedding with the largest R_NX."""
    return int(np.argmax([one.scores["r_nx"].mean() for one in judged]))


def gain(one: Assessment, other: Assessment) -> Gain:
    """Return the mean difference in R_NX, the first minus the second, over the same points."""
    differences = one.scores["r_nx"] - other.scores["r_nx"]
    count = len(differences)
    error = float(differences.std(ddof=1) / np.sqrt(count)) if count > 1 else 0.0
    return Gain(float(differences.mean()), error)


def figures(judged: Assessment) -> Mapping[str, float]:
    """Return the means over points, each with its standard error as NAME_se; points without a label do not count."""
    shown: dict[str, float] = {}
    for name, scores in judged.scores.items():
        known = scores[~np.isnan(scores)]
        if len(known):
            shown[name] = float(known.mean())
            shown[f"{name}_se"] = float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else 0.0
    return shown
