"""The journal: what happened in a run, stage by stage, and what it warned of."""

import logging
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

LOGGER = logging.getLogger("mlcli")
LOGGER.addHandler(logging.NullHandler())  # so that nothing is printed unless the program that uses mlcli asks for it
LEVELS = {"W": logging.WARNING, "N": logging.INFO, "F": logging.DEBUG}  # of notes, by the first letter of their codes


@dataclass(repr=False, eq=False)
class Journal(Watcher):
    """Watches the stages of one run and keeps times, peak memory and notes.

    One that is `logged` gives them to the logger `mlcli` as well: warnings and notes at their levels, stages as DEBUG.
    """

    logged: bool = False
    started: float = field(default_factory=time.perf_counter)
    notes: list[Note] = field(default_factory=list)
    _timed: dict[str, tuple[float, float]] = field(default_factory=dict)  # seconds and peak memory of each stage
    _begun: float = 0.0

    def begin(self, name: str) -> None:
        """A stage begins; its place in the list is that of its first time."""
        self._timed.setdefault(name, (0.0, 0.0))
        self._log(logging.DEBUG, "%s begins", name)
        self._begun = time.perf_counter()

    def end(self, name: str) -> None:
        """It has ended."""
        seconds = time.perf_counter() - self._begun
        self._timed[name] = self._timed[name][0] + seconds, peak_memory()
        self._log(logging.DEBUG, "%s ends after %.4f s", name, seconds)

    def _log(self, level: int, message: str, *parts: Any) -> None:
        if self.logged:
            LOGGER.log(level, message, *parts)

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
            self._log(LEVELS[note.code[0]], "%s: %s", note.code, note.message)

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
def recording(*, logged: bool = False) -> Iterator[Journal]:
    """A journal that listens for the length of a `with` block."""
    journal = Journal(logged=logged)
    with listening(journal):
        yield journal


def peak_memory() -> float:
    """The process's largest resident size so far, in MiB."""
    return round(resources.mebibytes(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss), 1)
