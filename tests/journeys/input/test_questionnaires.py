"""Questionnaires from a file of words to scores of new people: coded, stored, placed, repeated, verified."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.journeys.support import Caller
from tests.wording import Wording

WORDS = ("never", "rarely", "sometimes", "often")
OPTIONS = ("--method", "fa", "-p", "1", "--answers", ",".join(WORDS), "--reverse", "q2,n2", "--range", "1,6")


@pytest.fixture(autouse=True)
def files(mlcli: Caller) -> None:
    """The same answers in words, and in numbers with reverse-keyed items turned by hand."""
    generator = np.random.default_rng(3)
    trait = generator.standard_normal(80)[:, None]
    answers = np.clip(np.round(trait * [1, -1, 1, 1, -1, 1] + 0.6 * generator.standard_normal((80, 6)) + 2.5), 1, 4)
    names, lines, numbers = ["n1", "n2", "n3", "q1", "q2", "q3"], [], []
    for row, cells in enumerate(answers.astype(int).tolist()):
        lines.append([f"p{row}", *map(str, cells[:3]), *(WORDS[cell - 1] for cell in cells[3:])])
        numbers.append([f"p{row}", *map(str, (cells[0], 7 - cells[1], *cells[2:4], 5 - cells[4], cells[5]))])
    for path, rows in (("words.csv", lines), ("numbers.csv", numbers), ("new.csv", lines[:5])):
        Path(path).write_text("\n".join(map(",".join, [["id", *names], *rows])) + "\n", encoding="utf-8")


@pytest.mark.medium
def test_coded_answers_are_the_run_of_their_numbers_and_project_codes_new_ones(mlcli: Caller) -> None:
    assert mlcli.bare("words.csv", *OPTIONS, "-o", "one").code == 0
    assert mlcli.bare("numbers.csv", "--method", "fa", "-p", "1", "-o", "two").code == 0
    assert Path("one/embedding.csv").read_bytes() == Path("two/embedding.csv").read_bytes()
    assert mlcli("project", "one", "new.csv", "-o", "new-scores.csv").code == 0
    placed, scores = (np.loadtxt(path, delimiter=",", skiprows=1, usecols=1, max_rows=5)
                      for path in ("new-scores.csv", "one/embedding.csv"))
    assert np.allclose(placed, scores, rtol=1e-12)
    coding = json.loads(Path("one/model.json").read_text())["model"]["coding"]["fields"]
    assert set(coding) == {"answers", "reverse"}
    assert mlcli("verify", "one", "--full").code == 0
    assert mlcli("run", "one/config.yaml", "-o", "again").code == 0
    assert Path("one/embedding.csv").read_bytes() == Path("again/embedding.csv").read_bytes()


@pytest.mark.medium
def test_new_answers_that_the_run_does_not_list_are_refused(mlcli: Caller, wording: Wording) -> None:
    assert mlcli.bare("words.csv", *OPTIONS, "-o", "one").code == 0
    Path("new.csv").write_text(Path("new.csv").read_text().replace("rarely", "seldom"))
    found = mlcli("project", "one", "new.csv", "-o", "scores.csv")
    assert found.code == 65 and "E-UNLISTED" in found.err and "E-UNLISTED" in wording(found.err)


@pytest.mark.medium
@pytest.mark.parametrize("estimator", ["ml", "minres"])
def test_polychoric_runs_are_verified_and_place_new_people(mlcli: Caller, estimator: str) -> None:
    made = mlcli("embed", "words.csv", *OPTIONS, "--correlations", "polychoric", "--set",
                 f"method.estimator={estimator}", "-v", "-o", "one")
    assert made.code == 0 and "N-POLYCHORIC" in made.err
    assert mlcli("verify", "one", "--full").code == 0
    assert mlcli("project", "one", "new.csv", "-o", "new-scores.csv").code == 0
    placed, scores = (np.loadtxt(path, delimiter=",", skiprows=1, usecols=1, max_rows=5)
                      for path in ("new-scores.csv", "one/embedding.csv"))
    assert np.allclose(placed, scores, rtol=1e-9)
    fit = json.loads(Path("one/run.json").read_text())["fit"]
    assert len(fit["polychoric"]) == 6 and [len(row) for row in fit["thresholds"]] == [3] * 6


@pytest.mark.medium
def test_components_of_polychoric_correlations_are_verified_and_place_new_people(mlcli: Caller) -> None:
    coded = ("--answers", ",".join(WORDS), "--reverse", "q2,n2", "--range", "1,6", "--correlations", "polychoric")
    made = mlcli("embed", "words.csv", *coded, "-p", "2", "-v", "-o", "one")
    assert made.code == 0 and "loadings and eigenvalues are of polychoric correlations" in made.err
    page = Path("one/report.html").read_text()
    assert "scores are by regression on the standardized codes" in page
    assert page.index("<h2>Loadings</h2>") < page.index("<h2>Embedding</h2>")
    table = mlcli("report", "one", "--table", "loadings", "--as", "csv").out.splitlines()
    header, rows = table[0].split(","), [line.split(",") for line in table[1:]]
    shares = np.array([row[header.index("communality"):header.index("uniqueness") + 1] for row in rows], dtype=float)
    assert len(rows) == 6 and np.allclose(shares.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert mlcli("verify", "one", "--full").code == 0
    assert mlcli("project", "one", "new.csv", "-o", "new-scores.csv").code == 0
    placed, scores = (np.loadtxt(path, delimiter=",", skiprows=1, usecols=(1, 2), max_rows=5)
                      for path in ("new-scores.csv", "one/embedding.csv"))
    assert np.allclose(placed, scores, rtol=1e-9)
    assert mlcli("reconstruct", "one", "new-scores.csv", "-o", "back.csv").code == 0
    assert mlcli("run", "one/config.yaml", "-o", "again").code == 0
    assert Path("one/embedding.csv").read_bytes() == Path("again/embedding.csv").read_bytes()


@pytest.mark.parametrize(("options", "code", "name"), [
    (("--set", "method.route=svd"), 78, "E-UNUSED"), (("--set", "method.divisor=n-1"), 78, "E-UNUSED"),
    (("--set", "prepare.scale=standard", "--where", "n1 > 90"), 65, "E-WHERE"),
    (("--set", "input.columns=[n1]", "-p", "2"), 78, "E-COMPONENTS")])
def test_options_without_use_for_components_of_answers_are_refused(mlcli: Caller, options: tuple[str, ...], code: int,
                                                                   name: str, wording: Wording) -> None:
    called = mlcli("embed", "numbers.csv", "--correlations", "polychoric", *options, "-o", "one")
    assert called.code == code and wording(called.err) == [name], called.err
    assert not Path("one").exists()


@pytest.mark.parametrize("method", ["fa", "pca"])
def test_constant_answers_have_no_components_and_no_factors(mlcli: Caller, method: str, wording: Wording) -> None:
    Path("same.csv").write_text("a,b\n" + "1,2\n" * 5)
    called = mlcli("embed", "same.csv", "-m", method, "--correlations", "polychoric", "-o", "one")
    assert called.code == 81 and "E-AXES" in wording(called.err)
    Path("single.csv").write_text("a\n" + "1\n" * 5)
    called = mlcli("embed", "single.csv", "-m", method, "--correlations", "polychoric", "-o", "one")
    assert called.code == 81 and "E-AXES" in wording(called.err)


@pytest.mark.medium
@pytest.mark.parametrize(("method", "axes"), [("pca", 1), ("pca", 2), ("fa", 1)])
def test_resamples_without_the_one_row_that_differs_count_as_failed_fits(mlcli: Caller, method: str,
                                                                         axes: int) -> None:
    Path("rare.csv").write_text("a,b,c\n" + "1,2,1\n" * 29 + "2,1,2\n")
    called = mlcli("embed", "rare.csv", "-m", method, "--correlations", "polychoric", "-p", str(axes),
                   "--set", "report.stability={}", "-o", "one")
    assert called.code == 0, called.err
    failed = json.loads(Path("one/stability.json").read_text())["failed"]
    assert 5 <= failed <= 35  # of 50: the row is in none with probability (29/30)^30 = 0.36


def test_rows_with_gaps_have_no_polychoric_correlations_and_are_dropped(mlcli: Caller, wording: Wording) -> None:
    Path("gaps.csv").write_text("a,b\n1,2\n2,\n1,1\n2,2\n")
    called = mlcli("embed", "gaps.csv", "--correlations", "polychoric", "-o", "one")
    assert called.code == 65 and "--set prepare.missing=drop" in called.err and wording(called.err)


def test_polychoric_correlations_read_in_blocks_name_the_option_that_needs_the_table(mlcli: Caller,
                                                                                     wording: Wording) -> None:
    called = mlcli("embed", "numbers.csv", "--correlations", "polychoric", "--set", "input.stream=always", "-o", "one")
    assert called.code == 78 and "--correlations pearson" in called.err and wording(called.err)


def test_columns_of_many_values_are_no_answers(mlcli: Caller, wording: Wording) -> None:
    lines = ["id,a,b", *(f"p{row},{row},{row % 3}" for row in range(30))]
    Path("many.csv").write_text("\n".join(lines) + "\n")
    called = mlcli("embed", "many.csv", "--id-column", "id", "--correlations", "polychoric", "-o", "one")
    assert called.code == 65 and "E-ITEM-VALUES" in wording(called.err)


@pytest.mark.medium
@pytest.mark.parametrize("options", [
    ("--correlations", "polychoric", "-p", "auto"),
    ("--correlations", "polychoric", "-p", "1", "--set", "method.noise=equal"),
    ("--set", "method.estimator=minres", "-p", "1", "--set", "prepare.missing=model", "--where", "q1 > 0")], ids=str)
def test_other_fits_of_short_scales_are_verified_as_well(mlcli: Caller, options: tuple[str, ...]) -> None:
    coded = ("--answers", ",".join(WORDS), "--reverse", "q2,n2", "--range", "1,6")
    assert mlcli.bare("words.csv", "-m", "fa", *coded, *options, "-o", "one").code == 0
    assert mlcli("verify", "one", "--full").code == 0


@pytest.mark.medium
def test_wide_tables_are_fitted_by_least_squares_too(mlcli: Caller) -> None:
    np.savetxt("wide.csv", np.random.default_rng(5).standard_normal((10, 15)), delimiter=",",
               header=",".join(f"x{place}" for place in range(15)), comments="")
    assert mlcli.bare("wide.csv", "-m", "fa", "-p", "2", "--set", "method.estimator=minres", "-o", "one").code == 0
    assert mlcli("verify", "one", "--full").code == 0
