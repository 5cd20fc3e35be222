"""The input of a finished run: where it lies now, and whether it is still what the run read."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from mlcli.base.context import context
from mlcli.config.run_config import RunConfig
from mlcli.data.files.remote import is_remote, state_of
from mlcli.data.files.source import remote_hash
from mlcli.data.options.input import LabelFile, View
from mlcli.data.options.wording import place
from mlcli.errors import InputMissing, UnsafeFile
from mlcli.findings.frame.finished_run import FinishedRun
from mlcli.pipeline.read_run import existing_path, facts_of_views, moved
from mlcli.rundir import names
from mlcli.rundir.reading import is_intact, is_run, is_there

REMOTE = "on a network"  # the state of an input that is not opened there


def input_state(config: RunConfig, known: dict[str, Any], named: Collection[str | None] | None) -> str:
    """Whether the input, with its second view and its labels, is still what the run read; `named` as of `file_state`.
    """
    return worst_state(input_states(config, known, named))


def worst_state(files: Collection[tuple[str, str]]) -> str:
    """Return the state of an input of files, each given by path and state: the worst of them."""
    states = {state for _, state in files}
    return next((state for state in ("missing", "changed", REMOTE) if state in states), "unchanged")


def input_states(config: RunConfig, known: dict[str, Any],
                 named: Collection[str | None] | None) -> list[tuple[str, str]]:
    """Return path and state of each file of an input: the table, its views, its labels; `named` as of `file_state`."""
    views, labels = config.input.views, config.input.labels
    files = [(config.input.path, known), *((str(view.path), facts) for view, facts in zip(
        views, facts_of_views(known, len(views)), strict=True))]
    if labels.path is not None:
        files.append((labels.path, known.get("labels") or {}))
    return [(path, file_state(path, facts, named)) for path, facts in files]


def remote_state(path: str, known: dict[str, Any]) -> str:
    """Return unchanged, changed or missing for a remote file, or for the parts of a remote directory."""
    files = known.get("files") or {"": known}
    try:
        intact = all(remote_hash(path + name, state_of(path + name)) == entry["sha256"]
                     for name, entry in files.items())
    except InputMissing:
        return "missing"
    return "unchanged" if intact else "changed"


def file_state(path: str, known: dict[str, Any], named: Collection[str | None] | None = ()) -> str:
    """Whether a regular file is still the one that the run read; no other file is opened, for it may never end.

    Of a run, or a file that has others beside it, the files that were read. A path that the user has not `named` comes
    from the files of the run, and opens no network unless the context allows it; None: the user named all.
    """
    if is_remote(path):
        opens = named is None or path in named or context().network
        return remote_state(path, known) if opens else REMOTE
    if files := known.get("files"):
        folder = Path(path).parent if Path(path).is_file() else Path(path)
        wanted = (names.MANIFEST, *files) if known.get("format") == "run" else tuple(files)  # or a directory of parts
        there = all(is_there(folder / name) and (folder / name).is_file() for name in wanted)
        intact = there and all(is_intact(folder / name, entry) for name, entry in files.items())
        return "unchanged" if intact else "changed" if there else "missing"
    if path == "-" or not (is_there(Path(path)) and Path(path).is_file()):
        return "missing"
    return "unchanged" if is_intact(Path(path), known) else "changed"


def unchanged_input(run: FinishedRun, given: str | None, lack: str) -> RunConfig:
    """Return the configuration of a run, with its input where it lies now or where it is `given` to be.

    Raises InputMissing where one of its files is gone, with what the run lacks without it, and UnsafeFile where one is
    not what the run read.
    """
    return _unchanged(moved(run.config, run.manifest, given, ()), run, given, lack)


def unchanged_table(run: FinishedRun, given: str | None, lack: str) -> RunConfig:
    """Return what `unchanged_input` does, of the table alone: without views, and without labels that no row needs."""
    config = moved(run.config, run.manifest, given, ())
    labels = config.input.labels if config.input.where else LabelFile()  # conditions may be about labels
    return _unchanged(config.replace(input=config.input.replace(view=View(), labels=labels)), run, given, lack)


def _unchanged(config: RunConfig, run: FinishedRun, given: str | None, lack: str) -> RunConfig:
    """Return a configuration without its output; raises what `require_input` does for each file of its input."""
    (path, state), *others = input_states(config, run.manifest["input"], (given,))
    require_input(path, state, lack)
    for other, its_state in others:
        require_beside(other, its_state, lack)
    return config.replace(output=None)


def run_before(run: FinishedRun, given: str | None = None) -> Path | None:
    """Return the folder of the run that a run was made from, or where it is `given` to be; None of a file.

    Raises what `require_input` does.
    """
    facts = run.manifest["input"]
    if facts.get("format") != "run":
        return None
    path = given if given is not None and is_run(given) else existing_path(run.config.input.path, facts)
    require_input(path, file_state(path, facts, (given,)))
    return Path(path)


def require_input(path: str, state: str, lack: str = "it is needed here") -> None:
    """Raise InputMissing where the input of a run is gone, and UnsafeFile where it is not what the run read."""
    if state == "missing":
        raise InputMissing("RUN-INPUT", f"the input of the run is gone, and {lack}", where=place(path),
                           hint="say where it lies now with --input")
    if state == REMOTE:
        raise InputMissing("RUN-REMOTE", f"the input of the run is on a network, and {lack}", where=place(path),
                           hint="open it there with --network, or name a copy with --input")
    if state == "changed":
        raise UnsafeFile("RUN-INPUT", "this is not the file that the run was made from", where=place(path),
                         hint="make the run again, or give the former file with --input")


def require_beside(path: str, state: str, lack: str) -> None:
    """Raise what `require_input` does for a file of views or labels beside the input."""
    if state == "missing":
        raise InputMissing("RUN-BESIDE", f"a file that the run read beside its input is gone, and {lack}",
                           where=place(path), hint="put it back there")
    if state == REMOTE:
        raise InputMissing("RUN-REMOTE", f"a file that the run read beside its input is on a network, and {lack}",
                           where=place(path), hint="open it there with --network")
    if state == "changed":
        raise UnsafeFile("RUN-BESIDE", "this is not the file that the run read beside its input", where=place(path),
                         hint="make the run again, or put the former file back")
