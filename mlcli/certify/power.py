"""The steps of power iteration, by what a Rayleigh quotient and its residual can be; no step is repeated."""

from collections.abc import Iterator

import numpy as np

from mlcli.base.values.check import EPS, Check, count, ratio, skipped
from mlcli.certify.subject import Subject, max_abs

STEPS = 10.0  # roundings of a product with a matrix that a quotient may lose from one step to the next


def power_checks(subject: Subject) -> Iterator[Check]:
    """Yield checks of the eigenvalue estimates and residuals of each axis, where power iteration solved the matrix.

    For a unit vector v on the axes from k on, r = ‖Av - θv‖ and θ = vᵀAv: r² = ‖Av‖² - θ² is at most θ(λₖ - θ), and
    the next step's θ is at least θ + r²/θ, as vᵀAv vᵀA³v ≥ ‖Av‖⁴.
    """
    curves, spectrum = subject.model.curves, subject.spectrum
    if not subject.chain.by_columns:
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
