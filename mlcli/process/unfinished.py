"""Files and folders that are being written: they must not outlive the process, however it ends."""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

Entry = tuple[Path, int | None]  # a path, and the inode that it must have to be removed

_entries: list[Entry] = []
_watchers: list[Callable[[Sequence[Entry]], object]] = []


@contextmanager
def unfinished(path: Path, inode: int | None = None) -> Iterator[None]:
    """Removes a file or folder, if it is there, when the block ends, or when the process is ended before that.

    Where an inode is given, only what has that inode is removed: another file may have the name by then.
    """
    entry = path, inode
    _entries.append(entry)
    _notify()
    try:
        yield
    finally:
        try:
            remove(path, inode)
        finally:
            _entries.remove(entry)
            _notify()


def _forget() -> None:
    """Forget the parent's unfinished files and watchers, after a fork."""
    _entries.clear()
    _watchers.clear()


os.register_at_fork(after_in_child=_forget)


def add_watcher(watcher: Callable[[Sequence[Entry]], object]) -> None:
    """Add a watcher, which is called with all unfinished entries whenever they change."""
    _watchers.append(watcher)


def _notify() -> None:
    for watcher in _watchers:
        watcher(_entries)


def remove_all(entries: Sequence[Entry]) -> None:
    """Removes what a process left unfinished that has ended without unwinding.

    Each has its name taken away first, so that no other process can take it for whole.
    """
    for path, inode in entries:
        with suppress(OSError):  # published, or gone
            aside = path.rename(path.with_name(f".stopped{path.name}"))
            if inode in (None, inode_of(aside)):
                remove(aside)
            else:  # what was put in its place
                aside.rename(path)


def remove(path: Path, inode: int | None = None) -> None:
    """Removes a file, a link or a folder with all that it holds; what cannot be removed stays."""
    try:
        _remove(path, inode)
    except OSError:
        return
    except BaseException:  # a signal raises once; what it interrupted is finished before it goes on
        shutil.rmtree(path, ignore_errors=True)
        raise


def inode_of(path: Path) -> int | None:
    """The inode that a name has, links not followed; None where there is none to be seen."""
    try:
        return path.lstat().st_ino
    except OSError:
        return None


def _remove(path: Path, inode: int | None) -> None:
    if inode not in (None, inode_of(path)):
        return
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
