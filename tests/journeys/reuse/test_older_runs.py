"""Runs that older versions wrote are still read."""

import hashlib
import json
from pathlib import Path

import pytest

from tests.journeys.support import Caller
from tests.wording import Wording

EMPTY = b"component,eigenvalue,proportion,cumulative\n"
FACTS = {"ranked_by": "nothing", "computed": 0, "complete": False, "divisor": 1.0, "exponent": 0, "trace": None,
         "frobenius": None, "negative_share": None, "tolerance": 0.0, "further_at_least": []}


@pytest.fixture
def older(mlcli: Caller) -> Path:
    """A run without a spectrum, as it was when it had an empty one."""
    mlcli.finished("embed", "data.csv", "-m", "ica", "-o", "run", "-q")
    path = Path("run/run.json")
    document = json.loads(path.read_text())
    assert "spectrum" not in document and "spectrum.csv" not in document["files"]
    document["files"]["spectrum.csv"] = {"bytes": len(EMPTY), "sha256": hashlib.sha256(EMPTY).hexdigest()}
    path.write_text(json.dumps({**document, "spectrum": FACTS}))
    Path("run/spectrum.csv").write_bytes(EMPTY)
    return Path("run")


@pytest.mark.parametrize("command", [("verify",), ("report", "-q"), ("compare", "run", "-q"),
                                     ("project", "data.csv", "-q"), ("reconstruct", "run/embedding.csv", "-q")])
def test_a_run_with_an_empty_spectrum_is_read(older: Path, mlcli: Caller, command: tuple[str, ...]) -> None:
    assert mlcli(command[0], older, *command[1:]).code == 0
    page = (older / "report.html").read_text(encoding="utf-8")
    assert "<h2>Embedding</h2>" in page and "<h2>Spectrum</h2>" not in page


def test_a_spectrum_without_its_file_is_damage(older: Path, mlcli: Caller, wording: Wording) -> None:
    path = older / "run.json"
    document = json.loads(path.read_text())
    del document["files"]["spectrum.csv"]
    path.write_text(json.dumps(document))
    called = mlcli("report", older, "-q")
    assert called.code == 83 and "E-RUN-FILES" in wording(called.err)


def test_a_run_with_a_seed_that_is_refused_today_is_read(mlcli: Caller) -> None:
    mlcli.finished("embed", "data.csv", "--seed", "3", "-o", "run", "-q")
    config, manifest = Path("run/config.yaml"), Path("run/run.json")
    config.write_text(config.read_text().replace("seed: 3\n", f"seed: {2**60}\n"))
    document = json.loads(manifest.read_text())
    content = config.read_bytes()
    document["files"]["config.yaml"] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    manifest.write_text(json.dumps({**document, "seed": 2**60}))
    for command in (("verify",), ("report", "-q"), ("project", "data.csv", "-q"), ("collect", "-q")):
        assert mlcli(command[0], "run", *command[1:]).code == 0
    assert mlcli("run", config, "-o", "again").code == 78
