"""Tests see no settings of the environment but their own, here and in the processes that they start."""

import gc
import os
import signal
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import settings

from mlcli.errors import STOPPING
from tests.budgets import (  # noqa: F401  which hold each suite to what it may cost
    pytest_runtest_logreport,
    pytest_runtest_makereport,
    pytest_runtest_setup,
    pytest_sessionfinish,
    pytest_terminal_summary,
)
from tests.package import PACKAGE, differing
from tests.processes import neutral
from tests.wording import (  # noqa: F401  which compare messages with the snapshot
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_configure,
    snapshot,
    wording,
)

# Shells start what runs in the background of a script with SIGINT and SIGQUIT ignored, and processes inherit that; of a
# signal with a handler they inherit the default.
for _number in STOPPING:
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)

# A deadline would find fault with a machine that is busy; what a test may take, its timeout says.
settings.register_profile("mlcli", deadline=None)
settings.load_profile("mlcli")
# Workers of pytest-xdist share the cores: threads of linear algebra would wait for each other in busy loops.
CROWDED = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) > 1


@pytest.hookimpl(optionalhook=True)  # the kernels' tests under the sanitizers run without workers
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """A worker for each core; one more beside tests that wait for processes, limits and signals, which are medium."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + ("not medium" not in config.option.markexpr)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Refuse an installed copy that is not of this tree: its tests would be those of other sources."""
    stale = [] if hasattr(session.config, "workerinput") else differing(Path(__file__).parents[1] / "mlcli", PACKAGE)
    if stale:
        raise pytest.UsageError(f"the installed mlcli is not this tree's, as {stale[0]} differs ({len(stale)} files); "
                                "install it anew: .venv/bin/pip install '.[test]'")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect no garbage while tests are collected, as nearly all stays, and keep that out of each later collection.

    A tenth of the everyday suite's time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True, scope="session")
def neutral_environment() -> Iterator[None]:
    """The environment of the tests; the linear algebra libraries of this process have read theirs before.

    Beside other workers the tests' own linear algebra and runs have one thread. Processes have the machine's.
    """
    import numpy
    import scipy.linalg

    from mlcli.base.machine.threads import single_threaded_blas

    assert numpy.__name__ and scipy.linalg.__name__
    before = dict(os.environ)
    replace_environment(neutral(**({"OMP_NUM_THREADS": "1"} if CROWDED else {})))
    with single_threaded_blas() if CROWDED else nullcontext():
        yield
    replace_environment(before)


def replace_environment(variables: dict[str, str]) -> None:
    """Makes these the variables of this process."""
    for name in set(os.environ) - set(variables):
        del os.environ[name]
    os.environ.update(variables)
