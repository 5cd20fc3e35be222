"""Cases carried out in processes of their own, which are ended at a limit of time and end themselves at one of memory.

A case that hangs, crashes or takes too much is reported by its key, and the next ones go on in a new process.
"""

import multiprocessing
import os
import resource
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from mlcli.process.shared_status import STATUS

WAIT = 120.0  # seconds of a case, also where other work takes the processor
ROOM = 2 << 30  # bytes of data beyond those that the process has at first
Key = tuple[str, int]  # of a case: its subject and its number
Case = Callable[[str, int], str]  # what is wrong with a case; nothing where all is well


def faults(case: Case, keys: Iterable[Key], crashing: tuple[str, ...] = ()) -> list[str]:
    """What is wrong with cases, each with its key.

    A reader may crash on a subject whose name ends in one of `crashing`, as the supervisor reports that.
    """
    left, found = list(keys), []
    while left:
        for key, wrong in carried_out(case, left, crashing):
            left.remove(key)
            found += [f"case {key}: {wrong}"] if wrong else []
    return found


def carried_out(case: Case, keys: Sequence[Key], crashing: tuple[str, ...]) -> Iterator[tuple[Key, str]]:
    """Cases with what is wrong with them, as far as one process comes."""
    ours, its = multiprocessing.Pipe(duplex=False)
    child = os.fork()
    if not child:
        ours.close()
        serve(case, keys, its)
    its.close()
    key, hung = None, False
    while ours.poll(WAIT):
        try:
            key, wrong = ours.recv()
        except EOFError:
            break
        if wrong is not None:
            yield key, wrong
            key = None
    else:
        hung = True
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    ours.close()
    assert key is not None or status == 0, "the process ended between two cases"
    if key is not None:
        doing = STATUS.read().get("doing", "")
        crash = key[0].endswith(crashing) and status < 0 and not hung and doing.partition(",")[0] == "read"
        yield key, "" if crash else f"nothing for {WAIT:.0f} s" if hung else f"its process ended with {status}"


def serve(case: Case, keys: Sequence[Key], connection: Connection) -> None:
    """A child's life."""
    code = 1
    try:
        limit_data()
        for key in keys:
            connection.send((key, None))
            connection.send((key, case(*key)))
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def limit_data() -> None:
    """Lets this process take so much more memory for data and no more."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    used = next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmData"))
    resource.setrlimit(resource.RLIMIT_DATA, (used + ROOM, resource.RLIM_INFINITY))
