"""The number of threads holds for every library in use."""

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


def test_pyarrow_has_as_many_threads_as_the_run() -> None:
    import pyarrow

    before = pyarrow.cpu_count()
    with limit_threads(3):
        assert (pyarrow.cpu_count(), allowed()) == (3, 3)
    pyarrow.set_cpu_count(before)


@pytest.mark.medium
def test_a_library_that_was_loaded_since_is_limited_as_well() -> None:
    assert python(LATER).splitlines() == ["True {1}"]
