"""The signals that stop the program: no handler waits for them, but one thread, which ends the process if need be.

Handlers would not do: METIS puts its own in their place, and Python's run between two steps of the interpreter,
which a call into LAPACK can keep away for minutes. So the signals are blocked in every thread (mlcli/__main__.py)
and one thread waits for them: in C++, where it needs no lock of the interpreter, else in Python.
"""

import os
import signal
from collections.abc import Mapping
from types import FrameType
from typing import Protocol

from mlcli.base import unfinished

try:
    from mlcli.base import _watchdog as _compiled
except ImportError:
    _compiled = None  # type: ignore[assignment]

GRACE = 2.0  # seconds that the program has to clean up after itself
NUDGE = signal.SIGURG  # reaches the main thread instead, also where it waits; no library uses it


class Stopped(BaseException):
    """A signal asked the program to end."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)


class Receiver(Protocol):
    """What the thread can be told and asked; a module in C++ or an object."""

    def start(self, words: dict[int, bytes], grace: float, nudge: int, /) -> None: ...
    def guard(self, entries: list[tuple[bytes, int]], /) -> None: ...
    def received(self, /) -> int: ...
    def told(self, /) -> None: ...


def _receiver() -> Receiver:
    if _compiled is not None:
        return _compiled
    from mlcli.base.slow_watchdog import SlowWatchdog

    return SlowWatchdog()


receiver = _receiver()


def start(words: Mapping[signal.Signals, bytes], grace: float | None = None) -> None:
    """From now on these signals raise Stopped in the main thread, unless they are ignored; only the first one does.

    After a second one, or where the process is still there after `grace` seconds (GRACE), what is unfinished is
    removed, the words for the first are written to standard error, unless `told` was called, and the process ends with
    the code that shells give. Must be called by the main thread.
    """
    heeded = {int(number): text for number, text in words.items() if signal.getsignal(number) is not signal.SIG_IGN}
    for number in (*heeded, NUDGE):
        signal.signal(number, _stop)
    unfinished.watched_by(lambda entries: receiver.guard([(os.fsencode(path), inode or 0) for path, inode in entries]))
    try:
        receiver.start(heeded, GRACE if grace is None else grace, NUDGE)
    except RuntimeError:  # no thread can be started: the handlers must do
        signal.pthread_sigmask(signal.SIG_UNBLOCK, heeded)


def finish() -> None:
    """Nothing raises Stopped any more: the program is about to end by itself."""
    signal.signal(NUDGE, signal.SIG_IGN)


def told() -> None:
    """The user has been shown what stopped the program."""
    receiver.told()


def _stop(number: int, frame: FrameType | None) -> None:
    cause = receiver.received() or number
    if cause != NUDGE:  # else another program sent it
        signal.signal(number, signal.SIG_DFL)
        raise Stopped(cause)
