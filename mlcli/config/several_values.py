"""Several values for an option that takes one: the sweep that runs each of them."""

import json
import shlex
from typing import Any

from mlcli.base.values.options import TAG
from mlcli.config.describe import show
from mlcli.config.layers import Layer, value_of
from mlcli.config.scalars import Keys

SWEPT = "a run for each is a sweep: "


def sweep_of(keys: Keys, given: Any, layer: Layer) -> str:
    """Return the command that runs each of several values, `4,6,8` or `[4, 6, 8]`; empty for one value."""
    if isinstance(given, dict) and keys[-1] == TAG:
        given = given.get(TAG)
    values = [part.strip() for part in given.split(",")] if isinstance(given, str) else given
    if not isinstance(values, list) or len(values) < 2 or not all(
            isinstance(value, (str, int, float)) and value != "" for value in values):
        return ""
    path = ".".join(map(str, keys))
    section = f"sweep: {{{path}: [{', '.join(map(str, values))}]}}"
    if ":" in layer.origin(keys):  # of a file, line and column
        return f"{SWEPT}{section} in place of {path}"
    others = (f"--set {shlex.quote(f'{name}={text(value)}')}" for name, value in other_values(layer, keys))
    return f"{SWEPT}{' '.join([f'echo {shlex.quote(section)} | mlcli run -', *others])}"


def other_values(layer: Layer, but: Keys) -> list[tuple[str, Any]]:
    """Return the dotted paths and values that the layer sets besides one path."""
    found = []
    for keys in layer.origins:
        value: Any = layer.values
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if keys != but and value is not None and not isinstance(value, dict):
            found.append((".".join(map(str, keys)), value))
    return sorted(found)


def text(value: Any) -> str:
    """Return a value in a form that `--set` reads."""
    plain = value if isinstance(value, str) else show(value)
    return plain if isinstance(value, str) and value_of(plain, "") == value else json.dumps(value)
