"""`mlcli explain` writes one page, says which rows it took, and fails as `mlcli embed` does."""

import csv
import html
import json
import math
import re
import shlex
from pathlib import Path

import pytest

from tests.journeys.support import BARE, Caller, write_points
from tests.wording import Wording


def test_a_page_stands_alone_and_says_which_rows_it_shows(mlcli: Caller) -> None:
    write_points(Path("data.csv"))
    called = mlcli("explain", "isomap", "data.csv")
    assert called.code == 0, called.err
    page = Path("explain-isomap.html").read_text(encoding="utf-8")
    assert "<script" not in page and not re.search(r"""(?:src|href)=["']?http|@import|url\(""", page)
    assert "12 of the 30 rows of data.csv, drawn at random with seed 0 " in page
    assert page.count("<math ") > 5 and "k = 4 neighbors instead of 10" in page
    assert mlcli("explain", "isomap", "data.csv").code == 73
    assert mlcli("explain", "isomap", "data.csv", "--force", "-q").err == ""


def test_the_command_on_the_page_gives_the_same_coordinates(mlcli: Caller) -> None:
    write_points(Path("data.csv"))
    found = json.loads(mlcli("explain", "lle", "data.csv", "--seed", "3", "--json").out)
    assert found["output"] is None and not Path("explain-lle.html").exists()
    (coordinates,) = found["steps"][-1]["arrays"]
    words = shlex.split(found["command"])
    assert words[:2] == ["mlcli", "embed"]
    assert mlcli(*words[1:], "-q", "-o", "run", *BARE).code == 0
    with Path("run/embedding.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert [row[0] for row in rows] == found["ids"] == coordinates["rows"]
    assert [[float(cell) for cell in row[1:]] for row in rows] == coordinates["values"]


def test_what_a_sample_is_too_small_for_is_smaller_and_said(mlcli: Caller) -> None:
    write_points(Path("data.csv"))
    for arguments, said in ((("umap", "-k", "15"), "neighbors.count = 15 does not fit 12 rows"),
                            (("tsne", "--set", "method.perplexity=9", "--set", "method.descent.steps=5"),
                             "perplexity = 9 does not fit 12 rows")):
        called = mlcli("explain", *arguments, "data.csv", "--json")
        assert called.code == 0, called.err
        assert any(said in change for change in json.loads(called.out)["changes"])


def test_fewer_rows_than_twelve_are_shown_as_they_are(mlcli: Caller) -> None:
    write_points(Path("data.csv"), rows=7)
    found = json.loads(mlcli("explain", "mds", "data.csv", "--json").out)
    assert (found["of"], len(found["ids"]), found["command"]) == (7, 7, "mlcli embed data.csv -m mds")
    found = json.loads(mlcli("explain", "mds", "data.csv", "--json", "--rows", "5").out)
    assert (found["of"], len(found["ids"])) == (7, 5)


@pytest.mark.parametrize("arguments", [
    ("lda", "data.csv"), ("cca", "data.csv"), ("pca", "missing.csv"), ("pac", "data.csv"), ("pca", "words.csv"),
    ("isomap", "data.csv", "--metric", "nothing"), ("pca", "data.csv", "-p", "40"), ("mds", "twelve.csv", "-k", "3"),
    ("isomap", "twelve.csv", "-k", "12")])
def test_a_method_that_cannot_use_the_file_fails_as_embed_does(mlcli: Caller, arguments: tuple[str, ...]) -> None:
    write_points(Path("data.csv"), rows=12)
    write_points(Path("twelve.csv"), rows=12)
    Path("words.csv").write_text("a,b\nred,green\nblue,red\n", encoding="utf-8")
    method, file, *options = arguments
    explained = mlcli("explain", method, file, *options)
    embedded = mlcli("embed", "-m", method, file, *options, "-o", "run")
    assert explained.code == embedded.code != 0
    code = re.compile(r"error\[(E-[A-Z-]+)\]")
    assert code.findall(explained.err) == code.findall(embedded.err) != []
    assert not Path(f"explain-{method}.html").exists()


def test_more_rows_than_a_page_shows_are_refused(mlcli: Caller, wording: Wording) -> None:
    write_points(Path("data.csv"))
    called = mlcli("explain", "pca", "data.csv", "--rows", "13")
    assert called.code == 2 and wording(called.err) == ["E-ROWS"]


def test_a_page_in_a_file_of_another_format_is_refused(mlcli: Caller, wording: Wording) -> None:
    called = mlcli("explain", "pca", "data.csv", "-o", "page.png")
    assert called.code == 2 and wording(called.err) == ["E-FORMAT"] and not Path("page.png").exists()


def test_inputs_other_than_tables_have_their_pages(mlcli: Caller) -> None:
    """Distances, a kernel, a covariance, edges, and a second view, whose rows are drawn together."""
    lines = [",".join(str(abs(i - j)) for j in range(14)) for i in range(14)]
    Path("distances.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    write_points(Path("data.csv"), rows=20)
    write_points(Path("view.csv"), rows=20, seed=1)
    Path("edges.csv").write_text("\n".join(["source,target,length", *(f"p{i},p{i + 1},{i}" for i in range(1, 9)), ""]),
                                 encoding="utf-8")
    for arguments, rows in ((("mds", "distances.csv", "--dissimilarities"), 12),
                            (("isomap", "edges.csv", "--graph"), 9), (("cca", "data.csv", "--view", "view.csv"), 12)):
        called = mlcli("explain", *arguments, "--json")
        assert called.code == 0, called.err
        found = json.loads(called.out)
        assert len(found["ids"]) == rows and found["steps"][-1]["key"] == "coordinates"


def test_groups_have_their_names(mlcli: Caller) -> None:
    """Of columns by --groups, and of matrices by their files."""
    write_points(Path("data.csv"))
    head = Path("data.csv").read_text(encoding="utf-8").partition("\n")[0].split(",")[1:]
    for name, power in (("near", 1), ("far", 2)):
        lines = [",".join(str(abs(i - j) ** power) for j in range(6)) for i in range(6)]
        Path(f"{name}.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    for arguments, names in ((("mfa", "data.csv", "--groups", f"one={head[0]}", "--groups", f"two={head[1]},{head[2]}"),
                              ["one", "two"]), (("statis", "near.csv", "--dissimilarities", "--view", "far.csv"),
                                                ["near", "far"])):
        called = mlcli("explain", *arguments, "--json")
        assert called.code == 0, called.err
        arrays = {one["symbol"]: one for step in json.loads(called.out)["steps"] for one in step["arrays"]}
        assert arrays["RV"]["rows"] == arrays["RV"]["columns"] == arrays["w"]["rows"] == names


def write_sequence(path: Path, rows: int) -> None:
    """Write a table of two columns that turn, with names that count the rows."""
    lines = [f"t{i},{math.sin(i / 3):.4f},{math.cos(i / 3) + 0.01 * (i % 5):.4f},{(i * 7) % 11}" for i in range(rows)]
    path.write_text("\n".join(["time,a,b,c", *lines, ""]), encoding="utf-8")


@pytest.mark.parametrize("method", [
    "sfa", pytest.param("lgssm", marks=pytest.mark.medium), pytest.param("gpdm", marks=pytest.mark.medium)])
def test_rows_of_a_sequence_are_consecutive(mlcli: Caller, method: str) -> None:
    write_sequence(Path("data.csv"), 40)
    called = mlcli("explain", method, "data.csv", "--seed", "2", "--json")
    assert called.code == 0, called.err
    found = json.loads(called.out)
    first = int(found["ids"][0][1:])
    assert found["ids"] == [f"t{first + place}" for place in range(12)] and first > 0
    assert (found["of"], found["choice"], found["command"]) == (40, "consecutive", None)
    assert found["command_of_all"].startswith("mlcli embed data.csv --seed 2 ")
    assert found["command_of_all"].endswith(f"-m {method}")


def test_rows_of_styles_and_contents_have_every_pair_of_some(mlcli: Caller) -> None:
    pairs = [(f"s{i % 5}", f"c{(i // 5) % 6}") for i in range(60)]
    lines = [f"{style},{content},{i % 7},{(i * i) % 13},{i % 4}" for i, (style, content) in enumerate(pairs)]
    Path("data.csv").write_text("\n".join(["style,content,a,b,c", *lines, ""]), encoding="utf-8")
    called = mlcli("explain", "bilinear", "data.csv", "--label-column", "style,content", "--json")
    assert called.code == 0, called.err
    shown = [pairs[int(name) - 1] for name in json.loads(called.out)["ids"]]
    styles, contents = {style for style, _ in shown}, {content for _, content in shown}
    assert set(shown) == {(style, content) for style in styles for content in contents} and len(shown) == 12
    assert min(len(styles), len(contents)) > 1


def test_columns_without_amounts_in_the_sample_are_left_out_of_the_command_too(mlcli: Caller) -> None:
    names = [f"a{place}" for place in range(40)]
    lines = [f"r{i},{','.join(str((i * place) % 7 + 1) for place in range(40))},{5 * (i == 5)}" for i in range(40)]
    Path("data.csv").write_text("\n".join([f"row,{','.join(names)},rare", *lines, ""]), encoding="utf-8")
    called = mlcli("explain", "ca", "data.csv", "--columns", "a0:rare", "--json", "-p", "1")
    assert called.code == 0, called.err
    found = json.loads(called.out)
    assert mlcli("explain", "ca", "data.csv", "--columns", "a0:rare", "-p", "1", "-q").code == 0
    assert found["command"] in html.unescape(Path("explain-ca.html").read_text(encoding="utf-8"))
    assert "r5" not in found["ids"] and any("rare" in change for change in found["changes"])
    assert mlcli(*shlex.split(found["command"])[1:], "-q", "-o", "run", *BARE).code == 0
    with Path("run/embedding.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert [row[0] for row in rows] == found["ids"]
    assert [[float(cell) for cell in row[1:]] for row in rows] == found["steps"][-1]["arrays"][0]["values"]


@pytest.mark.medium
def test_the_page_of_a_second_view_and_of_a_finished_run_names_a_command_of_all_rows(mlcli: Caller) -> None:
    write_points(Path("data.csv"), rows=20)
    write_points(Path("view.csv"), rows=20, seed=1)
    write_points(Path("few.csv"), rows=9)
    write_points(Path("beside.csv"), rows=9, seed=1)
    mlcli.bare("data.csv", "-o", "run")
    for data, options, command in (
            ("data.csv", ("--view", "view.csv"), "mlcli embed data.csv --view view.csv -m cca"),
            ("few.csv", ("--view", "beside.csv"), "mlcli embed few.csv --view beside.csv -m cca"),
            ("run", (), "mlcli embed run -m pca")):
        called = mlcli("explain", command.split()[-1], data, *options, "-o", "page.html", "--force")
        assert called.code == 0, called.err
        page = Path("page.html").read_text(encoding="utf-8")
        assert f"{command}<" in page and ("A run of all 20, " in page) == (data != "few.csv")


@pytest.mark.parametrize(("method", "cell"), [("nmf", "-1"), ("pca", "")])
def test_a_row_in_an_error_has_its_number_in_the_file(method: str, cell: str, mlcli: Caller) -> None:
    rows = [f"{row % 7 + 1},{row % 5 + 1},{row % 3 + 1}" for row in range(40)]
    chosen = json.loads(mlcli("explain", "pca", write_lines("good.csv", rows), "--json").out)["steps"][-1]["arrays"][0]
    row = int(chosen["rows"][5])
    rows[row - 1] = f"{cell},1,1"
    called = mlcli("explain", method, write_lines("bad.csv", rows))
    assert called.code == 65 and f"row {row} ('{row}')" in called.err


def write_lines(path: str, rows: list[str]) -> str:
    """Write a table of three columns, and return its path."""
    Path(path).write_text("\n".join(["a,b,c", *rows, ""]))
    return path
