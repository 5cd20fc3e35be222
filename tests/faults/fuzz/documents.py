"""Damage to JSON and YAML documents: every node deleted, or replaced by what does not belong there."""

import copy
import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import yaml

Damage = tuple[str, Callable[[], bytes]]  # what is done, and the damaged content

MARK = "\u0001here\u0001"
JSON = {"null": "null", "true": "true", "text": '"x"', "empty text": '""', "list": "[]", "mapping": "{}",
        "list of lists": "[[[1]]]", "mapping of mappings": '{"a": {"b": 1}}', "zero": "0", "below zero": "-3",
        "fraction": "0.5", "huge": "1e308", "huge integer": "9" * 25, "endless integer": "9" * 5000,
        "infinite": "Infinity", "not a number": "NaN", "out of range": "1e999", "long text": '"' + "y" * 100_000 + '"',
        "surrogate": '"\\ud800"', "deep": "[" * 3000 + "]" * 3000, "very deep": "[" * 100_000 + "]" * 100_000}
YAML = {"null": "null", "true": "true", "text": "x", "empty text": '""', "list": "[]", "mapping": "{}",
        "list of lists": "[[[1]]]", "zero": "0", "below zero": "-3", "fraction": "0.5", "huge": "1e308",
        "huge integer": "9" * 25, "hexadecimal": "0x" + "f" * 5000, "infinite": ".inf", "not a number": ".nan",
        "long text": "y" * 100_000, "surrogate": '"\\ud800"', "not a character": '"\\UFFFFFFFF"', "nul": '"\\0"',
        "deep": "[" * 3000 + "]" * 3000, "tag": "!!python/name:os.system", "anchor": "&a [*a]"}


def of_json(content: bytes) -> list[Damage]:
    """Every damage to a JSON document."""
    document = json.loads(content)
    return [*in_nodes(document, JSON, _as_json), *as_a_whole(content),
            *((f"key twice {'.'.join(map(str, place))}", partial(_twice, document, place))
              for place in places(document) if place and isinstance(place[-1], str))]


def of_yaml(content: bytes) -> list[Damage]:
    """Every damage to a YAML document."""
    return [*in_nodes(yaml.safe_load(content), YAML, _as_yaml), *as_a_whole(content),
            ("long version", lambda: b"%YAML " + b"1" * 5000 + b".1\n---\n" + content)]


def as_a_whole(content: bytes) -> list[Damage]:
    """Damage to a text as such."""
    middle = len(content) // 2
    return [("empty", lambda: b""), ("cut", lambda: content[:middle]), ("a byte order mark", lambda: b"\xef\xbb\xbf" +
            content), ("other bytes", lambda: content[:middle] + b"\xff\xfe\x00\x80" + content[middle:]),
            ("another file", lambda: b"\x89PNG\r\n\x1a\n" + bytes(500)), ("a number", lambda: b"3"),
            ("a list", lambda: b"[1, 2]"), ("null", lambda: b"null"), ("a text", lambda: b'"x"'),
            ("an empty mapping", lambda: b"{}"), ("bottomless", lambda: b"[" * 200_000)]


def places(node: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every node."""
    yield above
    inside = node.items() if isinstance(node, dict) else enumerate(node[:3]) if isinstance(node, list) else ()
    for key, value in inside:
        yield from places(value, (*above, key))


def in_nodes(document: Any, values: dict[str, str], written: Callable[[Any, str], bytes]) -> Iterator[Damage]:
    """Every node deleted and replaced by every value."""
    for place in places(document):
        if not place:
            continue
        told = ".".join(map(str, place))
        yield f"{told} deleted", partial(_deleted, document, place, written)
        for name, text in values.items():
            yield f"{told} {name}", partial(_replaced, document, place, text, written)


def _deleted(document: Any, place: tuple[Any, ...], written: Callable[[Any, str], bytes]) -> bytes:
    document = copy.deepcopy(document)
    del _at(document, place[:-1])[place[-1]]
    return written(document, "")


def _replaced(document: Any, place: tuple[Any, ...], text: str, written: Callable[[Any, str], bytes]) -> bytes:
    document = copy.deepcopy(document)
    _at(document, place[:-1])[place[-1]] = MARK
    return written(document, text)


def _twice(document: Any, place: tuple[Any, ...]) -> bytes:
    document = copy.deepcopy(document)
    above = _at(document, place[:-1])
    above[MARK] = None
    return json.dumps(document).replace(json.dumps(MARK), json.dumps(place[-1])).encode()


def _at(document: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        document = document[key]
    return document


def _as_json(document: Any, text: str) -> bytes:
    return json.dumps(document).replace(json.dumps(MARK), text).encode()


def _as_yaml(document: Any, text: str) -> bytes:
    shown = yaml.safe_dump(document, allow_unicode=False, default_flow_style=True, width=10**9)
    return shown.replace('"\\x01here\\x01"', text).encode()
