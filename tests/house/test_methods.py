"""The pages of the methods begin with a picture, a command and a formula; every one is there, and the commands run."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from mlcli.cli.program import run
from mlcli.explain.mathml import fence, mathml
from mlcli.methods import METHODS

ROOT = Path(__file__).parents[2]
BEGINNINGS = yaml.safe_load((ROOT / "docs" / "methods.yaml").read_text(encoding="utf-8"))
PARTS = ("![", "```sh", "```math", "- **It keeps** ", "- **It fails** ", "- **Set** ", "## How it works", "## Source",
         "## Input", "## Options")  # of a page, in this order


def test_every_method_has_commands_and_formulas_in_its_order() -> None:
    assert [*BEGINNINGS] == [*METHODS]


@pytest.mark.parametrize("method", METHODS)
def test_a_page_has_its_parts_in_order(method: str) -> None:
    page = (ROOT / "docs" / "methods" / f"{method}.md").read_text(encoding="utf-8")
    places = [page.find(f"\n{part}") for part in PARTS]
    assert -1 not in places and places == sorted(places), dict(zip(PARTS, places, strict=True))


@pytest.mark.parametrize("method", METHODS)
def test_no_two_rows_of_its_options_are_alike(method: str) -> None:
    """Options of one path belong to different alternatives, and say to which."""
    page = (ROOT / "docs" / "methods" / f"{method}.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(method\.[^`]+)`(?: \(`[^`]+`\))? \|.*\| (.+?) \|$", page, re.MULTILINE)
    assert rows and len({*rows}) == len(rows)
    twins = {path for path, _ in rows if [name for name, _ in rows].count(path) > 1}
    assert [(path, said) for path, said in rows if path in twins and not said.startswith("With `")] == []


@pytest.mark.parametrize("method", METHODS)
def test_formulas_are_those_of_mathml(method: str) -> None:
    begin = BEGINNINGS[method]
    assert all(mathml(formula).count("<mi>") > 2 for formula in begin["formulas"])
    assert mathml(begin["formulas"][0]) in fence(begin["formulas"][0], "math", "math", {}, None)
    assert begin["symbols"].endswith(".")


@pytest.mark.parametrize("method", METHODS)
def test_a_picture_is_small_and_light_or_dark(method: str) -> None:
    picture = (ROOT / "docs" / "pictures" / "methods" / f"{method}.svg").read_text(encoding="utf-8")
    assert len(picture.encode()) < 40_000
    assert "prefers-color-scheme:dark" in picture and re.search("<circle|<use|<path", picture)


@pytest.mark.medium
@pytest.mark.parametrize("method", METHODS)
def test_commands_work_as_they_stand(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    monkeypatch.chdir(tmp_path)
    for command in BEGINNINGS[method]["commands"]:
        program, *arguments = shlex.split(command)
        assert program == "mlcli" and run(arguments) == 0
    [made] = Path("runs").iterdir()
    page = (ROOT / "docs" / "methods" / f"{method}.md").read_text(encoding="utf-8")
    [files] = re.findall(rf"^The result is in the folder `{made}`: (.+)$", page, re.MULTILINE)
    names = re.findall("`([^`]+)`", files)
    assert "embedding.csv" in names and all((made / name).is_file() for name in names)
