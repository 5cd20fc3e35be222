"""The input of a finished run, where it is still what the run read."""

from pathlib import Path

from mlcli.config.run_config import RunConfig
from mlcli.data.options.second_files import LabelFile, View
from mlcli.data.options.wording import place
from mlcli.errors import InputMissing, UnsafeFile
from mlcli.findings.frame.contents import Contents
from mlcli.pipeline.start import is_run
from mlcli.runs.verify import REMOTE, existing_path, file_state, input_states, moved


def unchanged_input(run: Contents, given: str | None, lack: str) -> RunConfig:
    """Return the configuration of a run, with its input where it lies now or where it is `given` to be.

    Raises InputMissing where one of its files is gone, with what the run lacks without it, and UnsafeFile where one is
    not what the run read.
    """
    return _unchanged(moved(run.config, run.manifest, given, ()), run, given, lack)


def unchanged_table(run: Contents, given: str | None, lack: str) -> RunConfig:
    """Return what `unchanged_input` does, of the table alone: without views, and without labels that no row needs."""
    config = moved(run.config, run.manifest, given, ())
    labels = config.input.labels if config.input.where else LabelFile()  # conditions may be about labels
    return _unchanged(config.replace(input=config.input.replace(view=View(), labels=labels)), run, given, lack)


def _unchanged(config: RunConfig, run: Contents, given: str | None, lack: str) -> RunConfig:
    """Return a configuration without its output; raises what `require_input` does for each file of its input."""
    (path, state), *others = input_states(config, run.manifest["input"], (given,))
    require_input(path, state, lack)
    for other, its_state in others:
        require_beside(other, its_state, lack)
    return config.replace(output=None)


def run_before(run: Contents, given: str | None = None) -> Path | None:
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
