"""The number of threads holds for every library in use."""

import os
import subprocess
import sys

import pytest

from mlcli.base.machine.threads import allowed, limit_threads
from tests.processes import python

LATER = """
import numpy
from threadpoolctl import threadpool_info
from mlcli.base.machine.threads import single_threaded_blas, limit_threads

def counts():
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]

with limit_threads(3):
    with single_threaded_blas():
        before = counts()
    import scipy.linalg
    with single_threaded_blas():
        print(len(before) < len(counts()), set(counts()))
"""


NESTED = """
import numpy
from threadpoolctl import threadpool_info
from mlcli.base.machine.threads import single_threaded_blas, limit_threads

def counts():
    return sorted({info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"})

with limit_threads(3):
    with single_threaded_blas():
        with single_threaded_blas():
            pass
        after = counts()
        with limit_threads(2):
            with single_threaded_blas():
                inside = counts()
            wide = counts()
        import scipy.linalg
        with single_threaded_blas():
            later = counts()
    print([after, inside, wide, later, 1 in counts()])
"""


def test_pyarrow_has_as_many_threads_as_the_run() -> None:
    import pyarrow

    before = pyarrow.cpu_count()
    with limit_threads(3):
        assert (pyarrow.cpu_count(), allowed()) == (3, 3)
    pyarrow.set_cpu_count(before)


@pytest.mark.medium
def test_a_library_that_was_loaded_since_is_limited_as_well() -> None:
    assert python(LATER).splitlines() == ["True {1}"]


@pytest.mark.medium
def test_limits_inside_a_limit_to_one_thread_leave_it_at_one() -> None:
    assert python(NESTED).strip() == "[[1], [1], [2], [1], False]"


AFTERWARDS = """
import os
import numpy
from threadpoolctl import threadpool_info
from mlcli.base.machine.threads import limit_threads
counts = lambda: {pool["filepath"]: pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
before, environment = counts(), dict(os.environ)
import pyarrow
pyarrow.set_cpu_count(7)
try:
    with limit_threads(1):
        import scipy.linalg
        os.environ["PJRT_NPROC"] = "1"
        raise ValueError
except ValueError:
    pass
assert dict(os.environ).items() <= environment.items() | {("KMP_DUPLICATE_LIB_OK", "True")}, os.environ
assert pyarrow.cpu_count() == 7
assert len(counts()) > len(before) and {*counts().values()} == {*before.values()}, counts()
"""


@pytest.mark.medium
def test_the_process_is_as_it_was_afterwards_also_with_libraries_that_were_loaded_meanwhile() -> None:
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    subprocess.run([sys.executable, "-P", "-c", AFTERWARDS], check=True,
                   env={**environment, "OPENBLAS_NUM_THREADS": "2"})
