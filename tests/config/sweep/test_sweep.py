"""A sweep is the product of its lists, in a stable order, each run complete."""

from pathlib import Path

import pytest

from tests.config.support import configured, refused

BASE = "input: {path: data.csv}\nmethod: {name: isomap, neighbors: {count: 3}}\n"


def test_the_product_in_order(tmp_path: Path) -> None:
    runs = configured(tmp_path, BASE + "output: out\nsweep: {method.neighbors.count: [5, 7], compute.seed: [1, 2]}\n")
    assert [(run.output, run.method.neighbors.count, run.compute.seed) for run in runs] == [  # type: ignore[union-attr]
        ("out/count=5,seed=1", 5, 1), ("out/count=5,seed=2", 5, 2), ("out/count=7,seed=1", 7, 1),
        ("out/count=7,seed=2", 7, 2)]


def test_without_an_output_the_files_name_is_taken(tmp_path: Path) -> None:
    assert [run.output for run in configured(tmp_path, BASE + "sweep: {compute.seed: [1, 2]}\n")] == [
        "runs/run/seed=1", "runs/run/seed=2"]


def test_lists_taken_together(tmp_path: Path) -> None:
    text = BASE + ("output: out\nsweep:\n  zip: {method.neighbors.count: [5, 7], method.graph: [union, mutual]}\n"
                   "  compute.seed: [1, 2]\n")
    assert [run.output for run in configured(tmp_path, text)] == [
        f"out/count={count},graph={graph},seed={seed}" for count, graph in ((5, "union"), (7, "mutual"))
        for seed in (1, 2)]


def test_a_grid_is_the_plain_form_under_a_name(tmp_path: Path) -> None:
    lists = "{method.neighbors.count: [5, 7], compute.seed: [1, 2]}"
    plain, grid = (configured(tmp_path, f"{BASE}sweep: {form}\n") for form in (lists, f"{{grid: {lists}}}"))
    assert plain == grid and len(plain) == 4


def test_runs_listed_one_by_one(tmp_path: Path) -> None:
    text = BASE + ("sweep: {list: [{method.neighbors.count: 5, compute.seed: 1}, "
                   "{method.neighbors.count: 9, compute.seed: 0}]}\n")
    assert [(run.method.neighbors.count, run.compute.seed)  # type: ignore[union-attr]
            for run in configured(tmp_path, text)] == [(5, 1), (9, 0)]


def test_files_that_a_pattern_matches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("b.csv", "a.csv", "c.txt"):
        (tmp_path / name).touch()
    runs = configured(tmp_path, "output: out\nsweep: {input.path: {glob: '*.csv'}}\n")
    assert [(run.input.path, run.output) for run in runs] == [("a.csv", "out/a"), ("b.csv", "out/b")]
    assert refused(tmp_path, "sweep: {input.path: {glob: '*.parquet'}}\n").startswith(
        "66 E-GLOB: run.yaml:1:9: no file matches '*.parquet'")


def test_a_swept_section_replaces_the_files(tmp_path: Path) -> None:
    runs = configured(tmp_path, BASE + "sweep:\n  method: [{name: pca}, {name: lle}]\n", {},
                      ["method.eigensolve.components=3"])
    assert [(run.method.name, run.method.eigensolve.components) for run in runs] == [("pca", 3), ("lle", 3)]
    assert runs[1].method.neighbors.count == 10  # type: ignore[union-attr]


def test_an_empty_sweep_is_one_run(tmp_path: Path) -> None:
    assert [run.output for run in configured(tmp_path, BASE + "sweep: {}\n")] == ["runs/data-isomap"]


def test_a_wrong_value_is_found_at_its_entry(tmp_path: Path) -> None:
    assert refused(tmp_path, BASE + "sweep:\n  method.neighbors.count: [5, 0]\n") == (
        "78 E-CONFIG: method.neighbors.count must be at least 1, not 0; run.yaml:4:3")


@pytest.mark.parametrize(("sweep", "problem"), [
    ("[1]", "sweep must be a section of config paths; run.yaml:3:1; write sweep: {method.neighbors.count: [5, 10]}"),
    ("{compute.seed: 1}", "sweep of 'compute.seed': give a list of at least one value; run.yaml:3:9"),
    ("{compute.seed: []}", "sweep of 'compute.seed': give a list of at least one value; run.yaml:3:9"),
    ("{output: [a, b]}", "sweep of 'output': the runs are named by their values below one output; run.yaml:3:9"),
    ("{method: [{name: pca}], method.name: [pca]}",
     "sweep of 'method.name': a section above it is swept too; run.yaml:3:32"),
    ("{zip: {compute.seed: [1, 2], method.neighbors.count: [3]}}", "zip needs lists of equal length, and there are 2 "
     "of compute.seed, 1 of method.neighbors.count; run.yaml:3:9"),
    ("{zip: [1]}", "zip must be a section of config paths, each with a list; run.yaml:3:9"),
    ("{list: [{compute.seed: 1}, {method.neighbors.count: 3}]}",
     "list: 'compute.seed' is not in every one of its sections; run.yaml:3:9"),
    ("{list: {compute.seed: 1}}", "list must hold sections of config paths, one for each run; run.yaml:3:9"),
    ("{compute.seed: [1], grid: {compute.seed: [2]}}", "sweep of 'compute.seed': it is swept twice; run.yaml:3:35"),
    (f"{{compute.seed: {list(range(101))}, method.neighbors.count: {list(range(1, 101))}}}",
     "the sweep makes 10100 runs, more than 10000; run.yaml:3:1"),
])
def test_sweeps_that_cannot_be(tmp_path: Path, sweep: str, problem: str) -> None:
    assert refused(tmp_path, f"{BASE}sweep: {sweep}\n") == f"78 E-SWEEP: {problem}"


def test_a_swept_option_cannot_be_set_as_well(tmp_path: Path) -> None:
    assert refused(tmp_path, BASE + "sweep: {compute.seed: [1, 2]}\n", sets=["compute.seed=3"]) == (
        "78 E-SWEEP: compute.seed is swept in run.yaml:3:9 and also set; --set compute.seed=3; "
        "leave one of the two out")


def test_a_sweep_needs_a_directory(tmp_path: Path) -> None:
    assert refused(tmp_path, BASE + "output: '-'\nsweep: {compute.seed: [1]}\n") == (
        "78 E-SWEEP: the runs of a sweep need a directory, not '-'; run.yaml:3:1; give one with -o")
