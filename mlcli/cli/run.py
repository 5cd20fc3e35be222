"""`mlcli run`: the main job, as YAML files."""

import os
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from mlcli.base.frozen import frozen
from mlcli.cli import behavior
from mlcli.cli.failure import Form, attempt, understood
from mlcli.cli.flags import layer_of, with_flags
from mlcli.cli.launch import Manner, launch
from mlcli.cli.output import print_json
from mlcli.cli.progress import mode_of
from mlcli.config.build import build, from_outside, layers_of
from mlcli.config.explain import located
from mlcli.config.layers import Layer
from mlcli.config.run_config import RunConfig
from mlcli.errors import ConfigError, UsageError

Configs = Annotated[list[str], typer.Argument(metavar="CONFIG...", show_default=False,
                                              help="YAML files, or - for standard input.")]


@with_flags("output", "format", "seed", "threads", "memory_limit")
def run(configs: Configs, *, assignments: behavior.Assignments = None, force: behavior.Force = False,
        quiet: behavior.Quiet = False, json: behavior.Json = False, progress: behavior.Progress = None,
        strict: behavior.Strict = False, debug: behavior.Debug = False, **flags: Any) -> None:
    """Run what YAML files describe; a sweep makes several runs.

    \b
    mlcli run configs/isomap-swiss-roll.yaml
    mlcli run configs/isomap-swiss-roll.yaml --set method.neighbors.count=12 -o runs/twelve
    mlcli run configs/*.yaml --quiet
    mlcli methods isomap --yaml | mlcli run - --set input.path=data.csv

    All files are checked before the first run. A run that fails does not stop the ones after it;
    the exit code is that of the first failure.
    """
    outside = from_outside(os.environ, assignments or [], layer_of(flags))
    layers = [layer for path in configs for layer in layers_of(Path(path), outside)]
    runs = [Planned(build(layer), layer) for layer in layers]
    refuse_read_twice(configs, [planned.config for planned in runs])
    refuse_shared([planned.config for planned in runs], len(configs), flags["output"])
    manner = Manner(force=force, quiet=quiet, json=json, progress=mode_of(progress), strict=strict)
    if len(runs) == 1:
        documents, code = [launched(runs[0], manner)], 0
    else:
        documents, code = each(runs, manner, Form(json or manner.progress == "json", debug))
    if json:
        print_json(documents[0] if len(runs) == 1 else {"runs": documents})
    raise typer.Exit(code)


@frozen
class Planned:
    """A checked run, and where each of its options comes from."""

    config: RunConfig
    layer: Layer


def refuse_read_twice(configs: list[str], runs: list[RunConfig]) -> None:
    """Refuses data from standard input, where the configuration is read from it; raises UsageError."""
    if "-" in configs and any("-" in (config.input.path, config.input.view.path) for config in runs):
        raise UsageError("STDIN-TWICE", "standard input can be read once", where="CONFIG",
                         hint="write the configuration, or the data, to a file")


def refuse_shared(runs: list[RunConfig], files: int, output: str | None) -> None:
    """Refuses several runs that would write to one place; raises UsageError or ConfigError."""
    if files > 1 and output is not None:
        raise UsageError("ONE-OUTPUT", f"{files} files cannot share one output", where="-o",
                         hint="set `output` in each file")
    place, count = Counter(config.output for config in runs).most_common(1)[0]
    if count > 1:
        raise ConfigError("ONE-OUTPUT", f"{count} of the runs would write to the same place", where=str(place)[:80],
                          hint="set `output` in each file")


def each(runs: list[Planned], manner: Manner, form: Form) -> tuple[list[dict[str, Any]], int]:
    """The documents of all runs, and the exit code of the first that failed."""
    documents: list[dict[str, Any]] = []
    codes = [attempt(partial(carry_out, planned, manner, documents), replace(form, run=planned.config.output or ""))
             for planned in runs]
    return documents, next((code for code in codes if code), 0)


def carry_out(planned: Planned, manner: Manner, documents: list[dict[str, Any]]) -> None:
    """Runs one configuration and adds its summary, or what went wrong."""
    try:
        documents.append(launched(planned, manner))
    except BrokenPipeError:
        raise
    except Exception as error:
        known = understood(error)
        documents.append({"run": planned.config.output, "exit": known.exit_code, "error": known.fields()})
        raise known from error


def launched(planned: Planned, manner: Manner) -> dict[str, Any]:
    """The summary of one run; raises what went wrong, with the place of an option at fault."""
    with located(planned.layer):
        return launch(planned.config, manner)
