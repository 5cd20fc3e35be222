"""Shrinkage of the covariance within classes towards a multiple of the identity."""

from typing import Literal

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.stages.algebra.linalg import EPS, symmetric_eigen
from mlcli.stages.linear.whitening import column_lengths

Shrinkage = Literal["ledoit_wolf"] | float


def shrink_within(within: Array, classes: Indices, chosen: Shrinkage) -> Array:
    """Return the shrunk covariance (d x d) of deviations (n x d) from the means of their classes (n), divisor n.

    With a number s it is (1 - s) W + s tr(W)/d I. By Ledoit and Wolf (2004) each class has its own intensity, of its
    columns scaled to variance one, and the covariances are averaged by the classes' sizes, as in scikit-learn. Columns
    that do not vary, at all or in a class, keep variance zero, and do not count in d.
    """
    size, width = within.shape
    if chosen != "ledoit_wolf":
        covariance = within.T @ within / size
        varying = np.diag(covariance) > 0
        least = chosen * np.trace(covariance) / max(int(varying.sum()), 1)
        return np.asarray((1 - chosen) * covariance + least * np.diag(varying.astype(np.float64)))
    total = np.zeros((width, width))
    for number in np.unique(classes):
        rows = within[classes == number]
        scale = column_lengths(rows) / np.sqrt(len(rows))
        own = np.flatnonzero(scale)
        kept, share = scale[own], len(rows) / size
        total[np.ix_(own, own)] += share * ledoit_wolf(rows[:, own] / kept) * np.outer(kept, kept)
    return total


def ledoit_wolf(points: Array) -> Array:
    """Return the shrunk covariance (d x d) of centered points (n x d) with the optimal intensity (Ledoit and Wolf)."""
    size, width = points.shape
    covariance = points.T @ points / size
    mean = float(np.trace(covariance)) / max(width, 1)
    apart = float(np.sum(covariance**2)) - mean**2 * width  # ‖S - m I‖²
    squares = points**2
    spread = (float(np.sum((squares.T @ squares) / size)) - float(np.sum(covariance**2))) / size
    intensity = min(max(spread, 0.0), apart) / apart if apart > 0 else 0.0
    return (1 - intensity) * covariance + intensity * mean * np.eye(width)


def sphering_of(covariance: Array) -> Array:
    """Return the map (d x r) that whitens a covariance (d x d), in the directions above rounding."""
    scale = np.sqrt(np.diag(covariance))
    varying = scale > 0
    kept = scale[varying]
    values, vectors = symmetric_eigen(covariance[np.ix_(varying, varying)] / np.outer(kept, kept))
    significant = values > 10 * EPS * len(values) * values[:1].max(initial=0.0)
    sphere = np.zeros((len(covariance), int(significant.sum())))
    sphere[varying] = vectors[:, significant] / kept[:, None] / np.sqrt(values[significant])
    return sphere
