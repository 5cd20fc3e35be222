"""Rows 21 and 22 of the failure table: a reader that crashes, hangs or grows is ended, and one line says so."""

import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from tests.faults.failures.support import Refusal, embed, refuses, saved
from tests.journeys.support import Caller
from tests.processes import neutral

pytestmark = pytest.mark.medium

POINTS = pa.table({name: np.random.default_rng(place).standard_normal(30) for place, name in enumerate("abc")})
PROGRAM = """
import ctypes, signal, sys
from mlcli.errors import STOPPING
signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
from mlcli.cli.supervisor import supervise
supervise()
from mlcli.data.formats import parquet

def damaged(*arguments):
    print("reading", file=sys.stderr, flush=True)
    {damage}

parquet._of_group = damaged
from mlcli.cli.program import main
main()
"""
CRASH = "ctypes.string_at(0)"
HANG = "ctypes.PyDLL(None).pause()"  # in C, and never lets another thread of Python run
UNTIL = "from mlcli.process.shared_status import STATUS; STATUS.post(limit=0.5); " + HANG  # as --time-limit posts it


Starter = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def started(own_directory: Path) -> Iterator[Starter]:
    """Starts the program, which is about to be damaged while it reads a Parquet file; it is ended with the test."""
    with ExitStack() as ends:

        def start(damage: str, *arguments: str) -> subprocess.Popen[str]:
            child = begun(damage, *arguments)
            ends.callback(child.kill)
            assert child.stderr and child.stderr.readline() == "reading\n"
            return child

        yield start


def begun(damage: str, *arguments: str) -> subprocess.Popen[str]:
    """The program about to read."""
    Path("x.parquet").write_bytes(saved(lambda stream: pyarrow.parquet.write_table(POINTS, stream)))
    return subprocess.Popen([sys.executable, "-P", "-c", PROGRAM.format(damage=damage), *arguments],
                            stderr=subprocess.PIPE, text=True, env=neutral())


@pytest.mark.parametrize("arguments", [embed("x.parquet"), ("plan", "x.parquet")])
def test_a21_a_crash_of_the_reader_is_the_fault_of_the_file(started: Starter, arguments: tuple[str, ...]) -> None:
    child = started(CRASH, *arguments)
    said = child.communicate(timeout=60)[1]
    assert child.returncode == 65 and said.count("\n") == 1, said
    assert said.startswith("mlcli: error[E-READER-CRASH]: ") and " (SIGSEGV); " in said and " read; " in said
    assert [path.name for path in Path().iterdir() if path.name != "data.csv"] == ["x.parquet"]


def test_a21_a_reader_that_hangs_obeys_signals_and_the_time_limit(started: Starter) -> None:
    children = [started(damage, "embed", "x.parquet", "-o", name)
                for damage, name in ((HANG, "out"), (UNTIL, "other"))]
    start = time.monotonic()
    children[0].send_signal(signal.SIGTERM)
    ends = [(child.communicate(timeout=60)[1], child.returncode) for child in children]
    assert time.monotonic() - start < 50
    assert [code for _, code in ends] == [143, 124], ends
    assert all(said.count("error[E-") == said.count("\n") == 1 for said, _ in ends), ends
    assert not Path("out").exists() and not Path("other").exists()


def grown(size: int) -> bytes:
    """An Arrow file whose first compressed column says that it has so many bytes."""
    content = bytearray(saved(lambda stream: pyarrow.feather.write_feather(POINTS, stream, compression="lz4")))
    place = content.index(struct.pack("<q", 240))  # the bytes of 30 numbers
    content[place:place + 8] = struct.pack("<q", size)
    return bytes(content)


@pytest.mark.parametrize("size", [2**34, 2**62])
def test_a22_what_is_decompressed_ends_at_the_limit_of_memory(mlcli: Caller, size: int) -> None:
    Path("x.arrow").write_bytes(grown(size))
    refuses(mlcli, Refusal(embed("x.arrow", "--memory-limit", "1G"), 82, "E-MEMORY", "--memory-limit"))


def test_a22_more_rows_than_fit_are_refused_by_the_figures_of_the_file(mlcli: Caller) -> None:
    """A file of 84 KB that holds 160 MB, of which nothing is read."""
    rows = pa.repeat(1.5, 10_000_000)
    Path("x.parquet").write_bytes(saved(lambda stream: pyarrow.parquet.write_table(
        pa.table({"a": rows, "b": rows}), stream)))
    assert Path("x.parquet").stat().st_size < 100_000
    before = pa.default_memory_pool().bytes_allocated()
    refuses(mlcli, Refusal(embed("x.parquet", "--memory-limit", "100M"), 82, "E-MEMORY", "--memory-limit"))
    assert pa.default_memory_pool().bytes_allocated() == before
