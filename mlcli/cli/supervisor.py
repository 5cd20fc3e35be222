"""The supervisor: a small process that starts the one which computes, forwards signals to it, and reports its death.

It imports nothing heavy and computes nothing, so that it can act at any time, independently of the worker: inside
LAPACK no handler of a signal runs, and nothing runs after an out-of-memory kill or a crash. The two share the board
(`process/shared_status.py`). What the worker left unfinished is removed here; publication itself is a single rename,
which the worker makes.

A signal that stops the program raises `Stopped` in the worker's main thread (`process/signals.py`). Soon after
(`GRACE`), or on a second signal, the supervisor kills the worker and removes what `process/unfinished.py` lists. It
does the same where the worker dies by itself, and reports the stage. Kills at every call that writes, of either
process, leave a whole output or none (`tests/faults/kills/test_kills.py`).
"""

import ctypes
import math
import os
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NoReturn

from mlcli.errors import DataError, MlcliError, OutOfMemory, StorageError
from mlcli.process.shared_status import STATUS
from mlcli.process.signals import AFTER_CHECKPOINT, NUDGE, TIME_UP, kind_of, should_retry, stopping_signals

GRACE = 0.15  # seconds that the worker has to clean up after itself
LINGER = 1.0  # seconds that are spent at most on ending what the worker had started
PATIENCE, SHORT = 60.0, 1.5  # seconds that it has to come to a checkpoint: where a loop offers them, and in any case
TICK = 0.5  # seconds between two looks at the time
BEAT = 10.0  # seconds between two signs of life; `output_lock.STALE` is several of them
QUARTER = 4  # part of a short limit that takes the place of the patience
JOB_END, SPARED = "SLURM_JOB_END_TIME", 10.0  # seconds since 1970, and seconds that are left to the job after a run
DEATH_SIGNAL, SUBREAPER = 1, 36  # of prctl, in linux/prctl.h


def supervise() -> None:
    """Returns in a new process, the worker; this one waits for it and ends with its exit code.

    Where the system starts no process, or lacks the calls, there is no supervisor. Signals must be blocked.
    """
    if not hasattr(signal, "sigtimedwait"):
        return
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, it would lose the exit code
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    own = os.getpid()
    try:
        worker = os.fork()
    except OSError:
        worker = None
    if worker:
        os._exit(Supervisor(worker).code())
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    STATUS.supervised = worker is not None
    if STATUS.supervised:
        process_control(DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != own:  # it died before that
            os.kill(os.getpid(), signal.SIGKILL)


def process_control(option: int, value: int) -> None:
    """Linux's prctl, where there is one."""
    call = getattr(ctypes.CDLL(None), "prctl", None)
    if call is not None:
        call(option, ctypes.c_ulong(value), 0, 0, 0)


class Supervisor:
    """Waits for the worker, for signals, and for the end of the time."""

    def __init__(self, worker: int) -> None:
        self.worker = worker
        self.heeded = stopping_signals()
        self.begun = self.beaten = time.monotonic()
        self.first = 0  # signal that was received
        self.kills = kills_for_memory()
        self.end = math.inf  # when the worker is ended by force
        self.job_end = end_of_job(os.environ.get(JOB_END, ""))
        process_control(SUBREAPER, 1)  # processes that the worker started become children of this one when it dies
        import json  # noqa: F401  while the worker starts, so that its end need not wait for it

    def code(self) -> int:
        """The exit code, once the worker has ended."""
        while True:
            ended, status, used = os.wait4(self.worker, os.WNOHANG)
            if ended:
                facts = STATUS.read()
                if "again" in facts and "code" not in facts and not self.first:
                    start_anew({**os.environ, **facts["again"]}, facts["piped"])
                return self.ended(status, used.ru_maxrss)
            wait = max(0.0, min(self.end - time.monotonic(), TICK))
            received = signal.sigtimedwait({*self.heeded, signal.SIGCHLD}, wait)
            if received is None:
                self.tick()
            elif received.si_signo in self.heeded:
                self.stop(received.si_signo)
            if time.monotonic() >= self.end:
                os.kill(self.worker, signal.SIGKILL)

    def tick(self) -> None:
        """Shows others that the owner of the claim is alive, and looks after the time."""
        everyone, now = [*STATUS.read_all()], time.monotonic()
        if now - self.beaten >= BEAT:
            self.beaten = now
            for claim in filter(None, (one.get("claim") for one in everyone)):
                with suppress(OSError):
                    os.utime(os.path.join(claim, "owner"))  # noqa: PTH118 (no import)
        limits = [*(one["limit"] for one in everyone if "limit" in one), self.job_end]
        for limit in limits:
            left = self.begun + limit - now
            if left <= min(PATIENCE, limit / QUARTER) and not self.first:
                self.stop(TIME_UP)
                self.end = now + max(left, 0.0)

    def stop(self, number: int) -> None:
        """Asks the worker to end; after a second signal it is ended."""
        now = time.monotonic()
        patience = max(min(PATIENCE, max(self.unsaved(now), SHORT), self.begun + self.job_end - now), GRACE)
        self.end = now if self.first else now + (patience if number in AFTER_CHECKPOINT else GRACE)
        if not self.first:
            self.first = number
            STATUS.ask(number)
            os.kill(self.worker, NUDGE)

    def unsaved(self, now: float) -> float:
        """Seconds of work that a checkpoint of a loop would keep: to wait longer for it costs more than to repeat them.

        Zero where no loop runs: nothing tells when a stage ends.
        """
        return now - min((one.get("saved", self.begun) for one in STATUS.read_all()
                          if one.get("claim") and one.get("offers")), default=now)

    def ended(self, status: int, memory: int) -> int:
        """The exit code of a worker that ended with this status, after `memory` KiB at most; a death is reported."""
        facts = STATUS.read()
        if os.WIFEXITED(status) and ("code" in facts or not (facts.get("enforced") or "again" in facts)):
            return os.WEXITSTATUS(status)
        end_children()
        facts, everyone = STATUS.read(), [*STATUS.read_all()]
        kept = should_retry(self.first, everyone, kept=sum(map(remove_unfinished, everyone)) > 0)
        if "code" in facts:  # it had ended its work
            return int(facts["code"])
        if not self.first:
            doing = "; ".join(filter(None, (one.get("doing") for one in everyone)))
            if facts.get("enforced"):  # a library that is refused memory may end the process
                return report(refused_memory(doing, memory / 2**10))
            return report(died_of(os.WTERMSIG(status), doing, memory / 2**10, kept=kept, kills=kills_since(self.kills)))
        number = self.first
        kind = kind_of(number, kept=kept)
        if not facts.get("told"):
            name = "the time limit" if number == TIME_UP else signal.Signals(number).name
            early = f"mlcli: error[E-STOPPED]: stopped by {name}\n"  # before there were words for it
            os.write(2, facts.get("words", {}).get(str(number), (early, early))[kept].encode())
        return kind.exit_code


def start_anew(environment: Mapping[str, str], piped: str) -> NoReturn:
    """Replaces this process by a new start of its command in another environment, with what was read of its input.

    The worker asks for this before it has done or shown anything. Raises OSError.
    """
    if piped:
        from tempfile import TemporaryFile

        with TemporaryFile() as file:
            file.write(piped.encode())
            file.seek(0)
            os.dup2(file.fileno(), 0)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)


def end_of_job(text: str) -> float:
    """Seconds from now until a run must have ended, by the variable that says when the job does; infinite without it.

    Of a job that ends soon a quarter is left, not more.
    """
    left = float(text) - time.time() if text.isdecimal() else 0.0
    return left - min(SPARED, left / QUARTER) if left > 0 else math.inf


def end_children() -> None:
    """Ends the processes that the worker had started; the list of them may lag behind for a moment."""
    until = time.monotonic() + LINGER
    with suppress(OSError):  # there are none, or no such list
        while time.monotonic() < until:
            with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as children:  # noqa: PTH123
                for child in children.read().split():
                    os.kill(int(child), signal.SIGKILL)
            while os.waitpid(-1, os.WNOHANG)[0]:  # which raises where none is left
                pass
            time.sleep(0.005)


def remove_unfinished(facts: dict[str, Any]) -> bool:
    """Remove the unfinished files of a dead process, except kept results; returns whether there are any."""
    from pathlib import Path

    entries, claim = facts.get("unfinished", []), facts.get("claim")
    if entries:
        from mlcli.process.unfinished import remove_all

        remove_all([(Path(path), inode) for path, inode in entries])
    if not claim:
        return bool(facts.get("kept"))
    from mlcli.publication.output_lock import remove_stale_locks

    remove_stale_locks(Path(claim).parent)
    return Path(claim).exists()


def kills_for_memory() -> int | None:
    """Return the number of processes that the kernel has killed for lack of memory; None if unknown."""
    try:
        with open("/proc/vmstat", encoding="ascii") as counts:  # noqa: PTH123 (no import)
            return next((int(line.split()[1]) for line in counts if line.startswith("oom_kill ")), None)
    except (OSError, ValueError):
        return None


def kills_since(before: int | None) -> int | None:
    """Return the number of processes killed since the count was `before`; None if unknown."""
    now = kills_for_memory()
    return None if before is None or now is None else now - before


def died_of(number: int, doing: str, memory: float, *, kept: bool, kills: int | None = None) -> MlcliError:
    """The error for a worker that a signal ended which nobody sent to this process.

    `memory` is what it had used at most, in MiB; `kills` says how many processes the kernel has killed meanwhile for
    lack of memory, where that is known.
    """
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    known = (f"it was at: {doing or 'start'}; it had used {memory:,.0f} MiB at most"
             + ("; the same command goes on from what was kept" if kept else ""))
    if number == signal.SIGKILL:
        return killed(known, kills)
    if number == signal.SIGBUS:
        return StorageError("BUS", "a file that was being read or written is shorter than it was, or its disk is full "
                            "or failing (SIGBUS)", where=known, hint="check the disk, and who changes the input")
    if doing.partition(",")[0] == "read":
        return DataError("READER-CRASH", f"the reader crashed on this input ({name})", where=known,
                         hint="the file is damaged; write it again")
    return MlcliError("CRASH", f"the computation crashed ({name})", where=known,
                      hint="run `mlcli doctor`; if it finds nothing, this is a bug: please report it with this line")


def refused_memory(doing: str, memory: float) -> OutOfMemory:
    """The error for a worker that ended where allocations beyond its limit fail (compute.memory_enforce)."""
    return OutOfMemory("MEMORY-ENFORCED", "the computation exceeded its memory limit, which is enforced", where=
                       f"it was at: {doing or 'start'}; it had used {memory:,.0f} MiB at most",
                       hint="raise --memory-limit to the prediction of mlcli plan, or leave compute.memory_enforce out")


def killed(known: str, kills: int | None) -> OutOfMemory:
    """The error for SIGKILL, with what the kernel says of it: it counts the processes that it kills for memory."""
    if kills == 0:
        return OutOfMemory("KILLED", "the computation was killed (SIGKILL), but not by the kernel for lack of memory: "
                           "its count of such kills did not change", where=known,
                           hint="a person sent the signal, or a scheduler whose limit of memory or time was reached")
    says = "" if kills is None else f"; the kernel counts {kills} such kill{'s' * (kills > 1)} since the start"
    return OutOfMemory("KILLED", "the system killed the computation (SIGKILL), as it does when memory runs out", where=
                       known + says, hint="use fewer rows, fewer jobs or another method, or ask for more memory")


def report(error: MlcliError) -> int:
    """Shows an error as every command does; returns its exit code."""
    from mlcli.cli.screen.failure import ErrorForm, rendered, say

    say(("\x1b[?25h" if sys.stderr and sys.stderr.isatty() else "") + rendered(error, ErrorForm.of(sys.argv[1:])))
    return error.exit_code
