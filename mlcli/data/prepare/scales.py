"""Centers and spreads of columns, computed on exactly rescaled numbers so that nothing overflows or vanishes."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.stages.stage import note
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.naming import listed
from mlcli.base.values.scaling import Unit, all_finite
from mlcli.data.options.wording import counted
from mlcli.errors import DataError

FARTHEST = 1000  # largest exponent: its power of two and the inverse are doubles
BLOCK = 2**20  # numbers in a block: 8 MiB for each thread
NEAR_ZERO = 8 * np.finfo(np.float64).eps  # of the largest value: a standard deviation this small is rounding


@frozen
class Scale:
    """A column x becomes (x 2**-exponent - center) / spread; a spread of 0 makes it 0."""

    exponent: Indices  # d
    center: Array  # d
    spread: Array  # d

    def of_columns(self, chosen: slice) -> "Scale":
        """Return the scale of some columns that lie side by side."""
        return Scale(self.exponent[chosen], self.center[chosen], self.spread[chosen])


def exponents(values: Array) -> Indices:
    """Return for every column of an (n, d) array the e with 2**-e times its largest size in [0.5, 1), within limits."""
    largest = np.maximum(np.fmax.reduce(values, initial=0.0), -np.fmin.reduce(values, initial=0.0))
    return np.clip(np.frexp(largest)[1], -FARTHEST, FARTHEST).astype(np.int64)


def times_power(values: Array, exponent: Indices) -> Array:
    """Return an (n, d) array with every column times its power of two, 2**exponent."""
    with np.errstate(over="ignore", under="ignore"):
        return values * np.ldexp(1.0, exponent)


def means(values: Array, present: Array | None = None) -> Array:
    """Return the means of the columns of an (n, d) array in two passes; `present` (n x d, 0 or 1) leaves values out."""
    weights = np.ones((len(values), 1)) if present is None else present
    count = weights.sum(axis=0)
    first = (values * weights).sum(axis=0) / count
    corrected: Array = first + ((values - first) * weights).sum(axis=0) / count
    return corrected


def spreads(values: Array) -> tuple[Array, Unit, AnyArray]:
    """Return the columns' standard deviations over n, their unit, and flags of constant columns.

    `values` is an (n, d) array; the first and last results are (d,) arrays. Only finite cells count; a
    deviation within rounding of the column's largest value counts as zero.
    """
    deviations, shifts, constant = [], [], []
    for columns in row_blocks(values.shape[1], BLOCK, len(values)):
        part = values[:, columns]
        present = np.isfinite(part)
        known = np.where(present, part, 0.0)
        shift = exponents(known)
        known = times_power(known, -shift)
        weights = present.astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore", under="ignore"):
            residuals = (known - means(known, weights)) * weights
            deviation = np.sqrt((residuals**2).sum(axis=0) / weights.sum(axis=0))
        deviation = np.where(np.isfinite(deviation), deviation, 0.0)
        flat = deviation <= NEAR_ZERO * np.abs(known).max(axis=0, initial=0.0)
        deviations.append(np.where(flat, 0.0, deviation))
        shifts.append(shift)
        constant.append(flat)
    shift = np.concatenate(shifts)
    top = int(shift.max(initial=-(10**6)))
    return np.ldexp(np.concatenate(deviations), shift - top), Unit(top), np.concatenate(constant)


def most_variable(values: Array, count: int) -> Indices:
    """Return the columns of the largest variances of an (n, d) array, in their own order; of equal ones the first."""
    deviations, _, _ = spreads(values)
    return np.sort(np.argsort(-deviations, kind="stable")[:count])


def fit_scale(values: Array, columns: tuple[str, ...], scale: str, divisor: str) -> Scale:
    """Return the center and spread of every column of an (n, d) array, without NaN.

    Raises DataError for equal quartiles.
    """
    exponent = exponents(values)
    rescaled = times_power(values, -exponent)
    present = None if all_finite(rescaled) else np.isfinite(rescaled).astype(np.float64)
    count = len(values) if present is None else present.sum(axis=0)
    low, high = np.fmin.reduce(rescaled), np.fmax.reduce(rescaled)
    center = np.where(low == high, high, means(rescaled if present is None else np.nan_to_num(rescaled), present))
    if scale == "center":
        return Scale(exponent, center, np.ldexp(1.0, -exponent))
    with np.errstate(under="ignore"):
        squares = np.nansum((rescaled - center) ** 2, axis=0)
    deviation = np.sqrt(squares / count)
    constant = (low == high) | (deviation <= NEAR_ZERO * np.maximum(high, -low))
    if scale == "standard":
        spread = deviation if divisor == "n" else np.sqrt(squares / np.maximum(1, count - 1))
    elif scale == "range":
        center, spread = low, high - low
    else:
        center, spread = _quartiles(rescaled)
        _require_spread(spread, constant, columns)
    warn_of_constants(constant, columns)
    return Scale(exponent, center, np.where(constant, 0.0, spread))


def _quartiles(values: Array) -> tuple[Array, Array]:
    """Return the median and the range between the quartiles of every column."""
    quantiles = np.quantile if all_finite(values) else np.nanquantile  # the latter is slow
    lower, median, upper = quantiles(values, [0.25, 0.5, 0.75], axis=0)
    return median, upper - lower


def _require_spread(spread: Array, constant: Array, columns: tuple[str, ...]) -> None:
    """Raise DataError for columns that vary although their quartiles are equal."""
    names = [columns[column] for column in np.flatnonzero((spread == 0) & ~constant.astype(bool))]
    if names:
        raise DataError("ZERO-QUARTILES", f"{counted(len(names), 'column')} with equal quartiles: {listed(names)}",
                        where="prepare.scale", hint="choose another scale, or leave the columns out with "
                                                    "{input.columns}")


def warn_of_constants(constant: AnyArray, columns: tuple[str, ...]) -> None:
    """Warn about constant columns, which become zero."""
    names = [columns[column] for column in np.flatnonzero(constant)]
    if names:
        note("W-CONST", f"{counted(len(names), 'column')} constant, set to zero: {listed(names)}", columns=names[:100])


def largest(values: Array) -> Array:
    """Return the largest number of each column (d) of numbers of zero or more (n x d)."""
    found: Array = values.max(axis=0, initial=0.0)
    return found


def means_present(values: Array) -> Array:
    """Return the mean of the numbers over zero of each column (d) of numbers of zero or more (n x d)."""
    tops = largest(values)
    shares = np.divide(values, tops, out=np.zeros(values.shape), where=tops > 0)  # whose sums cannot overflow
    found: Array = tops * (shares.sum(axis=0) / np.maximum(np.count_nonzero(values, axis=0), 1))
    return found


def root_masses(values: Array) -> Array:
    """Return the roots of the columns' shares (d) of the total of numbers of zero or more (n x d)."""
    top = float(values.max(initial=0.0))
    sums = (values / top).sum(axis=0) if top else np.zeros(values.shape[1])
    found: Array = np.sqrt(sums / (sums.sum() or 1.0))
    return found
