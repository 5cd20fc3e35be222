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
