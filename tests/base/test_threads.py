"""Work shared among threads comes back in its order, whatever their number."""

import time

import numpy as np
import pytest

from mlcli.base.threads import allowed, in_order, threads_limited


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_pieces(threads: int) -> None:
    def work(piece: int) -> int:
        time.sleep(0.002 * (7 - piece % 8))
        return piece * piece

    with threads_limited(threads):
        assert list(in_order(work, range(40))) == [piece * piece for piece in range(40)]
        assert list(in_order(work, [])) == []


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_in_a_piece_reaches_the_caller(threads: int) -> None:
    with threads_limited(threads), pytest.raises(ZeroDivisionError):
        list(in_order(lambda piece: 1 // piece, [3, 2, 1, 0, 1]))


def test_linear_algebra_has_one_thread_in_each_meanwhile() -> None:
    from threadpoolctl import threadpool_info

    def most(piece: int) -> int:
        return max(info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas")

    np.linalg.eigh(np.eye(3))
    with threads_limited(2):
        assert set(in_order(most, range(6))) == set(in_order(most, range(1))) == {1}
        assert most(0) == 2


def test_pyarrow_has_as_many_threads_as_the_run() -> None:
    import pyarrow

    before = pyarrow.cpu_count()
    with threads_limited(3):
        assert (pyarrow.cpu_count(), allowed()) == (3, 3)
    pyarrow.set_cpu_count(before)
