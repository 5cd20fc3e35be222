"""Options: frozen declarations from which flags, YAML schema, help and pages are made."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field


class Options(BaseModel):
    """A frozen set of options; each field states its default, its range and one sentence."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, protected_namespaces=())

    def chosen(self, name: str) -> bool:
        """Whether the user gave this field, as against its default."""
        return name in self.model_fields_set

    def replace(self, **values: Any) -> Self:
        """A copy with some fields changed; what the user chose stays marked as chosen."""
        return self.model_copy(update=values)


def option(default: Any, help: str, **limits: Any) -> Any:
    """A field of `Options`: its default, one sentence, and its range (`ge`, `gt`, `le`, `lt`)."""
    return Field(default=default, description=help, validate_default=True, **limits)
