"""The stage cache: results of stages in files of one folder, by the keys of what they follow from.

A file holds one result: a line of JSON, then the arrays of its archive. It is written aside and renamed, and its hash
is compared when it is read, so that any number of processes may share a folder. What is damaged, does not fit or
cannot be written counts as absent: no run fails because of a cache. The folder is kept under its limit, the results
that were used longest ago removed first.
"""

import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from mlcli.base.frozen import frozen
from mlcli.base.rows.memo import memoize
from mlcli.base.stages.stage import Note, Stage, Watcher, tell
from mlcli.base.stored import RESULTS
from mlcli.base.values.compute import Compute, parse_bytes
from mlcli.base.values.options import Options
from mlcli.process.unfinished import unfinished
from mlcli.storage.archive import Archive
from mlcli.storage.fields import Unfit
from mlcli.storage.keys import Keys

FORMAT = 1
LONGEST_LINE = 2**24  # bytes of the JSON
TOGETHER = 1 << 20  # bytes that are hashed together
WORTHWHILE = 0.02  # seconds; what is computed in less is not kept
NAME = re.compile(r"[a-z-]+-[0-9a-f]{64}\.stage")
SAID = ("inputs", "environment")  # by name, of every result
COMPARED = 64  # results of a stage, the latest, among which the nearest to one that was not there is looked for


@frozen
class CacheEntry:
    """A result in the folder."""

    path: Path
    bytes: int
    used: float  # seconds since 1970

    @property
    def stage(self) -> str:
        """The stage whose result it is."""
        return self.path.name.rpartition("-")[0].replace("-", " ")


@frozen
class Answer:
    """Whether a stage's result was taken from the cache, and if not, how the nearest stored one differs."""

    stage: str
    taken: bool
    differs: Sequence[str] = ()  # names of inputs; none where there is no other result of the stage


class Folder:
    """The results in a folder, which is made when the first one is kept."""

    def __init__(self, path: Path, limit: float = float("inf")) -> None:
        self.path, self.limit = path, limit

    def entries(self) -> list[CacheEntry]:
        """The results, the one that was used longest ago first."""
        with suppress(OSError), os.scandir(self.path) as found:
            return sorted((entry for item in found if (entry := _entry(item))), key=lambda entry: entry.used)
        return []

    def take(self, name: str, archive: Archive) -> tuple[Any, Sequence[Note]] | None:
        """The result of a name and its notes, marked as used now; None where there is none that can be read."""
        path = self.path / name
        try:
            with path.open("rb") as file:
                header = json.loads(file.readline(LONGEST_LINE))
                size = os.fstat(file.fileno()).st_size - file.tell()
                if header["format"] != FORMAT or header["sha256"] != _hash(
                        header["tree"], iter(partial(file.read, TOGETHER), b"")):
                    return None
                result, notes = archive.restored(header["tree"], file, size)["value"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, Unfit):
            return None
        with suppress(OSError):
            os.utime(path)
        return result, notes

    def keep(self, name: str, archive: Archive, value: Any, said: Mapping[str, Any]) -> bool:
        """Store a value under a name with a header; False where it cannot be stored or does not fit."""
        try:
            tree, arrays = archive.stored({"value": value})
        except TypeError:
            return False
        line = json.dumps({"format": FORMAT, **said, "sha256": _hash(tree, arrays), "tree": tree}).encode() + b"\n"
        if len(line) > LONGEST_LINE or len(line) + sum(part.nbytes for part in arrays) > self.limit:
            return False
        with suppress(OSError):
            self.path.mkdir(parents=True, exist_ok=True)
            self._write(name, (line, *arrays))
            self.shrink()
            return True
        return False

    def shrink(self, limit: float | None = None) -> int:
        """Removes the results that were used longest ago until the rest fits under a limit; how many there were."""
        entries, removed = self.entries(), 0
        left = sum(entry.bytes for entry in entries)
        for entry in entries:
            if left <= (self.limit if limit is None else limit):
                break
            with suppress(OSError):
                entry.path.unlink()
            left, removed = left - entry.bytes, removed + 1
        return removed

    def headers(self, stage: str) -> Iterator[Mapping[str, Any]]:
        """Yield the headers of the latest results of a stage, the newest first."""
        of_stage = [entry for entry in self.entries() if entry.path.name.startswith(f"{stage}-")]
        for entry in of_stage[: -COMPARED - 1 : -1]:
            with suppress(OSError, ValueError, RecursionError), entry.path.open("rb") as file:
                said = json.loads(file.readline(LONGEST_LINE))
                if isinstance(said, dict) and all(isinstance(said.get(part), dict) for part in SAID):
                    yield said

    def _write(self, name: str, parts: Sequence[bytes | memoryview]) -> None:
        aside = self.path / f".{name}.{secrets.token_hex(4)}"
        with unfinished(aside):
            with aside.open("xb") as file:
                file.writelines(parts)
            aside.rename(self.path / name)


def folder_of(compute: Compute) -> Folder | None:
    """The folder that the options or MLCLI_CACHE name; None where there is none."""
    path = compute.cache_folder()
    return None if path is None else Folder(path, parse_bytes(compute.cache_limit, "compute.cache_limit"))


class Noting(Watcher):
    """A listener that answers for stages; notes are part of their results, and collected while these are computed."""

    caches = True

    def __init__(self) -> None:
        self._noted: list[list[Note]] = []  # of each stage that is being computed

    def note(self, note: Note) -> None:
        """A note, which belongs to the result of every stage that is being computed."""
        for notes in self._noted:
            notes.append(note)

    @contextmanager
    def noting(self) -> Iterator[list[Note]]:
        """The notes of the stage that is computed inside."""
        self._noted.append([])
        try:
            yield self._noted[-1]
        finally:
            self._noted.pop()


def repeat_notes(known: tuple[Any, Sequence[Note]]) -> Any:
    """Repeat the notes of a stored result, and return the result."""
    for note in known[1]:
        tell(note)
    return known[0]


class StageCache(Noting):
    """Answers for stages whose results are in a folder, and keeps those that are not.

    `environment` is what results depend on besides their inputs: versions, kernels, threads.
    """

    def __init__(self, folder: Folder, environment: Mapping[str, Any]) -> None:
        self.folder, self.environment = folder, environment
        self.answers: list[Answer] = []  # in the order of the stages
        super().__init__()
        self._keys, self._archive = memoize("keys", (), Keys), Archive(RESULTS, finite=False)

    def around(self, stage: Stage, inputs: Mapping[str, Any], call: Callable[[], Any]) -> Any:
        """The result of a stage from the folder, else of the call."""
        try:
            parts = {name: self._keys.of(value) for part, whole in inputs.items()
                     for name, value in _parts(part, whole)}
        except TypeError:  # an input that has no key: live state
            return call()
        key = self._keys.of((stage.name, stage.version, parts, self.environment))
        result = self._answer(f"{stage.name.replace(' ', '-')}-{key}.stage", stage, parts, call)
        self._keys.assign(result, key)
        return result

    def _answer(self, name: str, stage: Stage, parts: Mapping[str, str], call: Callable[[], Any]) -> Any:
        known = self.folder.take(name, self._archive)
        if known is not None:
            self.answers.append(Answer(stage.name, taken=True))
            return repeat_notes(known)
        begun = time.perf_counter()
        with self.noting() as notes:
            result = call()
        seconds = time.perf_counter() - begun
        if seconds >= WORTHWHILE:
            said = {"stage": stage.name, "version": stage.version, "inputs": parts,
                    "environment": self.environment, "seconds": round(seconds, 4)}
            differs = self._differs(stage, parts)
            if self.folder.keep(name, self._archive, (result, notes), said):
                self.answers.append(Answer(stage.name, taken=False, differs=differs))
        return result

    def _differs(self, stage: Stage, parts: Mapping[str, str]) -> Sequence[str]:
        """Return the names of the inputs that differ from those of the nearest stored result of the stage."""
        here = {"version": stage.version, **parts, **self.environment}
        others = [{"version": said.get("version"), **said["inputs"], **said["environment"]}
                  for said in self.folder.headers(stage.name.replace(" ", "-"))]
        return min(([name for name in here if here[name] != other.get(name)] for other in others), key=len, default=())


def _parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield an input by its name; of options every field, and the names of those that were chosen."""
    if not isinstance(value, Options):
        yield name, value
        return
    yield f"{name} as chosen", sorted(value.model_fields_set - {*value.unkeyed})
    yield from ((f"{name}.{field}", part) for field, part in value if field not in value.unkeyed)


def _hash(tree: Any, arrays: Iterable[bytes | memoryview]) -> str:
    """The hash of a stored value."""
    hashed = hashlib.sha256(json.dumps(tree).encode())
    for part in arrays:
        hashed.update(part)
    return hashed.hexdigest()


def _entry(item: os.DirEntry[str]) -> CacheEntry | None:
    """A result, as far as the name says so."""
    if not NAME.fullmatch(item.name):
        return None
    with suppress(OSError):
        status = item.stat(follow_symlinks=False)
        return CacheEntry(Path(item.path), status.st_size, status.st_mtime)
    return None
