"""The files and the line on the terminal that a run leaves of the number of axes."""

import csv
import json
from pathlib import Path

import pytest

from mlcli.cli.program import run

IRIS = str(Path(__file__).parents[2] / "sample_data" / "iris.csv")
EMBED = ["embed", IRIS, "--label-column", "Species", "--scale", "standard"]


def test_document_table_and_sentence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run([*EMBED, "-v", "-o", str(tmp_path / "run")]) == 0
    document = json.loads((tmp_path / "run" / "dimension.json").read_text())
    with (tmp_path / "run" / "dimension.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["rule", "components", "detail"]
    assert {row["rule"]: row["components"] for row in rows if not row["detail"].startswith("left out: ")} == {
        name: "" if rule["components"] is None else str(rule["components"]) for name, rule in document["rules"].items()}
    assert {row["rule"] for row in rows if row["detail"].startswith("left out: ")} == set(document["left_out"])
    assert f"\n{document['recommendation']['sentence']}\n" in capfd.readouterr().err
    files = json.loads((tmp_path / "run" / "run.json").read_text())["files"]
    assert {"dimension.json", "dimension.csv"} <= set(files)


def test_it_can_be_left_out(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run([*EMBED, "-o", str(tmp_path / "run"), "--set", "report.dimension=false"]) == 0
    assert not list((tmp_path / "run").glob("dimension.*"))
    assert "axes:" not in capfd.readouterr().err


def test_a_scree_longer_than_the_embedding_and_all_axes(tmp_path: Path) -> None:
    assert run([*EMBED, "-m", "mds", "--set", "method.eigensolve.report=20", "-o", str(tmp_path / "long")]) == 0
    assert len((tmp_path / "long" / "spectrum.csv").read_text().splitlines()) == 21
    assert run([*EMBED, "-p", "all", "-o", str(tmp_path / "all")]) == 0
    assert (tmp_path / "all" / "embedding.csv").read_text().splitlines()[0].endswith("y1,y2,y3,y4")
    assert "all" in (tmp_path / "all" / "config.yaml").read_text()
    assert run([*EMBED, "--set", "method.eigensolve.report=20", "-o", str(tmp_path / "more")]) == 78
