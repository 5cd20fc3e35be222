"""The wording of messages as they appear in tests, in one snapshot that a command renews.

A test asserts codes, exit codes and places itself. What a message says besides stands in `messages.json`, by the test
that saw it: `wording(called.err)` and `wording(error)` compare it and return the codes in it,
`wording(called.err, "W-DROPPED")` does so for the lines with this code alone (beside lines of progress), and
`wording.raises(DataError, "LISTS")` is `pytest.raises` with a code and a message that is compared.

    python -m tests.wording --renew [tests/data ...]

runs the tests that compare messages, stores what they say now, and prints the old and the new wording; without
`--renew` it only compares. Of a test that fails the messages stay as they were, and its name is printed. Messages of
all errors, as they are declared, are in `docs/errors.md`.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from mlcli.errors import MlcliError

ROOT = Path(__file__).parents[2]
SNAPSHOT = Path(__file__).with_name("messages.json")
OPTION, RENEW = "--wording", "renew"  # of pytest; only the command gives it
CODE = re.compile(r"\b[CEWN]-[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)*\b")
TIME = re.compile(r"\bin [\d.]+ (?:s|min|h)\b")  # that a run took
E = TypeVar("E", bound=MlcliError)
Messages = dict[str, list[str]]  # of each test, in the order in which it saw them


def stored() -> Messages:
    """Return the messages of the snapshot."""
    return dict(json.loads(SNAPSHOT.read_text(encoding="utf-8"))) if SNAPSHOT.exists() else {}


def store(messages: Messages) -> None:
    """Write the snapshot."""
    SNAPSHOT.write_text(json.dumps(dict(sorted(messages.items())), indent=1, ensure_ascii=False) + "\n",
                        encoding="utf-8")


class Wording:
    """The messages of one test: compared with the snapshot, or collected to renew it."""

    def __init__(self, test: str, folders: str, expected: list[str] | None) -> None:
        self.test, self.expected = test, expected  # None: collect
        self.folders = re.compile(re.escape(folders) + r"/[^\s/;:'\"]+")  # of the tests of this session
        self.seen = list[str]()

    def __call__(self, message: str | BaseException, code: str = "") -> list[str]:
        """Compare a message, or only its lines with a code, and return the codes in it; without such a line, none."""
        said = f"{message.code}: {message}" if isinstance(message, MlcliError) else str(message)
        if code:
            said = "\n".join(line for line in said.splitlines() if code in CODE.findall(line))
            if not said:
                return []
        self.seen.append(TIME.sub("in TIME", self.folders.sub("TMP", said)))
        if self.expected is not None:
            place = len(self.seen) - 1
            expected = self.expected[place] if place < len(self.expected) else "(no message)"
            if expected != self.seen[place]:
                pytest.fail(f"the wording of a message changed\n  old: {expected}\n  new: {self.seen[place]}\n"
                            f"If that is meant: python -m tests.wording --renew {self.test.partition('::')[0]}", False)
        return CODE.findall(said)

    @contextmanager
    def raises(self, kind: type[E], code: str) -> Iterator[pytest.ExceptionInfo[E]]:
        """Expect an error of a kind with a code (without E-), and compare its message."""
        with pytest.raises(kind) as caught:
            yield caught
        assert caught.value.code == f"E-{code}", caught.value
        self(caught.value)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the option of the command `python -m tests.wording`."""
    parser.addoption(OPTION, choices=["compare", RENEW], help="run the tests that compare messages alone")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that compare no messages, where the command asks for the others."""
    if config.getoption(OPTION):
        others = [item for item in items if "wording" not in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]


class Renewal:
    """A plugin of pytest that collects messages; at the end those of tests that passed replace the stored ones."""

    def __init__(self) -> None:
        self.collected: Messages = {}
        self.failed = dict[str, None]()  # tests, in their order

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember a test that failed, in its setup, its call or its teardown."""
        if report.failed:
            self.failed[report.nodeid] = None

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Store what tests that passed have seen; messages of others stay, unless the test is gone."""
        there, others = {item.nodeid for item in session.items}, set(comparing(["tests"]))
        others -= {test.partition("::")[0] for test in there}
        seen = {test: said for test, said in self.collected.items() if test not in self.failed}
        kept = {test: said for test, said in stored().items()  # also of tests that were skipped
                if test.partition("::")[0] in others or (test in there and test not in seen)}
        store({**kept, **{test: said for test, said in seen.items() if said}})

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the tests whose messages were not renewed."""
        for test in self.failed:
            terminalreporter.write_line(f"messages kept as they were, as the test failed: {test}")


def pytest_configure(config: pytest.Config) -> None:
    """Collect messages where the command asks for it."""
    if config.getoption(OPTION) == RENEW:
        config.pluginmanager.register(Renewal(), RENEW)


@pytest.fixture(scope="session")
def snapshot(request: pytest.FixtureRequest) -> Messages | None:
    """Return the stored messages; None where messages are collected."""
    return None if request.config.pluginmanager.has_plugin(RENEW) else stored()


def comparing(paths: Sequence[str]) -> list[str]:
    """Return the test files in the paths, below the root of the repository, that compare messages."""
    files = [file for path in paths
             for file in ([ROOT / path] if path.endswith(".py") else sorted((ROOT / path).rglob("test_*.py")))]
    return [str(file.relative_to(ROOT)) for file in files if "wording" in file.read_text(encoding="utf-8")]


@pytest.fixture
def wording(request: pytest.FixtureRequest, snapshot: Messages | None,
            tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wording]:
    """Compares the messages of a test with the snapshot; one that sees fewer than it did before fails, too."""
    test, failed = request.node.nodeid, request.session.testsfailed
    own = Wording(test, str(tmp_path_factory.getbasetemp()), None if snapshot is None else snapshot.get(test, []))
    yield own
    if snapshot is None:
        renewal: Any = request.config.pluginmanager.get_plugin(RENEW)
        renewal.collected[test] = own.seen
    elif own.expected and len(own.seen) < len(own.expected) and request.session.testsfailed == failed:
        pytest.fail(f"a message is no longer seen: {own.expected[len(own.seen)]}", False)
