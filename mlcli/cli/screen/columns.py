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
    """Cells in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [(" " * GAP).join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows]
