"""Drafts: hidden siblings of an output that is being written, locked as long as their writer lives.

A draft is named .OUTPUT.KEY-SYSTEM-TOKEN-INODE.KIND. KEY stands for the output's whole name, SYSTEM for the running
kernel, whose locks show whether the writer lives, and TOKEN is random. INODE tells the draft from what an exchange
with the output has put under its name. It is added once the draft is locked, so that an unlocked draft without it is
empty or cannot be locked on this file system, and is then left alone.
"""

import errno
import fcntl
import hashlib
import os
import platform
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Literal

from mlcli.base.frozen import frozen
from mlcli.errors import MlcliError, OutputRefused, StorageError
from mlcli.process.unfinished import inode_of, remove, unfinished
from mlcli.publication.mounts import mount_of

Kind = Literal["folder", "file"]
NAME = re.compile(r"(?P<stem>\.(?P<name>.+)\.(?P<key>[0-9a-f]{8})-(?P<system>[0-9a-f]{8})-[0-9a-f]{8})"
                  r"(-(?P<inode>\d+))?\.(?P<kind>folder|file|replaced)", re.DOTALL)
LONGEST = 40  # characters of the output's name in the draft's, since names have a longest length
TRIES = 20  # each fails only where a process that collects drafts takes the new one for a dead one
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG}


@frozen
class Draft:
    """A file or folder that is being written; its inode distinguishes it from anything else of its name."""

    path: Path
    inode: int
    kind: Kind


@contextmanager
def new_draft(output: Path, kind: Kind) -> Iterator[Draft]:
    """An empty file or folder beside `output`, removed at the end if it still has its name.

    Missing parents are made, and removed again where they stay empty. Raises OutputRefused where nothing can be
    written there, and StorageError where the disk is full or failing, or the folder was renamed meanwhile.
    """
    with with_parents(output):
        draft, descriptor = _own_draft(output, kind)
        try:
            with unfinished(draft.path, draft.inode):
                yield draft
        except Exception as error:
            if (lies := path_of(descriptor, draft.path)) != draft.path and draft.path.name == lies.name:
                remove(lies, draft.inode)
                raise StorageError(
                    "FOLDER-MOVED", "the folder of the output was renamed or moved while the output was being made",
                    where=f"{output.parent}, now {lies.parent}"[:200], hint="give the command again") from error
            raise
        finally:
            os.close(descriptor)


def path_of(descriptor: int, path: Path) -> Path:
    """Return where an open file or folder lies now: where it was opened, unless a folder above it got another name."""
    with suppress(OSError):
        lies = Path(f"/proc/self/fd/{descriptor}").readlink()
        opened = os.fstat(descriptor)
        if opened.st_ino != inode_of(path) and os.path.samestat(opened, lies.lstat()):
            return lies
    return path


@contextmanager
def with_parents(output: Path) -> Iterator[None]:
    """Makes the parents of an output that are missing; those that stay empty are removed again."""
    made = _make_parents(output)
    try:
        yield
    finally:
        _remove_empty(made)


@contextmanager
def retarget(draft: Draft, output: Path) -> Iterator[Draft]:
    """Rename a draft for another output beside it, so that the remains of both can be distinguished."""
    named = renamed(new_name(output, draft.kind), draft.kind, draft.inode if parts_of(draft.path)["inode"] else None)
    with unfinished(named, draft.inode):
        yield Draft(draft.path.rename(named), draft.inode, draft.kind)


def collect(folder: Path, came_out: Callable[[Path, int], None]) -> None:
    """Removes the drafts in a folder whose writers are dead, as far as locks show.

    What an exchange has put under a draft's name is given to `came_out` with the inode that the draft had.
    """
    for path in drafts_in(folder):
        with suppress(OSError), _opened(path) as descriptor:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if lock_decides(parts_of(path)["system"], path.parent) and os.fstat(descriptor).st_ino == inode_of(path):
                _end(path, came_out)


def drafts_in(folder: Path) -> list[Path]:
    """Return the paths in a folder that have the name of a draft and belong to this user."""
    try:
        with os.scandir(folder) as entries:
            return [folder / entry.name for entry in entries if NAME.fullmatch(entry.name)
                    and entry.stat(follow_symlinks=False).st_uid == os.geteuid()]
    except (OSError, ValueError):
        return []


def parts_of(path: Path) -> re.Match[str]:
    """The parts of a draft's name."""
    parts = NAME.fullmatch(path.name)
    assert parts is not None
    return parts


def key_of(output: Path) -> str:
    """Return the hash of an output's name, which the names of its drafts contain."""
    return _digest(os.fsencode(output.name))


def output_of(draft: Path, near: Path) -> Path | None:
    """The output that a draft is for, which `near` may be; None where its name is not known any more."""
    parts = parts_of(draft)
    known = chain([near, draft.parent / parts["name"]], draft.parent.iterdir())
    return next((path for path in known if key_of(path) == parts["key"]), None)


def renamed(path: Path, kind: str, inode: int | None = None) -> Path:
    """The name of a draft as another kind, or with another inode."""
    return path.with_name(parts_of(path)["stem"] + ("" if inode is None else f"-{inode}") + f".{kind}")


@contextmanager
def folder_lock(folder: Path) -> Iterator[int]:
    """A descriptor of a folder, locked against others that ask for it, as far as its file system has locks.

    Raises FileNotFoundError where there is none.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def in_use(path: Path) -> bool:
    """Whether another process has a file or folder locked, or may have."""
    try:
        with _opened(path) as descriptor:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


def lock_decides(system: str | None, folder: Path) -> bool:
    """Whether a lock in a folder that is free means that its holder is dead: file systems can keep locks to a machine.

    It does where the holder is of the running kernel, by `system`, or the file system belongs to this machine alone.
    """
    return system == running_kernel() or mount_of(folder).local


def impossible(what: str, where: Path, error: Exception) -> MlcliError:
    """The error for a place where nothing can be written."""
    reason = getattr(error, "strerror", None) or error
    if getattr(error, "errno", None) in FULL:
        return StorageError("OUTPUT", f"cannot {what}: {reason}", where=str(where)[:80],
                            hint="check the disk's free space and quota")
    return OutputRefused("OUTPUT", f"cannot {what}: {reason}", where=str(where)[:80],
                         hint="choose another place with -o")


def _own_draft(output: Path, kind: Kind) -> tuple[Draft, int]:
    """A new draft with its lock, an open file descriptor."""
    try:
        for _ in range(TRIES):
            made = _locked_draft(new_name(output, kind), kind)
            if made is not None:
                return made
    except (OSError, ValueError) as error:
        raise impossible("write here", output.parent, error) from error
    raise OutputRefused("OUTPUT", "another process removes the drafts made here", where=str(output.parent)[:80],
                        hint="choose another place with -o")


def _locked_draft(path: Path, kind: Kind) -> tuple[Draft, int] | None:
    """Make and lock a draft; None where a process that collects drafts took the new one first."""
    path.mkdir() if kind == "folder" else path.touch(exist_ok=False)
    descriptor = -1
    try:
        descriptor = _open(path)
        inode = os.fstat(descriptor).st_ino
        named = renamed(path, kind, inode) if _lock(descriptor) else path
        path.rename(named)
        return Draft(named, inode, kind), descriptor
    except BaseException as error:
        if descriptor >= 0:
            os.close(descriptor)
        if isinstance(error, (FileNotFoundError, BlockingIOError)):
            return None
        remove(path)
        raise


def new_name(output: Path, kind: Kind) -> Path:
    """A draft's name that nothing has."""
    token = secrets.token_hex(4)
    return output.with_name(f".{output.name[:LONGEST]}.{key_of(output)}-{running_kernel()}-{token}.{kind}")


def _lock(descriptor: int) -> bool:
    """False where the file system has no locks; raises BlockingIOError where another process has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """An open file or folder; raises OSError for anything else."""
    descriptor = _open(path)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    mode = path.lstat().st_mode
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(path))
    writing = os.O_RDWR if stat.S_ISREG(mode) and os.access(path, os.W_OK) else os.O_RDONLY  # NFS locks what is written
    return os.open(path, writing | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def _end(path: Path, came_out: Callable[[Path, int], None]) -> None:
    """Ends a draft without a writer."""
    parts = parts_of(path)
    if parts["kind"] == "replaced":
        return
    if parts["inode"] is None:
        if path.is_dir():
            path.rmdir()
        elif path.stat().st_size == 0:
            path.unlink()
    elif int(parts["inode"]) == inode_of(path):
        remove(path, int(parts["inode"]))
    else:
        came_out(path, int(parts["inode"]))


def _make_parents(output: Path) -> list[Path]:
    """Makes the parents that are missing and returns them, deepest first."""
    missing = []
    try:
        for parent in output.parents:
            if parent.exists():
                break
            missing.append(parent)
        output.parent.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        _remove_empty(missing)
        raise impossible("create the folder", output.parent, error) from error
    return missing


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:
            return


@cache
def running_kernel() -> str:
    """The running kernel, which containers on one machine share."""
    try:
        return _digest(Path("/proc/sys/kernel/random/boot_id").read_bytes())
    except OSError:
        return _digest(platform.node().encode())


def _digest(name: bytes) -> str:
    return hashlib.sha256(name).hexdigest()[:8]
