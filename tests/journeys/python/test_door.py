"""The Python door gives the numbers of the command, by the same code, and loads nothing before it is used."""

import csv
import inspect
import pickle
import re
from base64 import b64decode
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import mlcli
from mlcli.api import OPTIONS
from mlcli.errors import ConfigError, DataError, GeometryError, InputMissing, MlcliError, UnsafeFile, UsageError
from tests.journeys.support import Caller, write_points
from tests.processes import python
from tests.wording import Wording

RUNS = {
    "pca": ({"components": 3, "scale": "standard"}, ("-p", "3", "--scale", "standard")),
    "isomap": ({"neighbors": 8}, ("-k", "8")),
    "mds": ({"metric": "cityblock"}, ("--metric", "cityblock")),
    "kpca": ({"set": {"method.kernel": {"name": "gaussian", "rate": 0.1}}},
             ("--set", "method.kernel.name=gaussian", "--set", "method.kernel.rate=0.1")),
}


@pytest.fixture
def mlcli_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Caller:
    """The command line in a directory of its own, with data.csv."""
    monkeypatch.chdir(tmp_path)
    write_points(tmp_path / "data.csv")
    return Caller(capsys)


def points() -> tuple[np.ndarray, list[str]]:
    """The numbers and ids of data.csv."""
    with Path("data.csv").open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    return np.array([row[1:] for row in rows], dtype=float), [row[0] for row in rows]


@pytest.mark.medium
def test_what_is_public_is_two_functions_which_load_nothing_ahead() -> None:
    assert mlcli.__all__ == ["embed", "open_run"]
    heavy = "import sys, mlcli; print([name for name in ('numpy', 'typer', 'pydantic', 'mlcli.api') if name in "
    assert python(heavy + "sys.modules]); mlcli.open_run; print('numpy' in sys.modules)") == "[]\nTrue\n"
    with pytest.raises(AttributeError, match="no attribute 'run'"):
        mlcli.run  # noqa: B018


@pytest.mark.medium
def test_a_notebook_completes_what_is_public_and_helps_with_it() -> None:
    public = [name for name in dir(mlcli) if not name.startswith("__")]
    assert public == mlcli.__all__
    said = python("import mlcli; help(mlcli.embed)")
    assert said.splitlines()[2].startswith("embed(array: Any, method: str | None = None, *, kind: str | None = None")
    words = set(re.findall(r"\w+", inspect.getdoc(mlcli.embed) or ""))
    assert words >= set(OPTIONS)
    assert words >= inspect.signature(mlcli.embed).parameters.keys()


def test_a_result_shows_itself_in_a_few_lines(mlcli_: Caller) -> None:
    values = np.random.default_rng(0).standard_normal((500, 30)) * np.geomspace(30, 1, 30)
    group = ["a", "b"] * 250
    shown = repr(mlcli.embed(np.column_stack([values, np.ones(500)]), components=1, scale="standard",
                             labels={"group": group})).splitlines()
    assert shown[:2] == ["pca: 500 rows x 1 axis", "labels: group"] and shown[3].startswith("W-CONST: ")
    run = mlcli.embed(values, components=3)
    leading, shares = np.linalg.eigvalsh(np.cov(values.T, bias=True))[::-1], run.spectrum.proportions
    told = re.findall(r"([\d.]+) \(([\d.]+)%\)", repr(run.spectrum))
    assert [float(value) for value, _ in told] == pytest.approx(leading[:5], rel=1e-3)
    assert [float(share) for _, share in told] == pytest.approx(100 * shares[:5], abs=0.05)
    assert repr(run).splitlines() == ["pca: 500 rows x 3 axes", repr(run.spectrum)]
    assert mlcli_("embed", "data.csv", "-m", "fa", "-p", "1", "-o", "run", "-q").code == 0
    assert repr(mlcli.open_run("run")).startswith("fa: 30 rows x 1 axis\neigenvalues: ")
    assert repr(replace(run, spectrum=None, labels={}, method="vae")) == "vae: 500 rows x 3 axes"


def test_a_notebook_shows_the_points_in_the_colors_of_their_labels() -> None:
    """The picture is one of SVG with a dot for each row, and no text of the data becomes part of the page."""
    generator = np.random.default_rng(0)
    run = mlcli.embed(generator.normal(size=(30, 3)), labels={"<b>kind": ["<i>", "b", "c"] * 10})
    picture, lines = run._repr_html_().split("\n", 1)
    [drawn] = re.findall('^<img alt="[^"]+" src="data:image/svg\\+xml;base64,([^"]+)">$', picture)
    root = ElementTree.fromstring(b64decode(drawn))
    assert root.tag.endswith("svg") and "<b>" not in picture + lines and "&lt;b&gt;kind" in lines
    assert len(root.findall(".//{*}circle")) + len(root.findall(".//{*}path")) >= 3
    assert lines == f"<pre>{escape(repr(run))}</pre>"
    assert run._repr_html_() == run._repr_html_()
    assert replace(run, embedding=np.empty((0, 0)))._repr_html_().startswith("<pre>")


@pytest.mark.parametrize("method", RUNS)
def test_an_array_and_a_finished_run_have_the_numbers_of_the_command(mlcli_: Caller, method: str) -> None:
    options, flags = RUNS[method]
    assert mlcli_("embed", "data.csv", "-m", method, "-o", "run", "-q", *flags).code == 0
    values, ids = points()
    made, opened = mlcli.embed(values, method, ids=ids, columns=list("xyz"), **options), mlcli.open_run("run")
    for run in (made, opened):
        with Path("run/embedding.csv").open(newline="") as file:
            rows = list(csv.reader(file))[1:]
        assert run.ids == tuple(row[0] for row in rows) == tuple(ids) and run.labels == {}
        assert np.array_equal(run.embedding, np.array([row[1:] for row in rows], dtype=float))
        with Path("run/spectrum.csv").open(newline="") as file:
            spectrum = list(csv.DictReader(file))
        assert run.spectrum and run.spectrum.eigenvalues.tolist() == [float(row["eigenvalue"]) for row in spectrum]
        assert run.spectrum.proportions.tolist() == [float(row["proportion"]) for row in spectrum]
    write_points(Path("new.csv"), rows=7, seed=1)
    placed = np.loadtxt(mlcli_("project", "run", "new.csv", "-q").out.splitlines(), delimiter=",", skiprows=1,
                        usecols=range(1, made.embedding.shape[1] + 1))
    new = np.loadtxt("new.csv", delimiter=",", skiprows=1, usecols=(1, 2, 3))
    assert np.array_equal(made.project(new), placed) and np.array_equal(opened.project(new), placed)


def test_coordinates_lead_back_where_the_command_leads_back(mlcli_: Caller, wording: Wording) -> None:
    values, _ = points()
    assert mlcli_("embed", "data.csv", "-o", "run", "-q").code == 0
    made, opened = mlcli.embed(values), mlcli.open_run(Path("run"))
    back = np.loadtxt(mlcli_("reconstruct", "run", "run/embedding.csv", "-q").out.splitlines(), delimiter=",",
                      skiprows=1, usecols=(1, 2, 3))
    assert np.array_equal(made.reconstruct(made.embedding), back)
    assert np.array_equal(opened.reconstruct(opened.embedding), back)
    assert mlcli.embed(values, components=3).reconstruct(made.project(values) @ np.eye(2, 3)) == pytest.approx(back)
    with wording.raises(ConfigError, "NO-RECONSTRUCTION"):
        mlcli.embed(values, "isomap").reconstruct(made.embedding)


@pytest.mark.parametrize("opened", [False, True])
def test_the_arrays_of_a_run_can_be_written_to(mlcli_: Caller, opened: bool) -> None:
    """As those of NumPy and scikit-learn; what is written changes no later call."""
    array, _ = points()
    if opened:
        assert mlcli_("embed", "data.csv", "-o", "run", "-q").code == 0
    run = mlcli.open_run("run") if opened else mlcli.embed(array)
    for call, given in ((run.project, array[:3]), (run.reconstruct, run.embedding[:3])):
        found = call(given)
        kept = found.copy()
        found[:] = 0.0
        assert np.array_equal(call(given), kept)
    run.embedding[0] = 0.0


def test_labels_reach_the_method_and_the_run() -> None:
    species = ["a", "b", "c"] * 20
    values = np.random.default_rng(0).standard_normal((60, 4)) + np.tile([[0.0], [3.0], [9.0]], (20, 1))
    run = mlcli.embed(values, "lda", labels={"species": species})
    assert run.labels == {"species": tuple(species)} and run.embedding.shape == (60, 2)


def test_a_matrix_of_pairs_is_taken_by_its_kind(wording: Wording) -> None:
    values = np.random.default_rng(0).standard_normal((30, 3))
    distances = np.linalg.norm(values[:, None] - values[None], axis=2)
    given = distances.copy()
    run = mlcli.embed(distances, "pcoa", kind="dissimilarities", components=3, ids=range(30))
    apart = np.linalg.norm(run.embedding[:, None] - run.embedding[None], axis=2)
    assert run.ids[:2] == ("0", "1") and np.allclose(apart, distances) and np.array_equal(given, distances)
    assert np.allclose(run.project(distances[3:5]), run.embedding[3:5])
    with wording.raises(DataError, "LOOKS-LIKE-MATRIX"):
        mlcli.embed(distances, "mds")
    assert mlcli.embed(distances, "mds", kind="features").embedding.shape == (30, 2)
    with wording.raises(DataError, "COLUMNS-DIFFER"):
        run.project(distances[:, :4])
    with pytest.raises(DataError):
        run.project(-distances)


def test_a_second_view_is_an_array_of_the_same_rows(mlcli_: Caller, wording: Wording) -> None:
    values, ids = points()
    other = np.random.default_rng(3).standard_normal((30, 2)) + values[:, :2]
    np.savetxt("other.csv", other, delimiter=",", header="u,v", comments="")
    assert mlcli_("embed", "data.csv", "-m", "cca", "--view", "other.csv", "--no-id", "-o", "run", "-q").code == 0
    run = mlcli.embed(values, "cca", view=np.loadtxt("other.csv", delimiter=",", skiprows=1), ids=ids)
    assert run.ids == tuple(ids) and np.array_equal(run.embedding, mlcli.open_run("run").embedding)
    with wording.raises(DataError, "ROWS-DIFFER"):
        mlcli.embed(values, "cca", view=other[:20])
    with wording.raises(ConfigError, "VIEW"):
        mlcli.embed(values, view=other)


def test_a_path_is_read_as_the_command_reads_it(mlcli_: Caller, wording: Wording) -> None:
    values, ids = points()
    for given in ("data.csv", Path("data.csv")):
        run = mlcli.embed(given, "isomap", neighbors=8)
        assert run.ids == tuple(ids) and np.array_equal(run.embedding,
                                                        mlcli.embed(values, "isomap", neighbors=8).embedding)
    assert run.project(values[:3]) == pytest.approx(run.embedding[:3])
    assert mlcli.embed("data.csv", set={"input.columns": ["x", "y"]}).reconstruct([[0.0, 0.0]]).shape == (1, 2)
    assert mlcli_("embed", "data.csv", "-o", "run", "-q").code == 0
    assert mlcli.embed("run", components=1).embedding.shape == (30, 1)
    with pytest.raises(InputMissing, match=r"nowhere\.csv"):
        mlcli.embed("nowhere.csv")
    with wording.raises(UsageError, "NAMES-OF-FILE"):
        mlcli.embed("data.csv", ids=ids)


@pytest.mark.parametrize("path", ["input.where", "input.columns", "input.key", "input.header"])
def test_options_of_files_that_an_array_has_no_use_for_are_refused(path: str, wording: Wording) -> None:
    value = {"input.where": ["x1 > 0"], "input.columns": ["x1"], "input.key": "X", "input.header": True}[path]
    with wording.raises(ConfigError, "INPUT-OPTION") as caught:
        mlcli.embed(np.eye(4)[:, :3], set={path: value})
    assert caught.value.where == path


def test_a_run_is_pickled_with_its_model_in_the_models_own_format(mlcli_: Caller) -> None:
    values, _ = points()
    run = mlcli.embed(values, "isomap", neighbors=8)
    again = pickle.loads(pickle.dumps(run))
    assert again.project(values).tobytes() == run.project(values).tobytes() and again.ids == run.ids
    assert again.spectrum.eigenvalues.tobytes() == run.spectrum.eigenvalues.tobytes()  # type: ignore[union-attr]
    assert mlcli_("embed", "data.csv", "-o", "run", "-q").code == 0
    opened = pickle.loads(pickle.dumps(mlcli.open_run("run")))
    assert opened.project(values).tobytes() == mlcli.embed(values).project(values).tobytes()


def test_remedies_beside_an_array_name_its_parts(wording: Wording) -> None:
    """Options that choose parts of a file are refused beside an array, so that no remedy names them."""
    counts = np.random.default_rng(0).integers(0, 9, (6, 3)).astype(float)
    counts[2, 1] = -1
    with wording.raises(DataError, "NEGATIVE") as caught:
        mlcli.embed(counts, "ib")
    assert "array[:, columns]" in str(caught.value) and "input." not in str(caught.value)


@pytest.mark.medium
def test_errors_of_a_call_name_keywords(wording: Wording) -> None:
    groups = np.vstack([np.random.default_rng(0).standard_normal((20, 3)) + place for place in (0, 1000)])
    with pytest.raises(GeometryError) as caught:
        mlcli.embed(groups, "isomap", neighbors=5)
    assert "set={'method.neighbors.pieces': 'largest'}" in str(caught.value) and "--" not in str(caught.value)
    with wording.raises(ConfigError, "STREAM") as refused:
        mlcli.embed(groups, "isomap", set={"input.stream": "always"})
    assert "--" not in str(refused.value)
    with wording.raises(ConfigError, "CONFIG") as several:
        mlcli.embed(groups, "isomap", neighbors=[5, 8])
    assert several.value.where == "neighbors"
    with wording.raises(ConfigError, "CONFIG") as text:
        mlcli.embed(groups, "vae", set={"method.layers": "28"})
    assert text.value.where == "set['method.layers']"
    with pytest.raises(ConfigError) as more:
        mlcli.embed(groups, components=9)
    assert more.value.where == "components"


def test_warnings_of_a_run_are_told(mlcli_: Caller) -> None:
    values = np.column_stack([np.random.default_rng(0).standard_normal((20, 2)), np.ones(20)])
    assert [text[:8] for text in mlcli.embed(values, scale="standard").warnings] == ["W-CONST:"]
    np.save("data.npy", values)
    assert mlcli_("embed", "data.npy", "--scale", "standard", "-q", "-o", "run").code == 0
    assert mlcli.open_run("run").warnings == mlcli.embed(values, scale="standard").warnings


@pytest.mark.parametrize(("given", "options", "kind", "named"), [
    ([1.0, 2.0], {}, DataError, "1-D array of type float64"), ([["a", "b"]], {}, DataError, "2-D array"),
    (np.zeros((0, 3)), {}, DataError, "0 rows"), (np.eye(4)[:, :3], {"ids": ["a"]}, DataError, "ids"),
    (np.eye(4)[:, :3], {"ids": list("aabc")}, DataError, "ids"),
    (np.eye(4)[:, :3], {"labels": {"group": "abcd"}}, DataError, "group"),
    ([[1.0, np.nan], [2, 3], [4, 5]], {}, DataError, "row 1 ('1'), column 'x2'"),
    (np.eye(4)[:, :3], {"neigbors": 3}, UsageError, "'neighbors'?"),
    (np.eye(4)[:, :3], {"method": "som"}, ConfigError, "gplvm"),
    (np.eye(4)[:, :3], {"set": {"compute.sed": 1}}, ConfigError, "'seed'?"),
])
def test_what_does_not_fit_is_refused_as_the_command_refuses_it(given: object, options: dict[str, object],
                                                                kind: type[MlcliError], named: str,
                                                                wording: Wording) -> None:
    with pytest.raises(kind) as caught:
        mlcli.embed(given, **options)  # type: ignore[arg-type]
    assert named in str(caught.value) and wording(caught.value) == [caught.value.code]


def test_an_option_of_other_methods_is_refused_by_its_name() -> None:
    with pytest.raises(ConfigError, match=r"pca .* 'neighbors'; isomap, ") as caught:
        mlcli.embed(np.eye(4)[:, :3], neighbors=3)
    assert (caught.value.code, caught.value.where) == ("E-CONFIG", "neighbors")


def test_runs_that_are_not_there_or_were_changed_are_refused(mlcli_: Caller) -> None:
    with pytest.raises(InputMissing):
        mlcli.open_run("nowhere")
    assert mlcli_("embed", "data.csv", "-o", "run", "-q").code == 0
    Path("run/spectrum.csv").write_text(Path("run/spectrum.csv").read_text() + "9,1,1,1\n")
    with pytest.raises(UnsafeFile):
        mlcli.open_run("run")


def test_a_run_without_a_model_is_opened_and_projects_nothing(mlcli_: Caller) -> None:
    assert mlcli_("embed", "data.csv", "-o", "run", "-q", "--outputs", "embedding,spectrum").code == 0
    run = mlcli.open_run("run")
    assert run.embedding.shape == (30, 2)
    with pytest.raises(InputMissing):
        run.project(points()[0])


@pytest.mark.medium
def test_the_page_tells_all_options_and_its_examples_run(mlcli_: Caller) -> None:
    pytest.importorskip("sklearn")
    page = (Path(__file__).parents[3] / "docs" / "python.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in OPTIONS)
    assert mlcli_("sample", "swiss-roll", "--rows", 400, "-o", "roll.csv").code == 0
    assert mlcli_("embed", "roll.csv", "-m", "isomap", "-o", "runs/roll-isomap", "-q").code == 0
    examples = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL)
    assert len(examples) == page.count("```python") == 4
    for code, printed in examples:
        mlcli_.capture.readouterr()
        exec(code, {})
        assert mlcli_.capture.readouterr().out == printed


def test_several_matrices_are_a_list_of_views() -> None:
    generator = np.random.default_rng(8)
    points = generator.standard_normal((3, 12, 2))
    matrices = [np.linalg.norm(some[:, None] - some, axis=2) for some in points]
    found = mlcli.embed(matrices[0], "statis", kind="dissimilarities", view=matrices[1:])
    assert found.embedding.shape[0] == 12 and len(found.fit["weights"]) == 3
    one = mlcli.embed(matrices[0], "statis", kind="dissimilarities", view=matrices[1])
    listed = mlcli.embed(matrices[0], "statis", kind="dissimilarities", view=[matrices[1]])
    assert np.array_equal(one.embedding, listed.embedding) and len(one.fit["weights"]) == 2


@pytest.mark.parametrize("view", [None, np.ones(12), [[1.0, 2.0], [1.0]]])
def test_a_view_that_is_no_table_among_others_is_refused(view: Any) -> None:
    points = np.random.default_rng(9).standard_normal((12, 2))
    with pytest.raises(DataError, match=r"array.*; view 3; "):
        mlcli.embed(points, "cca", view=[points, view])


@pytest.mark.parametrize(("method", "options"), [
    ("mfa", {"reduce": 2}), ("cca", {"reduce": 2}), ("mfa", {"set": {"prepare.variable_genes.count": 2}})])
def test_a_preparation_of_one_table_is_refused_for_arrays_of_several(method: str, options: Any) -> None:
    points = np.random.default_rng(9).random((12, 3))
    with pytest.raises(ConfigError, match="cannot be used with a second view") as caught:
        mlcli.embed(points, method, view=[points**2, points**3], **options)
    assert caught.value.code == "E-PREPARE-OPTION"


def test_a_file_and_an_array_are_no_views_of_each_other(mlcli_: Caller) -> None:
    points = np.random.default_rng(9).standard_normal((12, 2))
    np.save("points.npy", points)
    np.save("others.npy", points**2)
    for table, view in (("points.npy", points), (Path("points.npy"), [points]), (points, "points.npy"),
                        (points, [points, "points.npy"]), ("points.npy", ["others.npy", points])):
        with pytest.raises(UsageError) as caught:
            mlcli.embed(table, "cca", view=view)
        assert (caught.value.code, caught.value.where) == ("E-VIEW-SOURCE", "view")
    both = mlcli.embed("points.npy", "cca", view=Path("others.npy"))
    assert np.allclose(both.embedding, mlcli.embed(points, "cca", view=points**2).embedding)
    with pytest.raises(ConfigError, match="second view"):
        mlcli.embed(points, "cca", view=[])


@pytest.mark.parametrize("number", [2, 3])
def test_errors_name_the_view_that_they_are_about(number: int) -> None:
    points = np.random.default_rng(9).standard_normal((12, 2))
    missing, faint = points.copy(), points.copy()
    missing[3, 1] = np.nan
    faint[:, 0] *= 1e300
    for wrong, code in ((missing, "E-MISSING"), (faint, "E-COLUMN-SCALES")):
        with pytest.raises(DataError, match=f"view {number}") as caught:
            mlcli.embed(points, "cca", view=[*[points**2] * (number - 2), wrong])
        assert caught.value.code == code


def test_new_rows_of_squared_dissimilarities_are_squared(mlcli_: Caller, tmp_path: Path) -> None:
    points = np.random.default_rng(9).standard_normal((12, 2))
    lengths = np.linalg.norm(points[:, None] - points, axis=2)
    plain = mlcli.embed(lengths, "mds", kind="dissimilarities")
    squared = mlcli.embed(lengths**2, "mds", kind="dissimilarities", set={"input.squared": True})
    assert np.allclose(squared.project(lengths[:3] ** 2), plain.project(lengths[:3]))
    assert np.allclose(pickle.loads(pickle.dumps(squared)).project(lengths[:3] ** 2), plain.project(lengths[:3]))
    np.save(tmp_path / "d.npy", lengths**2)
    assert mlcli_.bare("d.npy", "-m", "mds", "--dissimilarities", "--set", "input.squared=true", "-o", "run").code == 0
    opened = mlcli.open_run("run")
    assert opened.squared and np.allclose(opened.project(lengths[:3] ** 2), plain.project(lengths[:3]))


def test_a_run_of_a_covariance_opens_without_rows(mlcli_: Caller, tmp_path: Path) -> None:
    np.savetxt(tmp_path / "c.csv", [[2.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 1.0]], delimiter=",")
    assert mlcli_.bare("c.csv", "--kind", "covariance", "-o", "run").code == 0
    opened = mlcli.open_run("run")
    assert opened.embedding.shape == (0, 2) and opened.ids == () and opened.spectrum is not None
    assert opened.loadings is not None and opened.loadings.values.shape == (3, 2)
