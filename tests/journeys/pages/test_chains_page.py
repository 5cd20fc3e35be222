"""The examples of the page on chains run as they stand, and give what it says."""

import csv
import json
import re
from pathlib import Path

import pytest

from mlcli.cli.program import run

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "chains.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"### \d\. (.*?)\n.*?```yaml\n(.*?)```\n\nThe first eigenvalue is `(.*?)`", PAGE, re.DOTALL)


def test_there_are_six_examples() -> None:
    assert len(EXAMPLES) == PAGE.count("### ") == PAGE.count("```yaml") == 6


@pytest.mark.medium
@pytest.mark.parametrize(("name", "document", "first"), EXAMPLES, ids=[example[0] for example in EXAMPLES])
def test_an_example_runs_and_gives_what_the_page_says(name: str, document: str, first: str, tmp_path: Path,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (tmp_path / "chain.yaml").write_text(document, encoding="utf-8")
    assert run(["run", str(tmp_path / "chain.yaml"), "-o", str(tmp_path / "out"), "-q"]) == 0
    assert json.loads((tmp_path / "out" / "certificate.json").read_text())["verdict"] == "pass"
    with (tmp_path / "out" / "spectrum.csv").open(newline="") as stream:
        assert f"{float(next(csv.DictReader(stream))['eigenvalue']):.6g}" == first
