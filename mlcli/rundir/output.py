"""The output of a run under way: locked, written whole or not at all, with the results of an earlier process."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from mlcli.base.context import spelled
from mlcli.base.stages.checkpoints import keeping
from mlcli.base.stages.stage import listening
from mlcli.base.values.compute import Compute
from mlcli.engine.cache import Folder, StageCache
from mlcli.engine.resume import Resuming
from mlcli.errors import MlcliError, NumericalError, OutOfMemory, StorageError, TryAgain
from mlcli.publication.output_lock import OutputLock, output_lock
from mlcli.publication.publish import publish, publishing, refuse_existing
from mlcli.publication.recovery import recover
from mlcli.publication.replaceable import FAILURE, FORMAT, RUN
from mlcli.publication.staging import Draft, retarget
from mlcli.rundir.json_values import json_text
from mlcli.rundir.machine import environment
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


PART = 16  # of the memory that a run may use: nothing larger is kept
PASSING = (StorageError, OutOfMemory, TryAgain)  # after which the same command can go on


@contextmanager
def lock_run(output: Path, *, force: bool) -> Iterator[OutputLock]:
    """Lock a run's output; kept results are removed once the run is done, or fails for good.

    Raises OutputRefused where the output exists and is not to be replaced, and TryAgain where another job makes it.
    """
    output = Path.cwd() / output  # not resolved, as its draft is not
    refuse_existing(output, RUN, force=force)
    with output_lock(output) as lock:
        try:
            yield lock
            lock.forget()
        except PASSING:
            raise
        except MlcliError:
            lock.forget()
            raise


@contextmanager
def resuming(lock: OutputLock, compute: Compute, *, results: bool) -> Iterator[Resuming]:
    """Keep checkpoints, and with `results` results of stages, in the folder of a lock, and restore them."""
    resume = Resuming(Folder(lock.path), partial(environment, compute.thread_count()),
                      compute.memory_bytes() / PART, results=results)
    with listening(resume), keeping(resume):
        yield resume


@contextmanager
def caching(folder: Folder | None, threads: int) -> Iterator[StageCache | None]:
    """Use a cache of stages in the block, where there is a folder for it."""
    if folder is None:
        yield None
        return
    cache = StageCache(folder, environment(threads))
    with listening(cache):
        yield cache
