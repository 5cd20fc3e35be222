"""Lines for people at the end of a command: with the styles and links of Rich on a terminal, plain text elsewhere.

As everywhere, NO_COLOR takes the styles away, and FORCE_COLOR has them where no terminal is.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from mlcli.base.frozen import frozen
from mlcli.cli.screen.failure import say
from mlcli.cli.screen.terminal import WIDTH, columns_of, fold
from mlcli.errors import escaped

BLOCKS = "█▏▎▍▌▋▊▉"
STYLES = {"head": "bold", "kept": "blue", "rest": "bright_black", "negative": "red", "warning": "yellow",
          "link": "underline"}


@frozen
class Line:
    """A line in parts, each a text and one of the `STYLES` (empty: none); or a file that a terminal links to."""

    parts: Sequence[tuple[str, str]]
    file: str = ""

    @property
    def text(self) -> str:
        """The line as plain text."""
        return "".join(text for text, _ in self.parts)


def line(text: str, style: str = "") -> Line:
    """Return a line of one style; control characters in it are shown as escapes."""
    return Line([(escaped(shown(text)), style)])


def link(before: str, path: str | Path) -> Line:
    """Return a line that ends with the path of a file or folder."""
    return Line([(f"{before} ", ""), (escaped(str(path)), "link")], str(path))


def shown(text: str) -> str:
    """Return a text in the characters that standard error has."""
    return text if can_show(text) else text.replace("±", "+-")


def can_show(text: str) -> bool:
    """Whether the encoding of standard error has these characters."""
    try:
        text.encode(getattr(sys.stderr, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def styled() -> bool:
    """Whether lines have styles: on a terminal that can show them, or by FORCE_COLOR, and without NO_COLOR."""
    if sys.stderr is None or os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", ""))


def width() -> int | None:
    """Return the columns of the terminal, those of a usual one under FORCE_COLOR; None elsewhere."""
    return columns_of(sys.stderr) or (WIDTH if styled() else None)


def show(lines: Iterable[Line]) -> None:
    """Print lines on standard error."""
    if not styled():
        for one in lines:
            say(one.text, keep=[escaped(one.file)] if one.file else ())
        return
    from rich.console import Console
    from rich.style import Style
    from rich.text import Text

    console = Console(stderr=True, force_terminal=True, soft_wrap=True, highlight=False)
    for one in lines:
        text = Text()
        whole = len(one.parts) > 1
        for part, style in one.parts:
            file = Path(one.file).absolute().as_uri() if style == "link" else None
            text.append(part if whole else fold(part, width() or WIDTH), Style.parse(STYLES.get(style, "")) +
                        Style(link=file))
        console.print(text)
