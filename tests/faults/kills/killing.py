"""Publishes again and again in children that are killed at one call of the file system after the other.

Called as `python killing.py FOLDER KIND FORCE LACKING`; prints how many calls there were, and what went wrong.
The kind `failed` is a run that fails in the end, where another has failed before: it replaces what that one left.
`relation` is the folder of `mlcli relate`, and `report` gives a finished run another page.
"""

import gc
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from mlcli.errors import NumericalError, OutputRefused
from mlcli.publication import renames
from mlcli.publication.publish import publishing
from mlcli.publication.replaceable import FAILURE, FORMAT, RELATION, RUN, listing_of
from mlcli.rundir.json_values import json_text
from mlcli.rundir.manifest import hashed, manifest_bytes, manifest_of, replace_listed, write_manifest
from mlcli.rundir.output import draft, failed_name, lock_run
from mlcli.rundir.reading import is_intact

CALLS = {"open", "os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "os.scandir", "fcntl.flock"}
Work = Literal["folder", "file", "failed", "relation", "report"]
LISTINGS = {"folder": RUN, "failed": FAILURE, "relation": RELATION, "report": RUN}
FILES = ("a", "b")
FACTS = manifest_of({})


def write(output: Path, work: Work, text: str, *, force: bool) -> None:
    if work == "failed":
        with suppress(NumericalError), lock_run(output, force=force), draft(output, force=force) as folder:
            fill(folder, text)
            raise NumericalError("FAILED", text)
    elif work == "relation":
        with publishing(output, RELATION, force=force) as made:
            fill(made.path, text)
            document = {"format": FORMAT, "with": text, "files": hashed(made.path)}
            (made.path / RELATION.name).write_text(json_text(document))
    elif work == "report" and output.exists():
        replace_listed(output, dict.fromkeys(FILES, text.encode()), known=manifest_bytes(output))
    elif work in ("folder", "report"):
        with lock_run(output, force=force), draft(output, force=force) as folder:
            fill(folder, text)
            write_manifest(folder, FACTS)
    else:
        with publishing(output, None, force=force) as made:
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
    try:
        allowed = LISTINGS[work].require(place)
    except OutputRefused:
        return "torn"
    listed = listing_of(place / LISTINGS[work].name)["files"]
    if not all(is_intact(place / name, entry) for name, entry in listed.items()) or not {*FILES} <= {*allowed}:
        return "torn"
    texts = {(place / name).read_text() for name in FILES}
    if work == "report":  # file by file: those that are being replaced are listed without a hash
        return "old" if "old" in texts else texts.pop()
    return texts.pop() if len(texts) == 1 and {*listed} == {*FILES} else "torn"


def killed(attempt: Callable[[], Any], number: int) -> bool:
    """Makes an attempt in a child that is killed before its call of that number; whether it came that far."""
    child = os.fork()
    if not child:
        gc.disable()  # a collection would copy all pages of the parent
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
    for name in ("other", "another"):  # what the first start does is what the second one finds
        write(folder / name, "file", "beside", force=True)
        after = content(output, work)
        if force and after not in ("old", "new"):
            wrong.append(f"call {number}: the run is lost")
        elif found in ("old", "new") and after != found:
            wrong.append(f"call {number}: the output was {found} and is {after}")
    left = {path.name for path in folder.iterdir()}
    if not left <= {"other", "another", written(output, work).name}:
        wrong.append(f"call {number}: there remain {left}")
    last: Work = "folder" if work == "failed" else work
    write(output, last, "last", force=True)
    if content(output, last) != "last":
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
