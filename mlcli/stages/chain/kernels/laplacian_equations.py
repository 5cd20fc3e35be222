"""The certificate of Laplacian eigenmaps: the eigenvalue equation, with weights and degrees computed again."""

from itertools import pairwise
from typing import Any

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, ratio
from mlcli.stages.eigen.spectrum import Spectrum
from mlcli.stages.graph.graph import Graph


def laplacian_checks(similarity: Any, embedding: Array, spectrum: Spectrum, normalized: bool) -> list[Check]:
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
