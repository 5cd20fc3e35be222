"""Names from a user's file in messages."""

from collections.abc import Sequence

NAME, LISTED = 80, 5


def shown(text: str, limit: int = NAME) -> str:
    """Return a name in quotes, cut to length, with control characters escaped."""
    return repr(text if len(text) <= limit else text[: limit - 3] + "...")


def listed(names: Sequence[str], limit: int = LISTED, total: int | None = None) -> str:
    """Return the first names, and the number of further ones of `total` (by default of `names`)."""
    left = (len(names) if total is None else total) - limit
    more = f" and {left:,} more" if left > 0 else ""
    return ", ".join(shown(name) for name in names[:limit]) + more


def list_in_words(items: Sequence[str]) -> str:
    """Return one item or more as "a, b and c"."""
    *others, last = items
    return f"{', '.join(others)} and {last}" if others else last
