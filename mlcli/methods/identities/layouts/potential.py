"""The walk of PHATE, its time, and the stress of its potential distances, all computed again by their definitions."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS, Check, count, later, ratio, skipped
from mlcli.base.values.inputs import AffinityGraph, Features
from mlcli.methods.identities.layouts.stress import axes_check, layout_checks, roots_of_pairs, unit_weights
from mlcli.stages.algebra.distances import squared_distances
from mlcli.stages.algebra.metrics.points import metric_of
from mlcli.stages.graph.walks.decay import distance_rows

SMALL = 1500  # nodes whose distances and singular values are computed by slower libraries without `full`
ROWS = 64  # training rows whose own probabilities are compared
BLOCK = 2**20  # numbers of a block of distances
SHORT = 64  # steps of a walk that are taken one by one
NOISE = 1e-13  # of potential distances, relative to the size of potentials
KNEE = 1e-6  # error of entropies, relative to the largest: squares of singular values lose half of the digits


def potential_checks(method: Any, data: Any, model: Any, *, full: bool) -> list[Check]:
    """Check a fit of PHATE: axes, probabilities, coordinates of all points, time, stress, and that no step moves."""
    similarity, layout, points = model.projector.similarity, model.projector.axes, np.asarray(model.embedding)
    kernel = kernel_by_definition(method, data, full or len(data.values) <= SMALL)
    kernel = (kernel + kernel.T) / 2
    clusters = similarity.clusters
    steps, entries = walk_by_definition(kernel, clusters)
    exact = full or steps.shape[0] <= SMALL
    placed = layout if clusters is None else entries @ layout
    checks = [axes_check(points), *transition_checks(method, data, similarity),
              ratio("walk", float(np.abs(np.asarray(steps.sum(axis=1)).ravel() - 1).max()), EPS * len(layout),
                    "the probabilities of a step sum to one"),
              ratio("placement", float(np.abs(points - placed).max()), EPS * len(points) * float(np.abs(layout).max()),
                    "points are the means of their clusters, by the probabilities to reach them")
              if placed.shape == points.shape else count("placement", 1, "there is a coordinate for every axis")]
    checks += time_checks(method, model, steps) if exact else [later("time")]
    potentials = potentials_of(steps, int(model.fit["time"]), method.gamma)
    noise = NOISE * float(np.linalg.norm(potentials, axis=1).max())
    lengths = condensed_distances(potentials, exact)
    lengths[lengths <= noise] = 0.0
    return [*checks, *layout_checks(layout, lengths, model, weights=unit_weights(lengths), squared=False,
                                    tolerance=method.iterate.tolerance, noise=noise)]


def kernel_by_definition(method: Any, data: Any, exact: bool) -> Any:
    """Return exp(-(d/σ)^α) with σ of the row's point (n x n, sparse), by SciPy's distances if `exact`.

    Of a graph it is its affinities, with the largest on the diagonal.
    """
    from scipy import sparse

    size = len(data.values)
    if isinstance(data, AffinityGraph):
        given = sparse.csr_array((data.weights, data.indices, data.starts), shape=(size, size))
        return given + (data.weights.max(initial=0.0) or 1.0) * sparse.eye_array(size)
    return sparse.vstack([sparse.csr_array(affinities(method, lengths, 1)) for _, lengths in blocks_of_lengths(
        data, exact)], "csr")


def affinities(method: Any, lengths: Array, own: int) -> Array:
    """Return affinities (m x n) of distances (m x n), the first `own` of which are the point itself."""
    place = min(method.nearest + own, lengths.shape[1]) - 1
    widths = np.partition(lengths, place, axis=1)[:, place].copy()
    for row in np.flatnonzero(widths == 0):
        widths[row] = np.min(lengths[row], where=lengths[row] > 0, initial=np.inf)
    widths[np.isinf(widths)] = 1.0
    ratios, found = lengths / widths[:, None], np.zeros(lengths.shape)
    near = ratios <= (np.e * -np.log(method.threshold)) ** (1 / method.decay)  # beyond, affinities are far below it
    found[near] = np.exp(-np.power(ratios[near], method.decay))
    found[found < method.threshold] = 0.0
    return found


def blocks_of_lengths(data: Any, exact: bool) -> Iterator[tuple[slice, Array]]:
    """Yield blocks of rows with their distances to all points (m x n), of plain features by SciPy if `exact`."""
    from scipy.spatial.distance import cdist

    plain, size = exact and isinstance(data, Features) and metric_of(data).plain, len(data.values)
    rows_of = distance_rows(data)
    step = max(1, BLOCK // max(data.values.shape))
    for start in range(0, size, step):
        rows = slice(start, min(start + step, size))
        yield rows, cdist(data.values[rows], data.values) if plain else rows_of(rows)


def walk_by_definition(kernel: Any, clusters: Indices | None) -> tuple[Any, Any]:
    """Return the probabilities between points (n x n, sparse), or clusters (c x c), and those to reach them (n x c)."""
    from scipy import sparse

    if clusters is None:
        return sparse.csr_array(sparse.diags_array(1 / kernel.sum(axis=1)) @ kernel), None
    ones = sparse.csr_array((np.ones(len(clusters)), (np.arange(len(clusters)), clusters)))
    joint = sparse.csr_array(kernel @ ones)
    entries = sparse.csr_array(sparse.diags_array(1 / joint.sum(axis=1)) @ joint)
    return (sparse.diags_array(1 / joint.sum(axis=0)) @ joint.T @ entries).toarray(), entries


def transition_checks(method: Any, data: Any, similarity: Any) -> list[Check]:
    """Check the probabilities that the model gives to some training rows, as if these were new."""
    if isinstance(data, AffinityGraph):
        return [skipped("transitions", "the points of a given graph have no features by which others could be placed")]
    rows, lengths = next(blocks_of_lengths(data, True))
    lengths = lengths[:ROWS]
    found = similarity.rows(np.asarray(data.values[rows][:ROWS]))
    asked = affinities(method, lengths, 0)
    if similarity.clusters is not None:
        asked = np.array([np.bincount(similarity.clusters, row, minlength=similarity.nodes) for row in asked])
    asked /= asked.sum(axis=1, keepdims=True)
    wrong = float(np.abs(found - asked).max()) if found.shape == asked.shape else float("inf")
    return [ratio("transitions", wrong, 1e-9, f"probabilities of {len(lengths)} training rows, by distances of SciPy",
                  exact=len(lengths) == len(data.values))]


def time_checks(method: Any, model: Any, steps: Any) -> list[Check]:
    """Check that the time is the one asked for, or the knee of the entropies by LAPACK's singular values."""
    if method.time is not None:
        return [count("time", int(model.fit["time"] != method.time), "the time that was asked for")]
    from scipy.linalg import svdvals

    values = svdvals(steps if isinstance(steps, np.ndarray) else steps.toarray())
    powers = values ** np.arange(1, 101)[:, None]
    shares = powers / powers.sum(axis=1, keepdims=True)
    curve = -np.sum(np.where(shares > 0, shares * np.log(np.where(shares > 0, shares, 1.0)), 0.0), axis=1)
    scale, place = KNEE * max(float(curve.max()), 1.0), int(model.fit["time"])
    errors = [misfit(curve[: corner + 1], 0) + misfit(curve[corner - 1:], 1) for corner in range(1, len(curve) - 1)]
    checks = [ratio("time", errors[place - 1] - min(errors) if 1 <= place <= len(errors) else float("inf"), scale,
                    "the place in the curve of entropies where two lines fit best")]
    if model.entropy is not None:
        checks.append(ratio("entropy", float(np.abs(model.entropy - curve).max()), scale,
                            "entropies of the shares of LAPACK's singular values"))
    return checks


def misfit(values: Array, first: int) -> float:
    """Return the sum of absolute errors, from the `first` on, of the line of least squares through values (m)."""
    places = np.arange(len(values))
    return float(np.abs(np.polyval(np.polyfit(places, values, 1), places) - values)[first:].sum())


def potentials_of(steps: Any, time: int, gamma: float) -> Array:
    """Return the potentials after `time` steps (n x n), taken one by one where they are few."""
    if isinstance(steps, np.ndarray):
        ends = np.linalg.matrix_power(steps, time)
    elif time > SHORT:
        ends = np.linalg.matrix_power(steps.toarray(), time)
    else:
        ends = steps.toarray()
        for _ in range(time - 1):
            ends = steps @ ends
    power = (1 - gamma) / 2
    return np.asarray(ends**power / power if power else -np.log(ends + 1e-7))


def condensed_distances(points: Array, exact: bool) -> Array:
    """Return the distances of pairs i < j (n (n - 1) / 2), by SciPy if `exact`."""
    from scipy.spatial.distance import pdist

    if exact:
        return np.asarray(pdist(points))
    return roots_of_pairs(squared_distances(points, points))
