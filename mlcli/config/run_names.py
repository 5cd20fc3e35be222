"""Names of the runs of a sweep, composed of the values that differ: `count=8,graph=union`."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mlcli.data.files.formats import ENDINGS

LONGEST = 160  # bytes of a name: names of drafts and failed runs are longer, and file systems allow 255
PLAIN = "_.-+@~"  # kept in names besides letters and digits
INPUT = "input.path"


def directory_names(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a distinct name for each run, by its values (config path to value)."""
    flat = [dict(flatten(values)) for values in runs]
    labels = last_parts({path: None for values in flat for path in values})
    return distinct([name_of(values, labels) for values in flat])


def flatten(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield values with their whole paths, without nesting."""
    for key, value in values.items():
        if isinstance(value, dict) and value:
            yield from flatten(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def last_parts(paths: Mapping[str, Any]) -> dict[str, str]:
    """Return the last part of each path, preceded by as many parts as distinguish it from the others."""
    labels = {}
    for path in paths:
        parts = path.split(".")
        sizes = (size for size in range(1, len(parts) + 1)
                 if not any(other != path and other.split(".")[-size:] == parts[-size:] for other in paths))
        labels[path] = ".".join(parts[-next(sizes, len(parts)):])
    return labels


def name_of(values: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """Return the name of one run; an input comes first, as the name of its file."""
    first = [quoted(file_name(values[INPUT]))] if INPUT in values else []
    rest = [f"{quoted(labels[path])}={quoted(text(value))}" for path, value in values.items() if path != INPUT]
    return ",".join([*first, *rest])


def file_name(path: Any) -> str:
    """Return an input's name without its endings; `stdin` for standard input."""
    if path == "-":
        return "stdin"
    name = Path(str(path)).name
    while Path(name).suffix.lower() in ENDINGS:
        name = Path(name).stem
    return name or "data"


def text(value: Any) -> str:
    """Return a value as in YAML, the items of a list joined by +."""
    if isinstance(value, list):
        return "+".join(map(text, value))
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    return str(value) if not isinstance(value, dict) else "{}"


def quoted(part: str) -> str:
    """Return a part of a name with characters that are special in a shell or a path as %XX."""
    kept = "".join(sign if sign.isalnum() or sign in PLAIN else "".join(f"%{byte:02X}" for byte in sign.encode(
        "utf-8", "surrogateescape")) for sign in part)
    return f"%{ord(kept[0]):02X}{kept[1:]}" if kept[:1] in (".", "-") else kept


def distinct(names: Sequence[str]) -> list[str]:
    """Return names, long ones cut to a beginning and a hash; repeated names get numbers."""
    short = [shorten(name) for name in names]
    counts, seen = Counter(short), Counter[str]()
    numbered = []
    for name in short:
        seen[name] += 1
        numbered.append(name if counts[name] == 1 else f"{name}-{seen[name]}")
    return numbered if len(set(numbered)) == len(numbered) else [f"{i + 1}-{name}" for i, name in enumerate(short)]


def shorten(name: str) -> str:
    """Return a name of at most 160 bytes: a longer one is cut and ends with its hash."""
    written = name.encode()
    if len(written) <= LONGEST:
        return name
    return f"{written[:LONGEST - 17].decode(errors='ignore')}-{hashlib.sha256(written).hexdigest()[:16]}"
