"""How the process that computes is stopped: a signal raises Stopped in the main thread.

Handlers alone are not enough: METIS replaces that of SIGTERM, and Python runs handlers only between two steps of the
interpreter, which a call into LAPACK can delay for minutes. So the process that supervises this one
(`cli/supervisor.py`) receives the same signals, wakes it by another one that no library uses, and ends it if need be.
"""

import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from mlcli.errors import STOPPING, MlcliError, TimeUp, TryAgain
from mlcli.process import unfinished
from mlcli.process.shared_status import STATUS

NUDGE = signal.SIGURG  # of the supervisor; reaches the main thread also where it waits
TIME_UP = 255  # stands for the end of the time limit among the numbers of signals
AFTER_CHECKPOINT = {signal.SIGUSR1, TIME_UP}  # which end the work once it has kept a checkpoint


def kind_of(number: int, *, kept: bool) -> type[MlcliError]:
    """The error for a signal or the end of the time: one that let the work keep a checkpoint is worth another try.

    Where nothing was kept, the same would happen again.
    """
    if number in AFTER_CHECKPOINT:
        return TryAgain if kept else TimeUp
    return STOPPING[signal.Signals(number)]


def should_retry(number: int, everyone: Sequence[Mapping[str, Any]], *, kept: bool) -> bool:
    """Whether the same command could go on from kept results, by the facts that all processes posted.

    After a time limit the scheduler repeats the command by itself, so only progress of this start counts: without any,
    the next start would get no further either.
    """
    added = number not in AFTER_CHECKPOINT or any(one.get("gained") for one in everyone)
    return (kept and added) or any(one.get("done") for one in everyone)


class Stopped(BaseException):
    """A signal asked the program to end."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)


class _Wait:
    """The signal that stops the work at the next checkpoint."""

    possible = False  # whether there are checkpoints
    ahead = False  # whether one comes in the stage or the loop that runs
    cause = 0


@contextmanager
def stop_at_checkpoints() -> Iterator[None]:
    """Inside, the end of the time limit stops the work at the next `pause`, and so does SIGUSR1 `before_checkpoint`."""
    _Wait.possible = True
    try:
        yield
    finally:
        _Wait.possible = False


@contextmanager
def before_checkpoint(*, offered: bool) -> Iterator[None]:
    """Inside, SIGUSR1 waits for the next `pause`: of a loop that has `offered` checkpoints, else the end of a stage.

    For the thread of the run alone. The supervisor knows of loops, which alone are given longer than a moment. A loop
    or a stage that ends by itself has nothing to keep afterwards, so that a stop that waited for it is then at once.
    """
    outer, _Wait.ahead = _Wait.ahead, True
    if offered:
        STATUS.post(offers=True)
    try:
        yield
    finally:
        _Wait.ahead = outer
        if offered:
            STATUS.post(offers=False)
    if _Wait.cause != TIME_UP and not outer:
        pause()


@contextmanager
def stop_at_once() -> Iterator[None]:
    """Inside, every stop is at once: while the work waits, there is nothing to keep."""
    before, _Wait.possible = _Wait.possible, False
    try:
        pause()
        yield
    finally:
        _Wait.possible = before


def pending() -> bool:
    """Whether the work is to keep a checkpoint and pause."""
    return bool(_Wait.cause)


def pause() -> None:
    """Raises Stopped where the work is to pause, now that a checkpoint was kept."""
    if _Wait.cause:
        cause, _Wait.cause = _Wait.cause, 0
        remove_handlers()
        raise Stopped(cause)


def install_handlers() -> None:
    """Install handlers: the first signal raises Stopped, unless it is ignored. Called by the main thread.

    The supervisor knows from now on what is unfinished.
    """
    for number in (*stopping_signals(), NUDGE):
        signal.signal(number, _stop)
    unfinished.add_watcher(
        lambda entries: STATUS.post(unfinished=[(os.fspath(path), inode) for path, inode in entries]))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
    if STATUS.requested_signal:  # before there were handlers
        _stop(NUDGE, None)


def remove_handlers() -> None:
    """Remove the handlers: the program is about to end by itself."""
    # SIG_IGN would make Python complain of a signal that it has received already
    for number in (*stopping_signals(), NUDGE):
        signal.signal(number, _no_more if STATUS.supervised or number == NUDGE else signal.SIG_DFL)


def stopping_signals() -> set[signal.Signals]:
    """The signals that stop the program; `nohup` and shells have some of them ignored."""
    return {number for number in STOPPING if signal.getsignal(number) is not signal.SIG_IGN}


def _no_more(number: int, frame: FrameType | None) -> None:
    """Heeds nothing: the supervisor does."""


def _stop(number: int, frame: FrameType | None) -> None:
    cause = STATUS.requested_signal or number
    if cause in AFTER_CHECKPOINT and _Wait.possible and (_Wait.ahead or cause == TIME_UP):
        _Wait.cause = cause
    elif cause != NUDGE:  # else another program sent it
        remove_handlers()
        raise Stopped(cause)
