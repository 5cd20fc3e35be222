"""Writing a run directory whole or not at all; to OUTPUT.failed where its numbers fail."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mlcli.base.context import spelled
from mlcli.errors import MlcliError, NumericalError
from mlcli.publication.publish import publish, publishing
from mlcli.publication.recovery import recover
from mlcli.publication.replaceable import FAILURE, FORMAT, RUN
from mlcli.publication.staging import Draft, retarget
from mlcli.rundir.json_values import json_text
from mlcli.rundir.manifest import hashed
from mlcli.rundir.names import ERROR


@contextmanager
def draft(output: Path, *, force: bool) -> Iterator[Path]:
    """A folder to write into, which becomes `output` when the block ends well and vanishes otherwise.

    After a NumericalError what was written becomes `output`.failed, with the error in error.json.
    Raises OutputRefused if `output` cannot be created or exists (an empty folder is allowed; `force` replaces a run and
    nothing else), and StorageError if a file cannot be written safely.
    """
    output = Path.cwd() / output  # not resolved: a symbolic link must be seen
    with publishing(output, RUN, force=force) as made:
        try:
            yield made.path
        except NumericalError as error:
            _set_aside(made, failed_name(output), error)
            raise


def failed_name(output: Path) -> Path:
    """Return the directory for the results of a failed run."""
    return output.with_name(f"{output.name}.failed")


def _set_aside(made: Draft, failed: Path, error: NumericalError) -> None:
    """Puts what was written beside the output, in the place of an earlier failure; of nothing else."""
    try:
        if any(made.path.iterdir()):
            document = {"format": FORMAT, "error": spelled(error).fields(), "files": hashed(made.path)}
            (made.path / ERROR).write_text(json_text(document), encoding="utf-8")
            recover(failed)
            with retarget(made, failed) as failure:
                publish(failure, failed, FAILURE, force=True)
    except (OSError, MlcliError):
        return
