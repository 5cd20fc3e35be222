"""The tutorials run as they are written, and print what they say."""

import re
import subprocess
from pathlib import Path

import pytest

from mlcli.cli.program import run
from tests.processes import neutral, program

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))


def test_there_is_one_for_each_field() -> None:
    assert [page.stem for page in PAGES] == ["batch", "ecology", "genomics", "images", "psychology"]
    assert all(page.with_suffix(".sh").is_file() for page in PAGES)  # tests/test_docs.py holds that they are fresh


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_runs_and_prints_what_it_quotes(page: Path, tmp_path: Path) -> None:
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    environment = neutral()
    environment["PATH"] = f"{Path(program()[0]).parent}:{environment['PATH']}"
    done = subprocess.run(["sh", page.with_suffix(".sh")], cwd=tmp_path, env=environment, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
    quoted = re.findall(r"^```text\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert quoted and [line for text in quoted for line in text.splitlines() if line not in done.stdout] == []


def test_the_tour_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line of the section *A tour*."""
    for name in ("sample_data", "configs"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("## A tour")[2]
    lines = text.partition("```sh\n")[2].partition("```")[0].splitlines()
    assert 8 <= len(lines) <= 12
    for line in lines:
        name, *arguments = line.partition("#")[0].split()
        assert name == "mlcli" and run(arguments) == 0, line
