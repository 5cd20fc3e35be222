"""run.json: what was run, on what, with which versions, how long, and what it warned of."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mlcli import __version__
from mlcli.base import blas
from mlcli.base.drafts import alone
from mlcli.base.publish import anything, refuse_existing, write_whole
from mlcli.errors import InputMissing, NumericalError, UnsafeFile
from mlcli.rundir.machine import libraries, versions
from mlcli.rundir.names import ERROR, MANIFEST
from mlcli.rundir.plain import json_text, plain
from mlcli.rundir.reading import is_intact, json_of, raw_json, sha256_of

FORMAT = 1


def manifest_of(facts: dict[str, Any]) -> dict[str, Any]:
    """What run.json holds besides the hashes of the files: the facts of a run and the machine's."""
    made = {"format": FORMAT, "mlcli": __version__, "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            **facts, "versions": versions(), "blas": libraries(), "blas_settings": blas.settled().facts()}
    return dict(plain(made))


def write_manifest(folder: Path, manifest: dict[str, Any], known: Mapping[str, dict[str, Any]] | None = None) -> None:
    """Writes run.json with size and hash of every other file."""
    (folder / MANIFEST).write_text(json_text({**manifest, "files": hashed(folder, known)}), encoding="utf-8")


def hashed(folder: Path, known: Mapping[str, dict[str, Any]] | None = None) -> dict[str, dict[str, Any]]:
    """Size and hash of every file in a folder by its name; those that are known already are not read again."""
    return {path.name: (known or {}).get(path.name) or _entry(path) for path in sorted(folder.iterdir())}


def replace_listed(folder: Path, name: str, content: bytes) -> None:
    """Replaces one file of a finished run, and its hash in run.json; raises OutputRefused and StorageError.

    run.json does not name the file while it changes, so that no process that is killed leaves a wrong hash.
    """
    with alone(folder):
        manifest = raw_json(_manifest_path(folder))
        files = {key: entry for key, entry in manifest["files"].items() if key != name}
        refuse_existing(folder / name, "file", anything, force=True)
        _put(folder / MANIFEST, json_text({**manifest, "files": files}).encode())
        _put(folder / name, content)
        _put(folder / MANIFEST, json_text({**manifest, "files": {**files, name: _entry(folder / name)}}).encode())


def _put(path: Path, content: bytes) -> None:
    write_whole(path, lambda draft: draft.write_bytes(content), force=True)


def _entry(path: Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "sha256": sha256_of(path)}


def read_manifest(folder: Path) -> dict[str, Any]:
    """The facts in run.json; raises InputMissing where there is no run, UnsafeFile where it is damaged,
    and NumericalError where it failed.
    """
    from mlcli.rundir.shapes import Manifest

    return json_of(_manifest_path(folder), Manifest)


def _manifest_path(folder: Path) -> Path:
    """Where run.json lies, after a look at its format; raises what `read_manifest` does."""
    path = folder / MANIFEST
    if (folder / ERROR).exists():
        raise NumericalError("FAILED-RUN", "this is what a run left that failed; nothing in it is to be used",
                             where=str(folder), hint=f"see {ERROR} there, and make the run again")
    if not path.is_file():
        raise InputMissing("NO-RUN", "this is not a run directory: it has no run.json", where=str(folder),
                           hint="name a directory that `mlcli embed` or `mlcli run` wrote")
    document = raw_json(path)
    found = document.get("format") if isinstance(document, dict) else None
    if isinstance(found, int) and found != FORMAT:
        raise UnsafeFile("MANIFEST", f"run.json has format {str(found)[:40]}; this version reads {FORMAT}",
                         where=str(path), hint="use the version of mlcli that made it")
    return path


def require_intact(folder: Path, manifest: dict[str, Any], names: tuple[str, ...]) -> None:
    """Raises UnsafeFile unless the named files are those whose hashes stand in run.json."""
    for name in names:
        if name not in manifest["files"] or not is_intact(folder / name, manifest["files"][name]):
            raise UnsafeFile("HASH", f"{name} is not the file that the run wrote", where=str(folder / name),
                             hint="make the run again")
