"""YAML files, read strictly (YAML 1.2, plain data, each key once, with the origin of each value) and written."""

import itertools
import math
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import field, replace
from pathlib import Path
from typing import Any

import yaml

from mlcli.base.frozen import frozen
from mlcli.base.machine.small_files import LARGEST, content_of
from mlcli.data.files.source import require_piped
from mlcli.errors import ConfigError, InputMissing

CORE = "tag:yaml.org,2002:"
LONGEST = 1000  # characters of a whole number: Python refuses to show one of more than 4,300 digits
Keys = tuple[str | int, ...]  # a path in nested values
NEEDS = "# needs the package "  # begins a first line of the configuration of a run, before name and version
Locate = Callable[[Any], str]  # from a mark of the parser to file:line:column
DEEPEST = 32
MOST_NODES = 20_000  # 1 MiB of tiny entries would take many seconds
SECTION_TAGS: dict[Any, str] = {yaml.MappingNode: f"{CORE}map", yaml.SequenceNode: f"{CORE}seq"}


def integer_of(text: str) -> int:
    """Return the whole number in `text`, in base 10 (also with leading zeros), 8 or 16; raises ValueError."""
    if len(text) > LONGEST:
        raise ValueError(f"a number of more than {LONGEST} characters")
    base = {"0o": 8, "0x": 16}.get(text[:2], 10)
    return int(text[2:] if base != 10 else text, base)


def number_of(text: str) -> float:
    """Return the number in `text`; raises ValueError beyond the range of doubles."""
    if text[-3:].lower() in ("inf", "nan"):
        return float(text.replace(".", ""))
    value = float(text)
    if math.isinf(value):
        raise ValueError("larger than any double")
    return value


READERS: dict[str, tuple[re.Pattern[str], Callable[[str], Any]]] = {
    f"{CORE}null": (re.compile(r"(?:null|Null|NULL|~|)\Z"), lambda text: None),
    f"{CORE}bool": (re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z"), lambda text: text.lower() == "true"),
    f"{CORE}int": (re.compile(r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)\Z"), integer_of),
    f"{CORE}float": (re.compile(r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
                                r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z"), number_of),
    f"{CORE}str": (re.compile(""), str),
}
RESOLVERS = [(tag, pattern) for tag, (pattern, _) in READERS.items() if tag != f"{CORE}str"]


def reason(error: Exception) -> str:
    """Return the first sentence of an error of Python or a library, cut at a word."""
    return textwrap.shorten(str(error).partition(";")[0], 100, placeholder="...")


def tag_of(text: str) -> str:
    """Return the core tag of an unquoted text."""
    return next((tag for tag, pattern in RESOLVERS if pattern.match(text)), f"{CORE}str")


def scalar_of(text: str, tag: str) -> Any:
    """Return the value of `text` under a core tag; raises ValueError if the text does not fit it."""
    pattern, read = READERS.get(tag, (None, str))
    if pattern is None or not pattern.match(text):
        raise ValueError(f"not a {tag.removeprefix(CORE)}")
    return read(text)


@frozen
class YamlDocument:
    """The value of a YAML text, and the origin of each of its values."""

    value: Any
    places: dict[Keys, str] = field(default_factory=dict)  # path of keys -> "run.yaml:4:3"
    needs: tuple[str, ...] = ()  # packages with their versions, as the first lines of the file name them


class StrictLoader(yaml.SafeLoader):
    """A YAML loader without aliases, foreign tags and unlimited nesting, under the rules of YAML 1.2."""

    depth = 0
    nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Return the next node; raises MarkedYAMLError if it is not plain data or the file is too large."""
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        self.depth += 1
        self.nodes += 1
        problem = self.problem_with(event)
        if problem:
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def problem_with(self, event: Any) -> str:
        """Return the problem with the node that starts at this event; empty if there is none."""
        tag = str(getattr(event, "tag", None) or "!")
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            return "anchors and aliases are not allowed"
        if tag not in ("!", *READERS, *SECTION_TAGS.values()):
            return f"the tag {tag[:80]!r} is not allowed"
        if self.depth > DEEPEST:
            return f"nested deeper than {DEEPEST} levels"
        return f"more than {MOST_NODES} entries" if self.nodes > MOST_NODES else ""


StrictLoader.yaml_implicit_resolvers = {None: RESOLVERS}


def read_document(path: Path) -> YamlDocument:
    """Return the mapping in a YAML file; raises ConfigError with file:line:column."""
    name, text = "standard input" if str(path) == "-" else path, read_text(path)
    document = parse(text, lambda mark: f"{name}:{mark.line + 1}:{mark.column + 1}")
    if not isinstance(document.value, dict):
        content = "is empty" if document.value is None else "does not hold a mapping"
        raise ConfigError("YAML", f"the file {content}", where=f"{name}:1:1",
                          hint="write sections such as input: {...}")
    return replace(document, needs=packages_in(text))


def packages_in(text: str) -> tuple[str, ...]:
    """Return the packages that the first lines of a file name, each with its version."""
    comments = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
    return tuple(line.removeprefix(NEEDS).strip() for line in comments if line.startswith(NEEDS))


def read_text(path: Path) -> str:
    """Return the text of a configuration file, or of standard input (-).

    Raises InputMissing, ConfigError, UsageError.
    """
    try:
        if str(path) == "-":
            return decode(standard_input(), path)
        content = content_of(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a file name"
        raise InputMissing("NO-CONFIG", f"the configuration cannot be read: {reason}", where=str(path)) from error
    return decode(content, path)


def standard_input() -> bytes:
    """Return the bytes piped in, up to the largest size of a configuration; raises UsageError at a terminal."""
    require_piped()
    Piped.content = sys.stdin.buffer.read(LARGEST + 1)
    return Piped.content


class Piped:
    """What was read of standard input, for a second start of the program (`cli/restart.py`)."""

    content = b""


def decode(content: bytes, path: Path) -> str:
    """Return the text of a file; raises ConfigError if it is too large or not UTF-8."""
    if len(content) > LARGEST:
        raise ConfigError("YAML", "the file is larger than 1 MiB", where=str(path))
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError("YAML", "the file is not UTF-8", where=f"{path}:{line}", hint="save it as UTF-8") from error


def parse(text: str, locate: Locate) -> YamlDocument:
    """Return the document of a YAML text; raises ConfigError."""
    try:
        loader = StrictLoader(text)
        node = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        raise refusal(error, locate) from error
    except yaml.reader.ReaderError as error:
        before = text[:error.position]
        mark = yaml.Mark("", 0, before.count("\n"), len(before) - before.rfind("\n") - 1, None, 0)
        what = f"the character U+{ord(text[error.position]):04X} is not allowed"
        raise ConfigError("YAML", what, where=locate(mark)) from error
    except (ValueError, OverflowError) as error:  # the library calls int() and chr() unchecked
        what = f"it cannot be read: {reason(error)}"
        raise ConfigError("YAML", what, where=locate(loader.get_mark())) from error
    document = YamlDocument(None)
    return document if node is None else YamlDocument(value_at(node, (), locate, document.places), document.places)


def refusal(error: yaml.MarkedYAMLError, locate: Locate) -> ConfigError:
    """Translate an error of the YAML library into a ConfigError."""
    problem = error.problem or error.context or "it cannot be parsed"
    mark = error.problem_mark or error.context_mark
    if "single document" in (error.context or ""):
        problem = "a second document starts here; only one is allowed"
    hint = "indent with spaces, not tabs" if "'\\t'" in problem else ""
    return ConfigError("YAML", problem, where=locate(mark), hint=hint)


def value_at(node: yaml.Node, keys: Keys, locate: Locate, places: dict[Keys, str]) -> Any:
    """Return the value of a node, and note in `places` the origin of each value inside it."""
    places.setdefault(keys, locate(node.start_mark))
    tag = SECTION_TAGS.get(type(node))
    if tag is not None and node.tag != tag:
        raise bad(node, locate, f"the tag !!{node.tag.removeprefix(CORE)} is not for a list or mapping")
    if isinstance(node, yaml.MappingNode):
        items = entries(node, keys, locate, places)
        return {key: value_at(value, (*keys, key), locate, places) for key, value in items}
    if isinstance(node, yaml.SequenceNode):
        return [value_at(item, (*keys, index), locate, places) for index, item in enumerate(node.value)]
    return scalar(node, locate)


def entries(node: yaml.MappingNode, keys: Keys, locate: Locate,
            places: dict[Keys, str]) -> Iterator[tuple[str, yaml.Node]]:
    """Yield the keys of a mapping with their nodes; each key must be a text and occur once."""
    lines: dict[str, int] = {}
    for key_node, value in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise bad(key_node, locate, "a key must be a plain text")
        key = scalar(key_node, locate)
        if not isinstance(key, str):
            raise bad(key_node, locate, f"the key {key_node.value[:80]!r} is not a text")
        if key in lines:
            raise bad(key_node, locate, f"the key {key[:80]!r} is there twice: lines {lines[key]} and "
                                      f"{key_node.start_mark.line + 1}")
        lines[key] = key_node.start_mark.line + 1
        places[(*keys, key)] = locate(key_node.start_mark)
        yield key, value


def scalar(node: yaml.Node, locate: Locate) -> Any:
    """Return the value of a scalar node."""
    try:
        return scalar_of(node.value, node.tag)
    except ValueError as error:
        raise bad(node, locate, f"{str(node.value)[:40]!r} cannot be read: {reason(error)}") from error


def bad(node: yaml.Node, locate: Locate, problem: str) -> ConfigError:
    """Return an error at the place of a node."""
    return ConfigError("YAML", problem, where=locate(node.start_mark))


class NoAliases:
    """A mixin that writes no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return True: equal objects are written in full each time."""
        return True


class Dumper(NoAliases, yaml.SafeDumper):
    """A dumper that quotes every text that YAML 1.1 or 1.2 would read as another value."""


class FastDumper(NoAliases, getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """A dumper in C, if libyaml is installed: four times as fast, for ASCII texts."""


class Differing(Exception):
    """A text that libyaml would write differently, or not at all."""


def quoted(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    """Return the node of a text, in double quotes if it has characters that other styles fold or lose."""
    style = None if value.isprintable() else '"'
    return dumper.represent_scalar(f"{CORE}str", value, style=style)


def quoted_ascii(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    """Return the node of an ASCII text; raises Differing for others, and for one with a carriage return.

    libyaml takes the latter for the end of a line, and PyYAML does not.
    """
    if not value.isascii() or "\r" in value:
        raise Differing
    return quoted(dumper, value)


for kind, text in ((Dumper, quoted), (FastDumper, quoted_ascii)):
    kind.yaml_implicit_resolvers = {**yaml.SafeDumper.yaml_implicit_resolvers, None: RESOLVERS}
    kind.add_representer(str, text)
    kind.add_representer(tuple, yaml.SafeDumper.represent_list)


def dump(value: Any) -> str:
    """Return the YAML text of plain values (mappings, lists, texts, numbers, null)."""
    try:
        return dump_by(value, FastDumper)
    except Differing:
        return dump_by(value, Dumper)


def dump_by(value: Any, dumper: type[Any]) -> str:
    """Return the YAML text that a dumper writes."""
    return yaml.dump(value, Dumper=dumper, sort_keys=False, allow_unicode=True, default_flow_style=False, width=2**16)
