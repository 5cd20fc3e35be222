"""The YAML text of nested values: of plain ones without the library.

Loading the library takes as long as a third of the work of a small run, which writes plain values alone.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

SIMPLE = re.compile(r"[A-Za-z/][\w./-]{,119}|[0-9]+[KMGT]", re.ASCII).fullmatch  # what no rule takes for a number
WORDS = ("null", "true", "false", "yes", "no", "on", "off")  # values by the rules of YAML 1.1 or 1.2


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
