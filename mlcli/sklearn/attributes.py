"""Attributes of a fit that have scikit-learn's names, computed from its run when they are first asked for."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from mlcli.api import Run
from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.errors import InputMissing
from mlcli.methods import METHODS
from mlcli.stages.similarities.decoders import Affine

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
    "loadings_": Attribute("Loadings (d x p).", lambda run: run.loadings and run.loadings.values)}
