"""What `--force` may replace: a finished run, or what a failed one left, and nothing else in the folder."""

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlcli.errors import OutputRefused
from mlcli.rundir.manifest import FORMAT
from mlcli.rundir.names import ERROR, MANIFEST

LARGEST = 2**24  # bytes; a manifest holds a few thousand
SHOWN = 3  # files named in a message


def require_run(folder: Path) -> None:
    """Raises OutputRefused unless a folder is a run by its run.json and holds no file but those named there."""
    _require(folder, MANIFEST, "mlcli", "a run")


def require_failure(folder: Path) -> None:
    """Raises OutputRefused unless a folder is what a failed run left, by its error.json, and holds nothing else."""
    _require(folder, ERROR, "error", "a failed run")


def _require(folder: Path, name: str, key: str, what: str) -> None:
    listing = listing_of(folder / name)
    if listing.get("format") != FORMAT or key not in listing or not isinstance(listing.get("files"), dict):
        raise _foreign(folder, f"it has no {name} that lists its files", what)
    strangers = foreign(folder, {name, *listing["files"]}, what)
    if strangers:
        more = f" and {len(strangers) - SHOWN} more" if len(strangers) > SHOWN else ""
        raise _foreign(folder, f"it holds {', '.join(strangers[:SHOWN])}{more}", what)


def listing_of(path: Path) -> Mapping[str, Any]:
    """The JSON object in a regular file; empty where there is none."""
    try:
        with open(path, "rb", opener=_opener) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return {}
            document = json.loads(file.read(LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def foreign(folder: Path, names: set[str], what: str) -> list[str]:
    """What a folder holds besides regular files of these names, in their order."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries
                          if entry.name not in names or not entry.is_file(follow_symlinks=False))
    except OSError as error:
        raise _foreign(folder, f"it cannot be read: {error.strerror}", what) from error


def _opener(path: str, flags: int) -> int:
    """Follows no link, and does not wait for a pipe's writer."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _foreign(folder: Path, why: str, what: str) -> OutputRefused:
    return OutputRefused("OUTPUT-FOREIGN", f"the output is not {what} and nothing else: {why}", where=str(folder)[:80],
                         hint="choose another with -o, or move the files away; --force replaces runs only")
