"""run.json: what was run, on what, with which versions, how long, and what it warned of."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mlcli import __version__
from mlcli.base import blas
from mlcli.errors import InputMissing, UnsafeFile
from mlcli.rundir.machine import libraries, versions
from mlcli.rundir.names import MANIFEST
from mlcli.rundir.plain import json_text

FORMAT = 1


def write_manifest(folder: Path, facts: dict[str, Any]) -> None:
    """Writes run.json with the facts of a run, the machine's, and the hash of every other file."""
    files = {path.name: {"bytes": path.stat().st_size, "sha256": sha256_of(path)} for path in sorted(folder.iterdir())}
    manifest = {"format": FORMAT, "mlcli": __version__, "finished": datetime.now(UTC).isoformat(timespec="seconds"),
                **facts, "versions": versions(), "blas": libraries(), "blas_settings": blas.settled().facts(),
                "files": files}
    (folder / MANIFEST).write_text(json_text(manifest), encoding="utf-8")


def read_manifest(folder: Path) -> dict[str, Any]:
    """The facts in run.json; raises InputMissing where there is no run and UnsafeFile where it is damaged."""
    path = folder / MANIFEST
    if not path.is_file():
        raise InputMissing("NO-RUN", "this is not a run directory: it has no run.json", where=str(folder),
                           hint="name a directory that `mlcli embed` or `mlcli run` wrote")
    try:
        manifest = dict(json.loads(path.read_text(encoding="utf-8")))
        known = manifest["format"] == FORMAT
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise UnsafeFile("MANIFEST", "run.json cannot be read", where=str(path), hint="make the run again") from error
    if not known:
        raise UnsafeFile("MANIFEST", f"run.json has format {manifest['format']!r}; this version reads {FORMAT}",
                         where=str(path), hint="use the version of mlcli that made it")
    return manifest


def require_intact(folder: Path, manifest: dict[str, Any], names: tuple[str, ...]) -> None:
    """Raises UnsafeFile unless the named files are those whose hashes stand in run.json."""
    for name in names:
        path = folder / name
        if not path.is_file() or sha256_of(path) != manifest.get("files", {}).get(name, {}).get("sha256"):
            raise UnsafeFile("HASH", f"{name} is not the file that the run wrote", where=str(path),
                             hint="make the run again")


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
