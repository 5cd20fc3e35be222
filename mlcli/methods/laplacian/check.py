"""The certificate of Laplacian eigenmaps and diffusion maps: their eigenvalue equations, with weights, degrees and
probabilities computed again.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from mlcli.base.rows.blocks import row_blocks
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS, Check, around_median, count, ratio, skipped
from mlcli.base.values.inputs import Dissimilarities, Spatial
from mlcli.certify.chains import chain_checks
from mlcli.certify.graph import adjacency, check_of_recall, pair_distances
from mlcli.certify.linearization import Costs, Root, linearization_checks
from mlcli.certify.subject import Subject, max_abs
from mlcli.core.chain.stages import Stages
from mlcli.core.check.metrics import bounded_distances, squared
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.graph.affinities import EdgeWeights
from mlcli.core.graph.graph import Graph
from mlcli.core.graph.pieces import connected_graph
from mlcli.core.metrics.distances import metric_of


def laplacian_checks(subject: Subject, chain: Stages) -> Iterator[Check]:
    """Yield the checks of Laplacian eigenmaps: L y = λ D y, with weights computed again."""
    yield from chain_checks(subject, chain)
    kernel: Any = chain.kernel
    embedding = chain.coordinates.of_variance(subject.embedding, subject.spectrum)
    yield from eigenmap_checks(subject.similarity, embedding, subject.spectrum, kernel.normalized)


def eigenmap_checks(similarity: Any, embedding: Array, spectrum: Spectrum, normalized: bool) -> list[Check]:
    """Check costs, weighted orthogonality and residuals of coordinates (n x p) on a weighted graph."""
    graph = similarity.graph
    weights, _ = weights_of_edges(similarity.affinity, graph, graph.lengths)
    sums = np.add.reduceat(weights, graph.starts[:-1])  # every vertex has an edge
    masses = sums if normalized else np.ones(graph.size)
    count = embedding.shape[1]
    costs = 1 / spectrum.solved[:count]
    volume, largest = float(masses.sum()), float((sums / masses).max())
    near = np.column_stack([np.add.reduceat(weights * axis[graph.indices], graph.starts[:-1]) for axis in embedding.T])
    images = sums[:, None] * embedding - near
    gaps = np.linalg.norm((images - masses[:, None] * embedding * costs) / np.sqrt(masses)[:, None], axis=0)
    rounding = 10 * graph.size * EPS * largest
    allowed = rounding + 2 * largest * spectrum.tolerance * costs / costs[0]
    products = embedding.T @ (masses[:, None] * embedding) / volume - np.eye(count)
    return [
        ratio("residual", float((gaps / allowed).max()) * np.sqrt(volume) ** -1, 1.0, "L y = λ D y, all rows"),
        ratio("costs", float((np.abs(np.einsum("ij,ij->j", embedding, images) / volume - costs) / allowed).max()), 1.0,
              "Σ w (yᵢ - yⱼ)² = λ Σ d y²"),
        ratio("orthogonality", float(np.abs(products).max()), 10 * graph.size * EPS + spectrum.tolerance,
              "YᵀD Y = Σd I")]


def weights_of_edges(affinity: Any, graph: Graph, lengths: Array) -> tuple[Array, Array]:
    """Return the weights (e) of the edges of a graph, of `lengths` (e), by definition; and -d log w / d log length.

    A rate of heat weights that is not given is one over the median squared length. Scales of adaptive ones are lengths
    too.
    """
    if affinity.of == "nothing":
        return np.ones(len(lengths)), np.zeros(len(lengths))
    if affinity.of == "affinities":
        return lengths, np.zeros(len(lengths))
    if affinity.name == "adaptive":
        scales = np.array([_scale(lengths[a:b], affinity.nearest - 1) for a, b in pairwise(graph.starts.tolist())])
        exponents = (lengths / np.repeat(scales, np.diff(graph.starts))) * (lengths / scales[graph.indices])
        return np.exp(-exponents), 4 * exponents
    rate = affinity.rate or 1 / np.median(lengths[lengths > 0] ** 2)
    return np.exp(-rate * lengths**2), 2 * rate * lengths**2


def _scale(lengths: Array, place: int) -> float:
    """Return the `place`-th of the lengths of a point's edges, or the last; the least above zero instead of zero."""
    ranked = np.sort(lengths)
    chosen = float(ranked[min(place, len(ranked)) - 1])
    return chosen or float(ranked[ranked > 0].min(initial=np.inf))


def linear_checks(subject: Subject, affinity: EdgeWeights) -> Iterator[Check]:
    """Yield the checks of linear functions of least cost on the edges of a neighbor graph, weighted by an affinity."""
    from scipy import sparse

    def costs() -> Costs:
        given, rule = subject.given, subject.asked.rule
        graph, _ = connected_graph(given, subject.neighborhood, subject.neighbors.pieces, rule)  # see `neighbor_check`
        rows = np.repeat(np.arange(graph.size), np.diff(graph.starts))
        lengths, errors = pair_distances(subject, rows, graph.indices)
        weights, powers = weights_of_edges(affinity.measured_in(given.unit), graph, lengths)
        once = np.flatnonzero(rows < graph.indices)
        ends = np.column_stack([rows[once], graph.indices[once]])
        values = np.sqrt(weights[once])[:, None] * [1.0, -1.0]
        root = sparse.csr_array((values.ravel(), ends.ravel(), 2 * np.arange(len(once) + 1)),
                                shape=(len(once), graph.size))
        rough = np.divide(powers * errors, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        unsure = SLACK * EPS * (1 + max_abs(powers)) + max_abs(rough)
        degrees = np.bincount(rows, weights, minlength=graph.size).astype(np.float64)
        return Costs(Root(root, unsure), degrees, adjacency(subject, graph.starts, graph.indices), rule)

    yield from linearization_checks(subject, costs)


def diffusion_checks(subject: Subject, chain: Stages) -> Iterator[Check]:
    """Yield the checks of diffusion maps: P ψ = λ ψ, with probabilities computed again, and the option of the widths.
    """
    from mlcli.methods.laplacian.diffusion import Adaptive, EdgeTransitions

    yield from chain_checks(subject, chain)
    similarity: Any = subject.similarity
    kernel: Any = chain.kernel
    data, full = subject.data, subject.plan.full
    on_edges = isinstance(similarity, EdgeTransitions)
    if on_edges:
        yield from edge_walk_checks(similarity, data, subject.embedding, subject.spectrum, kernel, full=full)
    else:
        yield from walk_checks(similarity, data, subject.embedding, subject.spectrum, kernel.alpha, kernel.time,
                               full=full)
    if isinstance(kernel.bandwidth, Adaptive):
        yield count("nearest", int(similarity.nearest != kernel.bandwidth.nearest), "the neighbor that was asked for")
    elif kernel.bandwidth.epsilon is None:
        yield edge_epsilon_check(similarity) if on_edges else epsilon_check(float(similarity.widths[0]) ** 2, data)
    else:
        asked = (data.unit**-2).number(kernel.bandwidth.epsilon)
        yield ratio("epsilon", abs(asked / float(similarity.widths[0]) ** 2 - 1), EPS, "the ε that was given")


SLACK = 8.0  # roundings of a weight
WHOLE = 600  # points of which every row is checked
SAMPLED = 400  # points whose distances show whether ε is their median
NEAR = 1e-9
SAMPLE = 64  # rows checked of more
FEW = 4  # of these, those whose edges are also checked from their other ends
TOGETHER = 2**20  # numbers of rows in memory at once


def walk_checks(similarity: Any, data: Spatial, embedding: Array, spectrum: Spectrum, alpha: float, time: float, *,
                full: bool) -> list[Check]:
    """Check densities, widths and residuals of an embedding (n x p), in some rows or all.

    With all rows, check also orthogonality under the stationary distribution π.
    """
    size, axes = embedding.shape
    whole = full or size <= WHOLE
    chosen = np.arange(size) if whole else np.linspace(0, size - 1, SAMPLE).astype(np.int64)
    values = spectrum.solved[:axes]
    powers = np.where(values > 0, values, 0.0) ** time
    there = (values > 0) & (powers > np.finfo(np.float64).tiny)  # long walks forget the rest
    there &= (values > size * EPS) | embedding.any(axis=0)  # axes of no extent, as of points that are all equal
    powers = np.where(there, powers, 1.0)
    density, width, residual, noise, sums = 0.0, 0.0, np.zeros(axes), 0.0, np.zeros(len(chosen))
    for part in row_blocks(len(chosen), TOGETHER, size):
        rows = chosen[part]
        squares, errors = _squares(data, rows)
        widths = _widths(similarity, squares, rows)
        width = max(width, max_abs(widths / similarity.widths[rows] - 1))
        scales = widths[:, None] * similarity.widths
        weights = np.exp(-squares / scales)
        noise = max(noise, float((errors / scales).max(initial=0.0)))
        density = max(density, float(np.abs(weights.sum(axis=1) ** alpha / similarity.densities[rows] - 1).max()))
        steps = weights / similarity.densities
        sums[part] = steps.sum(axis=1) / similarity.densities[rows]
        images = steps @ embedding / steps.sum(axis=1, keepdims=True)
        residual = np.maximum(residual, np.abs(images - values * embedding[rows]).max(axis=0) / powers)
    rounding = 16 * (size * EPS + noise)
    allowed = np.sqrt(size) * (rounding + spectrum.tolerance * spectrum.solved[0]) * _sizes(sums, whole)
    checks = [ratio("widths", width, rounding, "widths of the kernel, from distances", exact=whole),
              ratio("densities", density, rounding, "sums of exp(-d² / (σ σ)) over all points", exact=whole),
              ratio("residual", float((residual[there] / allowed).max(initial=0.0)), 1.0,
                    "P ψ = λ ψ with probabilities computed again", exact=whole)]
    return checks if not whole else [*checks, *_stationary_checks(sums, embedding / powers, there,
                                                                  rounding + spectrum.tolerance)]


def edge_walk_checks(similarity: Any, data: Spatial, embedding: Array, spectrum: Spectrum, kernel: Any, *,
                     full: bool) -> list[Check]:
    """Check the edges, widths, densities and residuals of an embedding (n x p) by a sparse kernel, in some rows or all.

    The walk is that of `walk_checks` along the edges; these lead to the nearest points, and to those that have the
    point among their own nearest. Of an approximate search the share of the nearest that it found is checked, and
    widths that are distances to one of them are not.
    """
    size, axes = embedding.shape
    whole = full or size <= WHOLE
    chosen = np.arange(size) if whole else np.linspace(0, size - 1, SAMPLE).astype(np.int64)
    graph, nearest, values = similarity.graph, similarity.neighbors.count, spectrum.solved[:axes]
    exact, shares = kernel.search == "exact", np.zeros(len(chosen))
    powers = np.where(values > 0, values, 0.0) ** kernel.time
    there = (values > 0) & (powers > np.finfo(np.float64).tiny)
    powers = np.where(there, powers, 1.0)
    ends_of = (graph.indices[graph.starts[i] : graph.starts[i + 1]] for i in chosen[:: len(chosen) // FEW + 1])
    reaches = _reaches(data, np.arange(size) if whole else np.unique(np.concatenate(
        [chosen, *(ends_of if exact else ())])), nearest)
    wrong, density, width, residual, noise = 0, 0.0, 0.0, np.zeros(axes), 0.0
    sums = np.zeros(len(chosen))
    for part in row_blocks(len(chosen), TOGETHER, size):
        rows = chosen[part]
        squares, errors = _squares(data, rows)
        errors = np.broadcast_to(errors, squares.shape)
        for place, row in enumerate(rows.tolist()):
            ends = graph.indices[graph.starts[row] : graph.starts[row + 1]]
            joined = np.zeros(size, dtype=bool)
            joined[ends] = True
            others = np.arange(size) != row
            far, rough = squares[place], errors[place] + NEAR * squares[place]
            reach = np.maximum(reaches, reaches[row])  # NaN where that of the other end is not known
            near = (far < reaches[row] - rough) | (far < reach - rough)
            wrong += int(np.sum(near & others & ~joined)) + int(joined[row])
            wrong += int(np.sum(joined & (far > reach + rough)))
            shares[part.start + place] = min(np.sum(joined & (far <= reaches[row] + rough)) / nearest, 1.0)
            near_rows = np.append(ends, row)
            scale = similarity.widths[[row]] if not exact else _widths(
                similarity, np.partition(far, nearest)[None, : nearest + 1], rows[place : place + 1])
            width = max(width, abs(float(scale[0]) / similarity.widths[row] - 1))
            scales = scale[0] * similarity.widths[near_rows]
            weights = np.exp(-np.append(far[ends], 0.0) / scales)
            noise = max(noise, float((np.append(errors[place, ends], 0.0) / scales).max()))
            density = max(density, abs(float(weights.sum()) ** kernel.alpha / similarity.densities[row] - 1))
            steps = weights / similarity.densities[near_rows]
            sums[part.start + place] = steps.sum() / similarity.densities[row]
            image = steps @ embedding[near_rows] / steps.sum()
            residual = np.maximum(residual, np.abs(image - values * embedding[row]) / powers)
    rounding = 16 * (size * EPS + noise)
    allowed = np.sqrt(size) * (rounding + spectrum.tolerance) * _sizes(sums, whole)
    searches = [count("neighbors", wrong, "edges that lead to no near point, and near points without one", exact=whole),
                ratio("widths", width, rounding, "widths of the kernel, from distances", exact=whole)] if exact else [
        check_of_recall(shares, exact=whole), skipped("widths", "neighbors were searched for approximately")]
    checks = [*searches,
              ratio("densities", density, rounding, "sums of exp(-d² / (σ σ)) along the edges", exact=whole),
              ratio("residual", float((residual[there] / allowed).max(initial=0.0)), 1.0,
                    "P ψ = λ ψ with probabilities computed again", exact=whole)]
    return checks if not whole else [*checks, *_stationary_checks(sums, embedding / powers, there,
                                                                  rounding + spectrum.tolerance)]


def _reaches(data: Spatial, rows: Indices, count: int) -> Array:
    """Return the squared distance to the `count`-th nearest other point (n), NaN but for the (m,) `rows`."""
    reaches = np.full(len(data.values), np.nan)
    for part in row_blocks(len(rows), TOGETHER, len(reaches)):
        squares = _squares(data, rows[part])[0].copy()
        squares[np.arange(len(squares)), rows[part]] = np.inf
        reaches[rows[part]] = np.partition(squares, count - 1, axis=1)[:, count - 1]
    return reaches


def edge_epsilon_check(similarity: Any) -> Check:
    """Check that the default ε is the median of the squared lengths of the edges, which other checks compare."""
    apart = similarity.graph.lengths[similarity.graph.lengths > 0] ** 2
    expected = float(np.median(apart)) if len(apart) else 1.0
    return ratio("epsilon", abs(float(similarity.widths[0]) ** 2 / expected - 1), 64 * EPS,
                 "ε is the median squared length of an edge")


def epsilon_check(epsilon: float, data: Spatial) -> Check:
    """Check that the default ε is the median of d² between different points; of a sample, about."""
    size = len(data.values)
    rows = np.linspace(0, size - 1, min(size, SAMPLED)).astype(np.int64)
    squares = _squares(data, rows)[0][:, rows][np.triu_indices(len(rows), 1)]
    squares = squares[squares > 0]
    if not len(squares):
        return count("epsilon", int(epsilon != 1.0), "ε of points that are all equal is one")
    whole = len(rows) == size
    below, wrong = around_median(squares / epsilon, NEAR, whole=whole)
    return count("epsilon", int(wrong), f"{below:.3f} of the squared distances are below ε", exact=whole)


def _sizes(sums: Array, whole: bool) -> float:
    """Return a bound on the size of a function of unit variance under π, at the point that the walk visits least."""
    return float(np.sqrt(sums.mean() / sums.min())) if whole else 1e3


def _squares(data: Spatial, rows: Indices) -> tuple[Array, Array | float]:
    """Return squared distances of some points to all (m x n), and bounds of their errors."""
    if isinstance(data, Dissimilarities):
        return np.asarray(data.values[rows] ** 2), 0.0
    metric = metric_of(data)
    if metric.plain:
        squares = squared(data.values[rows], data.values)
        return squares, EPS * data.values.shape[1] * squares
    found = bounded_distances(metric, data.values[rows], data.values)
    return found.distances**2, 2 * found.distances * found.errors


def _widths(similarity: Any, squares: Array, rows: Indices) -> Array:
    """Return σ of some points (m) by its definition; a width that all points share is the stored one."""
    if similarity.nearest == 0:
        return np.asarray(similarity.widths[rows])
    order = np.sort(squares, axis=1)
    widths = order[:, min(similarity.nearest, order.shape[1]) - 1]
    least = np.where(order > 0, order, np.inf).min(axis=1)
    return np.sqrt(np.where(widths > 0, widths, np.where(np.isfinite(least), least, 1.0)))


def _stationary_checks(sums: Array, functions: Array, there: AnyArray, limit: float) -> list[Check]:
    """Check eigenfunctions ψ (n x p) against the walk's stationary shares π, its sums of weights (n) over their total.

    `there` (p) tells which axes have an eigenvalue.
    """
    shares = sums / sums.sum()
    products = functions.T @ (shares[:, None] * functions) - np.diag(there.astype(float))
    return [ratio("orthogonality", max_abs(products), limit,
                  "Σ π ψ ψ' = I with the stationary shares π"),
            ratio("constant", max_abs(shares @ functions), limit,
                  "Σ π ψ = 0: the constant function is no axis")]
