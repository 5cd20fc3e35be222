"""The certificate of white coordinates: variances, correlations, and covariances with the columns."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, ratio


def covariance_checks(coordinates: Array, variances: Array) -> list[Check]:
    """Check that coordinates (n x p) have mean zero, these variances (p, divisor n) and no correlation."""
    size, rounding = max(len(coordinates), 1), EPS * max(*coordinates.shape, 10)
    gap = coordinates.T @ coordinates / size - diagonal(variances, coordinates)
    spread = float(variances.max(initial=0.0))
    means = np.abs(coordinates.mean(axis=0)).max(initial=0.0)
    return [ratio("centering", float(means), rounding * np.sqrt(spread), "the mean of every axis is zero"),
            ratio("covariance", float(np.abs(gap).max(initial=0.0)), rounding * spread,
                  "axes are uncorrelated and have the variances of the model")]


def diagonal(values: Array, coordinates: Array) -> Array:
    """Return the diagonal matrix (p x p) of the first of some values (r), zeros for axes of coordinates beyond them."""
    count = coordinates.shape[1]
    return np.diag(np.pad(values[:count], (0, max(count - len(values), 0))))


def unit_variances(axes: Array) -> Array:
    """Return one for each axis (columns of d x p), and zero for an axis of zeros."""
    return np.any(axes != 0, axis=0).astype(np.float64)


def loadings_check(points: Array, coordinates: Array, directions: Array | None) -> list[Check]:
    """Check that loadings (d x p), if any, are covariances (divisor n) of points (n x d) with coordinates (n x p)."""
    if directions is None:
        return []
    centered = points - points.mean(axis=0)
    gap = centered.T @ coordinates / max(len(points), 1) - directions
    size = float(np.abs(points).max(initial=0.0)) * (1 + float(np.abs(coordinates).max(initial=0.0)))
    return [ratio("loadings", float(np.abs(gap).max(initial=0.0)), EPS * max(*points.shape, 10) * size,
                  "loadings are the covariances of the columns with the axes")]


def correlations_check(white: Array, condition: float, coordinates: Array, correlations: Array) -> Check:
    """Check that white coordinates of a second view (n x r) explain the squared correlations of coordinates (n x p)."""
    shared = white.T @ coordinates / max(len(white), 1)
    gap = shared.T @ shared - diagonal(correlations**2, coordinates)
    return ratio("correlations", float(np.abs(gap).max(initial=0.0)), EPS * max(*white.shape, 10) * condition,
                 "regressions of the axes on the second view leave what the canonical correlations say")


def slowness_check(coordinates: Array, slowness: Array) -> Check:
    """Check that steps between rows of coordinates (n x p) are uncorrelated with the slownesses (p) as mean squares."""
    steps = np.diff(coordinates, axis=0)
    gap = steps.T @ steps / max(len(steps), 1) - diagonal(slowness, coordinates)
    return ratio("slowness", float(np.abs(gap).max(initial=0.0)), EPS * max(4 * len(coordinates), 40),
                 "mean squared steps are the slownesses, and steps of different axes are uncorrelated")


def class_checks(coordinates: Array, labels: Sequence[str], ratios: Array, wrong: float) -> list[Check]:
    """Check that coordinates (n x p) have covariance one within classes (divisor n - g), and ratios between them.

    The ratios (r) are variances between classes (divisor g - 1); `wrong` bounds the rounding of coordinates.
    """
    names, classes = np.unique(np.asarray(labels), return_inverse=True)
    counts = np.bincount(classes)
    means = np.zeros((len(names), coordinates.shape[1]))
    np.add.at(means, classes, coordinates)
    means /= counts[:, None]
    rest = coordinates - means[classes]
    drawn = np.any(coordinates != 0, axis=0).astype(np.float64)
    within = rest.T @ rest / max(len(rest) - len(names), 1) - np.diag(drawn)
    between = (means * counts[:, None]).T @ means / max(len(names) - 1, 1) - diagonal(ratios, coordinates)
    rounding, top = EPS * max(*coordinates.shape, 10), float(ratios.max(initial=0.0))
    return [ratio("within", float(np.abs(within).max(initial=0.0)), rounding * (1 + top) + wrong * (1 + wrong),
                  "the covariance within the classes is the identity"),
            ratio("between", float(np.abs(between).max(initial=0.0)),
                  rounding * (1 + top) + wrong * (np.sqrt(top) + wrong),
                  "the covariance between the classes is diagonal and holds the ratios")]
