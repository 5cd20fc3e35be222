"""Groups of columns, numbers beside categories, and several matrices from the command line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.journeys.support import Caller
from tests.support import distances
from tests.wording import Wording

RANDOM = np.random.default_rng(5)
HEAD = "name,sweet,sour,woody,fruity,soil"
ROWS = [f"w{row},{','.join(f'{value:.3f}' for value in RANDOM.standard_normal(4))},{('clay', 'sand')[row % 2]}"
        for row in range(14)]
GROUPS = ("--groups", "taste=sweet:sour", "--groups", "smell=woody,fruity", "--groups", "origin=soil")


@pytest.fixture
def wine(mlcli: Caller) -> str:
    """A table of two groups of scores, and one column of text."""
    Path("wine.csv").write_text("\n".join([HEAD, *ROWS, ""]))
    return "wine.csv"


def table(name: str) -> list[list[str]]:
    return [line.split(",") for line in Path(name).read_text().splitlines()]


@pytest.mark.medium
def test_groups_are_named_by_a_repeated_flag_and_the_run_repeats_from_its_configuration(mlcli: Caller, wine: str,
                                                                                       ) -> None:
    called = mlcli.bare(wine, "-m", "mfa", *GROUPS, "-o", "run")
    assert called.code == 0, called.err
    assert [row[0] for row in table("run/groups.csv")] == ["group", "taste", "smell", "origin"]
    assert [row[0] for row in table("run/loadings.csv")] == [
        "column", "sweet", "sour", "woody", "fruity", "soil=clay", "soil=sand"]
    assert table("run/partial.csv")[0] == ["id", *(f"{name}.y{axis}" for name in ("taste", "smell", "origin")
                                                   for axis in (1, 2))]
    assert mlcli("run", "run/config.yaml", "-o", "again").code == 0
    assert Path("again/groups_rv.csv").read_bytes() == Path("run/groups_rv.csv").read_bytes()


def test_a_column_of_a_group_that_has_too_little_variance_is_named(mlcli: Caller, wine: str, wording: Wording) -> None:
    """It is in the file, and not among those of the largest variance; a name that is nowhere is still unknown."""
    Path("faint.csv").write_text(Path(wine).read_text().replace("-0.", "-0.0").replace(",0.", ",0.0"))
    kept = ("faint.csv", "-m", "mfa", "--columns", "sweet:fruity", "--top-variance", "2", "-o", "run")
    for groups, dropped in ((GROUPS[:4], True), (("--groups", "taste=bitter"), False)):
        called = mlcli.bare(*kept, *groups)
        assert (called.code, wording(called.err)) == (78, ["E-UNKNOWN-COLUMN"])
        assert ("with the largest variance" in called.err) is dropped


@pytest.mark.medium
def test_a_page_speaks_of_groups_of_single_columns_or_of_tables(mlcli: Caller, wine: str) -> None:
    """What famd weighs are columns, which have no columns of their own, and what DISTATIS weighs are tables."""
    for name, values in zip(("one.csv", "two.csv"), PLAIN, strict=True):
        write(name, values)
    pages = {}
    for method, given in {"mfa": (wine, *GROUPS, "--set", "method.supplementary=[origin]"), "famd": (wine,),
                          "statis": ("--dissimilarities", "one.csv", "--view", "two.csv")}.items():
        assert mlcli("embed", *given, "-m", method, "-o", method).code == 0
        pages[method] = Path(method, "report.html").read_text(encoding="utf-8")
    for method, kind in (("mfa", "Groups"), ("famd", "Columns"), ("statis", "Tables")):
        assert f"<h2>{kind}</h2>" in pages[method], method
        assert ("first eigenvalue</th>" in pages[method]) is (method != "famd")
        assert (">columns</th>" in pages[method]) is (method == "mfa")
    assert "origin, supplementary (" in pages["mfa"] and "Supplementary groups have the weight zero." in pages["mfa"]
    assert "of a category the mean of its rows" in pages["famd"] and "distances of all columns" in pages["famd"]


@pytest.mark.medium
def test_new_rows_are_supplementary_and_the_run_verifies(mlcli: Caller, wine: str) -> None:
    called = mlcli.bare(wine, "-m", "mfa", *GROUPS, "--set", "method.supplementary=[origin]", "-o", "run")
    assert called.code == 0, called.err
    assert mlcli("verify", "--full", "run").code == 0
    Path("new.csv").write_text("\n".join([HEAD, *ROWS[:2], ""]))
    placed = mlcli("project", "run", "new.csv")
    assert placed.code == 0
    assert [line.split(",")[:3] for line in placed.out.splitlines()[:3]] == table("run/embedding.csv")[:3]


@pytest.mark.medium
def test_supplementary_rows_are_those_added_to_a_run_of_the_active_ones(mlcli: Caller, wine: str) -> None:
    numbers = (wine, "--label-column", "soil")
    assert mlcli.bare(*numbers, "-m", "mfa", *GROUPS[:4], "--where", "name != w3", "--where", "name != w9",
                      "-o", "active").code == 0
    called = mlcli.bare(*numbers, "--onto", "active", "-o", "all")
    assert called.code == 0, called.err
    placed = mlcli("project", "active", wine)
    own = {row[0]: row[2:4] for row in table("all/embedding.csv")[1:]}
    new = {row[0]: row[2:4] for row in (line.split(",") for line in placed.out.splitlines()[1:])}
    assert own["w3"] == new["w3"] and own["w9"] == new["w9"]
    assert all(own[row[0]] == row[2:4] for row in table("active/embedding.csv")[1:])


@pytest.mark.medium
@pytest.mark.parametrize("method", ["mfa", "famd", "statis"])
def test_missing_cells_of_numbers_and_texts_are_estimated(mlcli: Caller, method: str) -> None:
    cells = [row.split(",") for row in ROWS]
    for row, column in ((0, 1), (2, 5), (5, 3), (5, 4), (8, 5), (11, 2)):
        cells[row][column] = ""
    Path("gaps.csv").write_text("\n".join([HEAD, *map(",".join, cells), ""]))
    flags = ["gaps.csv", "-m", method, *(() if method == "famd" else GROUPS)]
    assert mlcli.bare(*flags, "-o", "run").code == 65
    called = mlcli.bare(*flags, "--set", "prepare.missing=model", "--set", "report.contributions=true", "-o", "run")
    assert called.code == 0, called.err
    assert mlcli("verify", "--full", "run").code == 0
    placed = mlcli("project", "run", "gaps.csv")
    assert [line.split(",")[:3] for line in placed.out.splitlines()] == [row[:3] for row in table("run/embedding.csv")]
    figures = json.loads(Path("run/run.json").read_text())["fit"]
    assert figures["missing_cells"] == 6 and figures["converged"]


@pytest.mark.medium
def test_a_sum_of_kernels_repeats_verifies_and_places_new_rows(mlcli: Caller, wine: str) -> None:
    Path("sum.yaml").write_text("""
input: {path: wine.csv, label_columns: [soil]}
method:
  name: chain
  kernel:
    name: sum
    weights: rv
    tables:
      - {name: taste, columns: ["sweet:sour"], metric: cityblock, kernel: {name: gower}}
      - {name: smell, columns: [woody, fruity], scale: standard, kernel: {name: gaussian}}
""")
    called = mlcli("run", "sum.yaml", "-o", "run")
    assert called.code == 0, called.err
    assert [row[0] for row in table("run/groups.csv")] == ["group", "taste", "smell"]
    assert mlcli("run", "run/config.yaml", "-o", "again").code == 0
    assert Path("again/embedding.csv").read_bytes() == Path("run/embedding.csv").read_bytes()
    assert mlcli("verify", "--full", "run").code == 0
    placed = mlcli("project", "run", wine)
    found = np.array([[float(cell) for cell in line.split(",")[2:4]] for line in placed.out.splitlines()[1:]])
    own = np.array([[float(cell) for cell in row[2:4]] for row in table("run/embedding.csv")[1:]])
    assert np.allclose(found, own, atol=1e-12)


@pytest.mark.medium
def test_a_changed_group_is_seen(mlcli: Caller, wine: str) -> None:
    assert mlcli.bare(wine, "-m", "statis", *GROUPS, "-o", "run").code == 0
    rows = table("run/groups_axes.csv")
    rows[1][2] = repr(float(rows[1][2]) + 1e-6)
    Path("run/groups_axes.csv").write_text("\n".join([*map(",".join, rows), ""]))
    called = mlcli("verify", "run")
    assert called.code == 83 and "groups_axes.csv" in called.err


@pytest.mark.medium
def test_a_new_row_with_an_unknown_category_is_refused_by_name(mlcli: Caller, wine: str, wording: Wording) -> None:
    assert mlcli.bare(wine, "-m", "famd", "-o", "run").code == 0
    Path("new.csv").write_text(f"{HEAD}\nx,1,2,3,4,chalk\n")
    called = mlcli("project", "run", "new.csv")
    assert called.code == 65 and "'soil'" in called.err and "; new.csv; " in called.err and wording(called.err)
    assert "answer" not in called.err  # which the field does not call a category


@pytest.mark.parametrize("groups", [("taste=sweet:sour", "smell=sour,woody"), ("taste=sweet:bitter",), ("taste",)])
def test_groups_that_make_no_sense_end_with_an_error_of_the_configuration(
        mlcli: Caller, wine: str, groups: tuple[str, ...], wording: Wording) -> None:
    flags = [part for group in groups for part in ("--groups", group)]
    called = mlcli.bare(wine, "-m", "mfa", *flags, "-o", "run")
    assert called.code == 78 and wording(called.err) and not Path("run").exists()


@pytest.mark.medium
def test_contributions_are_written_where_they_are_asked_for_and_refused_elsewhere(mlcli: Caller, wine: str,
                                                                                wording: Wording) -> None:
    given = (wine, "--label-column", "soil", "--contributions")
    assert mlcli.bare(*given, "-o", "run").code == 0
    rows = np.array([[float(cell) for cell in row[1:]] for row in table("run/contributions.csv")[1:]])
    assert np.allclose(rows[:, :2].sum(axis=0), 1) and (rows[:, 2:].sum(axis=1) <= 1 + 1e-12).all()
    assert [row[0] for row in table("run/contributions_columns.csv")][1:] == ["sweet", "sour", "woody", "fruity"]
    called = mlcli.bare(*given, "-m", "isomap", "-k", "5", "-o", "none")
    assert called.code == 78 and "E-CONTRIBUTIONS" in wording(called.err)


@pytest.mark.medium
def test_matrices_are_matched_by_names(mlcli: Caller) -> None:
    points = RANDOM.standard_normal((9, 3))
    for number, order in enumerate((np.arange(9), RANDOM.permutation(9), RANDOM.permutation(9))):
        values = distances(points[:, : number + 1])[np.ix_(order, order)]
        names = [f"p{place}" for place in order]
        lines = [",".join([name, *map(repr, row)]) for name, row in zip(names, values.tolist(), strict=True)]
        Path(f"d{number}.csv").write_text("\n".join([",".join(["", *names]), *lines, ""]))
    given = ("d0.csv", "--dissimilarities", "-m", "statis", "--view", "d1.csv", "--view", "d2.csv")
    assert mlcli.bare(*given, "-o", "run").code == 0
    assert [row[0] for row in table("run/groups.csv")] == ["group", "d0", "d1", "d2"]
    assert mlcli("verify", "--full", "run").code == 0
    assert mlcli("plan", *given).code == 0
    assert mlcli("project", "run", "d0.csv").code == 78


def test_matrices_have_the_names_of_their_files_in_results_and_warnings(mlcli: Caller, wording: Wording) -> None:
    """Two files of one name in different folders are told apart; a warning about one of them names it."""
    Path("more").mkdir()
    for name, values in zip(("d.csv", "more/d.csv", "squares.csv"), (*PLAIN, PLAIN[0] ** 2), strict=True):
        write(name, values)
    called = mlcli.bare("d.csv", "--dissimilarities", "-m", "statis", "--view", "more/d.csv", "--view", "squares.csv",
                        "-o", "run")
    assert called.code == 0 and wording(called.err, "W-LOOKS-SQUARED") == ["W-LOOKS-SQUARED"], called.err
    assert [row[0] for row in table("run/groups.csv")] == ["group", "d", "d 2", "squares"]
    assert "rv.squares" in table("run/groups_rv.csv")[0]
    assert mlcli("verify", "--full", "run").code == 0
    write("none.csv", np.zeros((9, 9)))
    refused = mlcli("embed", "d.csv", "--dissimilarities", "-m", "statis", "--view", "none.csv", "-o", "other")
    assert refused.code == 65 and "none tells no two points apart" in refused.err
    assert wording(refused.err, "E-CONSTANT-GROUP") == ["E-CONSTANT-GROUP"]


def write(name: str, values: np.ndarray, names: list[str] | None = None) -> None:
    """Write a matrix of named points; a missing number is an empty cell."""
    points = [f"p{place}" for place in range(len(values))]
    lines = [",".join([row, *("" if np.isnan(cell) else repr(cell) for cell in cells)])
             for row, cells in zip(points, values.tolist(), strict=True)]
    Path(name).write_text("\n".join([",".join(["", *(names or points)]), *lines, ""]))


POINTS = RANDOM.standard_normal((9, 4))
PLAIN = (distances(POINTS[:, :2]), distances(POINTS[:, 2:]))


@pytest.fixture
def plain(mlcli: Caller) -> np.ndarray:
    """The coordinates of a run of two matrices."""
    for number, values in enumerate(PLAIN):
        write(f"d{number}.csv", values)
    assert mlcli.bare("d0.csv", "--dissimilarities", "-m", "statis", "--view", "d1.csv", "-o", "plain").code == 0
    return rows_of("plain")


def rows_of(run: str) -> np.ndarray:
    return np.array([[float(cell) for cell in row[1:]] for row in table(f"{run}/embedding.csv")[1:]])


@pytest.mark.medium
def test_quality_of_several_matrices_is_of_their_compromise(mlcli: Caller, plain: np.ndarray) -> None:
    """All axes of Euclidean matrices keep its distances, whatever the unit of the first matrix is."""
    write("d0.csv", 1000 * PLAIN[0])
    given = ("d0.csv", "--dissimilarities", "-m", "statis", "--view", "d1.csv", "-p", "4", "-o", "four")
    assert mlcli("embed", *given).code == 0
    found = json.loads(Path("four/quality.json").read_text(encoding="utf-8"))
    assert found["stress_1"] < 1e-7 and found["trustworthiness"] == 1.0
    assert np.abs(rows_of("four")[:, :2] - plain).max() < 1e-9 * np.abs(plain).max()


def lower(values: np.ndarray) -> np.ndarray:
    return np.where(np.tri(len(values), k=-1, dtype=bool), values, np.nan)


@pytest.mark.medium
@pytest.mark.parametrize(("change", "flags"), [
    (np.square, ["--set", "input.squared=true"]), (lambda values: 1 - values / 10, ["--similarities", "one-minus"]),
    (lambda values: 1.1 * np.triu(values) + 0.9 * np.tril(values), ["--set", "input.symmetrize=mean"]), (lower, [])])
def test_options_of_the_first_matrix_are_those_of_every_one(mlcli: Caller, plain: np.ndarray, change: Any,
                                                            flags: list[str]) -> None:
    for number, values in enumerate(PLAIN):
        write(f"e{number}.csv", change(values))
    called = mlcli.bare("e0.csv", "--dissimilarities", "-m", "statis", "--view", "e1.csv", *flags, "-o", "run")
    assert called.code == 0, called.err
    assert np.allclose(rows_of("run"), plain, atol=1e-9)
    assert mlcli("verify", "--full", "run").code == 0


@pytest.mark.medium
@pytest.mark.parametrize(("values", "names", "code"), [
    (-PLAIN[1], None, "E-NEGATIVE"), (PLAIN[1] + np.triu(PLAIN[1]), None, "E-ASYMMETRIC"),
    (PLAIN[1] + np.diag([0.5] + [0] * 8), None, "E-DIAGONAL"), (PLAIN[1][:, :8], [f"p{i}" for i in range(8)],
                                                              "E-NOT-SQUARE"),
    (PLAIN[1], [f"x{i}" for i in range(9)], "E-IDS-DIFFER")])
def test_a_further_matrix_is_refused_for_what_the_first_one_is(mlcli: Caller, values: np.ndarray, names: Any,
                                                               code: str, wording: Wording) -> None:
    write("d0.csv", PLAIN[0])
    write("d1.csv", values, names)
    called = mlcli.bare("d0.csv", "--dissimilarities", "-m", "statis", "--view", "d1.csv", "-o", "run")
    assert called.code == 65 and "d1.csv" in called.err and code in wording(called.err) and not Path("run").exists()


@pytest.mark.medium
@pytest.mark.parametrize("flags", [
    ["wine.csv", "-m", "mfa", *GROUPS], ["wine.csv", "-m", "famd"], ["wine.csv", "-m", "statis", *GROUPS],
    ["d0.csv", "--dissimilarities", "-m", "statis", "--view", "d1.csv"]])
def test_the_total_that_a_test_partitions_is_the_inertia_of_the_run(mlcli: Caller, wine: str, flags: list[str]) -> None:
    for number, values in enumerate(PLAIN):
        write(f"d{number}.csv", values)
    assert mlcli.bare(*flags, "-o", "run").code == 0
    names = [row[0] for row in table("run/embedding.csv")[1:]]
    Path("site.csv").write_text("\n".join(["id,site", *(f"{name},{'ab'[place % 2]}"
                                                       for place, name in enumerate(names)), ""]))
    called = mlcli("relate", "run", "--with", "site.csv", "--formula", "site", "--permutations", "9", "-o", "found")
    assert called.code == 0, called.err
    total = next(float(row[2]) for row in table("found/permanova.csv") if row[0].lower() == "total")
    whole = json.loads(Path("run/run.json").read_text())["spectrum"]["trace"]
    assert np.isclose(total, len(names) * whole, rtol=1e-9)


def test_missing_cells_beside_categories_are_not_to_be_filled(mlcli: Caller, wine: str, wording: Wording) -> None:
    lines = Path(wine).read_text().splitlines()
    name, _, rest = lines[3].split(",", 2)
    Path(wine).write_text("\n".join([*lines[:3], f"{name},,{rest}", *lines[4:], ""]))
    called = mlcli("embed", wine, "-m", "famd", "-o", "run")
    assert called.code == 65 and wording(called.err) == ["E-MISSING"] and "mean" not in called.err
    assert "with " not in called.err  # other methods
    assert mlcli.bare(wine, "-m", "famd", "--set", "prepare.missing=drop", "-o", "run").code == 0
    for row, line in enumerate(lines[1:], start=1):
        cells = line.split(",")
        lines[row] = ",".join([cells[0], "", *cells[2:]]) if row % 3 else ",".join([*cells[:-1], ""])
    Path(wine).write_text("\n".join([*lines, ""]))
    called = mlcli("embed", wine, "-m", "famd", "--set", "prepare.missing=drop", "-o", "none")
    assert called.code == 65 and wording(called.err) == ["E-EMPTY"] and "mean" not in called.err
    assert mlcli.bare(wine, "-m", "famd", "--set", "prepare.missing=model", "-o", "model").code == 0


@pytest.mark.parametrize("stream", ["never", "always"])
def test_ids_among_categories_are_refused_by_name_in_memory_and_in_blocks(mlcli: Caller, stream: str) -> None:
    rows = [f"{row},{'xyz'[row % 3]},user{row}" for row in range(8000)]
    Path("many.csv").write_text("\n".join(["a,word,user", *rows]))
    called = mlcli("embed", "many.csv", "-m", "famd", "--memory-limit", "2G", "--set", f"input.stream={stream}",
                   "-o", "run")
    assert (called.code, "E-MEMORY" in called.err) == (82, True), called.err
    assert "column 'user' has 8,000 categories: leave it out with --columns, or name it by --id-column" in called.err
