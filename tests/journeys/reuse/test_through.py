"""A finished run as the input of another one, and PCA ahead of a method: one mechanism, from file to new points."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.cli.program import run
from tests.faults.fuzz.directories import damaged, edited
from tests.journeys.support import Caller
from tests.support import distances
from tests.wording import Wording

SAMPLES = Path(__file__).parents[3] / "sample_data"
METHODS = {"pca": (), "isomap": ("-k", "9"), "lle": ("-k", "60"), "lda": ("-p", "1"), "kpca": ("--kernel", "gaussian")}
PREPARED = ("--label-column", "Species", "--scale", "standard")
IRIS = str(SAMPLES / "iris.csv")


def places(table: str) -> list[str]:
    """Return the lines of a table of new rows without their scores, which a run of a run has by the steps of both."""
    lines = [line.split(",") for line in table.splitlines()]
    return [",".join(line[: lines[0].index("off_manifold")]) for line in lines]


def numbers(path: str | Path) -> Array:
    """The numbers of a file after its ids and labels."""
    head, *rows = [line.split(",") for line in Path(path).read_text(encoding="utf-8").splitlines()]
    first = 2 if "Species" in head else 1
    return np.array([[float(cell) for cell in row[first:]] for row in rows])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """PCA of flowers, three of four axes."""
    folder = tmp_path_factory.mktemp("made") / "first"
    assert run(["embed", IRIS, *PREPARED, "-p", "3", "-o", str(folder), "-q"]) == 0
    return folder


@pytest.fixture
def first(made: Path) -> str:
    """A copy of that run in the test's directory."""
    shutil.copytree(made, "first")
    return "first"


@pytest.fixture
def second(mlcli: Caller, first: str) -> str:
    """Isomap of its scores."""
    assert mlcli("embed", first, "-m", "isomap", "-k", "9", "-o", "second", "-q").code == 0
    return "second"


@pytest.mark.medium
@pytest.mark.parametrize("method", METHODS)
def test_pca_ahead_gives_the_bytes_of_a_method_on_the_run_of_that_pca(mlcli: Caller, first: str, method: str) -> None:
    chosen = ("-m", method, *METHODS[method], "-q")
    assert mlcli("embed", first, *chosen, "-o", "through").code == 0
    assert mlcli("embed", IRIS, *PREPARED, "--reduce", "3", *chosen, "-o", "ahead").code == 0
    for name in ("embedding.csv", "spectrum.csv", "quality.json"):
        assert Path("through", name).read_bytes() == Path("ahead", name).read_bytes()
    both = [mlcli("project", made, IRIS, "--label-column", "Species").out for made in ("through", "ahead")]
    assert places(both[0]) == places(both[1]) and both[0].count("\n") == 151


def test_principal_components_of_principal_components_are_the_same(mlcli: Caller, first: str) -> None:
    assert mlcli.bare(first, "-p", "3", "-o", "again", "-q").code == 0
    np.testing.assert_allclose(numbers("again/embedding.csv"), numbers("first/embedding.csv"), rtol=0, atol=1e-12)


def test_new_points_go_through_all_runs_wherever_the_first_one_is(mlcli: Caller, second: str) -> None:
    assert mlcli.bare(second, "-p", "2", "-o", "third", "-q").code == 0
    shutil.rmtree("first")
    shutil.rmtree("second")
    called = mlcli("project", "third", IRIS, "--label-column", "Species", "-o", "new.csv")
    assert called.code == 0, called.err
    np.testing.assert_allclose(numbers("new.csv")[:, :2], numbers("third/embedding.csv"), rtol=0, atol=1e-9)
    assert Path("new.csv").read_text().startswith("id,Species,y1,y2,off_manifold,")


def test_dissimilarities_to_the_first_runs_points_go_through_a_chain(mlcli: Caller) -> None:
    points = np.random.default_rng(3).standard_normal((25, 3)) * [3, 2, 1]
    np.savetxt("square.csv", distances(points), delimiter=",")
    assert mlcli.bare("square.csv", "--dissimilarities", "-m", "mds", "-p", "3", "-o", "mds", "-q").code == 0
    assert mlcli.bare("mds", "-m", "kpca", "-o", "kpca", "-q").code == 0
    assert mlcli("project", "kpca", "square.csv", "-o", "new.csv", "--set", "input.header=false").code == 0
    np.testing.assert_allclose(numbers("new.csv")[:, :2], numbers("kpca/embedding.csv"), rtol=0, atol=1e-7)
    assert mlcli("verify", "kpca", "--full").code == 0
    assert mlcli("reconstruct", "kpca", "kpca/embedding.csv").code == 78


def test_coordinates_lead_back_through_all_runs(mlcli: Caller) -> None:
    assert mlcli.bare(IRIS, *PREPARED, "--transform", "log1p", "-p", "4", "-o", "first", "-q").code == 0
    assert mlcli.bare("first", "--scale", "range", "-p", "4", "-o", "second", "-q").code == 0
    called = mlcli("reconstruct", "second", "second/embedding.csv", "-o", "back.csv")
    assert called.code == 0, called.err
    flowers = np.loadtxt(IRIS, delimiter=",", skiprows=1, usecols=range(1, 5))
    columns = Path("back.csv").read_text().splitlines()[0].split(",")[1:]
    assert columns == Path(IRIS).read_text().splitlines()[0].replace('"', "").split(",")[1:5]
    np.testing.assert_allclose(numbers("back.csv"), flowers, rtol=1e-9)


@pytest.mark.parametrize("lossy", [("--transform", "presence"), ("--top-variance", "2")])
def test_what_has_no_inverse_between_two_runs_is_refused(mlcli: Caller, first: str, lossy: tuple[str, ...]) -> None:
    assert mlcli.bare(first, *lossy, "-o", "second", "-q").code == 0
    called = mlcli("reconstruct", "second", "second/embedding.csv")
    assert (called.code, "E-NO-RECONSTRUCTION" in called.err, called.out) == (78, True, "")


@pytest.mark.parametrize(("format", "head"), [("csv", "id,Species,y1"), ("parquet", "id,Species,y1"),
                                              ("npy", "row,y1")])
def test_ids_and_labels_come_with_the_run(mlcli: Caller, format: str, head: str) -> None:
    assert mlcli.bare(IRIS, *PREPARED, "-p", "3", "--format", format, "-o", "first", "-q").code == 0
    assert mlcli("embed", "first", "-p", "1", "-o", "second", "-q").code == 0
    assert Path("second/embedding.csv").read_text().splitlines()[0] == head
    page = Path("second/report.html").read_text(encoding="utf-8")
    assert ("virginica" in page) == (format != "npy")
    assert f"sha256sum DATA/embedding.{format}" in page


def test_the_record_names_what_was_read_and_the_configuration_repeats_it(mlcli: Caller, second: str) -> None:
    record, source = (json.loads(Path(name, "run.json").read_text()) for name in (second, "first"))
    read = ("embedding.csv", "model.json", "model.npz")
    assert record["input"]["files"] == {name: source["files"][name] for name in read}
    assert (record["input"]["path"], record["input"]["format"]) == ("first", "run")
    assert record["input"]["absolute"] == str(Path("first").absolute())
    assert "path: first\n" in Path(second, "config.yaml").read_text(encoding="utf-8")
    assert record["input"]["sha256"] == source["files"]["embedding.csv"]["sha256"]
    assert mlcli("run", f"{second}/config.yaml", "-o", "again", "-q").code == 0
    assert Path("again/embedding.csv").read_bytes() == Path("second/embedding.csv").read_bytes()


def test_verify_finds_the_source_from_another_directory(mlcli: Caller, second: str,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(second).absolute()
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    assert "the input is unchanged" in mlcli("verify", folder).out


@pytest.mark.medium
def test_verify_knows_a_source_that_moved_or_changed(mlcli: Caller, second: str) -> None:
    assert "the input is unchanged" in mlcli("verify", second, "--full").out
    Path("first").rename("moved")
    missing = mlcli("verify", second)
    assert missing.code == 0 and "the input is missing" in missing.out and "skipped input" in missing.out
    assert "the input is unchanged" in mlcli("verify", second, "--input", "moved").out
    assert mlcli("report", "moved", "-q").code == 0  # which changes no file that was read
    assert "the input is unchanged" in mlcli("verify", second, "--input", "moved").out
    with Path("moved/embedding.csv").open("a") as file:
        file.write("\n")
    changed = mlcli("verify", second, "--input", "moved")
    assert changed.code == 0 and "the input is changed" in changed.out


@pytest.mark.parametrize("name", ["embedding.csv", "model.json", "model.npz", "run.json"])
def test_a_damaged_source_is_83(mlcli: Caller, first: str, name: str) -> None:
    with Path(first, name).open("ab") as file:
        file.write(b" x")
    called = mlcli("embed", first, "-o", "out")
    assert called.code == 83 and name in called.err and not Path("out").exists()


def test_directories_that_are_no_finished_runs_are_refused(mlcli: Caller, first: str, wording: Wording) -> None:
    Path("empty").mkdir()
    assert mlcli("embed", "empty", "-o", "out").code == 66
    Path(first).rename("first.failed")
    Path("first.failed/error.json").write_text("{}")
    assert mlcli("embed", "first.failed", "-o", "out").code == 80
    covariance = str(SAMPLES / "ability_cov.csv")
    assert mlcli.bare(covariance, "--set", "input.kind=covariance", "-o", "covariance", "-q").code == 0
    called = mlcli("embed", "covariance", "-o", "out")
    assert called.code == 78 and "E-NO-ROWS" in wording(called.err)


@pytest.mark.parametrize(("options", "where"), [
    (("--columns", "y1"), "--columns"), (("--dissimilarities", "-m", "mds"), "--dissimilarities"),
    (("--id-column", "id"), "--id-column"), (("--label-column", "Species"), "--label-column"),
    (("--set", "input.format=csv"), "input.format"), (("--view", "data.csv", "-m", "cca"), "--view")])
def test_options_of_files_are_refused_for_a_run(mlcli: Caller, first: str, options: tuple[str, ...],
                                                where: str, wording: Wording) -> None:
    called = mlcli("embed", first, *options, "-o", "out")
    assert called.code == 78 and "E-INPUT-OPTION" in wording(called.err) and where in called.err


def test_a_run_is_never_replaced_by_one_that_is_made_of_it(mlcli: Caller, first: str) -> None:
    called = mlcli("embed", first, "-o", f"./{first}", "--force")
    assert called.code == 78 and "E-OUTPUT-INPUT" in called.err
    assert mlcli("verify", first).code == 0


@pytest.mark.parametrize("arguments", [
    (IRIS, *PREPARED, "--reduce", "5"), (IRIS, *PREPARED, "--reduce", "0"), (IRIS, *PREPARED, "--reduce", "1.5"),
    ("square.csv", "--dissimilarities", "-m", "mds", "--reduce", "1"),
    (IRIS, *PREPARED, "-m", "ppca", "--reduce", "2", "--set", "prepare.missing=model"),
    ("data.csv", "--view", "data.csv", "-m", "cca", "--reduce", "1"),
    (IRIS, "--columns", "Sepal.Length,Sepal.Width,Species", "-m", "mds", "--metric", "gower", "--reduce", "1")])
def test_pca_ahead_that_makes_no_sense_is_78(mlcli: Caller, arguments: tuple[str, ...], wording: Wording) -> None:
    Path("square.csv").write_text(",a,b\na,0,1\nb,1,0\n", encoding="utf-8")
    called = mlcli("embed", *arguments, "-o", "out")
    assert called.code == 78 and "; --reduce" in called.err and wording(called.err)


def test_a_share_keeps_the_axes_that_reach_it(mlcli: Caller) -> None:
    assert mlcli("embed", IRIS, *PREPARED, "--reduce", "0.95", "-m", "mds", "-o", "out", "-q").code == 0
    reduced = json.loads(Path("out/run.json").read_text())["reduced"]
    assert mlcli.bare(IRIS, *PREPARED, "-p", "0.95", "-o", "pca", "-q").code == 0
    shares = np.loadtxt("pca/spectrum.csv", delimiter=",", skiprows=1, usecols=3)
    assert reduced["components"] == np.load("out/reduced.npy").shape[1] == int((shares < 0.95).sum()) + 1
    assert reduced["proportion"] == pytest.approx(shares[reduced["components"] - 1], rel=1e-12)
    assert "4 columns to 2 axes" in Path("out/report.html").read_text(encoding="utf-8")


def test_rows_left_out_keep_their_numbers(mlcli: Caller, wording: Wording) -> None:
    rows = np.random.default_rng(5).standard_normal((40, 4))
    rows[30:] += 50
    lines = [",".join(map(repr, row)) for row in rows.tolist()]
    Path("gaps.csv").write_text("\n".join(["a,b,c,d", *lines[:5], "1,,2,3", *lines[5:], ""]), encoding="utf-8")
    chosen = ("-m", "isomap", "-k", "5", "--set", "method.neighbors.pieces=largest", "-q")
    assert mlcli("embed", "gaps.csv", "--set", "prepare.missing=drop", "--reduce", "3", *chosen, "-o", "one").code == 0
    left = [line.split(",")[1] for line in Path("one/dropped.csv").read_text().splitlines()[1:]]
    assert sorted(map(int, left)) == [6, *range(32, 42)]
    assert mlcli("verify", "one", "--full").code == 0
    said = mlcli("embed", "one", "-v", "-o", "two").err
    assert wording(said, "N-RUN-DROPPED") == ["N-RUN-DROPPED"] and " 11 rows" in said
    assert len(Path("two/embedding.csv").read_text().splitlines()) == 31


def test_plan_and_check_take_runs_and_pca_ahead(mlcli: Caller, first: str) -> None:
    document = json.loads(mlcli("plan", first, "-m", "isomap", "--json").out)
    assert (document["rows"], document["columns"], document["steps"][0]["how"][:5]) == (150, 3, "run, ")
    through, ahead = (json.loads(mlcli("check", *given, "--json").out)
                      for given in ((first,), (IRIS, *PREPARED, "--reduce", "3")))
    assert through["graph"] == ahead["graph"] and through["rows"] == 150
    assert (len(through["features"]), through["columns"], ahead["columns"]) == (len(ahead["features"]), 3, 4)


def doubled(array: Array) -> Array:
    return array * 2


def swapped(array: Array) -> Array:
    return array[::-1].copy()


@pytest.mark.medium
@pytest.mark.parametrize(("which", "file", "array", "change", "check"), [
    ("ahead", "model.npz", "reductions.0.projector.axes", doubled, "reduce: "),
    ("ahead", "model.npz", "reductions.0.preparation.center", doubled, "model"),
    ("ahead", "reduced.npy", "", swapped, "reduce: scores"),
    ("second", "model.npz", "reductions.0.projector.axes", doubled, "model"),
    ("second", "model.npz", "reductions.0.projector.centering.means", swapped, "model")])
def test_verify_finds_steps_that_are_not_the_runs(mlcli: Caller, second: str, which: str, file: str, array: str,
                                                  change: Callable[[Array], Array], check: str) -> None:
    chosen = ("-m", "isomap", "-k", "9", "-o", "ahead", "-q")
    assert mlcli("embed", IRIS, *PREPARED, "--reduce", "3", *chosen).code == 0
    assert mlcli("verify", which).code == 0
    held = dict(np.load(f"{which}/{file}")) if array else {"": np.load(f"{which}/{file}")}
    changed: dict[str, Any] = {**held, array: change(held[array])}
    with Path("changed").open("wb") as stream:
        np.savez(stream, **changed) if array else np.save(stream, changed[""])
    copy = damaged(Path(which), Path("copy"), file, Path("changed").read_bytes())
    called = mlcli("verify", copy)
    assert called.code == 80 and f"fail    {check}" in called.out


def test_steps_that_do_not_follow_each_other_are_83(mlcli: Caller, second: str) -> None:
    header = json.loads(Path(second, "model.json").read_text())
    steps = header["model"]["reductions"]["items"]
    for change in ([], [*steps, *steps], [steps[0]["fields"]], [{**steps[0], "type": "projector"}]):
        copy = edited(Path(second), Path("copy"), "model.json", "model.reductions", {"items": change})
        called = mlcli("project", copy, IRIS, "--label-column", "Species")
        assert called.code == (65 if change == [] else 83), (change, called.err)


@pytest.mark.parametrize("named", [True, False])
def test_a_run_that_wrote_no_ids_says_so_and_again_where_it_is_used(mlcli: Caller, named: bool,
                                                                    wording: Wording) -> None:
    table = np.random.default_rng(0).random((12, 2))
    lines = [f"{f'r{row},' if named else ''}{x!r},{y!r}" for row, (x, y) in enumerate(table.tolist())]
    Path("rows.csv").write_text("\n".join(["id,x,y" if named else "x,y", *lines, ""]))
    options = ("--id-column", "id") if named else ()
    made = mlcli("embed", "rows.csv", *options, "-v", "-o", "bare", "--format", "npy")
    used = mlcli("embed", "bare", "-o", "second")
    assert (made.code, used.code) == (0, 0)
    assert wording(made.err, "N-NO-IDS") == ["N-NO-IDS"] * named
    assert wording(used.err, "W-NO-IDS") == ["W-NO-IDS"] * named
    assert Path("second/embedding.csv").read_text().splitlines()[1].startswith("1,")
    assert mlcli("embed", "rows.csv", *options, "-o", "both", "-v", "--format", "npy,csv").err.count("NO-IDS") == 0


def test_a_covariance_says_nothing_of_ids_in_a_file_that_it_does_not_write(mlcli: Caller) -> None:
    Path("covariance.csv").write_text("a,b\n2,1\n1,3\n")
    made = mlcli("embed", "covariance.csv", "--kind", "covariance", "-o", "run", "--format", "npy")
    assert made.code == 0 and "N-NO-IDS" not in made.err and not Path("run/embedding.npy").exists()
