"""Blocks cover their rows, and what is made of them comes in order, whatever the number of threads."""

import os
import threading
import time

import numpy as np
import pytest

from mlcli.base.machine.threads import allowed, limit_threads
from mlcli.base.rows import blocks
from mlcli.base.rows.blocks import AHEAD, each, in_order, in_stages, one_by_one, row_blocks
from tests.support import Notes


class Told(Notes):
    """Collects how far stages say that they have come."""

    def __init__(self) -> None:
        self.told: list[tuple[int, int]] = []

    def advance(self, name: str, part: str, done: int, total: int) -> None:
        self.told.append((done, total))


@pytest.mark.parametrize(("rows", "numbers", "width", "sizes"), [
    (10, 4, 1, [4, 4, 2]), (10, 8, 2, [4, 4, 2]), (3, 5, 100, [1, 1, 1]), (3, 100, 0, [3]), (0, 5, 1, [])])
def test_blocks_are_all_rows(rows: int, numbers: int, width: int, sizes: list[int]) -> None:
    found = row_blocks(rows, numbers, width)
    assert [block.stop - block.start for block in found] == sizes
    assert np.concatenate([np.arange(rows)[block] for block in found] or [np.arange(0)]).tolist() == list(range(rows))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_blocks(threads: int) -> None:
    def work(block: int) -> int:
        time.sleep(0.002 * (7 - block % 8))
        return block * block

    with limit_threads(threads), Told() as told:
        assert list(in_order(work, range(40), progress=True)) == [block * block for block in range(40)]
        assert told.told == [(done + 1, 40) for done in range(40)]
        assert list(in_order(work, [])) == []


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_in_a_block_reaches_the_caller(threads: int) -> None:
    with limit_threads(threads), pytest.raises(ZeroDivisionError):
        list(in_order(lambda block: 1 // block, [3, 2, 1, 0, 1]))
    with limit_threads(threads), pytest.raises(ZeroDivisionError):
        each(lambda block: 1 // block, [3, 2, 1, 0, 1])


def test_few_are_in_flight_and_who_leaves_waits_for_those_that_have_begun_only() -> None:
    begun, ended, stopped = [], [], []

    def work(block: int) -> int:
        begun.append(block)
        time.sleep(0.02)
        ended.append(block)
        return block

    with limit_threads(2):
        results = in_order(work, range(100), stop=lambda: stopped.append(len(ended)))
        assert next(results) == 0
        results.close()
        assert sorted(begun) == sorted(ended) and len(begun) <= 2 + AHEAD + 1
        assert len(stopped) == 1 and stopped[0] < len(ended)
        time.sleep(0.05)
        assert len(begun) == len(ended) <= 2 + AHEAD + 1


def test_an_interrupt_stops_what_has_begun_before_it_is_waited_for() -> None:
    stop = threading.Event()

    def told(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with limit_threads(2), pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(blocks, "advance", told)
        for _ in in_order(lambda block: block == 0 or stop.wait(20), range(9), progress=True, stop=stop.set):
            started = time.monotonic()
    assert stop.is_set() and time.monotonic() - started < 10


def test_what_runs_in_a_block_takes_no_threads_of_its_own() -> None:
    with limit_threads(3):
        found = in_order(lambda block: set(in_order(lambda _: threading.current_thread().name, range(5))), range(6))
        assert all(len(names) == 1 and names < {"block_0", "block_1", "block_2"} for names in found)
        assert allowed() == 3


def test_tasks_of_a_stage_wait_for_all_stages_before_it() -> None:
    ended: list[int] = []

    def task(stage: int, number: int) -> bool:
        time.sleep(0.001 * (5 - number % 5))
        assert not any(other > stage for other in ended)
        ended.append(stage)
        return ended.count(stage - 1) == (0, 9, 4)[stage]

    with limit_threads(3), Told() as told:
        assert all(in_stages([9, 4, 1], task))
    assert told.told == [(1, 3), (2, 3), (3, 3)] and len(ended) == 14


def test_blocks_in_turn_tell_how_many_are_done() -> None:
    with Told() as told:
        assert list(one_by_one("abc")) == ["a", "b", "c"]
    assert told.told == [(1, 3), (2, 3), (3, 3)]


def test_a_forked_child_starts_threads_of_its_own() -> None:
    with limit_threads(2):
        assert list(in_order(abs, range(4))) == [0, 1, 2, 3]
        child = os.fork()
        if child == 0:
            os._exit(0 if list(in_order(abs, range(4))) == [0, 1, 2, 3] else 1)
        for _ in range(200):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                break
            time.sleep(0.05)
        else:
            os.kill(child, 9)
        assert ended == child and status == 0


def test_linear_algebra_has_one_thread_in_each_meanwhile() -> None:
    from threadpoolctl import threadpool_info

    def most(block: int) -> int:
        return max(info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas")

    np.linalg.eigh(np.eye(3))
    with limit_threads(2):
        assert set(in_order(most, range(6))) == set(in_order(most, range(1))) == {1}
        assert most(0) == 2
