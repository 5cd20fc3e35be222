"""Generated pages are fresh, and what is written by hand names what exists."""

import re
import subprocess
import sys
from pathlib import Path

import mlcli
from mlcli import errors
from mlcli.methods import METHODS
from tests.processes import neutral

ROOT = Path(__file__).parents[1]
PACKAGE = Path(mlcli.__file__).parent


def test_generated_pages_are_fresh() -> None:
    command = [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True, env=neutral())
    assert result.returncode == 0, f"stale: {result.stdout.split()}; run `python docs/generate.py`"


def test_every_code_in_the_source_stands_on_the_page_of_errors() -> None:
    """Found by another way than the page's: by the form of texts, and by what follows an error's name."""
    page = set(re.findall(r"`([A-Z][A-Z0-9-]+)`", (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")))
    source = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    kinds = "|".join(name for name, kind in vars(errors).items() if isinstance(kind, type))
    words = {*re.findall(r'"([A-Z][A-Z0-9]*(?:-[A-Z0-9]+)+)"', source),
             *re.findall(rf'(?:{kinds})\)?\(\s*"([A-Z0-9-]+)"', source)} - {"UTF-8"}
    codes = {word if re.match("[EWNC]-", word) else f"E-{word}" for word in words if not word.startswith("F-")}
    assert {"E-NOT-A-NUMBER", "E-STRICT", "W-RENAMED", "C-NEGATIVE"} <= codes
    assert sorted(codes - page) == []


def test_links_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("sample_data/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_readme_names_every_method_and_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"docs/methods/{name}.md" in readme for name in METHODS)
    for command in ("embed", "run", "check", "plan", "project", "reconstruct", "methods", "schema", "sample", "doctor"):
        assert f"mlcli {command}" in readme


def test_the_changelog_speaks_of_this_version() -> None:
    from mlcli import __version__

    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
