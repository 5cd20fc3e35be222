"""Text within the columns of a terminal: wrapped paragraphs, folded lines, cells in columns."""

import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence

import typer

from mlcli.cli.screen.failure import escaped

WIDTH = 80  # columns of a terminal
GAP = 2  # between two columns

HEAD = re.compile(r"\s*(?:\S+(?: \S+)* {2,})?")  # of a line: what stands before its last column

Cells = tuple[str, ...]


def tell(lines: Iterable[str]) -> None:
    """Lines on standard output: each whole for programs, folded where a terminal takes them."""
    width = shutil.get_terminal_size((WIDTH, 0)).columns if sys.stdout.isatty() else None
    for line in lines:
        typer.echo(escaped(line) if width is None else folded(escaped(line), width))


def folded(line: str, width: int) -> str:
    """A line in lines that fit, the later ones below what stands last in it."""
    head = HEAD.match(line)
    hang = head.end() if head is not None and head.end() <= width // 2 else 0
    return line if len(line) <= width else textwrap.fill(
        line, width, subsequent_indent=" " * hang, break_long_words=False, break_on_hyphens=False)


def wrapped(text: str, first: str = "", later: str | None = None) -> str:
    """A paragraph in lines that fit, the first one after one indentation and the others after another."""
    return textwrap.fill(" ".join(text.split()), WIDTH, initial_indent=first, break_long_words=False,
                         break_on_hyphens=False, subsequent_indent=first if later is None else later)


def aligned(rows: Sequence[Cells]) -> list[str]:
    """Cells in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [(" " * GAP).join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows]
