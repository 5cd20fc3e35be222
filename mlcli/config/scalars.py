"""Plain values of YAML by the rules of YAML 1.2: texts to values, and nested values to texts, without the library.

Loading the library takes as long as a fifth of the work of a small run, which reads and writes such values alone.
"""

import math
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any

CORE = "tag:yaml.org,2002:"
NULL = re.compile(r"(?:null|Null|NULL|~|)\Z")
BOOL = re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z")
INT = re.compile(r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)\Z")
FLOAT = re.compile(r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
                   r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z")
LONGEST = 1000  # characters of a whole number: Python refuses to show one of more than 4,300 digits
RESOLVERS = {f"{CORE}null": NULL, f"{CORE}bool": BOOL, f"{CORE}int": INT, f"{CORE}float": FLOAT}
SIMPLE = re.compile(r"[A-Za-z/][\w./-]{,119}|[0-9]+[KMGT]", re.ASCII).fullmatch  # what no rule takes for a number
WORDS = ("null", "true", "false", "yes", "no", "on", "off")  # values by the rules of YAML 1.1 or 1.2
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


def dump(value: Any) -> str:
    """Return the YAML text of nested values (mappings, lists, texts, numbers, null), as the library writes it."""
    if is_block(value):
        return "".join(_lines(value, ""))
    from mlcli.config import yaml_file

    return yaml_file.dump(value)


def is_block(value: Any) -> bool:
    """Whether a value is a mapping of plain values, of lists of these, and of such mappings."""
    return type(value) is dict and bool(value) and all(
        type(name) is str and is_plain(name) and (is_plain(inner) or is_block(inner) or (
            type(inner) in (list, tuple) and all(map(is_plain, inner)))) for name, inner in value.items())


def is_plain(value: Any) -> bool:
    """Whether a value has one line that needs no quotes."""
    kind = type(value)
    if kind is str:
        return SIMPLE(value) is not None and value.lower() not in WORDS
    if kind is float:
        return math.isfinite(value)
    return value is None or kind in (bool, int) or (kind in (list, tuple) and not value)


def _lines(values: Mapping[str, Any], indent: str) -> Iterator[str]:
    """Yield the lines of a block."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield f"{indent}{name}:\n"
            yield from _lines(value, f"{indent}  ")
        elif isinstance(value, (list, tuple)) and value:
            yield "".join((f"{indent}{name}:\n", *(f"{indent}- {_text(item)}\n" for item in value)))
        else:
            yield f"{indent}{name}: {_text(value)}\n"


def _text(value: Any) -> str:
    """Return the text of a plain value; a float has a point, which readers of YAML 1.1 ask for."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = "[]" if isinstance(value, (list, tuple)) else str(value)
    return text.replace("e", ".0e") if isinstance(value, float) and "." not in text else text
