"""Centered data made white: uncorrelated coordinates of unit variance that span it, and the maps there and back."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import stage
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.signs import leading_signs
from mlcli.errors import DataError
from mlcli.stages.algebra.linalg import EPS, orthonormal, require_finite, singular

SLACK = 10.0  # multiples of the rounding error below which a direction counts as constant
WHITE = 8.0  # arrays of the size of the points that are held at once
FAINT = 2.0**-900  # of the largest number: what smaller ones are divided by leaves the range of doubles


@frozen
class Extent:
    """How many points there are, and how far they reach: what rounding is measured by."""

    rows: int
    largest: Array  # d: the largest size of a number in each column

    @classmethod
    def of(cls, points: Array) -> "Extent":
        """That of points (n x d)."""
        return cls(len(points), np.abs(points).max(axis=0, initial=0.0))

    def of_columns(self, chosen: AnyArray) -> "Extent":
        """That of some of the columns."""
        return Extent(self.rows, self.largest[chosen])


@frozen
class Whitening:
    """White coordinates of points (variance 1 over n), their means, and the maps between both."""

    means: Array  # d
    points: Array  # n x r, of mean zero and with identity covariance
    into: Array  # d x r: (x - means) @ into are white coordinates
    back: Array  # r x d: white coordinates @ back + means are the points again
    variances: Array  # r, descending: of the principal components that were made white

    @property
    def rank(self) -> int:
        """The number of directions in which the data extends."""
        return self.points.shape[1]

    @property
    def condition(self) -> float:
        """How much more rounding white coordinates have than the largest principal component."""
        return float(np.sqrt(self.variances[0] / self.variances[-1])) if self.rank else 1.0


@stage("whitening")
def whitened(points: Array, *, equal_columns: bool) -> Whitening:
    """The whitening of points (n x d) by singular values, in the directions that stand above rounding.

    With equal columns each is first brought to length one, so that a column's unit does not
    decide whether it counts; without, directions are the principal components. Raises DataError
    where equal columns are asked for and one is too small beside the largest.
    """
    means, centered = centered_columns(points)
    if equal_columns:
        require_no_faint(centered, points)
    lengths = column_lengths(centered)
    scale = np.where(lengths > 0, lengths, 1.0) if equal_columns else np.ones_like(lengths)
    left, sizes, right = singular(centered / scale)
    rank = int(np.sum(sizes > negligible(Extent.of(points), scale, float(sizes.max(initial=0.0)))))
    left, sizes, right = recentered(left[:, :rank]), sizes[:rank], right[:rank]
    signs, root = leading_signs(left), np.sqrt(len(points))
    white = root * left * signs
    into = (right.T / scale[:, None]) * (signs * root / sizes)
    return Whitening(means=means, points=white, into=into, back=((sizes * signs / root)[:, None] * right) * scale,
                     variances=sizes**2 / len(points))


def recentered(left: Array) -> Array:
    """Orthonormal columns (n x r) of mean zero near some whose means are the rounding of means taken away before."""
    return orthonormal(left - left.mean(axis=0))


def centered_columns(points: Array) -> tuple[Array, Array]:
    """The means of columns and the points without them, exactly zero in a column that is constant to rounding."""
    require_finite(points, "the data")
    means = points.mean(axis=0)
    centered = points - means
    rest = centered.mean(axis=0)
    centered -= rest
    return means + rest, without_rounding(centered, Extent.of(points))


def without_rounding(deviations: Array, extent: Extent) -> Array:
    """Deviations of points from means, exactly zero in a column where they are rounding only; or their triangle."""
    lengths = np.linalg.norm(deviations / np.where(extent.largest > 0, extent.largest, 1.0), axis=0)
    return np.where(lengths > SLACK * EPS * np.sqrt(extent.rows), deviations, 0.0)


def column_lengths(values: Array) -> Array:
    """The Euclidean length of every column (n x d), whose squares cannot vanish."""
    sizes = np.abs(values).max(axis=0, initial=0.0)
    return np.asarray(sizes * np.linalg.norm(values / np.where(sizes > 0, sizes, 1.0), axis=0))


def require_no_faint(deviations: Array, points: Array, least: float = FAINT) -> None:
    """Refuses columns (n x d) that vary too little, relative to the largest number, to count like the others."""
    refuse_faint(np.abs(deviations).max(axis=0, initial=0.0), float(np.abs(points).max(initial=0.0)), least)


def refuse_faint(sizes: Array, largest: float, least: float = FAINT) -> None:
    """The same of the largest deviation in each column (d)."""
    faint = np.flatnonzero((sizes > 0) & (sizes < least * largest))
    if len(faint):
        raise DataError("COLUMN-SCALES", f"{len(faint)} of {len(sizes)} columns vary by less than {least:.0e} of the "
                        "largest number in any column: too little for double precision",
                        where=f"column {faint[0] + 1} of the data",
                        hint="bring all columns to one unit with {prepare.scale=standard}, or leave some out with "
                             "{input.columns}")


def negligible(extent: Extent, scale: Array, largest: float) -> float:
    """The singular value of centered points over `scale` up to which there is rounding only.

    It counts the rounding of the largest singular value, and the digits lost before by a column
    far from the origin.
    """
    lost = float((extent.largest / scale).max(initial=0.0))
    return SLACK * EPS * max(max(extent.rows, len(scale)) * largest, float(np.sqrt(extent.rows)) * lost)
