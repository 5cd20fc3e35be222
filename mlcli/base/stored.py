"""Registries of storable values: of a model, with the shapes of their arrays, and of stage results in a cache.

Each declares its tag where it is defined.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from mlcli.base.frozen import frozen

T = TypeVar("T")


@frozen
class Storable:
    """A kind of value that can be stored, as it is checked when it is read back.

    Equal letters mean equal lengths within a model: i columns of the input, k of them that are kept, d numbers
    of a new row, c columns of its similarities, p axes, n points of a graph; the others belong to one value, and an
    underscore stands for any length.
    """

    tag: str
    kind: type[Any]
    shapes: Mapping[str, str]  # a letter for each axis of an array, by the names of the fields
    within: Mapping[str, str]  # arrays of places, from 0 to below the length of the letter
    positive: Collection[str]  # arrays of numbers above zero


RESULTS: dict[str, type[Any]] = {}  # by tag
BY_TAG: dict[str, Storable] = {}
BY_KIND: dict[type[Any], Storable] = {}


def stored(tag: str = "", *, within: Mapping[str, str] | None = None, positive: Collection[str] = (),
           **shapes: str) -> Callable[[type[T]], type[T]]:
    """Declares a class whose values can be stored, under a tag of its own; raises ValueError for a tag that is taken.

    A class of another package has no tag: it is stored under its place, MODULE:CLASS, where a model finds it.
    """

    def declare(kind: type[T]) -> type[T]:
        own = tag or f"{kind.__module__}:{kind.__qualname__}"
        if own in BY_TAG:
            raise ValueError(f"two kinds of values are stored as {own!r}")
        BY_TAG[own] = BY_KIND[kind] = Storable(own, kind, shapes, within or {}, positive)
        return kind

    return declare


def result(tag: str) -> Callable[[type[T]], type[T]]:
    """Declares a class whose values a cache may keep as results of stages; raises ValueError for a tag that is taken.
    """

    def declare(kind: type[T]) -> type[T]:
        if tag in RESULTS:
            raise ValueError(f"two kinds of results are stored as {tag!r}")
        RESULTS[tag] = kind
        return kind

    return declare
