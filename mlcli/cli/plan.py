"""`mlcli plan`: what a run would do and take, without doing it."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from mlcli.base.units import duration, memory
from mlcli.cli import behavior
from mlcli.cli.failure import escaped
from mlcli.cli.flags import FLAGS, layer_of, with_flags
from mlcli.cli.output import print_json
from mlcli.config.build import build, from_outside, variants_of
from mlcli.config.explain import located
from mlcli.config.layers import Layer, assignment
from mlcli.errors import UsageError

What = Annotated[str, typer.Argument(metavar="DATA|CONFIG", show_default=False,
                                         help="A data file, a finished run, or a YAML file.")]
Measure = Annotated[float | None, typer.Option("--measure", min=1e-6, max=1.0,
                                               help="Run this share of the most expensive work and compare.")]

Workers = Annotated[int | None, typer.Option("--cluster", metavar="N", min=1, max=100_000, show_default=False,
                                             help="Predict passes on a cluster of N workers.")]


@with_flags(*(name for name in FLAGS if name != "cluster"))
def plan(what: What, *, measure: Measure = None, cluster: Workers = None, assignments: behavior.Assignments = None,
         json: behavior.Json = False, debug: behavior.Debug = False, **flags: Any) -> None:
    """Show what would run: stages, choices, memory and time.

    \b
    mlcli plan --method isomap data.csv
    mlcli plan configs/isomap-swiss-roll.yaml --measure 0.01
    mlcli plan --method isomap data.npy --cluster 64

    The data is read and reduced as prepare.reduce says, and Isomap's graph is made, since its shape
    decides the cost. With --cluster, passes are predicted as on so many workers of one thread
    each, by the model of docs/scale-out.md. Exit code 82 where the run would not fit in memory or on disk.
    """
    from mlcli.planning import plan as planned

    layer = _layer(what, assignments or [], flags)
    config = build(layer)
    with located(layer):
        document = planned(config, measure, cluster)
    if json:
        print_json(document)
    else:
        for line in _told(document):
            typer.echo(escaped(line))
    raise typer.Exit(0 if document["fits"] else 82)


def _layer(what: str, assignments: list[str], flags: dict[str, Any]) -> Layer:
    """The one run that a data file with flags, or a YAML file, describes."""
    if Path(what).suffix not in (".yaml", ".yml"):
        given = layer_of(flags).over(assignment("input.path", what, "DATA"))
        return from_outside(os.environ, assignments, given)
    runs = variants_of(Path(what), from_outside(os.environ, assignments, layer_of(flags)))
    if len(runs) > 1:
        raise UsageError("ONE-RUN", f"the file describes {len(runs)} runs", where=what,
                         hint="plan one of them, with the swept options given by --set in a file without `sweep`")
    return runs[0].layer


def _told(document: dict[str, Any]) -> list[str]:
    """The plan in lines for people."""
    size = f"{document['rows']} rows x {document['columns']} columns"
    if document["kind"] == "covariance":
        size = f"the covariance of {document['columns']} columns"
    if document["kind"] == "graph":
        size = f"a graph of {document['rows']} points"
    workers = "" if document["workers"] is None else f", a cluster of {document['workers']} workers"
    lines = [f"{document['method']}: {size}, {document['threads']} threads{workers}"]
    for step in document["steps"]:
        measured = "" if step["measured"] is None else f", measured {duration(step['measured'])}"
        size = memory(step["memory"])
        lines.append(f"  {step['stage']}: {duration(step['seconds'])}{measured}, {size}: {step['how']}")
    measured = document["seconds_measured"]
    total = "" if measured is None else f"; measured on a share, {duration(measured)}"
    lines.append(f"in all about {duration(document['seconds'])}{total}")
    lines.append(f"memory about {memory(document['memory'])} of {memory(document['memory_limit'])}"
                 + ("" if document["memory"] <= document["memory_limit"] else ": does not fit"))
    if document["disk"]:
        lines.append(f"on disk about {memory(document['disk'])} of {memory(document['disk_free'])} free"
                     + ("" if document["disk"] <= document["disk_free"] else ": does not fit"))
    return lines
