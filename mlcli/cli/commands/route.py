"""`mlcli route`: the shortest path between two points of a finished run."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from mlcli.cli.line import behavior
from mlcli.cli.screen.failure import say_written
from mlcli.cli.screen.output import drawn, format_of, refuse_existing, require_picture, write_out

Start = Annotated[str, typer.Argument(metavar="A", show_default=False, help="The id of the first point.")]
End = Annotated[str, typer.Argument(metavar="B", show_default=False, help="The id of the last point.")]
Picture = Annotated[str | None, typer.Option("--picture", metavar="FILE", show_default=False,
                                             help="Also draw the path over the embedding, in a .svg, .png or .pdf "
                                                 "file.")]


def route(run: behavior.Run, start: Start, end: End, *, output: behavior.Table = "-",
          format: behavior.TableFormat = None, picture: Picture = None, force: behavior.Force = False,
          quiet: behavior.Quiet = False, debug: behavior.Debug = False) -> None:
    """Find the shortest path between two points on a run's graph.

    \b
    mlcli route runs/faces-isomap face12 face600
    mlcli route runs/roll 1 250 -o way.csv --picture way.svg

    The path follows the edges of the neighbor graph of an Isomap run. The table lists the points on the path, both ends
    included, with the length of the path from A to each. Points without ids are named by their row numbers, from 1.
    """
    from mlcli.runs.route import route as route_of

    format_of(output, format)
    refuse_existing(output, force)
    require_picture(picture, output, force)
    routed = route_of(Path(run), start, end)
    with nullcontext() if picture is None else drawn(routed.figure(), picture, force=force):
        write_out(routed.table(), output, format, force=force)
    if picture is not None and not quiet:
        say_written(f"wrote {picture}", picture)
