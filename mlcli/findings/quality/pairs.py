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
    """Some pairs of points, the first of each an anchor; pairs go by the first point."""

    first: Indices  # m, ascending
    second: Indices  # m

    @classmethod
    def drawn(cls, anchors: Indices, size: int, generator: np.random.Generator) -> "Pairs":
        """All pairs where there are few and all points are anchors, else random ones, a point never with itself."""
        if len(anchors) == size and size * (size - 1) // 2 <= MOST:
            return cls(*(part.astype(np.int64) for part in np.triu_indices(size, 1)))
        first = np.sort(generator.choice(anchors, MOST))
        return cls(first, (first + generator.integers(1, size, MOST)) % size)

    def sums(self, strip: Strip) -> Sums:
        """The squared distances of the pairs whose first point is in a strip."""
        here = slice(*np.searchsorted(self.first, [strip.rows[0], strip.rows[-1] + 1]))
        places = np.searchsorted(strip.rows, self.first[here]), self.second[here]
        return {"distance": strip.kept[places], "embedded": strip.embedded[places]}


def in_units(sums: Sums, kept: Unit, embedded: Unit) -> Array:
    """The two distances of each pair (m x 2), each in its unit, as plain numbers; those beyond doubles left out."""
    pairs = np.column_stack([kept.plain(np.sqrt(sums["distance"])), embedded.plain(np.sqrt(sums["embedded"]))])
    finite: Array = pairs[np.isfinite(pairs).all(axis=1)]
    return finite


def shepard_table(pairs: Array | None) -> str:
    """The pairs as CSV with 17 digits."""
    pairs = np.empty((0, 2)) if pairs is None else pairs
    return f"{HEADER}\n" + "%.17g,%.17g\n" * len(pairs) % tuple(pairs.ravel().tolist())


def pairs_of(rows: Rows | None) -> Array | None:
    """The pairs of shepard.csv (m x 2), None where a run does not have it."""
    return None if rows is None else np.column_stack([rows.array("distance"), rows.array("embedded")])
