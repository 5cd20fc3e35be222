"""Standardization of a network's inputs: centered, over one scale, so that columns count by their variation."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.rows.source import rows_of
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.errors import DataError

BLOCK = 1 << 19  # numbers of a block of rows
ROUNDING = 10 * float(np.finfo(np.float64).eps)  # of a column's size: deviations that small are none


@frozen
class Standard:
    """The means of columns and one scale for all."""

    means: Array  # d
    scale: float  # the root of the mean variance of the columns that vary; 1 where none does, or rows stay as they are
    varying: int  # of the columns

    @classmethod
    def of(cls, points: Array) -> "Standard":
        """Return the means and the scale of points (n x d)."""
        if (rows := rows_of(points)) is not None:
            assert rows.moments is not None
            moments = rows.moments.plain
            return cls._of_variances(moments.means, moments.squares / len(rows))
        blocks = row_blocks(len(points), BLOCK, points.shape[1])
        means = np.sum(list(in_order(lambda rows: points[rows].sum(axis=0), blocks)), axis=0) / len(points)
        rest = np.sum(list(in_order(lambda rows: (points[rows] - means).sum(axis=0), blocks)), axis=0) / len(points)
        means = means + rest
        variances = np.sum(list(in_order(lambda rows: np.square(points[rows] - means).sum(axis=0), blocks)),
                           axis=0) / len(points)
        return cls._of_variances(means, variances)

    @classmethod
    def _of_variances(cls, means: Array, variances: Array) -> "Standard":
        vary = variances > np.square(ROUNDING * means)
        scale = float(np.sqrt(variances[vary].mean())) if vary.any() else 1.0
        return cls(means, scale, int(vary.sum()))

    @classmethod
    def plain(cls, columns: int) -> "Standard":
        """Return the standardization that changes nothing."""
        return cls(np.zeros(columns), 1.0, columns)

    def require_variation(self) -> None:
        """Raise DataError where all rows are equal."""
        if not self.varying:
            raise DataError("NO-VARIATION", "all rows are equal up to rounding",
                            hint="give rows that differ")

    def transform(self, points: Array, rows: Indices, kind: str) -> AnyArray:
        """Return some rows (m indices of n x d points) standardized (m x d), of dtype `kind`."""
        return ((points[rows] - self.means) / self.scale).astype(kind)
