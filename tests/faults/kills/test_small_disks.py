"""Disks without room: a run there is complete, or ends with 74 and one line and leaves nothing half-written."""

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.data.samples import sample
from tests.journeys.support import process
from tests.processes import neutral

SCRIPT = Path(__file__).with_name("small_disks.py")
OWN = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]  # mounts that nobody else sees
CAN = shutil.which("unshare") and not subprocess.run([*OWN, "true"], capture_output=True, check=False).returncode
LADDER = [0, 4, 8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 288, 320, 384, 448, 512, 640, 1024, 2048]
INODES = [*range(2, 40, 2), 48, 64]

needs_mounts = pytest.mark.skipif(not CAN, reason="needs mounts of its own")


def ladder(kind: str, way: str, rungs: list[int]) -> list[dict[str, Any]]:
    """How runs end on disks with so much room."""
    np.save("data.npy", sample("swiss-roll", 120, 0).values)
    command = [*OWN, sys.executable, "-P", str(SCRIPT), kind, way, *map(str, rungs)]
    done = subprocess.run(command, env=neutral(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def require_whole_or_absent(trial: dict[str, Any], way: str) -> None:
    """A complete run, or one line, 74, and what was there before."""
    if trial["code"] == 0:
        assert trial["state"] == "whole" and trial["said"] == "", trial
    else:
        assert trial["code"] == 74 and trial["state"] == ("older" if way == "force" else "none"), trial
        assert trial["said"].startswith("mlcli: error[E-") and trial["said"].count("\n") == 1, trial
    kept = {name for name in trial["left"] if name.endswith(".claim") and trial["code"]}  # to go on from
    assert {*trial["left"]} - kept <= {"out", "cache"}, trial


@pytest.mark.medium
@needs_mounts
def test_a_disk_that_is_nearly_full() -> None:
    (trial,) = ladder("tmpfs", "new", [64])
    require_whole_or_absent(trial, "new")
    assert trial["code"] == 74 and "No space left on device" in trial["said"]


@needs_mounts
@pytest.mark.parametrize("kind", ["tmpfs", "ext4", "inodes"])
@pytest.mark.parametrize("way", ["new", "force", "cache"])
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_ladder_of_disks(kind: str, way: str) -> None:
    """A cache, or what a run keeps to go on from, may fill the disk: that alone fails no run."""
    if kind == "ext4" and not (os.geteuid() == 0 and shutil.which("mkfs.ext4")):
        pytest.skip("needs loop devices")
    if (kind, way) == ("inodes", "force"):
        pytest.skip("the older run needs inodes itself")
    trials = ladder(kind, way, INODES if kind == "inodes" else LADDER)
    for trial in trials:
        require_whole_or_absent(trial, way)
    codes = [trial["code"] for trial in trials]
    assert codes[0] == 74 and codes[-1] == 0
    print(f"{kind} {way}: {codes.count(74)} full, {codes.count(0)} complete")


@needs_mounts
@pytest.mark.slow
def test_a_disk_that_only_can_be_read() -> None:
    (trial,) = ladder("tmpfs", "read-only", [2048])
    assert trial["code"] == 73 and trial["said"].count("\n") == 1 and trial["left"] == []


@pytest.mark.medium
@pytest.mark.parametrize("most", [0, *(pytest.param(most, marks=pytest.mark.slow) for most in (1024, 4096, 16384))])
def test_files_that_may_not_grow(most: int) -> None:
    """As under `ulimit -f`; Python itself would cut the files in which it keeps compiled modules."""
    child = process("embed", "data.csv", "-o", "out", "-q", env=neutral(PYTHONDONTWRITEBYTECODE="1"),
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
    said = child.communicate(timeout=120)[1].decode()
    assert child.returncode == 74 and "File too large" in said and said.count("\n") == 1
    assert list(Path().iterdir()) == [Path("data.csv")]
