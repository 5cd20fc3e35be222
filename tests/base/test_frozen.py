"""Frozen values behave as the standard library's frozen dataclasses do."""

import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import pytest

from mlcli.base.frozen import frozen


@frozen
class Ours:
    """A value with every kind of field."""

    kind: ClassVar[str] = "point"
    x: float
    names: tuple[str, ...] = ()
    parts: dict[str, int] = field(default_factory=dict)
    place: int = field(default=0, kw_only=True)

    @cached_property
    def double(self) -> float:
        """What is computed once."""
        return 2 * self.x


@frozen
class Further(Ours):
    """A value with a field more."""

    y: float = 1.0


@dataclass(frozen=True)
class Theirs:
    """The same by the standard library."""

    kind: ClassVar[str] = "point"
    x: float
    names: tuple[str, ...] = ()
    parts: dict[str, int] = field(default_factory=dict)
    place: int = field(default=0, kw_only=True)


def change(value: Any) -> None:
    value.x = 2.0


def add(value: Any) -> None:
    value.z = 2.0


def shadow(value: Any) -> None:
    value.kind = "line"


def delete(value: Any) -> None:
    del value.x


@pytest.mark.parametrize("kind", [Ours, Further, Theirs])
@pytest.mark.parametrize("attempt", [change, add, shadow, delete])
def test_nothing_changes_a_value(kind: Any, attempt: Callable[[Any], None]) -> None:
    value = kind(1.0, place=3)
    with pytest.raises(FrozenInstanceError):
        attempt(value)
    assert value == kind(1.0, place=3) and not hasattr(value, "z") and value.kind == "point"


@pytest.mark.parametrize("kind", [Ours, Theirs])
def test_values_are_equal_by_their_fields_and_type(kind: Any) -> None:
    assert kind(1.0, ("a",)) == kind(1.0, names=("a",)) != kind(1.0, ("b",))
    assert kind(1.0) != kind(1.0, place=1) and kind(1.0) != Further(1.0) and kind(1.0) != 1.0
    assert kind(1.0).parts is not kind(1.0).parts


def test_the_same_text_hash_and_errors() -> None:
    ours, theirs = Ours(1.0, ("a",), place=3), Theirs(1.0, ("a",), place=3)
    assert repr(ours) == repr(theirs).replace("Theirs", "Ours")
    flat, same = replace(ours, parts=()), replace(theirs, parts=())  # type: ignore[arg-type]
    assert hash(flat) == hash(same) and len({flat, replace(flat), replace(flat, x=2.0)}) == 2
    for kind in (Ours, Theirs):
        with pytest.raises(TypeError):
            hash(kind(1.0))  # a dictionary has no hash
        with pytest.raises(TypeError):
            kind()
        for values, named in [((1.0, (), {}, 3), {}), ((1.0,), {"x": 2.0}), ((1.0,), {"z": 2.0})]:
            with pytest.raises(TypeError):
                kind(*values, **named)


def test_values_stand_in_the_order_of_the_fields() -> None:
    for kind in (Ours, Theirs):
        assert [*vars(kind(place=3, names=("a",), x=1.0))] == ["x", "names", "parts", "place"]


def test_it_is_a_dataclass() -> None:
    assert is_dataclass(Further) and [part.name for part in fields(Further)] == ["x", "names", "parts", "place", "y"]
    assert replace(Further(1.0, place=2), y=3.0) == Further(1.0, y=3.0, place=2)
    assert Further(3.0).double == 6.0
    assert pickle.loads(pickle.dumps(Further(3.0, place=2))) == Further(3.0, place=2)


def test_methods_of_its_own_stay() -> None:
    @frozen
    class Alike:
        x: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Alike)

        def __repr__(self) -> str:
            return "alike"

    assert Alike(1) == Alike(2) and repr(Alike(1)) == "alike"
