"""Random projections: the directions are of the kind that was asked for, and distances are kept as stated."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.check import EPS, Check, count, ratio
from mlcli.stages.linear.random_projection import some_rows

IMPROBABLE = 6.0  # standard deviations of a figure, beyond which chance does not explain it


def direction_checks(directions: Array, kind: str, density: float) -> list[Check]:
    """Check random directions (d x p): orthogonal frames are, and entries have the values or the moments of their kind.

    Σr² of d p entries of variance 1/p has mean d and variance (k - 1) d / p, with k the entries' kurtosis: 3 if normal,
    1/s of ±1 / √(s p) in a share s.
    """
    (columns, axes), size = directions.shape, directions.size
    if kind == "orthogonal":
        gap = directions.T @ directions * (axes / columns) - np.eye(axes)
        return [ratio("directions", float(np.abs(gap).max(initial=0.0)), EPS * max(columns, 10),
                      "directions are orthonormal, times √(d/p)")]
    checks = []
    if kind == "sparse":
        sized = np.abs(directions[directions != 0]) * np.sqrt(density * axes)
        checks = [count("entries", int(np.sum(np.abs(sized - 1) > 8 * EPS)), "entries other than 0 and ±1 / √(s p)")]
    kurtosis = 3.0 if kind == "gaussian" else 1 / density
    total = float(np.square(directions).sum())
    spread = np.sqrt((kurtosis - 1) * columns / axes) + IMPROBABLE * kurtosis / axes + EPS * size
    wrong = abs(total - columns) > IMPROBABLE * spread
    return [*checks, count("variance", int(wrong), "sums of squared entries that chance does not explain")]


def distortion_checks(points: Array, coordinates: Array, stated: Mapping[str, Any]) -> list[Check]:
    """Check the bound and the ratios of squared distances of coordinates (n x p) to those of points (n x d).
    """
    rows, axes = coordinates.shape
    bound, wanted = stated["bound"], 4 * np.log(max(rows, 1)) / max(axes, 1)
    if bound is None or not np.isfinite(bound):
        checks = [count("bound", int(wanted < 1 / 6 - 8 * EPS), "bounds below one that are not stated")]
    else:
        gap = abs(bound**2 / 2 - bound**3 / 3 - wanted)
        checks = [ratio("bound", gap + max(bound - 1, 0.0), EPS * (1 + wanted), "4 ln n / p is ε²/2 - ε³/3")]
    chosen = some_rows(points)
    before, after = _squares(points[chosen]), _squares(coordinates[chosen])
    differ = before > 0
    known: Mapping[str, float] = stated["distortion"]
    if not differ.any() or not known:
        return [*checks, count("distortion", int(bool(known) != bool(differ.any())), "figures of pairs that differ")]
    ratios = after[differ] / before[differ]
    found = {"smallest": ratios.min(), "mean": ratios.mean(), "largest": ratios.max()}
    gap = max(abs(float(value) - known[name]) for name, value in found.items())
    return [*checks, ratio("distortion", gap, EPS * max(points.shape[1], len(ratios)) * float(ratios.max()),
                           "ratios of squared distances of some pairs, as stated")]


def _squares(points: Array) -> Array:
    """Return the squared distances of all pairs of points (m x d)."""
    first, second = np.triu_indices(len(points), 1)
    apart = points[first] - points[second]
    return np.asarray(np.einsum("ij,ij->i", apart, apart))
