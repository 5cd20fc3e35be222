"""Standard output and standard error, against real processes: every byte, or an exit code that says otherwise."""

import json
import os
import resource
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest

from mlcli.cli.group import COMMANDS
from tests.journeys.support import Caller, process, write_points
from tests.processes import neutral, program, python

pytestmark = pytest.mark.medium

UNBUFFERED, BUFFERED = neutral(PYTHONUNBUFFERED="1"), neutral()
TALKING = {  # what a command needs to have something to say on standard output
    "embed": ["data.csv", "-o", "new", "--json"], "run": ["config.yaml", "--json"], "check": ["data.csv"],
    "plan": ["data.csv"], "project": ["run", "data.csv"], "reconstruct": ["run", "run/embedding.csv"],
    "route": ["run", "1", "2"], "explore": ["data.csv", "--budget", "1s"], "explain": ["pca", "data.csv", "--json"],
    "compare": ["run", "run", "-o", "page.html"], "show": ["run", "distances"],
    "relate": ["run", "--with", "data.csv", "--permutations", "9"], "collect": ["run", "-o", "table", "--json"],
    "report": ["run", "--json"], "export": ["run"], "verify": ["run"], "methods": [],
    "schema": [], "sample": ["torus"], "doctor": [],
    "cache": ["--folder", "nothing"], "help": ["embed"]}


CLOSED = """
import importlib, json, os, sys
from mlcli.__main__ import main
from mlcli.cli.group import COMMANDS

for name in COMMANDS:  # once for all of them, since it takes longer than what they do
    importlib.import_module(f"mlcli.cli.commands.{name}")
import mlcli.runs.export, mlcli.pipeline.run, mlcli.runs.project, mlcli.runs.compare, mlcli.runs.verify
import mlcli.pipeline.read_run, mlcli.runs.relate, mlcli.runs.relate
ends = []
for call in json.loads(sys.argv[1]):
    child = os.fork()
    if not child:
        os.close(1)
        sys.stdout, sys.argv = None, ["mlcli", *call]
        main()
    ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(json.dumps(ends))
"""


@pytest.fixture
def finished(mlcli: Caller) -> Path:
    """A finished run."""
    mlcli.finished("embed", "data.csv", "-o", "run", "-q")
    return Path("run")


@pytest.mark.slow
def test_every_command_refuses_a_closed_standard_output(finished: Path) -> None:
    Path("config.yaml").write_text("input: {path: data.csv}\noutput: new\n", encoding="utf-8")
    page = (finished / "report.html").stat().st_mtime_ns
    assert TALKING.keys() == COMMANDS.keys()
    calls = [[name, *arguments] for name, arguments in TALKING.items()] + [["--help"], ["--version"], ["embed", "-h"]]
    ends = json.loads(python(CLOSED, json.dumps(calls), OPENBLAS_NUM_THREADS="1"))
    assert {shlex.join(call): end for call, end in zip(calls, ends, strict=True) if end != 73} == {}
    assert {path.name for path in Path().iterdir()} == {"data.csv", "config.yaml", "run"}
    assert (finished / "report.html").stat().st_mtime_ns == page


def test_a_closed_standard_output_is_no_matter_where_nothing_is_to_be_said() -> None:
    child = process("embed", "data.csv", "-o", "new", stdout=None, preexec_fn=lambda: os.close(1))
    assert b"open new/report.html" in child.communicate(timeout=60)[1]
    assert child.returncode == 0 and Path("new/run.json").is_file()


def limited() -> None:
    """Files may grow to 8,192 bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))


@pytest.mark.parametrize("call", [
    ["sample", "torus"], ["embed", "data.csv", "-o", "-"], ["schema"], *(pytest.param(call, marks=pytest.mark.slow)
    for call in (["sample", "s-curve"], ["project", "run", "data.csv"], ["reconstruct", "run", "run/embedding.csv"],
                 ["methods", "--json"]))], ids=lambda call: call[0])
def test_output_that_is_cut_is_74(mlcli: Caller, call: list[str]) -> None:
    write_points(Path("data.csv"), rows=300)
    if "run" in call:
        mlcli.finished("embed", "data.csv", "-o", "run", "-q")
    with Path("out.csv").open("wb") as out:
        child = process(*call, stdout=out, preexec_fn=limited,  # Python would cut its own files as well
                        env={**(BUFFERED if "torus" in call else UNBUFFERED), "PYTHONDONTWRITEBYTECODE": "1"})
        said = child.communicate(timeout=60)[1]
    assert (child.returncode, Path("out.csv").stat().st_size) == (74, 8192)
    assert b"E-STORAGE" in said and b"File too large" in said and said.count(b"\n") == 1


@pytest.mark.parametrize("environment", [UNBUFFERED, BUFFERED], ids=["unbuffered", "buffered"])
def test_a_pipe_that_does_not_block_is_waited_for(mlcli: Caller, environment: dict[str, str]) -> None:
    expected = mlcli("sample", "torus", "--rows", 5000).out.encode()
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    child = process("sample", "torus", "--rows", 5000, stdout=writer, env=environment)
    os.close(writer)
    time.sleep(1)  # the pipe is full by then
    with os.fdopen(reader, "rb") as stream:
        assert stream.read() == expected
    assert (child.communicate()[1], child.returncode) == (b"", 0)


def test_a_signal_ends_a_program_whose_reader_has_stopped() -> None:
    child = process("sample", "torus", "--rows", 20_000)
    assert child.stdout and child.stdout.read(10)
    child.send_signal(signal.SIGTERM)
    assert child.wait(timeout=20) == 143
    assert child.communicate()[1] == b"mlcli: error[E-STOPPED]: stopped by SIGTERM\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("call", [["--help"], ["methods"]], ids=lambda call: call[0])
def test_nothing_that_is_said_goes_lost_on_a_full_disk(call: list[str]) -> None:
    for environment in (UNBUFFERED, BUFFERED):
        with Path("/dev/full").open("wb") as full:
            child = process(*call, stdout=full, env=environment)
            said = child.communicate(timeout=60)[1]
        assert child.returncode == 74 and said.count(b"\n") == 1


@pytest.mark.parametrize("environment", [UNBUFFERED, BUFFERED], ids=["unbuffered", "buffered"])
def test_a_closed_reader_is_quiet_and_141(environment: dict[str, str]) -> None:
    child = process("sample", "torus", "--rows", 20_000, env=environment)
    assert child.stdout and child.stderr
    assert child.stdout.readline() == b",x,y,z\n"
    child.stdout.close()
    assert child.stderr.read() == b""
    child.stderr.close()
    assert child.wait(timeout=20) == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_under_standard_output_is_74() -> None:
    with Path("/dev/full").open("wb") as full:
        child = process("sample", "torus", "--rows", 20, stdout=full)
        _, err = child.communicate()
    assert child.returncode == 74
    assert err.startswith(b"mlcli: error[E-STORAGE]: ") and err.count(b"\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_standard_error_keeps_the_exit_code() -> None:
    with Path("/dev/full").open("wb") as full:
        child = process("embd", stderr=full)
        child.communicate()
    assert child.returncode == 2


def test_closed_streams_keep_the_exit_code() -> None:
    shell = shlex.join(program())
    assert subprocess.run(f"{shell} embd 2>&-", shell=True, check=False).returncode == 2
    assert subprocess.run(f"{shell} embd >&- 2>&-", shell=True, check=False).returncode == 2
    found = subprocess.run(f"{shell} sample torus >&-", shell=True, check=False, capture_output=True)
    assert found.returncode == 73 and b"E-STDOUT" in found.stderr


def test_output_in_an_ascii_locale() -> None:
    environment = neutral(LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    child = process("methods", "kpca", env=environment)
    out, err = child.communicate()
    assert (child.returncode, err) == (0, b"")
    assert out.startswith(b"kpca: PCA in the feature space")
