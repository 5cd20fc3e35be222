"""`mlcli route`: the shortest path between two points of a finished run."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from mlcli.cli.line import behavior
from mlcli.cli.reuse_options import Format, Output, Run
from mlcli.cli.screen.failure import escaped, say
from mlcli.cli.screen.output import drawn, format_of, refuse_existing, require_picture, write_out

Start = Annotated[str, typer.Argument(metavar="A", show_default=False, help="The id of the first point.")]
End = Annotated[str, typer.Argument(metavar="B", show_default=False, help="The id of the last point.")]
Picture = Annotated[str | None, typer.Option("--picture", metavar="FILE", show_default=False,
                                             help="Draw the path over the embedding: .svg, .png or .pdf.")]


def route(run: Run, start: Start, end: End, *, output: Output = "-", format: Format = None, picture: Picture = None,
          force: behavior.Force = False, quiet: behavior.Quiet = False, debug: behavior.Debug = False) -> None:
    """Find the shortest path between two points of a finished run.

    \b
    mlcli route runs/faces-isomap face12 face600
    mlcli route runs/roll 1 250 -o way.csv --picture way.svg

    The path runs on the neighbor graph of an Isomap run. The table holds the ids on the way, both ends
    among them, and the length of the path up to each. Points without ids have the numbers of their rows.
    """
    from mlcli.runs.route import route as route_of

    format_of(output, format)
    refuse_existing(output, force)
    require_picture(picture, output, force)
    routed = route_of(Path(run), start, end)
    with nullcontext() if picture is None else drawn(routed.figure(), picture, force=force):
        write_out(routed.table(), output, format, force=force)
    if picture is not None and not quiet:
        say(escaped(f"mlcli: wrote {picture}"))
