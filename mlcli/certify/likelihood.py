"""What checks of a latent model share: the covariance of its coordinates, and the likelihood that the run states."""

from collections.abc import Iterator

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, ratio
from mlcli.certify.subject import Subject

ROUNDED = 100.0  # noise of fewer roundings counts as none


def factors_of(subject: Subject) -> Array:
    """Return the covariance Φ (q x q) of the coordinates of probabilistic PCA: I unless they are rotated."""
    axes = subject.embedding.shape[1]
    stated = np.asarray(dict(subject.model.fit).get("factor_correlations") or np.eye(axes), dtype=np.float64)
    return stated if stated.shape == (axes, axes) else np.full((axes, axes), np.nan)


def stated_checks(subject: Subject, likelihood: float, scale: float) -> Iterator[Check]:
    """Check that the log-likelihood is as stated, and that no step of the iteration lowered it."""
    stated, trace = subject.model.fit.get("log_likelihood"), subject.model.trace
    if stated is not None:
        yield ratio("log-likelihood", abs(likelihood - stated), scale, "the sum of the rows' log-densities, as stated")
    if trace is not None and len(trace):
        trace = trace if stated is None else np.append(trace, stated)
        yield ratio("ascent", float(np.maximum(-np.diff(trace), 0.0).max(initial=0.0)),
                    scale + EPS * float(np.abs(trace).max()), "no step lowers the likelihood")
