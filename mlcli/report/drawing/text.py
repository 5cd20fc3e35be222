"""Text from users' files made safe to show: cut, with invisible characters written out, and escaped for HTML."""

import re
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from itertools import takewhile

from mlcli.errors import escaped

LONGEST = 80
PROPER = {"bartlett": "Bartlett", **{name: name.upper() for name in ("bic", "cfi", "kmo", "rmsea", "rmsr", "tli")}}
HARMLESS = re.compile(r"[\w .,:;+=()/%-]*", re.ASCII).fullmatch  # nothing to escape, and nothing invisible


def visible(text: str, limit: int = LONGEST) -> str:
    r"""A name in one line: cut to length, control characters and direction marks as \xNN or \uNNNN."""
    return escaped(text if len(text) <= limit else text[: limit - 1] + "…")


def shorten(text: str, limit: int) -> str:
    """Return a name in one line with the middle left out, because long names often differ at their ends."""
    shown = visible(text, 4 * limit)
    return shown if len(shown) <= limit else f"{shown[: limit - limit // 2]}…{shown[1 - limit // 2 :]}"


def distinct(names: Sequence[str], limit: int) -> list[str]:
    """Shorten names; where different ones would look alike, leave out words that all of them end or begin with."""
    first, last = _common_words(names), _common_words([name[::-1] for name in names])
    for before, after in ((0, 0), (0, last), (first, 0), (first, last)):
        parts = [name[before : len(name) - after] for name in names]
        short = [shorten(f"{'…' * bool(before)}{part}{'…' * bool(after)}", limit) for part in parts]
        if len(set(short)) == len(set(names)):
            return short
    return [shorten(name, limit) for name in names]


def _common_words(names: Sequence[str]) -> int:
    """Return how many characters all names begin with, up to the end of a word."""
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    common = "".join(letters[0] for letters in alike)
    return len(common) - len(re.split(r"[\W_]", common)[-1])


def safe(text: object, limit: int = LONGEST) -> str:
    """Return a name as the text or the quoted attribute of an HTML or SVG element."""
    whole = str(text)
    return _safe(whole) if len(whole) <= limit else escape(visible(whole, limit))


@lru_cache(maxsize=4096)  # the same ids and ticks stand in each figure of a run, and of those after it
def _safe(short: str) -> str:
    return short if HARMLESS(short) else escape(visible(short, len(short)))


def number(value: float | None) -> str:
    """Return a number for people: six digits, thousands set apart."""
    if value is None:
        return "–"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:,.6g}" if value == 0 or 1e-3 <= abs(value) < 1e6 else f"{value:.4g}"


def four_digits(value: float | None) -> str:
    """Return a result for people: four digits, of larger numbers all before the point; files have the others."""
    if value is None or isinstance(value, int) or not 1e-3 <= abs(value) < 1e6:
        return number(value)
    return number(float(f"{value:.4g}") if abs(value) < 1e3 else round(value))


def in_words(key: str) -> str:
    """Return the key of a figure as people write it."""
    return " ".join(PROPER.get(word, word) for word in key.split("_"))


def three_digits(value: float) -> str:
    """Return a number in three digits, with a typographic minus sign."""
    return number(float(f"{value:.3g}")).replace("-", "−")
