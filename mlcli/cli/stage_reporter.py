"""Posts the running stage and its progress to the shared status, in case the process dies."""

import time

from mlcli.base.stages.stage import Watcher
from mlcli.process.shared_status import STATUS

FASTEST = 0.1  # seconds between two posts within a stage


class StageReporter(Watcher):
    """Posts the running stage."""

    def __init__(self) -> None:
        self.posted = 0.0

    def begin(self, name: str) -> None:
        """A stage starts."""
        STATUS.post(doing=name)

    def end(self, name: str) -> None:
        """A stage is over."""
        STATUS.post(doing=f"after {name}")

    def advance(self, name: str, part: str, done: int, total: int) -> None:
        """A stage has come further."""
        now = time.monotonic()
        if now - self.posted >= FASTEST:
            self.posted = now
            STATUS.post(doing=", ".join(filter(None, (name, part, f"{done} of {total}"))))
