"""How long a run takes from SIGTERM or SIGUSR1 to its end, whatever it does, and that nothing is left of any run."""

import json
import os
import random
import shutil
import signal
import statistics
import time
from pathlib import Path

import numpy as np
import pytest

from mlcli.data.samples import sample
from tests.journeys.support import process

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
TRIALS = 20  # of each kind of work
MOST, MEDIAN = 2.0, 0.3  # seconds, on a machine that does nothing else; SIGUSR1 gives a stage most of them to end
WORK: dict[str, tuple[int, tuple[str, ...], str]] = {  # rows, method, and the stage that the signals hit
    "LAPACK": (4000, ("-m", "mds", "--set", "method.eigensolve.solver=dense"), "eigensolve"),
    "Floyd": (2500, ("-m", "isomap", "-k", "12", "--set", "method.paths.algorithm=floyd",
                     "--set", "method.paths.store=memory"), "paths"),
    "elimination": (12_000, ("-m", "isomap", "-k", "12", "--set", "method.paths.store=streamed"), "elimination"),
    "Krylov": (6000, ("-m", "kpca", "--set", "method.eigensolve.solver=krylov"), "eigensolve"),
    "LLE": (12_000, ("-m", "lle", "-k", "12"), "eigensolve"),
    "SDE": (150, ("-m", "sde", "-k", "6", "--set", "method.constraints=at_most"), "unfold"),
    "GP-LVM": (400, ("-m", "gplvm"), "iterate"),
    "JAX": (400, ("-m", "autoencoder", "--set", "method.layers=[8]"), "training"),
    "read": (400_000, ("-m", "pca"), "read"),
    "METIS": (150_000, ("-m", "isomap", "-k", "6"), "paths"),
}


def stopped(command: list[str], stage: str, wait: float, number: signal.Signals) -> float | None:
    """Seconds from the signal, a while after a stage began, to the end; None for a run that had ended by then."""
    child = process(*command, "-o", "out", "--progress", "json", start_new_session=True)
    assert child.stderr
    while json.loads(child.stderr.readline()).get("stage") != stage:
        pass
    time.sleep(wait)
    begun = time.monotonic()
    child.send_signal(number)
    child.wait(timeout=60)
    seconds = time.monotonic() - begun
    said = child.communicate()[1].decode().splitlines()
    with pytest.raises(ProcessLookupError):
        os.killpg(child.pid, 0)
    if child.returncode == 0:
        shutil.rmtree("out")
        return None
    assert child.returncode in ((75, 124) if number == signal.SIGUSR1 else (143,))
    assert json.loads(said[-1])["error"]["code"] == "E-STOPPED"
    assert {path.suffix for path in Path().iterdir()} <= {".csv", ".claim"}
    shutil.rmtree(next(iter(Path().glob(".*.claim")), "none"), ignore_errors=True)
    return seconds


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
@pytest.mark.parametrize("kind", WORK)
def test_a_run_ends_soon_after_a_signal(kind: str, number: signal.Signals) -> None:
    rows, method, stage = WORK[kind]
    np.savetxt("data.csv", sample("swiss-roll", rows, 0).values, delimiter=",", header="x,y,z", comments="")
    generator, times, longest = random.Random(kind), list[float](), 1.0
    while len(times) < TRIALS:
        seconds = stopped(["embed", "data.csv", *method], stage, generator.uniform(0, longest), number)
        if seconds is None:
            longest /= 2
        else:
            times.append(seconds)
    print(f"{number.name} of {kind}: median {statistics.median(times):.3f}, most {max(times):.3f} s of {len(times)}")
    assert max(times) < MOST and (number == signal.SIGUSR1 or statistics.median(times) < MEDIAN)
