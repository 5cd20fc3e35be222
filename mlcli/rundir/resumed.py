"""Results of stages that a run reuses: from a cache, or saved beside the lock by an earlier process."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from mlcli.base.stages.checkpoints import keeping
from mlcli.base.stages.stage import listening
from mlcli.base.values.compute import Compute
from mlcli.engine.cache import Folder, StageCache
from mlcli.engine.resume import Resuming
from mlcli.errors import MlcliError, OutOfMemory, StorageError, TryAgain
from mlcli.publication.output_lock import OutputLock, output_lock
from mlcli.publication.publish import refuse_existing
from mlcli.publication.replaceable import RUN
from mlcli.rundir.machine import environment

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


def cache_facts(cache: StageCache | None) -> dict[str, Any]:
    """Return the facts of a cache for run.json: the stages taken from it, and how the others differ."""
    return {} if cache is None else {"cache": [asdict(answer) for answer in cache.answers]}


def resume_facts(resume: Resuming) -> dict[str, Any]:
    """Return the facts of a resumed run for run.json: the number of restored results by stage; none otherwise."""
    return {"resumed": dict(Counter(resume.taken))} if resume.taken else {}
