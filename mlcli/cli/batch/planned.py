"""Runs that are checked before the first of them begins, and one of them carried out unless it is there already."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mlcli.base.frozen import frozen
from mlcli.cli.batch.launch import Document, Presentation, launch
from mlcli.cli.line.build_config import built
from mlcli.cli.screen.failure import say_written
from mlcli.config.explain import locate_errors
from mlcli.config.layers import Layer
from mlcli.config.run_config import RunConfig
from mlcli.config.run_names import flatten, text
from mlcli.config.sweep import SweepVariant
from mlcli.errors import ConfigError, OutputRefused
from mlcli.publication.publish import vacant

if TYPE_CHECKING:
    from mlcli.cli.batch.shard import Shard


@frozen
class PlannedRun:
    """A checked run, where each of its options comes from, and what it differs by, as texts by config path."""

    config: RunConfig
    layer: Layer
    values: Mapping[str, str]


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
                       {path: text(value) for path, value in flatten(variant.values)}) for variant in variants]
    place, count = Counter(run.config.output for run in runs).most_common(1)[0]
    if count > 1:
        raise ConfigError("ONE-OUTPUT", f"{count} of the runs would write to the same place", where=str(place)[:80],
                          hint="set `output` in each file")
    return runs


def output_of(run: PlannedRun) -> Path:
    """Return the output directory of a run."""
    return Path(run.config.output or "")


def launched(run: PlannedRun, presentation: Presentation, batch: Batch) -> Document:
    """The summary of one run, which may be there already; raises what went wrong, with the place of an option at fault.
    """
    with locate_errors(run.layer):
        if not batch.skip_existing:
            return launch(run.config, presentation)
        if (known := existing(run, presentation)) is not None:
            return known
        try:
            return launch(run.config, presentation)
        except OutputRefused as error:
            if error.code != "E-OUTPUT-EXISTS" or (known := existing(run, presentation)) is None:
                raise
            return known  # another job has made it meanwhile


def existing(run: PlannedRun, presentation: Presentation) -> Document | None:
    """Return the document of a run that exists already: whole, with the same options, of the unchanged input.

    None where nothing is there, or under --force something else; raises OutputRefused where something else is.
    """
    from mlcli.runs.collect import summary_of
    from mlcli.runs.verify import unlike

    output = output_of(run)
    if run.config.output == "-" or vacant(output, "folder"):
        return None
    reason = unlike(output, run.config)
    if not reason:
        if presentation.for_people:
            say_written(f"kept {output}, which is there already", output)
        return {**summary_of(output, run.config), "skipped": True}
    if presentation.force:
        return None
    raise OutputRefused("OUTPUT-OTHER", f"the output is not the same run: {reason}", where=str(output),
                        hint="replace it with --force, or choose another with -o")
