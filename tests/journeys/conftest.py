"""Every test of the command line works in a directory of its own."""

from pathlib import Path

import pytest

from tests.journeys.support import Caller, write_points


@pytest.fixture(autouse=True)
def own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, empty but for data.csv."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    write_points(tmp_path / "data.csv")
    return tmp_path


@pytest.fixture(autouse=True)
def unnamed_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures name few points only where they are asked to: that takes longer than the runs of these tests."""
    for module in ("paper.needs", "comparison.page"):
        monkeypatch.setattr(f"mlcli.report.{module}.LABELED", 0)


@pytest.fixture
def mlcli(capsys: pytest.CaptureFixture[str]) -> Caller:
    """The command line in this process."""
    return Caller(capsys)
