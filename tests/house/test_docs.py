"""Generated pages are fresh, and what is written by hand names what exists."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import mlcli
from mlcli import errors
from mlcli.cli.group import COMMANDS
from mlcli.cli.program import run
from mlcli.config.run_config import option_rows
from mlcli.methods import METHODS
from tests.processes import neutral

ROOT = Path(__file__).parents[2]
PACKAGE = Path(mlcli.__file__).parent
FOLDERS = [ROOT / name for name in ("benchmarks", "configs", "docs", "mlcli", "sample_data", "scripts", "tests")]
NAMES = {folder.name for folder in FOLDERS} | {path.name for path in (ROOT / "mlcli").rglob("*") if path.is_dir()}
NAMES -= {"runs"}  # where users' runs lie, too
PATH = re.compile(r"(?<![\w./$}-])(?:[\w.*-]+/)+[\w.*-]*[\w*]")


@pytest.mark.medium
def test_generated_pages_are_fresh() -> None:
    command = [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True, env=neutral())
    assert result.returncode == 0, f"stale; run `python docs/generate.py`:\n{result.stdout}"


def test_every_code_in_the_source_stands_on_the_page_of_errors() -> None:
    """Found by another way than the page's: by the form of texts, and by what follows an error's name."""
    page = set(re.findall(r"`([A-Z][A-Z0-9-]+)`", (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")))
    source = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    kinds = "|".join(name for name, kind in vars(errors).items() if isinstance(kind, type))
    words = {*re.findall(r'"([A-Z][A-Z0-9]*(?:-[A-Z0-9]+)+)"', source),
             *re.findall(rf'(?:{kinds})\)?\(\s*"([A-Z0-9-]+)"', source)} - {"UTF-8", "L-BFGS-B"}
    codes = {word if re.match("[EWNC]-", word) else f"E-{word}" for word in words if not word.startswith("F-")}
    assert {"E-NOT-A-NUMBER", "E-STRICT", "W-RENAMED", "C-NEGATIVE"} <= codes
    assert sorted(codes - page) == []


def test_every_message_of_an_error_stands_beside_its_code() -> None:
    """Of messages without values in them, which are found by their form."""
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    source = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    kinds = "|".join(name for name, kind in vars(errors).items() if isinstance(kind, type))
    found = re.findall(rf'(?:{kinds})\(\s*"([A-Z0-9-]+)",\s*"([^"{{}}\\|]+)"\s*[,"f]', source)
    assert {words for code, words in found if code == "NO-VIEW"} == {"the run has no second view"}
    lacking = [(code, words) for code, words in found
               if not re.search(rf"^\| `E-{code}` \| \d+ \| {re.escape(words.strip())}", page, re.MULTILINE)]
    assert lacking == []


def test_links_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("sample_data/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_links_are_named_by_titles_and_not_by_files() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("sample_data/*.md")]
    assert [(page.name, name) for page in pages
            for name in re.findall(r"\[([^\]]*\.md)`?\]\(", page.read_text(encoding="utf-8"))] == []


@cache
def tails() -> set[str]:
    """How the paths of all files and folders below ours end: from each of their folders on."""
    paths = [path.relative_to(folder).parts for folder in FOLDERS for path in folder.rglob("*")]
    return {"/".join(parts[first:]) for parts in paths for first in range(len(parts))}


def lies_below(pattern: str) -> bool:
    """Whether a path below one of our folders matches a pattern."""
    return any(any(folder.rglob(pattern)) for folder in FOLDERS) if "*" in pattern else pattern in tails()


def followed(text: str) -> tuple[int, list[str]]:
    """The number of paths in a text that begin with a folder of ours, and those of them that are not there.

    A path may begin at the root, or in a folder below it as the pages on the source do; NAME stands for any name, and
    a room may be a file.
    """
    named = sorted({path for path in PATH.findall(text) if path.partition("/")[0] in NAMES})
    patterns = [re.sub(r"(?<![A-Za-z])[A-Z]{2,}(?![A-Za-z])", "*", path) for path in named]
    missing = [path for path, pattern in zip(named, patterns, strict=True)
               if not any(lies_below(form) for form in (pattern, f"{pattern}.py")) and not any(ROOT.glob(pattern))]
    return len(named), missing


def test_paths_in_pages_lead_somewhere() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/README.md")]
    found = {page.relative_to(ROOT): followed(page.read_text(encoding="utf-8")) for page in pages}
    assert {page: missing for page, (_, missing) in found.items() if missing} == {}
    assert found[Path("README.md")][0] > 20 and found[Path("CONTRIBUTING.md")][0] > 20


def test_paths_in_help_lead_somewhere(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in [[], *([command] for command in COMMANDS)]:
        assert run([*arguments, "--help"]) == 0
        count, missing = followed(capsys.readouterr().out)
        assert missing == [], arguments
        assert count or arguments not in ([], ["run"], ["plan"])


def test_every_statement_of_the_notes_names_a_test_that_exists() -> None:
    """And every test of the file for statements of the notes is named."""
    section = (ROOT / "docs" / "notes.md").read_text(encoding="utf-8").partition("\n## 6. ")[2]
    rows = [line for line in section.splitlines() if line.startswith("| ") and not line.endswith("| test |")]
    named = [re.fullmatch(r"\| [^|]+ \| `([\w/]+\.py)::(test_\w+)` \|", row) for row in rows]
    assert [row for row, found in zip(rows, named, strict=True) if not found] == [] and len(rows) > 100
    tests = {found.groups() for found in named if found}
    defined = {(path, name) for path in {path for path, _ in tests} for name in re.findall(
        r"^def (test_\w+)\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)}
    assert tests - defined == set()
    assert {test for test in defined if test[0] == "tests/laws/theorems/test_notes.py"} - tests == set()


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """The commands in a page's blocks and sentences, each with the words that follow it."""
    lines = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    for line in [*lines, *re.findall(r"`(mlcli [^`]+)`", text)]:
        for part in re.split(r"[|&;]", line.partition(" #")[0]):
            _, _, given = f" {part}".partition(" mlcli ")
            if given.split()[:1] and given.split()[0] in COMMANDS:
                yield given.split()[0], given.split()[1:]


def test_commands_in_pages_have_options_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    flags, paths = dict[str, set[str]](), [row.path for row in option_rows()]
    for name in COMMANDS:
        run([name, "--help"])
        flags[name] = {*re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", capsys.readouterr().out)}
    pages = {page: page.read_text(encoding="utf-8") for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]}
    found = [(page, name, words) for page, text in pages.items() for name, words in commands(text)]
    assert len(found) > 300
    assert [(page, name, word) for page, name, words in found for word in words
            if re.match("--?[a-zA-Z]", word) and word.partition("=")[0] not in flags[name]] == []
    keys = [(page, key) for page, text in pages.items()
            for key in re.findall(r"--set (?!section\.key)([a-z_.0-9]+)=", text)]
    assert len(keys) > 60 and [(page, key) for page, key in keys if not any(
        path == key or path.startswith(f"{key}.") for path in paths)] == []


def test_the_readme_names_every_method_and_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"docs/methods/{name}.md" in readme for name in METHODS)
    for command in ("embed", "run", "check", "plan", "project", "reconstruct", "methods", "schema", "sample", "doctor"):
        assert f"mlcli {command}" in readme


def test_the_page_of_a_package_index_has_no_pictures_and_no_files_to_link_to() -> None:
    """An index has the page alone, and the project names no address where the rest would be."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    hook = told["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    page = (ROOT / hook["fragments"][0]["path"]).read_text(encoding="utf-8")
    tables = page.count("\n|--")
    for change in hook["substitutions"]:
        page = re.sub(change["pattern"], change["replacement"], page)
    assert "![" not in page and "](" not in page and page.count("\n|--") == tables - 1  # that of the pictures
    assert "readme" in told["project"]["dynamic"] and "pip install" in page


def test_the_changelog_speaks_of_this_version() -> None:
    from mlcli import __version__

    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
