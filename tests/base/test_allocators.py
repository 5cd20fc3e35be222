"""Memory that is freed stays for the next arrays, until it is much."""

import ctypes

import pytest

from tests.processes import python

FAULTS = """
import resource
import numpy
from mlcli.base.allocators import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        numpy.ones(2**19)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

first = faults()
keep_freed_memory()
faults()
print(first, faults())
"""


@pytest.mark.medium
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="the C library has other settings")
def test_arrays_of_a_small_run_are_made_in_pages_that_the_process_has() -> None:
    before, after = map(int, python(FAULTS).split())
    assert after < 200  # of 1,024 pages, 50 times
    assert before > after
