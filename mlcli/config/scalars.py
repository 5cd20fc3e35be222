"""Unquoted scalars by the rules of YAML 1.2: their tags and values."""

import math
import re
import textwrap
from collections.abc import Callable
from typing import Any

CORE = "tag:yaml.org,2002:"
NULL = re.compile(r"(?:null|Null|NULL|~|)\Z")
BOOL = re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z")
INT = re.compile(r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)\Z")
FLOAT = re.compile(r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
                   r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z")
LONGEST = 1000  # characters of a whole number: Python refuses to show one of more than 4,300 digits
RESOLVERS = {f"{CORE}null": NULL, f"{CORE}bool": BOOL, f"{CORE}int": INT, f"{CORE}float": FLOAT}
Keys = tuple[str | int, ...]  # a path in nested values


def integer(text: str) -> int:
    """Return the whole number in `text`, in base 10 (also with leading zeros), 8 or 16; raises ValueError."""
    if len(text) > LONGEST:
        raise ValueError(f"a number of more than {LONGEST} characters")
    base = {"0o": 8, "0x": 16}.get(text[:2], 10)
    return int(text[2:] if base != 10 else text, base)


def number(text: str) -> float:
    """Return the number in `text`; raises ValueError beyond the range of doubles."""
    if text[-3:].lower() in ("inf", "nan"):
        return float(text.replace(".", ""))
    value = float(text)
    if math.isinf(value):
        raise ValueError("larger than any double")
    return value


READERS: dict[str, tuple[re.Pattern[str] | None, Callable[[str], Any]]] = {
    f"{CORE}null": (NULL, lambda text: None),
    f"{CORE}bool": (BOOL, lambda text: text.lower() == "true"),
    f"{CORE}int": (INT, integer),
    f"{CORE}float": (FLOAT, number),
    f"{CORE}str": (None, str),
}


def reason(error: Exception) -> str:
    """Return the first sentence of an error of Python or a library, cut at a word."""
    return textwrap.shorten(str(error).partition(";")[0], 100, placeholder="...")


def tag_of(text: str) -> str:
    """Return the core tag of an unquoted text."""
    return next((tag for tag, pattern in RESOLVERS.items() if pattern.match(text)), f"{CORE}str")


def value_of(text: str, tag: str) -> Any:
    """Return the value of `text` under a core tag; raises ValueError if the text does not fit it."""
    if tag not in READERS:
        raise ValueError(f"not a {tag.removeprefix(CORE)}")
    pattern, read = READERS[tag]
    if pattern is not None and not pattern.match(text):
        raise ValueError(f"not a {tag.removeprefix(CORE)}")
    return read(text)
