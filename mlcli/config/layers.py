"""The layers of a configuration, each value with its origin: file < environment < `--set` < flags."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from mlcli.base.frozen import frozen
from mlcli.config.yaml_file import Keys, parse, read_document, reason, scalar_of, tag_of
from mlcli.errors import ConfigError

PREFIX = "MLCLI__"
KIND, SIMILARITIES = ("input", "kind"), ("input", "similarities")
SET = "--set "  # before an assignment, in the origin of its value


@frozen
class Layer:
    """Nested values, and the origin of each."""

    values: dict[str, Any] = field(default_factory=dict)
    origins: Mapping[Keys, str] = field(default_factory=dict)  # path of keys -> "run.yaml:4:3", "-k", "--set ..."
    either: Mapping[str, str] = field(default_factory=dict)  # of a flag: path -> the one used if it is no option
    needs: tuple[str, ...] = ()  # packages with their versions, as the file names them

    def over(self, lower: "Layer") -> "Layer":
        """Return this layer on top of a lower one: mappings are merged, other values replaced."""
        return Layer(merged(lower.values, self.values), {**lower.origins, **self.origins},
                     {**lower.either, **self.either}, (*self.needs, *lower.needs))

    def origin(self, keys: Keys) -> str:
        """Return the origin of the value at a path.

        Its own, else one of a value inside it, else one of a section around it.
        """
        below = (place for path, place in self.origins.items() if path[:len(keys)] == keys)
        above = (self.origins[keys[:size]] for size in range(len(keys), -1, -1) if keys[:size] in self.origins)
        return self.origins.get(keys) or next(below, "") or next(above, "")

    def rank(self, keys: Keys) -> int:
        """Return the height of the layer that set the value at a path: file or Python, environment, `--set`, flag."""
        origin = self.origin(keys)
        return 2 if origin.startswith(SET) else 3 if self.by_flag(keys) else int(origin.startswith(PREFIX))

    def by_flag(self, keys: Keys) -> bool:
        """Whether a flag of its own set the value at a path."""
        origin = self.origin(keys)
        return origin.startswith("-") and not origin.startswith(SET)

    def written(self, keys: Keys) -> bool:
        """Whether the value at a path is of a command line, the environment or a file, and not of a call in Python."""
        origin = self.origin(keys)
        return origin.startswith(("-", PREFIX)) or ":" in origin

    def place_of(self, path: str) -> str:
        """Return the origin of the value at a dotted path, or inside it; empty if it is a default."""
        keys = tuple(path.split("."))
        return self.origin(keys) if any(known[:len(keys)] == keys for known in self.origins) else ""

    def drop(self, keys: Keys) -> "Layer":
        """Return the layer without the value at a path and its origins, and without a section that this leaves empty.
        """
        return replace(self, values=without_value(self.values, keys),
                       origins={path: origin for path, origin in self.origins.items() if path[:len(keys)] != keys})


def from_file(path: Path) -> Layer:
    """Return the layer of a YAML file; raises ConfigError and InputMissing."""
    document = read_document(path)
    return Layer(document.value, document.places, needs=document.needs)


def from_environment(environment: Mapping[str, str]) -> Layer:
    """Return the layer of variables such as MLCLI__COMPUTE__THREADS=4."""
    layer = Layer()
    for name in sorted(name for name in environment if name.startswith(PREFIX)):
        path = ".".join(name.removeprefix(PREFIX).lower().split("__"))
        layer = assignment(path, value_of(environment[name], name), name).over(layer)
    return layer


def from_assignments(texts: Iterable[str]) -> Layer:
    """Return the layer of all `--set section.key=value`; raises ConfigError for two values of one key."""
    layer, said = Layer(), dict[str, Any]()
    for text in texts:
        path, equals, value = text.partition("=")
        origin = f"{SET}{text[:80]}"
        if not equals:
            raise ConfigError("SET", "there is no value", where=origin, hint="write --set section.key=value")
        path, given = path.strip(), value_of(value, origin)
        if said.setdefault(path, given) != given:
            raise ConfigError("SET-TWICE", f"{path[:80]} is set to two values", where=origin,
                              hint="leave one of them out; a run for each is a sweep (docs/sweeps.md)")
        layer = assignment(path, given, origin).over(layer)
    return layer


def assignment(path: str, value: Any, origin: str, other: str | None = None) -> Layer:
    """Return the layer that sets one value at a dotted path, or at path `other` if the first is not an option."""
    keys = tuple(path.split("."))
    if not all(keys):
        raise ConfigError("SET", f"{path[:80]!r} is not a path of keys", where=origin, hint="write section.key=value")
    nested = value
    for key in reversed(keys):
        nested = {key: nested}
    return Layer(nested, dict.fromkeys(paths(keys, value), origin), {path: other} if other else {})


def with_kind(layer: Layer) -> Layer:
    """Return the layer with the kind of input that a rule for similarities implies, unless one is chosen."""
    rule, kind = (at_path(layer.values, path) for path in (SIMILARITIES, KIND))
    if rule is None or kind is not None:
        return layer
    return assignment(".".join(KIND), "dissimilarities", layer.origin(SIMILARITIES)).over(layer)


def value_of(text: str, origin: str) -> Any:
    """Return the value of a text: quoted, a flow list or mapping, or a plain scalar by YAML 1.2's rules."""
    plain = text.strip() or text  # blanks alone are meant, as in input.separator=' '
    if plain[:1] in ("[", "{", '"', "'"):
        return parse(plain, lambda mark: origin).value
    try:
        return scalar_of(plain, tag_of(plain))
    except ValueError as error:
        raise ConfigError("SET", f"{plain[:40]!r} cannot be read: {reason(error)}", where=origin) from error


def paths(keys: Keys, value: Any) -> Iterator[Keys]:
    """Yield the path of a value and of every value inside it."""
    yield keys
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield from paths((*keys, key), item)


def at_path(values: Any, keys: Iterable[str | int]) -> Any:
    """Return the value at a path of nested mappings; None where there is none."""
    for key in keys:
        values = values.get(key) if isinstance(values, dict) else None
    return values


def without_value(values: dict[Any, Any], keys: Sequence[str | int]) -> dict[Any, Any]:
    """Return nested values without the one at a path, and without a section that this leaves empty."""
    key, *rest = keys
    others = {name: value for name, value in values.items() if name != key}
    inner = without_value(values[key], rest) if rest else {}
    return {**others, key: inner} if inner else others


def merged(lower: dict[str, Any], upper: dict[str, Any]) -> dict[str, Any]:
    """Merge two nested mappings; values of the upper one take precedence."""
    both = {key: merged(lower[key], value) for key, value in upper.items()
            if isinstance(value, dict) and isinstance(lower.get(key), dict)}
    return {**lower, **upper, **both}
