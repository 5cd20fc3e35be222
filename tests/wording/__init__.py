"""The wording of messages as they appear in tests, in one snapshot that a command renews.

A test asserts codes, exit codes and places itself. What a message says besides stands in `messages.json`, by the test
that saw it: `wording(called.err)` and `wording(error)` compare it and return the codes in it, and
`wording.raises(DataError, "LISTS")` is `pytest.raises` with a code and a message that is compared.

    python -m tests.wording --renew [tests/data ...]

runs the tests that compare messages, stores what they say now, and prints the old and the new wording; without
`--renew` it only compares. Messages of all errors, as they are declared, are in `docs/errors.md`.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from mlcli.errors import MlcliError

ROOT = Path(__file__).parents[2]
SNAPSHOT = Path(__file__).with_name("messages.json")
OPTION, RENEW = "--wording", "renew"  # of pytest; only the command gives it
CODE = re.compile(r"\b[EWN]-[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)*")
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

    def __call__(self, message: str | BaseException) -> list[str]:
        """Compare a message, and return the codes in it."""
        said = f"{message.code}: {message}" if isinstance(message, MlcliError) else str(message)
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


@pytest.fixture(scope="session")
def snapshot(request: pytest.FixtureRequest) -> Iterator[Messages | None]:
    """The stored messages; None where they are collected, which then replace those of the tests that ran."""
    if request.config.getoption(OPTION) != RENEW:
        yield stored()
        return
    collected = request.config.stash[COLLECTED] = {}
    yield None
    there, others = {item.nodeid for item in request.session.items}, set(comparing(["tests"]))
    others -= {test.partition("::")[0] for test in there}
    kept = {test: said for test, said in stored().items()  # also of tests that were skipped
            if test.partition("::")[0] in others or (test in there and test not in collected)}
    store({**kept, **{test: said for test, said in collected.items() if said}})


def comparing(paths: Sequence[str]) -> list[str]:
    """Return the test files in the paths, below the root of the repository, that compare messages."""
    files = [file for path in paths
             for file in ([ROOT / path] if path.endswith(".py") else sorted((ROOT / path).rglob("test_*.py")))]
    return [str(file.relative_to(ROOT)) for file in files if "wording" in file.read_text(encoding="utf-8")]


COLLECTED = pytest.StashKey[Messages]()


@pytest.fixture
def wording(request: pytest.FixtureRequest, snapshot: Messages | None,
            tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wording]:
    """Compares the messages of a test with the snapshot; one that sees fewer than it did before fails, too."""
    test, failed = request.node.nodeid, request.session.testsfailed
    own = Wording(test, str(tmp_path_factory.getbasetemp()), None if snapshot is None else snapshot.get(test, []))
    yield own
    if snapshot is None:
        request.config.stash[COLLECTED][test] = own.seen
    elif own.expected and len(own.seen) < len(own.expected) and request.session.testsfailed == failed:
        pytest.fail(f"a message is no longer seen: {own.expected[len(own.seen)]}", False)
