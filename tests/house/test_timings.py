"""Timings beside peers: each row of the page says where, when and with which versions it was measured."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.medium
ROOT = Path(__file__).parents[2]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script as a module, which finds the modules beside it."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("side_by_side")


def test_the_page_has_the_table_of_the_results(bench: Any) -> None:
    results = {row["job"]: row for row in json.loads(bench.RESULTS.read_text(encoding="utf-8"))}
    page = bench.QUOTED.read_text(encoding="utf-8")
    text = bench.table([results[job.name] for job in bench.JOBS if job.name in results])
    assert page.partition(bench.MARKS[0])[2].partition(bench.MARKS[1])[0].strip() == text.strip()
    assert results.keys() <= {job.name for job in bench.JOBS}


def test_rows_stand_under_the_machine_that_they_were_measured_on(bench: Any) -> None:
    row = {"job": "isomap", "peer": "other 1.0", "rounds": 3, "seconds": 2.0, "peer_seconds": 5.0}
    here = {**row, "machine": "this one", "versions": "Python 3", "date": "2026-01-02", "spread": [1.5, 2.5]}
    text = bench.table([here, row, {**here, "job": "pca", "peer": ""}])
    known, unknown = text.index("this one; Python 3:"), text.index(f"{bench.UNKNOWN}:")
    assert text.count("this one") == 1
    assert text[known:].splitlines()[4:6] == [
        "| isomap | other 1.0 | 2026-01-02 | 3 | 2.00 s (1.50 to 2.50) | 5.00 s | 2.5 |  |  |  |",
        "| pca | none | 2026-01-02 | 3 | 2.00 s (1.50 to 2.50) | 5.00 s | 2.5 |  |  |  |"]
    assert text[unknown:].splitlines()[-1] == "| isomap | other 1.0 |  | 3 | 2.00 s | 5.00 s | 2.5 |  |  |  |"


def test_jobs_have_names_of_their_own(bench: Any) -> None:
    names = [job.name for job in bench.JOBS]
    assert len(set(names)) == len(names)


FORCED = {"OPENBLAS_CORETYPE": "Prescott", "OPENBLAS_L2_SIZE": "1", "NVPL_LAPACK_MATH_MODE": "PEDANTIC",
          "MKL_CBWR": "COMPATIBLE", "MLCLI_SIMD": "base", "MLCLI_NO_BLAS_TUNE": "1"}


def test_a_side_is_timed_without_variables_that_force_kernels(bench: Any, monkeypatch: pytest.MonkeyPatch,
                                                              tmp_path: Path) -> None:
    for name, value in FORCED.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MLCLI_DATA", "kept")
    show = "import os, pathlib, sys; pathlib.Path(sys.argv[1]).write_text(repr(dict(os.environ)))"
    bench.timed([sys.executable, "-c", show, str(tmp_path / "seen")])
    seen = (tmp_path / "seen").read_text(encoding="utf-8")
    assert not [name for name in FORCED if name in seen] and "MLCLI_DATA" in seen and "OPENBLAS_NUM_THREADS" in seen


def test_results_say_the_kernels_of_both_sides(bench: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Prescott")  # which threadpoolctl would name
    monkeypatch.setattr(bench, "measure", lambda *_, **__: {"seconds": 1.0})
    job = next(job for job in bench.JOBS if job.name == "start: pca-iris")
    monkeypatch.setattr(bench, "version_of", lambda name, python: f"{name} 1.0")
    row = bench.result(job, 1, tmp_path, tmp_path, python=sys.executable)
    ours, peers = row["kernels"].split("; ")
    assert ours.startswith("mlcli with own kernels ") and peers.startswith("peers with ")
    assert "Prescott" not in row["kernels"]
    assert row["kernels"] in bench.table([row])


@pytest.mark.parametrize("name", ["growth", "kernels", "metrics", "networks", "side_by_side"])
def test_a_script_starts_again_without_variables_that_force_kernels(name: str) -> None:
    script = ROOT / "benchmarks" / f"{name}.py"
    run = subprocess.run([sys.executable, str(script), "--help"], env={**os.environ, **FORCED}, capture_output=True,
                         text=True, check=True)
    assert "OPENBLAS_CORETYPE" in run.stderr and "usage" in run.stdout
