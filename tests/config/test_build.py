"""A run's configuration survives being written and read, and knows where its output goes."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from mlcli.config.build import build, write
from mlcli.config.layers import Layer, from_assignments
from mlcli.config.run_config import RunConfig
from mlcli.config.sweep import expand
from mlcli.config.yaml_file import dump, parse
from mlcli.errors import ConfigError, DependencyMissing
from tests.config.support import configured, one
from tests.wording import Wording

NAMES = st.sampled_from(["no", "1e3", "012"]) | st.text(
    st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
NEIGHBORS = st.fixed_dictionaries({}, optional={
    "count": st.integers(1, 10**6), "pieces": st.sampled_from(["error", "largest", "connect"])})
EIGENSOLVE = st.fixed_dictionaries({}, optional={
    "components": st.integers(1, 10**9) | st.floats(1e-300, 1), "report": st.none() | st.integers(1, 99)})
POSITIVE = st.floats(min_value=0, exclude_min=True, allow_infinity=False)
KERNELS = st.sampled_from([{"name": "linear"}, {}]) | st.fixed_dictionaries(
    {"name": st.just("gaussian")}, optional={"rate": st.none() | POSITIVE}) | st.fixed_dictionaries(
    {"name": st.just("polynomial")}, optional={"degree": st.integers(1, 9), "gamma": POSITIVE})
METHODS = (
    st.fixed_dictionaries({"name": st.just("pca")}, optional={"divisor": st.sampled_from(["n", "n-1"])})
    | st.fixed_dictionaries({"name": st.just("isomap")}, optional={"neighbors": NEIGHBORS, "eigensolve": EIGENSOLVE})
    | st.fixed_dictionaries({"name": st.just("lle")}, optional={"neighbors": NEIGHBORS, "ridge": POSITIVE})
    | st.fixed_dictionaries({"name": st.just("kpca")}, optional={"kernel": KERNELS})
    | st.fixed_dictionaries({"name": st.just("mds")}, optional={"correction": st.sampled_from(["none", "lingoes"])})
    | st.fixed_dictionaries({}, optional={"eigensolve": EIGENSOLVE}))
INPUTS = st.fixed_dictionaries({"path": NAMES}, optional={
    "id_column": st.none() | NAMES, "columns": st.lists(NAMES, max_size=3),
    "header": st.sampled_from(["auto", True, False])})
COMPUTE = st.fixed_dictionaries({}, optional={
    "seed": st.integers(0, 2**53 - 1), "memory_limit": st.sampled_from(["8G", "auto", 1024])})
REPORT = st.fixed_dictionaries({"formats": st.lists(st.sampled_from(["csv", "npy"]), min_size=1)})
RUNS = st.fixed_dictionaries({"input": INPUTS}, optional={
    "method": METHODS, "compute": COMPUTE, "report": REPORT, "output": NAMES})


KEYS = st.sampled_from(["input", "path", "method", "name", "kernel", "degree", "neighbors", "count", "eigensolve", "",
                        "components", "compute", "seed", "threads", "report", "formats", "sweep", "output", "isomap"])
LEAVES = st.none() | st.booleans() | st.integers(-2, 3) | st.floats() | st.sampled_from(
    ["isomap", "kpca", "polynomial", "auto", "", "a\nb", "-"])
ANYTHING = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=4),
                        max_leaves=20)


@pytest.mark.medium
@given(st.dictionaries(KEYS, ANYTHING, max_size=5))
@settings(max_examples=120)
def test_anything_is_a_run_or_a_plain_error(values: dict[str, object]) -> None:
    file = Layer({"input": {"path": "a"}, **values}, {(): "run.yaml:1:1"})
    try:
        configs = [build(variant.layer) for variant in expand(file, Layer(), "runs/x")]
    except (ConfigError, DependencyMissing) as error:
        assert len(str(error)) < 1000
        assert not any(word in str(error) for word in ("Input should", "pydantic", "Traceback", "typing."))
    else:
        assert all(config.output for config in configs)


@pytest.mark.medium
@given(RUNS)
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)
def test_a_run_written_and_read_is_the_same_run(values: dict[str, object]) -> None:
    config = build(Layer(values))
    again = build(Layer(parse(write(config), str).value))
    assert again == config
    assert write(again) == write(config)


def test_config_yaml_is_written_section_by_section() -> None:
    for path in ("a.csv", "b\u00e4.csv", "a.csv"):
        config = build(Layer({"input": {"path": path}, "method": {"name": "isomap"}}))
        values = config.model_dump()
        assert values.pop("onto") is None  # which stands in the file only where a map grows
        assert write(config) == dump({**values, "method": {"name": "isomap", **values["method"]}})


def test_config_yaml_lists_every_option_in_the_designs_order() -> None:
    written = parse(write(one()), str).value
    assert list(written) == ["input", "prepare", "method", "compute", "report", "output"]
    assert written["method"]["name"] == "pca"
    assert written["method"]["eigensolve"]["components"] == 2


def test_a_section_is_completed_from_the_sections_defaults(tmp_path: Path) -> None:
    method = configured(tmp_path, "input: {path: a}\nmethod: {name: isomap, neighbors: {pieces: largest}}\n")[0].method
    assert method.neighbors.count == 10  # type: ignore[union-attr]


def test_what_was_chosen_is_marked() -> None:
    config = one(method__eigensolve__components=2)
    assert config.method.eigensolve.chosen("components")
    assert not one().method.eigensolve.chosen("components")


def test_a_section_without_a_name_is_the_defaults() -> None:
    assert one(method={"eigensolve": {"components": 3}}).method.name == "pca"
    method = one(method={"name": "kpca", "kernel": {"rate": 0.5}}).method
    assert method.kernel.name == "gaussian"  # type: ignore[union-attr]


@pytest.mark.parametrize(("path", "output"), [
    ("sample_data/swiss_roll.csv", "runs/swiss_roll-pca"), ("a.csv.gz", "runs/a-pca"), ("a.b.tsv.zst", "runs/a.b-pca"),
    ("v1.2", "runs/v1.2-pca"), ("-", "runs/stdin-pca"), (".csv", "runs/.csv-pca"), ("D.NPY", "runs/D-pca"),
    ("/", "runs/data-pca"), ("x.csv.csv", "runs/x-pca")])
def test_the_output_is_named_after_data_and_method(path: str, output: str) -> None:
    assert one(input__path=path).output == output


def test_every_run_config_is_a_plain_value() -> None:
    config = one(method={"name": "kpca"}, report={"formats": ["csv", "npy"]})
    assert TypeAdapter(RunConfig).validate_python(config.model_dump()) == config


@pytest.mark.parametrize(("path", "method"), [
    ("compute.seed", "pca"), ("compute.memory_limit", "pca"), ("input.rows", "pca"),
    ("report.stability.resamples", "pca"), ("method.minimize.limit", "gplvm"), ("input.decompress_ratio", "pca")])
def test_whole_numbers_that_readers_of_json_round_are_refused(path: str, method: str, wording: Wording) -> None:
    def config(value: int) -> RunConfig:
        return build(from_assignments([f"{path}={value}"]).over(Layer({"input": {"path": "a"},
                                                                       "method": {"name": method}})))

    assert build(Layer(parse(write(config(2**53 - 1)), str).value)) == config(2**53 - 1)
    with wording.raises(ConfigError, "CONFIG"):
        config(2**53)


@pytest.mark.parametrize("section", [{"name": "kpca\ud800"}, {"name": "isomap", "metric": "\ud800"}])
def test_a_name_with_half_a_surrogate_pair_is_no_choice(section: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        one(method=section)


@pytest.mark.parametrize("method", ["nmf", "ca", "ib"])
@pytest.mark.parametrize(("prepare", "refused"), [
    ({"scale": "standard"}, True), ({"scale": "robust"}, True), ({"transform": ["clr"]}, True), ({"reduce": 2}, True),
    ({"scale": "range", "transform": ["clr"]}, False), ({"transform": ["log1p"]}, False)])
def test_methods_of_amounts_refuse_what_makes_some_negative(method: str, prepare: dict[str, object], refused: bool,
                                                            wording: Wording) -> None:
    config = one(method={"name": method}, prepare=prepare)
    if not refused:
        config.require_fitting()
        return
    with wording.raises(ConfigError, "CENTERED") as caught:
        config.require_fitting()
    assert caught.value.where == "prepare." + next(iter(prepare))
