"""The board: memory that the process which computes shares with the one that supervises it (`cli/supervisor.py`)."""

import mmap
import threading
from typing import Any

SIDE = 1 << 16  # bytes of each of two sides: one is written while the other is read
START = 2  # the side that is valid, and what the supervisor asks for, come before
SIZE = 4  # bytes that say how long the text of a side is


class Board:
    """Facts that one process posts and the other reads, even after a death in the middle of a post."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, START + 2 * SIDE)
        self._facts: dict[str, Any] = {}
        self._alone = threading.Lock()
        self.supervised = False  # whether another process reads it

    def post(self, **facts: Any) -> None:
        """Replaces these facts, plain values; what has no room leaves the board as it was."""
        import json

        with self._alone:
            self._facts.update(facts)
            text = json.dumps(self._facts).encode()
            if len(text) <= SIDE - SIZE:
                side = 1 - self._memory[0]
                start = START + side * SIDE
                self._memory[start : start + SIZE + len(text)] = len(text).to_bytes(SIZE, "little") + text
                self._memory[0] = side

    def read(self) -> dict[str, Any]:
        """All facts that were posted."""
        import json

        start = START + self._memory[0] * SIDE
        size = int.from_bytes(self._memory[start : start + SIZE], "little")
        text = self._memory[start + SIZE : start + SIZE + size]
        return dict(json.loads(text)) if text else {}

    @property
    def asked(self) -> int:
        """The number of the signal that the supervisor was sent; 0 where it was sent none."""
        return self._memory[1]

    def ask(self, number: int) -> None:
        """Says which signal is to end the work."""
        self._memory[1] = number


BOARD = Board()
