"""The extent of the checks: everything, or as much as fits a fixed amount of work, by sizes and known costs."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.source import Rows
from mlcli.base.types import Indices

WORK = 0.016  # seconds on an idle machine; each check may take a share of them


@frozen
class Plan:
    """A plan that depends on sizes alone: the same input is checked in the same places, however busy the machine is."""

    full: bool = False  # whether everything is checked, however long it takes
    seed: int = 0
    rows: Rows | None = None  # the rows of a table read in blocks, some of them in memory

    def allows(self, share: float, seconds: float) -> bool:
        """Whether work of `seconds` fits into a share of `WORK`; always where everything is checked."""
        return self.full or seconds <= share * WORK

    def sample(self, share: float, cost: float, size: int, least: int = 8) -> Indices:
        """Return sorted indices of the items to check out of `size`, at `cost` seconds each: all, or a seeded sample.
        """
        few = max(least, int(share * WORK / cost))
        if self.rows is not None and not self.full and size == len(self.rows):  # a sample of rows, not of landmarks
            return self.rows.some(few)
        if self.full or few >= size:
            return np.arange(size)
        return np.sort(np.random.default_rng(self.seed).choice(size, few, replace=False))

    def sample_in_memory(self, share: float, cost: float, size: int, least: int = 8) -> Indices:
        """Return `sample`, but for a table in blocks under a full plan the rows that are in memory.

        For checks that need their rows in memory all at once.
        """
        if self.full and self.rows is not None:
            return self.rows.at_hand
        return self.sample(share, cost, size, least)
