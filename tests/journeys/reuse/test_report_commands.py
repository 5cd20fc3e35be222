"""`report` and `compare`: finished runs shown again and set side by side."""

import itertools
import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.journeys.support import Caller, process, write_points


@pytest.fixture
def labeled(mlcli: Caller) -> Path:
    """A run with two label columns."""
    rows = np.random.default_rng(0).standard_normal((20, 3)).tolist()
    lines = ["id,kind,size,x,y,z", *(f"p{i},{'ab'[i % 2]},{i}.5,{','.join(map(repr, row))}"
                                     for i, row in enumerate(rows))]
    Path("labeled.csv").write_text("\n".join([*lines, ""]))
    mlcli.finished("embed", "labeled.csv", "--id-column", "id", "--label-column", "kind", "--label-column", "size",
                 "--format", "parquet", "-o", "labeled")
    return Path("labeled")


def test_a_report_is_the_same_from_files_as_from_memory(mlcli: Caller, labeled: Path) -> None:
    written = [labeled / name for name in ("report.html", "scree.svg", "scatter.svg")]
    before = [path.read_text() for path in written]
    assert "colored by kind" in before[0] and "colored by size" in before[0]
    assert mlcli("report", labeled).err.splitlines() == [f"wrote {path}" for path in written]
    assert [path.read_text() for path in written] == before


def test_tables_of_a_run_go_to_standard_output(mlcli: Caller, labeled: Path) -> None:
    before = (labeled / "report.html").read_bytes()
    loadings = mlcli("report", labeled, "--table", "loadings", "--as", "csv")
    stored = {line.split(",")[0]: line for line in (labeled / "loadings.csv").read_text().splitlines()}
    assert all(line.startswith(stored[line.split(",")[0]]) for line in loadings.out.splitlines())
    assert "\\toprule" in mlcli("report", labeled, "--table", "quality", "--as", "latex").out
    assert mlcli("report", labeled, "--table", "spectrum").out.count("\n| ") == 3 + 2
    assert (labeled / "report.html").read_bytes() == before
    assert mlcli("report", labeled, "--table", "correlations").code == 78
    for words in (["--as", "csv"], ["--table", "fit", "--cutoff", "1"], ["--table", "spectrum", "--title", "x"],
                  ["--table", "loadings", "--as", "csv", "--cutoff", "1"]):
        assert mlcli("report", labeled, *words).code == 2, words


@pytest.mark.parametrize("format", ["csv", "npy"])
def test_the_same_for_other_formats(mlcli: Caller, format: str) -> None:
    mlcli.finished("embed", "data.csv", "-m", "isomap", "--format", format, "-o", "out")
    before = Path("out/report.html").read_text()
    assert mlcli("report", "out", "-q").err == ""
    after = Path("out/report.html").read_text()
    if format == "csv":
        assert after == before
    else:  # NPY holds no ids, by which the picture names so few points
        headings, written_first = (re.findall(r"<h2[^>]*>([^<]*)", page) for page in (after, before))
        assert headings == written_first
        assert {"Embedding", "Spectrum", "Certificate"} <= set(headings)


def test_a_title_and_a_label_are_chosen_and_the_run_stays_whole(mlcli: Caller, labeled: Path) -> None:
    called = mlcli("report", labeled, "--label-column", "size", "--title", "<Mine>", "--json")
    assert json.loads(called.out) == {"run": "labeled", "report": "labeled/report.html",
                                      "figures": ["labeled/scree.svg", "labeled/scatter.svg"], "removed": []}
    text = (labeled / "report.html").read_text()
    assert "<h1>&lt;Mine&gt;</h1>" in text and "colored by size" in text and "colored by kind" not in text
    assert mlcli("report", labeled).code == 0  # its hashes are right


def test_what_is_no_whole_run_is_refused(mlcli: Caller, labeled: Path) -> None:
    assert mlcli("report", ".").code == 66
    assert mlcli("report", labeled, "--label-column", "w").code == 78
    with (labeled / "spectrum.csv").open("a") as file:
        file.write("9,9,9,9\n")
    assert mlcli("report", labeled).code == 83
    shutil.rmtree(labeled / "spectrum.csv", ignore_errors=True)
    (labeled / "embedding.parquet").unlink()
    assert mlcli("compare", labeled, labeled).code == 83


@pytest.mark.medium
def test_figures_are_drawn_again_for_a_paper_and_belong_to_the_run(mlcli: Caller) -> None:
    mlcli.finished("embed", "data.csv", "-q", "-o", "run")
    plain = Path("run/scree.svg").read_bytes()
    called = mlcli("report", "run", "--figures", "pdf,svg", "--size", "3.5,2.5", "--arrows", "2", "--outlines",
                   "ellipses", "--level", "0.8", "--point-labels", "none", "--json")
    assert called.code == 0, called.err
    names = ["run/scree.pdf", "run/scree.svg", "run/scatter.pdf", "run/scatter.svg"]
    assert json.loads(called.out)["figures"] == names
    first = {name: Path(name).read_bytes() for name in names}
    assert b"/MediaBox [ 0 0 252 180 ]" in first[names[0]]
    assert "Ellipses hold 80%" in Path("run/report.html").read_text()
    assert mlcli("verify", "run").code == 0
    assert mlcli("report", "run", "--figures", "pdf,svg", "--size", "3.5,2.5", "--arrows", "2", "--outlines",
                 "ellipses", "--level", "0.8", "--point-labels", "none").code == 0
    assert {name: Path(name).read_bytes() for name in names} == first
    assert mlcli("report", "run", "--title", "data").code == 0 and Path("run/scree.svg").read_bytes() != plain


def drawings() -> dict[str, bytes]:
    """The figures of the run, by name."""
    return {path.name: path.read_bytes() for path in Path("run").iterdir() if path.stem in ("scree", "scatter")}


@pytest.mark.medium
def test_no_figure_of_a_former_drawing_stays(mlcli: Caller, labeled: Path) -> None:
    """Each kind is drawn again; formats that are not named any more are removed, as is what a killed process left."""
    labeled.rename("run")
    made = drawings()
    assert mlcli("report", "run", "--figures", "svg,png,pdf", "--title", "A title").code == 0
    titled = drawings()
    assert titled.keys() == {f"{name}.{format}" for name in ("scree", "scatter") for format in ("svg", "png", "pdf")}
    assert mlcli("report", "run", "--label-column", "kind").code == 0
    colored = drawings()
    assert colored.keys() == titled.keys() and not {*titled.values()} & {*colored.values()}
    assert b"A title" in titled["scatter.svg"] and b"A title" not in colored["scatter.svg"]
    record = json.loads(Path("run/run.json").read_text())
    del record["files"]["scree.pdf"]
    Path("run/run.json").write_text(json.dumps({**record, "pending": ["scree.pdf"]}))
    called = mlcli("report", "run", "--figures", "svg", "--json")
    assert json.loads(called.out)["removed"] == ["run/scree.png", "run/scree.pdf", "run/scatter.png", "run/scatter.pdf"]
    assert drawings().keys() == made.keys() and mlcli("verify", "run").code == 0
    Path("run/scatter.png").write_text("of somebody else")
    assert mlcli("report", "run").code == 0 and drawings() == {**made, "scatter.png": b"of somebody else"}


@pytest.mark.medium
def test_figures_that_cannot_be_drawn_here_are_no_dead_end(
        mlcli: Caller, labeled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert mlcli("report", labeled, "--figures", "png").code == 0
    monkeypatch.setattr("mlcli.base.values.extras.find_spec", lambda name: None)
    called = mlcli("report", labeled)
    assert called.code == 69 and "--figures svg" in called.err
    assert mlcli("report", labeled, "--figures", "svg").code == 0
    assert {path.name for path in labeled.glob("sc*.*")} == {"scree.svg", "scatter.svg"}


@pytest.mark.parametrize(("arguments", "said"), [
    (["--point-labels", "kind"], "E-POINT-LABELS"), (["--level", "0.5"], "report.outlines.level"),
    (["--size", "3"], "report.look.size"), (["--size", "90kg,70mm"], "report.look.size[0]"),
    (["--palette", "rainbow"], "report.look.palette"),
    (["--arrows", "3"], "E-NO-LOADINGS")])
def test_drawings_that_cannot_be_are_refused_and_the_run_stays(mlcli: Caller, arguments: list[str], said: str) -> None:
    mlcli.finished("embed", "data.csv", "-m", "mds", "-q", "-o", "run")
    before = {path.name: path.read_bytes() for path in Path("run").iterdir()}
    called = mlcli("report", "run", *arguments)
    assert called.code == 78 and said in called.err
    assert {path.name: path.read_bytes() for path in Path("run").iterdir()} == before


def test_arrows_and_labels_are_refused_before_a_run_is_made(mlcli: Caller) -> None:
    assert mlcli("embed", "absent.csv", "-m", "lle", "--set", "report.arrows=3").code == 78
    called = mlcli("embed", "data.csv", "--set", "report.point_labels=kind", "-o", "none")
    assert called.code == 78 and "E-POINT-LABELS" in called.err and not Path("none").exists()


@pytest.mark.medium
def test_stress_is_at_the_best_scale_where_the_scale_is_free(mlcli: Caller) -> None:
    for method, words in {"lle": "stress-1 at the best scale", "fa": "stress-1 at the best scale",
                          "mds": "stress-1 0."}.items():
        told = mlcli("embed", "data.csv", "-m", method, "-p", "1", "-v", "-o", method)
        assert told.code == 0 and words in told.err
        text = Path(method, "report.html").read_text()
        assert ("<td>stress-1</td>" in text) == ("The scale of the coordinates is arbitrary" not in text) == (
            method == "mds")


def test_a_damaged_record_is_no_bug_of_ours(mlcli: Caller, labeled: Path) -> None:
    record = json.loads((labeled / "run.json").read_text())
    for broken in ({**record, "input": 3}, {**record, "files": None}, {**record, "stages": [{}]}):
        (labeled / "run.json").write_text(json.dumps(broken))
        called = mlcli("report", labeled)
        assert called.code == 83 and "E-RUN-FILES" in called.err


@pytest.mark.medium
def test_figures_in_other_formats_need_matplotlib(mlcli: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    called = mlcli("embed", "data.csv", "-q", "-o", "drawn", "--set", "report.figures=[svg,png,pdf]")
    assert called.code == 0, called.err
    assert {"scree.svg", "scree.png", "scree.pdf", "scatter.png"} <= {path.name for path in Path("drawn").iterdir()}
    monkeypatch.setattr("mlcli.base.values.extras.find_spec", lambda name: None)
    called = mlcli("embed", "absent.csv", "--set", "report.figures=[png]")  # before anything is read
    assert called.code == 69 and "pip install 'manifold-cli[plot]'" in called.err and "E-EXTRA" in called.err


@pytest.mark.medium
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
    assert max(pair["principal_angles"]) < 1e-10 and pair["neighbors"] == 12 and "procrustes_p" not in pair
    called = mlcli("compare", "one", "two", "--permutations", "99", "-o", "page.html")
    assert called.code == 0, called.err
    heading, line = next(itertools.pairwise(called.out.splitlines()[-4:]))
    assert heading.split()[3:6] == ["p", "of", "m2"] and line.split()[3] == "0.01"
    assert "p is the share of permutations" in Path("page.html").read_text(encoding="utf-8")


def test_runs_of_other_inputs_are_compared_with_a_warning(mlcli: Caller) -> None:
    Path("other.csv").write_text(Path("data.csv").read_text().replace(".", ".1"))
    for name in ("data", "other"):
        mlcli.finished("embed", f"{name}.csv", "-q", "-o", name)
    assert "W-INPUTS-DIFFER" in mlcli("compare", "data", "other").err
    called = mlcli("compare", "data", "data", "--json")
    assert "W-INPUTS-DIFFER" not in called.err
    document = json.loads(called.out)
    quality = json.loads(Path("data/quality.json").read_text())
    assert document["options"] == {} and document["runs"][0]["quality"]["stress_1"] == quality["stress_1"]


@pytest.mark.medium
def test_the_table_and_the_page(mlcli: Caller) -> None:
    for method in ("pca", "mds", "isomap"):
        mlcli.finished("embed", "data.csv", "-q", "-o", method, "-m", method)
    called = mlcli("compare", "pca", "mds", "isomap", "-o", "page.html", "-k", "5")
    assert called.code == 0 and called.err.endswith(" page.html\n")
    assert called.out.splitlines()[-1] == "30 rows in common"
    assert "Small" not in Path("page.html").read_text() and "<h2>Embeddings</h2>" in Path("page.html").read_text()
    assert mlcli("compare", "pca", "mds", "-o", "page.html").code == 73
    assert mlcli("compare", "pca", "mds", "-o", "page.html", "--force", "-q").err == ""


@pytest.mark.medium
def test_the_terminal_has_what_the_document_has_of_every_run(mlcli: Caller) -> None:
    """Figures and options that differ, each under the number of its run, within 80 columns."""
    folder = "runs/" + "a-long-name-of-a-run-" * 4
    runs = [f"{folder}{k}" for k in (4, 5, 6, 7, 8, 9)]
    for k, run in zip((4, 5, 6, 7, 8, 9), runs, strict=True):
        assert mlcli("embed", "data.csv", "-q", "-o", run, "-m", "isomap", "-k", k, "-p", 3).code == 0
    lines = mlcli("compare", *runs).out.splitlines()
    document = json.loads(mlcli("compare", *runs, "--json").out)
    assert max(map(len, lines)) <= 80
    listed = [line.split() for line in lines[1:7]]
    assert [(line[0], line[2]) for line in listed] == [(str(place), "isomap") for place in range(1, 7)]
    assert all(line[1].endswith(f"run-{k}") for line, k in zip(listed, (4, 5, 6, 7, 8, 9), strict=True))
    cells: dict[str, list[str]] = {}  # of all blocks, by the name of the row
    for line in lines[7:]:
        name, *values = re.split(r"  +", line)
        cells.setdefault(name, []).extend(values)
    assert cells["figure"] == list("123456") and cells["option that differs"] == list("123456")
    assert cells["method.neighbors.count"] == ["4", "5", "6", "7", "8", "9"]
    for name, key in (("seconds", lambda run: run["seconds"]), ("continuity", lambda run: run["quality"]["continuity"]),
                      ("stress-1", lambda run: run["quality"]["stress_1"]),
                      ("eigenvalue 2", lambda run: run["eigenvalues"][1]),
                      ("share of axis 3", lambda run: run["proportions"][2])):
        assert [float(cell) for cell in cells[name]] == pytest.approx([key(run) for run in document["runs"]], rel=1e-3)
    pairs = [line.split()[:2] for line in lines[lines.index("") + 1:] if re.match(r"\d +\d +[\d.]", line)]
    assert len(pairs) == len(document["pairs"]) == 15 and pairs[-1] == ["5", "6"]


def test_a_run_may_be_compared_with_itself(mlcli: Caller) -> None:
    assert mlcli("embed", "data.csv", "-q", "-o", "one").code == 0
    called = mlcli("compare", "one", "one")
    assert called.code == 0 and "figure               " in called.out and "option that differs" not in called.out


def test_rows_are_matched_by_id_and_the_others_left_out(mlcli: Caller) -> None:
    lines = Path("data.csv").read_text().splitlines()
    Path("part.csv").write_text("\n".join([lines[0], *reversed(lines[5:]), "new,1,2,3", ""]))
    mlcli.finished("embed", "data.csv", "-q", "-o", "whole")
    mlcli.finished("embed", "part.csv", "-q", "-o", "part")
    called = mlcli("compare", "whole", "part", "--json")
    assert called.code == 0 and json.loads(called.out)["rows"] == 26
    assert json.loads(called.out)["pairs"][0]["procrustes_m2"] < 0.1  # the same points, about the same axes
    assert "W-COMMON-ROWS" in mlcli("compare", "whole", "part").err


@pytest.mark.medium
def test_what_cannot_be_compared_is_refused(mlcli: Caller) -> None:
    mlcli.finished("embed", "data.csv", "-q", "-o", "one")
    other = write_points(Path("other.csv"))
    other.write_text("".join(f"q{line}" for line in other.read_text().splitlines(keepends=True)))
    mlcli.finished("embed", "other.csv", "-q", "-o", "two")
    called = mlcli("compare", "one", "two")
    assert called.code == 65 and "E-NO-COMMON-ROWS" in called.err
    assert mlcli("compare", "one").code == 2
    assert mlcli("compare", "one", "absent").code == 66
    assert mlcli("compare", "one", "one", "-o", "page.html", "--label-column", "w").code == 78


def test_a_run_beside_itself_has_two_numbers(mlcli: Caller) -> None:
    assert mlcli("sample", "helix", "--rows", 12, "-o", "points.csv").code == 0
    run = mlcli.finished("embed", "points.csv", "-m", "pca", "-o", "run", "-q")
    called = mlcli("compare", run, run)
    assert called.code == 0, called.err
    assert [line.split()[:2] for line in called.out.splitlines() if line.startswith(("1    ", "2    "))] == [["1", "2"]]
