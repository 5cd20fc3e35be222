"""`mlcli route`: the shortest path between two points of a finished run."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from mlcli.cli.line import behavior
from mlcli.cli.screen.failure import say_written
from mlcli.cli.screen.output import (
    drawn,
    format_of,
    refuse_existing,
    require_own_file,
    require_page,
    require_picture,
    write_out,
)
from mlcli.publication.publish import publish_file
from mlcli.publication.publish import refuse_existing as refuse_page

Start = Annotated[str, typer.Argument(metavar="A", show_default=False, help="The id of the first point.")]
End = Annotated[str, typer.Argument(metavar="B", show_default=False, help="The id of the last point.")]
Picture = Annotated[str | None, typer.Option("--picture", metavar="FILE", show_default=False,
                                             help="Also draw the path over the embedding, in a .svg, .png or .pdf "
                                                 "file.")]


Page = Annotated[Path | None, typer.Option("--explain", metavar="FILE", show_default=False,
                                           help="Also write a page on how Dijkstra's algorithm finds the path, an "
                                                ".html file; the table then lists all points that it settles.")]


def route(run: behavior.Run, start: Start, end: End, *, output: behavior.Table = "-",
          format: behavior.TableFormat = None, picture: Picture = None, explain: Page = None,
          force: behavior.Force = False, quiet: behavior.Quiet = False, debug: behavior.Debug = False) -> None:
    """Find the shortest path between two points on a run's graph.

    \b
    mlcli route runs/faces-isomap face12 face600
    mlcli route runs/roll 1 250 -o way.csv --picture way.svg
    mlcli route runs/roll 1 250 --explain dijkstra.html

    The path follows the edges of the neighbor graph of an Isomap run. The table lists the points on the path, both ends
    included, with the length of the path from A to each. Points without ids are named by their row numbers, from 1.

    With --explain the search stops at B, and the table lists the points that it settled, in order, with their distances
    from A, and 1 for those on the path; the picture shows the visited part of the graph.
    """
    from mlcli.runs.route import route as route_of

    format_of(output, format)
    refuse_existing(output, force)
    require_picture(picture, output, force)
    require_explanation(explain, output, picture, force=force)
    if explain is None:
        found: Any = route_of(Path(run), start, end)
    else:
        from mlcli.runs.explain_route import explain_route

        found = explain_route(Path(run), start, end)
    with ExitStack() as others:  # which appear once the table is written
        if picture is not None:
            others.enter_context(drawn(found.figure(), picture, force=force))
        if explain is not None:
            content = found.page().encode("utf-8")
            others.enter_context(publish_file(explain, lambda draft: draft.write_bytes(content), force=force))
        write_out(found.table(), output, format, force=force)
    if explain is not None and not (quiet and found.reached):
        say_written(found.sentence())
    for path in () if quiet else (output, picture, explain):
        if path is not None and path != "-":
            say_written(f"wrote {path}", path)


def require_explanation(page: Path | None, output: str, picture: str | None, *, force: bool) -> None:
    """Refuse a page that is not an .html file, exists already, or is the file of the table or the picture."""
    if page is None:
        return
    require_page(page, f"--explain {page}")
    require_own_file("--explain", str(page), {"-o": output, "--picture": picture})
    refuse_page(page, None, force=force, flag="--explain")
