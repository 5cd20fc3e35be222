"""Frozen values: dataclasses that share their methods, so that importing hundreds of them takes no time."""

from dataclasses import Field, FrozenInstanceError, dataclass, field
from dataclasses import fields as fields_of
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(kind: type[T]) -> type[T]:
    """A dataclass whose fields are set once; `dataclass(frozen=True)` would write and compile five methods more."""
    made = dataclass(repr=False, eq=False)(kind)
    for name, method in methods(fields_of(made)).items():  # type: ignore[arg-type]
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
