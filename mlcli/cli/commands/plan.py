"""`mlcli plan`: what a run would do and take, without doing it."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from mlcli.base.machine.limits import source_text
from mlcli.base.units import duration, memory
from mlcli.cli.batch.launch import built
from mlcli.cli.line import behavior
from mlcli.cli.line.options import with_flags
from mlcli.cli.restart import start_portably
from mlcli.cli.screen.output import print_json
from mlcli.cli.screen.progress import mode_of, watching
from mlcli.cli.screen.terminal import tell
from mlcli.config.build import outside_layer, variants_of
from mlcli.config.explain import locate_errors
from mlcli.config.flags import FLAGS, layer_of, require_annotated
from mlcli.config.layers import Layer, assignment
from mlcli.engine.cluster.address import note_here
from mlcli.errors import UsageError

What = Annotated[str, typer.Argument(metavar="DATA|CONFIG", show_default=False,
                                         help="A data file, a finished run, or a YAML file.")]
Measure = Annotated[float | None, typer.Option("--measure", min=1e-6, max=1.0,
                                               help="Run this share of the most expensive stage and compare its time "
                                                   "with the prediction.")]

Workers = Annotated[int | None, typer.Option("--cluster", metavar="N", min=1, max=100_000, show_default=False,
                                             help="Predict the times on a cluster of N workers.")]

At = Annotated[Path | None, typer.Option("--rates", metavar="FILE", show_default=False,
                                         help="Speeds of this machine, as `mlcli doctor --calibrate FILE` measures "
                                             "them (default: MLCLI_RATES, else a reference machine).")]

OTHERWISE = ("stages without workers are predicted as of this machine, even ids and labels of a table in blocks, "
             "scores of a network and PCA ahead of a method, which workers compute")


@with_flags(*(name for name in FLAGS if name != "cluster"))
def plan(what: What, *, measure: Measure = None, rates: At = None, cluster: Workers = None,
         assignments: behavior.Assignments = None, quiet: behavior.Quiet = False, json: behavior.Json = False,
         debug: behavior.Debug = False, **flags: Any) -> None:
    """Show what would run: stages, choices, memory and time.

    \b
    mlcli plan --method isomap data.csv
    mlcli plan configs/isomap-swiss-roll.yaml --measure 0.01
    mlcli plan --method isomap data.npy --cluster 64

    The plan reads the data, applies prepare.reduce, and makes Isomap's graph, whose shape decides the cost. Seconds are
    for idle cores; where the number of iterations is not known, a usual number is assumed. With --cluster, times are
    those of N workers with one thread each (docs/scale-out.md). With --quiet only what does not fit is shown. Exit code
    82: the run would not fit in memory or on disk.
    """
    from mlcli.planning.plan import plan as planned

    layer = _layer(what, assignments or [], flags)
    config = built(layer)
    start_portably([config.compute])
    require_annotated(flags, [config.input.path])
    with watching("none", quiet=quiet, tell=not json):
        note_here(config.compute.cluster)
    with locate_errors(layer), watching(mode_of(None), quiet=quiet or json):
        document = planned(config, measure, rates, cluster)
    if json:
        print_json(document)
    else:
        tell(_plan_lines(document) if not quiet else [] if document["fits"] else _room(document))
    raise typer.Exit(0 if document["fits"] else 82)


def _layer(what: str, assignments: list[str], flags: dict[str, Any]) -> Layer:
    """The one run that a data file with flags, or a YAML file, describes."""
    if Path(what).suffix not in (".yaml", ".yml"):
        given = layer_of(flags).over(assignment("input.path", what, "DATA"))
        return outside_layer(os.environ, assignments, given)
    runs = variants_of(Path(what), outside_layer(os.environ, assignments, layer_of(flags)))
    if len(runs) > 1:
        raise UsageError("ONE-RUN", f"the file describes {len(runs)} runs", where=what,
                         hint="plan one of them, with the swept options given by --set in a file without `sweep`")
    return runs[0].layer


def _plan_lines(document: dict[str, Any]) -> list[str]:
    """Format the plan as lines of text."""
    size = f"{document['rows']} rows x {document['columns']} columns"
    if document["kind"] == "covariance":
        size = f"the covariance of {document['columns']} columns"
    if document["kind"] == "graph":
        size = f"a graph of {document['rows']} points"
    count = document["workers"]
    workers = "" if count is None else f", a cluster of {count} worker{'s' * (count > 1)}"
    lines = [f"{document['method']}: {size}, {document['threads']} threads{workers}"]
    for step in document["steps"]:
        measured = "" if step["measured"] is None else f", measured {duration(step['measured'])}"
        size = memory(step["memory"])
        each = "" if step["each"] is None else f" ({duration(step['each'])} per iteration)"
        lines.append(f"  {step['stage']}: {duration(step['seconds'])}{each}{measured}, {size}: {step['how']}")
    return [*lines, *([] if document["workers"] is None else [OTHERWISE]), _time(document), *_room(document)]


def _time(document: dict[str, Any]) -> str:
    """The seconds in all."""
    measured, most, between = (document[f"seconds_{name}"] for name in ("measured", "at_most", "between"))
    usual = "" if between is None else f" ({' to '.join(map(duration, between))}, by the number of passes)"
    return (f"in all about {duration(document['seconds'])}{usual}, and {duration(document['start'])} to start, by the "
            f"rates of {document['rates']['machine']}" + ("" if most is None else f"; at most {duration(most)}")
            + ("" if measured is None else f"; measured on a share, {duration(measured)}"))


def _room(document: dict[str, Any]) -> list[str]:
    """Format the run's needs of memory and disk, with a remedy where they do not fit."""
    limit, source = memory(document["memory_limit"]), source_text(document["memory_source"])
    needed = memory(document["memory"])
    lines = [f"on disk about {memory(document['disk'])} of {memory(document['disk_free'])} free"
             + ("" if document["disk_fits"] else ": does not fit"),
             f"memory about {needed} of {limit} ({source})", f"  {_sum(document)}"]
    if document["memory_least"] is not None:
        lines[-1] += f"; enforced: the least limit is about {memory(document['memory_least'])}"
    if document["memory"] <= document["memory_limit"]:
        return lines
    on_disk, in_memory, of_parts = lines
    return [on_disk, f"{in_memory}: does not fit", of_parts, *([document["remedy"]] if document["remedy"] else [])]


def _sum(document: dict[str, Any]) -> str:
    """The parts of the memory, which add up to it; those of less than a mebibyte are left out."""
    return " + ".join(f"{name} {memory(size)}" for name, size in document["memory_parts"].items() if size >= 2**20)
