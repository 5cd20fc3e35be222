"""Descriptions of options in plain words: for the help of flags, `mlcli methods`, error messages, and reports."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from mlcli.base.frozen import frozen
from mlcli.base.values.choices import Choices, Names
from mlcli.base.values.options import TAG, Options, Power, Synonyms
from mlcli.base.values.plugins import Plugin

KINDS: dict[Any, str] = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
SECTION = "a section"
LIST = "a list of items, each "
LIMITS = {"ge": "at least", "gt": "over", "le": "at most", "lt": "below"}
NO_DEFAULT = ("input.path", "output")  # options without a meaningful default


@frozen
class OptionRow:
    """An option, or a section of options, in words."""

    path: str  # method.neighbors.count
    kind: str | Names  # a whole number; names are listed when they are asked for
    range: str  # at least 1
    default: str  # 10
    sentence: str
    only: Mapping[str, str] = field(default_factory=dict)  # section -> required alternative
    synonyms: Mapping[str, str] = field(default_factory=dict)  # another name -> the option's value in terms of it

    @property
    def type(self) -> str:
        """The type in words, with the names of a table that are allowed."""
        return self.kind if isinstance(self.kind, str) else listed([show(name) for name in self.kind.names()], "or")

    @property
    def words(self) -> str:
        """Type and range in one phrase: a whole number of at least 1."""
        return f"{self.type} {'of ' if self.range[:2] == 'at' else ''}{self.range}".strip()


def rows(options: type[Options], path: str = "", only: Mapping[str, str] | None = None,
         fields: Iterable[str] | None = None, usual: Options | None = None) -> Iterator[OptionRow]:
    """Yield every option of a set, or of some of its fields, sections before their options and alternatives in turn.

    Defaults are those of `usual`, the default of the section that holds them, else of the set itself.
    """
    only = only or {}
    for name in options.model_fields if fields is None else fields:
        info = options.model_fields[name]
        here, classes = f"{path}.{name}" if path else name, alternatives(info)
        if name == TAG and here != TAG:
            continue  # stands with the section that it chooses
        value = info.default if usual is None else getattr(usual, name)
        default, sentence = shown_default(info, value), sentence_of(name, info)
        yield OptionRow(path=here, kind=kind_of(info), range=limits(info.metadata),
                        default=default, sentence=sentence, only=only, synonyms=synonyms_of(info))
        if len(classes) > 1:
            names = listed([show(tag_of(kind)) for kind in classes], "or")
            yield OptionRow(path=f"{here}.{TAG}", kind=names, range="", default=default, sentence=sentence, only=only)
        for kind in classes:
            yield from rows(kind, here, {**only, here: tag_of(kind)} if len(classes) > 1 else only,
                            usual=value if isinstance(value, kind) else None)


def merge(described: Iterable[OptionRow]) -> list[tuple[OptionRow, list[tuple[str, ...]]]]:
    """Return options of a method, each with the alternatives that have it; none where it belongs to no alternative.

    An option that several alternatives have with the same default, range and sentence is one. An alternative is its
    name, behind that of the alternative that has it, if any: ("diffusion", "adaptive").
    """
    merged: dict[tuple[str, ...], tuple[OptionRow, list[tuple[str, ...]]]] = {}
    for row in described:
        names = tuple(tag for section, tag in row.only.items() if section != "method")
        _, known = merged.setdefault((row.path, row.words, row.default, row.sentence), (row, []))
        known.extend([names] if names else [])
    return list(merged.values())


def kind_of(info: FieldInfo) -> str | Names:
    """Return the type of a field in words, or the names that it takes, to be listed when they are asked for."""
    return next((item for item in info.metadata if isinstance(item, Names)), None) or in_words(info.annotation)


def kinds_at(options: type[Options], path: str) -> Iterator[str | Names]:
    """Yield the type of the option at a path under each alternative that has it, without describing any other."""
    key, _, rest = path.partition(".")
    info = options.model_fields.get(key)
    if info is not None and not rest:
        yield kind_of(info)
    elif info is not None:
        for kind in alternatives(info):
            yield from kinds_at(kind, rest)


def sentence_of(name: str, info: FieldInfo) -> str:
    """Return the description of a field: its own, else the first line of the class of its options."""
    classes = alternatives(info)
    if info.description or not classes:
        return info.description or ""
    return (classes[0].__doc__ or "").split("\n")[0] if len(classes) == 1 else f"The {name}."


def synonyms_of(info: FieldInfo) -> Mapping[str, str]:
    """Return other names of an option with the formulas that lead from there to it."""
    formulas = next((item.formulas for item in info.metadata if isinstance(item, Synonyms)), {})
    return {name: text.formula if isinstance(text, Power) else text for name, text in formulas.items()}


def alternatives(info: FieldInfo) -> list[type[Options]]:
    """Return the sets of options that a field may take: none for a plain value, several where a name chooses."""
    choices = choices_of(info)
    kinds = flat(info.annotation) if choices is None else choices.values()
    return [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Options)]


def choices_of(info: FieldInfo) -> Choices | None:
    """Return the table of the alternatives of a field, where they are loaded by name."""
    return next((item for item in info.metadata if isinstance(item, Choices)), None)


def plugins_in(options: Options) -> Iterator[Plugin]:
    """Yield the alternatives among chosen options that installed packages add."""
    for name, info in type(options).model_fields.items():
        value, choices = getattr(options, name), choices_of(info)
        if isinstance(value, Options):
            added = None if choices is None else choices.plugin(tag_of(type(value)))
            yield from [] if added is None else [added]
            yield from plugins_in(value)


def is_section(info: FieldInfo) -> bool:
    """Whether a field takes options, of one kind or of several."""
    return choices_of(info) is not None or bool(alternatives(info))


def several(info: FieldInfo) -> bool:
    """Whether a name chooses among alternatives of a field."""
    return choices_of(info) is not None or len(alternatives(info)) > 1


def alternative(info: FieldInfo, name: str) -> type[Options] | None:
    """Return the set of options that a name or an alias, in any case, chooses for a field, or the only one.

    None where there is none.
    """
    choices = choices_of(info)
    if choices is not None:
        return choices.named(name)
    kinds = alternatives(info)
    return kinds[0] if len(kinds) == 1 else next((kind for kind in kinds if name.lower() == tag_of(kind)), None)


def flat(annotation: Any) -> Iterator[Any]:
    """Yield the members of a union, or the type itself, without annotations."""
    if get_origin(annotation) is Annotated:
        yield from flat(get_args(annotation)[0])
    elif get_origin(annotation) in (Union, UnionType):
        for member in get_args(annotation):
            yield from flat(member)
    else:
        yield annotation


def tag_of(options: type[Options]) -> str:
    """Return the name that chooses an alternative."""
    return str(options.model_fields[TAG].default) if TAG in options.model_fields else options.__name__.lower()


def in_words(annotation: Any) -> str:
    """Return a type as a phrase, with the ranges of a union's members."""
    origin, members = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        range_ = limits(part for item in members[1:] for part in getattr(item, "metadata", [item]))
        return f"{in_words(members[0])} ({range_})" if range_ else in_words(members[0])
    if origin in (Union, UnionType):
        if SECTION in map(in_words, members) and NoneType in members:
            return f"{SECTION} or null"
        return listed(unique(word for member in members for word in choices(member)), "or")
    if origin is Literal:
        return listed(choices(annotation), "or")
    if origin in (tuple, list):
        return f"{LIST}{in_words(members[0])}"
    if isinstance(annotation, type) and issubclass(annotation, Options):
        return SECTION
    return KINDS.get(annotation, str(annotation))


def names_of(described: Iterable[OptionRow]) -> list[str]:
    """Return the names that an option takes under any of its alternatives; none if it takes other values."""
    return unique(name for row in described for name in quoted(row.type))


def quoted(kind: str) -> list[str]:
    """Return the names in the words of a type; also true and false."""
    return kind.removeprefix(LIST).split("'")[1::2] or (["true", "false"] if kind == KINDS[bool] else [])


def choices(annotation: Any) -> list[str]:
    """Return the words of a member of a union: each value of a literal, or its type; nothing for null."""
    if get_origin(annotation) is Literal:
        return [show(member) for member in get_args(annotation)]
    if annotation is bool:
        return ["true", "false"]
    return [] if annotation is NoneType else [in_words(annotation)]


def limits(metadata: Iterable[Any]) -> str:
    """Return the range of a field's limits in words."""
    parts = [f"{word} {getattr(item, key):g}" for item in metadata for key, word in LIMITS.items()
             if getattr(item, key, None) is not None]
    return " and ".join(parts)


def shown_default(info: FieldInfo, value: Any) -> str:
    """Return a field's default value as YAML would write it; empty for a section."""
    if value is PydanticUndefined:
        return "required" if info.default_factory is None else ""
    if isinstance(value, Options):
        return tag_of(type(value)) if len(alternatives(info)) > 1 else ""
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    return value if isinstance(value, str) else show(value)


def show(value: Any) -> str:
    """Return a value as a user would write it, cut to 40 characters."""
    if isinstance(value, dict):
        return "a section"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(show(item) for item in value[:5])}{', ...' if len(value) > 5 else ''}]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = repr(value)
    return text if len(text) <= 42 else f"{text[:40]}..."


def unique(items: Iterable[str]) -> list[str]:
    """Return the items in order without repetitions."""
    return list(dict.fromkeys(items))


def listed(items: Sequence[str], word: str) -> str:
    """Join items: a, b or c."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {word} {items[-1]}" if items else ""


@frozen
class Difference:
    """An option that is not at its default."""

    path: str
    value: str
    default: str


def differences(options: Options, base: Options | None = None, path: str = "") -> Iterator[Difference]:
    """Yield every option whose value differs from its default, sections before their options.

    A section that another one may replace, such as the method, is compared with its own defaults, and so is each of
    a list of sections, by its name, or else its number from 1.
    """
    for name, info in type(options).model_fields.items():
        here, value = f"{path}.{name}" if path else name, getattr(options, name)
        default = info.default if base is None else getattr(base, name)
        if isinstance(value, Options):
            same = type(default) is type(value)
            if not same and default is not PydanticUndefined:
                yield Difference(f"{here}.{TAG}", tag_of(type(value)), default_in_words(default))
            yield from differences(value, default if same else None, here)
        elif isinstance(value, tuple) and any(isinstance(item, Options) for item in value):
            for number, item in enumerate(value, start=1):
                yield from differences(item, None, f"{here}.{getattr(item, TAG, number)}")
        elif value != default and here not in NO_DEFAULT and not (name == TAG and here != TAG):
            yield Difference(here, show(value), default_in_words(default))


def default_in_words(default: Any) -> str:
    """Return a default as text; empty for an option without one."""
    if isinstance(default, Options):
        return tag_of(type(default))
    return "" if default is PydanticUndefined else show(default)
