"""Whitening of centered data: uncorrelated coordinates of unit variance, and the maps in both directions."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import stage
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.check import EPS
from mlcli.base.values.signs import leading_signs
from mlcli.core.linalg import orthonormal, require_finite, singular
from mlcli.errors import DataError

SLACK = 10.0  # multiples of the rounding error below which a direction counts as constant
WHITE = 8.0  # arrays of the size of the points in memory at once
FAINT = 2.0**-900  # share of the largest number: reciprocals of smaller ones leave the range of doubles


@frozen
class SampleExtent:
    """The number of points and the columns' largest sizes, which determine rounding."""

    rows: int
    largest: Array  # d: the largest size of a number in each column

    @classmethod
    def of(cls, points: Array) -> "SampleExtent":
        """Return the extent of points (n x d)."""
        return cls(len(points), np.abs(points).max(axis=0, initial=0.0))

    def of_columns(self, chosen: AnyArray) -> "SampleExtent":
        """Return the extent of some of the columns."""
        return SampleExtent(self.rows, self.largest[chosen])


@frozen
class Whitening:
    """White coordinates of points (variance 1 over n), their means, and the maps between both."""

    means: Array  # d
    points: Array  # n x r, of mean zero and with identity covariance, both weighted where points have weights
    into: Array  # d x r: (x - means) @ into are white coordinates
    back: Array  # r x d: white coordinates @ back + means are the points again
    variances: Array  # r, descending: of the principal components that were made white

    @property
    def rank(self) -> int:
        """The number of directions in which the data extends."""
        return self.points.shape[1]

    @property
    def condition(self) -> float:
        """Factor by which white coordinates have more rounding than the largest principal component."""
        return float(np.sqrt(self.variances[0] / self.variances[-1])) if self.rank else 1.0


@stage("whitening")
def whiten(points: Array, *, equal_columns: bool, roots: Array | None = None) -> Whitening:
    """Return the whitening of points (n x d) by singular values, in the directions above rounding.

    With `equal_columns` each column is first scaled to length 1, so that units have no effect; DataError is raised if a
    column is too small compared with the largest. Otherwise the directions are the principal components. Where points
    have weights, `roots` (n) are their square roots: means, variances and covariances are then weighted.
    """
    means, centered = centered_columns(points)
    factors = None if roots is None else roots / np.sqrt(np.mean(roots**2))
    if factors is not None:
        shift = (factors**2 / len(points)) @ centered
        means, centered = means + shift, centered - shift
    if equal_columns:
        require_no_faint(centered, points)
    deviations = centered if factors is None else centered * factors[:, None]
    lengths = column_lengths(deviations)
    scale = np.where(lengths > 0, lengths, 1.0) if equal_columns else np.ones_like(lengths)
    left, sizes, right = singular(deviations / scale)
    extent = SampleExtent.of(points if factors is None else points * factors[:, None])
    rank = int(np.sum(sizes > negligible(extent, scale, float(sizes.max(initial=0.0)))))
    left, sizes, right = recenter(left[:, :rank], factors), sizes[:rank], right[:rank]
    signs, root = leading_signs(left), np.sqrt(len(points))
    white = root * left * signs if factors is None else root * left * signs / factors[:, None]
    into = (right.T / scale[:, None]) * (signs * root / sizes)
    return Whitening(means=means, points=white, into=into, back=((sizes * signs / root)[:, None] * right) * scale,
                     variances=sizes**2 / len(points))


def recenter(left: Array, sizes: Array | None) -> Array:
    """Return orthonormal columns (n x r) of mean zero, from columns (n x r) whose means are rounding.

    Of rows that are `sizes` (n, their mean square one) as large as those of centered points, weighted means are meant.
    """
    if sizes is None:
        return orthonormal(left - left.mean(axis=0))
    return orthonormal(left - np.outer(sizes, sizes @ left) / len(left))


def centered_columns(points: Array) -> tuple[Array, Array]:
    """Return column means (d) and centered points (n x d), exactly zero in a column that is constant to rounding."""
    require_finite(points, "the data")
    means = points.mean(axis=0)
    centered = points - means
    rest = centered.mean(axis=0)
    centered -= rest
    return means + rest, zero_rounding(centered, SampleExtent.of(points))


def zero_rounding(deviations: Array, extent: SampleExtent) -> Array:
    """Return deviations from means (n x d), or their triangle (d x d), with columns of rounding only set to zero."""
    lengths = np.linalg.norm(deviations / np.where(extent.largest > 0, extent.largest, 1.0), axis=0)
    return np.where(lengths > SLACK * EPS * np.sqrt(extent.rows), deviations, 0.0)


def column_lengths(values: Array) -> Array:
    """Return the Euclidean length of each column (d) of values (n x d); their squares cannot underflow."""
    sizes = np.abs(values).max(axis=0, initial=0.0)
    return np.asarray(sizes * np.linalg.norm(values / np.where(sizes > 0, sizes, 1.0), axis=0))


def require_no_faint(deviations: Array, points: Array, least: float = FAINT) -> None:
    """Raise DataError for columns that vary too little, relative to the largest number, to count like the others.

    `deviations` from means and `points` are (n, d) arrays.
    """
    refuse_faint(np.abs(deviations).max(axis=0, initial=0.0), float(np.abs(points).max(initial=0.0)), least)


def refuse_faint(sizes: Array, largest: float, least: float = FAINT) -> None:
    """Raise DataError for columns whose largest deviation, in an (d,) array, is below `least` times `largest`."""
    faint = np.flatnonzero((sizes > 0) & (sizes < least * largest))
    if len(faint):
        raise DataError("COLUMN-SCALES", f"{len(faint)} of {len(sizes)} columns vary by less than {least:.0e} of the "
                        "largest number in any column: too little for double precision",
                        where=f"column {faint[0] + 1} of the data",
                        hint="scale all columns with {prepare.scale=standard}, or leave some out with {input.columns}")


def negligible(extent: SampleExtent, scale: Array, largest: float) -> float:
    """Return the singular value of centered points over `scale`, an (d,) array, up to which all is rounding.

    It counts the rounding of the largest singular value, and the digits that a column far from the origin has lost
    before.
    """
    lost = float((extent.largest / scale).max(initial=0.0))
    return SLACK * EPS * max(max(extent.rows, len(scale)) * largest, float(np.sqrt(extent.rows)) * lost)
