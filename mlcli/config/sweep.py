"""The section `sweep`: values for config paths, combined or paired, expanded to runs that are named by their values."""

import hashlib
import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from glob import glob
from pathlib import Path
from typing import Any

from mlcli.base.frozen import frozen
from mlcli.config.layers import Layer, assignment
from mlcli.data.files.formats import file_name
from mlcli.errors import ConfigError, InputMissing

LONGEST = 160  # bytes of a name: names of drafts and failed runs are longer, and file systems allow 255
PLAIN = "_.-+@~"  # kept in names besides letters and digits
INPUT = "input.path"
SWEEP = "sweep"
GRID, ZIP, LIST = "grid", "zip", "list"
MOST_RUNS = 10_000
Values = Mapping[str, Any]  # by config path


@frozen
class SweepVariant:
    """A run that a file describes."""

    layer: Layer
    values: Values  # the values that distinguish it; none for a single run


def expand(file: Layer, upper: Layer, output: str) -> list[SweepVariant]:
    """Return the runs that a file describes under the layers above it: one, or all of a sweep.

    Runs of a sweep are written to OUTPUT/NAME, NAME made of the swept values; the last path varies fastest.
    Raises ConfigError and InputMissing.
    """
    factors = swept_factors(file)
    base = replace(file, values={key: value for key, value in file.values.items() if key != SWEEP})
    if not factors:
        return [SweepVariant(upper.over(base), {})]
    for path, place in ((path, factor.place) for factor in factors for path in factor.paths):
        refuse_if_set(path, place, upper)
    combinations = [{path: value for part in parts for path, value in part.items()}
                    for parts in itertools.product(*(factor.rows for factor in factors))]
    layers = [upper.over(with_values(base, values, file)) for values in combinations]
    directory = directory_of(upper.over(base), output)
    names = directory_names(combinations)
    return [SweepVariant(Layer({"output": str(directory / name)}, {("output",): SWEEP}).over(layer), values)
            for layer, name, values in zip(layers, names, combinations, strict=True)]


def directory_of(layer: Layer, otherwise: str) -> Path:
    """Return the directory of the runs of a sweep."""
    output = layer.values.get("output")
    if output is not None and (not isinstance(output, str) or output in ("", "-")):
        raise ConfigError("SWEEP", f"the runs of a sweep need a directory, not {str(output)[:40]!r}",
                          where=layer.origin(("output",)), hint="give one with -o")
    return Path(output or otherwise)


@frozen
class SweepFactor:
    """Rows of values for some paths; a sweep is the product of its factors."""

    paths: Sequence[str]
    rows: Sequence[Values]
    place: str  # in the file


def swept_factors(file: Layer) -> list[SweepFactor]:
    """Return the factors of a file's sweep, checked; none if there is no sweep."""
    section = file.values.get(SWEEP, {})
    if not isinstance(section, dict):
        raise ConfigError("SWEEP", "sweep must be a section of config paths", where=file.origin((SWEEP,)),
                          hint="write sweep: {method.neighbors.count: [5, 10]}")
    factors = [factor for key, value in section.items() for factor in factors_of(key, value, file)]
    repeated = [factor for place, factor in enumerate(factors) for other in factors[:place]
                if set(factor.paths) & set(other.paths)]
    for factor in repeated:
        raise ConfigError("SWEEP", f"sweep of {factor.paths[0][:80]!r}: it is swept twice", where=factor.place)
    require_disjoint(factors)
    runs = math.prod(len(factor.rows) for factor in factors)
    if runs > MOST_RUNS:
        raise ConfigError("SWEEP", f"the sweep makes {runs} runs, more than {MOST_RUNS}", where=file.origin((SWEEP,)))
    return factors


def factors_of(key: str, value: Any, file: Layer) -> Iterator[SweepFactor]:
    """Yield the factors of one entry of a sweep: a path's values, or a `grid`, `zip` or `list` of several paths."""
    where = file.origin((SWEEP, key))
    if key not in (GRID, ZIP, LIST):
        yield SweepFactor((key,), [{key: one} for one in values_at(key, value, where)], where)
    elif key == LIST:
        yield SweepFactor(*list_rows(value, where), where)
    elif not isinstance(value, dict) or not value:
        raise ConfigError("SWEEP", f"{key} must be a section of config paths, each with a list", where=where)
    else:
        lists = {path: values_at(path, values, file.origin((SWEEP, key, path))) for path, values in value.items()}
        if key == GRID:
            yield from (SweepFactor((path,), [{path: one} for one in values], file.origin((SWEEP, key, path)))
                        for path, values in lists.items())
        else:
            yield SweepFactor((*lists,), zip_rows(lists, where), where)


def values_at(path: str, values: Any, where: str) -> list[Any]:
    """Return the values of a path: a list, or files that match a pattern; raises ConfigError and InputMissing."""
    require_path(path, where)
    if isinstance(values, dict) and set(values) == {"glob"} and isinstance(values["glob"], str):
        files = sorted(glob(values["glob"], recursive=True))  # noqa: PTH207 - a pattern may begin at the root
        if not files:
            raise InputMissing("GLOB", f"no file matches {values['glob'][:80]!r}", where=where,
                               hint="patterns are relative to the working directory, as input.path is")
        return files
    if not isinstance(values, list) or not values:
        raise ConfigError("SWEEP", f"sweep of {path[:80]!r}: give a list of at least one value", where=where)
    return values


def list_rows(rows: Any, where: str) -> tuple[Sequence[str], Sequence[Values]]:
    """Return the paths and the rows of a `list`, every row with the same paths; raises ConfigError."""
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) and row for row in rows):
        raise ConfigError("SWEEP", "list must hold sections of config paths, one for each run", where=where)
    for path in (path for row in rows for path in row):
        require_path(path, where)
        if path not in rows[0] or any(path not in row for row in rows):
            raise ConfigError("SWEEP", f"list: {path[:80]!r} is not in every one of its sections", where=where)
    return (*rows[0],), rows


def zip_rows(lists: Mapping[str, list[Any]], where: str) -> list[Values]:
    """Pair the values of all paths in order; raises ConfigError for lists of different lengths."""
    if len({len(values) for values in lists.values()}) > 1:
        counts = ", ".join(f"{len(values)} of {path[:40]}" for path, values in lists.items())
        raise ConfigError("SWEEP", f"zip needs lists of equal length, and there are {counts}", where=where)
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def require_path(path: str, where: str) -> None:
    """Raise ConfigError for a path that cannot be swept."""
    if path == "output":
        raise ConfigError("SWEEP", "sweep of 'output': the runs are named by their values below one output",
                          where=where)


def require_disjoint(factors: Sequence[SweepFactor]) -> None:
    """Raise ConfigError if a section and an option inside it are both swept."""
    paths = [path for factor in factors for path in factor.paths]
    for factor in factors:
        for path in factor.paths:
            if any(other != path and path.startswith(f"{other}.") for other in paths):
                raise ConfigError("SWEEP", f"sweep of {path[:80]!r}: a section above it is swept too",
                                  where=factor.place)


def refuse_if_set(path: str, place: str, upper: Layer) -> None:
    """Raise ConfigError for a swept option that is also set from outside: every run would be the same."""
    keys = tuple(path.split("."))
    if any(keys[:len(chosen)] == chosen for chosen in leaves(upper.values)):
        raise ConfigError("SWEEP", f"{path} is swept in {place} and also set", where=upper.origin(keys),
                          hint="leave one of the two out")


def leaves(values: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the values that are not sections."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from leaves(value, (*above, key))
        else:
            yield (*above, key)


def with_values(base: Layer, values: Values, file: Layer) -> Layer:
    """Return the file's layer with one combination of swept values."""
    for path, value in values.items():
        base = assignment(path, value, origin_of(path, file)).over(without(base, path))
    return base


def origin_of(path: str, file: Layer) -> str:
    """Return the origin of the values of a swept path in the file."""
    places = ((SWEEP, path), (SWEEP, GRID, path), (SWEEP, ZIP, path), (SWEEP, LIST))
    return next((file.origins[place] for place in places if place in file.origins), file.origin((SWEEP,)))


def without(layer: Layer, path: str) -> Layer:
    """Return a layer without the value at a path: a swept section replaces the file's instead of being merged."""
    key, _, rest = path.partition(".")
    inside = layer.values.get(key)
    if not rest:
        return replace(layer, values={name: value for name, value in layer.values.items() if name != key})
    if not isinstance(inside, dict):
        return layer
    return replace(layer, values={**layer.values, key: without(Layer(inside), rest).values})


def directory_names(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a distinct name for each run, by its values (config path to value)."""
    flat = [dict(flatten(values)) for values in runs]
    labels = last_parts({path: None for values in flat for path in values})
    return distinct_names([name_of(values, labels) for values in flat])


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
    first = [quoted_part(file_name(values[INPUT]))] if INPUT in values else []
    rest = [f"{quoted_part(labels[path])}={quoted_part(value_text(value))}" for path, value in values.items()
            if path != INPUT]
    return ",".join([*first, *rest])


def value_text(value: Any) -> str:
    """Return a value as in YAML, the items of a list joined by +."""
    if isinstance(value, list):
        return "+".join(map(value_text, value))
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    return str(value) if not isinstance(value, dict) else "{}"


def quoted_part(part: str) -> str:
    """Return a part of a name with characters that are special in a shell or a path as %XX."""
    kept = "".join(sign if sign.isalnum() or sign in PLAIN else "".join(f"%{byte:02X}" for byte in sign.encode(
        "utf-8", "surrogateescape")) for sign in part)
    return f"%{ord(kept[0]):02X}{kept[1:]}" if kept[:1] in (".", "-") else kept


def distinct_names(names: Sequence[str]) -> list[str]:
    """Return names, long ones cut to a beginning and a hash; repeated names get numbers."""
    short = [shortened_name(name) for name in names]
    counts, seen = Counter(short), Counter[str]()
    numbered = []
    for name in short:
        seen[name] += 1
        numbered.append(name if counts[name] == 1 else f"{name}-{seen[name]}")
    return numbered if len(set(numbered)) == len(numbered) else [f"{i + 1}-{name}" for i, name in enumerate(short)]


def shortened_name(name: str) -> str:
    """Return a name of at most 160 bytes: a longer one is cut and ends with its hash."""
    written = name.encode()
    if len(written) <= LONGEST:
        return name
    return f"{written[:LONGEST - 17].decode(errors='ignore')}-{hashlib.sha256(written).hexdigest()[:16]}"
