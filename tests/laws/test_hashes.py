"""The hashes of layouts in docs/reproducibility.md are those of runs on this machine."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import neutral

ROOT = Path(__file__).parents[2]
LAYOUTS = ("tsne", "umap", "phate", "nmds", "smacof", "sammon")


@pytest.mark.medium
@pytest.mark.parametrize("method", LAYOUTS)
def test_layouts_have_the_hashes_of_the_page(method: str) -> None:
    page = (ROOT / "docs" / "reproducibility.md").read_text(encoding="utf-8")
    stored = dict(re.findall(rf"^\| {method} \| ([a-z]+) \|.*\| ([0-9a-f]{{12}}) \|$", page, re.MULTILINE))
    done = subprocess.run([sys.executable, "-P", ROOT / "scripts" / "reproducibility.py", method], env=neutral(),
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = {name: told for _, name, told in (line.split("\t") for line in done.stdout.splitlines())}
    assert found == stored and {"iris", "dune"} <= stored.keys()
