"""How long a certificate may take: the larger of a share of the run and 50 ms."""

import time
from dataclasses import dataclass, field

import numpy as np

SHARE = 0.05  # of the run's time
LEAST = 0.050  # seconds
SQUARES = 2**18  # numbers squared and added up to measure how fast this machine is now
NOMINAL = 500e-6  # seconds that this takes where the costs were measured


@dataclass
class Budget:
    """A clock that checks ask how much they may look at."""

    seconds: float
    full: bool = False  # whether everything is looked at, however long it takes
    pace: float = 1.0  # how much longer work takes here than where its costs were measured
    started: float = field(default_factory=time.perf_counter)

    @classmethod
    def of_run(cls, seconds: float, full: bool = False) -> "Budget":
        """The budget of a run that took so many seconds."""
        return cls(max(SHARE * seconds, LEAST), full, pace())

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return not self.full and self.spent > self.seconds

    def affordable(self, share: float, cost: float, size: int, least: int = 8) -> int:
        """How many of `size` items may be looked at for a share of the time, at so many seconds for each."""
        if self.full or size <= least:
            return size
        return min(size, max(least, int(share * self.seconds / (cost * self.pace))))

    def allows(self, share: float, seconds: float) -> bool:
        """Whether a piece of work of so many seconds fits into a share of the time."""
        return self.full or seconds * self.pace <= share * self.seconds


def pace() -> float:
    """How much longer a little work takes now than where the costs were measured, the quicker of two trials."""
    numbers, seconds = np.ones(SQUARES), float("inf")
    for _ in range(2):
        started = time.perf_counter()
        float((numbers * numbers).sum())
        seconds = min(seconds, time.perf_counter() - started)
    return max(seconds / NOMINAL, 1.0)
