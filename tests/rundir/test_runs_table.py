"""The table of runs has a column for what its runs have, and the share of neighbors that each kept."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.cli.program import run
from mlcli.rundir.runs_table import finished_row, table
from tests.journeys.support import write_points


def test_statistics_of_questionnaires_have_columns_only_where_a_run_has_them() -> None:
    summary = {"embedding": {"rows": 4, "components": 1}, "quality": {"recall": 0.5}}
    plain = finished_row("a", {}, summary)
    [row] = csv.DictReader(io.StringIO(table([plain], ())))
    assert row["recall"] == "0.5" and row["trustworthiness"] == "" and "alpha" not in row
    [_, row] = csv.DictReader(io.StringIO(table([plain, finished_row("b", {}, {**summary, "reliability": {
        "alpha": 0.25}})], ())))
    assert row["alpha"] == "0.25" and "omega_total" not in row


@pytest.mark.medium
def test_recall_is_the_share_of_nearest_neighbors_that_are_kept(tmp_path: Path) -> None:
    data = write_points(tmp_path / "data.csv")
    assert run(["embed", str(data), "-p", "1,2", "-o", str(tmp_path / "runs"), "--set", "report.quality.neighbors=5",
                "--quiet"]) == 0
    near = neighbors_of(np.loadtxt(data, delimiter=",", skiprows=1)[:, 1:])
    rows = list(csv.DictReader(io.StringIO((tmp_path / "runs/runs.csv").read_text(encoding="utf-8"))))
    assert [row["components"] for row in rows] == ["1", "2"]
    for row in rows:
        folder = tmp_path / "runs" / row["run"]
        own = neighbors_of(np.loadtxt(folder / "embedding.csv", delimiter=",", skiprows=1)[:, 1:])
        kept = np.mean([len(ours & theirs) / 5 for ours, theirs in zip(own, near, strict=True)])
        assert float(row["recall"]) == pytest.approx(kept, abs=1e-12)


def neighbors_of(points: Array) -> list[set[int]]:
    """The five nearest others of each of n points (n x d)."""
    gaps = ((points[:, None] - points) ** 2).sum(axis=2)
    np.fill_diagonal(gaps, np.inf)
    return [set(order[:5].tolist()) for order in gaps.argsort(axis=1)]
