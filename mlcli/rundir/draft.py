"""Writing a directory whole or not at all: a hidden sibling, renamed once."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mlcli.errors import OutputRefused, StorageError
from mlcli.rundir.names import MANIFEST


@contextmanager
def draft(output: Path, *, force: bool) -> Iterator[Path]:
    """A folder to write into, which becomes `output` when the block ends well and vanishes otherwise.

    Raises OutputRefused where `output` exists (unless `force`, and then only for a run of ours),
    or cannot be created, and StorageError where a file cannot be brought safely to disk.
    """
    output = Path.cwd() / output  # not resolved: a symbolic link must be seen
    _refuse_existing(output, force)
    made = _make_parents(output)
    folder = output.parent / f".{output.name}.{secrets.token_hex(4)}.draft"
    try:
        _create(folder)
        yield folder
        _publish(folder, output, force)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        _remove_empty(made)
        raise


@contextmanager
def writing(what: Path | str) -> Iterator[None]:
    """Turns failures of the file system under a block into StorageError; a full disk has many errnos."""
    try:
        yield
    except OSError as error:
        raise StorageError("WRITE", f"could not write: {error.strerror or error}", where=str(what),
                           hint="check the disk's free space and quota") from error


def _refuse_existing(output: Path, force: bool) -> None:
    if output.is_symlink():
        raise OutputRefused("OUTPUT-LINK", "the output is a symbolic link", where=str(output), hint="name its target")
    if not output.exists():
        return
    if not output.is_dir():
        raise OutputRefused("OUTPUT-EXISTS", "the output exists and is not a directory", where=str(output),
                            hint="choose another with -o")
    ours = (output / MANIFEST).is_file() or not any(output.iterdir())
    if force and not ours:
        raise OutputRefused("OUTPUT-FOREIGN", "the output holds something other than a run", where=str(output),
                            hint="choose another with -o; --force replaces runs only")
    if not force:
        raise OutputRefused("OUTPUT-EXISTS", "the output exists", where=str(output),
                            hint="choose another with -o, or replace it with --force")


def _make_parents(output: Path) -> list[Path]:
    """Creates the parents that are missing and returns them, deepest first."""
    missing = []
    for parent in output.parents:
        if parent.exists():
            break
        missing.append(parent)
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _remove_empty(missing)
        raise OutputRefused("OUTPUT", f"cannot create the folder: {error.strerror}", where=str(output.parent),
                            hint="choose another place with -o") from error
    return missing


def _create(folder: Path) -> None:
    try:
        folder.mkdir()
    except OSError as error:
        raise OutputRefused("OUTPUT", f"cannot write here: {error.strerror}", where=str(folder.parent),
                            hint="choose another place with -o") from error


def _publish(folder: Path, output: Path, force: bool) -> None:
    """Everything to disk, then the one rename that makes it visible."""
    with writing(output):
        for path in (*folder.iterdir(), folder):
            _sync(path)
    replaced = folder.with_suffix(".replaced")
    if output.exists() and force:
        _rename(output, replaced)
    try:
        _rename(folder, output)
    except OutputRefused:
        if replaced.exists():
            _rename(replaced, output)
        raise
    shutil.rmtree(replaced, ignore_errors=True)
    with writing(output):
        _sync(output.parent)


def _rename(source: Path, target: Path) -> None:
    """A rename fails onto a directory that holds anything, so another job's output is never overwritten."""
    try:
        source.rename(target)
    except OSError as error:
        raise OutputRefused("OUTPUT-RACE", f"the finished run could not be moved into place: {error.strerror}",
                            where=str(target), hint="another job wrote it first; choose another with -o") from error


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:
            return
