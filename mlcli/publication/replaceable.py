"""Finished folders: every kind that a command publishes, each with a file that lists all others.

`--force` replaces a folder of the same kind that holds nothing else, and recovery removes no other.
"""

import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mlcli.base.frozen import frozen
from mlcli.errors import OutputRefused
from mlcli.process.unfinished import inode_of
from mlcli.publication.staging import NAME

FORMAT = 1  # of every listing
LARGEST = 2**24  # bytes; a manifest holds a few thousand
SHOWN = 3  # files named in a message
TRIES = 100  # each fails only where another process replaces the folder at the same moment
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@frozen
class Listing:
    """A JSON file that lists all other files of its folder under `files`, and under `pending` those being written."""

    name: str
    key: str  # which every such file holds
    what: str  # such a folder is

    def require(self, folder: Path) -> tuple[str, ...]:
        """Return the names of what such a folder may hold, the listing's own last.

        Raises OutputRefused unless the folder has this listing, and holds nothing that it does not list, and
        FileNotFoundError if there is no folder. All checks are of one folder, from its listing to its last file, which
        must still have the name at the end.
        """
        for _ in range(TRIES):
            names: tuple[str, ...] = ()
            try:
                with opened(folder) as descriptor:
                    names, why = _judge(descriptor, self)
                    if os.fstat(descriptor).st_ino != inode_of(folder):
                        continue
            except FileNotFoundError:
                raise
            except OSError as error:
                why = f"it cannot be read: {error.strerror}"
            if why:
                raise OutputRefused(
                    "OUTPUT-FOREIGN", f"the output is not {self.what} and nothing else: {why}", where=str(folder),
                    hint=f"choose another with -o, or move the files away; --force replaces only {self.what}")
            return names
        raise OutputRefused("OUTPUT-RACE", "other jobs keep replacing the output", where=str(folder),
                            hint="choose another with -o")


RUN = Listing("run.json", "mlcli", "a run")
FAILURE = Listing("error.json", "error", "a failed run")
RELATION = Listing("relate.json", "with", "the output of mlcli relate")
FINISHED = (RUN, FAILURE, RELATION)


def require_finished(folder: Path, successor: Path | None = None) -> tuple[str, ...]:
    """Return the names of the files of a finished folder, of its successor's kind where that is finished.

    Raises as `Listing.require` does.
    """
    found = None if successor is None else _kind_of(successor)
    return (found or _kind_of(folder) or RUN).require(folder)


def listing_of(path: str | Path, folder: int | None = None) -> Mapping[str, Any]:
    """The JSON object in a regular file, its path from an open folder where one is given; empty where there is none."""
    try:  # follows no link, and does not wait for a pipe's writer
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return {}
            document = json.loads(file.read(LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


@contextmanager
def opened(folder: Path) -> Iterator[int]:
    """A descriptor of a folder, which stays the same folder whatever gets its name."""
    descriptor = os.open(folder, FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _kind_of(folder: Path) -> Listing | None:
    """Return the listing of a finished folder; None for anything else."""
    for listing in FINISHED:
        with suppress(OutputRefused, FileNotFoundError):
            listing.require(folder)
            return listing
    return None


def _judge(folder: int, listing: Listing) -> tuple[tuple[str, ...], str]:
    """The names that an open folder lists, its listing's own last, and why it may not be replaced, if so.

    Drafts of these files, which `mlcli report` may be writing, are allowed.
    """
    document = listing_of(listing.name, folder)
    files, pending = document.get("files"), document.get("pending")
    pending = [name for name in pending if isinstance(name, str)] if isinstance(pending, list) else []
    if document.get("format") != FORMAT or listing.key not in document or not isinstance(files, dict):
        return (), f"it has no {listing.name} that lists its files"
    names = (*files, *pending, listing.name)
    with os.scandir(folder) as entries:
        known = set(names)
        strangers = sorted(entry.name for entry in entries
                           if not (entry.name in known or NAME.fullmatch(entry.name))
                           or not entry.is_file(follow_symlinks=False))
    more = f" and {len(strangers) - SHOWN} more" if len(strangers) > SHOWN else ""
    return names, f"it holds {', '.join(strangers[:SHOWN])}{more}" if strangers else ""
