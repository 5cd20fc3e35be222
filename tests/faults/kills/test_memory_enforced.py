"""A limit that is enforced ends what goes beyond it, with the exit code of memory, and leaves nothing."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mlcli.cli import supervisor
from mlcli.cli.screen.failure import understood
from tests.journeys.support import Caller, process
from tests.processes import python

BEYOND = """
from mlcli.base.machine import limits
with limits.enforce_limit(200 << 20, 1):
    bytearray(40 << 20)
    try:
        bytearray(800 << 20)
    except MemoryError:
        print("refused")
bytearray(800 << 20)
"""


@pytest.mark.medium
def test_allocations_beyond_the_limit_fail_within_the_block() -> None:
    done = subprocess.run([sys.executable, "-c", BEYOND], capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"


def test_a_run_within_its_least_limit_ends_well(mlcli: Caller) -> None:
    planned = json.loads(mlcli("plan", "data.csv", "--set", "compute.memory_enforce=true", "--json").out)
    assert planned["memory_least"] >= planned["memory"]
    before = resource.getrlimit(resource.RLIMIT_DATA)
    called = mlcli("embed", "data.csv", "--set", "compute.memory_enforce=true", "--memory-limit", "4G", "-o", "run")
    assert called.code == 0 and resource.getrlimit(resource.RLIMIT_DATA) == before
    assert mlcli("plan", "data.csv", "--json").out.count('"memory_least": null') == 1


@pytest.mark.slow
def test_a_run_beyond_it_ends_with_137_and_leaves_nothing() -> None:
    np.save("points.npy", np.random.default_rng(0).standard_normal((12_000, 20)))
    planned = json.loads(process("plan", "points.npy", "-m", "lle", "--json").communicate()[0])
    child = process("embed", "points.npy", "-m", "lle", "--set", "compute.memory_enforce=true", "--memory-limit",
                    str(int(planned["memory"])), "-o", "run", "-q")
    error = child.communicate()[1]
    assert child.returncode in (0, 137), error
    assert Path("run").exists() == (child.returncode == 0)


def test_a_library_that_ends_the_process_is_told_as_a_lack_of_memory() -> None:
    error = supervisor.refused_memory("eigensolve", 512.0)
    assert error.exit_code == 137 and "eigensolve" in error.where and "memory_enforce" in error.hint


def test_an_allocation_that_the_system_refuses_is_a_lack_of_memory() -> None:
    assert understood(OSError(12, "Cannot allocate memory")).exit_code == 137


def test_threads_reserve_memory_that_they_do_not_use() -> None:
    """In a process of its own: what others have loaded counts as used."""
    assert python("from mlcli.base.machine.limits import reserved; print(reserved(2) > reserved(1) > 0)") == "True\n"
