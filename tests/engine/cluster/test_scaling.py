"""The model of a cluster: its limits are those of its parts."""

import itertools
import re
from pathlib import Path

import pytest

from mlcli.base.stages.steps import Passes, Step
from mlcli.core.paths.elimination import group_of
from mlcli.engine.cluster.scaling import GIVEN, LINK, SCHEDULER, WORKER, on_workers, seconds_of

LONG = Passes(4, seconds=1700.0, blocks=253, sent=6.4e7, returned=8.1e9, before=40.0, once=2e8)


def test_one_worker_takes_what_the_work_and_its_overheads_take() -> None:
    least = LONG.before + LONG.count * (LONG.seconds + LONG.blocks * WORKER + LONG.returned / GIVEN)
    assert least <= seconds_of(LONG, 1) <= 1.01 * least


def test_more_workers_help_until_the_link_or_the_scheduler_is_busy() -> None:
    times = [seconds_of(LONG, workers) for workers in (1, 2, 4, 8, 16, 32, 64, 128, 256)]
    assert all(after < 0.9 * before for before, after in itertools.pairwise(times))
    assert seconds_of(LONG, 10_000) >= LONG.before + LONG.count * LONG.returned / LINK
    quick = Passes(1, seconds=1.0, blocks=1000, sent=0.0, returned=0.0)
    assert seconds_of(quick, 1000) == pytest.approx(1000 * SCHEDULER)


def test_sums_on_workers_carry_further_than_the_link_of_the_command() -> None:
    """Ten million points, with 40 seconds for each of 2,442 blocks."""
    vectors = 8.0 * 8 * 1e7
    gathered = Passes(1, seconds=98_000.0, blocks=2442, sent=vectors, returned=vectors / 2 * 2442)
    added = Passes(1, seconds=98_000.0, blocks=2442, sent=vectors, returned=vectors, summed=vectors / 2)
    for workers in (1, 16, 64):
        assert seconds_of(added, workers) == pytest.approx(seconds_of(gathered, workers), rel=0.02)
    assert seconds_of(gathered, 2442) > gathered.returned / LINK > 10 * seconds_of(added, 2442)
    assert added.worker_bytes < 10 * vectors


PAGE = Path(__file__).parents[3] / "docs" / "scale-out.md"
UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
SOURCES, VECTORS = 64, 8  # of a sweep, and of a pass


def passes_of(heading: str) -> Passes:
    """The passes that a heading of the table names: points, their number, and core-seconds of each."""
    points, count, seconds = (float(text.replace(",", "")) for text in re.findall(r"[\d.,]*\d", heading))
    sweeps, vectors = -(-int(points) // SOURCES), 8.0 * VECTORS * points
    return Passes(int(count), seconds=seconds, blocks=-(-sweeps // group_of(sweeps)), sent=vectors, returned=vectors,
                  summed=vectors / 2)


def test_the_page_prints_what_the_model_gives() -> None:
    """Each wall time of the table, to the last digit that it has; in parentheses are those of before."""
    head, _, *rows = re.search(r"^\| workers \| 50,000 points(?:.+\n)+", PAGE.read_text(), re.MULTILINE)[0].splitlines()
    every = [passes_of(heading) for heading in head.strip("| ").split(" | ")[1:]]
    assert [passes.blocks for passes in every] == [98, 253, 2442] and len(rows) == 12
    for row in rows:
        workers, *cells = row.strip("| ").split(" | ")
        for passes, cell in zip(every, cells, strict=True):
            printed, unit = cell.split()[:2]
            digit = 10.0 ** -len(printed.partition(".")[2])
            wall = seconds_of(passes, int(workers.replace(",", ""))) / UNITS[unit]
            assert abs(float(printed.replace(",", "")) - wall) <= 0.51 * digit, (workers, cell)


def test_a_step_without_passes_stays_here() -> None:
    here, there = Step("graph", "", 2.0, 0.0), Step("eigensolve", "passes", 6800.0, 0.0, measured=1.0, passes=LONG)
    assert on_workers(here, 8) is here
    assert on_workers(there, 8).seconds == seconds_of(LONG, 8) and on_workers(there, 8).measured is None
