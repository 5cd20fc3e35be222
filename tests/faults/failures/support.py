"""A refusal as the user sees it: the exit code, one line that says what, where and what to do, and no output."""

import io
import json
import shutil
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.journeys.support import Called, Caller

OUTPUT = "out"


@dataclass(frozen=True)
class Refusal:
    """What a command ends with: its arguments, the exit code, the error, and a part of the place that it names."""

    arguments: tuple[str, ...]
    exit: int
    error: str
    where: str


def embed(name: str, *options: str) -> tuple[str, ...]:
    """A run of a file."""
    return ("embed", name, *options, "-o", OUTPUT, "-q")


def refuses(mlcli: Caller, refusal: Refusal) -> dict[str, object]:
    """Checks a refusal, told as a line and as JSON; returns its parts."""
    shutil.rmtree(OUTPUT, ignore_errors=True)
    before = sorted(Path().rglob("*"))
    called = mlcli(*refusal.arguments)
    told = mlcli(*refusal.arguments, "--json")
    assert sorted(Path().rglob("*")) == before, "something was left behind"
    assert (called.code, told.code) == (refusal.exit, refusal.exit), called.err
    assert called.err.startswith(f"mlcli: error[{refusal.error}]: ") and called.err.count("\n") == 1, called.err
    assert "Traceback" not in called.err and called.out == told.out == ""
    parts: dict[str, object] = json.loads(told.err)["error"]
    assert refusal.where in str(parts["where"]), parts
    assert parts["hint"], "no remedy"
    return parts


def answers(mlcli: Caller, *arguments: str, warning: str = "") -> Called:
    """Checks that a command gives a result, with a warning or with none."""
    shutil.rmtree(OUTPUT, ignore_errors=True)
    called = mlcli(*arguments)
    assert called.code == 0, called.err
    warnings = [line for line in called.err.splitlines() if "warning[" in line]
    assert [warning in line for line in warnings] == ([True] if warning else []), called.err
    return called


def coordinates() -> np.ndarray:
    """The embedding of the run that was made last."""
    return np.genfromtxt(f"{OUTPUT}/embedding.csv", delimiter=",", skip_header=1, ndmin=2)[:, 1:]


def npy(array: object, **options: bool) -> bytes:
    """An array as NumPy saves it."""
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def npy_of(header: str, data: bytes = b"") -> bytes:
    """An NPY file with any header."""
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(text)) + text + data


def zipped(entries: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return stream.getvalue()


def saved(save: Callable[[io.BytesIO], object]) -> bytes:
    """The bytes that something writes."""
    stream = io.BytesIO()
    save(stream)
    return stream.getvalue()
