"""What a plan predicts beside what fresh processes take: the table of `benchmarks/plan.py`."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mlcli.base.values.extras import missing_module

SCRIPT = Path(__file__).parents[3] / "benchmarks/plan.py"


def bench() -> Any:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("bench_plan", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_plan"] = module
    spec.loader.exec_module(module)
    return module


BENCH = bench()


def measured(folder: Path, name: str, place: int) -> dict[str, Any]:
    """A cell of the table, from processes whose parent is small."""
    subprocess.run([sys.executable, str(SCRIPT), str(folder / "out.json"), name, "--sizes", str(place)], check=True,
                   capture_output=True)
    row: dict[str, Any] = json.loads((folder / "out.json").read_text())[0]
    return row


def hold(row: dict[str, Any], slowest: float) -> None:
    """Memory within the bounds, and time: CPU seconds, which a busy machine makes more."""
    assert row["code"] == 0
    assert 0.6 <= row["memory_predicted"] / row["memory"] <= 1.2
    assert 1 / slowest <= BENCH.seconds_of(row) / row["seconds"] <= 2


@pytest.mark.medium
@pytest.mark.skipif(bool(missing_module("plot")), reason="there is no Matplotlib")
def test_a_small_run_takes_what_is_predicted(tmp_path: Path) -> None:
    hold(measured(tmp_path, "pca of names", 1), slowest=4)


@pytest.mark.medium
@pytest.mark.parametrize("name", [
    "diffusion of neighbors", pytest.param("diffusion of columns", marks=pytest.mark.slow), "laplacian of columns"])
def test_a_factor_of_many_neighbors_or_columns_takes_what_is_predicted(tmp_path: Path, name: str) -> None:
    """In many columns the factor of the cost fills up."""
    hold(measured(tmp_path, name, 2), slowest=4)


@pytest.mark.medium
@pytest.mark.parametrize("name", ["umap", pytest.param("tsne of cells", marks=[pytest.mark.slow, pytest.mark.skipif(
    bool(missing_module("h5")), reason="there is no h5py")])])
def test_ranks_of_a_sample_and_libraries_of_readers_are_predicted(tmp_path: Path, name: str) -> None:
    row = measured(tmp_path, name, 1)
    assert row["code"] == 0 and 0.95 <= row["memory_predicted"] / row["memory"] <= 1.2


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("name", [name for name, case in BENCH.CASES.items() if case.kind != "mnist"])
def test_runs_take_what_is_predicted(tmp_path: Path, name: str, place: int) -> None:
    if place < len(BENCH.CASES[name].sizes):
        hold(measured(tmp_path, name, place), slowest=3)


@pytest.mark.medium
@pytest.mark.parametrize("name", ["lle", "laplacian", "ltsa", "mlle", "hlle", "isomap of landmarks"])
def test_a_sparse_factorization_and_landmarks_take_what_is_predicted(tmp_path: Path, name: str) -> None:
    row = measured(tmp_path, name, 2)
    assert row["code"] == 0 and 0.95 <= row["memory_predicted"] / row["memory"] <= 1.2
