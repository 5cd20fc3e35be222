"""The table spectrum.csv: eigenvalues, their shares of the trace, the running sum of shares, and what some add."""

from pathlib import Path

import numpy as np

from mlcli.base.types import Array
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.findings.frame.finished_run import CONSTRAINED, CsvColumns
from mlcli.findings.spectrum import ADJUSTED, ANGLES, DIGITS, HEADER, SHARED
from mlcli.rundir.reading import damaged

RIGHT = 90  # degrees
ALIKE = 1e-9  # relative difference of sums that were added otherwise


def spectrum_rows(spectrum: Spectrum, rows: int | None) -> CsvColumns:
    """Return the first `rows` eigenvalues, by default all computed ones, with their shares.

    Proportions are over the trace, negative eigenvalues included, and NaN where it is unknown. Of a kernel that is the
    inverse of a cost, the cost of each axis follows its eigenvalue; of a constrained ordination, whether it is that of
    a constrained axis, 1 or 0; of answers, its adjusted inertia with its share. Axes that the eigensolver bounds have
    their certain digits; those that share an eigenvalue, the first component of their span;
    those by landmarks, the bounds of their angles to the axes of all points.
    """
    proportions, costs, adjusted = spectrum.proportions, spectrum.costs, spectrum.adjusted
    columns = dict(zip(HEADER[1:], [spectrum.eigenvalues, proportions, np.cumsum(proportions)], strict=True))
    if costs is not None:
        columns["cost"] = costs
    if np.isfinite(spectrum.turns).any():
        columns[DIGITS] = _padded(spectrum.certain_digits, len(proportions))
    if len(spectrum.errors):
        columns[ANGLES] = _padded(spectrum.errors, len(proportions))
    if len(spectrum.shared):
        partners = np.full(len(proportions), np.nan)
        for first, stop in spectrum.shared.tolist():
            partners[first:stop] = first + 1
        columns[SHARED] = partners
    if spectrum.constrained is not None:
        columns[CONSTRAINED] = spectrum.constrained.astype(np.float64)
    if len(adjusted):
        padded = _padded(adjusted, len(proportions))
        columns |= dict(zip(ADJUSTED, (padded, padded / spectrum.adjusted_total), strict=True))
    shown = {name: column[:rows] for name, column in columns.items()}
    places = np.arange(1, len(shown["eigenvalue"]) + 1, dtype=np.float64)
    return CsvColumns({HEADER[0]: places, **shown})


def _padded(values: Array, size: int) -> Array:
    """Return values with NaN after them, an array of a size."""
    return np.pad(values, (0, size - len(values)), constant_values=np.nan)


def require_consistent(rows: CsvColumns, path: Path) -> None:
    """Raise UnsafeFile for another running sum than that of the shares, adjusted inertias without theirs, marks of
    constrained axes that are neither 1 nor 0, numbers of digits that no double has, angles
    that are none, and axes that share with none.
    """
    if not rows.columns.keys().isdisjoint(ADJUSTED) and not rows.columns.keys() >= {*ADJUSTED}:
        raise damaged(path, f"{' and '.join(ADJUSTED)} are columns of one table")
    if CONSTRAINED in rows.columns and not set(rows.numbers(CONSTRAINED)) <= {0.0, 1.0}:
        raise damaged(path, f"{CONSTRAINED} is neither 1 nor 0")
    if DIGITS in rows.columns:
        digits = [number for number in rows.numbers_or_none(DIGITS) if number is not None]
        if not {*digits} <= {*map(float, range(16))}:
            raise damaged(path, f"{DIGITS} are whole numbers from 0 to 15")
    if ANGLES in rows.columns and not all(0 <= (angle or 0.0) <= RIGHT for angle in rows.numbers_or_none(ANGLES)):
        raise damaged(path, f"{ANGLES} are angles from 0 to {RIGHT} degrees")
    if SHARED in rows.columns:
        named = [(place, first) for place, first in enumerate(rows.numbers_or_none(SHARED), 1) if first is not None]
        if any(first != place and (place - 1, first) not in named for place, first in named):
            raise damaged(path, f"{SHARED} is the first component of each run of equal eigenvalues")
    shares, given = rows.array("proportion"), rows.array("cumulative")
    with np.errstate(over="ignore", invalid="ignore"):
        sums, sizes = np.cumsum(shares), np.cumsum(np.abs(shares))
        wrong = ~((given == sums) | (np.abs(given - sums) <= ALIKE * sizes) | (np.isnan(given) & np.isnan(sums)))
    if wrong.any():
        line = int(np.flatnonzero(wrong)[0]) + 2  # the first one holds the names
        raise damaged(path, "cumulative is not the running sum of the proportions", line)


def spectrum_facts(spectrum: Spectrum) -> dict[str, object]:
    """Return the spectrum in figures, for run.json: the trace and its parts, each part with its own name.

    If only the largest eigenvalues were computed, the sums of positive eigenvalues, of absolute values and of negative
    ones are null. Bounds of the sum of negative ones, from the trace and the Frobenius norm, are given instead.
    `further_at_least` holds lower bounds of the next eigenvalues in order; it is empty if one is not a double.
    `shared` holds the first and the last component of each run of axes that share an eigenvalue.
    """
    values, bounds = spectrum.eigenvalues, spectrum.further_at_least
    whole, (least, most) = spectrum.complete, spectrum.negative_mass
    share_least, share_most = spectrum.negative_shares
    smallest = float(values.min()) if whole and len(values) else None
    positive = float(values[values > 0].sum()) if whole else None
    return {
        "computed": len(values), "complete": whole, "divisor": spectrum.divisor,
        "exponent": spectrum.unit.exponent,  # of the unit of the computation
        "trace": _finite(spectrum.trace / spectrum.divisor),
        "frobenius": _finite(spectrum.frobenius / spectrum.divisor),
        "sum_of_positive": _finite(positive), "sum_of_sizes": _finite(float(np.abs(values).sum()) if whole else None),
        "negative_sum_at_least": _finite(least / spectrum.divisor),
        "negative_sum_at_most": _finite(most / spectrum.divisor),
        "negative_share": _finite(spectrum.negative_share), "negative_share_at_least": _finite(share_least),
        "negative_share_at_most": _finite(share_most), "smallest": _finite(smallest),
        "certain_digits": [_finite(float(digits)) for digits in spectrum.certain_digits],  # of each axis
        **({"shared": [[first + 1, stop] for first, stop in spectrum.shared.tolist()]} if len(spectrum.shared) else {}),
        **({"angle_bounds": [_finite(float(angle)) for angle in spectrum.errors]} if len(spectrum.errors) else {}),
        "tolerance": spectrum.tolerance, "further_at_least": bounds.tolist() if np.isfinite(bounds).all() else [],
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None
