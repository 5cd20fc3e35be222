"""Generated pages are fresh, and what is written by hand names what exists."""

import re
import subprocess
import sys
from pathlib import Path

from mlcli.methods import METHODS
from tests.processes import neutral

ROOT = Path(__file__).parents[1]


def test_generated_pages_are_fresh() -> None:
    command = [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True, env=neutral())
    assert result.returncode == 0, f"stale: {result.stdout.split()}; run `python docs/generate.py`"


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
