"""Text from users' files made safe to show: cut, its invisible characters written out, and escaped for HTML."""

import re
from html import escape

LONGEST = 80
PROPER = {"bartlett": "Bartlett", **{name: name.upper() for name in ("bic", "kmo", "rmsea", "rmsr", "tli")}}
HARMLESS = re.compile(r"[\w .,:;+=()/%-]*", re.ASCII).fullmatch  # nothing to escape, and nothing invisible


def visible(text: str, limit: int = LONGEST) -> str:
    r"""A name in one line: cut to length, control characters and direction marks as \xNN or \uNNNN."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    if cut.isprintable():
        return cut
    return "".join(ch if ch.isprintable() else ch.encode("unicode_escape", "surrogatepass").decode() for ch in cut)


def shortened(text: str, limit: int) -> str:
    """The same with the middle left out, because long names often differ at their ends."""
    shown = visible(text, 4 * limit)
    return shown if len(shown) <= limit else f"{shown[: limit - limit // 2]}…{shown[1 - limit // 2 :]}"


def safe(text: object, limit: int = LONGEST) -> str:
    """A name as the text or the quoted attribute of an HTML or SVG element."""
    whole = str(text)
    return whole if len(whole) <= limit and HARMLESS(whole) else escape(visible(whole, limit))


def number(value: float | None) -> str:
    """A number for people: six digits, thousands set apart."""
    if value is None:
        return "–"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:,.6g}" if value == 0 or 1e-3 <= abs(value) < 1e6 else f"{value:.4g}"


def in_words(key: str) -> str:
    """The key of a figure as people write it."""
    return " ".join(PROPER.get(word, word) for word in key.split("_"))
