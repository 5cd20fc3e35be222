"""Publishes again and again in children that are killed at one call of the file system after the other.

Called as `python killing.py FOLDER KIND FORCE LACKING`; prints how many calls there were, and what went wrong.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mlcli.base import renames
from mlcli.base.drafts import Kind
from mlcli.base.publish import anything, publishing
from mlcli.errors import MlcliError
from mlcli.rundir.manifest import manifest_of, write_manifest
from mlcli.rundir.replaceable import require_run

CALLS = {"open", "os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "os.scandir", "fcntl.flock"}
FILES = ("a", "b", "run.json")
FACTS = manifest_of({})


def write(output: Path, kind: Kind, text: str, *, force: bool) -> None:
    with publishing(output, kind, require_run if kind == "folder" else anything, force=force) as draft:
        if kind == "file":
            draft.path.write_text(text)
            return
        for name in FILES[:-1]:
            (draft.path / name).write_text(text)
        write_manifest(draft.path, FACTS)


def content(output: Path, kind: Kind) -> str:
    """What an output holds: nothing, one text throughout, or something torn."""
    if not os.path.lexists(output):
        return "absent"
    if kind == "file":
        return output.read_text()
    whole = sorted(path.name for path in output.iterdir()) == sorted(FILES)
    texts = {(output / name).read_text() for name in FILES[:-1]} if whole else set()
    return texts.pop() if len(texts) == 1 else "torn"


def killed(work: Callable[[], Any], number: int) -> bool:
    """Does work in a child that is killed before its call of that number; whether it came that far."""
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
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def trial(folder: Path, kind: Kind, number: int, *, force: bool, gap: bool) -> tuple[bool, list[str]]:
    """Whether the child was killed, and what is wrong with what it left, or with what the next starts make of it.

    With a `gap` the old output may be absent until the next start.
    """
    folder.mkdir()
    output, wrong = folder / "out", []
    if force:
        write(output, kind, "old", force=False)
    was = killed(lambda: write(output, kind, "new", force=force), number)
    found = content(output, kind)
    if found not in ("new", *(["old"] if force else []), *(["absent"] if gap or not force else [])):
        wrong.append(f"call {number}: the output is {found}")
    try:
        write(output, kind, "next", force=False)
    except MlcliError as error:
        wrong += [] if error.code == "E-OUTPUT-EXISTS" else [f"call {number}: {error}"]
    if force and content(output, kind) not in ("old", "new"):
        wrong.append(f"call {number}: the run is lost")
    write(output, kind, "last", force=True)
    if content(output, kind) != "last" or [path.name for path in folder.iterdir()] != ["out"]:
        wrong.append(f"call {number}: there remain {[path.name for path in folder.iterdir()]}")
    return was, wrong


def main(folder: Path, kind: Kind, force: bool, lacking: str) -> None:
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
        was, found = trial(folder / str(number), kind, number, force=force, gap=lacking != "" and kind == "folder")
        wrong += found
    print(number - 1, *wrong, sep="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "force", sys.argv[4])  # type: ignore[arg-type]
