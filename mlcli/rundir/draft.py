"""Writing a directory whole or not at all: a hidden sibling, renamed once; to OUTPUT.failed where its numbers fail."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mlcli.errors import NumericalError, OutputRefused, StorageError
from mlcli.rundir.names import ERROR, MANIFEST
from mlcli.rundir.plain import json_text

LONGEST_SHOWN = 80  # characters of a path in a message
LONGEST = 40  # characters of the output's name in that of the draft, whose own name has a limit


@contextmanager
def draft(output: Path, *, force: bool) -> Iterator[Path]:
    """A folder to write into, which becomes `output` when the block ends well and vanishes otherwise.

    After a NumericalError what was written becomes `output`.failed, with the error in error.json.
    Raises OutputRefused where `output` exists (unless `force`, and then only for a run of ours),
    or cannot be created, and StorageError where a file cannot be brought safely to disk.
    """
    output = Path.cwd() / output  # not resolved: a symbolic link must be seen
    _refuse_existing(output, force)
    made = _make_parents(output)
    folder = output.parent / f".{output.name[:LONGEST]}.{secrets.token_hex(4)}.draft"
    try:
        _create(folder)
        yield folder
        _publish(folder, output, force)
    except BaseException as error:
        if not (isinstance(error, NumericalError) and _set_aside(folder, output, error)):
            shutil.rmtree(folder, ignore_errors=True)
            _remove_empty(made)
        raise


def failed_name(output: Path) -> Path:
    """Where what a failed run computed is put."""
    return output.with_name(f"{output.name}.failed")


def _set_aside(folder: Path, output: Path, error: NumericalError) -> bool:
    """Puts what was written beside the output, in the place of an earlier failure; False where nothing is kept."""
    failed = failed_name(output)
    try:
        if not any(folder.iterdir()) or (_there(failed) and (failed.is_symlink() or not (failed / ERROR).is_file())):
            return False
        (folder / ERROR).write_text(json_text({"format": 1, "error": error.fields()}), encoding="utf-8")
        shutil.rmtree(failed, ignore_errors=True)
        folder.rename(failed)
    except (OSError, OutputRefused):
        return False
    return True


@contextmanager
def writing(what: Path | str) -> Iterator[None]:
    """Turns failures of the file system under a block into StorageError; a full disk has many errnos."""
    try:
        yield
    except OSError as error:
        raise StorageError("WRITE", f"could not write: {error.strerror or error}", where=str(what),
                           hint="check the disk's free space and quota") from error


def _refuse_existing(output: Path, force: bool) -> None:
    if not _there(output):
        return
    if output.is_symlink():
        raise OutputRefused("OUTPUT-LINK", "the output is a symbolic link", where=str(output), hint="name its target")
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


def _there(output: Path) -> bool:
    """Whether anything has the output's name, a broken link included; raises OutputRefused where none can have it."""
    try:
        output.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        raise _impossible("create the output", output, error) from error
    return True


def _impossible(what: str, where: Path, error: Exception) -> OutputRefused:
    """The error for a place where nothing can be written."""
    return OutputRefused("OUTPUT", f"cannot {what}: {getattr(error, 'strerror', None) or error}",
                         where=str(where)[:LONGEST_SHOWN], hint="choose another place with -o")


def _make_parents(output: Path) -> list[Path]:
    """Creates the parents that are missing and returns them, deepest first."""
    missing = []
    try:
        for parent in output.parents:
            if parent.exists():
                break
            missing.append(parent)
        output.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _remove_empty(missing)
        raise _impossible("create the folder", output.parent, error) from error
    return missing


def _create(folder: Path) -> None:
    try:
        folder.mkdir()
    except OSError as error:
        raise _impossible("write here", folder.parent, error) from error


def _publish(folder: Path, output: Path, force: bool) -> None:
    """Everything to disk, then the one rename that makes it visible; a signal on the way loses no run."""
    with writing(output):
        for path in (*folder.iterdir(), folder):
            _sync(path)
    replaced = folder.with_suffix(".replaced")
    try:
        if output.exists() and force:
            _rename(output, replaced)
        _rename(folder, output)
        shutil.rmtree(replaced, ignore_errors=True)
    except BaseException:
        _settle(folder, output, replaced)
        raise
    with writing(output):
        _sync(output.parent)


def _settle(folder: Path, output: Path, replaced: Path) -> None:
    """After an interrupted publication: the old run back in its place, or gone where the new one has it."""
    if not replaced.exists():
        return
    if not output.exists():
        _rename(replaced, output)
    elif not folder.exists():
        shutil.rmtree(replaced, ignore_errors=True)


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
