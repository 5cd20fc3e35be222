"""Rows added to the map of a finished run: which are kept, which are placed, and what is refused."""

import csv
import json
import re
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from mlcli import embed, open_run
from mlcli.errors import ConfigError, DataError, UsageError
from tests.journeys.support import BARE, Caller
from tests.wording import Wording

KINDS = "abc"


def roll(rows: int = 120) -> np.ndarray:
    generator = np.random.default_rng(0)
    angle = 1 + generator.uniform(0, 6, rows)
    return np.column_stack([angle * np.cos(angle), generator.uniform(0, 5, rows), angle * np.sin(angle)])


ROWS = roll()

pytestmark = pytest.mark.medium


def write(path: str, rows: range, values: np.ndarray = ROWS, *, ids: bool = True) -> Path:
    lines = [f"{f'p{row},' if ids else ''}{','.join(map(repr, values[row].tolist()))},{KINDS[row % 3]}" for row in rows]
    Path(path).write_text("\n".join([f"{'id,' if ids else ''}x,y,z,kind", *lines, ""]), encoding="utf-8")
    return Path(path)


def embedding(folder: str) -> list[list[str]]:
    with (Path(folder) / "embedding.csv").open(encoding="utf-8") as file:
        return list(csv.reader(file))


def facts(folder: str) -> dict:
    return json.loads((Path(folder) / "run.json").read_text(encoding="utf-8"))["onto"]


def grown(mlcli: Caller, method: str, *options: object) -> None:
    """Makes the run `old` of 80 rows and `new` of 20 more onto it."""
    write("old.csv", range(80))
    write("new.csv", range(80, 100))
    assert mlcli("embed", "old.csv", "-m", method, *options, "-o", "old", *BARE).code == 0
    called = mlcli("embed", "new.csv", "--onto", "old", "-o", "new", *BARE)
    assert called.code == 0, called.err


@pytest.mark.parametrize(("method", "options"), [
    ("pca", ()), ("isomap", ("-k", "8")), ("umap", ("-k", "8", "--set", "method.epochs=50")),
    ("tsne", ("--set", "method.perplexity=8", "--set", "method.descent.early_steps=20", "--set",
              "method.descent.steps=30")),
    ("smacof", ()), ("sammon", ()), ("nmds", ("--set", "method.starts=1")), ("phate", ())])
def test_lines_of_former_rows_stay_to_the_byte_and_the_certificate_passes(mlcli: Caller, method: str,
                                                                          options: tuple[str, ...]) -> None:
    grown(mlcli, method, *options)
    old, new = Path("old/embedding.csv").read_bytes(), Path("new/embedding.csv").read_bytes()
    assert new.startswith(old)
    assert [line[0] for line in embedding("new")[81:]] == [f"p{row}" for row in range(80, 100)]
    assert [line[1] for line in embedding("new")[81:]] == [KINDS[row % 3] for row in range(80, 100)]
    verified = mlcli("verify", "new")
    assert verified.code == 0, verified.err
    assert facts("new")["old"] == 80
    assert facts("new")["new"] == 20


def test_rows_of_pca_lie_where_project_places_them(mlcli: Caller) -> None:
    grown(mlcli, "pca")
    assert mlcli("project", "old", "new.csv", "-o", "placed.csv").code == 0
    with Path("placed.csv").open(encoding="utf-8") as file:
        placed = [[float(cell) for cell in line[2:4]] for line in list(csv.reader(file))[1:]]
    assert np.allclose(placed, [[float(cell) for cell in line[2:]] for line in embedding("new")[81:]], rtol=1e-12)


def test_a_chain_needs_its_last_run_alone_and_names_all(mlcli: Caller) -> None:
    grown(mlcli, "pca")
    write("more.csv", range(100, 110))
    shutil.rmtree("old")
    Path("old.csv").unlink()
    Path("new.csv").unlink()
    called = mlcli("embed", "more.csv", "--onto", "new", "-o", "more", *BARE)
    assert called.code == 0, called.err
    assert [one["run"] for one in facts("more")["ancestors"]] == ["old", "new"]
    assert Path("more/embedding.csv").read_bytes().startswith(Path("new/embedding.csv").read_bytes())
    assert mlcli("embed", "more.csv", "--onto", "new", "--onto-way", "refit", "-o", "again", *BARE).code == 0


def changed_file(folder: str, name: str, change: Callable[[dict], None]) -> None:
    """Changes a JSON file of a run, and its hash in run.json."""
    path, manifest = Path(folder) / name, Path(folder) / "run.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    if path != manifest:
        known = json.loads(manifest.read_text(encoding="utf-8"))
        content = path.read_bytes()
        known["files"][name] = {"bytes": len(content), "sha256": sha256(content).hexdigest()}
        manifest.write_text(json.dumps(known), encoding="utf-8")


def test_a_run_with_the_former_name_of_the_part_and_without_a_scale_opens_and_grows(mlcli: Caller) -> None:
    grown(mlcli, "umap", "-k", "8", "--set", "method.epochs=50")
    changed_file("new", "model.json", lambda header: header["model"].update(growth=header["model"].pop("onto")))
    changed_file("new", "run.json", lambda manifest: manifest["fit"].pop("scale"))
    verified = mlcli("verify", "new", "--json")
    assert verified.code == 0, verified.err
    checks = {check["name"]: check["verdict"] for check in json.loads(verified.out)["certificate"]["checks"]}
    assert checks["kept"] == "pass"
    assert checks["seed"] == "skipped"
    write("more.csv", range(100, 110))
    assert mlcli("embed", "more.csv", "--onto", "new", "-o", "more", *BARE).code == 0
    assert Path("more/embedding.csv").read_bytes().startswith(Path("new/embedding.csv").read_bytes())


def test_the_same_rows_again_change_nothing(mlcli: Caller, wording: Wording) -> None:
    grown(mlcli, "pca")
    called = mlcli("embed", "new.csv", "--onto", "new", "-o", "same", "--verbose", *BARE)
    assert wording(called.err, "N-ONTO-NOTHING")
    assert facts("same")["again"] == 20
    assert Path("same/embedding.csv").read_bytes() == Path("new/embedding.csv").read_bytes()


def changed_rows() -> np.ndarray:
    values = ROWS.copy()
    values[85, 1] += 1
    return values


def test_rows_with_other_numbers_are_refused_unless_a_way_is_named(mlcli: Caller, wording: Wording) -> None:
    grown(mlcli, "smacof")
    write("later.csv", range(84, 110), changed_rows())
    refused = mlcli("embed", "later.csv", "--onto", "new", "-o", "later", *BARE)
    assert refused.code == 65
    assert wording(refused.err) == ["E-ONTO-CHANGED"]
    assert "'p85'" in refused.err
    assert "'y'" in refused.err
    assert not Path("later").exists()
    kept = mlcli("embed", "later.csv", "--onto", "new", "--changed", "keep", "-o", "kept", *BARE)
    assert kept.code == 0
    assert Path("kept/embedding.csv").read_bytes().startswith(Path("new/embedding.csv").read_bytes())
    placed = mlcli("embed", "later.csv", "--onto", "new", "--changed", "place", "-o", "placed", *BARE)
    assert placed.code == 0
    before, after = embedding("new"), embedding("placed")
    assert [row for row in range(101) if before[row] != after[row]] == [86]
    assert mlcli("verify", "placed").code == 0
    # its new numbers are those that later rows are compared with
    assert mlcli("embed", "later.csv", "--onto", "placed", "-o", "again", *BARE).code == 0


def test_row_numbers_go_on_and_are_never_ids(mlcli: Caller, wording: Wording) -> None:
    write("old.csv", range(40), ids=False)
    write("new.csv", range(40, 50), ids=False)
    assert mlcli("embed", "old.csv", "-o", "old", *BARE).code == 0
    called = mlcli("embed", "new.csv", "--onto", "old", "-o", "new", "--verbose", *BARE)
    assert wording(called.err, "N-ONTO-IDS")
    assert [line[0] for line in embedding("new")[1:]] == [str(row) for row in range(1, 51)]
    write("named.csv", range(40, 50))
    assert wording(mlcli("embed", "named.csv", "--onto", "new", "-o", "x", *BARE).err, "E-ONTO-IDS")


def test_a_point_that_equals_a_fixed_one_lies_on_it(mlcli: Caller) -> None:
    values = np.vstack([ROWS, ROWS[3:6]])
    write("old.csv", range(80), values)
    write("new.csv", range(117, 123), values)
    for method in ("smacof", "umap"):
        assert mlcli("embed", "old.csv", "-m", method, "-o", f"{method}-old", *BARE).code == 0
        called = mlcli("embed", "new.csv", "--onto", f"{method}-old", "-o", f"{method}-new", *BARE)
        assert called.code == 0, called.err
        lines = embedding(f"{method}-new")
        assert [line[2:] for line in lines[84:]] == [line[2:] for line in lines[4:7]]


@pytest.mark.parametrize("method", ["pca", "smacof", "lle"])
def test_rows_fitted_anew_come_as_near_as_a_turn_and_a_shift_can_bring_them(mlcli: Caller, method: str) -> None:
    grown(mlcli, method)
    called = mlcli("embed", "new.csv", "--onto", "old", "--onto-way", "refit", "-o", "refit", *BARE)
    assert called.code == 0, called.err
    assert mlcli("verify", "refit").code == 0
    old, now = (np.array([line[2:] for line in embedding(run)[1:81]], dtype=float) for run in ("old", "refit"))
    gap = float(np.sum((now - old) ** 2))
    for angle in (-1e-3, 1e-3):
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        assert float(np.sum(((now - now.mean(0)) @ turn + now.mean(0) - old) ** 2)) > gap
    assert 0 <= facts("refit")["m2"] < 0.2
    assert mlcli("project", "refit", "old.csv", "-o", "placed.csv").code == 0
    with Path("placed.csv").open(encoding="utf-8") as file:
        placed = np.array([line[2:4] for line in list(csv.reader(file))[1:]], dtype=float)  # then scores
    if method != "lle":  # which places rows of the fit by their neighbors
        assert np.allclose(placed, now, atol=1e-6 * np.abs(now).max())


@pytest.mark.parametrize(("options", "code", "exit_code"), [
    (("-m", "isomap"), "E-ONTO-METHOD", 78), (("--scale", "standard"), "E-ONTO-OPTION", 78),
    (("--seed", "7"), "E-ONTO-OPTION", 78), (("--set", "input.stream=always"), "E-ONTO-INPUT", 78),
    (("--set", "report.dimension=true"), "E-UNUSED", 78), (("--force",), "E-OUTPUT-ONTO", 78)])
def test_options_that_are_not_the_runs_are_refused_by_name(mlcli: Caller, wording: Wording, options: tuple[str, ...],
                                                           code: str, exit_code: int) -> None:
    grown(mlcli, "pca")
    output = "old" if code == "E-OUTPUT-ONTO" else "other"
    called = mlcli("embed", "new.csv", "--onto", "old", "-o", output, *options)
    assert (called.code, wording(called.err)) == (exit_code, [code])


def test_runs_that_are_gone_damaged_or_without_features_are_refused(mlcli: Caller, wording: Wording) -> None:
    grown(mlcli, "pca")
    assert mlcli("embed", "new.csv", "--onto", "nowhere", "-o", "x").code == 66
    assert wording(mlcli("embed", "new", "--onto", "old", "-o", "x").err) == ["E-ONTO-INPUT"]
    kept = mlcli("embed", "new.csv", "--onto", "old", "-o", "x", "--draw-graph")
    assert (kept.code, wording(kept.err)) == (78, ["E-UNUSED"])
    Path("old.csv").rename("moved.csv")
    gone = mlcli("embed", "new.csv", "--onto", "old", "-o", "x")
    assert (gone.code, wording(gone.err)) == (66, ["E-ONTO-FEATURES"])
    write("old.csv", range(1, 81))
    other = mlcli("embed", "new.csv", "--onto", "old", "-o", "x")
    assert (other.code, wording(other.err)) == (83, ["E-ONTO-FEATURES"])
    Path("moved.csv").replace("old.csv")
    text = Path("old/embedding.csv").read_text(encoding="utf-8")
    Path("old/embedding.csv").write_text(text.replace("p3,", "p4,"), encoding="utf-8")
    assert mlcli("embed", "new.csv", "--onto", "old", "-o", "x").code == 83


def test_a_run_is_verified_as_far_as_its_files_go_where_the_former_one_is_gone(mlcli: Caller) -> None:
    grown(mlcli, "pca")
    shutil.rmtree("old")
    called = mlcli("verify", "new")
    assert called.code == 0
    assert "the input is unchanged, the run whose map it adds rows to is missing" in called.out
    document = json.loads(mlcli("verify", "new", "--json").out)
    assert (document["input"], document["onto"]) == ("unchanged", "missing")
    Path("new.csv").unlink()
    assert json.loads(mlcli("verify", "new", "--json").out)["input"] == "missing"
    text = Path("new/embedding.csv").read_text(encoding="utf-8").splitlines()
    text[1], text[2] = text[2], text[1]
    Path("new/embedding.csv").write_text("\n".join([*text, ""]), encoding="utf-8")
    assert mlcli("verify", "new").code == 83


def test_an_existing_run_is_kept_only_while_the_former_one_is_the_same(mlcli: Caller) -> None:
    grown(mlcli, "pca")
    line = ("embed", "new.csv", "--onto", "old", "-o", "new", *BARE)
    before = Path("new/run.json").read_bytes()
    assert mlcli(*line, "--skip-existing").code == 0
    assert Path("new/run.json").read_bytes() == before
    assert mlcli("embed", "old.csv", "-o", "old", "--force", *BARE).code == 0
    again = mlcli(*line, "--skip-existing")
    assert (again.code, Path("new/run.json").read_bytes() == before) == (73, True)


def test_the_page_and_the_plan_say_what_is_added(mlcli: Caller) -> None:
    grown(mlcli, "pca")
    assert mlcli("embed", "new.csv", "--onto", "old", "-o", "page").code == 0
    page = Path("page/report.html").read_text(encoding="utf-8")
    assert "Rows added to a map" in page
    assert "keep their coordinates to the last bit" in page
    assert "its axes, spectrum and loadings are those of the fit" in page
    planned = mlcli("plan", "new.csv", "--onto", "old", "--json")
    document = json.loads(planned.out)
    assert document["rows"] == 100
    assert "20 rows among 80" in [step["how"] for step in document["steps"]]


@pytest.mark.parametrize("way", ["fixed", "refit"])
def test_the_page_of_a_layout_names_no_axes_spectrum_or_loadings(mlcli: Caller, way: str) -> None:
    write("old.csv", range(40))
    write("new.csv", range(40, 44))
    assert mlcli("embed", "old.csv", "-m", "smacof", "-o", "old", *BARE).code == 0
    assert mlcli("embed", "new.csv", "--onto", "old", "--onto-way", way, "-o", "page").code == 0
    _, _, said = Path("page/report.html").read_text(encoding="utf-8").partition("Rows added to a map")
    said = said.partition("rows of that map")[0]
    assert "turned" in said
    assert not {"axes", "spectrum", "loadings"} & set(re.findall(r"\w+", said))


TIED = [("tsne", ("--set", "method.perplexity=8", "--set", "method.descent.early_steps=60", "--set",
                  "method.descent.steps=120")),
        ("umap", ("-k", "8", "--set", "method.epochs=60")), ("smacof", ()), ("sammon", ()),
        ("nmds", ("--set", "method.starts=1"))]


def tied(mlcli: Caller, weight: float, output: str) -> np.ndarray:
    """Makes a run that ties the rows of `old`, and returns how far these moved."""
    called = mlcli("embed", "new.csv", "--onto", "old", "--onto-way", "tied", "--onto-weight", weight, "-o", output,
                   *BARE)
    assert called.code == 0, called.err
    before, after = (np.array([line[2:] for line in embedding(run)[1:81]], dtype=float) for run in ("old", output))
    return np.linalg.norm(after - before, axis=1)


@pytest.mark.parametrize(("method", "options"), TIED)
def test_tied_rows_move_the_less_the_larger_the_weight(mlcli: Caller, method: str, options: tuple[str, ...]) -> None:
    grown(mlcli, method, *options)
    light, plain, heavy = (tied(mlcli, weight, f"tied{weight}") for weight in (1e-6, 1, 1e6))
    old = np.array([line[2:] for line in embedding("old")[1:]], dtype=float)
    assert np.median(light) > 3 * np.median(plain) > 1e3 * np.median(heavy)
    assert heavy.max() < 1e-4 * np.abs(old).max()
    stated = facts("tied1")
    assert (stated["way"], stated["weight"]) == ("tied", 1)
    assert stated["moved"]["median"] == pytest.approx(np.median(plain), rel=1e-9)
    assert stated["moved"]["largest"] == pytest.approx(plain.max(), rel=1e-9)
    with Path("tied1/moved.csv").open(encoding="utf-8") as file:
        lines = list(csv.reader(file))
    assert lines[0][:3] == ["id", "moved", "former1"]
    assert [float(line[1]) for line in lines[1:]] == pytest.approx(plain.tolist(), rel=1e-9)
    verified = mlcli("verify", "tied1")
    assert verified.code == 0, verified.err
    checks = {check["name"]: check["verdict"] for check in json.loads(
        Path("tied1/certificate.json").read_text(encoding="utf-8"))["checks"]}
    assert "kept" not in checks
    assert checks["moved"] == "pass"
    assert checks[{"tsne": "slope", "umap": "graph"}.get(method, "stationarity")] == "pass"


def test_with_next_to_no_weight_stress_is_that_of_a_fit_of_all_rows(mlcli: Caller) -> None:
    grown(mlcli, "smacof")
    tied(mlcli, 1e-6, "tied")
    assert mlcli("embed", "new.csv", "--onto", "old", "--onto-way", "refit", "-o", "refit", *BARE).code == 0
    tied_stress, stress = (json.loads((Path(run) / "run.json").read_text(encoding="utf-8"))["fit"]["stress"]
                           for run in ("tied", "refit"))
    assert tied_stress == pytest.approx(stress, rel=1e-3)


def test_a_tied_run_is_grown_again_verified_alone_and_drawn(mlcli: Caller) -> None:
    grown(mlcli, "smacof")
    assert mlcli("embed", "new.csv", "--onto", "old", "--onto-way", "tied", "-o", "tied").code == 0
    page = Path("tied/report.html").read_text(encoding="utf-8")
    assert "of 80 former rows moved farther than" in page
    assert "From former to new places" in page
    write("more.csv", range(100, 110))
    assert mlcli("embed", "more.csv", "--onto", "tied", "-o", "more", *BARE).code == 0
    shutil.rmtree("old")
    assert mlcli("verify", "tied").code == 0
    assert mlcli("report", "tied").code == 0
    assert "of 80 former rows moved farther than" in Path("tied/report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("method", ["isomap", "phate"])
def test_methods_without_an_objective_for_a_penalty_refuse_ties(mlcli: Caller, wording: Wording, method: str) -> None:
    grown(mlcli, method)
    called = mlcli("embed", "new.csv", "--onto", "old", "--onto-way", "tied", "-o", "x", *BARE)
    assert (called.code, wording(called.err)) == (78, ["E-ONTO-WAY"])
    assert method in called.err
    unused = mlcli("embed", "new.csv", "--onto", "old", "--onto-weight", "2", "-o", "x", *BARE)
    assert (unused.code, wording(unused.err)) == (78, ["E-UNUSED"])


def test_an_option_of_the_method_alone_names_the_method_of_the_run(mlcli: Caller, wording: Wording) -> None:
    grown(mlcli, "smacof")
    called = mlcli("embed", "new.csv", "-k", "5", "--onto", "old", "-o", "x", *BARE)
    assert (called.code, wording(called.err)) == (78, ["E-CONFIG"])
    assert "made by smacof" in called.err


def test_residual_variance_of_a_grown_map_names_its_distances(mlcli: Caller) -> None:
    grown(mlcli, "isomap", "-k", "8")
    called = mlcli("embed", "new.csv", "--onto", "old", "-o", "page")
    assert "of distances in the data" in called.err + called.out
    assert "Residual variance is that of distances in the data" in Path("page/report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("options", [("--changed", "keep"), ("--onto-weight", "2"), ("--onto-way", "tied")])
def test_an_option_of_growth_without_a_run_asks_for_the_flag(mlcli: Caller, wording: Wording, options: tuple[str, ...],
                                                             ) -> None:
    write("new.csv", range(80, 100))
    called = mlcli("embed", "new.csv", *options, "-o", "x", *BARE)
    assert (called.code, wording(called.err)) == (78, ["E-UNUSED"])
    assert "--onto RUN" in called.err
    assert options[0] in called.err


@pytest.mark.parametrize(("method", "said"), [("pca", "of the variance"), ("lda", "misclassified")])
def test_figures_of_a_fit_without_the_added_rows_say_so(mlcli: Caller, method: str, said: str) -> None:
    grown(mlcli, method, "--label-column", "kind")
    assert facts("new")["fit_rows"] == 80
    write("more.csv", range(100, 110))
    called = mlcli("embed", "more.csv", "--onto", "new", "-o", "more")
    assert called.code == 0
    assert facts("more")["fit_rows"] == 80
    judged = next(line for line in called.err.splitlines() if said in line)
    assert judged.rstrip().endswith("of the 80 rows of the fit, without the 30 that were added")
    page = Path("more/report.html").read_text(encoding="utf-8")
    assert "is of the 80 rows of the fit, without the 30 that were added" in page
    if method == "pca":  # the other one cannot be turned
        assert mlcli("embed", "more.csv", "--onto", "new", "--onto-way", "refit", "-o", "refit", *BARE).code == 0
        assert "fit_rows" not in facts("refit")


def test_the_first_line_counts_old_and_new_rows(mlcli: Caller) -> None:
    grown(mlcli, "pca")
    called = mlcli("embed", "new.csv", "--onto", "old", "-o", "again", *BARE)
    assert "80 rows of old + 20 new x 3 columns to 100 x 2" in called.err


def test_python_adds_an_array_to_the_map_of_a_run(mlcli: Caller) -> None:
    grown(mlcli, "pca")
    known = np.array([line[2:] for line in embedding("new")[1:]], dtype=float)
    ids = [f"p{row}" for row in range(80, 100)]
    for array, names in ((ROWS[80:100], None), (ROWS[80:100][:, ::-1], ["z", "y", "x"])):
        for onto in ("old", open_run("old")):
            run = embed(array, ids=ids, columns=names, onto=onto)
            assert run.method == "pca"
            assert np.array_equal(run.embedding, known)
            assert run.ids[78:82] == ("p78", "p79", "p80", "p81")
    assert len(embed("new.csv", onto=Path("old"), onto_way="refit").embedding) == 100
    with pytest.raises(DataError, match="'x'"):
        embed(ROWS[80:100], ids=ids, columns=["a", "b", "c"], onto="old")
    with pytest.raises(UsageError, match="in memory"):
        embed(ROWS[80:100], ids=ids, onto=embed(ROWS[:80]))
    with pytest.raises(ConfigError, match="onto="):
        embed(ROWS[80:100], ids=ids, changed="keep")


@pytest.mark.parametrize(("method", "columns"), [("famd", "x:kind"), ("mfa", "x:kind"), ("mca", "kind,sort")])
def test_rows_with_categories_are_added_and_unknown_ones_refused_by_name(mlcli: Caller, wording: Wording, method: str,
                                                                         columns: str) -> None:
    """Where `project` places them, under the numbers that categories have in the run."""
    for name, rows in (("old", range(40)), ("new", range(41, 60, 2))):
        lines = [f"p{row},{','.join(map(repr, ROWS[row].tolist()))},{KINDS[row % 3]},{'uvwuuvw'[row % 7]}"
                 for row in rows]
        Path(f"{name}.csv").write_text("\n".join(["id,x,y,z,kind,sort", *lines, ""]), encoding="utf-8")
    given = ("-m", method, "--columns", columns, "--id-column", "id")
    assert mlcli.bare("old.csv", *given, "-o", "old").code == 0
    called = mlcli.bare("new.csv", "--onto", "old", "-o", "grown")
    assert called.code == 0, called.err
    placed = [line.split(",")[:3] for line in mlcli("project", "old", "new.csv").out.splitlines()[1:]]
    rows = embedding("grown")
    assert rows[:41] == embedding("old") and [row[:3] for row in rows[41:]] == placed
    assert mlcli("verify", "--full", "grown").code == 0
    assert mlcli.bare("new.csv", "--onto", "old", "--onto-way", "refit", "-o", "refit").code == 0
    assert mlcli("verify", "--full", "refit").code == 0
    text = Path("new.csv").read_text(encoding="utf-8")
    Path("new.csv").write_text(text.replace(",a,", ",d,"), encoding="utf-8")
    refused = mlcli.bare("new.csv", "--onto", "grown", "-o", "none")
    assert (refused.code, wording(refused.err)) == (65, ["E-ANSWER"]) and "'kind'" in refused.err
    Path("new.csv").write_text(text.replace(",a,", ",b,"), encoding="utf-8")
    changed = mlcli.bare("new.csv", "--onto", "grown", "-o", "none")
    assert (changed.code, wording(changed.err)) == (65, ["E-ONTO-CHANGED"]) and "'kind'" in changed.err


def test_texts_that_no_row_of_the_run_has_are_refused_under_gower_too(mlcli: Caller, wording: Wording) -> None:
    """`project` takes such a text as unlike all others; the map would not tell two of them apart."""
    write("old.csv", range(40))
    write("new.csv", range(40, 50))
    given = ("--metric", "gower", "--columns", "x:kind", "--id-column", "id")
    assert mlcli.bare("old.csv", "-m", "mds", *given, "-o", "old").code == 0
    assert mlcli.bare("new.csv", "--onto", "old", "-o", "grown").code == 0
    assert mlcli("verify", "--full", "grown").code == 0
    Path("new.csv").write_text(Path("new.csv").read_text().replace(",a\n", ",d\n"), encoding="utf-8")
    called = mlcli.bare("new.csv", "--onto", "old", "-o", "none")
    assert (called.code, wording(called.err)) == (65, ["E-ANSWER"])


def test_a_layout_of_umap_is_larger_where_rows_are_added_and_so_new_points_are_placed(mlcli: Caller) -> None:
    grown(mlcli, "umap", "-k", "8", "--set", "method.epochs=50")
    write("more.csv", range(100, 120))
    assert mlcli("embed", "more.csv", "--onto", "new", "-o", "more", *BARE).code == 0
    scales = [json.loads(Path(run, "run.json").read_text(encoding="utf-8"))["fit"]["scale"] for run in ("new", "more")]
    assert scales == pytest.approx([(100 / 80) ** 0.75, (120 / 80) ** 0.75], rel=1e-14)
    values = ROWS + 1e-9  # next to rows of the map, but for rounding
    write("near.csv", range(40, 120), values)
    assert mlcli("project", "more", "near.csv", "-o", "places.csv").code == 0
    with Path("places.csv").open(encoding="utf-8") as file:
        placed = np.array([line[2:4] for line in list(csv.reader(file))[1:]], dtype=float)
    known = np.array([line[2:] for line in embedding("more")[41:]], dtype=float)
    size = np.sqrt(np.mean(np.sum((known - known.mean(axis=0)) ** 2, axis=1)))
    assert np.median(np.linalg.norm(placed - known, axis=1)) < 0.1 * size


def kept_neighbors(points: np.ndarray, count: int = 10) -> float:
    """The share of nearest rows of the roll that are nearest in a map."""
    def near(values: np.ndarray) -> np.ndarray:
        squares = np.sum((values[:, None] - values[None]) ** 2, axis=2)
        np.fill_diagonal(squares, np.inf)
        return np.argsort(squares, axis=1)[:, :count]

    pairs = zip(near(roll(len(points))), near(points), strict=True)
    return float(np.mean([len({*one.tolist()} & {*other.tolist()}) / count for one, other in pairs]))


@pytest.mark.parametrize(("method", "least"), [("pca", 0.97), ("umap", 0.85), ("tsne", 0.85)])
def test_a_map_that_grew_keeps_nearly_as_many_neighbors_as_one_fit(mlcli: Caller, method: str, least: float) -> None:
    values = roll(480)
    write("all.csv", range(480), values)
    assert mlcli("embed", "all.csv", "-m", method, "-o", "all", *BARE).code == 0
    write("0.csv", range(120), values)
    assert mlcli("embed", "0.csv", "-m", method, "-o", "0", *BARE).code == 0
    for part in range(1, 4):
        write(f"{part}.csv", range(120 * part, 120 * (part + 1)), values)
        assert mlcli("embed", f"{part}.csv", "--onto", str(part - 1), "-o", str(part), *BARE).code == 0
    maps = (np.array([line[2:] for line in embedding(run)[1:]], dtype=float) for run in ("all", "3"))
    one, other = map(kept_neighbors, maps)
    assert other > least * one


def test_contributions_are_of_rows_that_made_the_axes(mlcli: Caller, wording: Wording) -> None:
    grown(mlcli, "pca")
    called = mlcli("embed", "new.csv", "--onto", "old", "--contributions", "-o", "more", *BARE)
    assert called.code == 78 and "E-UNUSED" in wording(called.err) and not Path("more").exists()
    assert mlcli("embed", "new.csv", "--onto", "old", "--onto-way", "refit", "--contributions", "-o", "all",
                 *BARE).code == 0
    shares = np.genfromtxt("all/contributions.csv", delimiter=",", names=True)["contribution_y1"]
    assert len(shares) == 100 and np.isclose(shares.sum(), 1)
