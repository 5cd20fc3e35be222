"""Text on a terminal: its width, lines that are folded there between words, cells in columns."""

import os
import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import TextIO

from mlcli.errors import escaped

WIDTH = 80  # columns where no terminal says otherwise
MESSAGE = re.compile(r"mlcli: |(?:warning|note)\[")  # begin of one
INDENT = " " * 7  # of its later lines
HEAD = re.compile(r"\s*(?:\S+(?: \S+)* {2,})?")  # of a line: what stands before its last column
JOINT = "\ue000"  # in place of a blank where a line is not folded; no message holds it, as it is not printable
COMMAND = re.compile(r"(?<=: )(?:echo .* \| )?mlcli [a-z].*?(?=; in the run |; and [0-9]+ more|$)")  # in a hint
WHOLE = ("{", "\x1b")  # begin of lines that are never folded: JSON, and the codes of a terminal
GAP = 2  # between two columns
Cells = tuple[str, ...]


def columns_of(stream: TextIO | None) -> int | None:
    """Return the columns of the terminal that a stream leads to; None where it leads elsewhere."""
    if stream is None or not stream.isatty():
        return None
    asked = os.environ.get("COLUMNS", "")
    if asked.isdecimal() and int(asked):
        return int(asked)
    try:
        return os.get_terminal_size(stream.fileno()).columns or WIDTH
    except (OSError, ValueError):
        return WIDTH


def for_stream(text: str, stream: TextIO | None, keep: Sequence[str] = ()) -> str:
    """Return lines of text as a stream takes them: folded on a terminal, never within a phrase to keep, else whole."""
    width = columns_of(stream)
    return text if width is None else "\n".join(fold(line, width, keep) for line in text.split("\n"))


def fold(line: str, width: int, keep: Sequence[str] = ()) -> str:
    """Return a line in lines that fit, the later ones below its last column or the text of a message.

    Words and phrases to keep stay whole, and a command after a colon stands on a line of its own, to be copied. Rich
    folds without a hanging indent and within phrases, and takes longer to load than an error to be told.
    """
    if len(line) <= width or line.startswith(WHOLE) or "\x1b" in line:
        return line
    if command := COMMAND.search(line):
        after = line[command.end():].removeprefix("; ")
        lines = [fold(line[:command.start() - 1], width, keep), INDENT + command[0]]
        return "\n".join([*lines, *([INDENT + after] if after else [])])
    head = HEAD.match(line)
    hang = head.end() if head is not None and head.end() <= width // 2 else 0
    for phrase in keep:
        line = line.replace(phrase, phrase.replace(" ", JOINT))
    return textwrap.fill(line, width, subsequent_indent=INDENT if MESSAGE.match(line) else " " * hang,
                         break_long_words=False, break_on_hyphens=False).replace(JOINT, " ")


def tell(lines: Iterable[str]) -> None:
    """Lines on standard output: each whole for programs, folded where a terminal takes them."""
    import typer  # not for errors, which are told before it is loaded

    for line in lines:
        typer.echo(for_stream(escaped(line), sys.stdout))


def wrapped(text: str, first: str = "", later: str | None = None) -> str:
    """A paragraph in lines that fit, the first one after one indentation and the others after another."""
    return textwrap.fill(" ".join(text.split()), min(columns_of(sys.stdout) or WIDTH, WIDTH), initial_indent=first,
                         break_long_words=False, break_on_hyphens=False,
                         subsequent_indent=first if later is None else later)


def aligned(rows: Sequence[Cells], stream: TextIO | None = None) -> list[str]:
    """Cells in columns; on a terminal with less room, cells are folded within their columns.

    The terminal is that of a `stream`, of standard output by default.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = columns_of(stream or sys.stdout)
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
