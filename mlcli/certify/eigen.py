"""Checks of eigenpairs: spectrum and coordinates agree, no eigenvalue was left out, and steps of power iteration are
possible.
"""

from collections.abc import Callable, Iterator

import numpy as np

from mlcli.base.rows.scratch import parts
from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, count, ratio, skipped
from mlcli.certify.subject import Subject, max_abs
from mlcli.core.chain.stages import Stages

STEPS = 10.0  # roundings of a product with a matrix that a quotient may lose from one step to the next


def power_checks(subject: Subject, chain: Stages) -> Iterator[Check]:
    """Yield checks of the eigenvalue estimates and residuals of each axis, where power iteration solved the matrix.

    For a unit vector v on the axes from k on, r = ‖Av - θv‖ and θ = vᵀAv: r² = ‖Av‖² - θ² is at most θ(λₖ - θ), and
    the next step's θ is at least θ + r²/θ, as vᵀAv vᵀA³v ≥ ‖Av‖⁴.
    """
    curves, spectrum = subject.model.curves, subject.spectrum
    if not chain.by_columns:
        return
    if subject.model.trace is None or not {"axis", "residual"} <= set(curves):
        yield count("power", 1, "traces of power iteration that are missing")
        return
    plain = subject.model.trace * spectrum.divisor
    estimates, top = (subject.data.unit**2).measured(plain), subject.top
    axes, residuals = (np.asarray(curves[name].value) for name in ("axis", "residual"))
    if not np.isfinite(plain).all() or (subject.top > 0 and not plain.any()):
        yield skipped("power", "the estimates are outside the range of doubles")
        return
    places, last = axes.astype(int) - 1, np.append(np.diff(axes) != 0, True)
    known = np.unique(places)
    if not np.array_equal(known[: len(spectrum.solved)], np.arange(len(spectrum.solved))):
        yield count("power", 1, "traces that do not have the steps of each eigenvalue")
        return
    kept = places < len(spectrum.solved)
    values, within, gaps = spectrum.solved[places[kept]], estimates[kept], residuals[kept] * top
    rounding = STEPS * EPS * max(len(subject.embedding), subject.data.values.shape[1]) * top
    off = np.abs(within - values)[last[kept]]
    least = within + np.divide(gaps**2, within, out=np.zeros_like(gaps), where=within > 0)
    fall = (least[:-1] - within[1:])[np.diff(axes[kept]) == 0]
    slack = rounding + spectrum.tolerance * top
    room = np.sqrt(np.maximum(within * (values + slack - within), 0.0)) + slack
    worst = max(max_abs(off), float(fall.max(initial=0.0)), float((within - values).max(initial=0.0)))
    yield ratio("power", worst, slack, "θ grows by r²/θ or more with each step of power iteration, and ends at λ")
    yield ratio("power residuals", max(float((gaps - room).max(initial=0.0)), max_abs(gaps[last[kept]])), slack,
                "r is at most √(θ(λ - θ)), and ends within the tolerance")


INERTIA = 10_000  # largest number of rows for which LDLᵀ, n³/3 products, is computed


def spectrum_checks(subject: Subject, *, unit: bool = False) -> Iterator[Check]:
    """Yield checks of eigenvectors without the input: the order of eigenvalues, their sum, and orthogonality.

    With `unit` axes have length √n, else √λ.
    """
    spectrum = subject.spectrum
    if not subject.places:
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
