"""The hashes in docs/reproducibility.md are those of runs on this machine."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import neutral

ROOT = Path(__file__).parents[2]
SCRIPT, PAGE = ROOT / "scripts" / "reproducibility.py", ROOT / "docs" / "reproducibility.md"
LAYOUTS = ("tsne", "umap", "phate", "nmds", "smacof", "sammon")
OTHERS = ("pca", "isomap", "lle", "fa", "nmf", "lda")  # one of each kind of mathematics


def checked(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-P", SCRIPT, *arguments], env=neutral(), capture_output=True, text=True,
                          check=False)


@pytest.mark.medium
@pytest.mark.parametrize("method", LAYOUTS)
def test_layouts_have_the_hashes_of_the_page(method: str) -> None:
    done = checked("--check", method)
    found = [line.split("\t") for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stdout + done.stderr
    assert {(name, data, verdict) for name, data, _, verdict in found} >= {(method, "iris", "same"),
                                                                           (method, "dune", "same")}


@pytest.mark.medium
def test_other_methods_have_the_hashes_of_the_page_where_versions_are_the_same() -> None:
    done = checked("--check", *OTHERS)
    assert done.returncode == 0, done.stdout + done.stderr
    if not done.stdout:
        pytest.skip("the page was measured with other versions")
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == [f"{name} --portable" for name in OTHERS]


@pytest.mark.medium
def test_another_hash_is_reported_with_the_page_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                  capsys: pytest.CaptureFixture[str]) -> None:
    spec = importlib.util.spec_from_file_location("reproducibility", SCRIPT)
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    told = PAGE.read_text(encoding="utf-8")
    stored = dict(re.findall(r"^\| sammon \| ([a-z]+) \|.*\| ([0-9a-f]{12}) \|$", told, re.MULTILINE))
    page = tmp_path / "page.md"
    page.write_text(told.replace(stored["dune"], "0" * 12), encoding="utf-8")
    for name in [name for name in os.environ if name not in neutral()]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(script, "PAGE", page)
    monkeypatch.setattr(sys, "argv", ["reproducibility.py", "sammon", "--note", "versions", "another"])
    with pytest.raises(SystemExit) as ended:
        script.main()
    verdicts = {line.split("\t")[1]: line.split("\t")[-1] for line in capsys.readouterr().out.splitlines()}
    assert ended.value.code == 1 and verdicts == {"iris": "same", "dune": "differs: 000000000000"}
    rows = {row["data"]: row["versions"] for row in script.read_page()[2] if row["method"] == "sammon"}
    assert rows["dune"].endswith("another") and "another" not in rows["iris"]
