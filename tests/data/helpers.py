"""Files written, read and refused in one line."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mlcli.base.stages.stage import Note, Watcher, listening
from mlcli.base.values.compute import Compute
from mlcli.cli.line.parsing import in_flags
from mlcli.data.options.input import Input
from mlcli.data.read.table import read
from mlcli.data.table.table import Table
from mlcli.errors import MlcliError


class Notes(Watcher):
    """Keeps the notes of a run."""

    def __init__(self) -> None:
        self.notes: list[Note] = []

    def note(self, note: Note) -> None:
        self.notes.append(note)

    @property
    def codes(self) -> list[str]:
        return [note.code for note in self.notes]

    def message(self, code: str) -> str:
        return next(note.message for note in self.notes if note.code == code)


@contextmanager
def noted() -> Iterator[Notes]:
    """Collects the notes of a block."""
    notes = Notes()
    with listening(notes):
        yield notes


def written(folder: Path, content: str | bytes, name: str = "data.csv") -> str:
    """The path of a file with this content."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def table_of(folder: Path, content: str | bytes, name: str = "data.csv", **options: Any) -> Table:
    """The table of a file with this content."""
    return read(Input(path=written(folder, content, name), **options))


def refused(path: str, error: type[MlcliError], code: str, compute: Compute | None = None,
            **options: Any) -> MlcliError:
    """The error of a file that must not be read."""
    with pytest.raises(MlcliError) as caught:
        read(Input(path=path, **options), compute)
    assert type(caught.value) is error, repr(caught.value)
    assert caught.value.code == f"E-{code}", repr(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.what
    return caught.value.changed(hint=in_flags(caught.value.hint))


def feed(monkeypatch: pytest.MonkeyPatch, content: bytes, terminal: bool = False) -> None:
    """Puts bytes on standard input."""
    stream = io.TextIOWrapper(io.BytesIO(content))
    stream.isatty = lambda: terminal  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stdin", stream)
