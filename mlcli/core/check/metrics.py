"""Distances for the certificate, by formulas that share no code with the fit.

Each comes with a bound of its difference by rounding from the fit's, which for some metrics is larger between near
rows.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.check import EPS
from mlcli.base.values.plugins import object_at
from mlcli.core.metrics import RowMetric

NARROW = 32  # columns up to which distances are summed one column at a time
CACHED = 2**16  # numbers of the points processed at once
INNER = 2**14  # numbers of the distances summed at once: they and the gaps stay in a core's cache
NEAR = 1e-3  # a share at which most digits remain


def squared(left: Array, right: Array, near: float = NEAR) -> Array:
    """Return ‖xᵢ - yⱼ‖² (m x n): by differences in few columns and of near points, else by products of centered data.

    `near` is the share of two points' squared norms below which the product has lost too many digits of their distance.
    """
    if right.shape[1] <= NARROW:
        total = np.zeros((len(left), len(right)))
        for rows in row_blocks(len(left), INNER, len(right)):
            gap = np.empty((rows.stop - rows.start, len(right)))
            for here, there in zip(left[rows].T, right.T, strict=True):
                np.subtract(here[:, None], there[None, :], out=gap)
                gap *= gap
                total[rows] += gap
        return total
    total, center = np.empty((len(left), len(right))), right.mean(axis=0)
    mine = left - center
    own = np.einsum("ij,ij->i", mine, mine)[:, None]

    def fill(rows: slice) -> None:
        part, sums = right[rows], total[:, rows]
        far = part - center
        sizes = own + np.einsum("ij,ij->i", far, far)
        with np.errstate(all="ignore"):  # overflow gives infinities, which fail the check
            np.subtract(sizes, 2 * (mine @ far.T), out=sums)
        lost = sums <= near * sizes
        for row in np.flatnonzero(lost.any(axis=1)):
            sums[row, lost[row]] = np.sum((part[lost[row]] - left[row]) ** 2, axis=1)

    each(fill, row_blocks(len(right), CACHED, right.shape[1]))
    return total


RADIUS = 6371.0088  # kilometers
NEARBY = 1e-2  # radians below which the difference of two directions loses digits
TERMS, SMALL_RATIO = 8, 1 / 8  # of a series: the omitted terms are 2⁻⁵⁵ of the rest
CLOSE = 1e-2  # share of squared norms below which squared distances are sums of differences, for close error bounds
PAIRS = 16  # points on a side of a matrix of which only the diagonal is used
Formula = Callable[[Any, Array, Array], Array]
FORMULAS: dict[str, Formula] = {}


@frozen
class BoundedDistances:
    """Distances (m x n), and bounds of their difference from another way of computing them."""

    distances: Array
    errors: Array


def bounded_distances(metric: RowMetric, left: Array, right: Array) -> BoundedDistances:
    """Return distances (m x n) of (m, d) and (n, d) arrays under a metric, with error bounds."""
    distances, errors = np.empty((len(left), len(right))), np.empty((len(left), len(right)))
    given: Any = metric  # of another package, where it is not in these tables
    formula, own = FORMULAS.get(metric.name) or object_at(given.definition), SLACK.get(metric.name)

    def fill(some: slice) -> None:
        found = formula(metric, left, right[some]).reshape(len(left), some.stop - some.start)
        slack = getattr(given, "rounding", 0.0) if own is None else own(found, np.vstack([left, right[some]]))
        distances[:, some], errors[:, some] = found, EPS * ((64 + right.shape[1]) * found + 64 * slack)

    each(fill, row_blocks(len(right), CACHED, right.shape[1]))
    return BoundedDistances(distances, errors)


def bounded_pair_distances(metric: RowMetric, left: Array, right: Array) -> BoundedDistances:
    """Return distances (m) of (m, d) points to one other point each, with error bounds.

    They are the diagonals of small matrices, which takes the fewest steps.
    """
    found = [bounded_distances(metric, left[some], right[some]) for some in row_blocks(len(left), PAIRS)]
    if not found:
        return BoundedDistances(np.empty(0), np.empty(0))
    return BoundedDistances(np.concatenate([np.diagonal(one.distances) for one in found]),
                            np.concatenate([np.diagonal(one.errors) for one in found]))


def _formula(*names: str) -> Callable[[Formula], Formula]:
    def declare(formula: Formula) -> Formula:
        FORMULAS.update(dict.fromkeys(names, formula))
        return formula

    return declare


@_formula("euclidean", "cityblock", "chebyshev", "braycurtis", "canberra", "hamming")
def _by_scipy(metric: Any, left: AnyArray, right: AnyArray) -> Array:
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(left, right, metric.name))


@_formula("minkowski")
def _minkowski(metric: Any, left: Array, right: Array) -> Array:
    """Compute in units of each pair's largest difference, so that no power underflows or overflows."""
    found = np.empty((len(left), len(right)))
    for row, x in enumerate(left):
        gaps = np.abs(x - right)
        most = gaps.max(axis=1, keepdims=True)
        np.divide(gaps, most, out=gaps, where=most > 0)
        found[row] = most[:, 0] * (gaps**metric.p).sum(axis=1) ** (1 / metric.p)
    return found


@_formula("cosine")
def _cosine(metric: Any, left: Array, right: Array) -> Array:
    return squared(_directions(left), _directions(right), CLOSE) / 2


@_formula("correlation")
def _correlation(metric: Any, left: Array, right: Array) -> Array:
    one, other = (_sized(points) for points in (left, right))
    return _cosine(metric, one - one.mean(axis=1)[:, None], other - other.mean(axis=1)[:, None])


@_formula("jaccard", "dice")
def _of_presence(metric: Any, left: Array, right: Array) -> Array:
    return _by_scipy(metric, left != 0, right != 0)


@_formula("ruzicka")
def _ruzicka(metric: Any, left: Array, right: Array) -> Array:
    return np.array([np.abs(x - right).sum(axis=1) / np.maximum(x, right).sum(axis=1) for x in left])


@_formula("jensenshannon")
def _jensenshannon(metric: Any, left: Array, right: Array) -> Array:
    """Compute by entropies; for near shares, where these cancel, by a series.

    The series is Σ t²ᵏ / (k (2k - 1)) of t = (p - q) / (p + q).
    """
    from scipy.special import rel_entr

    one, other = (points / points.sum(axis=1, keepdims=True) for points in (left, right))
    found = np.empty((len(one), len(other)))
    for row, x in enumerate(one):
        middle = (x + other) / 2
        squares = np.divide(x - other, x + other, out=np.zeros_like(middle), where=middle > 0) ** 2
        series = np.zeros_like(middle)
        for k in range(TERMS, 0, -1):
            series = (series + 1 / (k * (2 * k - 1))) * squares
        terms = np.where(squares < SMALL_RATIO**2, middle * series, rel_entr(x, middle) + rel_entr(other, middle))
        found[row] = np.sqrt(terms.sum(axis=1) / 2)
    return found


@_formula("hellinger")
def _hellinger(metric: Any, left: Array, right: Array) -> Array:
    return np.sqrt(squared(_directions(np.sqrt(left)), _directions(np.sqrt(right)), CLOSE))


@_formula("aitchison")
def _aitchison(metric: Any, left: Array, right: Array) -> Array:
    one, other = (np.log2(points) * np.log(2) for points in (left, right))
    return np.sqrt(squared(one - one.sum(axis=1, keepdims=True) / one.shape[1],
                           other - other.sum(axis=1, keepdims=True) / other.shape[1], CLOSE))


@_formula("gower")
def _gower(metric: Any, left: Array, right: Array) -> Array:
    numeric, nominal = metric.numeric, metric.nominal
    sums = [(np.abs(x[numeric] / 2 - right[:, numeric] / 2) / metric.halves).sum(axis=1)
            + (x[nominal] != right[:, nominal]).sum(axis=1) for x in left]
    return np.array(sums) / right.shape[1]


@_formula("haversine")
def _haversine(metric: Any, left: Array, right: Array) -> Array:
    """Compute by the angle of two directions, atan2(|u x v|, u . v); for near points by their chord."""
    one, other = _on_sphere(left)[:, None, :], _on_sphere(right)[None, :, :]
    angles = np.arctan2(np.linalg.norm(np.cross(one, other), axis=2), (one * other).sum(axis=2))
    up, along = np.sin(np.radians((left[:, None, :] - right[None, :, :]) / 2)).transpose(2, 0, 1)
    across = np.cos(np.radians(left[:, 0]))[:, None] * np.cos(np.radians(right[:, 0]))
    chords = np.sqrt(up**2 + across * along**2)
    return np.asarray(RADIUS * np.where(angles < NEARBY, 2 * np.arcsin(np.minimum(chords, 1.0)), angles))


def _on_sphere(points: Array) -> Array:
    latitude, longitude = np.radians(points).T
    return np.column_stack([np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude),
                            np.sin(latitude)])


def _directions(rows: Array) -> Array:
    sized = _sized(rows)
    return np.asarray(sized / np.linalg.norm(sized, axis=1, keepdims=True))


def _sized(rows: Array) -> Array:
    """Return each row in units of its largest number, so that squares do not underflow."""
    return np.asarray(rows / np.abs(rows).max(axis=1, keepdims=True))


def _of_variation(distances: Array, points: Array) -> Array:
    """Return the slack of rows less their means, which lose digits where the means are large."""
    sized = _sized(points)
    sizes = 1 / np.linalg.norm(sized - sized.mean(axis=1)[:, None], axis=1)
    size = max(float(sizes.max(initial=1.0)), 1.0) ** 2
    return np.asarray(np.sqrt(distances) * size + EPS * size**2)


def _on_earth(distances: Array, points: Array) -> Array:
    """Return the slack of distances on a sphere: at a pole the cosine of a latitude has no digit, and points that lie
    there are not at one place.
    """
    least = float(np.cos(np.radians(points[:, 0])).min(initial=1.0))
    near = np.minimum((distances + RADIUS * EPS) / max(least, EPS), RADIUS)
    return np.where(distances < RADIUS * NEARBY, near, RADIUS)


# The part of a distance's error that does not shrink with the distance, in roundings: of rows of unit length, of shares
# of a range, of logarithms, of a total, of the angle of opposite directions.
SLACK: dict[str, Callable[[Array, Array], Array]] = {
    "cosine": lambda distances, points: np.sqrt(distances) + EPS,
    "correlation": _of_variation,
    "hellinger": lambda distances, points: np.ones_like(distances),
    "aitchison": lambda distances, points: np.full_like(distances, 1 + float(np.abs(np.log(points)).max(initial=0.0))),
    "jensenshannon": lambda distances, points: np.ones_like(distances),
    "gower": lambda distances, points: np.ones_like(distances),
    "haversine": _on_earth,
}
