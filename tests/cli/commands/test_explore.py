"""`mlcli explore` as a user meets it: what it recommends where the answer is known, and that its command holds."""

import contextlib
import csv
import html
import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from mlcli.base.types import Array
from mlcli.cli.batch.runs import carry_out, skipped_document
from mlcli.cli.program import run
from mlcli.errors import GeometryError
from mlcli.explore import examine
from mlcli.methods.principal.pca import PCA
from mlcli.publication.output_lock import output_lock
from tests.journeys.support import Caller
from tests.support import distances
from tests.wording import Wording

pytestmark = pytest.mark.medium

# small fits gain nothing from threads, and a busy machine should try all settings
QUICK = ("--threads", "1", "--progress", "none")
LONG = ("--budget", "1h")
SHARED = Path(__file__).parents[4] / "shared" / "data"


def written(path: str, points: Array, label: str = "") -> str:
    """A table with ids, and a label column where one is named."""
    with Path(path).open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["site", *(f"x{j}" for j in range(points.shape[1])), *([label] if label else [])])
        out.writerows([f"p{i}", *map(repr, row), *([f"c{i % 2}"] if label else [])]
                      for i, row in enumerate(points.tolist()))
    return path


def plane(rows: int = 120) -> Array:
    """A plane in space, with next to no thickness."""
    generator = np.random.default_rng(0)
    turn = np.linalg.qr(generator.standard_normal((3, 3)))[0]
    return np.column_stack([generator.random((rows, 2)) * [4, 2], 1e-3 * generator.random(rows)]) @ turn


def roll(rows: int = 300) -> Array:
    """A sheet rolled up, as wide as it is long."""
    generator = np.random.default_rng(0)
    angle = 1.5 * np.pi * (1 + 2 * generator.random(rows))
    return np.column_stack([angle * np.cos(angle), 21 * generator.random(rows), angle * np.sin(angle)])


def explored(mlcli: Caller, *arguments: object, budget: str = "1h") -> dict[str, Any]:
    called = mlcli("explore", *arguments, *QUICK, "--json", "--budget", budget)
    assert called.code == 0, called.err
    return json.loads(called.out)  # type: ignore[no-any-return]


def embedding(folder: Path, axes: int) -> Array:
    """The first axes of a run, its ids left out."""
    with (folder / "embedding.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    first = head.index("y1")
    return np.array([[float(cell) for cell in row[first: first + axes]] for row in rows])


def test_of_a_plane_it_says_that_pca_is_enough_and_its_command_makes_the_same(mlcli: Caller) -> None:
    data = written("a plane of points.csv", plane(), label="group of it")
    called = mlcli("explore", data, "--id-column", "site", "--label-column", "group of it", "--scale", "center",
                   "--set", "input.separator=','", "-o", "runs/my plane", *QUICK, *LONG)
    assert called.code == 0, called.err
    assert "PCA is enough" in called.out
    found = json.loads(Path("runs/my plane/explore.json").read_text())
    assert found["recommendation"]["linear_is_enough"]
    assert found["recommendation"]["components"] == 2
    words = shlex.split(found["recommendation"]["command"])
    assert called.out.rstrip().endswith(found["recommendation"]["command"])
    assert words[0] == "mlcli"
    again = mlcli(*words[1:], "-q")
    assert again.code == 0, again.err
    trial = Path("runs/my plane") / found["recommendation"]["run"]
    np.testing.assert_allclose(embedding(Path("runs/my plane/chosen"), 2), embedding(trial, 2), rtol=0, atol=1e-12)
    page = Path("runs/my plane/explore.html").read_text()
    assert "PCA is enough" in page
    assert "a plane of points.csv" in page
    assert all(0 <= one["measures"]["label_error"] <= 1 for one in found["ranking"])


@pytest.fixture(scope="module")
def rolled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a rolled sheet was explored."""
    folder = tmp_path_factory.mktemp("roll")
    with contextlib.chdir(folder):
        written("roll.csv", roll())
        assert run(["explore", "roll.csv", "--id-column", "site", "-p", "2", "-o", "out", "-q", *QUICK, *LONG]) == 0
    return folder


def test_of_a_rolled_sheet_no_linear_method_wins_and_a_geodesic_one_keeps_paths(rolled: Path) -> None:
    """Neighbor embeddings keep more neighbors than any other; what they do not keep is said beside them."""
    found = json.loads((rolled / "out/explore.json").read_text())
    assert found["recommendation"]["method"] in ("umap", "tsne")
    assert any("mean little" in sentence for sentence in found["recommendation"]["sentences"])
    assert max(found["ranking"], key=lambda one: one["measures"]["geodesics"])["method"] == "isomap"
    assert not found["recommendation"]["linear_is_enough"]
    best, linear = ({one["method"]: one["measures"] for one in found["ranking"]}[name] for name in ("isomap", "pca"))
    assert best["r_nx"] > linear["r_nx"] + 0.05
    assert best["geodesics"] > 0.95 > linear["geodesics"]
    assert best["distances"] < linear["distances"]  # which is why neither of the two ranks


def test_about_as_good_is_what_keeps_as_many_neighbors(rolled: Path) -> None:
    found = json.loads((rolled / "out/explore.json").read_text())
    kept = {one["method"]: one["measures"]["r_nx"] for one in found["ranking"]}
    mine = kept[found["recommendation"]["method"]]
    assert mine == max(kept[one["method"]] for one in found["ranking"] if one["tied"])
    for said in found["recommendation"]["sentences"]:
        if said.startswith("About as good"):
            assert all(abs(kept[name] - mine) < 0.05 for name in kept if re.search(rf"\b{name}\b", said))


def test_settings_agreement_stability_and_what_was_left_out_are_told(rolled: Path) -> None:
    found = json.loads((rolled / "out/explore.json").read_text())
    with (rolled / "out/runs.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["exit"] == "0"]
    assert {row["run"] for row in rows} == {one["run"] for one in found["settings"]}
    assert {one["options"] for one in found["settings"] if one["method"] == "lle"} >= {"k=12", "k=8", "k=20"}
    methods = len(found["ranking"])
    assert len(found["agreement"]) == methods * (methods - 1) // 2
    assert all(0 <= pair["procrustes_m2"] <= 1 and 0 <= pair["overlap"] <= 1 for pair in found["agreement"])
    stable = {one["method"]: one["stability"] for one in found["ranking"]}
    assert stable["pca"]["fits"] == 3
    assert stable["pca"]["procrustes_m2"] < 0.01
    closed = next(one for one in found["left_out"] if one["name"] == "lle k=5")
    assert "neighbors among themselves" in closed["reason"]  # a setting that does not suit the data is no failure
    assert ["mds", "of Euclidean distances it is pca"] in [[one["name"], one["reason"]] for one in found["left_out"]]
    assert {one["axes"] for one in next(one for one in found["ranking"] if one["method"] == "pca")["by_axes"]} == {
        1, 2, 3}


@pytest.mark.slow
def test_kernels_are_tried_half_and_twice_as_wide_as_by_default(rolled: Path) -> None:
    """The default rate is one over the median of the squared distances between points."""
    found = json.loads((rolled / "out/explore.json").read_text())
    tried = [float(one["options"].removeprefix("rate=")) for one in found["settings"]
             if one["method"] == "kpca" and one["options"].startswith("rate=")]
    rate = 1 / np.median(pdist(roll()) ** 2)
    assert sorted(tried) == pytest.approx([rate / 4, 4 * rate], rel=1e-3)


def test_what_is_there_is_kept_for_another_number_of_axes(rolled: Path, mlcli: Caller) -> None:
    shutil.copytree(rolled, ".", dirs_exist_ok=True)
    before = {path: path.stat().st_mtime_ns for path in Path("out").glob("*/embedding.csv")}
    refused = mlcli("explore", "roll.csv", "--id-column", "site", "-o", "out", "-q")
    assert refused.code == 73
    assert "--skip-existing" in refused.err
    found = explored(mlcli, "roll.csv", "--id-column", "site", "-o", "out", "--skip-existing", "-p", "3", "--jobs", "2")
    assert found["recommendation"]["linear_is_enough"]  # three axes hold all
    after = {path: path.stat().st_mtime_ns for path in Path("out").glob("*/embedding.csv")}
    assert {path: after[path] for path in before} == before
    more = {re.search(r"method.name=(\w+)", str(path))[1] for path in after.keys() - before.keys()}  # axes not nested
    assert more <= {"smacof", "sammon", "nmds", "tsne", "umap", "phate"}


def without_times(document: Any) -> Any:
    """A document without the seconds that computing took, or was predicted to take."""
    if isinstance(document, dict):
        return {key: without_times(value) for key, value in document.items()
                if key not in ("seconds", "predicted_seconds")}
    return [without_times(value) for value in document] if isinstance(document, list) else document


@pytest.mark.slow
@pytest.mark.parametrize("kept", [0, 1, 6])
def test_it_goes_on_from_the_runs_of_an_exploration_that_was_killed(rolled: Path, mlcli: Caller, kept: int) -> None:
    """Some of the runs, no page and no explore.json: a kill leaves that. The figures become those without a kill."""
    shutil.copytree(rolled, ".", dirs_exist_ok=True)
    expected = json.loads(Path("out/explore.json").read_text())
    for name in ("explore.json", "explore.html", "runs.csv"):
        Path("out", name).unlink()
    for folder in sorted(Path("out").glob("*/"))[kept:]:
        shutil.rmtree(folder)
    there = {path: path.read_bytes() for path in Path("out").glob("*/run.json")}
    assert len(there) == kept
    found = explored(mlcli, "roll.csv", "--id-column", "site", "-p", "2", "-o", "out")
    assert without_times(found) == without_times(expected)
    assert Path("out/explore.html").exists()
    assert all(path.read_bytes() == content for path, content in there.items())
    with Path("out/runs.csv").open(newline="") as file:
        assert {row["run"] for row in csv.DictReader(file) if row["exit"] == "0"} == {
            one["run"] for one in found["settings"]}


def test_runs_of_another_exploration_are_refused_before_the_first_trial(rolled: Path, mlcli: Caller) -> None:
    shutil.copytree(rolled, ".", dirs_exist_ok=True)
    Path("out/explore.json").unlink()
    Path("out/explore.html").unlink()
    names = sorted(path.name for path in Path("out").iterdir())
    called = mlcli("explore", "roll.csv", "--id-column", "site", "-o", "out", "--scale", "standard", *QUICK, *LONG)
    assert called.code == 73
    assert "E-OUTPUT-OTHER" in called.err
    assert sorted(path.name for path in Path("out").iterdir()) == names


@pytest.mark.parametrize("chosen", [["--rows", "1"], ["--rows", "2"], ["--where", "x0 > 3.9"]])
def test_fewer_rows_than_neighborhoods_need_are_refused(mlcli: Caller, chosen: list[str], wording: Wording) -> None:
    points = plane(30)
    points[:2, 0], points[2:, 0] = 4, 0
    written("data.csv", points)
    called = mlcli("explore", "data.csv", *chosen)
    assert called.code == 65, called.err
    assert "E-TOO-FEW" in wording(called.err)
    assert not Path("runs").exists()


def test_two_points_and_points_that_are_equal_are_refused(mlcli: Caller, wording: Wording) -> None:
    Path("two.csv").write_text("0,1\n1,0\n")
    called = mlcli("explore", "two.csv", "--dissimilarities")
    assert called.code == 65 and "E-TOO-FEW" in wording(called.err), called.err
    written("same.csv", np.ones((20, 3)))
    called = mlcli("explore", "same.csv")
    assert called.code == 81 and "E-ALL-EQUAL" in called.err, called.err
    assert not Path("runs").exists()


@pytest.mark.slow
def test_dissimilarities_are_given_to_the_methods_that_take_them(mlcli: Caller) -> None:
    apart = distances(plane(30))
    names = [f"p{i}" for i in range(30)]
    Path("apart.csv").write_text("\n".join([",".join(["", *names]), *(
        ",".join([name, *map(repr, row)]) for name, row in zip(names, apart.tolist(), strict=True)), ""]))
    found = explored(mlcli, "apart.csv", "--dissimilarities")
    assert {one["method"] for one in found["ranking"]} == {
        "mds", "smacof", "sammon", "nmds", "isomap", "lle", "laplacian", "diffusion", "tsne", "umap", "phate"}
    assert found["recommendation"]["method"] == "mds"
    assert "MDS is enough" in found["recommendation"]["sentences"][0]


@pytest.mark.slow
def test_a_metric_is_that_of_every_method_that_has_one(mlcli: Caller) -> None:
    counts = np.random.default_rng(0).poisson(np.exp(plane() @ np.random.default_rng(1).random((3, 8))))
    written("counts.csv", counts.astype(float) + 1)
    found = explored(mlcli, "counts.csv", "--id-column", "site", "--metric", "braycurtis")
    configs = {one["method"]: Path("runs/counts-explore", one["run"], "config.yaml").read_text()
               for one in found["ranking"]}
    assert {name for name, text in configs.items() if "braycurtis" in text} == configs.keys() - {"pca"}
    assert "--metric braycurtis" in found["recommendation"]["command"]


def test_nothing_is_recommended_from_one_method_that_ended(mlcli: Caller) -> None:
    """What does not fit into the budget is left out with its time."""
    called = mlcli("explore", written("plane.csv", plane(40)), "--id-column", "site", "--json", *QUICK,
                   "--budget", "0.01s")
    assert called.code == 82, called.err
    found = json.loads(called.out)
    assert [one["method"] for one in found["settings"]] == ["pca"]
    left = {one["name"]: one for one in found["left_out"]}
    assert left["isomap k=12"]["reason"] == "it does not fit into the budget"
    assert left["isomap k=12"]["predicted_seconds"] > 0
    assert found["ranking"][0]["stability"]["fits"] == 0
    assert found["ranking"][0]["stability"]["reason"] == "the budget was used up"
    assert found["recommendation"]["method"] is found["recommendation"]["command"] is None
    assert "Nothing is recommended" in found["recommendation"]["sentences"][0]
    assert "Nothing is recommended" in Path("runs/plane-explore/explore.html").read_text()


def test_a_table_too_large_for_the_budget_is_tried_on_a_sample_of_its_rows(mlcli: Caller,
                                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    """Terminal, page and JSON say so; the command is for all rows."""
    monkeypatch.setattr(examine, "ROWS", 1)
    monkeypatch.setattr(examine, "FEWEST_SAMPLED", 50)
    monkeypatch.setattr(examine, "search_seconds", lambda config, data: 0.0 if len(data.values) < 100 else 1e9)
    called = mlcli("explore", written("plane.csv", plane(210)), "--id-column", "site", "-o", "out", *QUICK, *LONG)
    assert called.code == 0, called.err
    found = json.loads(Path("out/explore.json").read_text())
    assert found["sample"] == {"rows": 60, "of": 210}
    assert {"pca", "isomap", "lle"} <= {one["method"] for one in found["ranking"]}
    for text in (called.out, html.unescape(Path("out/explore.html").read_text())):
        assert "a random sample of 60 of 210 rows" in " ".join(text.split())
    assert mlcli(*shlex.split(found["recommendation"]["command"])[1:], "-q").code == 0
    assert len(embedding(Path("out/chosen"), 1)) == 210


def cloud(name: str) -> Array:
    """Points with a known verdict."""
    draw = np.random.default_rng(0)
    if name == "none":
        return draw.standard_normal((150, 10))
    if name == "surface":
        points = draw.standard_normal((250, 3))
        return np.asarray(points / np.linalg.norm(points, axis=1)[:, None])
    if name == "groups":
        return np.vstack([7 * np.eye(6)[number] + draw.standard_normal((40, 6)) for number in range(4)])
    return draw.standard_normal((200, 3)) @ draw.standard_normal((3, 12)) + draw.standard_normal((200, 12)
                                                                                             ) * np.geomspace(.3, 3, 12)


@pytest.mark.parametrize(("verdict", "method", "axes", "said"), [
    pytest.param("none", None, None, "No structure found", marks=pytest.mark.slow),
    pytest.param("surface", "pca", 3, "no method here lays flat", marks=pytest.mark.slow),
    pytest.param("groups", "tsne", 2, "4 groups that lie apart", marks=pytest.mark.slow),
    pytest.param("factors", "fa", 3, "noise of each column's own", marks=pytest.mark.slow)])
def test_what_the_data_are_is_said_alike_by_terminal_page_and_json(
        mlcli: Caller, verdict: str, method: str | None, axes: int | None, said: str) -> None:
    np.save("data.npy", cloud(verdict))
    called = mlcli("explore", "data.npy", *QUICK, *LONG, "-o", "out")
    assert called.code == 0, called.err
    found = json.loads(Path("out/explore.json").read_text())
    assert found["verdict"]["name"] == verdict
    assert found["recommendation"]["method"] == method
    assert found["recommendation"]["components"] == axes
    for text in (found["verdict"]["sentence"], called.out, html.unescape(Path("out/explore.html").read_text())):
        assert said in " ".join(text.split())
    command = found["recommendation"]["command"]
    assert ("mlcli embed" in called.out) == (command is not None)
    if command:
        assert mlcli(*shlex.split(command)[1:], "-q").code == 0


@pytest.mark.parametrize("there", [False, True])
def test_where_no_trial_ends_nothing_is_left(mlcli: Caller, monkeypatch: pytest.MonkeyPatch, there: bool,
                                             wording: Wording) -> None:
    def fails(*arguments: object) -> None:
        raise GeometryError("RANK", "there are no axes")

    monkeypatch.setattr(PCA, "fit_in_range", fails)
    if there:
        Path("runs/data-explore/name=pca").mkdir(parents=True)
    written("data.csv", plane(10))
    called = mlcli("explore", "data.csv", "--budget", "0.01s", "-p", "1", "--id-column", "site")
    assert called.code == 82 and "E-EXPLORE" in wording(called.err), called.err
    assert [path.name for path in Path("runs").rglob("*")] == ["data-explore", "name=pca"] * there


@pytest.mark.parametrize(("arguments", "said"), [
    (["-"], ""), (["data.csv", "--set", "method.neighbors.count=5"], "method.neighbors"),
    (["data.csv", "--set", "report.keep=[graph]"], "report"), (["data.csv", "--budget", "soon"], "'soon'")])
def test_what_cannot_be_explored_is_refused(mlcli: Caller, arguments: list[str], said: str, wording: Wording) -> None:
    written("data.csv", plane(10))
    called = mlcli("explore", *arguments)
    assert called.code in (2, 78)
    assert said in called.err and wording(called.err)
    assert not Path("runs").exists()


def test_a_covariance_has_no_points(mlcli: Caller, wording: Wording) -> None:
    Path("cov.csv").write_text("a,b\n2,1\n1,2\n")
    called = mlcli("explore", "cov.csv", "--set", "input.kind=covariance")
    assert called.code == 78
    assert "E-NO-ROWS" in wording(called.err)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("path", "flags", "expected"), [
    ("isomap_faces/X_32x32.npy", [], "isomap"), ("oil_flow/X_train.npy", ["-p", "2"], "tsne"),
    ("wine_quality/X.npy", ["--scale", "standard"], "tsne"), ("tables/eurodist.csv", ["--dissimilarities"], "mds"),
    ("tables/iris.csv", ["--label-column", "Species"], "pca"), ("tables/dune.csv", ["--metric", "braycurtis"], "nmds"),
    ("tables/varespec.csv", ["--metric", "braycurtis"], "smacof")])
def test_known_data_sets(mlcli: Caller, path: str, flags: list[str], expected: str) -> None:
    """docs/explore.md says why these."""
    data = SHARED / path
    if not data.exists():
        pytest.skip("no folder `shared` beside the repository")
    found = explored(mlcli, data, *flags, "-o", "out")
    assert found["recommendation"]["method"] == expected


def test_a_table_in_blocks_is_refused_by_name(mlcli: Caller) -> None:
    called = mlcli("explore", "data.csv", "--set", "input.stream=always")
    assert called.code == 78 and "E-STREAM" in called.err and "--rows N" in called.err


def test_a_trial_that_the_budget_stopped_leaves_no_checkpoint(mlcli: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = list[Path]()

    def stopped(runs: list[Any], *arguments: Any) -> tuple[list[dict[str, Any]], int]:
        documents, code = carry_out(runs[:3], *arguments)
        with output_lock(Path(str(runs[-1].config.output))) as lock:  # as its process leaves it
            (lock.path / "checkpoint").touch()
        kept.append(lock.path)
        assert lock.path.exists()
        return [*documents, *map(skipped_document, runs[3:])], code

    monkeypatch.setattr("mlcli.cli.commands.explore.carry_out", stopped)
    found = explored(mlcli, written("plane.csv", plane(40)), "--id-column", "site")
    assert "the budget ended before it did" in {one["reason"] for one in found["left_out"]}
    assert kept and not kept[0].exists()
