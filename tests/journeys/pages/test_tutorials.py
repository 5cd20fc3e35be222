"""The tutorials and the gallery run as they are written, print what they say, and make the pictures they show."""

import re
import struct
import subprocess
from pathlib import Path

import pytest

from mlcli.base.frozen import frozen
from mlcli.cli.program import run
from tests.journeys.pages.user_figures import FIGURES
from tests.processes import neutral, program

ROOT = Path(__file__).parents[3]
PICTURES = ROOT / "docs" / "pictures"
PAGES = [ROOT / "docs" / "gallery.md", ROOT / "docs" / "same-data.md", ROOT / "docs" / "failures.md",
         *sorted((ROOT / "docs" / "tutorials").glob("*.md"))]
WORDS = [ROOT / "docs" / "framework.md", ROOT / "docs" / "notes.md"]  # pages with commands that make no paper's figure
FOR_PAPERS = ("mlcli report", "--figures", "--title")


def pictures_of(page: Path) -> list[Path]:
    """The pictures that a page shows of its own runs."""
    return [PICTURES / page.stem / name for name in re.findall(
        rf"pictures/{page.stem}/([\w-]+\.(?:png|svg))", page.read_text(encoding="utf-8"))]


def test_there_is_one_for_each_field_and_each_ends_at_a_figure_for_a_paper() -> None:
    assert [page.stem for page in PAGES[3:]] == [
        "batch", "ecology", "genomics", "images", "machine-learning", "psychology", "student"]
    assert all(page.with_suffix(".sh").is_file() for page in PAGES)  # house/test_docs.py holds that they are fresh
    assert all(part in page.read_text(encoding="utf-8") for page in PAGES for part in FOR_PAPERS)
    assert all(pictures_of(page) for page in PAGES)


def test_every_picture_is_shown_and_all_of_them_are_small() -> None:
    there = sorted(path for path in PICTURES.rglob("*.*") if path.parent.name != "methods")  # tests/house/test_methods
    shown = [*PAGES, ROOT / "docs" / "recipes.md", *WORDS]
    assert there == sorted({picture for page in shown for picture in pictures_of(page)})
    assert max(picture.stat().st_size for picture in there if picture.suffix == ".png") < 80e3
    assert max(picture.stat().st_size for picture in there) < 200e3
    assert sum(picture.stat().st_size for picture in there) < 2e6


def test_the_gallery_has_commands_under_each_kind_of_picture() -> None:
    parts = PAGES[0].read_text(encoding="utf-8").split("\n## ")[1:]
    assert len(parts) == 9 and all("![" in part for part in parts)
    assert [part.partition("\n")[0] for part in parts if "```sh\nmlcli " not in part] == ["A scree plot"]


@pytest.mark.parametrize("name", FIGURES)
def test_a_user_has_eight_tasks_of_at_most_three_commands(name: str) -> None:
    text = (ROOT / "docs" / "tutorials" / f"{name}.md").read_text(encoding="utf-8")
    tasks = re.findall(r"^## (\d)\. .+?(?=^## )", text, re.DOTALL | re.MULTILINE)
    assert tasks == [*"12345678"]
    for task in re.split(r"^## ", text, flags=re.MULTILINE)[1:9]:
        commands = [line for part in re.findall(r"^```sh\n(.*?)^```$", task, re.DOTALL | re.MULTILINE)
                    for line in part.splitlines() if line.startswith("mlcli ")]
        assert 1 <= len(commands) <= 3, task


@frozen
class Outcome:
    """The end of the script of a page: its exit status, what it printed, and its pictures by the page's names."""

    returncode: int
    stdout: str
    pictures: dict[str, Path]


def carry_out(page: Path, folder: Path, **variables: str) -> Outcome:
    """Carry out the script of a page in a folder that has `sample_data`."""
    (folder / "sample_data").symlink_to(ROOT / "sample_data")
    environment = {**neutral(), **variables}
    environment["PATH"] = f"{Path(program()[0]).parent}:{environment['PATH']}"
    done = subprocess.run(["sh", page.with_suffix(".sh")], cwd=folder, env=environment, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    runs = folder / "runs"
    drawn = {re.sub(r"[^a-z0-9]+", "-", str(file.relative_to(runs).with_suffix(""))): file
             for file in runs.rglob("*.png")}
    return Outcome(done.returncode, done.stdout, drawn)


def quotes_of(page: Path) -> list[str]:
    """The lines of output that a page quotes."""
    quoted = re.findall(r"^```text\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [line for text in quoted for line in text.splitlines()]


def without_rounding(line: str) -> str:
    """A line whose numbers below 1e-8 are zero, as these are not the same on every machine."""
    return " ".join(re.sub(r"\b\d(\.\d+)?e-(09|[1-3]\d)\b", "0", line).split())


def size_of(picture: Path) -> tuple[int, int]:
    """Width and height, from the head of a PNG."""
    wide, tall = struct.unpack(">II", picture.read_bytes()[16:24])
    return wide, tall


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("page", [*PAGES, *WORDS], ids=lambda page: page.stem)
def test_a_tutorial_runs_and_prints_what_it_quotes(
        page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = carry_out(page, tmp_path)
    assert done.returncode == 0, done.stdout
    for picture in pictures_of(page) if page in PAGES else []:
        (wide, tall), (width, height) = size_of(picture), size_of(done.pictures[picture.stem])
        assert wide / tall == pytest.approx(width / height, rel=0.01), "make it anew: python docs/pictures.py"
    printed = "\n".join(map(without_rounding, done.stdout.splitlines()))
    assert quotes_of(page) and [line for line in quotes_of(page) if without_rounding(line) not in printed] == []
    if page.stem in FIGURES:
        monkeypatch.chdir(tmp_path)
        FIGURES[page.stem](tmp_path)


def tour() -> list[str]:
    """The lines of the section *A tour*."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("## A tour")[2]
    return text.partition("```sh\n")[2].partition("```")[0].splitlines()


@pytest.mark.medium
def test_the_tour_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line of the section *A tour*, in its order; what takes long is left to the slow test."""
    for name in ("sample_data", "configs"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    path, *lines = tour()
    assert path == 'export PATH="$PWD/.venv/bin:$PATH"' and 8 <= len(lines) <= 15
    for command in [part.split() for line in lines for part in line.partition("#")[0].split("&&")]:
        assert command[0] == "mlcli" and ("explore" in command or run(command[1:]) == 0), command


@pytest.mark.medium
def test_the_first_command_of_the_readme_prints_what_stands_below_it(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    monkeypatch.chdir(tmp_path)
    start = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Start")[2]
    command = start.partition(".venv/bin/mlcli ")[2].partition("\n")[0].split()
    first, *said = start.partition("```text\n")[2].partition("```")[0].splitlines()
    assert run(command) == 0
    found, *lines = capsys.readouterr().err.splitlines()
    assert lines == said and len(said) == 3
    assert found.rpartition(" in ")[0] == first.rpartition(" in ")[0] != ""


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_commands_of_the_readme_work_in_an_empty_clone(tmp_path: Path) -> None:
    """The first command with an environment of its own, then the tour, as they stand on the page."""
    if not (ROOT / ".git").exists():
        pytest.skip("needs a repository to clone")
    subprocess.run(["git", "clone", "-q", ROOT, tmp_path / "clone"], check=True)
    start = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Start")[2]
    first = start.partition("```sh\n")[2].partition("```")[0]
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", "\n".join([first, *tour()])], cwd=tmp_path / "clone",
                          env=neutral(), text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "clone/runs/swiss_roll-isomap/report.html").exists()
