"""The perplexity of affinities, computed again from distances of SciPy, and the divergence of a layout from them."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mlcli.base.rows.blocks import row_blocks
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS, Check, count, later, ratio, skipped
from mlcli.base.values.inputs import AffinityGraph, Dissimilarities, Features, Joined, WeightedGraph
from mlcli.methods.frame.model import Model
from mlcli.methods.identities.layouts.stress import axes_check
from mlcli.stages.algebra.metrics.points import metric_of
from mlcli.stages.chain.joint_affinities import lists_of
from mlcli.stages.graph.nearest import Lists
from mlcli.stages.graph.perplexity import ALONE, reach
from mlcli.stages.similarities.metric_witness import bounded_distances

ALL_ROWS, SOME_ROWS = 2000, 200  # points up to which all are checked; those of a sample
BLOCK = 2**20  # numbers of a block of pairs
CLOSE, ROUGH = 1e-9, 1e-3  # error of the divergence by all pairs, and by a grid or a tree
TRUE_ROWS = 10_000  # up to which the stated divergence is by all pairs


def divergence_checks(data: Joined, model: Model, perplexities: Sequence[float], dof: float, *, full: bool,
                      ) -> list[Check]:
    """Check a layout: its axes, options, the perplexity of each point's affinities, divergence and slope as stated."""
    similarity: Any = model.projector.similarity  # type: ignore[union-attr]
    points, size = np.asarray(model.embedding), len(data.values)
    given = isinstance(data, AffinityGraph)
    wrong = [similarity.dof != dof, len(similarity.precisions) != size,
             similarity.precisions.shape[1] != (0 if given else len(perplexities)),
             tuple(getattr(similarity, "perplexities", perplexities)) != tuple(perplexities)]
    checks = [axes_check(points), count("options", sum(wrong), "degrees of freedom and perplexities as asked for")]
    if any(wrong):
        return checks
    rows = np.arange(size) if full or size <= ALL_ROWS else np.linspace(0, size - 1, SOME_ROWS).astype(np.int64)
    checks.append(skipped("perplexity", "the affinities are given") if given else perplexity_check(
        data, similarity.precisions, perplexities, rows))
    if size > ALL_ROWS and not full:
        return [*checks, later("divergence"), later("slope")]
    joint = rebuilt(data, similarity.precisions, perplexities)
    attraction, repulsion, divergence = exact_forces(joint, points, dof)
    slope = float(np.linalg.norm(attraction - repulsion) / np.linalg.norm(attraction)) if attraction.any() else 0.0
    close = CLOSE if size <= TRUE_ROWS else ROUGH
    return [*checks, *product_checks(joint, model),
            ratio("divergence", abs(divergence - model.fit["divergence"]), close * max(1.0, abs(divergence)),
                  "Σ p log (p / q) over all pairs, as stated"),
            ratio("slope", abs(slope - model.fit["slope"]), close * max(1.0, slope),
                  "the gradient over its attraction, as stated")]


def perplexity_check(data: Joined, precisions: Array, perplexities: Sequence[float], rows: Indices) -> Check:
    """Check that affinities of some rows have their perplexity, with distances that are computed again."""
    worst = 0.0
    for some in row_blocks(len(rows), BLOCK, len(data.values)):
        for row, (lengths, errors) in zip(rows[some], lengths_of(data, rows[some], reach(perplexities)), strict=True):
            for place, perplexity in enumerate(perplexities):
                worst = max(worst, off_aim(lengths, errors, float(precisions[row, place]), perplexity))
    return ratio("perplexity", worst, 1.0, "entropies of affinities are logarithms of the perplexity", exact=False)


def lengths_of(data: Joined, rows: Indices, nearest: int) -> Iterator[tuple[Array, Array]]:
    """Yield the lengths of each row's nearest neighbors or edges, in any order, with bounds of their errors."""
    if isinstance(data, WeightedGraph):
        for row in rows:
            lengths = data.weights[data.starts[row] : data.starts[row + 1]]
            yield lengths, EPS * lengths
        return
    distances, errors = distances_from(data, rows)
    distances[np.arange(len(rows)), rows] = np.inf
    for lengths, wrong in zip(distances, errors, strict=True):
        order = np.argpartition(lengths, nearest - 1)[:nearest]
        yield lengths[order], wrong[order]


def distances_from(data: Features | Dissimilarities, rows: Indices) -> tuple[Array, Array]:
    """Return distances (m x n) from some rows to all points, with bounds of their errors."""
    if isinstance(data, Dissimilarities):
        distances = data.values[rows]
        return distances, EPS * distances
    found = bounded_distances(metric_of(data), data.values[rows], data.values)
    return found.distances.copy(), found.errors


def off_aim(lengths: Array, errors: Array, precision: float, perplexity: float) -> float:
    """Return the difference of an entropy from the perplexity's logarithm, over what rounding explains."""
    aim, unit = np.log(perplexity), scale_of(lengths)
    if precision == 0:
        return 0.0 if len(lengths) <= perplexity * (1 + EPS) else np.inf
    slack = float(errors.max())
    if precision == ALONE:  # so many nearest ones tie that their entropy is higher
        ties = int(np.sum(lengths <= lengths.min() + 2 * slack))
        return 0.0 if np.log(ties) >= aim - CLOSE else np.inf
    gaps = precision * ((lengths - lengths.min()) / unit) * ((lengths + lengths.min()) / unit)
    shares = np.exp(-np.minimum(gaps, 700.0))
    shares = shares / shares.sum()
    entropy = -float(np.sum(shares[shares > 0] * np.log(shares[shares > 0])))
    near = shares > 0
    slips = precision * 8 * (errors[near] / unit) * (lengths[near] / unit) + EPS * gaps[near]
    return abs(entropy - aim) / (CLOSE + float(slips.max()) * len(lengths))


def rebuilt(data: Joined, precisions: Array, perplexities: Sequence[float]) -> Any:
    """Return joint affinities by SciPy (n x n, sparse) from neighbors and precisions, or from given affinities."""
    from scipy import sparse

    size = len(data.values)
    if isinstance(data, AffinityGraph):
        shares, lists = data.weights, Lists(data.starts, data.indices, data.weights)
    else:
        lists = lists_of(data, tuple(perplexities))
        shares = np.concatenate([np.mean([softmax(lengths, each) for each in precisions[row]], axis=0)
                                 for row, lengths in enumerate(np.split(lists.lengths, lists.starts[1:-1]))])
    rows = sparse.coo_array((shares, (lists.rows, lists.indices)), shape=(size, size)).tocsr()
    both = (rows + rows.T).tocoo()
    return sparse.coo_array((both.data / both.data.sum(), (both.row, both.col)), shape=both.shape)


def softmax(lengths: Array, precision: float) -> Array:
    """Return affinities (k) of one row by a precision."""
    if precision == ALONE:
        shares = (lengths == lengths.min()).astype(np.float64)
    else:
        unit, least = scale_of(lengths), lengths.min()
        gaps = np.minimum((lengths - least) / unit * ((lengths + least) / unit), 1e300)
        shares = np.exp(-np.minimum(precision * gaps, 750.0))
    return np.asarray(shares / shares.sum())


def scale_of(lengths: Array) -> float:
    """Return the length that precisions of a row are relative to: the middle one, or the largest where that is zero."""
    middle = float(np.partition(lengths, len(lengths) // 2)[len(lengths) // 2])
    return middle or float(lengths.max()) or 1.0


def exact_forces(joint: Any, points: Array, dof: float) -> tuple[Array, Array, float]:
    """Return attraction and repulsion over its sum (n x p each), and the divergence, by distances of SciPy."""
    from scipy.spatial.distance import cdist

    total, repulsion = 0.0, np.zeros_like(points)
    for some in row_blocks(len(points), BLOCK, len(points)):
        bases = 1 + cdist(points[some], points, "sqeuclidean") / dof
        kernel = bases**-dof
        kernel[np.arange(len(kernel)), np.arange(some.start, some.stop)] = 0.0
        total += float(kernel.sum())
        weights = kernel / bases
        repulsion[some] = weights.sum(axis=1)[:, None] * points[some] - weights @ points
    gaps = points[joint.row] - points[joint.col]
    bases = 1 + np.sum(gaps**2, axis=1) / dof
    pulls: AnyArray = (joint.data / bases)[:, None] * gaps
    attraction = np.column_stack([np.bincount(joint.row, column, len(points)).astype(float) for column in pulls.T])
    shares = joint.data[joint.data > 0]
    divergence = np.sum(shares * np.log(shares)) + dof * np.sum(joint.data * np.log(bases)) + np.log(total)
    return attraction, repulsion / total, float(divergence)


def product_checks(joint: Any, model: Model) -> Iterator[Check]:
    """Check the affinities of the fit, where they are at hand: symmetric, of sum one, and as they are found again."""
    made = model.products.get("weights")
    if made is None:
        return
    from scipy import sparse

    held = sparse.csr_array((made.values, made.indices, made.starts), shape=joint.shape)  # type: ignore[union-attr]
    yield ratio("symmetry", float(abs(held - held.T).max()), EPS, "affinities are the same in both directions")
    yield ratio("sum", abs(float(held.sum()) - 1), EPS * held.nnz, "affinities of all pairs have sum one")
    yield ratio("affinities", float(abs(held - joint).max()), CLOSE * float(joint.data.max()),
                "affinities, by neighbors and precisions")
