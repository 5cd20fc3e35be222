"""The pages of docs/ as a site: all of them in its navigation, all links within it, and a build without complaints."""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))
LINK = re.compile(r"\]\(([^)\s]+)\)")


def listed(entry: Any) -> Iterator[str]:
    """The pages of a navigation."""
    if isinstance(entry, str):
        yield entry
    for part in entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ():
        yield from listed(part)


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


def test_every_page_is_in_the_navigation_once() -> None:
    nav = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    assert sorted(listed(nav)) == PAGES, "a page that is new, or gone: change nav in zensical.toml"


@pytest.mark.parametrize("name", PAGES)
def test_links_stay_within_the_site(name: str) -> None:
    page = DOCS / name
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if re.match("https?:", target):
            continue
        place, _, anchor = target.partition("#")
        there = (page.parent / place).resolve() if place else page
        assert there.is_relative_to(DOCS) and there.exists(), f"{name} links to {target}"
        assert not anchor or anchor in anchors(there), f"{name} links to {target}"
        assert "--" not in anchor, f"{name}: GitHub and the site make different anchors of the heading of {target}"


@pytest.mark.slow
@pytest.mark.skipif(find_spec("zensical") is None, reason="the site is built where pip install --group docs was done")
def test_the_site_is_built_without_complaints(tmp_path: Path) -> None:
    shutil.copytree(DOCS, tmp_path / "docs")
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    done = subprocess.run([sys.executable, "-m", "zensical", "build", "--strict"], cwd=tmp_path, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    made = tmp_path / "build" / "site"
    assert all((made / (page if page.endswith("index.md") else page[:-3] + "/x")).parent.is_dir() for page in PAGES)
    assert "https://fonts." not in (made / "index.html").read_text(encoding="utf-8")
