"""What each suite may cost: processor seconds of its tests and of the processes that they start and wait for.

The everyday suite stays under three and a half minutes on two cores. Wall time would blame a suite for the load of the
machine. A suite over its budget fails the run: its slowest cases, which the summary names, are marked `medium`.
"""

import os
from collections import defaultdict
from typing import Any

import pytest

from tests.processes import seconds_of_forks

OTHERS = 60.0  # seconds of a suite that is not named
# more than twice what they took on a quiet machine of 2026, for slower ones
BUDGETS = {"laws": 300.0, "journeys": 150.0, "data": 120.0, "faults": 100.0, "cli": 90.0}
SHOWN = 5  # of the slowest tests of a suite that costs too much

_spent: dict[str, dict[str, float]] = defaultdict(dict)  # by suite and test


def processor() -> float:
    """Seconds of this process, of its children that have ended, and of forks that stand for such."""
    return sum(os.times()[:4]) + seconds_of_forks()


def suite_of(test: str) -> str:
    """The folder below tests/ that a test lies in, or its file."""
    path = test.partition("::")[0].removeprefix("tests/")
    return path.partition("/")[0]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: Any) -> None:
    item.begun = processor()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Any:
    report = yield
    if report.when == "teardown" and hasattr(item, "begun"):
        report.user_properties.append(("processor", processor() - item.begun))
    return report


def pytest_runtest_logreport(report: Any) -> None:
    for name, seconds in report.user_properties if report.when == "teardown" else ():
        if name == "processor":
            _spent[suite_of(report.nodeid)][report.nodeid] = seconds


def over() -> dict[str, float]:
    """The suites that cost more than they may, with what they cost."""
    totals = {suite: sum(tests.values()) for suite, tests in _spent.items()}
    return {suite: total for suite, total in totals.items() if total > BUDGETS.get(suite, OTHERS)}


def is_everyday(config: pytest.Config) -> bool:
    """Whether the everyday suite runs here, and not one of its workers."""
    return not hasattr(config, "workerinput") and config.option.markexpr == "not medium and not slow"


def pytest_sessionfinish(session: Any) -> None:
    if is_everyday(session.config) and over() and session.exitstatus == 0:
        session.exitstatus = 1


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for suite, total in over().items() if is_everyday(terminalreporter.config) else ():
        most = BUDGETS.get(suite, OTHERS)
        terminalreporter.write_line(f"tests/{suite} took {total:.0f} of {most:.0f} processor seconds")
        for test, seconds in sorted(_spent[suite].items(), key=lambda item: -item[1])[:SHOWN]:
            terminalreporter.write_line(f"  {seconds:6.1f} s {test}")
