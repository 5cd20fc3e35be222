"""Layouts of so many rows that neighbors are found in blocks and repulsion on a grid, killed once in each stage."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from mlcli.data.samples import sample
from tests.faults.kills.test_kills import finished
from tests.faults.kills.test_kills_of_methods import PROGRAM, content, different
from tests.processes import neutral

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
ROWS, COLUMNS = 12_000, 20
LAYOUTS = {"tsne": ("--set", "method.descent={early_steps: 60, steps: 60}"), "umap": ("--set", "method.epochs=100")}


def begin(name: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*PROGRAM, "embed", "data.npy", "-m", name, *LAYOUTS[name], "-o", "out", "-q"],
                            stderr=subprocess.DEVNULL, start_new_session=True, env=neutral(MLCLI_THREADS="2"))


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_killed_in_each_stage_ends_with_the_bytes_of_one_that_was_not(name: str, tmp_path: Path,
                                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("data.npy", sample("ball", ROWS, 3, columns=COLUMNS).values)
    began = time.monotonic()
    assert begin(name).wait() == 0
    whole = time.monotonic() - began
    undisturbed, stages = content(Path("out")), json.loads(Path("out/run.json").read_text())["stages"]
    shutil.rmtree("out")
    spent, killed = whole - sum(stage["seconds"] for stage in stages), 0
    for stage in stages:
        child = begin(name)
        try:
            child.wait(timeout=spent + stage["seconds"] / 2)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            killed += child.wait() == -signal.SIGKILL
        spent += stage["seconds"] / 4  # what was done before is not done again
        if Path("out/run.json").exists():
            break
    assert killed
    if not Path("out/run.json").exists():
        assert begin(name).wait() == 0
    assert finished(Path("out")) and not different(content(Path("out")), undisturbed)
