"""Every option of a method with values that it may have, read from the declarations."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from mlcli.base.values.options import TAG, Options
from mlcli.config.describe import alternatives, flat, tag_of


@dataclass(frozen=True)
class Change:
    """An option with a value."""

    path: tuple[str, ...]  # of what is replaced: the option, or the whole section where a name chooses one
    value: Any
    name: str  # of the option: neighbors.count
    automatic: bool  # whether auto, its default, may have chosen this very value
    bounds: bool  # whether it is a number


def changes(options: type[Options], path: tuple[str, ...] = (), name: str = "") -> Iterator[Change]:
    """Every option under a set of options, alternatives of sections included, with some values each."""
    for key, info in options.model_fields.items():
        found, here, called = alternatives(info), (*path, key), f"{name}.{key}" if name else key
        if key == TAG:
            continue  # stands with the section that it chooses
        if not found:
            yield from (Change(here, value, called, info.default == "auto", not isinstance(value, str | bool))
                        for value in values(info))
        for kind in found:
            if len(found) == 1:
                yield from changes(kind, here, called)
                continue
            tag = {TAG: tag_of(kind)}
            if not isinstance(info.default, kind):
                yield Change(here, tag, f"{called}.{TAG}.{tag_of(kind)}", False, False)
            yield from (Change(here, {**tag, inner.path[-1]: inner.value}, f"{called}.{tag_of(kind)}.{inner.name}",
                               inner.automatic, inner.bounds) for inner in changes(kind))


def values(info: FieldInfo) -> list[Any]:
    """Values of a plain option: all choices, and numbers small and large that are not its default."""
    found: list[Any] = []
    for member in flat(info.annotation):
        if get_origin(member) is Literal:
            found += get_args(member)
        elif member is bool:
            found += [True, False]
        elif member is int:
            start = info.default if type(info.default) is int else 2
            found += [start + 1, start // 2, start * 2, 1]
        elif member is float:
            start = info.default if isinstance(info.default, float) else 0.3
            found += [start / 1000, start * 2, 0.5]
    return [value for value in found if isinstance(value, str | bool) or (
        value != info.default and allowed(info, value))]


def allowed(info: FieldInfo, value: float) -> bool:
    """Whether a number lies in an option's range."""
    return all(value >= getattr(part, "ge", value) and value > getattr(part, "gt", value - 1)
               and value <= getattr(part, "le", value) and value < getattr(part, "lt", value + 1)
               for part in info.metadata)


def plain(given: dict[str, Any]) -> dict[str, Any]:
    """Options as in YAML, with a number of neighbors as a section."""
    count = given.get("neighbors")
    return {**given, "neighbors": {"count": count}} if isinstance(count, int) else given


def with_change(given: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Options with one changed; a section that its name chooses is replaced, unless it has that name already."""
    key, *rest = path
    old = given.get(key)
    if rest:
        return {**given, key: with_change(old if isinstance(old, dict) else {}, tuple(rest), value)}
    if isinstance(value, dict) and isinstance(old, dict) and old.get(TAG) == value[TAG]:
        return {**given, key: {**old, **value}}
    return {**given, key: value}
