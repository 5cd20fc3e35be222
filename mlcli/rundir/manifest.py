"""run.json: what was run, on what, with which versions, how long, and what it warned of."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import Any

from mlcli import __version__
from mlcli.base.machine import blas
from mlcli.errors import InputMissing, MlcliError, NumericalError, OutputRefused, UnsafeFile
from mlcli.findings import FINDINGS
from mlcli.publication.publish import refuse_existing, write_whole
from mlcli.publication.recovery import require_kind
from mlcli.publication.replaceable import FORMAT
from mlcli.publication.staging import folder_lock, impossible
from mlcli.rundir.json_values import json_text, json_value
from mlcli.rundir.machine import libraries, versions
from mlcli.rundir.names import ERROR, MANIFEST
from mlcli.rundir.reading import damaged, is_own, json_of, own_file, raw_json, sha256_of


def manifest_of(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the content of run.json besides the hashes of files: the facts of the run and of the machine."""
    made = {"format": FORMAT, "mlcli": __version__, "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            **facts, "versions": versions(), "blas": libraries(), "blas_settings": blas.settings().facts()}
    return dict(json_value(made))


def write_manifest(folder: Path, manifest: dict[str, Any], known: Mapping[str, dict[str, Any]] | None = None) -> None:
    """Writes run.json with size and hash of every other file."""
    (folder / MANIFEST).write_text(json_text({**manifest, "files": hashed(folder, known)}), encoding="utf-8")


def hashed(folder: Path, known: Mapping[str, dict[str, Any]] | None = None) -> dict[str, dict[str, Any]]:
    """Size and hash of every file in a folder by its name; those that are known already are not read again."""
    return {path.name: (known or {}).get(path.name) or _entry(path) for path in sorted(folder.iterdir())}


def manifest_bytes(folder: Path) -> bytes:
    """run.json as it is; raises what `read_manifest` does."""
    path = _manifest_path(folder)
    with own_file(path):
        return path.read_bytes()


def listed(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """The files of a run, with those that a process which was killed was about to write or remove."""
    pending = manifest.get("pending")
    return (*manifest["files"], *(pending if isinstance(pending, list) else ()))


def replace_listed(folder: Path, contents: Mapping[str, bytes], removed: Sequence[str] = (), *, known: bytes) -> None:
    """Replaces files of a finished run by name, or adds them, with their hashes in run.json, and removes others.

    `known` is the run.json of the run that the contents are made from. Raises OutputRefused where the folder holds
    another run by now, and StorageError. While files change, run.json lists them as pending, without hashes: a killed
    process then leaves neither a wrong hash nor an unlisted file.
    """
    try:
        with folder_lock(folder) as descriptor:
            here = _fixed(folder, descriptor)
            with _at(folder, here):
                _require_same(folder, descriptor, here / MANIFEST, known)
                for name in (*contents, *removed):
                    refuse_existing(here / name, None, force=True)
                manifest = {key: value for key, value in json.loads(known).items() if key != "pending"}
                files = {key: entry for key, entry in manifest["files"].items() if key not in (*contents, *removed)}
                pending = [*contents, *removed]
                _put(here / MANIFEST, json_text({**manifest, "files": files, "pending": pending}).encode())
                for name, content in contents.items():
                    _put(here / name, content)
                for name in removed:
                    (here / name).unlink(missing_ok=True)
                files = {**files, **{name: _entry(here / name) for name in contents}}
                _put(here / MANIFEST, json_text({**manifest, "files": files}).encode())
    except FileNotFoundError as error:
        raise _other_run(folder) from error
    except OSError as error:
        raise impossible("write here", folder, error) from error


def _fixed(folder: Path, descriptor: int) -> Path:
    """A path that leads to an open folder even if its name changes, if the system has such paths."""
    fixed = Path("/proc/self/fd") / str(descriptor)
    return fixed if fixed.is_dir() else folder


def _require_same(folder: Path, descriptor: int, path: Path, known: bytes) -> None:
    """Raises OutputRefused unless the open folder still has its name, and its run.json is the one that is known."""
    if not os.path.samestat(os.fstat(descriptor), folder.stat()):
        raise _other_run(folder)
    require_kind(path, "file")
    if path.read_bytes() != known:
        raise _other_run(folder)


def _other_run(folder: Path) -> OutputRefused:
    return OutputRefused("OUTPUT-RACE", "another job has replaced or changed the run meanwhile", where=str(folder),
                         hint="give the command again")


@contextmanager
def _at(folder: Path, here: Path) -> Iterator[None]:
    """Errors of a block name the folder by its own path."""
    try:
        yield
    except MlcliError as error:
        raise error.changed(where=error.where.replace(str(here), str(folder))) from error


def _put(path: Path, content: bytes) -> None:
    write_whole(path, lambda draft: draft.write_bytes(content), force=True)


def _entry(path: Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "sha256": sha256_of(path)}


def read_manifest(folder: Path) -> dict[str, Any]:
    """The facts in run.json; raises InputMissing where there is no run, UnsafeFile where it is damaged,
    and NumericalError where it failed.
    """
    from mlcli.rundir.shapes import Manifest

    path = _manifest_path(folder)
    manifest = json_of(path, Manifest)
    if manifest.get("spectrum") is None and FINDINGS["spectrum"].files[0].name in manifest["files"]:
        raise damaged(path, "spectrum is missing", "spectrum")
    return manifest


def _manifest_path(folder: Path) -> Path:
    """Return the path of run.json after a check of its format; raises what `read_manifest` does."""
    path = folder / MANIFEST
    if (folder / ERROR).exists():
        raise NumericalError("FAILED-RUN", "this is the output of a failed run; do not use any of its files",
                             where=str(folder), hint=f"see {ERROR} there, and make the run again")
    if not path.is_file():
        hint = "name a directory that `mlcli embed` or `mlcli run` wrote"
        if folder.exists():
            hint = f"{'' if folder.is_file() else f'{hint}; '}a run of data there: mlcli embed {quote(str(folder))}"
        raise InputMissing("NO-RUN", "this is not a run directory: it has no run.json", where=str(folder), hint=hint)
    document = raw_json(path)
    known = document.get("format") if isinstance(document, dict) else None
    if isinstance(known, int) and known != FORMAT:
        raise UnsafeFile("MANIFEST", f"run.json has format {str(known)[:40]}; this version reads {FORMAT}",
                         where=str(path), hint="use the version of mlcli that made it")
    return path


def require_intact(folder: Path, manifest: Mapping[str, Any], names: tuple[str, ...]) -> None:
    """Raises UnsafeFile unless the named files have the hashes in run.json, InputMissing for one that was not written.
    """
    for name in names:
        if name not in manifest["files"] and not (folder / name).exists():
            raise InputMissing("NOT-WRITTEN", f"the run wrote no {name}", where=str(folder),
                               hint="make it again with all of its outputs, as without {report.outputs}")
        if name not in manifest["files"] or not is_own(folder, name, manifest["files"][name]):
            raise UnsafeFile("HASH", f"{name} is not the file that the run wrote", where=str(folder / name),
                             hint="make the run again")
