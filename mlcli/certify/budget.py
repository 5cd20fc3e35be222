"""How long a certificate may take: the larger of a share of the run and 50 ms."""

import time
from dataclasses import dataclass, field

SHARE = 0.05  # of the run's time
LEAST = 0.050  # seconds


@dataclass
class Budget:
    """A clock that checks ask how much they may look at."""

    seconds: float
    full: bool = False  # whether everything is looked at, however long it takes
    started: float = field(default_factory=time.perf_counter)

    @classmethod
    def of_run(cls, seconds: float, full: bool = False) -> "Budget":
        """The budget of a run that took so many seconds."""
        return cls(max(SHARE * seconds, LEAST), full)

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
        return min(size, max(least, int(share * self.seconds / cost)))

    def allows(self, share: float, seconds: float) -> bool:
        """Whether a piece of work of so many seconds fits into a share of the time."""
        return self.full or seconds <= share * self.seconds
