"""The seam between the mathematics and everything that watches it.

A stage is a function whose result is a frozen value. Timing, progress, warnings and (later)
caching reach it through the listeners installed here; no stage knows of any of them.
"""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from typing import Any, ParamSpec, Protocol, TypeVar

from mlcli.base.frozen import frozen

P = ParamSpec("P")
R = TypeVar("R")


@frozen
class Note:
    """A warning or a fact about the run; it stands in `run.json` and in the report."""

    code: str
    message: str
    facts: dict[str, Any] = field(default_factory=dict)


class Listener(Protocol):
    """What watches a run: a journal, a progress bar."""

    def begin(self, stage: str) -> None: ...
    def end(self, stage: str) -> None: ...
    def advance(self, stage: str, done: int, total: int) -> None: ...
    def note(self, note: Note) -> None: ...


_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("listeners", default=())
_running: ContextVar[str] = ContextVar("stage", default="")


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Installs a listener for the length of a `with` block."""
    token = _listeners.set((*_listeners.get(), listener))
    try:
        yield
    finally:
        _listeners.reset(token)


@contextmanager
def unheard() -> Iterator[None]:
    """Nothing in a block is told: for work that only checks other work."""
    token = _listeners.set(())
    try:
        yield
    finally:
        _listeners.reset(token)


@contextmanager
def running(name: str) -> Iterator[None]:
    """Marks a piece of work as the stage `name`."""
    token = _running.set(name)
    for listener in _listeners.get():
        listener.begin(name)
    try:
        yield
    finally:
        _running.reset(token)
        for listener in _listeners.get():
            listener.end(name)


def stage(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declares a function or method as the stage `name`."""

    def declare(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            with running(name):
                return function(*args, **kwargs)

        return run

    return declare


def advance(done: int, total: int) -> None:
    """Tells how far the running stage has come, in its own units (blocks, iterations)."""
    for listener in _listeners.get():
        listener.advance(_running.get(), done, total)


def note(code: str, message: str, **facts: Any) -> None:
    """Records a warning (`W-...`), a note for the user (`N-...`) or a mere fact (`F-...`), under a stable code."""
    for listener in _listeners.get():
        listener.note(Note(code, message, facts))
