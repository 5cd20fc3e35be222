"""Status in memory that computing processes share with their supervisor (`cli/supervisor.py`).

The process that the supervisor started has the first seat. Each of those that it forks itself, for several runs at
once, takes another one (`cli/batch/workers.py`).
"""

import mmap
import threading
from collections.abc import Iterator
from typing import Any

SEATS = 64  # of processes forked by the first one
SIDE = 1 << 16  # bytes of each of two sides of a seat: one is written while the other is read
START = 2  # the number of posts, whose last bit is the side that is valid, and what the supervisor asks for
SIZE = 4  # bytes that say how long the text of a side is


class SharedStatus:
    """Facts that one process posts and the others read, even after a death in the middle of a post."""

    def __init__(self, memory: mmap.mmap | None = None, seat: int = 0) -> None:
        self._memory = memory or mmap.mmap(-1, (1 + SEATS) * (START + 2 * SIDE))  # pages count once they are touched
        self.supervised = False  # whether another process reads it
        self.sit(seat)

    def sit(self, seat: int) -> None:
        """Assign a seat to this process; the facts posted there stay until its first post."""
        self._begin = seat * (START + 2 * SIDE)
        self._facts: dict[str, Any] = {}
        self._alone = threading.Lock()

    def seat(self, number: int) -> "SharedStatus":
        """The seat of another process."""
        return SharedStatus(self._memory, number)

    def post(self, **facts: Any) -> None:
        """Replace these facts, plain values; facts that are too long for a side are not posted."""
        import json

        with self._alone:
            together = {**self._facts, **facts}
            text = json.dumps(together).encode()
            if len(text) <= SIDE - SIZE:
                self._facts = together
                posts = (self._memory[self._begin] + 1) % 256
                start = self._side(posts)
                self._memory[start : start + SIZE + len(text)] = len(text).to_bytes(SIZE, "little") + text
                self._memory[self._begin] = posts

    def read(self) -> dict[str, Any]:
        """All facts that were posted, read again where a post ended meanwhile: the next one writes on this side."""
        import json

        while True:
            posts = self._memory[self._begin]
            start = self._side(posts)
            size = int.from_bytes(self._memory[start : start + SIZE], "little")
            text = self._memory[start + SIZE : start + SIZE + size]
            if self._memory[self._begin] == posts:
                return dict(json.loads(text)) if text else {}

    def _side(self, posts: int) -> int:
        """Return the offset of the side that is valid after so many posts."""
        return self._begin + START + posts % 2 * SIDE

    def read_all(self) -> Iterator[dict[str, Any]]:
        """The facts of this process, and those of the ones that it forked, as many as it posted `seats`."""
        yield (facts := self.read())
        for number in range(1, 1 + facts.get("seats", 0)):
            yield self.seat(number).read()

    @property
    def requested_signal(self) -> int:
        """The number of the signal that is to end the work; 0 for none."""
        return self._memory[self._begin + 1]

    def ask(self, number: int) -> None:
        """Request the end of the work by a signal."""
        self._memory[self._begin + 1] = number


STATUS = SharedStatus()
