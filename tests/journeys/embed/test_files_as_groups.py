"""Tables of several files, each a group of columns: matched by id, named by their files, for fits and for new rows."""

import csv
import hashlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import mlcli as package
from mlcli.errors import ConfigError, DataError
from tests.journeys.support import Caller
from tests.wording import Wording

RANDOM = np.random.default_rng(4)
ROWS = 22
SCORES = RANDOM.standard_normal((ROWS, 2))
PARTS = {"taste": ("a", "b", "c"), "smell": ("a", "d"), "look": ("e", "f", "kind")}
NUMBERS = {name: SCORES @ RANDOM.standard_normal((2, len(columns))) + 0.3 * RANDOM.standard_normal((ROWS, len(columns)))
           for name, columns in PARTS.items()}
KINDS = [("red", "green", "blue")[row % 3] for row in range(ROWS)]
FILES = ("taste.csv", "--view", "smell.csv", "--view", "look.csv")
WHOLE = ("taste.a", "b", "c", "smell.a", "d", "e", "f", "kind")
GROUPS = ("--groups", "taste=taste.a:c", "--groups", "smell=smell.a,d", "--groups", "look=e:kind")

pytestmark = pytest.mark.medium


def cells(name: str, row: int) -> list[str]:
    """The cells of a row in one of the files."""
    found = [repr(value) for value in NUMBERS[name][row].tolist()]
    return [*found[:2], KINDS[row]] if name == "look" else found


def write(path: str, names: Sequence[str], columns: Sequence[str], rows: Sequence[int], prefix: str = "p") -> None:
    lines = [[f"{prefix}{row}", *(cell for name in names for cell in cells(name, row))] for row in rows]
    Path(path).write_text("\n".join(map(",".join, [["id", *columns], *lines])) + "\n")


def write_files(prefix: str = "p", called: str = "{}.csv", rows: Sequence[int] = range(ROWS)) -> None:
    """The three files, the second and the third in other orders, and `whole.csv` with all columns."""
    for number, (name, columns) in enumerate(PARTS.items()):
        order = np.random.default_rng(number).permutation(rows).tolist() if number else rows
        write(called.format(name), [name], columns, order, prefix)
    write(called.format("whole"), [*PARTS], WHOLE, rows, prefix)


@pytest.fixture(autouse=True)
def files(mlcli: Caller) -> None:
    write_files()


def table(name: str) -> list[list[str]]:
    with Path(name).open(encoding="utf-8") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize(("method", "groups"), [("mfa", GROUPS), ("statis", GROUPS), ("famd", ())])
def test_files_are_the_groups_of_one_table_with_their_columns(mlcli: Caller, method: str,
                                                              groups: tuple[str, ...]) -> None:
    called = mlcli.bare(*FILES, "-m", method, "-o", "run")
    assert called.code == 0 and f"{ROWS} rows x 3 + 2 + 3 columns to" in called.err, called.err
    assert mlcli.bare("whole.csv", "-m", method, *groups, "-o", "whole").code == 0
    for name in ("embedding.csv", "loadings.csv", "groups.csv", "groups_axes.csv", "groups_rv.csv", "spectrum.csv"):
        assert Path("run", name).read_bytes() == Path("whole", name).read_bytes()
    verified = mlcli("verify", "--full", "run")
    assert verified.code == 0, verified.err
    assert mlcli("run", "run/config.yaml", "-o", "again").code == 0
    assert Path("again/groups.csv").read_bytes() == Path("run/groups.csv").read_bytes()


def test_pages_name_every_file_with_its_hash_and_repeat_no_figure_of_the_groups(mlcli: Caller) -> None:
    for method in ("mfa", "famd"):
        called = mlcli("embed", *FILES, "-m", method, "-o", method)
        assert called.code == 0, called.err
    page = Path("mfa/report.html").read_text(encoding="utf-8")
    assert "<title>mfa: taste.csv, smell.csv, look.csv</title>" in page
    assert ">taste.csv, smell.csv, look.csv</" in page
    for name in PARTS:
        digest = hashlib.sha256(Path(f"{name}.csv").read_bytes()).hexdigest()
        assert f"SHA-256 of {name}.csv" in page and page.count(digest) == 2
    assert ">first eigenvalue</th>" in page and "first eigenvalues" not in page
    one = mlcli("embed", *FILES[:3], "-m", "mfa", "-o", "two")
    assert one.code == 0, one.err
    compared = mlcli("compare", "mfa", "famd", "two", "-o", "runs.html", "--json")
    assert compared.code == 0, compared.err
    page = Path("runs.html").read_text(encoding="utf-8")
    assert page.count("taste.csv, smell.csv, look.csv") == 2 and "made from 2 different inputs" in page
    runs = json.loads(compared.out)["runs"]
    assert [[view["input"] for view in run["views"]] for run in runs] == [["smell.csv", "look.csv"]] * 2 + [
        ["smell.csv"]]


def test_columns_that_no_group_names_are_a_group_of_their_file(mlcli: Caller) -> None:
    given = (*FILES, "-m", "mfa", "--groups", "mixed=b,c,e", "--set", "method.supplementary=[look]")
    assert mlcli.bare(*given, "-o", "run").code == 0
    assert [row[:3] for row in table("run/groups.csv")] == [
        ["group", "active", "columns"], ["mixed", "1", "3"], ["taste", "1", "1"], ["smell", "1", "2"],
        ["look", "0", "2"]]
    assert mlcli("verify", "run").code == 0


def test_files_of_one_name_are_numbered_and_a_name_that_groups_take_is_refused(mlcli: Caller, wording: Wording) -> None:
    Path("other").mkdir()
    shutil.copy("smell.csv", "other/taste.csv")
    assert mlcli.bare("taste.csv", "--view", "other/taste.csv", "-m", "mfa", "-o", "run").code == 0
    assert [row[0] for row in table("run/groups.csv")] == ["group", "taste", "taste 2"]
    assert [row[0] for row in table("run/loadings.csv")] == ["column", "taste.a", "b", "c", "taste 2.a", "d"]
    again = mlcli.bare(*FILES, "-m", "mfa", "--groups", "smell=b,c", "-o", "none")
    assert (again.code, wording(again.err)) == (78, ["E-GROUPS"]) and "'smell'" in again.err
    unknown = mlcli.bare(*FILES, "-m", "mfa", "--set", "method.supplementary=[sound]", "-o", "none")
    assert (unknown.code, wording(unknown.err)) == (78, ["E-GROUPS"]) and "'taste', 'smell', 'look'" in unknown.err


def test_columns_of_one_name_and_transforms_of_whole_rows_are_refused(mlcli: Caller, wording: Wording) -> None:
    Path("smell.csv").write_text(Path("smell.csv").read_text().replace("id,a,d", "id,a,taste.a"))
    whole = mlcli.bare(*FILES, "-m", "mfa", "--transform", "log1p,total", "-o", "none")
    assert (whole.code, wording(whole.err)) == (78, ["E-PREPARE-OPTION"])
    called = mlcli.bare(*FILES, "-m", "mfa", "-o", "none")
    assert (called.code, wording(called.err)) == (65, ["E-DUPLICATE-COLUMNS"]) and "'taste.a'" in called.err


@pytest.mark.parametrize(("method", "cell", "code"), [
    ("mfa", "5", "E-CONSTANT-GROUP"), ("famd", "5", "E-CONSTANT-GROUP"), ("mfa", "u", "E-ONE-LEVEL")])
def test_a_file_that_does_not_vary_is_named_with_a_remedy_that_reaches_it(mlcli: Caller, method: str, cell: str,
                                                                          code: str, wording: Wording) -> None:
    def refuse(names: str, place: int, remedy: str) -> None:
        lines = [f"p{row},{cell}" + f",{row}" * names.count(",") for row in range(ROWS)]
        Path("flat.csv").write_text("\n".join([f"id,{names}", *lines, ""]))
        given = ["taste.csv", "look.csv"]
        first, *others = [*given[:place], "flat.csv", *given[place:]]
        called = mlcli.bare(first, *(word for path in others for word in ("--view", path)), "-m", method, "-o", "none")
        assert (called.code, wording(called.err)) == (65, [code])
        assert "; flat.csv; " in called.err and called.err.endswith(f" {remedy}\n")

    for place in range(3):
        refuse("k", place, "leave the file out")
    if cell == "u" or method == "famd":
        for place, option in enumerate(("--columns", "input.view.columns", "input.view.further")):
            refuse("k,m", place, f"leave it out with {option}")


def test_an_array_that_does_not_vary_is_named_by_its_number() -> None:
    constant = np.ones((ROWS, 1))
    for method, view, words in (("mfa", constant, "; view 2; leave the file out"),
                                ("famd", np.hstack([constant, SCORES]), "; view 2; leave it out")):
        with pytest.raises(DataError) as caught:
            package.embed(SCORES, method, view=[view, SCORES**2])
        assert str(caught.value).endswith(words)


@pytest.mark.parametrize("method", ["mfa", "famd", "statis"])
def test_a_file_without_a_column_among_those_of_the_largest_variance_is_refused_by_name(mlcli: Caller, method: str,
                                                                                       wording: Wording) -> None:
    given = ("taste.csv", "--view", "smell.csv", "-m", method, "-o", "run")
    Path("smell.csv").write_text("id,a,d\n" + "".join(f"p{row},{row % 3}e-3,{row % 5}e-3\n" for row in range(ROWS)))
    called = mlcli.bare(*given, "--top-variance", "3")
    assert (called.code, wording(called.err)) == (78, ["E-PREPARE-OPTION"]) and "'smell'" in called.err
    assert not Path("run").exists() and mlcli.bare(*given, "--top-variance", "4").code == 0
    found = package.embed(SCORES, method, view=[SCORES[:, ::-1] * 3], top_variance=3)
    with pytest.raises(ConfigError, match="'view 1'"):
        package.embed(SCORES, method, view=[SCORES[:, ::-1] * 3], top_variance=2)
    assert len(found.embedding) == ROWS


def test_rows_that_not_all_files_have_are_refused_or_left_out_and_gaps_name_their_file(mlcli: Caller,
                                                                                       wording: Wording) -> None:
    write("smell.csv", ["smell"], PARTS["smell"], range(2, ROWS))
    called = mlcli.bare(*FILES, "-m", "mfa", "-o", "run")
    assert (called.code, wording(called.err)) == (65, ["E-ROWS-DIFFER"]) and not Path("run").exists()
    assert mlcli.bare(*FILES, "-m", "mfa", "--set", "prepare.unmatched=drop", "-o", "run").code == 0
    assert [row[:2] for row in table("run/dropped.csv")[1:]] == [["p0", "1"], ["p1", "2"]]
    assert len(table("run/embedding.csv")) == 1 + ROWS - 2 and mlcli("verify", "--full", "run").code == 0
    Path("look.csv").write_text(Path("look.csv").read_text().replace("red", "", 1))
    called = mlcli.bare(*FILES, "-m", "mfa", "--set", "prepare.unmatched=drop", "-o", "none")
    assert called.code == 65 and wording(called.err)[-1] == "E-MISSING" and "look.csv" in called.err
    modeled = ("--set", "prepare.unmatched=drop", "--set", "prepare.missing=model", "--calibrate", "0.3")
    assert mlcli.bare(*FILES, "-m", "mfa", *modeled, "-o", "model").code == 0
    assert mlcli("verify", "--full", "model").code == 0


def test_new_rows_are_in_as_many_files_or_in_one(mlcli: Caller, wording: Wording) -> None:
    assert mlcli.bare(*FILES, "-m", "mfa", "-o", "run").code == 0
    own = [row[:3] for row in table("run/embedding.csv")]
    for given in (FILES, ("whole.csv",)):
        placed = mlcli("project", "run", *given)
        assert placed.code == 0 and [line.split(",")[:3] for line in placed.out.splitlines()] == own
    for given, code in ((("taste.csv",), "E-UNKNOWN-COLUMN"), (FILES[:3], "E-NO-VIEW"),
                        (("smell.csv", "--as-view", "2"), "E-AS-VIEW"),
                        (("smell.csv", "--as-view", "2", "--view", "look.csv", "--as-view", "3"), "E-AS-VIEW")):
        called = mlcli("project", "run", *given)
        assert (called.code, wording(called.err)) == (78, [code])
        assert "3 files" in called.err
    Path("look.csv").write_text(Path("look.csv").read_text().replace("red", "violet"))
    called = mlcli("project", "run", *FILES)
    assert (called.code, wording(called.err)) == (65, ["E-ANSWER"])
    assert all(said in called.err for said in ("look.csv", "'kind'", "'violet'", "'blue', 'green', 'red'"))
    assert mlcli.bare("taste.csv", "-m", "mfa", "-o", "alone").code == 0
    called = mlcli("project", "alone", *FILES[:3])
    assert (called.code, wording(called.err)) == (78, ["E-NO-VIEW"])


def test_a_missing_cell_of_new_rows_is_named_with_its_own_file_and_row(mlcli: Caller, wording: Wording) -> None:
    assert mlcli.bare(*FILES, "-m", "mfa", "-o", "run").code == 0
    lines = Path("look.csv").read_text().splitlines()
    Path("look.csv").write_text("\n".join([*lines[:3], lines[3].rpartition(",")[0] + ",", *lines[4:]]) + "\n")
    for given in (("project", "run", *FILES), ("embed", *FILES, "--onto", "run", "-o", "none")):
        called = mlcli(*given)
        assert (called.code, wording(called.err)) == (65, ["E-MISSING"])
        assert f"row 3 ('{lines[3].partition(',')[0]}'), column 'kind'; look.csv; " in called.err


@pytest.mark.parametrize("way", ["fixed", "refit"])
def test_rows_of_files_are_added_to_the_map_of_their_run(mlcli: Caller, way: str) -> None:
    write_files(rows=range(15))
    assert mlcli.bare(*FILES, "-m", "mfa", "-o", "run").code == 0
    write_files("p", "new-{}.csv", range(15, ROWS))
    several = ("new-taste.csv", "--view", "new-smell.csv", "--view", "new-look.csv")
    for given, name in ((several, "several"), (("new-whole.csv",), "one")):
        called = mlcli.bare(*given, "--onto", "run", "--onto-way", way, "-o", name)
        assert called.code == 0, called.err
        assert mlcli("verify", "--full", name).code == 0
    assert Path("several/embedding.csv").read_bytes() == Path("one/embedding.csv").read_bytes()
    if way == "refit":
        assert [row[0] for row in table("several/groups.csv")] == ["group", *PARTS]
    else:
        assert table("several/embedding.csv")[:16] == table("run/embedding.csv")
    Path("smell.csv").unlink()
    gone = mlcli.bare("new-whole.csv", "--onto", "run", "-o", "none")
    assert gone.code == 66 and "smell.csv" in gone.err


def test_copies_of_files_verify_a_run_under_the_same_names(mlcli: Caller, wording: Wording) -> None:
    assert mlcli.bare(*FILES, "-m", "mfa", "-o", "run").code == 0
    Path("copies").mkdir()
    for name in ("taste.csv", "smell.csv", "look.csv"):
        shutil.move(name, f"copies/{name}")
    copies = ("--input", "copies/taste.csv", "--view", "copies/smell.csv", "--view", "copies/look.csv")
    assert mlcli("verify", "run", *copies).code == 0
    Path("copies/smell.csv").rename("copies/odor.csv")
    called = mlcli("verify", "run", *copies[:3], "copies/odor.csv", *copies[4:])
    assert (called.code, wording(called.err)) == (78, ["E-FILE-NAME"]) and "'smell'" in called.err
    assert json.loads(Path("run/run.json").read_text())["input"]["view"]["view"]["path"] == "look.csv"


def frame(path: str) -> pa.Table:
    """A file as a frame: numbers and texts by their columns."""
    names, *rows = table(path)
    return pa.table({name: list(map(float, column)) if name not in ("id", "kind") else list(column)
                     for name, column in zip(names, zip(*rows, strict=True), strict=True)})


def test_frames_in_memory_are_tables_as_files_are(mlcli: Caller) -> None:
    assert mlcli.bare(*FILES, "-m", "mfa", "-o", "run").code == 0
    own = np.array([row[1:3] for row in table("run/embedding.csv")[1:]], dtype=float)
    found = package.embed(frame("taste.csv"), "mfa", view=[frame("smell.csv"), frame("look.csv")])
    np.testing.assert_array_equal(found.embedding, own)
    assert found.loadings is not None
    assert found.loadings.columns[:5] == ("view 1.a", "b", "c", "view 2.a", "d")
    np.testing.assert_array_equal(package.embed("taste.csv", "mfa", view=["smell.csv", "look.csv"]).embedding, own)
    write_files("q", "new-{}.csv")
    new = [frame(f"new-{name}.csv") for name in PARTS]
    grown = package.embed(new[0], view=new[1:], onto="run")
    np.testing.assert_allclose(grown.embedding, np.vstack([own, own]), atol=1e-13)
    with pytest.raises(ConfigError):
        package.embed(new[0], view=new[1:2], onto="run")
    kinds = pa.array(["violet" if kind == "red" else kind for kind in new[2]["kind"].to_pylist()])
    with pytest.raises(DataError, match="violet"):
        package.embed(new[0], view=[new[1], new[2].set_column(3, "kind", kinds)], onto="run")
