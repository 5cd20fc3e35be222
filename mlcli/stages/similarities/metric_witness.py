"""Distances of metrics for the certificate, by formulas that share nothing with the fit's: SciPy's where it has them.

Each comes with how far it may differ from the fit's by rounding, which for some metrics is more between near rows.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mlcli.base.check import EPS
from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array
from mlcli.stages.algebra.metrics import Fitted

RADIUS = 6371.0088  # kilometers
SMALL, LARGE = 1e-15, 2.0**600  # distances whose powers may vanish, and what keeps them in range
HIGH = 15.0  # a power that a small difference beside a large one survives
Formula = Callable[[Any, Array, Array], Array]
FORMULAS: dict[str, Formula] = {}


@frozen
class Apart:
    """Distances (m x n), and how far another way of computing them may differ."""

    distances: Array
    errors: Array


def apart(metric: Fitted, left: Array, right: Array) -> Apart:
    """Distances of points under a metric (m x n)."""
    distances = FORMULAS[metric.name](metric, left, right).reshape(len(left), len(right))
    own = SLACK.get(metric.name)
    slack = 0.0 if own is None else own(distances, np.vstack([left, right]))
    return Apart(distances, EPS * ((64 + right.shape[1]) * distances + 64 * slack))


def pairs_apart(metric: Fitted, left: Array, right: Array) -> Apart:
    """Distances (m) of points to one other point each."""
    found = [apart(metric, left[row : row + 1], right[row : row + 1]) for row in range(len(left))]
    return Apart(np.array([one.distances[0, 0] for one in found]), np.array([one.errors[0, 0] for one in found]))


def _formula(*names: str) -> Callable[[Formula], Formula]:
    def declare(formula: Formula) -> Formula:
        FORMULAS.update(dict.fromkeys(names, formula))
        return formula

    return declare


@_formula("euclidean", "cityblock", "chebyshev", "braycurtis", "canberra", "hamming")
def _by_scipy(metric: Any, left: Array, right: Array) -> Array:
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(left, right, metric.name))


@_formula("minkowski")
def _minkowski(metric: Any, left: Array, right: Array) -> Array:
    """High powers by logarithms, as they may vanish."""
    from scipy.special import logsumexp

    if metric.p <= HIGH:
        found = _cdist(left, right, "minkowski", p=metric.p)
        if (found > SMALL).all():
            return found
        with np.errstate(over="ignore"):  # of other pairs
            return np.where(found > SMALL, found, _cdist(left * LARGE, right * LARGE, "minkowski", p=metric.p) / LARGE)
    with np.errstate(divide="ignore"):
        return np.array([np.exp(logsumexp(metric.p * np.log(np.abs(x - right)), axis=1) / metric.p) for x in left])


@_formula("cosine")
def _cosine(metric: Any, left: Array, right: Array) -> Array:
    return _cdist(_directions(left), _directions(right), "sqeuclidean") / 2


@_formula("correlation")
def _correlation(metric: Any, left: Array, right: Array) -> Array:
    one, other = (_sized(points) for points in (left, right))
    return _cosine(metric, one - one.mean(axis=1)[:, None], other - other.mean(axis=1)[:, None])


@_formula("jaccard", "dice")
def _of_presence(metric: Any, left: Array, right: Array) -> Array:
    return _cdist(left != 0, right != 0, metric.name)


@_formula("ruzicka")
def _ruzicka(metric: Any, left: Array, right: Array) -> Array:
    return np.array([np.abs(x - right).sum(axis=1) / np.maximum(x, right).sum(axis=1) for x in left])


@_formula("jensenshannon")
def _jensenshannon(metric: Any, left: Array, right: Array) -> Array:
    """SciPy's own gives no number where rounding makes the sum negative."""
    from scipy.special import rel_entr

    one, other = (points / points.sum(axis=1, keepdims=True) for points in (left, right))
    sums = [(rel_entr(x, (x + other) / 2) + rel_entr(other, (x + other) / 2)).sum(axis=1) for x in one]
    return np.sqrt(np.maximum(np.array(sums), 0.0) / 2)


@_formula("hellinger")
def _hellinger(metric: Any, left: Array, right: Array) -> Array:
    return _cdist(_directions(np.sqrt(left)), _directions(np.sqrt(right)), "euclidean")


@_formula("aitchison")
def _aitchison(metric: Any, left: Array, right: Array) -> Array:
    one, other = (np.log2(points) * np.log(2) for points in (left, right))
    return _cdist(one - one.sum(axis=1, keepdims=True) / one.shape[1],
                  other - other.sum(axis=1, keepdims=True) / other.shape[1], "euclidean")


@_formula("gower")
def _gower(metric: Any, left: Array, right: Array) -> Array:
    numeric, nominal = metric.numeric, metric.nominal
    sums = [(np.abs(x[numeric] / 2 - right[:, numeric] / 2) / metric.halves).sum(axis=1)
            + (x[nominal] != right[:, nominal]).sum(axis=1) for x in left]
    return np.array(sums) / right.shape[1]


@_formula("haversine")
def _haversine(metric: Any, left: Array, right: Array) -> Array:
    """By the angle of two directions, atan2(|u x v|, u . v)."""
    one, other = _on_sphere(left)[:, None, :], _on_sphere(right)[None, :, :]
    sines = np.linalg.norm(np.cross(one, other), axis=2)
    return np.asarray(RADIUS * np.arctan2(sines, (one * other).sum(axis=2)))


def _on_sphere(points: Array) -> Array:
    latitude, longitude = np.radians(points).T
    return np.column_stack([np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude),
                            np.sin(latitude)])


def _directions(rows: Array) -> Array:
    sized = _sized(rows)
    return np.asarray(sized / np.linalg.norm(sized, axis=1, keepdims=True))


def _sized(rows: Array) -> Array:
    """Each row in units of its largest number, so that squares do not vanish."""
    return np.asarray(rows / np.abs(rows).max(axis=1, keepdims=True))


def _cdist(left: AnyArray, right: AnyArray, name: str, **parameters: float) -> Array:
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(left, right, name, **parameters))


def _of_variation(distances: Array, points: Array) -> Array:
    """Rows less their means lose digits where the means are large."""
    sized = _sized(points)
    sizes = 1 / np.linalg.norm(sized - sized.mean(axis=1)[:, None], axis=1)
    size = max(float(sizes.max(initial=1.0)), 1.0) ** 2
    return np.asarray(np.sqrt(distances) * size + EPS * size**2)


# What of a distance's error does not shrink with the distance, in roundings: of rows of unit length, of shares of a
# range, of logarithms, of a sum whose terms cancel, of the angle of opposite directions.
SLACK: dict[str, Callable[[Array, Array], Array]] = {
    "cosine": lambda distances, points: np.sqrt(distances) + EPS,
    "correlation": _of_variation,
    "hellinger": lambda distances, points: np.ones_like(distances),
    "aitchison": lambda distances, points: np.full_like(distances, 1 + float(np.abs(np.log(points)).max(initial=0.0))),
    "jensenshannon": lambda distances, points: 1 / np.maximum(distances, np.sqrt(EPS)),
    "gower": lambda distances, points: np.ones_like(distances),
    "haversine": lambda distances, points: np.full_like(distances, RADIUS),
}
