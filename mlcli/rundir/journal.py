"""The journal: what happened in a run, stage by stage, and what it warned of."""

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from mlcli.base.context import context
from mlcli.base.machine import resources
from mlcli.base.stages.stage import Note, Watcher, listening
from mlcli.errors import DataError, NumericalError, spell


@dataclass
class Journal(Watcher):
    """Watches the stages of one run and keeps times, peak memory and notes."""

    started: float = field(default_factory=time.perf_counter)
    notes: list[Note] = field(default_factory=list)
    _timed: dict[str, tuple[float, float]] = field(default_factory=dict)  # seconds and peak memory of each stage
    _begun: float = 0.0

    def begin(self, name: str) -> None:
        """A stage begins; its place in the list is that of its first time."""
        self._timed.setdefault(name, (0.0, 0.0))
        self._begun = time.perf_counter()

    def end(self, name: str) -> None:
        """It has ended."""
        self._timed[name] = self._timed[name][0] + time.perf_counter() - self._begun, peak_memory()

    @property
    def stages(self) -> list[dict[str, Any]]:
        """The stages in their order, each with its seconds, all times together, and the peak memory at its end."""
        return [{"stage": name, "seconds": round(seconds, 4), "peak_memory_mib": memory}
                for name, (seconds, memory) in self._timed.items()]

    def note(self, note: Note) -> None:
        """Keep a note, once however often it is made, with options as the command spells them."""
        note = replace(note, message=spell(note.message, context().spelling))
        if note not in self.notes:
            self.notes.append(note)

    @property
    def seconds(self) -> float:
        """Time since the journal was opened."""
        return round(time.perf_counter() - self.started, 4)

    def noted(self, prefix: str) -> list[dict[str, Any]]:
        """The warnings (W) or facts (N) as plain values."""
        return [{"code": n.code, "message": n.message, **n.facts} for n in self.notes if n.code.startswith(prefix)]


    def require_no_warnings(self, strict: bool = True) -> None:
        """Make an error of the first warning if `strict`.

        Raises NumericalError where something did not converge, else DataError.
        """
        warnings = self.noted("W-") if strict else []
        limits = [warning for warning in warnings if warning["code"] == "W-UNCONVERGED"]
        for warning in limits or warnings:
            raise (NumericalError if limits else DataError)(
                "STRICT", f"{warning['code']}: {warning['message']}", where="--strict",
                hint="remedy its cause, or leave --strict out")


@contextmanager
def recording() -> Iterator[Journal]:
    """A journal that listens for the length of a `with` block."""
    journal = Journal()
    with listening(journal):
        yield journal


def peak_memory() -> float:
    """The process's largest resident size so far, in MiB."""
    return round(resources.mebibytes(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss), 1)
