"""Attributes of a fit that have scikit-learn's names, computed from its run when they are first asked for."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.api import Run
from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.products import Square
from mlcli.core.classifier import Classifier
from mlcli.core.similarities.projector import Affine, Projector
from mlcli.errors import InputMissing
from mlcli.methods import METHODS

EIGENVALUES = "eigenvalues"  # what axes are ranked by


@frozen
class Attribute:
    """An attribute: its sentence, and its value from a run; None where the run has no such thing."""

    sentence: str
    value: Callable[[Run], Any]


def of_fit(name: str) -> Callable[[Run], Any]:
    """Return the function for a figure of the fit by its name."""
    return lambda run: run.fit.get(name)


def affine_of(run: Run) -> Affine | None:
    """Return the mean and the directions that coordinates lead back by; None where no affine map does."""
    with suppress(InputMissing):  # a finished run may be without its model
        return run.affine
    return None


def projector_of(run: Run) -> Projector | None:
    """Return the map of new points to coordinates; None where there is none."""
    with suppress(InputMissing):  # as above
        return run.projector
    return None


def classifier_of(run: Run) -> Classifier | None:
    """Return the normal densities of classes, of a method that classifies; None for others."""
    return getattr(projector_of(run), "classifier", None)


def sizes_of(run: Run) -> Array | None:
    """Return the eigenvalues of the kernel for each axis (p); None where axes are not ranked by those."""
    if run.spectrum is None or not (METHODS[run.method].ranked_by or "").startswith(EIGENVALUES):
        return None
    found: Array = run.spectrum.eigenvalues[: run.embedding.shape[1]] * run.spectrum.divisor
    return found if len(found) == run.embedding.shape[1] else None


def variances_of(run: Run) -> Array | None:
    """Return the squared singular values of the centered rows (p): the kernel is that of their inner products."""
    return None if affine_of(run) is None or run.loadings is None else sizes_of(run)


def components(run: Run) -> Array | None:
    """Return the axes as rows: directions of the features, or what rows are multiplied by in ICA (p x d)."""
    affine = affine_of(run)
    if affine is None:
        return None
    return np.asarray(np.linalg.pinv(affine.directions) if run.method == "ica" else affine.directions.T)


def mean(run: Run) -> Array | None:
    """Return the means of the columns (d); amounts are not centered."""
    affine = affine_of(run)
    return None if affine is None or run.method == "nmf" else affine.mean


def explained_variance(run: Run) -> Array | None:
    """Return the variances of the rows along the axes, over n - 1 (p)."""
    found = variances_of(run)
    return None if found is None else found / max(len(run.embedding) - 1, 1)


def ratio(run: Run) -> Array | None:
    """Return the shares of the axes in the trace (p); None where it is unknown, or axes combine no columns."""
    if run.spectrum is None or run.loadings is None:
        return None
    shares = run.spectrum.proportions[: run.embedding.shape[1]]
    return shares if np.isfinite(shares).all() else None


def noise_variance(run: Run) -> Any:
    """Return the variance of the noise: one number, or one for each column (d); of PCA the mean of those left out."""
    if "uniquenesses" in run.fit:  # shares of the columns' variances, whose rest is that of the loadings
        shares = np.array(list(run.fit["uniquenesses"].values()), dtype=np.float64)
        if run.loadings is None or len(run.loadings.values) != len(shares):
            return None
        common = np.sum(run.loadings.values**2, axis=1)
        return np.divide(shares * common, 1 - shares, out=np.full(len(shares), np.nan), where=shares < 1)
    if "noise_variance" in run.fit or (variances := explained_variance(run)) is None:
        return run.fit.get("noise_variance")
    kept, count = ratio(run), len(variances)
    left = min(len(run.embedding), len(run.loadings.columns) if run.loadings else 0) - count
    if kept is None or kept[0] <= 0 or left <= 0:
        return 0.0
    return max(0.0, float(variances[0] / kept[0] * (1 - kept.sum()) / left))


def column_distribution(run: Run) -> tuple[Array, Array] | None:
    """Return mean (d) and covariance (d x d) of the normal distribution that pca, ppca or fa fitted to the rows.

    That of PCA is of variances over n - 1 and of equal noise in all other directions, as in scikit-learn. None of other
    methods, and of a covariance that is singular.
    """
    affine, noise = affine_of(run), noise_variance(run)
    if METHODS[run.method].columns_model == "none" or affine is None or noise is None or run.loadings is None:
        return None
    if run.method == "pca":
        rows, variances = components(run), explained_variance(run)
        if rows is None or variances is None:
            return None
        covariance = (rows.T * np.maximum(variances - noise, 0.0)) @ rows
    else:
        covariance = run.loadings.values @ run.loadings.values.T
    covariance[np.diag_indices_from(covariance)] += noise
    return None if np.linalg.matrix_rank(covariance) < len(covariance) else (affine.mean, covariance)


def log_likelihoods(distribution: tuple[Array, Array], rows: Array) -> Array:
    """Return the logarithm of the density of rows (m x d) under a mean (d) and a covariance (d x d); of a row with
    missing cells (NaN), that of its others.
    """
    mean, covariance = distribution
    seen, found = ~np.isnan(rows), np.empty(len(rows))
    for pattern in np.unique(seen, axis=0):
        where = np.flatnonzero((seen == pattern).all(axis=1))
        gaps = (rows[where] - mean)[:, pattern]
        part = covariance[np.ix_(pattern, pattern)]
        squares = np.einsum("ij,ij->i", gaps, np.linalg.solve(part, gaps.T).T)
        found[where] = -0.5 * (squares + pattern.sum() * np.log(2 * np.pi) + np.linalg.slogdet(part)[1])
    return found


def eigenvectors(run: Run) -> Array | None:
    """Return the eigenvectors of the centered kernel, of length one (n x p)."""
    sizes = sizes_of(run)
    if sizes is None:
        return None
    roots = np.sqrt(np.maximum(sizes, 0.0))
    if not np.allclose(np.linalg.norm(run.embedding, axis=0), roots):
        return None  # coordinates of another scale, as of a diffusion
    return np.divide(run.embedding, roots, out=np.zeros_like(run.embedding), where=roots > 0)


def error_of_rank(run: Run) -> float | None:
    """Return the root of the sum of the squared eigenvalues that the axes leave out, over n; None where unknown."""
    sizes = sizes_of(run)
    if sizes is None or run.spectrum is None or not np.isfinite(run.spectrum.frobenius):
        return None
    whole = run.spectrum.frobenius * run.spectrum.divisor
    return float(np.sqrt(max(whole**2 - np.sum(sizes**2), 0.0)) / len(run.embedding))


def path_lengths(run: Run) -> Array | None:
    """Return the lengths of shortest paths between all points of the fit (n x n); None of landmarks.

    They are computed from the graph of the model. Raises RefusedByPlan where they do not fit into memory.
    """
    projector = projector_of(run)
    if projector is None or projector.similarity.path_graph is None:
        return None
    product = projector.similarity.products(projector.centering).get("distances")
    if not isinstance(product, Square):
        return None
    Compute().require(8.0 * product.size**2, "a matrix of the distances of all pairs of points")
    lengths = np.empty((product.size, product.size))
    product.plain(projector.input_unit).fill(lengths)
    return lengths


def edge_weights(run: Run) -> Any:
    """Return the weights of the edges of a graph Laplacian (n x n, sparse); None of other kernels."""
    projector = projector_of(run)
    parts = None if projector is None else projector.similarity.parts
    if projector is None or parts is None or parts.graph is None or parts.affinity is None:
        return None
    weights = parts.affinity.of_graph(parts.graph)
    unit = projector.input_unit
    return replace(parts.graph, lengths=unit.plain(weights) if parts.affinity.carried == "input" else weights).matrix()


def class_names(run: Run) -> AnyArray | None:
    """Return the classes as texts, in alphabetical order (g)."""
    found = classifier_of(run)
    return None if found is None else np.array(found.names)


def class_priors(run: Run) -> Array | None:
    """Return the prior probabilities of the classes (g)."""
    found = classifier_of(run)
    return None if found is None else found.priors


def of_classes(run: Run, values: Any, given: Any) -> dict[str, AnyArray]:
    """Return the attributes of classes as they were `given` (n), in their own order, with the means of `values` (n, d).

    The means (g x d) are those that LDA has in scikit-learn, and no part of a model. Rows of no class are left out. A
    run without a classifier has none of these.
    """
    found = classifier_of(run)
    if found is None:
        return {}
    classes, members = np.unique(np.asarray(given), return_inverse=True)
    places = {place: found.names.index(str(name)) for place, name in enumerate(classes.tolist())
              if str(name) in found.names}
    means = [np.asarray(values[members == place].mean(axis=0)).ravel() for place in places]
    return {"classes_": classes[list(places)], "priors_": found.priors[list(places.values())],
            "means_": np.array(means)}


def _root(name: str, factor: float) -> Callable[[Run], Any]:
    """Return the function for the root of a multiple of a figure of the fit."""
    return lambda run: None if run.fit.get(name) is None else float(np.sqrt(factor * run.fit[name]))


def _roots_of_sizes(run: Run) -> Array | None:
    found = variances_of(run)
    return None if found is None else np.sqrt(np.maximum(found, 0.0))


def _mixing(run: Run) -> Array | None:
    affine = affine_of(run)
    return affine.directions if affine is not None and run.method == "ica" else None


def _cost(run: Run) -> float | None:
    found = run.fit.get("cost_of_coordinates")
    return None if found is None else float(found / len(run.embedding))


ATTRIBUTES: Mapping[str, Attribute] = {
    "components_": Attribute("Axes as rows (p x d), of parts in NMF, of weights of the columns in ICA.", components),
    "mean_": Attribute("Means of the columns (d).", mean),
    "mixing_": Attribute("Columns of independent sources (d x p), of ICA.", _mixing),
    "explained_variance_": Attribute("Variances along the axes, over n - 1 (p).", explained_variance),
    "explained_variance_ratio_": Attribute("Shares of the axes in all variance (p).", ratio),
    "singular_values_": Attribute("Singular values of the centered rows (p).", _roots_of_sizes),
    "noise_variance_": Attribute("Variance of the noise, of each column in FA.", noise_variance),
    "eigenvalues_": Attribute("Eigenvalues of the centered kernel (p).", sizes_of),
    "eigenvectors_": Attribute("Eigenvectors of the centered kernel (n x p).", eigenvectors),
    "stress_": Attribute("The stress that the method minimizes.", of_fit("stress")),
    "kl_divergence_": Attribute("The divergence at the end, of TSNE.", of_fit("divergence")),
    "reconstruction_err_": Attribute("Root of twice the objective, of NMF.", _root("objective", 2.0)),
    "reconstruction_error_": Attribute("Cost of coordinates of length one, of LLE.", _cost),
    "n_iter_": Attribute("Number of iterations.", of_fit("iterations")),
    "n_samples_": Attribute("Number of rows.", lambda run: len(run.embedding)),
    "n_components_": Attribute("Number of axes.", lambda run: run.embedding.shape[1]),
    "classes_": Attribute("Classes as they were given, of LDA (g).", class_names),
    "priors_": Attribute("Prior probabilities of the classes, of LDA (g).", class_priors),
    "dist_matrix_": Attribute("Lengths of shortest paths between all points (n x n), of Isomap.", path_lengths),
    "affinity_matrix_": Attribute("Weights of the edges of the graph (n x n, sparse), of Laplacian.", edge_weights),
    "loadings_": Attribute("Loadings (d x p).", lambda run: run.loadings and run.loadings.values)}
