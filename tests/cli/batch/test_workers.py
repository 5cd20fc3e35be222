"""Processes that carry out numbered work: their results, what they say, their memory, their deaths."""

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mlcli.cli.batch.workers import GRACE, Lost, WorkQueue, WorkResult, in_processes
from mlcli.methods.method import admit

Work = Callable[[int], object]


def ended(work: Work, count: int, jobs: int, **options: Any) -> list[WorkResult]:
    running = in_processes(work, range(count), jobs, settle=lambda: None, **options)
    return sorted(running, key=lambda done: done.number)


@pytest.mark.medium
def test_results_and_what_is_said_belong_to_their_number() -> None:
    def work(number: int) -> int:
        for part in range(3):
            print(f"{number}:{part}", file=sys.stderr, flush=True)
        return number**2

    assert [(done.result, done.said.split()) for done in ended(work, 7, 3)] == [
        (number**2, [f"{number}:{part}" for part in range(3)]) for number in range(7)]


def test_a_process_is_kept_for_more_than_one_number() -> None:
    def work(number: int) -> int:
        return os.getpid()

    processes = {done.result for done in ended(work, 12, 2)}
    assert len(processes) <= 2 and os.getpid() not in processes


@pytest.mark.medium
@pytest.mark.parametrize(("needs", "most"), [(60.0, 1), (50.0, 2), (500.0, 1), (1.0, 3)])
def test_what_fits_together_goes_on_together(tmp_path: Path, needs: float, most: int) -> None:
    """As many fits at once as their sum allows, and one where even that is too much."""
    def work(number: int) -> int:
        admit(needs, lambda: 100.0)
        mine = tmp_path / f"{number}.admitted"
        mine.touch()
        time.sleep(0.02)
        together = len(list(tmp_path.glob("*.admitted")))
        mine.unlink()
        return together

    counts = [done.result for done in ended(work, 9, 3)]
    assert 1 <= max(counts) <= most
    assert needs > 1 or max(counts) > 1


def test_who_dies_is_replaced() -> None:
    def work(number: int) -> int:
        if number in (0, 3):
            os.kill(os.getpid(), signal.SIGKILL)
        if number == 1:
            os._exit(5)
        return number

    results = [done.result for done in ended(work, 6, 2)]
    assert [result.code if isinstance(result, Lost) else result for result in results] == [-9, 5, 2, -9, 4, 5]


@pytest.mark.medium
def test_who_waits_for_memory_of_one_that_dies_goes_on() -> None:
    def work(number: int) -> int:
        admit(80.0, lambda: 100.0)
        if number == 0:
            time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    first, *others = [done.result for done in ended(work, 4, 2)]
    assert first.code == -9 and others == [1, 2, 3]


@pytest.mark.medium
def test_leaving_early_stops_all_even_those_that_are_deaf(tmp_path: Path) -> None:
    def work(number: int) -> int:
        (tmp_path / f"{os.getpid()}.worker").touch()
        while len(list(tmp_path.glob("*.worker"))) < 3:
            time.sleep(0.01)
        while number:
            with suppress(BaseException):  # as a library that takes no notice of what stops it
                time.sleep(60)
        return number

    running = in_processes(work, range(4), 3, settle=lambda: None)
    assert next(running).result == 0
    begun = time.monotonic()
    running.close()
    assert time.monotonic() - begun < 2 * GRACE + 1
    workers = list(tmp_path.glob("*.worker"))
    assert len(workers) == 3
    for path in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.stem), 0)


def test_work_of_one_family_goes_to_one_process_as_long_as_none_is_without_work(tmp_path: Path) -> None:
    left = WorkQueue([*range(6)], lambda number: number // 3)  # two families of three
    first = left.take(None, [None])
    second = left.take(None, [first, None])
    assert (first, second) == (0, 3)
    assert [left.take(0, [0, 3]), left.take(1, [1, 3])] == [1, 2]  # one process is quicker than the other,
    assert left.take(2, [2, 3]) == 4  # and takes from the other's family rather than have nothing to do
    assert [left.take(3, [4, 3])] == [5] and not left

    def side_by_side(number: int) -> int:
        (tmp_path / str(number)).touch()
        while not (tmp_path / str((number + 3) % 6)).exists():
            time.sleep(0.001)
        return os.getpid()

    processes = [done.result for done in ended(side_by_side, 6, 2, family=lambda number: number // 3)]
    assert len({*processes[:3]}) == len({*processes[3:]}) == 1 and len({*processes}) == 2


def test_work_may_last_until_the_end_of_all_time() -> None:
    assert [done.result for done in ended(lambda number: number, 2, 1, until=time.monotonic() + 1e9)] == [0, 1]
