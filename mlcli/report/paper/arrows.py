"""The arrows of a biplot: columns as directions in the plane of the first two axes (Gabriel, 1971)."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.findings.frame.contents import Rows

ROOM = 0.9  # length of the longest arrow, as a share of the points' range


@frozen
class Arrows:
    """Columns as arrows from the origin."""

    names: Sequence[str]  # k
    ends: Array  # (k, 2) array, in units of the loadings
    whole: int  # number of all columns, of which these have the largest loadings

    @classmethod
    def of(cls, loadings: Rows, count: int) -> "Arrows":
        """Return the arrows of the `count` columns with the largest loadings on the first two axes."""
        ends = np.column_stack([loadings.numbers(axis) for axis in ("y1", "y2")])
        longest = np.sort(np.argsort(-np.hypot(*ends.T), kind="stable")[:count])
        names = loadings.texts(next(iter(loadings.columns)))
        return cls([names[row] for row in longest.tolist()], ends[longest], len(ends))

    def within(self, points: Array) -> Array:
        """Return the ends of the arrows, scaled by one factor into the range of the points, an (m, 2) array."""
        low, high = np.minimum(points.min(axis=0), 0), np.maximum(points.max(axis=0), 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            rooms = np.where(self.ends > 0, high, low) / self.ends
        known = rooms[np.isfinite(rooms) & (rooms > 0)]
        return self.ends * (ROOM * float(known.min(initial=np.inf)) if len(known) else 1.0)
