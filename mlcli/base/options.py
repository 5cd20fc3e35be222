"""Options: frozen declarations from which flags, YAML schema, help and pages are made."""

from functools import reduce
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from mlcli.errors import ConfigError


class Options(BaseModel):
    """A frozen set of options; each field states its default, its range and one sentence."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, protected_namespaces=())

    def chosen(self, name: str) -> bool:
        """Whether the user gave this field, as against its default."""
        return name in self.model_fields_set

    def replace(self, **values: Any) -> Self:
        """A copy with some fields changed; what the user chose stays marked as chosen."""
        return self.model_copy(update=values)

    def refuse_unused(self, because: str, hint: str = "leave it out", where: str = "method", **options: Any) -> None:
        """Raises ConfigError where options that have no use are neither at their defaults nor at the values named.

        `because` says why; an option of a section is named SECTION__OPTION, and `where` is the path of them all.
        """
        for name, harmless in options.items():
            *sections, last = name.split("__")
            holder: Options = reduce(getattr, sections, self)
            value = getattr(holder, last)
            if value not in (type(holder).model_fields[last].default, harmless):
                raise ConfigError("UNUSED", f"{last} was chosen and {because}", hint=hint,
                                  where=f"{where}.{name.replace('__', '.')}")


def option(default: Any, help: str, **limits: Any) -> Any:
    """A field of `Options`: its default, one sentence, and its range (`ge`, `gt`, `le`, `lt`)."""
    return Field(default=default, description=help, validate_default=True, **limits)
