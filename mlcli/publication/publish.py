"""Publication: a draft becomes the output in one step, and replaces only what was checked."""

import errno
import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, BinaryIO

from mlcli.errors import OutputRefused, StorageError
from mlcli.process.unfinished import inode_of
from mlcli.publication.mounts import mount_of
from mlcli.publication.recovery import (
    Check,
    finish_aside,
    finish_exchange,
    place_of_the_refused,
    recover,
    require,
    require_kind,
)
from mlcli.publication.renames import exchange, move
from mlcli.publication.replaceable import Listing
from mlcli.publication.staging import Draft, Kind, impossible, new_draft, renamed

TRIES = 20  # each fails only where another process makes or removes the output at the same moment
FILE_ENDINGS = frozenset({".csv", ".tsv", ".txt", ".html", ".json", ".yaml", ".yml", ".npy", ".npz", ".parquet",
                          ".h5ad", ".svg", ".png", ".pdf"})  # of what the program writes
SYNCED = 8  # files that are brought to disk at once: half the wait of 4, for the 14 of a small run


@contextmanager
def publishing(output: Path, listing: Listing | None, *, force: bool) -> Iterator[Draft]:
    """A draft that becomes `output` when the block ends well, and vanishes otherwise: a folder with a listing, or a
    file where it is None.

    Raises OutputRefused where the output cannot be created, or exists and is not to be replaced: under `force` a folder
    with the same listing is, and any file. Raises StorageError where the file system fails.
    """
    recover(output)
    refuse_existing(output, listing, force=force)
    with new_draft(output, "file" if listing is None else "folder") as draft:
        yield draft
        publish(draft, output, listing, force=force)


@contextmanager
def publish_file(path: Path, write: Callable[[Path], Any], *, force: bool) -> Iterator[None]:
    """Write a file that appears, whole, when the block ends well; raises as `publishing` does."""
    with publishing(path, None, force=force) as draft:
        with writing(path):
            write(draft.path)
        yield


def write_whole(path: Path, write: Callable[[Path], Any], *, force: bool) -> None:
    """Write a file whole or not at all; raises as `publishing` does."""
    with publish_file(path, write, force=force):
        pass


def append_line(path: Path, line: str, head: str) -> None:
    """Append a line to a table of lines, which begins with `head`, whole or not at all, after those of other processes.

    Raises OutputRefused for a file that begins with another line, and StorageError.
    """
    with writing(path), path.open("ab+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        size = file.seek(0, os.SEEK_END)
        _require_head(file, path, head)
        file.seek(max(size - 1, 0))
        begun = file.read(1) not in (b"", b"\n")  # as of an editor that ends a file without a line's end
        try:
            file.write(("\n" * begun + ("" if size else f"{head}\n") + f"{line}\n").encode())
            file.flush()
            os.fsync(file.fileno())
        except OSError:
            file.truncate(size)
            raise


def require_lines(path: Path, head: str) -> None:
    """Raise OutputRefused for a file to which no line of a table with this head can be appended."""
    try:
        with path.open("rb") as file:
            _require_head(file, path, head)
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise OutputRefused("OUTPUT", "there is no such folder", where=str(path), hint="make it first") from None
    except OSError as error:
        raise impossible("read the output", path, error) from error


def _require_head(file: BinaryIO, path: Path, head: str) -> None:
    """Raise OutputRefused for an open file that is not empty and begins with another line."""
    file.seek(0)
    first = file.readline(len(head) + 2)
    if first and first.rstrip(b"\r\n") != head.encode():
        raise OutputRefused("OUTPUT-EXISTS", f"the output exists and does not begin with the line {head}",
                            where=str(path), hint="choose another, to which lines are appended")


def publish(draft: Draft, output: Path, listing: Listing | None, *, force: bool) -> None:
    """Gives a draft the output's name once it is safe on the disk; without `force` nothing is replaced.

    Where the folder's change cannot be brought to the disk, it is taken back.
    """
    with writing(output):
        if draft.kind == "folder":
            _sync_all([*draft.path.iterdir()])
        _sync(draft.path)
    try:
        if force:
            _take_place(draft, output, listing)
        else:
            _move(draft, output)
    except FileExistsError as error:
        raise OutputRefused("OUTPUT-RACE", "another job made this output meanwhile", where=str(output),
                            hint="another job wrote it first; choose another with -o") from error
    except OSError as error:
        raise StorageError("PUBLISH", f"the output could not be moved into place: {error.strerror or error}",
                           where=str(output), hint="check the disk, and the permissions of the folder") from error


def refuse_existing(output: Path, listing: Listing | None, *, force: bool, flag: str = "-o") -> None:
    """Refuses, before anything is computed, an output (of a flag) that could not be published; raises OutputRefused."""
    kind: Kind = "file" if listing is None else "folder"
    if kind == "folder":
        require_folder_name(output)
    if not _exists(output):
        return
    with suppress(FileNotFoundError):  # what vanishes meanwhile is not an output
        require_kind(output, kind)
        if kind == "folder":
            _refuse_fixed(output)
        if vacant(output, kind):
            return
        if not force:
            raise OutputRefused("OUTPUT-EXISTS", "the output exists", where=str(output),
                                hint=f"choose another with {flag}, or replace it with --force")
        if listing is not None:
            listing.require(output)


def require_folder_name(output: Path) -> None:
    """Raise OutputRefused for a new folder whose name ends as that of a file does: the user expects a file there."""
    if output.suffix.lower() in FILE_ENDINGS and not output.is_dir():
        raise OutputRefused("OUTPUT-NAME", f"the output is a directory, but {output.suffix} is the ending of a file "
                            "name", where=str(output), hint=f"name a folder, as in -o {output.stem or 'runs/one'}")


def vacant(output: Path, kind: Kind) -> bool:
    """Whether nothing has the output's name, or for a folder only an empty one."""
    if kind == "folder" and output.is_dir() and not output.is_symlink():
        try:
            return next(output.iterdir(), None) is None
        except FileNotFoundError:
            return True
        except OSError as error:
            raise impossible("read the output", output, error) from error
    return not _exists(output)


@contextmanager
def writing(what: Path | str, hint: str = "check the disk's free space and quota") -> Iterator[None]:
    """Turns failures of the file system under a block into StorageError; a full disk has many errnos.

    A name too long is none of what is written, which was created before: it is that of a file to read.
    """
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise
        raise StorageError("WRITE", f"could not write: {error.strerror or error}", where=str(what),
                           hint=hint) from error


def _take_place(draft: Draft, output: Path, listing: Listing | None) -> None:
    """Move the draft to the output, replacing only what `require` allows; raises OutputRefused and OSError."""
    for _ in range(TRIES):
        try:
            if vacant(output, draft.kind):
                return _move(draft, output)
            require(output, listing)
            return _replace(draft, output, listing)
        except FileExistsError:
            continue
        except OSError as error:  # ENOTEMPTY: another job took the place where a run was put back
            if error.errno not in (errno.ENOENT, errno.ENOTEMPTY) or not os.path.lexists(draft.path):
                raise
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(output))


def _move(draft: Draft, output: Path) -> None:
    """Moves a draft to a free place; back where that cannot be brought to the disk."""
    move(draft.path, output)
    try:
        _sync(output.parent)
    except OSError:
        if inode_of(output) == draft.inode:
            output.rename(draft.path)
        raise


def _replace(draft: Draft, output: Path, listing: Listing | None) -> None:
    """Exchanges the two, or where the system cannot, renames; what may not be replaced stays, and is named."""
    required = partial(require, listing=listing)
    try:
        if not _exchanged(draft, output, required):
            if draft.kind == "file":
                draft.path.replace(output)
                _sync(output.parent)
            else:
                _replace_folder(draft, output, required)
    except OutputRefused as error:
        raise error.changed(where=str(place_of_the_refused(draft, output))) from error


def _exchanged(draft: Draft, output: Path, required: Check) -> bool:
    """False where names cannot be exchanged."""
    try:
        if not exchange(draft.path, output):
            return False
        try:
            _sync(output.parent)
        except OSError:
            exchange(draft.path, output)
            raise
    finally:
        finish_exchange(draft.path, draft.inode, output, required)
    return True


def _replace_folder(draft: Draft, output: Path, required: Check) -> None:
    """Two renames, where there is no exchange: after the first, a start that finds the old run aside puts it back."""
    aside, replaced = renamed(draft.path, "replaced"), False
    try:
        output.rename(aside)
        required(aside)
        _move(draft, output)
        replaced = True
    finally:  # once it was replaced it stays so, though another job may have taken the new run aside in its turn
        finish_aside(aside, output, required, replaced=replaced)


def _refuse_fixed(output: Path) -> None:
    """Refuses a folder that no other can take the place of; raises OutputRefused."""
    real = output.resolve()
    if mount_of(real).point == real:
        raise OutputRefused("OUTPUT-FIXED", "the output is a mount point, which cannot be replaced",
                            where=str(output), hint=f"name a folder in it, for example {output / 'run'}")
    if real == Path.cwd():
        raise OutputRefused("OUTPUT-FIXED", "the output is the working directory", where=str(output),
                            hint="name a folder in it with -o")


def _exists(output: Path) -> bool:
    """Whether anything has the output's name, a broken link included; raises OutputRefused where none can have it."""
    try:
        output.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        raise impossible("create the output", output, error) from error
    return True


def _sync_all(files: Sequence[Path]) -> None:
    """Brings files to disk several at once: one write of the file system's journal then serves more than one."""
    waiting = [_threads().submit(_sync_each, files[place::SYNCED]) for place in range(min(SYNCED, len(files)))]
    try:
        for future in waiting:
            future.result()
    finally:  # where one fails, or a signal comes, none goes on beyond this
        wait([future for future in waiting if not future.cancel()])


@cache
def _threads() -> ThreadPoolExecutor:
    """The threads of this process that bring files to disk: those of one small run serve the next."""
    return ThreadPoolExecutor(SYNCED, thread_name_prefix="sync")


os.register_at_fork(after_in_child=_threads.cache_clear)  # a child has none of its parent's threads


def _sync_each(paths: Sequence[Path]) -> None:
    for path in paths:
        _sync(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
