"""Publishes again and again in children that are killed at one call of the file system after the other.

Called as `python killing.py FOLDER KIND FORCE LACKING`; prints how many calls there were, and what went wrong.
The kind `failed` is a run that fails in the end, where another has failed before: it replaces what that one left.
"""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from mlcli.errors import NumericalError
from mlcli.publication import renames
from mlcli.publication.publish import publishing
from mlcli.publication.recovery import anything
from mlcli.rundir.draft import draft, failed_name
from mlcli.rundir.manifest import manifest_of, write_manifest
from mlcli.rundir.resumed import lock_run

CALLS = {"open", "os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "os.scandir", "fcntl.flock"}
Work = Literal["folder", "file", "failed"]
FILES = ("a", "b")
FACTS = manifest_of({})


def write(output: Path, work: Work, text: str, *, force: bool) -> None:
    if work == "failed":
        with suppress(NumericalError), lock_run(output, force=force), draft(output, force=force) as folder:
            fill(folder, text)
            raise NumericalError("FAILED", text)
    elif work == "folder":
        with lock_run(output, force=force), draft(output, force=force) as folder:
            fill(folder, text)
            write_manifest(folder, FACTS)
    else:
        with publishing(output, "file", anything, force=force) as made:
            made.path.write_text(text)


def fill(folder: Path, text: str) -> None:
    for name in FILES:
        (folder / name).write_text(text)


def written(output: Path, work: Work) -> Path:
    """Where a piece of work leaves what it wrote."""
    return failed_name(output) if work == "failed" else output


def content(output: Path, work: Work) -> str:
    """What an output holds: nothing, one text throughout, or something torn."""
    place = written(output, work)
    if not os.path.lexists(place):
        return "absent"
    if work == "file":
        return place.read_text()
    listing = "error.json" if work == "failed" else "run.json"
    whole = sorted(path.name for path in place.iterdir()) == sorted([*FILES, listing])
    texts = {(place / name).read_text() for name in FILES} if whole else set()
    return texts.pop() if len(texts) == 1 else "torn"


def killed(attempt: Callable[[], Any], number: int) -> bool:
    """Makes an attempt in a child that is killed before its call of that number; whether it came that far."""
    child = os.fork()
    if not child:
        count = 0

        def call(*_: Any) -> None:
            nonlocal count
            count += 1
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)

        def counted(function: Callable[..., Any]) -> Callable[..., Any]:
            return lambda *arguments: (call(), function(*arguments))[1]

        sys.addaudithook(lambda event, _: call() if event in CALLS else None)
        renames._renameat2, os.fsync = counted(renames._renameat2), counted(lambda descriptor: None)
        attempt()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def trial(folder: Path, work: Work, number: int, *, force: bool, gap: bool) -> tuple[bool, list[str]]:
    """Whether the child was killed, and what is wrong with what it left, or with what the next starts make of it.

    With a `gap` the old output may be absent until the next start.
    """
    folder.mkdir()
    output, wrong = folder / "out", []
    if force:
        write(output, work, "old", force=False)
    was = killed(lambda: write(output, work, "new", force=force), number)
    found = content(output, work)
    if found not in ("new", *(["old"] if force else []), *(["absent"] if gap or not force else [])):
        wrong.append(f"call {number}: the output is {found}")
    write(folder / "other", "file", "beside", force=True)
    if force and content(output, work) not in ("old", "new"):
        wrong.append(f"call {number}: the run is lost")
    left = {path.name for path in folder.iterdir()}
    if not left <= {"other", written(output, work).name}:
        wrong.append(f"call {number}: there remain {left}")
    write(output, "file" if work == "file" else "folder", "last", force=True)
    if content(output, "file" if work == "file" else "folder") != "last":
        wrong.append(f"call {number}: nothing can be written any more")
    return was, wrong


def main(folder: Path, work: Work, force: bool, lacking: str) -> None:
    """Kills at every call in turn."""
    os.fsync = lambda descriptor: None  # the disk is not what is tried here
    system = renames._renameat2
    if lacking == "all":
        renames._renameat2 = lambda *_: False
    elif lacking == "exchange":
        renames._renameat2 = lambda first, second, flags: flags != renames.EXCHANGE and system(first, second, flags)
    number, was, wrong = 0, True, list[str]()
    while was:
        number += 1
        was, found = trial(folder / str(number), work, number, force=force, gap=lacking != "" and work != "file")
        wrong += found
    print(number - 1, *wrong, sep="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "force", sys.argv[4])  # type: ignore[arg-type]
