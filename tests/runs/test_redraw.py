"""`mlcli report` renders the page of a finished run to the bytes that the run wrote."""

from pathlib import Path

import pytest

from mlcli.cli.program import run
from tests.faults.fuzz.directories import RUNS, made

EVERYDAY = ("pca", "factors", "kpca", "landmarks", "phate", "stable", "reduced")  # the others only when there is time


@pytest.mark.medium
@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in EVERYDAY else [pytest.mark.slow])
                                  for name in RUNS])
def test_a_page_is_rendered_again_to_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    if name != "pca":  # the others draw no names, which take longer than the runs
        monkeypatch.setattr("mlcli.report.paper.needs.LABELED", 0)
    page = made(tmp_path, name) / "report.html"
    written = page.read_bytes()
    page.unlink()
    assert run(["report", str(page.parent)]) == 0
    assert page.read_bytes() == written
