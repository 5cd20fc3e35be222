"""Frozen values: dataclasses that share their methods, so that importing hundreds of them takes no time."""

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field
from dataclasses import fields as fields_of
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(kind: type[T]) -> type[T]:
    """A dataclass whose fields are set once; `dataclass(frozen=True)` would write and compile six methods of its own.
    """
    made = dataclass(init=False, repr=False, eq=False)(kind)
    fields = fields_of(made)  # type: ignore[arg-type]
    first = {"__init__": initializer(fields, checks=hasattr(made, "__post_init__"))}
    for name, method in {**first, **methods(fields)}.items():
        if name not in vars(made):
            setattr(made, name, method)
    return made


def methods(fields: tuple[Field[Any], ...]) -> dict[str, Any]:
    """Return the special methods of frozen values with these fields, by name, as `dataclass(frozen=True)` has them."""
    names = tuple(field.name for field in fields)

    def parts(value: Any) -> tuple[Any, ...]:
        return tuple(getattr(value, name) for name in names)

    def set_once(self: Any, name: str, value: Any) -> None:
        if name not in names or name in self.__dict__:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        object.__setattr__(self, name, value)

    def delete(self: Any, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def equal(self: Any, other: Any) -> bool:
        return parts(self) == parts(other) if type(self) is type(other) else NotImplemented

    def shown(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return {"__setattr__": set_once, "__delattr__": delete, "__eq__": equal,
            "__hash__": lambda self: hash(parts(self)), "__repr__": shown}


def initializer(fields: tuple[Field[Any], ...], *, checks: bool) -> Callable[..., None]:
    """Return the `__init__` of frozen values with these fields; it raises TypeError as that of a dataclass does.

    `checks` says whether they have a `__post_init__`.
    """
    starts: list[tuple[str, Any, Any]] = [(field.name, field.default, field.default_factory)
                                          for field in sorted(fields, key=lambda field: bool(field.kw_only))]
    places = tuple(field.name for field in fields if not field.kw_only)
    total = len(starts)

    def initialize(self: Any, *values: Any, **named: Any) -> None:
        own, count = self.__dict__, len(values)
        if count > len(places):
            raise TypeError(f"{type(self).__qualname__} takes {len(places)} values by place, not {count}")
        own.update(zip(places, values))  # noqa: B905 (the keyword takes as long as the call)
        for name, default, factory in starts[count:] if count < total else ():
            if name in named:
                own[name] = named.pop(name)
            elif default is not MISSING:
                own[name] = default
            elif factory is not MISSING:
                own[name] = factory()
            else:
                raise TypeError(f"{type(self).__qualname__} lacks a value for {name!r}")
        if named:
            raise TypeError(f"{type(self).__qualname__} has no {', '.join(map(repr, named))}, or has it already")
        if checks:
            self.__post_init__()

    return initialize
