"""The pairs of the Shepard diagram: the distance to keep and the one in the embedding."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.base.values.scaling import Unit
from mlcli.findings.frame.contents import Rows
from mlcli.findings.quality.sampling import Sums
from mlcli.findings.quality.strips import Strip

MOST = 1000
HEADER = "distance,embedded"


@frozen
class Pairs:
    """Pairs of points, the first of each an anchor, in the order of the first points."""

    first: Indices  # (m,) array, ascending
    second: Indices  # (m,) array

    @classmethod
    def draw(cls, anchors: Indices, size: int, generator: np.random.Generator) -> "Pairs":
        """Return all pairs where there are few and all points are anchors, else random ones of two different points.

        `anchors` is an ascending (a,) array of points.
        """
        if len(anchors) == size and size * (size - 1) // 2 <= MOST:
            return cls(*(part.astype(np.int64) for part in np.triu_indices(size, 1)))
        first = np.sort(generator.choice(anchors, MOST))
        return cls(first, (first + generator.integers(1, size, MOST)) % size)

    def sums(self, strip: Strip) -> Sums:
        """Return the squared distances of the pairs whose first point is in a strip."""
        here = slice(*np.searchsorted(self.first, [strip.rows[0], strip.rows[-1] + 1]))
        places = np.searchsorted(strip.rows, self.first[here]), self.second[here]
        return {"distance": strip.kept[places], "embedded": strip.embedded[places]}


def in_units(sums: Sums, kept: Unit, embedded: Unit) -> Array:
    """Return the two distances of each pair in their units, an (m, 2) array, without pairs out of range."""
    pairs = np.column_stack([kept.plain(np.sqrt(sums["distance"])), embedded.plain(np.sqrt(sums["embedded"]))])
    finite: Array = pairs[np.isfinite(pairs).all(axis=1)]
    return finite


def shepard_table(pairs: Array | None) -> str:
    """Return the pairs, an (m, 2) array, as CSV with 17 digits."""
    pairs = np.empty((0, 2)) if pairs is None else pairs
    return f"{HEADER}\n" + "%.17g,%.17g\n" * len(pairs) % tuple(pairs.ravel().tolist())


def pairs_of(rows: Rows | None) -> Array | None:
    """Return the pairs of shepard.csv, an (m, 2) array; None where a run does not have it."""
    return None if rows is None else np.column_stack([rows.array("distance"), rows.array("embedded")])
