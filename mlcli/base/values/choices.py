"""Options of which one is chosen by its name, loaded only when it is.

A run needs one method, and importing the others, with all that they compute, would take longer than most runs. So a
table names the module of each, and what is asked of all of them (the help, the schema, a remedy) imports all of them.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from typing import Annotated, Any, Literal, Union

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

from mlcli.base.values.options import TAG, Options


class Choices(Mapping[str, type[Any]]):
    """Sets of options by name, each imported when it is looked up; as an annotation, the type of such a section."""

    def __init__(self, base: type[Options], modules: Mapping[str, str], aliases: Mapping[str, str] | None = None,
                 ) -> None:
        self.base, self.modules, self.aliases = base, dict(modules), dict(aliases or {})
        self.kinds: dict[str, type[Any]] = {}

    def __getitem__(self, name: str) -> type[Any]:
        if name not in self.kinds:
            self.kinds[name] = declared(self.modules[name], name, self.base)
        return self.kinds[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.modules

    def __iter__(self) -> Iterator[str]:
        return iter(self.modules)

    def __len__(self) -> int:
        return len(self.modules)

    def other_names(self, name: str) -> list[str]:
        """Return the aliases of a name."""
        return [alias for alias, of in self.aliases.items() if of == name]

    def load_all(self) -> None:
        """Import all alternatives."""
        for name in self.modules:
            self[name]

    def add(self, kind: type[Options]) -> None:
        """Add a set of options that is already declared."""
        name = str(kind.model_fields[TAG].default)
        self.modules[name], self.kinds[name] = kind.__module__, kind

    def named(self, name: str) -> type[Any] | None:
        """Return the options of a name or an alias, whatever its case, also with underscores as in Python; None where
        there are none.
        """
        lowered = name.lower()
        forms = (lowered, lowered.replace("_", "-"), lowered.replace("_", ""))
        known = (self.get(self.aliases.get(form, form)) for form in forms)
        return next((kind for kind in known if kind is not None), None)

    @cached_property
    def union(self) -> Any:
        """All alternatives as one type; imports all of them."""
        return Annotated[Union[tuple(self.values())], Field(discriminator=TAG)]  # noqa: UP007

    def validate(self, value: Any) -> Options:
        """Return a section as options, by its name; raises the errors of a union that a name discriminates."""
        if isinstance(value, self.base):
            return value
        if not isinstance(value, dict):
            raise PydanticKnownError("model_attributes_type")
        if TAG not in value:
            raise PydanticKnownError("union_tag_not_found", {"discriminator": f"'{TAG}'"})
        if value[TAG] not in self:  # it may hold half of a surrogate pair, which no text of an error can
            tag = str(value[TAG]).encode("utf-8", "backslashreplace").decode()
            raise PydanticKnownError("union_tag_invalid", {
                "discriminator": f"'{TAG}'", "tag": tag, "expected_tags": ", ".join(map(repr, self))})
        chosen: Options = self[value[TAG]].model_validate(value)
        return chosen

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.validate)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return handler(TypeAdapter(self.union).core_schema)


class NamedChoices(Choices):
    """Choices of which a name alone, or another name of one, is a section as well: `l1` is `{name: cityblock}`."""

    def validate(self, value: Any) -> Options:
        """Return a section, or the name of one, as options."""
        value = {TAG: value} if isinstance(value, str) else value
        name = value.get(TAG) if isinstance(value, dict) else None
        return super().validate({**value, TAG: self.aliases[name]} if isinstance(name, str) and name in self.aliases
                                else value)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return handler(TypeAdapter(self.union | Literal[tuple(self)]).core_schema)


def declared(module: str, name: str, base: type[Options]) -> type[Any]:
    """Return the options of this name that a module declares; raises LookupError where it does not."""
    for kind in vars(import_module(module)).values():
        if (isinstance(kind, type) and issubclass(kind, base) and kind.__module__ == module
                and TAG in kind.model_fields and kind.model_fields[TAG].default == name):
            return kind
    raise LookupError(f"{module} declares no options of the name {name!r}")
