"""The journal: what happened in a run, stage by stage, and what it warned of."""

import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from mlcli.base.stage import Note, Watcher, listening


@dataclass
class Journal(Watcher):
    """Watches the stages of one run and keeps times, peak memory and notes."""

    started: float = field(default_factory=time.perf_counter)
    stages: list[dict[str, Any]] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    _open: list[float] = field(default_factory=list)

    def begin(self, work: str) -> None:
        """A stage begins, or another piece of work."""
        self._open.append(time.perf_counter())

    def end(self, work: str) -> None:
        """It has ended."""
        seconds = time.perf_counter() - self._open.pop()
        self.stages.append({"stage": work, "seconds": round(seconds, 4), "peak_memory_mib": peak_memory()})

    def note(self, note: Note) -> None:
        """A note, kept once however often it is made."""
        if note not in self.notes:
            self.notes.append(note)

    @property
    def seconds(self) -> float:
        """Time since the journal was opened."""
        return round(time.perf_counter() - self.started, 4)

    def noted(self, prefix: str) -> list[dict[str, Any]]:
        """The warnings (W) or facts (N) as plain values."""
        return [{"code": n.code, "message": n.message, **n.facts} for n in self.notes if n.code.startswith(prefix)]


@contextmanager
def recording() -> Iterator[Journal]:
    """A journal that listens for the length of a `with` block."""
    journal = Journal()
    with listening(journal):
        yield journal


def peak_memory() -> float:
    """The process's largest resident size so far, in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)
