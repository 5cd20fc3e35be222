"""Text in the columns of a terminal: lines, wrapped paragraphs, cells in columns."""

import sys
import textwrap
from collections.abc import Iterable, Sequence

import typer

from mlcli.cli.screen.failure import escaped
from mlcli.cli.screen.terminal import WIDTH, columns_of, for_stream

GAP = 2  # between two columns

Cells = tuple[str, ...]


def tell(lines: Iterable[str]) -> None:
    """Lines on standard output: each whole for programs, folded where a terminal takes them."""
    for line in lines:
        typer.echo(for_stream(escaped(line), sys.stdout))


def wrapped(text: str, first: str = "", later: str | None = None) -> str:
    """A paragraph in lines that fit, the first one after one indentation and the others after another."""
    return textwrap.fill(" ".join(text.split()), min(columns_of(sys.stdout) or WIDTH, WIDTH), initial_indent=first,
                         break_long_words=False, break_on_hyphens=False,
                         subsequent_indent=first if later is None else later)


def aligned(rows: Sequence[Cells]) -> list[str]:
    """Cells in columns; on a terminal with less room, cells are folded within their columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = columns_of(sys.stdout)
    if room is not None and sum(widths) + GAP * (len(widths) - 1) > room:
        return folded(rows, room)
    return [(" " * GAP).join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows]


def folded(rows: Sequence[Cells], room: int) -> list[str]:
    """Return cells in columns that are together at most so wide, the longer cells in several lines, by Rich.

    Rich is loaded only here, as its tables take a third of the time in which the program starts.
    """
    import io

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table, out = Table.grid(padding=(0, GAP, 0, 0)), io.StringIO()
    for _ in rows[0]:
        table.add_column(overflow="fold")  # within words that are longer than their column: none loses a letter
    for row in rows:
        table.add_row(*map(Text, row))
    Console(file=out, width=room, color_system=None, highlight=False).print(table)
    return [line.rstrip() for line in out.getvalue().splitlines()]
