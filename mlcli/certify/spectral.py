"""What the spectrum and the embedding say of each other, without a look at the data."""

from collections.abc import Iterator

import numpy as np

from mlcli.base.check import EPS, Check, count, ratio, skipped
from mlcli.certify.subject import Subject


def spectral(subject: Subject) -> Iterator[Check]:
    """All checks of this page."""
    spectrum = subject.model.spectrum
    parts = {"embedding": subject.embedding, "eigenvalues": spectrum.solved, "axes": subject.projector.axes,
             "means": subject.projector.centering.means}
    wrong = sum(int(np.size(part) - np.isfinite(part).sum()) for part in parts.values())
    yield count("finite", wrong, f"numbers that are not finite in {', '.join(parts)}")
    if wrong or subject.method.proof in ("own", "latent"):
        return
    yield _descending(subject)
    yield _sum(subject)
    if (subject.fit < 0).any():
        yield skipped("orthogonality", "without the input it is not known which rows carried the fit")
        return
    yield _orthogonality(subject)
    if subject.projector.centering.across or subject.method.proof == "weights":
        yield _centering(subject)


def _descending(subject: Subject) -> Check:
    """Eigenvalues stand in descending order, and there is one for every axis."""
    solved = subject.model.spectrum.solved
    wrong = int(np.sum(np.diff(solved) > 0)) + max(subject.embedding.shape[1] - len(solved), 0)
    return count("order", wrong, "eigenvalues that are larger than the one before, or missing for an axis")


def _orthogonality(subject: Subject) -> Check:
    """YᵀY = Λ where coordinates are V √λ, and n I where they have unit variance."""
    coordinates = subject.carriers
    product = coordinates.T @ coordinates
    if subject.method.proof == "weights":
        scale = float(len(coordinates))
        gap = product - scale * np.eye(len(product))
        return ratio("orthogonality", float(np.abs(gap).max(initial=0.0)), subject.rounding * scale, "YᵀY = n I")
    gap = product - np.diag(subject.values)
    allowed = (subject.rounding + subject.model.spectrum.tolerance) * subject.top * subject.placing
    return ratio("orthogonality", float(np.abs(gap).max(initial=0.0)), allowed, "YᵀY = Λ, the eigenvalues kept")


def _centering(subject: Subject) -> Check:
    """1ᵀY = 0: the constant vector, with eigenvalue zero, is no part of any axis beyond what rounding mixes in."""
    coordinates = subject.carriers
    sums = np.abs(coordinates.sum(axis=0)) / np.sqrt(max(len(coordinates), 1))
    if subject.method.proof == "weights":
        allowed = (subject.rounding + subject.model.spectrum.tolerance) * np.sqrt(len(coordinates))
        return ratio("centering", float(sums.max(initial=0.0)), float(allowed), "column sums of Y are zero")
    error = float((sums * np.sqrt(subject.values)).max(initial=0.0))
    # centering takes the means away, and leaves their rounding
    means = EPS * len(coordinates) * float(np.abs(subject.projector.centering.means).max(initial=0.0))
    allowed = (subject.rounding + subject.model.spectrum.tolerance) * subject.top + means
    return ratio("centering", error, allowed, "column sums of Y are zero (K1 = 0)")


def _sum(subject: Subject) -> Check:
    """The sum of all eigenvalues is the trace; of some eigenvalues of a kernel without negative ones, no more."""
    spectrum = subject.model.spectrum
    if not np.isfinite(spectrum.solved_trace):
        return skipped("sum", "the trace is not known")
    total, sizes = float(spectrum.solved.sum()), float(np.abs(spectrum.solved).sum())
    if not spectrum.complete:
        return skipped("sum", "only the top of the spectrum was computed")
    scale = subject.rounding * max(sizes, abs(spectrum.solved_trace))
    return ratio("sum", abs(total - spectrum.solved_trace), scale, "Σλ = the trace that the run states")
