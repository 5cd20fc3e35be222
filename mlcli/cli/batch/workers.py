"""Processes that carry out numbered work: forked once all is imported, with the memory of all that was loaded.

They are forked in a single thread, where no other can hold a lock. A server of forks (multiprocessing's forkserver)
would import everything once more: that takes as long as a start, which is 8 % of a batch of 200 small files and doubles
one of two, and reading of standard input, signals of a whole process group and the memory of a dead process would
each need a way of their own.

A worker is given one number after another, and keeps what it imported. What it says on standard error it says through
its parent. Before a fit it waits until the memory that is predicted for it fits beside that of the others' fits. A
worker that dies is replaced, and its number counts as lost.
"""

import gc
import io
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any

from mlcli.base.context import set_context
from mlcli.base.frozen import frozen
from mlcli.base.machine import resources
from mlcli.cli import supervisor
from mlcli.errors import STOPPING
from mlcli.process import signals
from mlcli.process.shared_status import SEATS, STATUS
from mlcli.process.signals import AFTER_CHECKPOINT, NUDGE, Stopped


@dataclass
class WorkQueue:
    """The queue of runs by number. Runs of one family share intermediate results and go to the same worker."""

    numbers: list[int]
    family: Callable[[int], Hashable]

    def __bool__(self) -> bool:
        return bool(self.numbers)

    def take(self, last: int | None, everywhere: Sequence[int | None]) -> int:
        """The next for a process: of the family of its last work, else of one that none works on, else the first.

        `everywhere` is what each process, this one too, has or had last.
        """
        mine = None if last is None else self.family(last)
        busy = {self.family(number) for number in everywhere if number is not None}
        own = (number for number in self.numbers if last is not None and self.family(number) == mine)
        new = (number for number in self.numbers if self.family(number) not in busy)
        number = next(chain(own, new, self.numbers))
        self.numbers.remove(number)
        return number


GRACE = supervisor.GRACE / 2  # seconds that a worker has to clean up, so that it ends before its parent must
LONGEST = 86400.0  # seconds of one wait: poll takes no more than 2^31 milliseconds
Work = Callable[[int], Any]  # its result can be pickled
Live = Callable[[int, str], None]


@frozen
class Lost:
    """The end of work whose process died, and the last known state."""

    code: int  # the exit code, or the signal as a negative number
    doing: str = ""  # the stage, and how far it had come
    memory: float = 0.0  # MiB that the process had used at most
    kept: bool = False  # whether the same command can go on from something
    kills: int | None = None  # processes that the kernel has killed for memory since its process began


@frozen
class WorkResult:
    """Finished work: its number, its result and its messages."""

    number: int
    result: Any
    said: str


@dataclass
class Worker:
    """A process, as its parent sees it."""

    process: int
    connection: Connection
    seat: int  # in the shared status
    number: int | None = None  # of what it does
    kills: int | None = field(default_factory=supervisor.kills_for_memory)  # of processes, before it
    said: list[str] = field(default_factory=list)
    asked: tuple[float, float] | None = None  # the bytes that it waits for, and the limit that it knows
    granted: float = 0.0  # bytes

    last: int | None = None  # what it did before

    def give(self, number: int) -> None:
        """Assign work to the process."""
        self.number, self.last, self.granted = number, number, 0.0
        with suppress(OSError):  # it is dead, which shows when it is listened to
            self.connection.send(number)

    def ended(self, result: Any) -> WorkResult:
        """Its work, ended; it has none now."""
        assert self.number is not None
        done = WorkResult(self.number, result, "".join(self.said))
        self.number, self.asked, self.granted = None, None, 0.0
        self.said.clear()
        return done

    def lost(self) -> Lost:
        """Describe the end of a dead process, and remove its unfinished files."""
        _, status, used = os.wait4(self.process, 0)
        doing = STATUS.seat(self.seat).read().get("doing", "")
        return Lost(os.waitstatus_to_exitcode(status), doing, resources.mebibytes(used.ru_maxrss), self.clean(),
                    supervisor.kills_since(self.kills))

    def clean(self) -> bool:
        """Removes what it left unfinished, once it is dead; whether something is kept to go on from."""
        seat = STATUS.seat(self.seat)
        kept = supervisor.remove_unfinished(seat.read())
        seat.post()
        return kept


def in_processes(work: Work, numbers: Sequence[int], jobs: int, *, settle: Callable[[], None],
                 live: Live | None = None, until: float = math.inf,
                 alone: Callable[[], AbstractContextManager[None]] = nullcontext,
                 family: Callable[[int], Any] = lambda number: number) -> Generator[WorkResult]:
    """The results of work, as it ends, by so many processes at once; `settle` is called in each before its first.

    Work of one `family` is given to one process where that leaves none without work.

    At the time `until`, of the monotonic clock, what has not ended is stopped, and has no result.

    What work says is part of its result, or is given to `live` at once. The processes are forked here, before the
    first result is asked for, and one in the place of a dead one inside of `alone`, in which the caller has no threads.
    When the consumer leaves, or on an error, they are stopped, and waited for.
    """
    left, workers, jobs = WorkQueue([*numbers], family), list[Worker](), min(jobs, SEATS)
    gc.freeze()  # so that no collection in a worker copies what it shares with its parent
    STATUS.post(seats=jobs)
    hire = partial(staff, workers, left, jobs, lambda: start_worker(work, settle, workers))
    hire()

    def replace() -> None:
        if left and len(workers) < jobs:
            with alone():
                hire()

    return results(workers, left, replace, live, until)


def staff(workers: list[Worker], left: WorkQueue, jobs: int, hire: Callable[[], Worker]) -> None:
    """Start processes up to the number of jobs, each with work."""
    while left and len(workers) < jobs:
        workers.append(hire())
        workers[-1].give(left.take(workers[-1].last, [other.last for other in workers]))


def results(workers: list[Worker], left: WorkQueue, hire: Callable[[], None],
            live: Live | None, until: float) -> Generator[WorkResult]:
    """Yield the results of work as it ends; processes that die are replaced."""
    try:
        while (left or workers) and time.monotonic() < until:
            hire()
            rest = None if until == math.inf else min(max(until - time.monotonic(), 0.0), LONGEST)
            for connection in wait([worker.connection for worker in workers], rest):
                worker = next(worker for worker in workers if worker.connection is connection)
                done = receive(worker, live)
                if done is None:
                    continue
                if isinstance(done.result, Lost):
                    workers.remove(worker)
                    worker.connection.close()
                elif left:
                    worker.give(left.take(worker.last, [other.last for other in workers]))
                else:
                    workers.remove(worker)
                    retire(worker)
                yield done
            admit_first(workers)
    finally:
        gc.unfreeze()
        dismiss(workers)


def receive(worker: Worker, live: Live | None) -> WorkResult | None:
    """Takes a message of a worker: what it says, what it waits for, or its result, which is returned."""
    try:
        kind, content = worker.connection.recv()
    except (EOFError, OSError):
        return worker.ended(worker.lost())
    if kind == "done":
        return worker.ended(content)
    if kind == "asks":
        worker.asked = content
    elif live is None:
        worker.said.append(content)
    else:
        assert worker.number is not None
        live(worker.number, content)
    return None


def admit_first(workers: Sequence[Worker]) -> None:
    """Lets workers that wait for memory go on, those before the others first, while what is predicted fits.

    One may always go on where no other does. What a worker holds that waits, its data, is not counted.
    """
    for worker in sorted((worker for worker in workers if worker.asked), key=lambda worker: worker.number or 0):
        assert worker.asked is not None
        others = sum(other.granted for other in workers if other is not worker and other.asked is None)
        if others and others + worker.asked[0] > worker.asked[1]:
            return
        worker.granted, worker.asked = worker.asked[0], None
        with suppress(OSError):
            worker.connection.send(None)


def retire(worker: Worker) -> None:
    """End a process without work."""
    worker.connection.close()
    os.waitpid(worker.process, 0)


def dismiss(workers: Sequence[Worker]) -> None:
    """Stops processes, and waits for them; none outlives its grace, which is long where it is to keep a checkpoint."""
    cause = STATUS.requested_signal or signal.SIGTERM
    for worker in workers:
        STATUS.seat(worker.seat).ask(cause)
        os.kill(worker.process, NUDGE)
    end = time.monotonic() + (supervisor.PATIENCE if cause in AFTER_CHECKPOINT else GRACE)
    for worker in workers:
        with suppress(EOFError, OSError):
            while worker.connection.poll(max(end - time.monotonic(), 0.0)):
                worker.connection.recv()
            os.kill(worker.process, signal.SIGKILL)
        retire(worker)
    gained = any(STATUS.seat(worker.seat).read().get("gained") for worker in workers)
    kept = [worker.clean() for worker in workers]
    STATUS.post(kept=any(kept), gained=gained)


def start_worker(work: Work, settle: Callable[[], None], others: Sequence[Worker]) -> Worker:
    """A new process that waits for work, on a seat that is free."""
    ours, its = Pipe()
    parent, seat = os.getpid(), min({*range(1, 1 + SEATS)} - {other.seat for other in others})
    STATUS.seat(seat).ask(0)
    process = os.fork()  # in a single thread: those of OpenBLAS end by its own handler of forks
    if process:
        its.close()
        return Worker(process, ours, seat)
    code = 1
    try:
        for connection in (*(other.connection for other in others), ours):
            connection.close()
        STATUS.sit(seat)
        code = serve(its, work, settle, parent)
    finally:
        os._exit(code)


def serve(connection: Connection, work: Work, settle: Callable[[], None], parent: int) -> int:
    """A worker's life, with its exit code: signals end it, silently, and so does the death of its parent."""
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
        signals.install_handlers()
        end_with(parent)
        sys.stderr = Told(connection)
        settle()

        def ask(needed: float, limit: float) -> None:
            connection.send(("asks", (needed, limit)))
            connection.recv()

        with set_context(gate=ask):
            while True:
                number = connection.recv()
                result = work(number)
                sys.stderr.flush()
                connection.send(("done", result))
    except Stopped:
        return 1
    except (EOFError, BrokenPipeError, ConnectionResetError):  # there is no more work, or no parent
        return 0


def end_with(parent: int) -> None:
    """Stop this process when its parent dies, where the system can do that (Linux)."""
    supervisor.process_control(supervisor.DEATH_SIGNAL, signal.SIGTERM)
    if os.getppid() != parent:
        raise Stopped(signal.SIGTERM)


class Told(io.TextIOBase):
    """Standard error of a worker: whole lines, sent to its parent."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self.connection = connection
        self.parts: list[str] = []

    def write(self, text: str) -> int:
        """Keeps a text until the next flush."""
        self.parts.append(text)
        return len(text)

    def flush(self) -> None:
        """Sends what was written."""
        if self.parts:
            self.connection.send(("says", "".join(self.parts)))
            self.parts.clear()
