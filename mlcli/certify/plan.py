"""How much of a result is checked: what a fixed amount of work allows, by sizes and known costs; or everything."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.source import Rows
from mlcli.base.types import Indices

WORK = 0.016  # seconds on a quiet machine, of which each check may take a share


@frozen
class Plan:
    """What follows from sizes alone: the same input is checked in the same places, however busy the machine is."""

    full: bool = False  # whether everything is checked, however long it takes
    seed: int = 0
    rows: Rows | None = None  # of a table read in blocks, some of which are in memory

    def allows(self, share: float, seconds: float) -> bool:
        """Whether work of so many seconds fits into a share of it."""
        return self.full or seconds <= share * WORK

    def sample(self, share: float, cost: float, size: int, least: int = 8) -> Indices:
        """Which of `size` items are checked, at so many seconds for each: all, or a sample drawn with the seed."""
        few = max(least, int(share * WORK / cost))
        if self.rows is not None and not self.full and size == len(self.rows):  # and not that of landmarks
            return self.rows.some(few)
        if self.full or few >= size:
            return np.arange(size)
        return np.sort(np.random.default_rng(self.seed).choice(size, few, replace=False))

    def held(self, share: float, cost: float, size: int, least: int = 8) -> Indices:
        """The same for a check that holds the rows: of a table read in blocks those in memory, however much is allowed.
        """
        if self.full and self.rows is not None:
            return self.rows.at_hand
        return self.sample(share, cost, size, least)
