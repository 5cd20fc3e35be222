"""Fields of a frozen value, and checks of their declared types."""

import types
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

PLAIN = (int, str, bool)  # compared by exact type: True is not a whole number here


class Unfit(ValueError):
    """A part of stored data that does not fit: its path and the reason."""


@cache
def declared(kind: Any) -> Mapping[str, Any]:
    """Return the declared types of the fields of a class."""
    return get_type_hints(kind)


def require_types(value: Any, place: str) -> None:
    """Raise Unfit if a field of a value is not of its declared type."""
    kind: Any = type(value)
    for part in fields(value):
        if not is_of(getattr(value, part.name), declared(kind)[part.name]):
            raise Unfit(f"{place}.{part.name} is of another type")


def is_of(value: Any, hint: Any) -> bool:
    """Whether a value is of a declared type."""
    origin, inside = get_origin(hint), get_args(hint)
    if hint is Any or isinstance(hint, TypeVar):
        return True
    if origin in (Union, types.UnionType):
        return any(is_of(value, one) for one in inside)
    if origin is Literal:
        return value in inside
    if origin is np.ndarray:
        number = get_args(inside[1])[0]
        return isinstance(value, np.ndarray) and (number is Any or value.dtype == number)
    if origin is tuple:
        return isinstance(value, tuple) and are_of(value, inside)
    if hint is float:
        return type(value) is float or (type(value) is int and abs(value) < 2**63)  # beyond, NumPy has no number of it
    return type(value) is hint if hint in PLAIN else isinstance(value, origin or hint)


def are_of(items: tuple[Any, ...], hints: tuple[Any, ...]) -> bool:
    """Whether the items of a tuple are of their declared types."""
    if hints[1:] != (...,):
        return len(items) == len(hints) and all(map(is_of, items, hints))
    if hints[0] in PLAIN:  # fast path: there may be a million names
        return set(map(type, items)) <= {hints[0]}
    return all(is_of(item, hints[0]) for item in items)


def nested_parts(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Yield a value and the values in its fields, in tuples too, each with its path."""
    if is_dataclass(value):
        yield place, value
        for part in fields(value):
            yield from nested_parts(getattr(value, part.name), f"{place}.{part.name}")
    elif isinstance(value, tuple) and value and is_dataclass(value[0]):
        for number, item in enumerate(value):
            yield from nested_parts(item, f"{place}.{number}")
