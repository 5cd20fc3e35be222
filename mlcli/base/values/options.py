"""Options: frozen declarations, the source of flags, YAML schema, help and pages."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from mlcli.base.frozen import frozen
from mlcli.base.values.scaling import Unit
from mlcli.errors import ConfigError

TAG = "name"  # the field that names the alternative of a section


@frozen
class Carries:
    """Marks an option that carries a power of the data's unit."""

    power: int


@frozen
class Adapts:
    """Marks an option whose default depends on the data: unless it is chosen, a run may use another value."""


@frozen
class Power:
    """The formula c xᵉ of an option in terms of another name x: such a name is understood."""

    formula: str
    factor: float
    exponent: int

    def of(self, value: float) -> float:
        """Return the option; infinite or 0 where it leaves the range of doubles."""
        try:
            return float(self.factor * value**self.exponent)
        except OverflowError:
            return float("inf")


@frozen
class Synonyms:
    """Other names of an option in the literature and in other programs, each with the option's value in terms of it."""

    formulas: Mapping[str, str | Power]


class Options(BaseModel):
    """A frozen set of options; each field states its default, its range and one sentence."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, protected_namespaces=(),
                              defer_build=True)  # one that no run validates is never built

    unkeyed: ClassVar[tuple[str, ...]] = ()  # fields that no result depends on

    @model_validator(mode="before")
    @classmethod
    def complete_sections(cls, values: Any) -> Any:
        """Return values whose sections are completed by the defaults of these options, as those of a method."""
        if not isinstance(values, dict):
            return values
        completed = {name: info.default.under(values[name]) for name, info in cls.model_fields.items()
                     if name in values and isinstance(info.default, Options)}
        return {**values, **completed}

    def under(self, section: Any) -> Any:
        """Return a section given in part with what its default, these options, chooses where the part is silent.

        A section of another alternative, and whatever is no mapping, is returned as it is.
        """
        if not isinstance(section, dict) or section.get(TAG, tag := getattr(self, TAG, None)) != tag:
            return section
        chosen = {name: getattr(self, name) for name in self.model_fields_set}
        inside = {name: value.under(section[name]) for name, value in chosen.items()
                  if name in section and isinstance(value, Options)}
        return {**chosen, **section, **inside}

    def chosen(self, name: str) -> bool:
        """Whether the user set this field."""
        return name in self.model_fields_set

    def adapts_to_data(self, name: str) -> bool:
        """Whether this field has a default that depends on the data."""
        info = type(self).model_fields[name]
        return Adapts() in info.metadata and not self.chosen(name) and getattr(self, name) == info.default

    def replace(self, **values: Any) -> Self:
        """Return a copy with some fields changed; fields that the user chose stay marked as chosen."""
        copy = self.model_copy(update=values)
        for name in vars(copy).keys() - type(self).model_fields.keys():  # properties that followed from the others
            del vars(copy)[name]
        return copy

    def measured_in(self, unit: Unit, where: str = "method") -> Self:
        """Return the options with those that carry a power of the data's unit converted to `unit`.

        Raises NumericalError where a value leaves the range of doubles.
        """
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

    def refuse_unused(self, because: str, *paths: str, where: str = "method",
                      usual: "Options | None" = None) -> dict[str, Any]:
        """Raise ConfigError for unused options that are not at their defaults; `because` gives the reason.

        A path names an option or a section with all its options; PATH=VALUE allows that value too. Defaults are those
        of `usual`, the default of the section that these options are. Returns an empty mapping: no changes.
        """
        for path in paths:
            names, _, harmless = path.partition("=")
            *sections, last = names.split(".")
            holder, known = self, self._defaults(usual)
            for name in sections:
                holder = getattr(holder, name)
                known = holder._defaults(getattr(known, name))
            value, default, here = getattr(holder, last), getattr(known, last), ".".join([where, *sections, last])
            if isinstance(value, Options):
                value.refuse_unused(because, *type(value).model_fields, where=here, usual=default)
            elif value not in (default, harmless):
                raise ConfigError("UNUSED", f"{last} has no effect: {because}", where=here, hint="leave it out")
        return {}

    def _defaults(self, usual: Any) -> Self:
        """Return the defaults of these options: the `usual` ones of their section, or of another alternative its own.
        """
        return usual if type(usual) is type(self) else type(self).model_construct()


def option_of(kind: type[Options], name: str) -> Any:
    """Return a copy of the field of other options with this name: its default, sentence and range."""
    return deepcopy(kind.model_fields[name])


def option(default: Any, help: str, power: int = 0, *, adapts: bool = False,
           synonyms: Mapping[str, str | Power] | None = None, **limits: Any) -> Any:
    """Return a field of `Options`: its default, one sentence, and its range (`ge`, `gt`, `le`, `lt`).

    `power` is that of the data's unit: users give the option in their units, and a fit has it in those of the
    computation. `adapts` marks a default that depends on the data. `synonyms` are other names of the option, each with
    the formula for this option; a `Power` is computed, and other formulas are hints.
    """
    field = Field(default=default, description=help, validate_default=True, **limits)
    if power:
        field.metadata.append(Carries(power))
    if adapts:
        field.metadata.append(Adapts())
    if synonyms:
        field.metadata.append(Synonyms(synonyms))
    return field
