"""The seam: listeners are given the calls of stages, and may answer in their place."""

import ast
import ctypes
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from time import sleep
from typing import Any

import numpy as np
import pytest

from mlcli.base.allocators import resident_memory
from mlcli.base.stages import stage as seam
from mlcli.base.stages.stage import (
    QUICK,
    Note,
    Stage,
    Watcher,
    advance,
    computed,
    listening,
    mute_notes,
    no_listeners,
    note,
    part,
    running,
    stage,
    tell,
)
from mlcli.base.types import Array
from tests.package import FILES, nodes


class Heard(Watcher):
    """Writes down all that it is told."""

    def __init__(self, log: list[Any], name: str = "") -> None:
        self.log, self.name = log, name

    def begin(self, name: str) -> None:
        self.log.append((f"{self.name}begin", name))

    def end(self, name: str) -> None:
        self.log.append((f"{self.name}end", name))

    def advance(self, name: str, part: str, done: int, total: int) -> None:
        self.log.append((f"{self.name}advance", name, part, done, total))

    def note(self, note: Note) -> None:
        self.log.append((f"{self.name}note", note.code))


class Values(Watcher):
    """Copies the values that it is given."""

    def __init__(self) -> None:
        self.given: list[tuple[str, Any, str]] = []

    def computed(self, name: str, value: Any, says: str) -> None:
        self.given.append((name, np.array(value), says))


class Answering(Watcher):
    """Answers with 7, after it has written down what it was asked."""

    caches = True

    def __init__(self) -> None:
        self.asked: list[tuple[Stage, Mapping[str, Any]]] = []

    def around(self, stage: Stage, inputs: Mapping[str, Any], call: Callable[[], Any]) -> Any:
        self.asked.append((stage, dict(inputs)))
        tell(Note("W-BEFORE", "noted when it was computed"))
        return 7


@stage("halving", version=3)
def halved(value: int, *, times: int = 1) -> int:
    """A stage with progress and a note."""
    for done in range(times):
        value //= 2
        advance(done + 1, times)
    note("N-HALVED", "halved")
    return value


def test_watchers_see_what_is_computed() -> None:
    log: list[Any] = []
    with listening(Heard(log)):
        assert halved(8, times=2) == 2
    assert log == [("begin", "halving"), ("advance", "halving", "", 1, 2), ("advance", "halving", "", 2, 2),
                   ("note", "N-HALVED"), ("end", "halving")]


def test_a_stage_inside_another_is_a_part_of_it() -> None:
    log: list[Any] = []
    with listening(Heard(log)), running("all"):
        halved(8)
        with running("all"):
            advance(1, 2)
        with part("pass 1"):
            advance(3, 4)
        advance(2, 2)
    assert log == [("begin", "all"), ("advance", "all", "halving", 1, 1), ("note", "N-HALVED"),
                   ("advance", "all", "", 1, 2), ("advance", "all", "pass 1", 3, 4), ("advance", "all", "", 2, 2),
                   ("end", "all")]


def test_of_a_composed_stage_its_parts_are_watched() -> None:
    """It may be answered for as a whole all the same."""

    @stage("both", version=1, composed=True)
    def both(value: int) -> int:
        return halved(halved(value))

    log: list[Any] = []
    answering = Answering()
    with listening(Heard(log)):
        assert both(8) == 2
        assert [entry[:2] for entry in log if entry[0] in ("begin", "end")] == [
            ("begin", "halving"), ("end", "halving")] * 2
        with listening(answering):
            assert both(8) == 7
    assert answering.asked == [(Stage("both", 1), {"value": 8})]


def test_a_listener_may_answer_and_the_stage_is_not_computed() -> None:
    """Those who watch hear of no stage, for none was computed; but of its notes, which the listener tells again."""
    for first in (True, False):
        log: list[Any] = []
        answering = Answering()
        listeners = [answering, Heard(log)] if first else [Heard(log), answering]
        with listening(listeners[0]), listening(listeners[1]):
            assert halved(8) == 7
        assert log == [("note", "W-BEFORE")]
        assert answering.asked == [(Stage("halving", 3), {"value": 8, "times": 1})]


def test_the_listener_that_was_installed_first_is_outermost() -> None:
    order: list[str] = []

    class Around(Watcher):
        caches = True

        def __init__(self, name: str) -> None:
            self.name = name

        def around(self, stage: Stage, inputs: Mapping[str, Any], call: Callable[[], Any]) -> Any:
            order.append(self.name)
            return call() + 1

    with listening(Around("first")), listening(Around("second")):
        assert halved(8) == 6
    assert order == ["first", "second"]


def test_a_method_is_given_with_itself() -> None:
    class Holder:
        @stage("of a method", version=1)
        def doubled(self, value: int) -> int:
            return 2 * value

    holder, answering = Holder(), Answering()
    with listening(answering):
        assert holder.doubled(value=1) == 7
    assert answering.asked == [(Stage("of a method", 1), {"self": holder, "value": 1})]


def test_values_are_given_as_they_were_computed() -> None:
    """A stage gives its result under its name and docstring; what is overwritten later was given before."""

    @stage("summing")
    def filled(array: Array) -> Array:
        """Ones."""
        array[:] = 1.0
        computed("half", array)
        array *= 2
        return array

    values = Values()
    with listening(values), mute_notes():
        filled(np.zeros(2))[:] = 3.0
    names = [name for name, _, _ in values.given]
    assert names[0] == "half" and names[1].endswith("filled") and values.given[1][2] == "Ones."
    assert [array.tolist() for _, array, _ in values.given] == [[1.0, 1.0], [2.0, 2.0]]


def test_an_error_ends_the_stage_for_all() -> None:
    log: list[Any] = []

    @stage("failing")
    def failing() -> None:
        raise ValueError

    with listening(Heard(log, "a ")), listening(Heard(log, "b ")), pytest.raises(ValueError):
        failing()
    assert log == [("a begin", "failing"), ("b begin", "failing"), ("a end", "failing"), ("b end", "failing")]


def test_nobody_hears_of_checks() -> None:
    log: list[Any] = []
    with listening(Heard(log)), no_listeners():
        assert halved(8) == 4
    assert log == []


def versioned() -> Iterator[str]:
    """The names of the stages in the package that have a version."""
    for path in FILES:
        for node in nodes(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "stage" and (
                    len(node.args) > 1 or node.keywords):
                yield ast.literal_eval(node.args[0])


@pytest.mark.medium
def test_no_two_stages_that_can_be_answered_for_share_a_name() -> None:
    """Their keys would be the same where their inputs are."""
    names = Counter(versioned())
    assert {"neighbors", "elimination", "eigensolve"} <= set(names)
    assert [name for name, times in names.items() if times > 1] == []


def test_notes_of_a_fit_before_another_reach_those_alone_who_keep_them() -> None:
    class Keeping(Heard):
        caches = True

        def around(self, stage: Stage, inputs: Mapping[str, Any], call: Callable[[], Any]) -> Any:
            return call()

    log: list[Any] = []
    with listening(Heard(log)), listening(Keeping(log, "kept ")), seam.mute_notes():
        halved(8)
    assert ("note", "N-HALVED") not in log and ("kept note", "N-HALVED") in log
    assert [entry for entry in log if entry[0] in ("begin", "advance", "end")] == [
        ("begin", "halving"), ("advance", "halving", "", 1, 1), ("end", "halving")]
    answering = Answering()
    with listening(answering), seam.mute_notes():
        assert halved(8) == 7


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="the C library says no such thing")
def test_memory_that_a_stage_has_freed_is_given_back() -> None:
    with running("read"):
        pieces = [bytearray(100_000) for _ in range(500)]  # which takes longer than stages whose memory may stay
        last = pieces.pop()  # at the end of the heap, which cannot shrink while it is there
        pieces.clear()
        before = resident_memory()
    assert before - resident_memory() > 30 * 2**20
    assert len(last) == 100_000
    with running("write"):  # which gains little
        few = [bytearray(100_000) for _ in range(50)]
        sleep(2 * QUICK)
        few.clear()
        before = resident_memory()
    assert before == resident_memory()
