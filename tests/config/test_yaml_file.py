"""The loader keeps what a file says, and refuses what would be read wrongly or without end."""

import os
import time
import tracemalloc
from pathlib import Path

import pytest

from mlcli.config import yaml_file
from mlcli.config.yaml_file import YamlDocument, parse, read_document
from mlcli.errors import ConfigError, InputMissing
from tests.wording import Wording


def document(text: str) -> YamlDocument:
    return parse(text, lambda mark: f"run.yaml:{mark.line + 1}:{mark.column + 1}")


REFUSED = {
    "a: 1\nb: 2\na: 3\n": "the key 'a' is there twice: lines 1 and 3; run.yaml:3:1",
    "a:\n  k: 12\n  k: 15\n": "the key 'k' is there twice: lines 2 and 3; run.yaml:3:3",
    "a: {k: 1, 'k': 2}": "the key 'k' is there twice: lines 1 and 1; run.yaml:1:11",
    "a: &x 1\nb: *x\n": "anchors and aliases are not allowed; run.yaml:1:4",
    "a: *x\n": "anchors and aliases are not allowed; run.yaml:1:4",
    "a: !!python/object/apply:os.system ['true']": "the tag 'tag:yaml.org,2002:python/object/apply:os.system' is not "
                                                   "allowed; run.yaml:1:4",
    "a: !env HOME": "the tag '!env' is not allowed; run.yaml:1:4",
    "a: !!binary aGk=": "the tag 'tag:yaml.org,2002:binary' is not allowed; run.yaml:1:4",
    "a: !!set {x}": "the tag 'tag:yaml.org,2002:set' is not allowed; run.yaml:1:4",
    "%TAG ! tag:example.org,2000:\n---\na: !b 1": "the tag 'tag:example.org,2000:b' is not allowed; run.yaml:3:4",
    "a: !!int x": "'x' cannot be read: not a int; run.yaml:1:4",
    "a: !!str [x]": "the tag !!str is not for a list or mapping; run.yaml:1:4",
    "a: !!map x": "'x' cannot be read: not a map; run.yaml:1:4",
    "a: 1\n---\nb: 2\n": "a second document starts here; only one is allowed; run.yaml:2:1",
    "12: x": "the key '12' is not a text; run.yaml:1:1",
    "true: x": "the key 'true' is not a text; run.yaml:1:1",
    "? [a]\n: x": "a key must be a plain text; run.yaml:1:3",
    "a: b: c": "mapping values are not allowed here; run.yaml:1:5",
    "\ta: 1": "found character '\\t' that cannot start any token; run.yaml:1:1; indent with spaces, not tabs",
    "a: 'x": "found unexpected end of stream; run.yaml:1:6",
    "b: 1\na: \x00": "the character U+0000 is not allowed; run.yaml:2:4",
    f"%YAML {'1' * 5000}.1\n---\na: 1": "it cannot be read: Exceeds the limit (4300 digits) for integer string "
                                       "conversion: value has 5000 digits; run.yaml:1:7",
    'a: "\\UFFFFFFFF"': "it cannot be read: Python int too large to convert to C int; run.yaml:1:7",
    f"a: 0x{'f' * 5000}": f"'0x{'f' * 38}' cannot be read: a number of more than 1000 characters; run.yaml:1:4",
    "a: 1e999": "'1e999' cannot be read: larger than any double; run.yaml:1:4",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refusals_name_the_place(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        document(text)
    assert str(caught.value) == REFUSED[text]


def test_core_tags_are_allowed() -> None:
    assert document("a: !!str 12\nb: !!int '12'\nc: !!float 1\nd: !!seq [!!null '']").value == {
        "a": "12", "b": 12, "c": 1.0, "d": [None]}


def test_quotes_make_texts_and_yaml_1_1_directives_change_nothing() -> None:
    assert document("%YAML 1.1\n---\na: no\nb: '12'\nc: \"1e3\"\nd: 012\n").value == {
        "a": "no", "b": "12", "c": "1e3", "d": 12}


def test_every_value_has_a_place() -> None:
    places = document("input: {path: a.csv,\n  columns: [x, y]}\nmethod:\n  name: isomap\n").places
    assert places[("input",)] == "run.yaml:1:1"
    assert places[("input", "path")] == "run.yaml:1:9"
    assert places[("input", "columns", 1)] == "run.yaml:2:16"
    assert places[("method", "name")] == "run.yaml:4:3"


@pytest.mark.parametrize("text", ["[" * 10_000, "- " * 500, "{a: " * 500, "a: " + "[[" * 100_000],
                         ids=["list", "lines", "mapping", "lists in a mapping"])
def test_nesting_ends_at_32_levels(text: str, wording: Wording) -> None:
    with wording.raises(ConfigError, "YAML"):
        document(text)


def test_32_levels_are_enough() -> None:
    assert document("[" * 32 + "]" * 32).value == eval("[" * 32 + "]" * 32)


BOMB = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True))


@pytest.mark.parametrize("text", [BOMB, "? x\n" * 20_000, "a: [" + "1," * 50_000 + "]"])
def test_bombs_end_soon_and_small(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a tenth of the entries that are allowed: all of them take seconds under the tracer."""
    monkeypatch.setattr(yaml_file, "MOST_NODES", 2000)
    tracemalloc.start()
    start = time.process_time()
    with pytest.raises(ConfigError):
        document(text)
    seconds, (_, peak) = time.process_time() - start, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5e6
    assert seconds < 2  # where all entries of the text would take ten times as long


def test_a_byte_order_mark_is_no_content(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read_document(tmp_path / "run.yaml").value == {"a": 1}


@pytest.mark.parametrize(("content", "problem"), [
    (b"a: \xff\n", "the file is not UTF-8; {}:1; save it as UTF-8"),
    ("a: 1".encode("utf-16"), "the file is not UTF-8; {}:1; save it as UTF-8"),
    (b"b: 1\n# \xe4\n", "the file is not UTF-8; {}:2; save it as UTF-8"),
    (b"", "the file is empty; {}:1:1; write sections such as input: {{...}}"),
    (b"# nothing\n", "the file is empty; {}:1:1; write sections such as input: {{...}}"),
    (b"- a\n", "the file does not hold a mapping; {}:1:1; write sections such as input: {{...}}"),
    (b"just text", "the file does not hold a mapping; {}:1:1; write sections such as input: {{...}}"),
    (b"#" * (2**20 + 1), "the file is larger than 1 MiB; {}"),
])
def test_files_that_are_no_configuration(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_document(path)
    assert str(caught.value) == problem.format(path)


def test_files_that_cannot_be_read(tmp_path: Path, wording: Wording) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("absent.yaml", "pipe", "a\0b", "x" * 300):
        with wording.raises(InputMissing, "NO-CONFIG"):
            read_document(tmp_path / name)
