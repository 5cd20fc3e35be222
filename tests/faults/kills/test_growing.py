"""A map that grows by thirty additions, each killed at random moments and begun again: the bytes are the same."""

import os
import random
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from mlcli.data.samples import sample
from tests.faults.kills.test_going_on import KEEPING
from tests.processes import neutral

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
LINKS, EACH, KILLS = 30, 4, 2  # additions, rows of each, and the most kills of one
FILES = ("embedding.csv", "model.json", "model.npz", "config.yaml", "certificate.json")
METHODS = {"pca": (), "smacof": (), "tsne": ("--set", "method.perplexity=5", "--set",
                                              "method.descent={early_steps: 20, steps: 40}")}


def commands(method: str) -> list[list[str]]:
    """The commands of a chain: a first run, and the additions, each onto the one before."""
    bare = ("-q", "--outputs", "embedding,model", "--threads", "1", "--skip-existing")
    first = [*KEEPING, "0", "embed", "0.npy", "-m", method, *METHODS[method], "-o", "map/0", *bare]
    return [first, *([*KEEPING, "0", "embed", f"{link}.npy", "--onto", f"map/{link - 1}", "-o", f"map/{link}", *bare]
                     for link in range(1, LINKS + 1))]


def killed(command: list[str], moment: float) -> None:
    """Start a process, and kill it with those that it started after so many seconds, unless it has ended."""
    child = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True, env=neutral())
    with suppress(subprocess.TimeoutExpired):
        child.wait(timeout=moment)
        return
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait(timeout=60)


def maps() -> dict[str, bytes]:
    """The files of all maps whose bytes follow from the rows."""
    return {f"{link}/{name}": (Path("map") / str(link) / name).read_bytes()
            for link in range(LINKS + 1) for name in FILES}


@pytest.mark.parametrize("method", METHODS)
def test_a_chain_ends_in_the_same_bytes_however_it_was_killed(method: str, tmp_path: Path,
                                                              monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    values = sample("swiss-roll", 60 + LINKS * EACH, 0).values
    np.save("0.npy", values[:60])
    for link in range(LINKS):
        np.save(f"{link + 1}.npy", values[60 + link * EACH : 60 + (link + 1) * EACH])
    begun = time.monotonic()
    for command in commands(method):
        subprocess.run(command, check=True, env=neutral())
    whole = (time.monotonic() - begun) / (LINKS + 1)
    goal = maps()
    shutil.rmtree("map")
    generator = random.Random(method)
    for command in commands(method):
        for _ in range(generator.randint(0, KILLS)):
            killed(command, whole * generator.uniform(0.2, 1.05))
        subprocess.run(command, check=True, env=neutral())
    assert maps() == goal
    assert {path.name for path in Path("map").iterdir()} == {str(link) for link in range(LINKS + 1)}
