"""Samples of points: all, or of many a seeded sample that bounds the work; the number that quality is measured from."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from mlcli.base.types import Indices

EXACT = 2000  # points up to which all are measured
FEWEST, MOST = 32, 250  # anchors of an automatic sample
WORK = 1.5e9  # multiplications that an automatic sample may take
PAIR = 150  # cost of the measures of a pair besides its distance, in multiplications
FEW_COLUMNS = 16  # columns up to which differences are as quick as a product, and are computed on demand
GROUP, TOGETHER = 2**24, 8  # distances of anchors in memory at once, and the fewest anchors with theirs


def anchors_in_group(size: int) -> int:
    """Return how many anchors are measured together among `size` points: of many points, enough for all threads."""
    return max(GROUP // size, TOGETHER)


def sample_of(size: int, most: int, generator: "np.random.Generator") -> "Indices":
    """Return the numbers of all rows, or of at most `most` without repetition, in their order, an (m,) array."""
    import numpy as np

    return np.arange(size) if size <= most else np.sort(generator.choice(size, most, replace=False))


def automatic(size: int, work: float) -> int:
    """Return the sample size for `size` points: all up to a limit, above it a number that bounds the work."""
    return size if size <= EXACT else min(max(int(WORK / (size * (work + PAIR))), FEWEST), MOST)
