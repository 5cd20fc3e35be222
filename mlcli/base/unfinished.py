"""Files and folders that are being written: they must not outlive the process, however it ends."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_paths: list[Path] = []


@contextmanager
def unfinished(path: Path) -> Iterator[None]:
    """Removes a file or folder, if it is there, when the block ends, or when the process is ended before that."""
    _paths.append(path)
    try:
        yield
    finally:
        remove(path)
        _paths.remove(path)


def remove_all() -> None:
    """Removes everything unfinished: for a process that is about to end without unwinding."""
    for path in tuple(_paths):
        remove(path)


def remove(path: Path) -> None:
    """Removes a file, a link or a folder with all that it holds; what cannot be removed stays."""
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    except OSError:
        return
