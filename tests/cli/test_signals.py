"""Signals, closed pipes and full disks, against real processes."""

import json
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.support import process
from tests.processes import neutral, program, python


@pytest.mark.parametrize(("number", "code", "name"), [
    (signal.SIGTERM, 143, "SIGTERM"), (signal.SIGINT, 130, "SIGINT")])
def test_a_signal_ends_the_run_without_an_output(number: signal.Signals, code: int, name: str) -> None:
    child = process("embed", "-", "-o", "out", "--progress", "json", stdin=subprocess.PIPE)
    assert child.stderr and child.stdin
    assert json.loads(child.stderr.readline())["event"] == "begin"  # now it waits for data
    child.send_signal(number)
    rest = child.stderr.read().decode().splitlines()
    assert child.wait(timeout=20) == code
    child.stdin.close()
    child.stderr.close()
    if child.stdout:
        child.stdout.close()
    assert json.loads(rest[-1])["error"] == {
        "code": "E-STOPPED", "exit": code, "what": f"stopped by {name}", "where": "", "hint": ""}
    assert list(Path().iterdir()) == [Path("data.csv")]


def test_an_ignored_signal_stays_ignored() -> None:
    code = ("import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); sys.argv = ['mlcli', '--version']\n"
            "from mlcli.cli import main\n"
            "try: main()\n"
            "finally: print(signal.getsignal(signal.SIGINT) == signal.SIG_IGN)")
    assert python(code).splitlines() == ["mlcli 0.1.0", "True"]


def test_a_closed_reader_is_quiet_and_141() -> None:
    child = process("sample", "torus", "--rows", 20_000)
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
    found = subprocess.run(f"{shell} sample torus >&-", shell=True, check=False, capture_output=True)
    assert found.returncode == 73 and b"E-STDOUT" in found.stderr


def test_output_in_an_ascii_locale() -> None:
    environment = neutral(LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    child = process("methods", "kpca", env=environment)
    out, err = child.communicate()
    assert (child.returncode, err) == (0, b"")
    assert out.startswith(b"kpca: PCA in the feature space")
