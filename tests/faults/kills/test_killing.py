"""A process that is killed at any call of the file system tears nothing, loses nothing and leaves no draft for ever."""

import subprocess
import sys
from pathlib import Path

import pytest

from mlcli.publication.replaceable import FINISHED
from tests.faults.kills.killing import LISTINGS

SCRIPT = Path(__file__).with_name("killing.py")


def long(*case: str) -> object:
    """A case of the long suite: another one goes through the same calls and more."""
    return pytest.param(*case, marks=pytest.mark.slow)


@pytest.mark.medium
@pytest.mark.parametrize(("kind", "force", "lacking"), [
    ("folder", "", ""), long("folder", "force", ""), ("folder", "force", "exchange"),
    long("failed", "", ""), long("failed", "force", ""), ("failed", "force", "exchange"),
    long("relation", "", ""), ("relation", "force", ""), ("relation", "force", "exchange"), ("report", "force", ""),
    ("file", "", ""), ("file", "", "all"), ("file", "force", ""), ("file", "force", "exchange")])
def test_killed_at_every_call(tmp_path: Path, kind: str, force: str, lacking: str) -> None:
    command = [sys.executable, SCRIPT, tmp_path, kind, force, lacking]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    calls, *wrong = found.stdout.splitlines()
    assert int(calls) > 12 and not wrong


def test_each_kind_of_finished_folder_is_killed() -> None:
    assert {*LISTINGS.values()} == {*FINISHED}
