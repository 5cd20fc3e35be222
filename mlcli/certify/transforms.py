"""Transforms of features for the certificate, by formulas that differ from those of `data.prepare`."""

from collections.abc import Callable, Sequence

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.check import EPS

NEAR = 1e-9  # share of a row's largest number by which a transform may be rounded
JUMPS = {"log": np.inf, "presence": 1.0, "rank": np.inf, "rrank": 1.0}  # beside zero, at most
SERIES = 1e-5  # below it three terms of the series of log(1 + x) are enough


BY_COLUMN = ("max", "frequency", "wisconsin", "chisquare")  # whose result depends on other rows


def transform(values: Array, names: Sequence[str]) -> tuple[Array, Array]:
    """Return the rows after the transforms in their order, an (m, d) array, and rounding bounds, an (m, 1) array.

    The bound comes on top of a relative 1e-9. A logarithm is rounded relative to its own size, and log-ratios of nearly
    equal cells are small differences of logarithms. Ranks are those of cells that earlier transforms have rounded.
    """
    given, errors = values, np.zeros((len(values), 1))
    for place, name in enumerate(names):
        found = FORMULAS[name](values)
        if errors.any():  # of log-ratios
            errors = _grown(errors, values, found, name)
        if name in ("rank", "rrank") and place:
            by_column = not set(BY_COLUMN).isdisjoint(names[:place])  # then cells that were equal are rounded apart
            undecided = _undecided(values, np.broadcast_to(np.arange(values.shape[1]), values.shape) if by_column
                                   else given)
            errors += undecided / (1 if name == "rank" else (values > 0).sum(axis=1, keepdims=True))
        if name in ("log", "clr", "rclr", "alr"):
            values = np.where(values > 0, values, 1.0)
            errors += 64 * EPS * (1 + np.abs(np.log(values)).max(axis=1, keepdims=True))
        values = found
    return values, errors


def _grown(errors: Array, before: Array, after: Array, name: str) -> Array:
    """Return the errors (m x 1) as a transform scales the rows (m x d); those of a row of zeros go through it."""
    sizes = np.linalg.norm(before, axis=1, keepdims=True)
    growth = np.linalg.norm(after, axis=1, keepdims=True) / np.where(sizes > 0, sizes, 1.0)
    grown = np.where(sizes > 0, errors * growth, FORMULAS[name](errors))
    if name in JUMPS:
        grown[(np.abs(before) <= errors).any(axis=1)] = JUMPS[name]
    return np.asarray(grown)


def _undecided(x: Array, names: Array) -> Array:
    """Return the most cells of a row that rounding may put before or after one of the others, an (m, 1) array.

    Cells (m x d) with one name are equal.
    """
    most = np.zeros((len(x), 1))
    for row, (cells, own) in enumerate(zip(x, names, strict=True)):
        _, first, counts = np.unique(own, return_index=True, return_counts=True)
        order = np.argsort(cells[first])
        ordered, reach = cells[first][order], NEAR * np.abs(cells).max(initial=0.0)
        before = np.append(0, np.cumsum(counts[order]))
        near = before[np.searchsorted(ordered, ordered + reach, "right")] - before[
            np.searchsorted(ordered, ordered - reach)] - counts[order]
        most[row] = near[ordered > 0].max(initial=0)  # zeros have no rank
    return most


def _log1p(x: Array) -> Array:
    """log(1 + x) as 2 artanh(x / (2 + x)) for x up to one, and by three terms of its series near zero."""
    near = np.clip(x, None, 1.0)
    found = np.where(x > 1, np.log(x.clip(1.0) + 1), 2 * np.arctanh(near / (2 + near)))
    return np.where(np.abs(x) < SERIES, near * (1 - near * (0.5 - near / 3)), found)  # half the smallest double is zero


def _normalize(x: Array, order: int) -> Array:
    """Rows over their norm of an order; divided by their largest entry first, so that no power overflows."""
    sized = x / np.abs(x).max(axis=1, keepdims=True)
    return np.asarray(sized / np.linalg.norm(sized, order, axis=1, keepdims=True))


def _clr(x: Array) -> Array:
    """Centered log-ratios, by logarithms to the base two."""
    powers = np.log2(x) - np.log2(x[:, :1])  # equal cells are zero
    return np.asarray(np.log(2) * (powers - powers.sum(axis=1, keepdims=True) / x.shape[1]))


def _robust_clr(x: Array) -> Array:
    """Centered log-ratios of the cells over zero of each row, row by row."""
    found = np.zeros(x.shape)
    for row, values in zip(found, x, strict=True):
        row[values > 0] = _clr(values[values > 0][None, :])[0]
    return found


def _ranks(x: Array) -> Array:
    """Ranks by SciPy, less the number of zeros in the row."""
    from scipy.stats import rankdata

    return np.where(x > 0, rankdata(x, axis=1) - (x == 0).sum(axis=1, keepdims=True), 0.0)


def _inverse(sizes: Array) -> Array:
    return np.where(sizes > 0, 1 / np.where(sizes > 0, sizes, 1.0), 0.0)


FORMULAS: dict[str, Callable[[Array], Array]] = {
    "log1p": _log1p,
    "sqrt": lambda x: np.asarray(x**0.5),
    "total": lambda x: _normalize(x, 1),
    "hellinger": lambda x: np.asarray(_normalize(x, 1) ** 0.5),
    "cpm": lambda x: 1e6 * _normalize(x, 1),
    "unit": lambda x: _normalize(x, 2),
    "presence": lambda x: np.sign(np.abs(x)),
    "clr": _clr,
    "rclr": _robust_clr,
    "alr": lambda x: np.log(2) * (np.log2(x) - np.log2(x[:, :1])),
    "log": lambda x: np.where(x > 0, np.log(2 * np.where(x > 0, x, 1.0)) / np.log(2.0), 0.0),
    "rank": _ranks,
    "rrank": lambda x: _ranks(x) / (x > 0).sum(axis=1, keepdims=True),
    "max": lambda x: x * _inverse(np.sort(x, axis=0)[-1]),
    "frequency": lambda x: x * _inverse(np.array([np.mean(column[column > 0]) if column.any() else 0.0
                                                  for column in x.T])),
    "wisconsin": lambda x: _normalize(FORMULAS["max"](x), 1),
    "chisquare": lambda x: _normalize(x, 1) * _inverse(np.sqrt(_normalize(x.sum(axis=0)[None, :], 1)[0])),
}
