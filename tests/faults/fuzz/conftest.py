"""What the program leaves in the folder for temporary files is left in that of the test."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_temporaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
