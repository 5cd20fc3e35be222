"""Checks of eigenpairs: spectrum and coordinates agree, and no eigenvalue was left out."""

from collections.abc import Callable, Iterator

import numpy as np

from mlcli.base.rows.scratch import parts
from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, count, ratio, skipped
from mlcli.certify.subject import Subject, max_abs

INERTIA = 10_000  # largest number of rows for which LDLᵀ, n³/3 products, is computed


def spectral_checks(subject: Subject, claimed: bool, unit: bool) -> Iterator[Check]:
    """Yield checks without the input: all numbers are finite; with `claimed` eigenvectors, order, trace, orthogonality.

    With `unit` axes have length √n, else √λ.
    """
    spectrum = subject.spectrum
    named = {"embedding": subject.embedding, "eigenvalues": spectrum.solved, "axes": subject.projector.axes,
             "means": subject.projector.centering.means}
    wrong = sum(int(np.size(some) - np.isfinite(some).sum()) for part in named.values() for some in parts(part))
    yield count("finite", wrong, f"numbers that are not finite in {', '.join(named)}")
    if wrong or not claimed:
        return
    wrong = int(np.sum(np.diff(spectrum.solved) > 0)) + max(len(subject.values) - len(spectrum.solved), 0)
    yield count("order", wrong, "eigenvalues that are larger than the one before, or missing for an axis")
    if spectrum.complete and np.isfinite(spectrum.solved_trace):
        total, sizes = float(spectrum.solved.sum()), float(np.abs(spectrum.solved).sum())
        yield ratio("sum", abs(total - spectrum.solved_trace), subject.rounding * max(
            sizes, abs(spectrum.solved_trace)), "Σλ = the trace that the run states")
    if subject.fit_rows_unknown:
        yield skipped("orthogonality", "without the input it is not known which rows carried the fit")
        return
    coordinates, size = subject.fit_coordinates, float(subject.size) if unit else subject.top
    lengths = np.full(len(subject.values), size) if unit else subject.values
    allowed = subject.precision * size
    gap = sum(some.T @ some for some in parts(coordinates)) - np.diag(lengths)
    yield ratio("orthogonality", max_abs(gap), allowed * subject.landmark_growth + subject.entry,
                "YᵀY = n I" if unit else "YᵀY = Λ, the eigenvalues kept")
    if subject.projector.centering.across or unit:
        # the constant vector is not part of any axis; centering subtracts the means and leaves their rounding
        sums = np.abs(sum(some.sum(axis=0) for some in parts(coordinates)))
        sums *= np.sqrt(lengths / max(len(coordinates), 1))
        means = EPS * len(coordinates) * max_abs(subject.projector.centering.means)
        yield ratio("centering", float(sums.max(initial=0.0)), allowed + means, "column sums of Y are zero")


def worst(gaps: Array, sizes: Array | float) -> float:
    """Return the largest quotient of gaps and sizes, (p,) arrays or of any one shape; zero where there is no gap."""
    return float(np.divide(gaps, sizes, out=np.zeros_like(gaps), where=gaps > 0).max(initial=0.0))


def count_check(matrix: Callable[[], Array], size: int, last: float, known: int, allowed: float) -> Check:
    """Check that no more than the `known` eigenvalues of a symmetric (n, n) array lie above `last`, the last one kept.

    Sylvester's law: LDLᵀ of A - s I has as many positive pivots as A has eigenvalues above s.
    """
    if size > INERTIA:
        return skipped("count", f"LDLᵀ counts eigenvalues of up to {INERTIA:,} rows")
    from scipy.linalg import eigvalsh_tridiagonal
    from scipy.linalg.lapack import dsytrf

    shift = last + 10 * allowed
    pivots, places, _ = dsytrf((matrix() - shift * np.eye(size)).T, lower=1, lwork=64 * size, overwrite_a=1)
    first = np.flatnonzero(places < 0)[::2]  # the first row of each block of two rows
    beside = np.zeros(max(size - 1, 0))
    beside[first] = pivots[first + 1, first]
    above = int(np.sum(eigvalsh_tridiagonal(np.diag(pivots), beside) > 0))
    return count("count", max(above - known, 0), f"LDLᵀ counts {above} eigenvalues above {shift:.6g}, of {known} known")
