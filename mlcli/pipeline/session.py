"""A run under way: its options, the journal, the cluster, and what its output may be continued from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlcli.base.context import set_context
from mlcli.base.rows.memo import open_memo
from mlcli.base.rows.scratch import scratch_in
from mlcli.base.values.inputs import Input
from mlcli.config.run_config import RunConfig
from mlcli.engine.cache import Folder, StageCache
from mlcli.engine.resume import Resuming
from mlcli.engine.threads import threads_of
from mlcli.methods import Method
from mlcli.pipeline.process import ALONE, Process
from mlcli.process.shared_status import STATUS
from mlcli.publication.output_lock import OutputLock
from mlcli.publication.publish import writing
from mlcli.rundir.disk_space import LARGER
from mlcli.rundir.journal import Journal, recording
from mlcli.rundir.output import caching, draft, lock_run, resuming

if TYPE_CHECKING:
    from mlcli.engine.cluster.executor import Cluster


@dataclass(repr=False, eq=False)
class Session:
    """One run under way. It is opened after a fork, and stays in its process and in the thread that opened it."""

    config: RunConfig
    process: Process
    journal: Journal
    cluster: Cluster | None = None
    lock: OutputLock | None = None  # on the output
    cache: StageCache | None = None
    checkpoints: Resuming | None = None

    @classmethod
    @contextmanager
    def open(cls, config: RunConfig, process: Process = ALONE) -> Iterator[Session]:
        """Open a run: its memo, journal, log, cluster and threads.

        Raises what connecting to a cluster raises, and ConfigError where results would not be portable.
        """
        with (open_memo(process.memo), set_context(neighbors=process.neighbors), recording(logged=True) as journal,
              _cluster_of(config, process) as cluster, threads_of(config.compute, config.method.requires())):
            yield cls(config, process, journal, cluster)

    @contextmanager
    def output(self, *, force: bool = False, cache: Folder | None = None) -> Iterator[Path]:
        """Lock the output and yield the folder to write into, which becomes the output when the block ends well.

        Checkpoints are kept beside the output, and results of stages too unless a `cache` keeps them. The lock is the
        outermost: it removes them once the run is done. Large inputs are mapped where a supervisor reports a file that
        became shorter: the certificate asks for their hash, and so for their state. Raises OutputRefused, StorageError
        and TryAgain.
        """
        output, compute = Path(self.config.output or ""), self.config.compute
        with (lock_run(output, force=force) as self.lock, draft(output, force=force) as folder,
              caching(cache, compute.thread_count()) as self.cache,
              resuming(self.lock, compute, results=self.cache is None) as self.checkpoints,
              scratch_in(folder, output, LARGER), set_context(maps=STATUS.supervised), writing(output)):
            yield folder

    def fitting(self, method: Method, data: Input, *others: Any) -> AbstractContextManager[None]:
        """Give checkpoints the inputs of this fit, which their keys follow from, and `others` of a map that grows."""
        if self.checkpoints is None:
            return nullcontext()
        return self.checkpoints.fitting(lambda: (method, data, self.config.compute, *others))

    @property
    def facts(self) -> dict[str, Any]:
        """Facts for run.json of the cache, of resumed results and of the cluster."""
        facts: dict[str, Any] = {}
        if self.cache is not None:  # the stages taken from it, and how the others differ
            facts["cache"] = [asdict(answer) for answer in self.cache.answers]
        if self.checkpoints is not None and self.checkpoints.taken:
            facts["resumed"] = dict(Counter(self.checkpoints.taken))  # the number of restored results by stage
        if self.cluster is not None:
            facts["cluster"] = dict(self.cluster.counts)  # blocks, and bytes sent
        if self.config.compute.portable:
            from mlcli.engine.portable import decisive

            facts["portable"] = decisive(self.config.method.requires())  # what results depend on
        return facts

    def require_lock(self) -> None:
        """Check, before the output is published, that its lock was not lost; raises TryAgain."""
        if self.lock is not None:
            self.lock.require()

    def __reduce__(self) -> str:
        """Raise TypeError: a session does not leave its process."""
        raise TypeError("a session stays in its process")


def _cluster_of(config: RunConfig, process: Process) -> AbstractContextManager[Cluster | None]:
    """Return the cluster that the options name, for the length of a `with` block; None without one."""
    if config.compute.cluster is None:
        return nullcontext()
    from mlcli.engine.cluster.connect import clustered

    return clustered(config.compute, process.connections)
