"""How many points an embedding is measured from: all, or of many a sample that keeps the work bounded."""

EXACT = 2000  # points up to which all are measured
FEWEST, MOST = 32, 250  # anchors of an automatic sample
WORK = 1.5e9  # multiplications that an automatic sample may take
PAIR = 150  # multiplications that the measures of a pair take as long as, besides its distance
FEW_COLUMNS = 16  # up to here differences are as quick as a product, and are found when they are asked for
GROUP = 2**24  # distances of anchors that are held at once


def automatic(size: int, work: float) -> int:
    """All points up to a limit; above it as many as keep the work bounded."""
    return size if size <= EXACT else min(max(int(WORK / (size * (work + PAIR))), FEWEST), MOST)
