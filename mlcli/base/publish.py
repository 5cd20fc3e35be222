"""Publication: a draft becomes the output in one step, and replaces only what was checked."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from mlcli.base.drafts import Draft, Kind, collect, drafted, drafts_in, impossible, in_use, key_of, parts_of, renamed
from mlcli.base.mounts import mount_of
from mlcli.base.renames import exchange, move
from mlcli.base.unfinished import inode_of, unfinished
from mlcli.errors import OutputRefused, StorageError

Check = Callable[[Path], Any]  # raises OutputRefused unless what has the path may be replaced
TRIES = 20  # each fails only where another process makes or removes the output at the same moment


@contextmanager
def publishing(output: Path, kind: Kind, check: Check, *, force: bool) -> Iterator[Draft]:
    """A draft that becomes `output` when the block ends well, and vanishes otherwise.

    Raises OutputRefused where the output cannot be created, or exists and is not to be replaced: `check` says what
    may be under `force`. Raises StorageError where the file system fails.
    """
    settle(output, kind, check)
    refuse_existing(output, kind, check, force=force)
    with drafted(output, kind) as draft:
        yield draft
        publish(draft, output, check if force else None)


def write_whole(path: Path, write: Callable[[Path], Any], *, force: bool) -> None:
    """Has a file written whole or not at all; raises as `publishing` does."""
    with publishing(path, "file", anything, force=force) as draft, writing(path):
        write(draft.path)


def publish(draft: Draft, output: Path, check: Check | None) -> None:
    """Gives a draft the output's name once it is safe on the disk; without a `check` nothing is replaced."""
    with writing(output):
        for path in (*(draft.path.iterdir() if draft.kind == "folder" else ()), draft.path):
            _sync(path)
    try:
        if check is None:
            move(draft.path, output)
        else:
            _take_place(draft, output, check)
    except FileExistsError as error:
        raise OutputRefused("OUTPUT-RACE", "the output appeared while it was made", where=_shown(output),
                            hint="another job wrote it first; choose another with -o") from error
    except OSError as error:
        raise StorageError("PUBLISH", f"the output could not be moved into place: {error.strerror or error}",
                           where=_shown(output), hint="check the disk, and the permissions of the folder") from error
    with writing(output):
        _sync(output.parent)


def refuse_existing(output: Path, kind: Kind, check: Check, *, force: bool) -> None:
    """Refuses, before anything is computed, an output that could not be published; raises OutputRefused."""
    if not _there(output):
        return
    _require_kind(output, kind)
    if kind == "folder":
        _refuse_fixed(output)
    if vacant(output, kind):
        return
    if not force:
        raise OutputRefused("OUTPUT-EXISTS", "the output exists", where=_shown(output),
                            hint="choose another with -o, or replace it with --force")
    check(output)


def settle(output: Path, kind: Kind, check: Check) -> None:
    """Ends what dead processes have left beside an output: drafts vanish, and a run that was moved aside comes back."""
    required = partial(_require, kind=kind, check=check)
    for path in drafts_in(output.parent):
        if parts_of(path)["kind"] == "replaced" and parts_of(path)["key"] == key_of(output) and kind == "folder":
            with suppress(OSError, OutputRefused):
                _settle_aside(path, output, required)
    collect(output.parent, partial(_came_out, output, kind, required))
    if kind == "folder" and _there(output) and not output.is_symlink():
        collect(output, partial(_came_out, output / "any", "file", partial(_require, kind="file", check=anything)))


def anything(path: Path) -> None:
    """The check of a file, of which nothing but being one is asked."""


def vacant(output: Path, kind: Kind) -> bool:
    """Whether nothing has the output's name, or for a folder only an empty one."""
    if kind == "folder" and output.is_dir() and not output.is_symlink():
        try:
            return next(output.iterdir(), None) is None
        except OSError as error:
            raise impossible("read the output", output, error) from error
    return not _there(output)


@contextmanager
def writing(what: Path | str) -> Iterator[None]:
    """Turns failures of the file system under a block into StorageError; a full disk has many errnos."""
    try:
        yield
    except OSError as error:
        raise StorageError("WRITE", f"could not write: {error.strerror or error}", where=str(what),
                           hint="check the disk's free space and quota") from error


def _take_place(draft: Draft, output: Path, check: Check) -> None:
    """The draft in the place of what may be replaced, or of nothing; raises OutputRefused and OSError."""
    for _ in range(TRIES):
        try:
            if vacant(output, draft.kind):
                return move(draft.path, output)
            _require(output, draft.kind, check)
            return _replace(draft, output, check)
        except FileExistsError:
            continue
        except FileNotFoundError:
            if not os.path.lexists(draft.path):
                raise
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(output))


def _replace(draft: Draft, output: Path, check: Check) -> None:
    try:
        if exchange(draft.path, output):
            return _sync(output.parent)
    finally:
        _settle_exchange(draft.path, draft.inode, output, partial(_require, kind=draft.kind, check=check))
    if draft.kind == "file":
        draft.path.replace(output)
    else:
        _replace_folder(draft, output, check)


def _replace_folder(draft: Draft, output: Path, check: Check) -> None:
    """Two renames, where there is no exchange: after the first, a start that finds the old run aside puts it back."""
    aside = renamed(draft.path, "replaced")
    try:
        output.rename(aside)
        _require(aside, draft.kind, check)
        move(draft.path, output)
    finally:
        _settle_aside(aside, output, partial(_require, kind=draft.kind, check=check))


def _settle_exchange(path: Path, inode: int, output: Path, check: Check) -> None:
    """Discards what came out of an exchange with a draft of that inode; what may not be replaced goes back."""
    if inode_of(path) in (None, inode):
        return
    try:
        check(path)
    except (OutputRefused, FileNotFoundError):
        if not os.path.lexists(path):
            return  # another process found that it may be replaced
        if inode_of(output) == inode:
            exchange(path, output)
        raise
    _discard(path)


def _settle_aside(aside: Path, output: Path, check: Check) -> None:
    """Puts a folder that was moved aside back in its place, or discards it where the place is taken."""
    if not os.path.lexists(aside):
        return
    if not os.path.lexists(output):
        move(aside, output)
    else:
        check(aside)
        _discard(aside)


def _came_out(output: Path, kind: Kind, check: Check, path: Path, inode: int) -> None:
    """The same for what a process left that was killed just after the exchange."""
    if parts_of(path)["kind"] == kind and not (inode_of(output) == inode and in_use(output)):
        with suppress(OutputRefused):
            _settle_exchange(path, inode, output, check)


def _discard(path: Path) -> None:
    """Removes what may be removed, under the name of a draft that nobody writes, so that any start can finish it."""
    inode = inode_of(path)
    gone = renamed(path, "file" if path.is_file() else "folder", inode)
    with suppress(FileNotFoundError), unfinished(path, inode), unfinished(gone, inode):
        path.rename(gone)


def _require(path: Path, kind: Kind, check: Check) -> None:
    _require_kind(path, kind)
    check(path)


def _require_kind(output: Path, kind: Kind) -> None:
    """Refuses links, and a file in the place of a folder or the reverse; raises OutputRefused."""
    try:
        mode = output.lstat().st_mode
    except FileNotFoundError:
        raise
    except OSError as error:
        raise impossible("create the output", output, error) from error
    if stat.S_ISLNK(mode):
        raise OutputRefused("OUTPUT-LINK", "the output is a symbolic link", where=_shown(output),
                            hint="name its target")
    if kind == "folder" and not stat.S_ISDIR(mode):
        raise OutputRefused("OUTPUT-EXISTS", "the output exists and is not a directory", where=_shown(output),
                            hint="choose another with -o")
    if kind == "file" and not stat.S_ISREG(mode):
        what = "a directory" if stat.S_ISDIR(mode) else "no regular file"
        raise OutputRefused("OUTPUT-EXISTS", f"the output is {what}", where=_shown(output), hint="name a file")


def _refuse_fixed(output: Path) -> None:
    """Refuses a folder that no other can take the place of; raises OutputRefused."""
    real = output.resolve()
    if mount_of(real).point == real:
        raise OutputRefused("OUTPUT-FIXED", "the output is a mount point, which nothing can replace",
                            where=_shown(output), hint=f"name a folder in it, for example {_shown(output / 'run')}")
    if real == Path.cwd():
        raise OutputRefused("OUTPUT-FIXED", "the output is the working directory", where=_shown(output),
                            hint="name a folder in it with -o")


def _there(output: Path) -> bool:
    """Whether anything has the output's name, a broken link included; raises OutputRefused where none can have it."""
    try:
        output.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        raise impossible("create the output", output, error) from error
    return True


def _shown(path: Path) -> str:
    return str(path)[:80]


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
