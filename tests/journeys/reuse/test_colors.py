"""`report` and its colors: several columns, also of the input, and the label that quality is about."""

import csv
import json
import re
import shutil
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mlcli.errors import UsageError
from mlcli.pipeline.read_run import read_run
from mlcli.report.drawing.palette import STEPS
from mlcli.report.figures.coloring import ColorRange, Groups
from mlcli.report.page.embedding import coloring_of
from mlcli.runs.colors import split_names, with_colors
from tests.journeys.support import Caller
from tests.wording import Wording

ROWS = 40
KINDS, MOISTURE = ["hay", "pasture", "mixed", ""], [row % 5 if row != 3 else None for row in range(ROWS)]
ODD = 'odd, "><script>alert(1)</script>'


def write_sites(path: Path) -> None:
    """Sites with two texts, moisture with an empty cell, and a column with a hostile name; rows are not in order."""
    values = np.random.default_rng(5).standard_normal((ROWS, 3))
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["site", "use", "type", "moisture", "a", "b", "c", ODD])
        for row in np.random.default_rng(1).permutation(ROWS).tolist():
            moisture = "" if MOISTURE[row] is None else MOISTURE[row]
            writer.writerow([f"s{row}", KINDS[row % 4], "xy"[row % 2], moisture, *map(repr, values[row].tolist()), row])


@pytest.fixture
def sites(mlcli: Caller) -> Path:
    """A run of three columns of sites, with two label columns."""
    write_sites(Path("sites.csv"))
    return mlcli.finished("embed", "sites.csv", "--id-column", "site", "--label-column", "use", "--label-column",
                          "type", "--columns", "a,b,c", "-q", "-o", "sites")


@pytest.mark.medium
def test_each_column_has_a_plot_on_the_page_and_a_figure_and_numbers_a_scale(mlcli: Caller, sites: Path) -> None:
    quoted = '"' + ODD.replace('"', '""') + '"'
    called = mlcli("report", sites, "--color-by", "type,moisture", "--color-by", quoted)
    assert called.code == 0, called.err
    page = (sites / "report.html").read_text()
    titles = re.findall(r">Embedding, colored by ([^<]*)</text>", page)
    assert [title[:8] for title in titles] == ["type", "moisture", "odd, &qu"] and "<script" not in page
    assert "colored by use" not in page
    drawn = [(sites / f"{name}.svg").read_text() for name in ("scatter", "scatter-2", "scatter-3")]
    assert ["x (20)" in svg for svg in drawn] == [True, False, False]
    assert ["no number (1)" in svg for svg in drawn] == [False, True, False]
    assert mlcli("verify", sites).code == 0
    assert mlcli("report", sites).code == 0 and not list(sites.glob("scatter-*"))


def test_columns_of_the_input_are_matched_to_the_rows(mlcli: Caller, sites: Path) -> None:
    run = with_colors(read_run(sites), sites, ["moisture", "use", "a"])
    table, places = run.embedding, [int(name[1:]) for name in run.embedding.ids]
    assert run.colors == ("moisture", "use", "a") and table.measured == {"moisture", "a"}
    assert [float(text) if text else None for text in table.labels["moisture"]] == [MOISTURE[row] for row in places]
    values = np.random.default_rng(5).standard_normal((ROWS, 3))[places, 0]
    np.testing.assert_array_equal([float(text) for text in table.labels["a"]], values)
    few, kinds = coloring_of(table, "moisture"), coloring_of(table, "use")
    assert isinstance(few, ColorRange) and (few.low, few.high, few.absent) == (0, 4, 1) and isinstance(kinds, Groups)
    assert few.of[places.index(4)] == STEPS - 1 and few.of[places.index(3)] == STEPS


@pytest.mark.parametrize("chosen", [["--format", "csv"], ["--format", "npy"], ["--format", "parquet"],
                                    ["--where", "moisture>=0"], ["--where", "moisture>=0", "--format", "npy"]])
def test_rows_that_the_run_left_out_have_no_color(mlcli: Caller, chosen: list[str]) -> None:
    write_sites(Path("sites.csv"))
    called = mlcli.bare("sites.csv", "--columns", "moisture,a,b", "--set", "prepare.missing=drop", *chosen, "-q",
                        "-o", "run")
    assert called.code == 0, called.err
    run = with_colors(read_run(Path("run")), Path("run"), ['"' + ODD.replace('"', '""') + '"'])
    with Path("sites.csv").open(newline="") as file:
        wanted = [float(row[ODD]) for row in csv.DictReader(file) if row["moisture"]]
    assert [float(text) for text in run.embedding.labels[ODD]] == wanted and len(wanted) == ROWS - 1


@pytest.mark.medium
def test_an_input_that_changed_or_is_gone_is_refused_and_labels_of_the_run_need_none(
        mlcli: Caller, wording: Wording) -> None:
    write_sites(Path("sites.csv"))
    sites = Path("own")  # a copy of another test's run would find the input of that test
    assert mlcli("embed", "sites.csv", "--label-column", "type", "--columns", "a,b,c", "-q", "-o", sites).code == 0
    shutil.copy("sites.csv", "moved.csv")
    with Path("sites.csv").open("a") as file:
        file.write("\n")
    before = (sites / "report.html").read_bytes()
    assert mlcli("report", sites, "--color-by", "moisture").code == 83
    Path("sites.csv").unlink()
    gone = mlcli("report", sites, "--color-by", "moisture")
    assert gone.code == 66 and "E-RUN-INPUT" in wording(gone.err) and "--input" in gone.err
    assert (sites / "report.html").read_bytes() == before
    assert mlcli("report", sites, "--color-by", "type").code == 0
    assert mlcli("report", sites, "--color-by", "moisture", "--input", "moved.csv").code == 0
    assert mlcli("report", sites, "--input", "moved.csv").code == 78


def test_columns_of_h5ad_are_genes_and_those_of_obs(mlcli: Caller) -> None:
    counts = np.random.default_rng(2).poisson(1.0, (20, 6)).astype(float)
    with h5py.File("cells.h5ad", "w") as file:
        file["X"] = counts
        for name, index in (("obs", [f"cell{row}" for row in range(20)]), ("var", [f"G{gene}" for gene in range(6)])):
            group = file.create_group(name)
            group.attrs["_index"] = "_index"
            group["_index"] = index
        file["obs/depth"] = np.arange(20) % 4
        file["obs/kind"] = ["ab"[row % 2] for row in range(20)]
    assert mlcli.bare("cells.h5ad", "--columns", "G1,G2,G3", "-q", "-o", "run").code == 0
    table = with_colors(read_run(Path("run")), Path("run"), ["kind,G5,depth,G1"]).embedding
    assert [float(text) for text in table.labels["G5"]] == counts[:, 5].tolist()
    assert [float(text) for text in table.labels["G1"]] == counts[:, 1].tolist()
    assert [float(text) for text in table.labels["depth"]] == (np.arange(20) % 4).tolist()
    assert table.measured == {"G5", "depth", "G1"}
    assert isinstance(coloring_of(table, "depth"), ColorRange) and isinstance(coloring_of(table, "kind"), Groups)


def test_columns_of_parquet_and_of_a_run_of_a_run(mlcli: Caller) -> None:
    values = np.random.default_rng(2).standard_normal((20, 3))
    table = pa.table({"id": [f"r{row}" for row in range(20)], "k": ["uv"[row % 2] for row in range(20)],
                      **{name: values[:, column] for column, name in enumerate("xyz")}})
    pq.write_table(table, "t.parquet")
    assert mlcli.bare("t.parquet", "--columns", "x,y", "-q", "-o", "run").code == 0
    found = with_colors(read_run(Path("run")), Path("run"), ["z", "k"]).embedding
    assert [float(text) for text in found.labels["z"]] == values[:, 2].tolist() and found.measured == {"z"}
    assert list(found.labels["k"]) == table["k"].to_pylist()
    assert mlcli.bare("run", "-m", "isomap", "-k", "5", "-q", "-o", "second").code == 0
    axes = with_colors(read_run(Path("second")), Path("second"), ["y1"]).embedding.labels["y1"]
    np.testing.assert_array_equal([float(text) for text in axes], read_run(Path("run")).embedding.values[:, 0])


def test_a_table_with_samples_as_columns_has_its_features(mlcli: Caller) -> None:
    values = np.random.default_rng(3).standard_normal((4, 12))
    lines = [f"g{row},{','.join(map(repr, line))}" for row, line in enumerate(values.tolist())]
    Path("genes.csv").write_text("\n".join([f"gene,{','.join(f's{column}' for column in range(12))}", *lines, ""]))
    assert mlcli.bare("genes.csv", "--transpose", "-q", "-o", "run").code == 0
    found = with_colors(read_run(Path("run")), Path("run"), ["g2"]).embedding
    assert [float(text) for text in found.labels["g2"]] == values[2].tolist() and found.measured == {"g2"}
    assert mlcli("report", "run", "--color-by", "s3").code == 78


def test_a_decimal_comma_is_a_number(mlcli: Caller) -> None:
    lines = [f"s{row};{row % 3},5;{row},25;{row * row % 7},75" for row in range(9)]
    Path("sites.csv").write_text("\n".join(["site;wet;x;y", *lines, ""]))
    assert mlcli.bare("sites.csv", "--columns", "x,y", "-q", "-o", "run").code == 0
    found = with_colors(read_run(Path("run")), Path("run"), ["wet"]).embedding
    assert [float(text) for text in found.labels["wet"]] == [row % 3 + 0.5 for row in range(9)]


@pytest.mark.parametrize(("given", "code"), [
    (["--color-by", "type,,use"], 2), (["--color-by", "wetness"], 78), (["--color-by", "type,wetness"], 78),
    (["--color-by", ",".join(f"c{i}" for i in range(13))], 78), (["--quality-label", "moisture"], 78),
    (["--table", "spectrum", "--color-by", "type"], 2)])
def test_what_is_no_column_is_refused(mlcli: Caller, sites: Path, given: list[str], code: int) -> None:
    called = mlcli("report", sites, *given)
    assert called.code == code and called.err.startswith("mlcli: error[") and "--label-column" not in called.err


def test_dissimilarities_have_no_columns(mlcli: Caller, wording: Wording) -> None:
    points = np.random.default_rng(0).standard_normal((9, 2))
    np.savetxt("d.csv", np.linalg.norm(points[:, None] - points, axis=2), delimiter=",")
    assert mlcli.bare("d.csv", "--dissimilarities", "-m", "mds", "-q", "-o", "run").code == 0
    called = mlcli("report", "run", "--color-by", "moisture")
    assert called.code == 78 and "E-REPORT-LABEL" in wording(called.err) and "--labels" in called.err


def test_names_are_split_as_a_line_of_csv_unless_they_are_labels() -> None:
    assert split_names(["a, b", "a", 'c,"d, e"', "f,g"], ["f,g"]) == ["a", "b", "c", "d, e", "f,g"]


@pytest.mark.parametrize("given", ["", " ", "use,", ",use", "use,,k"])
def test_an_empty_name_is_refused(given: str, wording: Wording) -> None:
    with wording.raises(UsageError, "REPORT-COLORS"):
        split_names(["k", given], ["use"])


@pytest.mark.medium
def test_label_measures_are_about_the_first_color_with_classes_or_the_chosen_label(mlcli: Caller, sites: Path) -> None:
    """They equal those of a run that was made with this label."""
    assert mlcli("embed", "sites.csv", "--id-column", "site", "--label-column", "use", "--label-column", "type",
                 "--columns", "a,b,c", "--set", "report.quality.label=type", "-q", "-o", "other").code == 0
    kept = (sites / "quality.json").read_bytes()
    wanted = rows_of_quality(Path("other"))
    assert "1-NN error of type" in wanted and "1-NN error of use" in rows_of_quality(sites)
    for given in (["--color-by", "moisture,type,use"], ["--quality-label", "type"],
                  ["--color-by", "use", "--quality-label", "type"]):
        assert mlcli("report", sites, *given).code == 0
        assert rows_of_quality(sites) == wanted, given
    assert mlcli("report", sites, "--color-by", "use").code == 0
    assert "1-NN error of use" in rows_of_quality(sites)
    assert (sites / "quality.json").read_bytes() == kept


@pytest.mark.medium
def test_sampled_label_measures_equal_those_of_the_run(mlcli: Caller) -> None:
    generator = np.random.default_rng(3)
    lines = [f"{'ab'[i % 2]},{'pqr'[i % 3]},{x!r},{y!r}" for i, (x, y) in enumerate(
        generator.standard_normal((200, 2)).tolist())]
    Path("many.csv").write_text("\n".join(["k,l,x,y", *lines, ""]))
    for name, label in (("first", "k"), ("second", "l")):
        assert mlcli("embed", "many.csv", "--label-column", "k", "--label-column", "l", "--set",
                     f"report.quality={{sample: 30, label: {label}}}", "-q", "-o", name).code == 0
    assert mlcli("report", "first", "--color-by", "l").code == 0
    assert rows_of_quality(Path("first")) == rows_of_quality(Path("second"))
    assert json.loads(Path("second/quality.json").read_text())["label_1nn_error_se"] > 0


@pytest.mark.medium
def test_compare_has_the_colors_of_the_report_and_orientations(mlcli: Caller, sites: Path, wording: Wording) -> None:
    assert mlcli.bare("sites.csv", "--id-column", "site", "--columns", "a,b,c", "-m", "isomap", "-k", "5", "-q",
                      "-o", "map").code == 0
    called = mlcli("compare", sites, "map", "-o", "page.html", "--color-by", "moisture,type")
    assert called.code == 0, called.err
    page = Path("page.html").read_text()
    assert "colored by moisture" in page and "no number (1)" in page and "x (20)" in page
    assert "Isomap 1 (aligned)" in page
    assert mlcli("compare", sites, "map", "-o", "page.html", "--orientation", "own", "--force").code == 0
    own = Path("page.html").read_text()
    assert ">Isomap 1<" in own and "aligned)" not in own and ">PC 1<" in own
    for flag, given in (("--orientation", "own"), ("--color-by", "type"), ("--input", "sites.csv"),
                        ("--labels", "sites.csv")):
        refused = mlcli("compare", sites, "map", flag, given)
        assert refused.code == 2 and "E-NO-PAGE" in wording(refused.err)
    assert mlcli("compare", sites, "map", "-o", "new.html", "--input", "sites.csv").code == 78
    assert mlcli("compare", sites, "map", "-o", "new.html", "--color-by", "wetness").code == 78
    assert not Path("new.html").exists()


def rows_of_quality(folder: Path) -> str:
    """The measures on the page of a run."""
    text = (folder / "report.html").read_text()
    return text[text.index("<h2>Quality</h2>"):].partition("</details>")[0]
