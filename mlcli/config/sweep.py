"""A `sweep:` section: lists of values for config paths, expanded to numbered runs."""

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mlcli.config.layers import Layer, assignment
from mlcli.errors import ConfigError

SWEEP = "sweep"
MOST_RUNS = 10_000


def expanded(file: Layer, upper: Layer, output: str) -> list[Layer]:
    """The runs that a file describes under the layers above it: one, or one for each combination of swept values.

    Runs of a sweep are written to OUTPUT/001, OUTPUT/002, ..., the last path of the sweep varying fastest.
    """
    lists = swept(file)
    base = Layer({key: value for key, value in file.values.items() if key != SWEEP}, file.origins)
    if not lists:
        return [upper.over(base)]
    for path in lists:
        refuse_if_set(path, upper, file)
    directory = directory_of(upper.over(base), output)
    combinations = list(itertools.product(*lists.values()))
    width = max(3, len(str(len(combinations))))
    layers = (upper.over(one(base, dict(zip(lists, values, strict=True)), file)) for values in combinations)
    return [numbered(layer, directory / f"{number:0{width}}") for number, layer in enumerate(layers, start=1)]


def directory_of(layer: Layer, otherwise: str) -> Path:
    """The directory that holds the runs of a sweep."""
    output = layer.values.get("output")
    if output is not None and (not isinstance(output, str) or output in ("", "-")):
        raise ConfigError("SWEEP", f"the runs of a sweep need a directory, not {str(output)[:40]!r}",
                          where=layer.origin(("output",)), hint="give one with -o")
    return Path(output or otherwise)


def swept(file: Layer) -> dict[str, list[Any]]:
    """The lists of a file's sweep by config path, checked; empty where there is no sweep."""
    lists = file.values.get(SWEEP, {})
    if not isinstance(lists, dict):
        raise ConfigError("SWEEP", "sweep must be a section of config paths", where=file.origin((SWEEP,)),
                          hint="write sweep: {method.neighbors.count: [5, 10]}")
    for path, values in lists.items():
        problem = problem_with(path, values, lists)
        if problem:
            raise ConfigError("SWEEP", f"sweep of {path[:80]!r}: {problem}", where=file.origin((SWEEP, path)))
    runs = math.prod(len(values) for values in lists.values())
    if runs > MOST_RUNS:
        raise ConfigError("SWEEP", f"the sweep makes {runs} runs, more than {MOST_RUNS}", where=file.origin((SWEEP,)))
    return lists


def problem_with(path: str, values: Any, lists: dict[str, Any]) -> str:
    """What is wrong with one entry of a sweep, or nothing."""
    if not isinstance(values, list) or not values:
        return "give a list of at least one value"
    if path == "output":
        return "the runs are numbered below one output"
    if any(other != path and path.startswith(f"{other}.") for other in lists):
        return "a section above it is swept too"
    return ""


def refuse_if_set(path: str, upper: Layer, file: Layer) -> None:
    """A swept option may not be set from outside as well: every run would be the same."""
    keys = tuple(path.split("."))
    if any(keys[:len(chosen)] == chosen for chosen in leaves(upper.values)):
        raise ConfigError("SWEEP", f"{path} is swept in {file.origin((SWEEP, path))} and also set",
                          where=upper.origin(keys), hint="leave one of the two out")


def leaves(values: dict[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of the values that are not sections."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from leaves(value, (*above, key))
        else:
            yield (*above, key)


def one(base: Layer, values: dict[str, Any], file: Layer) -> Layer:
    """The file's layer with one combination of swept values in place."""
    for path, value in values.items():
        base = assignment(path, value, file.origin((SWEEP, path))).over(without(base, path))
    return base


def without(layer: Layer, path: str) -> Layer:
    """A layer without the value at a path: a swept section replaces the file's, and is not merged into it."""
    key, _, rest = path.partition(".")
    inside = layer.values.get(key)
    if not rest:
        return Layer({name: value for name, value in layer.values.items() if name != key}, layer.origins)
    if not isinstance(inside, dict):
        return layer
    return Layer({**layer.values, key: without(Layer(inside), rest).values}, layer.origins)


def numbered(layer: Layer, directory: Path) -> Layer:
    """The layer of a run that is written to its own directory."""
    return Layer({"output": str(directory)}, {("output",): SWEEP}).over(layer)
