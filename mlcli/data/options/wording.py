"""How names, cells and places from a user's file appear in messages."""

import difflib
from collections.abc import Sequence

NAME, CELL, LISTED = 80, 40, 5
# where pairs were expected
NO_PAIRS = "if its rows are points with features, leave out {input.kind} or {input.kind=dissimilarities}"

COMPARED = ("columns of words can be compared as categories (docs/metrics.md): {method.metric.name=gower} "
            "{input.columns=NAME}")


def shown(text: str, limit: int = NAME) -> str:
    """A name in quotes, cut to length, with control characters escaped."""
    return repr(text if len(text) <= limit else text[: limit - 3] + "...")


def shown_cell(text: str) -> str:
    """A cell in quotes, cut to 40 characters."""
    return shown(text, CELL)


def listed(names: Sequence[str], limit: int = LISTED, total: int | None = None) -> str:
    """The first names, and how many more there are of `total`, by default those given."""
    left = (len(names) if total is None else total) - limit
    more = f" and {left:,} more" if left > 0 else ""
    return ", ".join(shown(name) for name in names[:limit]) + more


def joined(parts: Sequence[str], total: int) -> str:
    """The parts of a message, and how many of `total` are left out."""
    more = f"; and {total - len(parts)} more" if total > len(parts) else ""
    return "; ".join(parts) + more


def counted(number: int, noun: str) -> str:
    """`1 row`, `3 rows`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def place(path: str, line: int | None = None) -> str:
    """A file, and the line in it, as editors understand them."""
    name = "standard input" if path == "-" else path if path.isprintable() else shown(path, 4096)
    return name if line is None else f"{name}:{line}"


def nearest(name: str, known: Sequence[str]) -> str:
    """The hint for a name that is not there: the nearest one, or what there is."""
    close = difflib.get_close_matches(name, known[:10_000], n=1)
    return f"did you mean {shown(close[0])}?" if close else f"the file has {listed(known, 10)}"


def duplicates(names: Sequence[str]) -> list[str]:
    """Every name that occurs more than once, in the order of its first repetition."""
    seen: set[str] = set()
    again: dict[str, None] = {}
    for name in names:
        if name in seen:
            again[name] = None
        seen.add(name)
    return list(again)
