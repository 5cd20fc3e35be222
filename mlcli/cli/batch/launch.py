"""Carrying out one run: its streams checked, its progress shown, its end reported."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from mlcli.base.allocators import keep_freed_memory
from mlcli.base.frozen import frozen
from mlcli.base.machine import limits
from mlcli.base.values.compute import Compute
from mlcli.cli.line.behavior import Mode
from mlcli.cli.screen.failure import escaped, say
from mlcli.cli.screen.progress import watching
from mlcli.cli.screen.streams import require_standard_output
from mlcli.config.run_config import RunConfig
from mlcli.engine.cache import Folder, folder_of
from mlcli.errors import UsageError
from mlcli.pipeline.process import ALONE, Process
from mlcli.process.shared_status import STATUS

Document = dict[str, Any]  # of a run: its summary, or its error


@frozen
class Presentation:
    """How a run is carried out and shown."""

    force: bool = False
    quiet: bool = False
    json: Literal["", "headline", "full"] = ""  # the document of the run, on standard output
    progress: Mode = "auto"
    strict: bool = False
    process: Process = ALONE  # what it shares with other runs
    cache: Literal["none", "chosen"] | Folder = "chosen"  # none, the one that options name, or that of a sweep

    @property
    def for_people(self) -> bool:
        """Whether the end of a run is reported in words."""
        return not (self.quiet or self.json or self.progress == "json")

    def folder(self, config: RunConfig) -> Folder | None:
        """Return the folder of the stage cache: that of the run's options, else a sweep's; None for no cache."""
        if self.cache == "none":
            return None
        return folder_of(config.compute) or (None if self.cache == "chosen" else self.cache)


@contextmanager
def enforcing(compute: Compute) -> Iterator[None]:
    """Enforce the memory limit in the block if `compute.memory_enforce` is set, and post that to the supervisor."""
    if not compute.memory_enforce:
        yield
        return
    STATUS.post(enforced=True)
    with limits.enforce_limit(compute.memory_bytes(), compute.thread_count()):
        yield
    STATUS.post(enforced=False)


def launch(config: RunConfig, presentation: Presentation) -> Document:
    """Runs a configuration and returns its summary."""
    keep_freed_memory()
    check_streams(config, presentation)
    limit = config.compute.time_seconds()
    if math.isfinite(limit):
        STATUS.post(limit=limit)
    with watching(presentation.progress, presentation.quiet), enforcing(config.compute):
        from mlcli.pipeline import run as pipeline

        if config.output == "-":
            from mlcli.cli.screen.output import standard_output

            summary = pipeline.stream(config, standard_output(), presentation.process, strict=presentation.strict)
        else:
            summary = pipeline.run(config, presentation.process, force=presentation.force, strict=presentation.strict,
                                   cache=presentation.folder(config))
    if presentation.for_people:
        from mlcli.cli.screen.run_summary import ending

        for line in ending(summary):
            say(line, keep=[escaped(summary["run"] or "")])
    return summary


def check_streams(config: RunConfig, presentation: Presentation) -> None:
    """Refuses what standard output cannot do; raises UsageError and OutputRefused."""
    if presentation.json or config.output == "-":
        require_standard_output()
    if config.output != "-":
        return
    if presentation.json:
        raise UsageError("STDOUT", "the embedding and the JSON document cannot both go to standard output",
                         where="-o - --json", hint="give a directory with -o")
    if config.report.formats != ("csv",):
        raise UsageError("STDOUT", "standard output takes csv only", where="--format", hint="give a directory with -o")
