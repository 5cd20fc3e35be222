"""`mlcli explain` writes one page, says which rows it took, and fails as `mlcli embed` does."""

import csv
import json
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
