"""Notes are part of a stage's result: stored with it, and repeated when the stored result is used."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mlcli.base.stages.stage import Note, Watcher, tell


class Noting(Watcher):
    """Collects the notes of stages while they are computed."""

    caches = True

    def __init__(self) -> None:
        self._noted: list[list[Note]] = []  # of each stage that is being computed

    def note(self, note: Note) -> None:
        """A note, which belongs to the result of every stage that is being computed."""
        for notes in self._noted:
            notes.append(note)

    @contextmanager
    def noting(self) -> Iterator[list[Note]]:
        """The notes of the stage that is computed inside."""
        self._noted.append([])
        try:
            yield self._noted[-1]
        finally:
            self._noted.pop()


def repeat_notes(known: tuple[Any, Sequence[Note]]) -> Any:
    """Repeat the notes of a stored result, and return the result."""
    for note in known[1]:
        tell(note)
    return known[0]
