"""What is written is read back equal, here and by readers of YAML 1.1."""

import pytest
import yaml
from hypothesis import event, example, given
from hypothesis import strategies as st

from mlcli.config.yaml_file import Dumper, dump, dump_by, parse

pytestmark = pytest.mark.medium

AMBIGUOUS = ["no", "on", "y", "1e3", "1.0e3", "012", "0o7", "0x1", "1_000", "12:30:45", "null", "~", "", " x", "x ",
             "a: b", "# c", "- a", "*a", "&a", "!a", "%a", "@a", "`a", "[", "{", "'", '"', "\n", "a\nb", "\x1b[0m", "é",
             "\u202e", "\udcff", "2001-01-01", "<<", "=", "---", "...", "?", ":", ".inf", "true", "a\x85b", "\u2028"]
TEXTS = st.sampled_from(AMBIGUOUS) | st.text(st.characters(exclude_categories=[]), max_size=20)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
                      max_leaves=12)
NAMED = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
    TEXTS.filter(bool), inner, max_size=4), max_leaves=12)


@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_what_is_written_reads_back_equal(value: dict[str, object]) -> None:
    read = parse(dump(value), str).value
    assert read == value
    assert repr(read) == repr(value)  # types too: 1 is not 1.0, nor True


@given(st.dictionaries(st.sampled_from(AMBIGUOUS[:20]), st.sampled_from(AMBIGUOUS) | st.floats(allow_nan=False)))
def test_readers_of_yaml_1_1_agree(value: dict[str, object]) -> None:
    assert yaml.safe_load(dump(value)) == value


def test_tuples_are_lists_and_equal_objects_are_written_twice() -> None:
    shared = ["csv"]
    assert dump({"a": shared, "b": shared, "c": ("x",)}) == "a:\n- csv\nb:\n- csv\nc:\n- x\n"


@given(st.dictionaries(st.sampled_from([text for text in AMBIGUOUS if text]), NAMED, max_size=4))
@example({"a": {"\r": None}})
def test_with_and_without_libyaml_the_bytes_are_the_same(value: dict[str, object]) -> None:
    """Keys are names of options, so none is empty; values may be anything."""
    event(f"in C: {repr(value).isascii()}")
    assert dump(value) == dump_by(value, Dumper)
