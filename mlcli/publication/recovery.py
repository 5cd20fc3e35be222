"""Clean-up of replaced outputs and of drafts of dead writers: removed by their own listing, or put back."""

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path

from mlcli.base.stages.stage import note
from mlcli.errors import OutputRefused
from mlcli.process.unfinished import inode_of
from mlcli.publication.output_lock import remove_stale_locks
from mlcli.publication.renames import exchange, move
from mlcli.publication.replaceable import Listing, opened, require_finished
from mlcli.publication.staging import (
    NAME,
    Draft,
    Kind,
    collect,
    drafts_in,
    impossible,
    in_use,
    new_name,
    output_of,
    parts_of,
    renamed,
)

# Raises OutputRefused unless what has the path may be replaced; of a folder, its names.
Check = Callable[[Path], tuple[str, ...] | None]
ROUNDS = 3  # of removal: what another process writes meanwhile is removed in the next
CAME_OUT = 0  # the inode in the name of what was moved aside and is to be removed: nothing has it


def recover(output: Path) -> None:
    """Clean up the drafts of dead processes beside an output and in it.

    Drafts vanish, what came out of an exchange is removed or goes back, and a run that was moved aside comes back.
    """
    inside = [output] if os.path.isdir(output) and not output.is_symlink() else []  # noqa: PTH112 (never raises)
    for folder in (output.parent, *inside):
        for path in drafts_in(folder):
            if parts_of(path)["kind"] == "replaced":
                with suppress(OSError, OutputRefused):
                    finish_aside(path, output_of(path, output), partial(_require_folder, successor=None))
        collect(folder, partial(_finish_interrupted, output))
        remove_stale_locks(folder)


def finish_exchange(path: Path, inode: int, output: Path | None, check: Check) -> None:
    """Removes the folder that an exchange with the draft of that inode left; a folder that may not be replaced gets its
    name back.

    Raises OutputRefused for that. An interrupted removal leaves a folder that still lists its files, or an empty one,
    so that any start can finish it.
    """
    _finish_before_signal(partial(_finish_exchange, path, inode, output, check))


def finish_aside(aside: Path, output: Path | None, check: Check, *, replaced: bool = False) -> None:
    """Puts a folder that was moved aside back in its place, or removes it where it was replaced or the place is taken.
    """
    if output is not None:
        gone = renamed(new_name(output, "folder"), "folder", CAME_OUT)
        _finish_before_signal(partial(_finish_aside, aside, output, gone, check, replaced))


def place_of_the_refused(draft: Draft, output: Path) -> Path:
    """Return the path of the output that was not replaced: its own, or if that is taken, a visible name beside it."""
    for hidden in (draft.path, renamed(draft.path, "replaced")):
        if inode_of(hidden) not in (None, draft.inode):
            return _shown_again(hidden)
    return output


def require(path: Path, listing: Listing | None) -> tuple[str, ...] | None:
    """Return the names of a finished folder's files, None for a file; raises OutputRefused for anything else."""
    require_kind(path, "file" if listing is None else "folder")
    return None if listing is None else listing.require(path)


def require_kind(output: Path, kind: Kind) -> None:
    """Refuses links, and a file in the place of a folder or the reverse; raises OutputRefused, FileNotFoundError."""
    try:
        mode = output.lstat().st_mode
    except FileNotFoundError:
        raise
    except OSError as error:
        raise impossible("create the output", output, error) from error
    if stat.S_ISLNK(mode):
        raise OutputRefused("OUTPUT-LINK", "the output is a symbolic link", where=str(output),
                            hint="name its target")
    if kind == "folder" and not stat.S_ISDIR(mode):
        raise OutputRefused("OUTPUT-EXISTS", "the output exists and is not a directory", where=str(output),
                            hint="choose another with -o")
    if kind == "file" and not stat.S_ISREG(mode):
        what = "a directory" if stat.S_ISDIR(mode) else "no regular file"
        raise OutputRefused("OUTPUT-EXISTS", f"the output is {what}", where=str(output), hint="name a file")


def _finish_interrupted(near: Path, path: Path, inode: int) -> None:
    """Finish the exchange of a process that was killed just after it, whatever it wrote."""
    output = output_of(path, near)
    successor = output if output is not None and inode_of(output) == inode else None
    if successor is not None and in_use(successor):
        return  # its writer is alive and does the same
    required = (partial(_require_folder, successor=successor) if parts_of(path)["kind"] == "folder"
                else partial(require, listing=None))
    with suppress(OutputRefused):
        finish_exchange(path, inode, output, required)


def _require_folder(path: Path, successor: Path | None) -> tuple[str, ...]:
    """Return the names of a finished folder's files, as `require_finished` does; raises for a link or a file too."""
    require_kind(path, "folder")
    return require_finished(path, successor)


def _finish_before_signal(work: Callable[[], None]) -> None:
    """Do work that a signal does not cut short: finish it first, then let the signal raise."""
    try:
        work()
    except Exception:
        raise
    except BaseException:
        with suppress(Exception):
            work()
        raise


def _finish_exchange(path: Path, inode: int, output: Path | None, check: Check) -> None:
    if inode_of(path) in (None, inode):
        return
    try:
        names = check(path)
    except (OutputRefused, FileNotFoundError):
        with suppress(OSError):
            path.rmdir()  # an empty folder does not even list its files: its removal was cut short, or goes on
        if not os.path.lexists(path):
            return  # another process found that it may be replaced
        if output is not None and inode_of(output) == inode:
            with suppress(FileNotFoundError):
                exchange(path, output)
        raise
    with suppress(OSError):
        _discard(path, names)


def _finish_aside(aside: Path, output: Path, gone: Path, check: Check, replaced: bool) -> None:
    with suppress(FileNotFoundError):  # another process finishes it
        if os.path.lexists(aside):
            if not (replaced or os.path.lexists(output)):
                return move(aside, output)
            check(aside)
            aside.rename(gone)
        _finish_exchange(gone, CAME_OUT, None, check)


def _discard(path: Path, names: tuple[str, ...] | None) -> None:
    """Removes a file, or of a folder what has one of these names, in their order, and the folder if that was all."""
    if names is None:
        return path.unlink()
    for _ in range(ROUNDS):
        with opened(path) as folder:
            with os.scandir(folder) as entries:
                held = {entry.name for entry in entries}
            drafts = [name for name in held if NAME.fullmatch(name)]
            for name in (*drafts, *(name for name in names if name in held)):
                with suppress(OSError):
                    os.unlink(name, dir_fd=folder)
        with suppress(OSError):
            return path.rmdir()
    added = sorted(held - {*names})
    if added:  # else what cannot be removed now may be by a later start
        note("W-KEPT", "files that were added to the old run while it was replaced were saved in "
             f"{_shown_again(path)}: {', '.join(added)[:200]}")


def _shown_again(path: Path) -> Path:
    """Gives what must not be removed a name beside the output's; returns it."""
    name = parts_of(path)["name"]
    for number in count(1):
        place = path.with_name(f"{name}.kept{'' if number == 1 else f'-{number}'}")
        with suppress(FileExistsError):
            move(path, place)
            return place
    raise AssertionError
