"""`mlcli relate`: a run of the dune meadows and its environment against vegan, and what it refuses."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from tests.journeys.support import Called, Caller

TABLES = Path(__file__).parents[2] / "tables"


@pytest.fixture(autouse=True)
def run(mlcli: Caller) -> Path:
    """Principal coordinates of the meadows, with the tables beside it."""
    Path("dune.csv").write_bytes((TABLES / "metrics/dune.csv").read_bytes())
    for name in ("dune_env.csv", "orders_dune.csv", "orders_dune_use.csv"):
        Path(name).write_bytes((TABLES / "relation" / name).read_bytes())
    return mlcli.finished("embed", "dune.csv", "-m", "mds", "--metric", "braycurtis", "-p", "3", "-o", "run", "-q",
                          "--keep", "distances", "--set", "report.point_labels=none")


def table(path: str) -> list[dict[str, str]]:
    with Path(path).open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def expected(name: str) -> list[dict[str, str]]:
    return table(str(TABLES / "relation" / f"{name}.csv"))


def related(mlcli: Caller, *options: str) -> Called:
    called = mlcli("relate", "run", "--with", "dune_env.csv", "-q", *options)
    assert called.code == 0, called.err
    return called


@pytest.mark.parametrize(("options", "terms"), [
    ((), ["Model", "Residual", "Total"]), (("--by", "terms"), ["A1", "Management", "Residual", "Total"])])
def test_the_whole_model_is_tested_unless_terms_are_asked_for(mlcli: Caller, options: tuple[str, ...],
                                                              terms: list[str]) -> None:
    """As by vegan from 2.6-8 on: tests of terms depend on the order of the formula."""
    related(mlcli, "--permutations", "9", "--formula", "A1 + Management", "--species", "none", *options)
    assert [row["term"] for row in table("run-relate/permanova.csv")] == terms


@pytest.mark.medium
def test_all_tables_are_those_of_vegan(mlcli: Caller) -> None:
    related(mlcli, "--permutations", "orders_dune.csv", "--formula", "Management * A1", "--by", "terms",
            "--dispersion", "Management")
    vectors = table("run-relate/vectors.csv")
    for found, known in zip(vectors, expected("dune_envfit_vectors"), strict=True):
        assert [abs(float(found[f"y{i}"])) for i in (1, 2, 3)] == pytest.approx(
            [abs(float(known[f"y{i}"])) for i in (1, 2, 3)], abs=1e-10)
        assert (float(found["r2"]), float(found["p_value"])) == pytest.approx(
            (float(known["r2"]), float(known["p"])), abs=1e-10)
    factors = table("run-relate/factors.csv")
    assert [float(row["p_value"]) for row in factors] == [float(row["p"]) for row in expected("dune_envfit_factors")]
    terms = table("run-relate/permanova.csv")
    assert [(row["term"], float(row["sum_of_squares"])) for row in terms] == [
        (row[""], pytest.approx(float(row["SumOfSqs"]), rel=1e-10)) for row in expected("dune_terms")]
    assert [row["p_value"] and float(row["p_value"]) for row in terms] == [
        "" if row["Pr(>F)"] == "NA" else float(row["Pr(>F)"]) for row in expected("dune_terms")]
    means = [float(row["mean_distance"]) for row in table("run-relate/dispersion.csv")]
    assert means == pytest.approx([float(row["mean"]) for row in expected("dune_median_means")], abs=1e-10)
    assert len(table("run-relate/species.csv")) == 30
    document = json.loads(Path("run-relate/relate.json").read_text())
    assert set(document["files"]) == {path.name for path in Path("run-relate").iterdir()} - {"relate.json"}
    assert document["distances"] == "the dissimilarities that the run kept"


@pytest.mark.medium
def test_the_terminal_names_groups_degrees_of_freedom_and_permutations(mlcli: Caller) -> None:
    out = mlcli("relate", "run", "--with", "dune_env.csv", "--columns", "A1", "--dispersion", "Management", "--species",
                "none", "--permutations", "orders_dune_use.csv", "--strata", "Use").out.splitlines()
    assert "BF          3     0.21958" in out and any(line.startswith("F(3, 16) = 1.951, p = ") for line in out)
    first, *pairs = out[out.index("") + 1:][-8:-1]
    assert first.split() == ["dispersions", "of", "two", "t", "p"]
    kept = [(row["first"], row["second"], f"{float(row['t']):.4g}", f"{float(row['p_value']):.4g}")
            for row in table("run-relate/dispersion_pairs.csv")]
    assert [tuple(line.replace(" - ", " ").split()) for line in pairs] == kept and len(kept) == 6
    assert out[-1] == "p from 199 permutations within Use (of a file)"


@pytest.mark.medium
def test_strata_and_seeds_decide_on_permutations(mlcli: Caller) -> None:
    options = ("--species", "none", "--columns", "A1,Use")
    first = json.loads(related(mlcli, *options, "--json", "--permutations", "99").out)
    again = json.loads(related(mlcli, *options, "--json", "--permutations", "99", "--force").out)
    within = json.loads(related(mlcli, *options, "--json", "--strata", "Use", "--permutations", "99", "--force").out)
    assert first == again
    assert within["vectors"]["A1"]["r2"] == first["vectors"]["A1"]["r2"]
    assert within["factors"]["Use"]["p_value"] == 1.0  # within its own levels every permutation leaves it as it is
    assert mlcli("relate", "run", "--with", "dune_env.csv", "-q", "--strata", "Use", "--permutations",
                 "orders_dune.csv", "-o", "other").code == 65


def test_dissimilarities_are_computed_again_where_none_were_kept(mlcli: Caller) -> None:
    mlcli.finished("embed", "dune.csv", "-m", "mds", "--metric", "braycurtis", "-o", "plain", "-q", "--set",
                   "report.point_labels=none")
    options = ("--with", "dune_env.csv", "-q", "--formula", "A1", "--permutations", "9", "--species", "none", "--json")
    kept, again = (json.loads(mlcli("relate", name, *options).out) for name in ("run", "plain"))
    first, second = (found["permanova"]["terms"][0] for found in (kept, again))
    assert (first["F"], first["p_value"]) == pytest.approx((second["F"], second["p_value"]), rel=1e-12)
    assert "braycurtis" in again["distances"]
    Path("dune.csv").rename("moved.csv")
    gone = mlcli("relate", "plain", *options, "--force")
    assert (gone.code, "E-RUN-INPUT" in gone.err) == (66, True)
    assert mlcli("relate", "plain", *options, "--force", "--input", "moved.csv").code == 0
    Path("dune.csv").write_text(Path("moved.csv").read_text().replace("5", "6"))
    changed = mlcli("relate", "plain", *options, "--force")
    assert (changed.code, "E-RUN-INPUT" in changed.err) == (83, True)
    assert mlcli("relate", "run", *options, "--force").code == 0  # which kept its own


def test_rows_are_matched_by_id_and_missing_cells_leave_a_row_out(mlcli: Caller) -> None:
    head, *lines = Path("dune_env.csv").read_text().splitlines()
    some = [*lines[5:][::-1], "99,1,m1,SF,Pasture,2"]
    some[0] = some[0].replace("3.5", "NA", 1)
    Path("some.csv").write_text("\n".join([head, *some, ""]))
    called = mlcli("relate", "run", "--with", "some.csv", "--json", "--species", "none", "--permutations", "0",
                   "--progress", "none")
    found = json.loads(called.out)
    assert (found["rows"], found["rows_of_run_alone"], found["rows_of_file_alone"]) == (15, 5, 1)
    assert (found["vectors"]["A1"]["rows"], found["vectors"]["Manure"]["rows"]) == (14, 15)
    assert found["vectors"]["A1"]["p_value"] is None
    points = {row["id"]: row for row in table("run/embedding.csv")}
    chosen = [line.split(",") for line in some[:-1]]
    values = np.array([float(cells[5]) for cells in chosen])
    axes = np.array([[float(points[cells[0]][f"y{i}"]) for i in (1, 2, 3)] for cells in chosen])
    design = np.column_stack([np.ones(15), axes])
    rest = values - design @ np.linalg.lstsq(design, values, rcond=None)[0]
    assert found["vectors"]["Manure"]["r2"] == pytest.approx(1 - rest.var() / values.var(), abs=1e-12)


@pytest.mark.parametrize(("options", "code", "said"), [
    (("--axes", "4"), 78, "E-AXES"), (("--axes", "one"), 2, "E-AXES"), (("--formula", "A1 +"), 78, "E-FORMULA"),
    (("--formula", "dune ~ A1"), 78, "leave out what stands before"),
    (("--formula", "Managment"), 78, "'Management'"), (("--dispersion", "Usee"), 78, "'Use'"),
    (("--strata", "Block"), 78, "E-UNKNOWN-COLUMN"), (("--columns", "None"), 78, "E-UNKNOWN-COLUMN"),
    (("--id-column", "site"), 78, "E-UNKNOWN-COLUMN"), (("--permutations", "dune.csv"), 65, "E-PERMUTATIONS"),
    (("--permutations", "nothing.csv"), 66, "nothing.csv"), (("--permutations", "-5"), 2, "E-PERMUTATIONS"),
    (("--factors", "A1", "--formula", "A1 + Management + Moisture + Use"), 65, "E-MODEL-FREEDOM"),
    (("--with", "nothing.csv"), 66, "nothing"),
    (("-o", "run"), 73, "E-OUTPUT-EXISTS"), (("-o", "run", "--force"), 73, "E-OUTPUT-FOREIGN")])
def test_refusals(mlcli: Caller, options: tuple[str, ...], code: int, said: str) -> None:
    given = options if "--with" in options else ("--with", "dune_env.csv", *options)
    called = mlcli("relate", "run", *given, "-q", "--species", "none")
    assert (called.code, said in called.err, called.out) == (code, True, ""), called.err
    assert not Path("run-relate").exists()


def test_rows_without_an_id_in_common_are_refused(mlcli: Caller) -> None:
    text = Path("dune_env.csv").read_text().splitlines()
    Path("others.csv").write_text("\n".join(["site" + text[0], *(f"p{line}" for line in text[1:])]))
    called = mlcli("relate", "run", "--with", "others.csv", "--id-column", "site", "-q")
    assert (called.code, "E-NO-COMMON-ROWS" in called.err) == (65, True)
    Path("fewer.csv").write_text("\n".join(Path("others.csv").read_text().splitlines()[:-1]))
    called = mlcli("relate", "run", "--with", "fewer.csv", "-q")
    assert (called.code, "E-NO-COMMON-ROWS" in called.err) == (65, True)
    Path("twice.csv").write_text("\n".join([*text, text[1]]))
    called = mlcli("relate", "run", "--with", "twice.csv", "-q")
    assert (called.code, "E-DUPLICATE-IDS" in called.err) == (65, True)


def test_rows_without_ids_are_taken_in_their_order(mlcli: Caller) -> None:
    mlcli.finished("embed", "dune.csv", "-m", "mds", "--metric", "braycurtis", "-p", "3", "-o", "bare", "-q",
                   "--format", "npy", "--set", "report.point_labels=none")
    options = ("--with", "dune_env.csv", "--species", "none", "--permutations", "9", "--json", "--progress", "none")
    one, two = (mlcli("relate", name, *options) for name in ("run", "bare"))
    first, second = json.loads(one.out), json.loads(two.out)
    assert first["vectors"].keys() == second["vectors"].keys() == {"A1", "Manure"}
    assert first["vectors"]["A1"] == second["vectors"]["A1"]


def test_variables_that_do_not_vary_are_named(mlcli: Caller) -> None:
    lines = Path("dune_env.csv").read_text().splitlines()
    Path("flat.csv").write_text("\n".join(f"{line},{cell},{other}" for line, (cell, other) in zip(
        lines, [("flat", "name"), *((1, f"s{row}") for row in range(20))], strict=True)))
    called = mlcli("relate", "run", "--with", "flat.csv", "--species", "none", "--permutations", "9")
    assert called.code == 0
    assert called.err.count("W-VARIABLES") == 2 and "'flat'" in called.err and "'name'" in called.err


def test_the_page_escapes_names_and_loads_nothing(mlcli: Caller) -> None:
    text = Path("dune_env.csv").read_text().replace("Manure", "<b>&").replace("Hayfield", "<i>")
    Path("odd.csv").write_text(text)
    assert mlcli("relate", "run", "--with", "odd.csv", "-q", "--permutations", "9", "--dispersion", "Use").code == 0
    shown = Path("run-relate/relate.html").read_text()
    assert "&lt;b&gt;&amp;" in shown and "<b>" not in shown and "<i>" not in shown
    assert "http" not in shown.replace("http-equiv", "").replace("http://www.w3.org", "")


@pytest.mark.parametrize(("options", "code"), [
    (("--permutations", ""), 2), (("--permutations", "9" * 5000), 2), (("--axes", "9" * 5000), 2),
    (("--axes", "1,"), 2), (("--with", ""), 2), (("--input", ""), 2), (("-o", ""), 2)])
def test_empty_names_and_endless_numbers_are_usage_errors(mlcli: Caller, options: tuple[str, ...], code: int) -> None:
    given = () if "--with" in options else ("--with", "dune_env.csv")
    called = mlcli("relate", "run", *given, *options)
    assert called.code == code and options[0] in called.err


def test_names_like_formulas_are_warned_of(mlcli: Caller) -> None:
    rows = table("dune_env.csv")
    text = Path("dune_env.csv").read_text().replace("A1", "=A1", 1)
    Path("risky.csv").write_text(text)
    assert "=A1" in text.splitlines()[0] and rows
    called = mlcli("relate", "run", "--with", "risky.csv", "--columns", "=A1", "--permutations", "9")
    assert called.code == 0 and "warning[W-FORMULA]" in called.err
    assert any("'=A1'" in note for note in json.loads(Path("run-relate/relate.json").read_text())["notes"])
    plain = mlcli("relate", "run", "--with", "dune_env.csv", "--columns", "A1", "--permutations", "9", "--force")
    assert plain.code == 0 and "W-FORMULA" not in plain.err


def test_a_quiet_relation_and_comparison_print_nothing(mlcli: Caller) -> None:
    given = ("relate", "run", "--with", "dune_env.csv", "--columns", "A1", "--permutations", "9")
    assert mlcli(*given, "-q") == mlcli("compare", "run", "run", "-q") == Called(0, "", "")
    assert "variable" in mlcli(*given, "--force").out and json.loads(mlcli(*given, "--force", "-q", "--json").out)
