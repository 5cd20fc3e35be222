"""The certificate of Laplacian eigenmaps: the eigenvalue equation, with weights and degrees computed again."""

from typing import Any

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, ratio
from mlcli.stages.eigen.spectrum import Spectrum


def laplacian_checks(similarity: Any, embedding: Array, spectrum: Spectrum, normalized: bool) -> list[Check]:
    """Check costs, weighted orthogonality and residuals of coordinates (n x p) on a weighted graph."""
    from scipy import sparse

    graph, made_of = similarity.graph, similarity.affinity.of
    weights = (np.ones(len(graph.lengths)) if made_of == "nothing" else
               graph.lengths if made_of == "affinities" else np.exp(-similarity.affinity.rate * graph.lengths**2))
    matrix = sparse.csr_array((weights, graph.indices, graph.starts), shape=(graph.size, graph.size))
    sums = matrix.sum(axis=1)
    masses = sums if normalized else np.ones(graph.size)
    count = embedding.shape[1]
    costs = 1 / spectrum.solved[:count]
    volume, largest = float(masses.sum()), float((sums / masses).max())
    images = sums[:, None] * embedding - matrix @ embedding
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
