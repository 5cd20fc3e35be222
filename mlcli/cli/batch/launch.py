"""Runs that are checked before the first of them begins, and one of them carried out, unless it is there already: its
streams checked, its progress shown, its end reported.
"""

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mlcli.base.allocators import keep_freed_memory
from mlcli.base.frozen import frozen
from mlcli.base.machine import limits
from mlcli.base.values.compute import Compute
from mlcli.cli.line.behavior import Mode
from mlcli.cli.restart import start_portably
from mlcli.cli.screen.failure import ErrorForm, say_written
from mlcli.cli.screen.progress import watching
from mlcli.cli.screen.streams import require_standard_output
from mlcli.config.build import build
from mlcli.config.explain import locate_errors
from mlcli.config.layers import Layer, assignment
from mlcli.config.run_config import RunConfig
from mlcli.config.sweep import SweepVariant, flatten, value_text
from mlcli.engine.cache import Folder, folder_of
from mlcli.errors import ConfigError, MlcliError, OutputRefused, UsageError
from mlcli.methods import ALIASES, METHODS, method_instead
from mlcli.pipeline.process import ALONE, Process
from mlcli.process.shared_status import STATUS
from mlcli.publication.publish import vacant

if TYPE_CHECKING:
    from mlcli.cli.batch.shard import Shard

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
    debug: bool = False  # with the traceback of an error
    verbose: bool = False  # all figures and notes at the end of a run
    one_of_several: bool = False  # whether those that differ in a value are shown in a table

    @property
    def for_people(self) -> bool:
        """Whether the end of a run is reported in words."""
        return not (self.quiet or self.json or self.progress == "json")

    @property
    def form(self) -> ErrorForm:
        """How errors are shown."""
        return ErrorForm(bool(self.json) or self.progress == "json", self.debug)

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


def launch(run: "PlannedRun", presentation: Presentation) -> Document:
    """Carries out a run and returns its summary."""
    config = run.config
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
        from mlcli.cli.screen.lines import show
        from mlcli.cli.screen.summary import ending, warnings

        in_table = presentation.one_of_several and run.values and not presentation.verbose
        show(warnings(summary, run=summary["run"]) if in_table else ending(summary, verbose=presentation.verbose))
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


def built(layer: Layer) -> RunConfig:
    """The run that layers describe; raises what `build` does.

    With an unknown method that is like one, it says what else would be refused then.
    """
    try:
        return build(layer)
    except ConfigError as error:
        method = layer.values.get("method")
        name = method.get("name") if isinstance(method, dict) else None
        near = method_instead(name) if isinstance(name, str) and name not in {*METHODS, *ALIASES} else ""
        if not near:
            raise
        try:
            build(assignment("method.name", near, "").over(layer))
        except MlcliError as other:
            raise error.changed(hint=f"{error.hint}; besides, {other.what}: {other.hint}") from None
        raise


@frozen
class PlannedRun:
    """A checked run, where each of its options comes from, and what it differs by, as texts by config path."""

    config: RunConfig
    layer: Layer
    values: Mapping[str, str]

    @property
    def output(self) -> Path:
        """The directory of the run."""
        return Path(self.config.output or "")


@frozen
class TimeBudget:
    """The time budget of all runs, and the expected seconds of each."""

    until: float  # of the monotonic clock: what is not expected to end by then does not begin,
    end: float  # and what goes on then is stopped
    seconds: Sequence[float]  # of each run

    def admits(self, place: int) -> bool:
        """Whether a run is expected to end in time; the first one may always begin."""
        return place == 0 or time.monotonic() + self.seconds[place] <= self.until


@frozen
class Batch:
    """Options of the execution of several runs."""

    jobs: int = 1  # at once
    skip_existing: bool = False
    shard: "Shard | None" = None  # which of them
    time_budget: TimeBudget | None = None  # of trials, which go on quietly; what does not fit is left out


def planned(variants: Sequence[SweepVariant]) -> list[PlannedRun]:
    """The runs, checked; raises what `build` does, and ConfigError where two would write to one place."""
    runs = [PlannedRun(built(variant.layer), variant.layer,
                       {path: value_text(value) for path, value in flatten(variant.values)}) for variant in variants]
    place, count = Counter(run.config.output for run in runs).most_common(1)[0]
    if count > 1:
        raise ConfigError("ONE-OUTPUT", f"{count} of the runs would write to the same place", where=str(place)[:80],
                          hint="set `output` in each file")
    if len({run.config.compute.portable for run in runs}) > 1:
        raise ConfigError("PORTABLE", "some of the runs are to be portable and some are not, and both would have the "
                          "settings of the first", where="compute.portable", hint="make them by two commands")
    start_portably(run.config.compute for run in runs)
    return runs


def launched(run: PlannedRun, presentation: Presentation, batch: Batch) -> Document:
    """The summary of one run, which may be there already; raises what went wrong, with the place of an option at fault.
    """
    with locate_errors(run.layer):
        if batch.skip_existing and (known := existing(run, presentation)) is not None:
            return known
        try:
            return launch(run, presentation)
        except OutputRefused as error:
            there = batch.skip_existing and error.code == "E-OUTPUT-EXISTS"
            if not there or (known := existing(run, presentation)) is None:
                raise
            return known  # another job has made it meanwhile


def existing(run: PlannedRun, presentation: Presentation) -> Document | None:
    """Return the document of a run that exists already: whole, with the same options, of the unchanged input.

    None where nothing is there, or under --force something else; raises OutputRefused where something else is.
    """
    from mlcli.runs.collect import summary_of
    from mlcli.runs.verify import unlike

    if run.config.output == "-" or vacant(run.output, "folder"):
        return None
    reason = unlike(run.output, run.config)
    if not reason:
        if presentation.for_people:
            say_written(f"kept {run.output}, which is there already", run.output)
        return {**summary_of(run.output, run.config), "skipped": True}
    if presentation.force:
        return None
    raise OutputRefused("OUTPUT-OTHER", f"the output is not the same run: {reason}", where=str(run.output),
                        hint="replace it with --force, or choose another with -o")
