"""Calling the command line in this process; `process` starts one of its own."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from mlcli.cli.program import run
from tests.processes import forked, process

__all__ = ["BARE", "Called", "Caller", "forked", "process", "write_points"]


BARE = ("--outputs", "embedding,spectrum,model")  # of a run whose quality, rules and page no test looks at
_finished: dict[tuple[object, ...], dict[str, bytes]] = {}  # the files of runs, by what they were made from


@dataclass(frozen=True)
class Called:
    """How a call ended."""

    code: int
    out: str
    err: str


class Caller:
    """Calls `mlcli` with arguments, in the current directory of the test."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self.capture = capture

    def __call__(self, *arguments: object) -> Called:
        self.capture.readouterr()
        code = run([str(argument) for argument in arguments])
        captured = self.capture.readouterr()
        return Called(code, captured.out, captured.err)

    def bare(self, *arguments: object) -> Called:
        """Calls `mlcli embed` for numbers alone, which takes half the time of a run with its page."""
        return self("embed", *arguments, *BARE)

    def finished(self, *arguments: object) -> Path:
        """The folder of a run that a test starts from; a copy where another test has made the same of the same files.

        What a test has changed in the program does not reach a copy.
        """
        folder = Path(str(arguments[arguments.index("-o") + 1]))
        given = (*map(str, arguments), *sorted(content(Path()).items()))
        if given in _finished:
            folder.mkdir()
            for name, file in _finished[given].items():
                folder.joinpath(name).write_bytes(file)
        else:
            called = self(*arguments)
            assert called.code == 0, called.err
            _finished[given] = content(folder)
        return folder


def content(folder: Path) -> dict[str, bytes]:
    """The files in a folder and in those below it, by their paths in it."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def write_points(path: Path, rows: int = 30, seed: int = 0) -> Path:
    """A small table of three columns with ids, numbers, so that no picture names them."""
    values = np.random.default_rng(seed).standard_normal((rows, 3)) * [3, 2, 1]
    lines = [f"{i + 1},{','.join(map(repr, row))}" for i, row in enumerate(values.tolist())]
    path.write_text("\n".join([",x,y,z", *lines, ""]), encoding="utf-8")
    return path
