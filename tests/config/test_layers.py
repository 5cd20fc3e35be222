"""Later layers win, and every value knows where it came from."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlcli.config.build import build
from mlcli.config.layers import Layer, assignment, from_assignments, from_environment, from_file, merged
from mlcli.errors import ConfigError
from tests.config.support import configured
from tests.wording import Wording

FILE = "input: {path: a.csv}\ncompute: {seed: 1}\n"
ENVIRONMENT = {"MLCLI__COMPUTE__SEED": "2"}


def seed(folder, *layers) -> int:  # type: ignore[no-untyped-def]
    return configured(folder, FILE, *layers)[0].compute.seed


def test_defaults_file_environment_set_flags(tmp_path) -> None:  # type: ignore[no-untyped-def]
    assert configured(tmp_path, "input: {path: a.csv}\n")[0].compute.seed == 0
    assert seed(tmp_path) == 1
    assert seed(tmp_path, ENVIRONMENT) == 2
    assert seed(tmp_path, ENVIRONMENT, ["compute.seed=3"]) == 3
    assert seed(tmp_path, ENVIRONMENT, ["compute.seed=3"], {"compute.seed": (5, "--seed")}) == 5


def test_sections_are_merged_key_by_key(tmp_path) -> None:  # type: ignore[no-untyped-def]
    text = "input: {path: a.csv}\nmethod: {name: isomap, neighbors: {count: 5, pieces: largest}}\n"
    method = configured(tmp_path, text, {}, ["method.neighbors.count=7"])[0].method
    assert (method.neighbors.count, method.neighbors.pieces) == (7, "largest")  # type: ignore[union-attr]


def test_lists_are_replaced(tmp_path) -> None:  # type: ignore[no-untyped-def]
    config = configured(tmp_path, "input: {path: a, columns: [x, y]}\n", {}, ["input.columns=[z]"])[0]
    assert config.input.columns == ("z",)


@pytest.mark.parametrize(("text", "value"), [
    ("1e-6", 1e-6), ("012", 12), ("no", "no"), ("true", True), ("null", None), ("", None), ("'12'", "12"),
    ('"a\\tb"', "a\tb"), ("[a, 1, 2.5]", ["a", 1, 2.5]), ("{name: linear, rate: 0.5}", {"name": "linear", "rate": 0.5}),
    ("a: b", "a: b"), ("# x", "# x"), ("*x", "*x"), (" 3 ", 3), ("a=b", "a=b"), ("- x", "- x"), ("8G", "8G")])
def test_values_of_set_follow_yaml(text: str, value: object) -> None:
    assert from_assignments([f"method.ridge={text}"]).values == {"method": {"ridge": value}}


def test_environment_names_are_paths() -> None:
    layer = from_environment({"MLCLI__INPUT__ID_COLUMN": "name", "MLCLI_PROGRESS": "log", "HOME": "/root"})
    assert layer.values == {"input": {"id_column": "name"}}
    assert layer.origin(("input", "id_column")) == "MLCLI__INPUT__ID_COLUMN"


@pytest.mark.parametrize(("text", "problem"), [
    ("compute.seed", "there is no value; --set compute.seed; write --set section.key=value"),
    ("=1", "'' is not a path of keys; --set =1; write section.key=value"),
    ("a..b=1", "'a..b' is not a path of keys; --set a..b=1; write section.key=value"),
    ("a=1e400", "'1e400' cannot be read: larger than any double; --set a=1e400"),
    ("a=[1", "expected ',' or ']', but got '<stream end>'; --set a=[1"),
    ("a=[*x]", "anchors and aliases are not allowed; --set a=[*x]"),
    ("a={b: 1, b: 2}", "the key 'b' is there twice: lines 1 and 1; --set a={b: 1, b: 2}"),
])
def test_assignments_that_cannot_be_read(text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_assignments([text])
    assert str(caught.value) == problem


def test_an_origin_is_the_nearest_known_one() -> None:
    layer = assignment("a.b.c", 1, "-k").over(Layer({"a": {}}, {("a",): "run.yaml:1:1", ("a", "x"): "run.yaml:2:1"}))
    assert layer.origin(("a", "b", "c")) == "-k"
    assert layer.origin(("a", "b")) == "-k"
    assert layer.origin(("a", "x", "y")) == "run.yaml:2:1"
    assert layer.origin(("z",)) == ""


LETTERS = st.sampled_from("abc")
NESTED = st.recursive(st.integers(), lambda inner: st.dictionaries(LETTERS, inner, max_size=3), max_leaves=8)
MAPPINGS = st.dictionaries(LETTERS, NESTED, max_size=3)


@pytest.mark.medium
@given(MAPPINGS, MAPPINGS, MAPPINGS)
def test_merging_is_associative_and_leaves_its_arguments(a: dict[str, object], b: dict[str, object],
                                                         c: dict[str, object]) -> None:
    before = repr((a, b, c))
    assert merged(a, merged(b, c)) == merged(merged(a, b), c) or conflicting(a, b, c)
    assert merged(a, a) == a
    assert repr((a, b, c)) == before


def conflicting(*mappings: dict[str, object]) -> bool:
    """Whether somewhere one has a value where another has a section; there the order matters."""
    for key in {key for mapping in mappings for key in mapping}:
        found = [mapping[key] for mapping in mappings if key in mapping]
        sections = [item for item in found if isinstance(item, dict)]
        if len(sections) not in (0, len(found)) or (sections and conflicting(*sections)):
            return True
    return False


def test_a_blank_is_a_value() -> None:
    assert from_assignments(["input.separator= "]).values == {"input": {"separator": " "}}
    assert from_assignments(["input.separator="]).values == {"input": {"separator": None}}


def test_the_place_of_a_path_is_where_it_was_set() -> None:
    layer = assignment("method.neighbors", {"count": 3}, "--set").over(Layer({}, {(): "run.yaml:1:1"}))
    assert [layer.place_of(path) for path in ("method.neighbors.count", "method", "compute.seed", "data.csv:4")] == [
        "--set", "--set", "", ""]


def test_the_cluster_that_earlier_runs_have_written_is_none(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("input: {path: x.csv}\ncompute: {seed: 3, cluster: null}\n")
    compute = build(from_file(path)).compute
    assert compute.seed == 3 and compute.cluster is None


def test_one_key_is_set_to_one_value(wording: Wording) -> None:
    assert from_assignments(["compute.seed=1", "compute.threads=2", "compute.seed=1"]).values == {
        "compute": {"seed": 1, "threads": 2}}
    with wording.raises(ConfigError, "SET-TWICE"):
        from_assignments(["compute.seed=1", "compute.seed=2"])
