"""Small runs and files that tests publish, and file systems that lack a call."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mlcli.publication import renames
from mlcli.publication.publish import publishing
from mlcli.publication.replaceable import RUN
from mlcli.publication.staging import Kind
from mlcli.rundir.manifest import manifest_of, write_manifest

LACKING: dict[str, Callable[..., Any]] = {
    "exchange and exclusive rename": lambda first, second, flags: False,
    "exchange": lambda first, second, flags: flags != renames.EXCHANGE and SYSTEM(first, second, flags)}
SYSTEM = renames._renameat2


def run_at(folder: Path, text: str = "run") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "data").write_text(text)
    write_manifest(folder, manifest_of({}))
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write(output: Path, kind: Kind, text: str, *, force: bool, meanwhile: Callable[[], Any] = lambda: None) -> None:
    with publishing(output, RUN if kind == "folder" else None, force=force) as draft:
        run_at(draft.path, text) if kind == "folder" else draft.path.write_text(text)
        meanwhile()


def read(output: Path, kind: Kind) -> str:
    return (output / "data" if kind == "folder" else output).read_text()
