"""Options of which one is chosen by its name, loaded only when it is.

A run needs one method, and importing the others, with all that they compute, would take longer than most runs. So a
table names the module and the class of each, and what is asked of all of them (the help, the schema, a remedy) imports
all of them. Installed packages may add to an open table (`plugins.py`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Union

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

from mlcli.base.values.options import TAG, Options
from mlcli.base.values.plugins import OpenTable, Table, object_at


class Names(ABC):
    """The names of a table that an option may have, as the annotation of a text."""

    @abstractmethod
    def names(self) -> list[str]:
        """Return the names; those of installed packages last."""

    @abstractmethod
    def fits(self, name: str) -> bool:
        """Whether it is one of the names."""

    def require(self, value: Any) -> str:
        """Return a name; raises the error of a literal for anything else."""
        if isinstance(value, str) and self.fits(value):
            return value
        *others, last = map(repr, self.names())
        raise PydanticKnownError("literal_error", {"expected": f"{', '.join(others)} or {last}"})

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.require)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"enum": self.names(), "type": "string"}


class Choices(OpenTable[type[Any]]):
    """Sets of options by name, each imported when it is looked up; as an annotation, the type of such a section.

    `places` has MODULE:CLASS by name. `defect` says what classes of installed packages lack.
    """

    def __init__(self, base: type[Options], places: Mapping[str, str], aliases: Mapping[str, str] | None = None,
                 table: Table | None = None, defect: Callable[[type[Any]], str] = lambda kind: "") -> None:
        self.base, self.aliases, self.defect = base, dict(aliases or {}), defect
        super().__init__(places, table, self.aliases)
        self.kinds: dict[str, type[Any]] = {}

    def __getitem__(self, name: str) -> type[Any]:
        if name not in self.kinds:
            added = self.plugin(name)
            self.kinds[name] = object_at(self.own[name]) if added is None else added.load(
                lambda kind: self._fault(kind, name))
        return self.kinds[name]

    def _fault(self, kind: Any, name: str) -> str:
        """Return what is wrong with the class of a package for a name; empty if it can be used."""
        if not (isinstance(kind, type) and issubclass(kind, self.base)):
            return f"it is no class derived from {self.base.__module__}.{self.base.__name__}"
        if TAG not in kind.model_fields or kind.model_fields[TAG].default != name:
            return f"the default of its field `{TAG}` is not {name!r}"
        kind.model_rebuild()  # which raises for options without a schema
        return self.defect(kind)

    def other_names(self, name: str) -> list[str]:
        """Return the aliases of a name."""
        return [alias for alias, of in self.aliases.items() if of == name]

    def load_all(self) -> None:
        """Import all alternatives."""
        for name in self:
            self[name]

    def add(self, kind: type[Options]) -> None:
        """Add a set of options that is already declared."""
        name = str(kind.model_fields[TAG].default)
        self.own[name], self.kinds[name] = f"{kind.__module__}:{kind.__qualname__}", kind

    def named(self, name: str) -> type[Any] | None:
        """Return the options of a name or an alias, whatever its case, also with underscores as in Python; None where
        there are none.
        """
        lowered = name.lower()
        forms = (lowered, lowered.replace("_", "-"), lowered.replace("_", ""))
        names = [self.aliases.get(form, form) for form in forms]
        known = (self[form] for form in sorted(names, key=lambda form: form not in self.own) if form in self)
        return next(known, None)

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
