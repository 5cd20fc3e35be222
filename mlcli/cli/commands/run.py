"""`mlcli run`: the main job, as YAML files."""

import os
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from mlcli.cli.batch.finish import finish
from mlcli.cli.batch.launch import Presentation, planned
from mlcli.cli.line import behavior
from mlcli.cli.line.options import with_flags
from mlcli.cli.screen.progress import mode_of
from mlcli.config.build import outside_layer, variants_of
from mlcli.config.flags import layer_of
from mlcli.config.layers import Layer
from mlcli.config.run_config import RunConfig
from mlcli.config.sweep import SweepVariant
from mlcli.data.files.signatures import YAML as ENDINGS
from mlcli.errors import ConfigError, InputMissing, UsageError

Configs = Annotated[list[str], typer.Argument(metavar="CONFIG...", show_default=False,
                                              help="YAML files, or - for standard input.")]


@with_flags("labels", "output", "format", "outputs", "keep", "draw_graph", "interactive", "seed", "threads",
            "portable", "memory_limit", "time_limit", "cluster")
def run(configs: Configs, *, assignments: behavior.Assignments = None, force: behavior.Force = False,
        quiet: behavior.Quiet = False, verbose: behavior.Verbose = False, json: behavior.RunJson = None,
        progress: behavior.Progress = None, strict: behavior.Strict = False, jobs: behavior.Jobs = 1,
        skip_existing: behavior.SkipExisting = False, shard: behavior.ShardText = None,
        no_cache: behavior.NoCache = False, debug: behavior.Debug = False, **flags: Any) -> None:
    """Do the runs of YAML files; a sweep makes several runs.

    \b
    mlcli run configs/isomap-swiss-roll.yaml
    mlcli run run.yaml --set method.neighbors.count=12 -o runs/twelve
    mlcli run configs/*.yaml --quiet
    mlcli methods isomap --yaml | mlcli run - --set input.path=data.csv

    All files are checked before the first run starts. A failed run does not stop the next ones; the exit code is the
    largest of all.
    """
    outside = outside_layer(os.environ, assignments or [], layer_of(flags))
    if len(configs) > 1 and flags["output"] is not None:
        raise UsageError("ONE-OUTPUT", f"{len(configs)} files cannot share one output", where="-o",
                         hint="set `output` in each file")
    runs = planned([variant for path in configs for variant in described(path, outside)])
    refuse_read_twice(configs, [run.config for run in runs])
    presentation = Presentation(force=force, quiet=quiet, json=json or "", progress=mode_of(progress), strict=strict,
                                cache="none" if no_cache else "chosen", debug=debug, verbose=verbose)
    finish(runs, presentation, jobs=jobs, skip_existing=skip_existing, shard=shard)


def described(path: str, outside: Layer) -> list[SweepVariant]:
    """The runs that a file describes; raises what `variants_of` does, with the command for data where that is given."""
    try:
        return variants_of(Path(path), outside)
    except (ConfigError, InputMissing) as error:
        if path == "-" or not Path(path).exists() or Path(path).suffix.lower() in ENDINGS:
            raise
        raise error.changed(hint=f"name a YAML file; a run of data there: mlcli embed {quote(path)}") from None


def refuse_read_twice(configs: list[str], runs: list[RunConfig]) -> None:
    """Refuses data from standard input, where the configuration is read from it; raises UsageError."""
    if "-" in configs and any(
            "-" in (config.input.path, *(view.path for view in config.input.views)) for config in runs):
        raise UsageError("STDIN-TWICE", "standard input can be read only once", where="CONFIG",
                         hint="write the configuration, or the data, to a file")
