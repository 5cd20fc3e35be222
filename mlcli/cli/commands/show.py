"""`mlcli show`: the corner of a matrix that a run kept."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from mlcli.cli.line import behavior

if TYPE_CHECKING:
    from mlcli.runs.kept import Corner

Name = Annotated[Literal["graph", "distances", "weights", "kernel", "uncentered"], typer.Argument(
    metavar="NAME", show_default=False, help="What to show of that which the run kept (--keep of mlcli embed): graph, "
    "distances, weights, kernel, or the kernel as it was before centering, uncentered.")]
Rows = Annotated[int, typer.Option("--rows", metavar="N", min=1, help="Number of rows to show.")]
Columns = Annotated[int | None, typer.Option("--columns", metavar="N", min=1, show_default=False, help=(
    "Number of columns to show [default: as many as rows, if the terminal has room]."))]
LONGEST = 12  # letters of an id
WIDTH = 80  # of a page without a terminal
GAP = 2


def show(run: behavior.Run, name: Name, *, rows: Rows = 8, columns: Columns = None, json: behavior.Json = False,
         debug: behavior.Debug = False) -> None:
    """Print the corner of a matrix that a run kept.

    \b
    mlcli show runs/roll-isomap kernel
    mlcli show runs/roll-lle weights --rows 20 --columns 6

    Rows and columns are in the order of embedding.csv, with their names. A point stands where a sparse matrix has no
    entry: no edge of the graph, no weight. mlcli export RUN --kept NAME writes the whole matrix as CSV.
    """
    from mlcli.cli.screen.output import print_json
    from mlcli.cli.screen.streams import require_standard_output
    from mlcli.runs.kept import corner

    require_standard_output()
    found = corner(Path(run), name, rows, columns or rows)
    if json:
        return print_json(found.document())
    for line in lines_of(found, fits=columns is None):
        print(line)
    return None


def lines_of(corner: "Corner", *, fits: bool) -> list[str]:
    """Return the lines of a corner; with `fits`, without columns for which the terminal has no room."""
    from mlcli.cli.screen.terminal import columns_of

    names = [shortened(row) for row in corner.rows]
    side = max(map(len, names))
    cells = [[shortened(column), *("." if number != number else f"{number:.5g}" for number in numbers)]
             for column, numbers in zip(corner.columns, corner.values.T.tolist(), strict=True)]
    widths = [max(map(len, column)) for column in cells]
    shown, used = 0, side
    while shown < len(cells) and (not fits or not shown or used + GAP + widths[shown] <= (
            columns_of(sys.stdout) or WIDTH)):
        used += GAP + widths[shown]
        shown += 1
    whole = f"{corner.size:,} x {corner.size:,}" + (
        "" if corner.entries is None else f", {corner.entries:,} entries")
    table = [["", *names], *cells[:shown]]
    lines = [(" " * GAP).join(column[row].ljust(side) if place == 0 else column[row].rjust(widths[place - 1])
                              for place, column in enumerate(table)).rstrip() for row in range(len(names) + 1)]
    part = len(names) < corner.size or shown < corner.size
    return [f"{corner.name}: {whole}" + (f"; the first {len(names):,} x {shown:,}" if part else ""), *lines]


def shortened(name: str) -> str:
    """Return an id for the head of a row or column, cut to length, without what a terminal would take for orders."""
    name = name if name.isprintable() else repr(name)
    return name if len(name) <= LONGEST else f"{name[:LONGEST - 3]}..."
