"""The transforms of features by formulas of their own, for the certificate."""

from collections.abc import Callable, Sequence

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.check import EPS

SERIES = 1e-5  # up to which three terms of a logarithm's series are enough


def transformed(values: Array, names: Sequence[str]) -> tuple[Array, Array]:
    """Rows (m x d) after the transforms, in their order, and what rounding may add to each (m x 1) beside 1e-9.

    Logarithms are rounded by their own size, of which little is left where they are all nearly equal.
    """
    errors = np.zeros((len(values), 1))
    for name in names:
        found = FORMULAS[name](values)
        if errors.any():  # of log-ratios, which are near zero
            errors *= np.linalg.norm(found, axis=1, keepdims=True) / np.linalg.norm(values, axis=1, keepdims=True)
        if name == "clr":
            errors += 64 * EPS * (1 + np.abs(np.log(values)).max(axis=1, keepdims=True))
        values = found
    return values, errors


def _log1p(x: Array) -> Array:
    near = np.clip(x, None, 1.0)
    found = np.where(x > 1, np.log(x.clip(1.0) + 1), 2 * np.arctanh(near / (2 + near)))
    return np.where(np.abs(x) < SERIES, near * (1 - near * (0.5 - near / 3)), found)  # halves of the smallest are none


def _over(x: Array, order: int) -> Array:
    sized = x / np.abs(x).max(axis=1, keepdims=True)
    return np.asarray(sized / np.linalg.norm(sized, order, axis=1, keepdims=True))


def _clr(x: Array) -> Array:
    powers = np.log2(x)
    return np.asarray(np.log(2) * (powers - powers.sum(axis=1, keepdims=True) / x.shape[1]))


FORMULAS: dict[str, Callable[[Array], Array]] = {
    "log1p": _log1p,
    "sqrt": lambda x: np.asarray(x**0.5),
    "total": lambda x: _over(x, 1),
    "hellinger": lambda x: np.asarray(_over(x, 1) ** 0.5),
    "cpm": lambda x: 1e6 * _over(x, 1),
    "unit": lambda x: _over(x, 2),
    "presence": lambda x: np.sign(np.abs(x)),
    "clr": _clr,
}
