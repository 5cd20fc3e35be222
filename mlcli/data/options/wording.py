"""Cells and places of a user's file in messages, and the nearest of its names."""

import difflib
import re
from collections.abc import Sequence

from mlcli.base.values.naming import listed, shown

CELL, SAID = 40, 160
ADDRESS = re.compile(r"(?<=<)([^<>]*) at 0x[0-9a-fA-F]+(?=>)")  # in Python's own words for an object
# where pairs were expected
NO_PAIRS = "if its rows are points with features, leave out {input.kind} or {input.kind=dissimilarities}"

COMPARED = ("columns of words can be compared as categories (docs/metrics.md): {method.metric.name=gower} "
            "{input.columns=NAME}; {method.name=mca} takes them as answers")


def words_of(error: Exception) -> str:
    """Return the first line of what a library says of a file, in quotes; its type where it says nothing.

    Addresses in memory, which differ from run to run, are left out.
    """
    return shown(ADDRESS.sub(r"\1", str(error).strip().partition("\n")[0]) or type(error).__name__, SAID)


def shown_cell(text: str) -> str:
    """Return a cell in quotes, cut to 40 characters."""
    return shown(text, CELL)


def joined(parts: Sequence[str], total: int) -> str:
    """Return the parts of a message, and the number of further ones of `total`."""
    more = f"; and {total - len(parts)} more" if total > len(parts) else ""
    return "; ".join(parts) + more


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 row`, `3 rows`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def place(path: str, line: int | None = None) -> str:
    """Return a file, and the line in it, in the form that editors understand."""
    name = "standard input" if path == "-" else path if path.isprintable() else shown(path, 4096)
    return name if line is None else f"{name}:{line}"


def nearest(name: str, known: Sequence[str]) -> str:
    """Return the hint for an unknown name: the nearest known one, or a list."""
    close = difflib.get_close_matches(name, known[:10_000], n=1)
    return f"did you mean {shown(close[0])}?" if close else f"the file has {listed(known, 10)}"


def duplicates(names: Sequence[str]) -> list[str]:
    """Return every name that occurs more than once, in the order of its first repetition."""
    seen: set[str] = set()
    again: dict[str, None] = {}
    for name in names:
        if name in seen:
            again[name] = None
        seen.add(name)
    return list(again)
