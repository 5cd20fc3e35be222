"""What is read from every odd and hostile file stays what it was, as does the error of each that is refused.

A fifteenth of the files is read every day, all of them with the medium tests. A fiftieth of their damages is read every
day, all of them with the slow tests.
"""

import json

import pytest

from tests.laws.reading.corpus import DAMAGED, DAMAGES, READINGS, cases, damages, readings

CASES = [*cases()]
STORED = READINGS.read_text(encoding="utf-8").splitlines()
STEP = 15
PARTS = 26  # tests of all files
HASHES = json.loads(DAMAGES.read_text(encoding="utf-8"))
DAMAGE_STEP = 50


def changed(places: range) -> list[str]:
    """Lines of `readings.jsonl` whose file is read otherwise in some way, with both readings."""
    found = []
    for place in places:
        before, now = json.loads(STORED[place]), json.loads(json.dumps(readings(CASES[place])))
        found += [f"line {place + 1}, {way}: {json.dumps(before.get(way))} -> {json.dumps(now.get(way))}"
                  for way in {**before, **now} if before.get(way) != now.get(way)]
    return found


def test_every_file_has_a_reading() -> None:
    assert len(CASES) == len(STORED)


@pytest.mark.parametrize("part", range(PARTS))
def test_some_odd_files_are_read_as_before(part: int) -> None:
    assert changed(range(part * STEP, len(CASES), PARTS * STEP)) == []


@pytest.mark.medium
@pytest.mark.parametrize("part", range(PARTS))
def test_all_odd_files_are_read_as_before(part: int) -> None:
    assert changed(range(part, len(CASES), PARTS)) == []


@pytest.mark.parametrize("name", DAMAGED)
def test_some_damaged_files_are_read_as_before(name: str) -> None:
    assert damages(name, DAMAGE_STEP) == HASHES[name][::DAMAGE_STEP]


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", DAMAGED)
def test_all_damaged_files_are_read_as_before(name: str) -> None:
    assert damages(name) == HASHES[name]
