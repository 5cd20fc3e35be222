"""Timings beside peers: each row of the page says where, when and with which versions it was measured."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

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
