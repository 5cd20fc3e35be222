"""Three views from the command line: read, verified, and new rows of any of them placed."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.journeys.input.test_view import write
from tests.journeys.support import Caller
from tests.wording import Wording

GENERATOR = np.random.default_rng(3)
SHARED = GENERATOR.standard_normal((40, 2))
PARTS = {name: SHARED @ GENERATOR.standard_normal((2, width)) + GENERATOR.standard_normal((40, width))
         for name, width in (("x", 4), ("y", 3), ("z", 5))}
THREE = ("x.csv", "--view", "y.csv", "--view", "z.csv")


@pytest.fixture(autouse=True)
def files(mlcli: Caller) -> None:
    """Three views, the later ones in another order."""
    generator = np.random.default_rng(4)  # of its own: messages name rows in the order of the file
    for name, values in PARTS.items():
        order = range(40) if name == "x" else generator.permutation(40).tolist()
        write(f"{name}.csv", values, list(order))


def table(path: str) -> np.ndarray:
    """The coordinates of rows in the order of their ids."""
    lines = sorted(line.split(",") for line in Path(path).read_text(encoding="utf-8").splitlines()[1:])
    return np.array([[float(cell) for cell in line[1:]] for line in lines])


def placed(mlcli: Caller, run: str, *words: str) -> np.ndarray:
    called = mlcli("project", run, *words, "-o", "new.csv", "--force", "-q")
    assert called.code == 0, called.err
    return table("new.csv")


@pytest.mark.parametrize("method", ["cca", "ibfa"])
def test_rows_of_all_views_have_the_coordinates_of_the_fit(mlcli: Caller, method: str) -> None:
    mlcli.finished("embed", *THREE, "-m", method, "-o", "run", "-q")
    again = placed(mlcli, "run", *THREE)
    assert np.allclose(again, table("run/embedding.csv"), atol=1e-10)
    turned = placed(mlcli, "run", "z.csv", "--view", "x.csv", "--view", "y.csv", "--as-view", "3", "--as-view", "1",
                    "--as-view", "2")
    assert np.allclose(turned, again, atol=1e-10)
    alone = placed(mlcli, "run", "z.csv", "--as-view", "3")
    assert np.corrcoef(alone[:, 0], again[:, 0])[0, 1] > 0.5
    assert mlcli("verify", "run").out.startswith("run: pass; the input is unchanged")
    views = json.loads(Path("run/run.json").read_text(encoding="utf-8"))["input"]["view"]
    assert (views["path"], views["view"]["path"]) == ("y.csv", "z.csv")
    assert Path("run/private.csv").exists() == (method == "ibfa")
    Path("z.csv").rename("moved.csv")
    assert "the input is missing" in mlcli("verify", "run").out
    assert "the input is unchanged" in mlcli("verify", "run", "--view", "y.csv", "--view", "moved.csv").out


def test_a_file_of_options_names_further_views(mlcli: Caller) -> None:
    Path("run.yaml").write_text("input:\n  path: x.csv\n  id_column: id\n  view:\n    path: y.csv\n    further: ["
                                "{path: z.csv, columns: [z0, z1]}]\nmethod: {name: cca}\noutput: chosen\n",
                                encoding="utf-8")
    assert mlcli("run", "run.yaml", "-q").code == 0
    lines = Path("chosen/loadings.csv").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[0] for line in lines[-2:]] == ["z0", "z1"]


def test_rows_of_two_views_have_the_factors_of_both(mlcli: Caller) -> None:
    mlcli.finished("embed", "x.csv", "--view", "y.csv", "-m", "ibfa", "-o", "run", "-q")
    assert np.allclose(placed(mlcli, "run", "x.csv", "--view", "y.csv"), table("run/embedding.csv"), atol=1e-11)


@pytest.mark.parametrize(("words", "code", "text"), [
    (("x.csv", "--as-view", "3"), 78, "3"), (("x.csv", "--as-view", "0"), 78, "0"),
    (("x.csv", "--view", "y.csv", "--as-view", "2", "--as-view", "2"), 78, "2, 2"),
    (("x.csv", "--as-view", "1", "--as-view", "2"), 78, "1, 2"), (("x.csv", "--view", "y.csv"), 78, "--as-view"),
    (("x.csv", "--as-view", "2"), 65, "y0"), (("x.csv", "--view", "yfew.csv"), 65, "x.csv"),
])
def test_views_that_do_not_fit_are_refused(mlcli: Caller, words: tuple[str, ...], code: int, text: str,
                                           wording: Wording) -> None:
    write("yfew.csv", PARTS["y"], list(range(2, 40)))
    mlcli.finished("embed", "x.csv", "--view", "y.csv", "-m", "cca", "-o", "run", "-q")
    called = mlcli("project", "run", *words)
    assert called.code == code and text in called.err and wording(called.err)


@pytest.mark.parametrize(("words", "code", "text"), [
    ((*THREE, "-m", "gib"), 78, "gib"),
    (("x.csv", "--view", "y.csv", "--view", "few.csv", "-m", "cca"), 65, "; few.csv; "),
    (("x.csv", "--view", "y.csv", "--view", "absent.csv", "-m", "cca"), 66, "absent.csv"),
    (("x.csv", "--view", "y.csv", "-m", "cca", "--set", "input.view.columns=[q]"), 78, "'q' in y.csv"),
    (("x.csv", "-m", "cca", "--set", "input.view={path: y.csv, further: [{path: z.csv, columns: [q]}]}"), 78,
     "'q' in z.csv"),
    (("x.csv", "--view", "-", "--view", "-", "-m", "cca"), 78, "--view"),
    (("x.csv", "--set", "input.view.further=[{path: y.csv}]", "-m", "cca"), 78, "input.view.path"),
])
def test_runs_of_three_views_that_cannot_be_are_refused(
        mlcli: Caller, words: tuple[str, ...], code: int, text: str, wording: Wording) -> None:
    write("few.csv", PARTS["z"], list(range(2, 40)))
    called = mlcli.bare(*words, "-o", "run")
    assert called.code == code and text in called.err and wording(called.err), called.err


@pytest.mark.parametrize(("fitted", "words", "code", "place"), [
    (("x.csv",), ("x.csv", "--as-view", "2"), "E-AS-VIEW", "--as-view"),
    (("x.csv",), ("x.csv", "--view", "y.csv"), "E-NO-VIEW", "--view"),
    (("x.csv",), ("x.csv", "--view", "y.csv", "--as-view", "1", "--as-view", "2"), "E-NO-VIEW", "--view"),
    (("x.csv", "--view", "y.csv", "-m", "cca"), ("x.csv", "--as-view", "3"), "E-AS-VIEW", "--as-view"),
    (("x.csv", "--view", "y.csv", "-m", "cca"), ("x.csv", "--view", "y.csv", "--view", "z.csv"), "E-NO-VIEW",
     "--view"),
    (("x.csv", "--view", "y.csv", "-m", "mfa"), ("x.csv", "--as-view", "2"), "E-AS-VIEW", "--as-view")])
def test_a_view_that_a_run_lacks_has_one_code_for_its_number_and_one_for_its_file(
        mlcli: Caller, fitted: tuple[str, ...], words: tuple[str, ...], code: str, place: str,
        wording: Wording) -> None:
    mlcli.finished("embed", *fitted, "-o", "run", "-q")
    called = mlcli("project", "run", *words)
    assert (called.code, wording(called.err)) == (78, [code]) and f"; {place}; " in called.err


@pytest.mark.parametrize("first", [True, False])
def test_new_rows_of_a_view_are_read_by_its_own_columns_and_ids(mlcli: Caller, first: bool) -> None:
    """Each view is read as that of the run was, whatever the run chose for the other."""
    chosen, whole = ("x", "y") if first else ("y", "x")
    lines = Path(f"{chosen}.csv").read_text(encoding="utf-8").splitlines()
    Path(f"{chosen}.csv").write_text("\n".join(f"{line},{'more' if place == 0 else place}"
                                               for place, line in enumerate(lines)) + "\n", encoding="utf-8")
    columns = [f"{chosen}{column}" for column in range(PARTS[chosen].shape[1])]
    some = {"columns": columns}
    given = {"path": "x.csv", "id_column": "id", **(some if first else {}),
             "view": {"path": "y.csv", **({} if first else some)}}
    Path("run.yaml").write_text(json.dumps({"input": given, "method": {"name": "ibfa"}, "output": "run"}),
                                encoding="utf-8")
    assert mlcli("run", "run.yaml", "-q").code == 0
    Path(f"{whole}.csv").write_text(Path(f"{whole}.csv").read_text(encoding="utf-8").replace("\n", ",9\n").replace(
        ",9\n", ",other\n", 1), encoding="utf-8")
    for words in (("x.csv", "--view", "y.csv"), ("x.csv",), ("y.csv", "--as-view", "2")):
        called = mlcli("project", "run", *words, "-o", "new.csv", "--force")
        assert called.code == 0, called.err
        left_out = [called.err.count(f"not of the run and not used: '{name}'\n") for name in ("more", "other")]
        assert left_out == [f"{name}.csv" in words for name in (chosen, whole)], words
