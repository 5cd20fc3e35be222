"""The arrows of a biplot: columns as directions in the plane of the first two axes (Gabriel, 1971)."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.findings.frame.contents import Rows

ROOM = 0.9  # share of the points' range that the longest arrow takes


@frozen
class Arrows:
    """Columns as arrows from the origin."""

    names: Sequence[str]  # k
    ends: Array  # k x 2, in units of the loadings
    whole: int  # columns of which these have the largest loadings

    @classmethod
    def of(cls, loadings: Rows, count: int) -> "Arrows":
        """Those of so many columns whose loadings on the first two axes are largest."""
        ends = np.column_stack([loadings.numbers(axis) for axis in ("y1", "y2")])
        longest = np.sort(np.argsort(-np.hypot(*ends.T), kind="stable")[:count])
        names = loadings.texts(next(iter(loadings.columns)))
        return cls([names[row] for row in longest.tolist()], ends[longest], len(ends))

    def within(self, points: Array) -> Array:
        """The ends of the arrows, all scaled by one factor so that they stay in the range of the points (m x 2)."""
        low, high = np.minimum(points.min(axis=0), 0), np.maximum(points.max(axis=0), 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            rooms = np.where(self.ends > 0, high, low) / self.ends
        known = rooms[np.isfinite(rooms) & (rooms > 0)]
        return self.ends * (ROOM * float(known.min(initial=np.inf)) if len(known) else 1.0)
