"""Options: frozen declarations from which flags, YAML schema, help and pages are made."""

from collections.abc import Mapping
from copy import deepcopy
from functools import reduce
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field

from mlcli.base.frozen import frozen
from mlcli.base.values.scaling import Unit
from mlcli.errors import ConfigError


@frozen
class Carries:
    """Says of an option which power of the data's unit it carries."""

    power: int


@frozen
class Adapts:
    """Says of an option that its default depends on the data: one that was not chosen may be another value in a run."""


@frozen
class Synonyms:
    """Other names of an option in the literature and in other programs, each with the option's value in terms of it."""

    formulas: Mapping[str, str]


class Options(BaseModel):
    """A frozen set of options; each field states its default, its range and one sentence."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, protected_namespaces=())

    unkeyed: ClassVar[tuple[str, ...]] = ()  # fields that no result depends on

    def chosen(self, name: str) -> bool:
        """Whether the user gave this field, as against its default."""
        return name in self.model_fields_set

    def adapts_to_data(self, name: str) -> bool:
        """Whether this field has a default that depends on the data."""
        info = type(self).model_fields[name]
        return Adapts() in info.metadata and not self.chosen(name) and getattr(self, name) == info.default

    def replace(self, **values: Any) -> Self:
        """A copy with some fields changed; what the user chose stays marked as chosen."""
        return self.model_copy(update=values)

    def measured_in(self, unit: Unit, where: str = "method") -> Self:
        """These options with all that carry a power of the data's unit moved into it; raises NumericalError."""
        moved: dict[str, Any] = {}
        for name, info in type(self).model_fields.items():
            value, here = getattr(self, name), f"{where}.{name}"
            if isinstance(value, Options):
                moved[name] = value.measured_in(unit, here)
            for carried in info.metadata if value is not None else ():
                if isinstance(carried, Carries):
                    moved[name] = (unit**carried.power).parameter(value, here)
        changed = {name: value for name, value in moved.items() if value is not getattr(self, name)}
        return self.replace(**changed) if changed else self

    def refuse_unused(self, because: str, *paths: str, where: str = "method") -> dict[str, Any]:
        """Raises ConfigError where options that have no use are not at their defaults; `because` says why.

        A path names an option, a section for all that it holds, or PATH=VALUE one that may have that value too.
        Returns nothing to change, as an empty mapping.
        """
        for path in paths:
            names, _, harmless = path.partition("=")
            *sections, last = names.split(".")
            holder: Options = reduce(getattr, sections, self)
            value, here = getattr(holder, last), ".".join([where, *sections, last])
            if isinstance(value, Options):
                value.refuse_unused(because, *type(value).model_fields, where=here)
            elif value not in (type(holder).model_fields[last].default, harmless):
                raise ConfigError("UNUSED", f"{last} was chosen and {because}", where=here, hint="leave it out")
        return {}


def option_of(kind: type[Options], name: str) -> Any:
    """The field that other options have under this name: its default, its sentence and its range."""
    return deepcopy(kind.model_fields[name])


def option(default: Any, help: str, power: int = 0, *, adapts: bool = False, synonyms: Mapping[str, str] | None = None,
           **limits: Any) -> Any:
    """A field of `Options`: its default, one sentence, and its range (`ge`, `gt`, `le`, `lt`).

    One that carries a power of the data's unit is given in the user's units; a fit has it in those of the computation.
    One that `adapts` has a default that depends on the data. `synonyms` are other names of it, each with the formula
    that leads from there to this option.
    """
    field = Field(default=default, description=help, validate_default=True, **limits)
    if power:
        field.metadata.append(Carries(power))
    if adapts:
        field.metadata.append(Adapts())
    if synonyms:
        field.metadata.append(Synonyms(synonyms))
    return field
