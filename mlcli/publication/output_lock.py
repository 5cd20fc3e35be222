"""Claims: a hidden folder beside an output belongs to the one process that makes the output.

It is named .OUTPUT.KEY.claim, with KEY for the full name of the output, and holds `owner` and the checkpoints of the
run. Its owner locks it and its supervisor touches `owner` again and again. Where locks do not reach from
machine to machine, an `owner` that has not been touched for a while, by the clock of the file system, is dead.

The lease of filelock (4.3) does not do the same: it expires by the clock alone, so that the output of a killed job is
free after the lease's duration instead of at once, and a job that is suspended on this machine loses its own. Its
heartbeat is a thread of the owner besides, which stands still while a library holds the interpreter. Here the kernel's
lock decides wherever it reaches, and another process touches `owner`.
"""

import fcntl
import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mlcli.base.frozen import frozen
from mlcli.errors import TryAgain
from mlcli.process.shared_status import STATUS
from mlcli.process.unfinished import inode_of, remove
from mlcli.publication.staging import LONGEST, impossible, key_of, lock_decides, path_of, running_kernel, with_parents

OWNER = "owner"
NAME = re.compile(r"\..+\.[0-9a-f]{8}\.claim", re.DOTALL)
STALE = 60.0  # seconds after which an owner that was not touched is dead
LOOK = 0.5  # seconds for which a folder may be locked by a process that looks whether its owner is dead
TRIES = 20  # each fails only where another process removes the folder at the same moment


@frozen
class OutputLock:
    """A folder that this process owns."""

    path: Path
    token: str  # in its `owner`
    descriptor: int  # of the open folder

    def forget(self) -> None:
        """Remove the kept results, also where a folder above them got another name."""
        with suppress(OSError):
            for path in [*path_of(self.descriptor, self.path).iterdir()]:
                if path.name != OWNER:
                    remove(path)

    def require(self) -> None:
        """Raises TryAgain where another process took the folder meanwhile: this one had been suspended too long."""
        if _owner(self.path).get("token") != self.token:
            raise TryAgain("LOCK-LOST", "another job assumed that this one had died, and is making the same output",
                           where=str(self.path)[:80], hint="wait for it, or choose another output with -o")


@contextmanager
def output_lock(output: Path) -> Iterator[OutputLock]:
    """Lock an output; the folder is removed at the end if it holds nothing but its owner.

    Raises TryAgain where a live process owns it, OutputRefused and StorageError where nothing can be written.
    """
    path = _claim_of(output)
    with with_parents(output):
        with _writing(output):
            descriptor = _lock_folder(path, output)
        try:
            with _writing(output):
                token = _sign(path, output)
            STATUS.post(claim=os.fspath(path), saved=time.monotonic(), gained=False)  # there is nothing to lose yet
            yield OutputLock(path, token, descriptor)
        finally:
            STATUS.post(claim=None, kept=not _leave(path_of(descriptor, path)))
            os.close(descriptor)


def remove_stale_locks(folder: Path) -> None:
    """Remove the claims in a folder whose owners are dead, unless a run can still be resumed from them."""
    with suppress(OSError):
        for path in [Path(entry.path) for entry in os.scandir(folder) if NAME.fullmatch(entry.name)]:
            _remove_dead(path, _done)


def discard(output: Path) -> None:
    """Remove what a process kept that ended before its output was made, and which no run will be resumed from."""
    _remove_dead(_claim_of(output), lambda path: True)


def _claim_of(output: Path) -> Path:
    """Return the folder that belongs to the process which makes an output."""
    return output.with_name(f".{output.name[:LONGEST]}.{key_of(output)}.claim")


def _remove_dead(path: Path, done: Callable[[Path], bool]) -> None:
    """Remove a claim whose owner is dead, with what is kept in it where the run is `done`."""
    with suppress(OSError):
        descriptor = _opened(path)
        try:
            if not _has_live_owner(descriptor, path):
                _leave(path, done=done(path))
        finally:
            os.close(descriptor)


@contextmanager
def _writing(output: Path) -> Iterator[None]:
    """Turn errors of the file system into those of an output that cannot be written."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise impossible("write here", output.parent, error) from error


def _lock_folder(path: Path, output: Path) -> int:
    """Create the folder if need be and lock it; returns an open descriptor, raises TryAgain."""
    for _ in range(TRIES):
        with suppress(FileExistsError):
            path.mkdir()
        with suppress(FileNotFoundError):
            descriptor = _opened(path)
            if _keeps_live_owner(descriptor, path):
                os.close(descriptor)
                raise _locked(path, output)
            if os.fstat(descriptor).st_ino == inode_of(path):
                return descriptor
            os.close(descriptor)
    raise _locked(path, output)


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _has_live_owner(descriptor: int, path: Path) -> bool:
    """Whether a live process owns the folder; if not, this process has locked it now."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        locks = True
    except BlockingIOError:
        return True
    except OSError:  # no locks here
        locks = False
    owner = _owner(path)
    return bool(owner) and not (locks and lock_decides(owner.get("system"), path)) and _age(path) < STALE


def _keeps_live_owner(descriptor: int, path: Path) -> bool:
    """Whether a live process owns the folder, and does not only lock it for a moment, as `remove_stale_locks` does."""
    end = time.monotonic() + LOOK
    while held := _has_live_owner(descriptor, path):
        if time.monotonic() > end:
            break
        time.sleep(LOOK / 50)
    return held


def _age(path: Path) -> float:
    """Seconds since the owner was touched, both times by the clock of the file system."""
    probe = path / f".{secrets.token_hex(4)}"
    try:
        probe.touch()
        return probe.stat().st_mtime - (path / OWNER).stat().st_mtime
    finally:
        probe.unlink(missing_ok=True)


def _sign(path: Path, output: Path) -> str:
    """Makes this process the owner; returns the token that says so."""
    token = secrets.token_hex(8)
    aside = path / f".{token}"
    facts = {"host": os.uname().nodename, "process": os.getpid(), "system": running_kernel(), "token": token,
             "output": output.name}
    aside.write_text(json.dumps(facts), encoding="utf-8")
    aside.rename(path / OWNER)
    return token


def _owner(path: Path) -> dict[str, Any]:
    """Return the facts in `owner`; empty where there is none."""
    try:
        facts = json.loads((path / OWNER).read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _done(path: Path) -> bool:
    """Whether the output is newer than all that is kept: its maker died before it had removed that."""
    name = _owner(path).get("output")
    kept = [part.stat().st_mtime_ns for part in path.iterdir() if part.name != OWNER]
    try:
        return isinstance(name, str) and max(kept, default=0) <= (path.parent / name).lstat().st_mtime_ns
    except (OSError, ValueError):
        return False


def _leave(path: Path, *, done: bool = False) -> bool:
    """Removes the folder unless something is kept in it, and the run is not done; whether it is gone."""
    with suppress(OSError):
        held = [*path.iterdir()]
        for part in held:
            if part.name.startswith(".") or (done and part.name != OWNER):  # what was being written, or is of no use
                remove(part)
        if done or all(part.name == OWNER or part.name.startswith(".") for part in held):
            remove(path / OWNER)
            path.rmdir()
    return not path.exists()


def _locked(path: Path, output: Path) -> TryAgain:
    owner = _owner(path)
    by = f" (process {owner['process']} on {owner['host']})" if {"process", "host"} <= owner.keys() else ""
    return TryAgain("LOCKED", f"another job is making this output{by}", where=str(output),
                    hint="wait for it, or choose another with -o")
