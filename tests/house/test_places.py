"""Tests mirror the rooms: where the test of a file is, its name says."""

from collections import Counter
from pathlib import Path

from tests.package import PACKAGE

TESTS = Path(__file__).parents[1]
BESIDE = {"faults", "house", "journeys", "laws"}  # of many rooms at once, or of none
FILES = sorted(path.relative_to(TESTS) for path in TESTS.rglob("test_*.py"))


def has_subject(test: Path) -> bool:
    """Whether a test is called like a module or a room of the package, or lies in a folder called like a module."""
    subject = PACKAGE / test.parent / test.stem.removeprefix("test_")
    return any(place.is_file() for place in (
        subject.with_suffix(".py"), subject / "__init__.py", (PACKAGE / test.parent).with_suffix(".py")))


def test_tests_are_called_like_what_they_test() -> None:
    assert [str(test) for test in FILES if test.parts[0] not in BESIDE and not has_subject(test)] == []


def test_no_folder_has_more_than_20_tests_side_by_side() -> None:
    counts = Counter(str(test.parent) for test in FILES)
    assert {folder: count for folder, count in counts.items() if count > 20} == {}


def test_pytest_looks_into_every_folder() -> None:
    """It passes by folders of some names, such as `build`, wherever they are."""
    passed_by = {"build", "dist", "venv", "node_modules", "CVS", "_darcs"}
    assert [str(test) for test in FILES if passed_by & {*test.parts}] == []
