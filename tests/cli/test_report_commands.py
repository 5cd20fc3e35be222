"""`report` and `compare`: finished runs shown again and set side by side."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.cli.support import Caller, process, write_points


@pytest.fixture
def labeled(mlcli: Caller) -> Path:
    """A run with two label columns."""
    rows = np.random.default_rng(0).standard_normal((20, 3)).tolist()
    lines = ["id,kind,size,x,y,z", *(f"p{i},{'ab'[i % 2]},{i}.5,{','.join(map(repr, row))}"
                                     for i, row in enumerate(rows))]
    Path("labeled.csv").write_text("\n".join([*lines, ""]))
    assert mlcli("embed", "labeled.csv", "--id-column", "id", "--label-column", "kind", "--label-column", "size",
                 "--format", "parquet", "-o", "labeled").code == 0
    return Path("labeled")


def test_a_report_is_the_same_from_files_as_from_memory(mlcli: Caller, labeled: Path) -> None:
    before = (labeled / "report.html").read_text()
    assert "colored by kind" in before and "colored by size" in before
    assert mlcli("report", labeled).err == f"mlcli: wrote {labeled}/report.html\n"
    assert (labeled / "report.html").read_text() == before


@pytest.mark.parametrize("format", ["csv", "npy"])
def test_the_same_for_other_formats(mlcli: Caller, format: str) -> None:
    assert mlcli("embed", "data.csv", "-m", "isomap", "--format", format, "-o", "out").code == 0
    before = Path("out/report.html").read_text()
    assert mlcli("report", "out", "-q").err == ""
    after = Path("out/report.html").read_text()
    assert after == before if format == "csv" else len(after) > 0.9 * len(before)  # NPY holds no ids


def test_a_title_and_a_label_are_chosen_and_the_run_stays_whole(mlcli: Caller, labeled: Path) -> None:
    called = mlcli("report", labeled, "--label-column", "size", "--title", "<Mine>", "--json")
    assert json.loads(called.out) == {"run": "labeled", "report": "labeled/report.html"}
    text = (labeled / "report.html").read_text()
    assert "<h1>&lt;Mine&gt;</h1>" in text and "colored by size" in text and "colored by kind" not in text
    assert mlcli("report", labeled).code == 0  # its hashes are right


def test_what_is_no_whole_run_is_refused(mlcli: Caller, labeled: Path) -> None:
    assert mlcli("report", ".").code == 66
    assert mlcli("report", labeled, "--label-column", "z").code == 78
    with (labeled / "spectrum.csv").open("a") as file:
        file.write("9,9,9,9\n")
    assert mlcli("report", labeled).code == 83
    shutil.rmtree(labeled / "spectrum.csv", ignore_errors=True)
    (labeled / "embedding.parquet").unlink()
    assert mlcli("compare", labeled, labeled).code == 83


def test_a_damaged_record_is_no_bug_of_ours(mlcli: Caller, labeled: Path) -> None:
    record = json.loads((labeled / "run.json").read_text())
    for broken in ({**record, "input": 3}, {**record, "files": None}, {**record, "stages": [{}]}):
        (labeled / "run.json").write_text(json.dumps(broken))
        called = mlcli("report", labeled)
        assert called.code == 83 and "E-RUN-FILES" in called.err


def test_figures_in_other_formats_need_matplotlib(mlcli: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    called = mlcli("embed", "data.csv", "-q", "-o", "drawn", "--set", "report.figures=[svg,png,pdf]")
    assert called.code == 0, called.err
    assert {"scree.svg", "scree.png", "scree.pdf", "scatter.png"} <= {path.name for path in Path("drawn").iterdir()}
    monkeypatch.setattr("mlcli.config.build.find_spec", lambda name: None)
    called = mlcli("embed", "absent.csv", "--set", "report.figures=[png]")  # before anything is read
    assert called.code == 69 and "pip install 'manifold-cli[plot]'" in called.err and "E-PLOT" in called.err


def test_figures_need_no_home(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "MPL"))}
    started = process("embed", "data.csv", "-q", "-o", "drawn", "--set", "report.figures=[png]",
                      env={**kept, "HOME": "/proc/nowhere", "TMPDIR": str(tmp_path)})
    assert started.communicate(timeout=120) == (b"", b"") and started.returncode == 0
    assert Path("drawn/scree.png").is_file() and not list(tmp_path.glob("matplotlib*"))


def test_a_run_is_at_no_distance_from_itself(mlcli: Caller) -> None:
    for name, extra in {"one": [], "two": ["--scale", "center"]}.items():
        assert mlcli("embed", "data.csv", "-q", "-o", name, *extra).code == 0
    called = mlcli("compare", "one", "two", "--json")
    assert called.code == 0, called.err
    pair = json.loads(called.out)["pairs"][0]
    assert pair["procrustes_m2"] < 1e-25 and pair["overlap"] == pair["jaccard"] == 1
    assert max(pair["principal_angles"]) < 1e-10 and pair["neighbors"] == 12


def test_the_table_and_the_page(mlcli: Caller) -> None:
    for method in ("pca", "mds", "isomap"):
        assert mlcli("embed", "data.csv", "-q", "-o", method, "-m", method).code == 0
    called = mlcli("compare", "pca", "mds", "isomap", "-o", "page.html", "-k", "5")
    assert called.code == 0 and called.err.endswith("mlcli: wrote page.html\n")
    lines = called.out.splitlines()
    assert lines[0].split()[:3] == ["run", "with", "m2"] and lines[1].split()[:2] == ["pca", "mds"]
    assert len([line for line in lines if line.startswith("isomap")]) == 1 and lines[-1] == "30 rows"
    assert "Small" not in Path("page.html").read_text() and "<h2>Embeddings</h2>" in Path("page.html").read_text()
    assert mlcli("compare", "pca", "mds", "-o", "page.html").code == 73
    assert mlcli("compare", "pca", "mds", "-o", "page.html", "--force", "-q").err == ""


def test_rows_are_matched_by_id_and_the_others_left_out(mlcli: Caller) -> None:
    lines = Path("data.csv").read_text().splitlines()
    Path("part.csv").write_text("\n".join([lines[0], *reversed(lines[5:]), "new,1,2,3", ""]))
    assert mlcli("embed", "data.csv", "-q", "-o", "whole").code == 0
    assert mlcli("embed", "part.csv", "-q", "-o", "part").code == 0
    called = mlcli("compare", "whole", "part", "--json")
    assert called.code == 0 and json.loads(called.out)["rows"] == 26
    assert json.loads(called.out)["pairs"][0]["procrustes_m2"] < 0.1  # the same points, about the same axes
    assert "W-COMMON-ROWS" in mlcli("compare", "whole", "part").err


def test_what_cannot_be_compared_is_refused(mlcli: Caller) -> None:
    assert mlcli("embed", "data.csv", "-q", "-o", "one").code == 0
    other = write_points(Path("other.csv"))
    other.write_text(other.read_text().replace("p", "q"))
    assert mlcli("embed", "other.csv", "-q", "-o", "two").code == 0
    called = mlcli("compare", "one", "two")
    assert called.code == 65 and "E-NO-COMMON-ROWS" in called.err
    assert mlcli("compare", "one").code == 2
    assert mlcli("compare", "one", "absent").code == 66
    assert mlcli("compare", "one", "one", "--label-column", "x").code == 78
