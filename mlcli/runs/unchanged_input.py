"""The input of a finished run, where it is still what the run read."""

from mlcli.config.run_config import RunConfig
from mlcli.data.options.wording import place
from mlcli.errors import InputMissing, UnsafeFile
from mlcli.findings.frame.contents import Contents
from mlcli.runs.verify import input_state, moved


def unchanged_input(run: Contents, given: str | None, lack: str) -> RunConfig:
    """Return the configuration of a run, with its input where it lies now or where it is `given` to be.

    Raises InputMissing where it is gone, with what the run lacks without it, and UnsafeFile where it is not what the
    run read.
    """
    config, facts = moved(run.config, run.manifest["input"], given, ()), run.manifest["input"]
    require_input(config.input.path, input_state(config, facts), lack)
    return config.replace(output=None)


def require_input(path: str, state: str, lack: str = "it is needed here") -> None:
    """Raise InputMissing where the input of a run is gone, and UnsafeFile where it is not what the run read."""
    if state == "missing":
        raise InputMissing("RUN-INPUT", f"the input of the run is gone, and {lack}", where=place(path),
                           hint="say where it lies now with --input")
    if state == "changed":
        raise UnsafeFile("RUN-INPUT", "this is not the file that the run was made from", where=place(path),
                         hint="make the run again, or give the former file with --input")
