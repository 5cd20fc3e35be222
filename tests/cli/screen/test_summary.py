"""The end of a run: bars as long as their eigenvalues, in what the terminal can show."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import mlcli
from mlcli.cli.screen.lines import Line, show
from mlcli.cli.screen.summary import LONGEST, SHORT, SHORTEST, TOLD, Outcome, bar, bars, ending, table_of_runs
from mlcli.cli.screen.summary import scree as scree_lines
from mlcli.findings.dimension.rules import axes_line
from mlcli.findings.quality.judgement import MEASURES, Judgement, judgement
from mlcli.findings.quality.measure import line as quality
from mlcli.methods import METHODS


def summary(values: list[float], proportions: list[float] | None = None, **others: Any) -> dict[str, Any]:
    kept = others.get("components", 1)
    return {"run": "runs/x", "method": "pca", "components": kept, "seconds": 0.5, "warnings": [], "notes": [],
            "input": {"path": "x.csv", "kind": "features", "rows": 30, "columns": 3},
            "embedding": {"rows": 30, "components": 1}, "spectrum": {"ranked_by": "eigenvalues"},
            "scree": {"eigenvalues": values, "proportions": proportions},
            "eigenvalues": values[:kept], "proportions": proportions and proportions[:kept], **others}


def texts(lines: Sequence[Line]) -> list[str]:
    """The lines as plain text."""
    return [line.text for line in lines]


def scree(found: dict[str, Any], *, blocks: bool, columns: int | None = None) -> list[str]:
    return texts(scree_lines(found, blocks=blocks, columns=columns))


def test_bars_are_as_long_as_the_sizes_of_their_values() -> None:
    lines = scree(summary([4.0, 2.0, -1.0, 0.0], [0.8, 0.4, -0.2, 0.0]), blocks=True)[1:-1]
    assert [line.count("█") for line in lines] == [LONGEST, LONGEST // 2, LONGEST // 4, 0]
    assert "▌" in lines[2] and "-20.0%" in lines[2] and lines[3].split()[-1] == "100.0%"
    assert [line.split()[0] for line in lines] == ["1*", "2", "3", "4"]
    assert len({line.index("%") for line in lines}) == 1


@pytest.mark.parametrize(("columns", "length"), [(None, LONGEST), (200, LONGEST), (60, 12), (20, SHORTEST)])
def test_bars_are_shorter_on_a_narrow_terminal(columns: int | None, length: int) -> None:
    head, *lines = scree(summary([4.0, 2.0], [0.8, 0.4]), blocks=True, columns=columns)
    assert lines[0].count("█") == length and len(lines[0]) == len(head) == len(lines[1])
    assert columns is None or columns < 60 or len(head) <= columns


def test_sums_over_one_are_explained_and_the_share_of_the_positive_ones_stands_beside() -> None:
    values, shares = [4.0, 2.0, -1.0], [0.8, 0.4, -0.2]
    known = scree(summary(values, shares, spectrum={"ranked_by": "eigenvalues", "sum_of_positive": 6.0}),
                  blocks=True)
    assert known[0].split()[-1] == "positive" and "which includes negative eigenvalues" in known[-1]
    assert [line.split()[-1] for line in known[1:-1]] == ["66.7%", "100.0%", "100.0%"]
    unknown = scree(summary(values, shares), blocks=True)
    assert unknown[0].split()[-1] == "sum" and unknown[-1] == known[-1]
    assert not any("exceed" in line for line in scree(summary([4.0, 1.0], [0.8, 0.2]), blocks=True))


def test_sums_are_explained_only_where_the_column_shows_more_than_all() -> None:
    shown, hidden = (scree(summary([4.0, -0.001], [share, -0.0002], spectrum={
        "ranked_by": "eigenvalues", "sum_of_positive": 4.0}), blocks=True) for share in (1.0006, 1.0002))
    assert "exceed 100%" in shown[-1] and "100.1%" in shown[1] and shown[0].split()[-1] == "positive"
    assert not any("exceed" in line for line in hidden) and hidden[0].split()[-1] == "sum"


def test_small_shares_keep_their_digits_and_their_sign() -> None:
    lines = scree(summary([4.0, 0.001, -0.001, -1e-17], [1.0, 0.0002, -0.0002, -1e-18]), blocks=True)
    assert [line.split()[-2] for line in lines[2:]] == ["0.02%", "-0.02%", "0%"]


def test_what_are_no_eigenvalues_is_named() -> None:
    lines = scree(summary([0.9, 0.1], spectrum={"ranked_by": "canonical correlations"}), blocks=True)
    assert lines[0] == "  axes are ranked by canonical correlations" and "eigenvalue" not in lines[1]
    assert len(lines) == 4


def test_plain_text_where_blocks_cannot_be_shown() -> None:
    text = "\n".join(scree(summary([4.0, 2.0]), blocks=False))
    assert text.isascii() and "#" * LONGEST in text and "%" not in text


@pytest.mark.parametrize(("environment", "colored"), [
    ({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)])
def test_colors_only_when_asked_for(environment: dict[str, str], colored: bool, monkeypatch: pytest.MonkeyPatch,
                                    capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in {"TERM": "xterm-256color", **environment}.items():
        monkeypatch.setenv(name, value)
    show(ending(summary([4.0, -2.0], [2.0, -1.0])))
    said = capsys.readouterr().err
    assert ("\x1b[" in said) is colored and ("PC 1" in said) is colored  # a terminal of 80 columns has bars
    assert ("\x1b]8;" in said and "file://" in said) is colored  # and links


def test_lower_bounds_follow_the_computed_eigenvalues() -> None:
    found = {"ranked_by": "eigenvalues", "further_at_least": [1.25, 1.0]}
    lines = scree(summary([4.0, 2.0], [0.5, 0.25], spectrum=found), blocks=True)
    assert [line.split()[-1] for line in lines[1:]] == ["50.0%", "75.0%", "1.25", "1"]
    assert [">=" in line for line in lines] == [False, False, False, True, True]


@pytest.mark.parametrize("values", [[], [0.0, 0.0], [float("inf"), 1.0], [-1.0, -2.0], [1e308, 1e-308]])
def test_any_spectrum_has_an_end(values: list[float]) -> None:
    assert len(scree(summary(values), blocks=True)) == (len(values) + 1 if values else 0)


def test_a_bar_grows_by_eighths() -> None:
    lengths = [len(bar(i / (8 * LONGEST), True, LONGEST)) for i in range(8 * LONGEST + 1)]
    assert lengths == sorted(lengths) and lengths[-1] == LONGEST and bar(0.0, True, LONGEST) == ""


def test_short_bars_are_of_kept_axes_and_the_next_two_on_a_wide_terminal() -> None:
    found = summary([4.0, 2.0, 1.0, 0.5, 0.25], [0.5, 0.25, 0.125, 0.0625, 0.03125])
    lines = texts(bars(found, blocks=True, columns=80))
    assert [line.split()[:2] for line in lines] == [["PC", "1"], ["PC", "2"], ["PC", "3"]]
    assert [line.count("█") for line in lines] == [SHORT, SHORT // 2, SHORT // 4] and max(map(len, lines)) < 80
    assert [line.endswith("not kept") for line in lines] == [False, True, True] and "12.5%" in lines[2]
    some = summary([4.0, 2.0, -1.0], [0.8, 0.4, -0.2], spectrum={
        "ranked_by": "eigenvalues", "negative_share": 0.14, "sum_of_positive": 6.0})
    assert [line.split()[3] for line in texts(bars(some, blocks=True, columns=80))] == ["66.7%", "33.3%", "-16.7%"]
    assert bars(found, blocks=True, columns=40) == bars(found, blocks=True, columns=None) == []


ADVICE = {"components": 3, "by": "fa_cross_validation", "differ": {"kaiser": 4, "elbow": 1},
          "agreement": {"same": 2, "near": 3, "of": 4}, "sentence": "Keep 3 axes."}


def test_a_run_ends_with_four_lines_and_hostile_names_stay_text(tmp_path: Path) -> None:
    run = tmp_path / "a\x1b[31m"
    run.mkdir()
    (run / "report.html").touch()
    found = summary([1.0] * 10, [0.1] * 10, run=str(run), dimension=ADVICE, notes=[{"code": "N-A", "message": "known"}])
    escaped = str(tmp_path / r"a\x1b[31m" / "report.html")
    assert texts(ending(found)) == [
        "pca of x.csv: 30 rows x 3 columns to 30 x 1 in 0.50 s", "1 axis keeps 10.0% of the variance",
        "axes: 3 (cross-validation), 1 kept; most rules say 3", f"open {escaped}"]
    *said, last = texts(ending(found, verbose=True))
    assert "note[N-A]: known" in said and "Keep 3 axes." in said and last == f"open {escaped}"
    assert len(said) < 24 and max(map(len, said)) <= 100


def test_warnings_stay_and_a_run_without_a_page_names_its_folder() -> None:
    lines = texts(ending(summary([1.0], [1.0], warnings=[{"code": "W-A", "message": "look"}])))
    assert lines[2:] == ["warning[W-A]: look", "wrote runs/x"]


def test_what_is_left_out_is_told_without_being_asked_for() -> None:
    notes = [{"code": "N-TEXT-COLUMNS", "message": "labels"}, {"code": "N-UNLABELED", "message": "3 rows are left out"}]
    assert texts(ending(summary([1.0], [1.0], notes=notes)))[2:] == [
        "note[N-UNLABELED]: 3 rows are left out", "wrote runs/x"]
    spoken = "".join(path.read_text(encoding="utf-8") for path in Path(mlcli.__file__).parent.rglob("*.py"))
    assert [code for code in TOLD if spoken.count(f'"{code}"') < 2] == []  # here, and where it is said


@pytest.mark.parametrize(("differ", "same", "said"), [
    ({"a": 4, "b": 4, "c": 9}, 1, "most rules say 3 or 4"), ({"a": 4}, 4, "most rules say 3"),
    ({}, 2, "all rules say 3"), ({"a": 1, "b": 5, "c": 7}, 0, "the rules say 1 to 7"), ({}, 0, ""),
    ({"a": None}, 1, "both rules say 3")])
def test_the_line_about_axes_says_what_most_rules_say(differ: dict[str, int | None], same: int, said: str) -> None:
    advice = {"components": 3, "by": "elbow", "differ": differ, "agreement": {"same": same}}
    assert axes_line(advice, 3) == "axes: 3 (elbow)" + (f"; {said}" if said else "")
    assert axes_line({"components": None, "by": None, "differ": {}}, 3) == ""


def test_every_method_names_a_measure() -> None:
    assert {METHODS[name].judged_by for name in METHODS} == {*MEASURES}


QUALITY = {"neighbors": 12, "recall": 0.8, "trustworthiness": 0.95, "residual_variance": 0.0012}


@pytest.mark.parametrize(("method", "facts", "sentence"), [
    ("pca", {"components": 2, "proportions": [0.5, 0.25]}, "2 axes keep 75.0% of the variance"),
    ("bilinear", {"components": 2, "proportions": [0.5, 0.25]}, "2 axes keep 75.0% of the sum of squares of the means"),
    ("pca", {"quality": QUALITY}, "80.0% of the 12 nearest neighbors are kept; trustworthiness 0.9500"),
    ("isomap", {"quality": QUALITY}, "residual variance 0.0012 (at 0, distances along the graph are kept)"),
    ("umap", {"quality": {**QUALITY, "trustworthiness_se": 0.01}},
     "80.0% of the 12 nearest neighbors are kept; trustworthiness 0.9500 ± 0.01"),
    ("mds", {"components": 2, "proportions": [0.8, 0.4], "eigenvalues": [4.0, 2.0], "spectrum": {
        "ranked_by": "eigenvalues", "negative_share": 0.1, "sum_of_positive": 8.0}},
     "2 axes keep 75.0% of the sum of positive eigenvalues"),
    ("cca", {"eigenvalues": [0.9, 0.25], "proportions": None}, "canonical correlations 0.9, 0.25"),
    ("rda", {"fit": {"explained_share": 0.4, "adjusted_explained_share": 0.3, "p_value": 0.001}},
     "constraints explain 40.0% of the variance (adjusted 30.0%), p = 0.001"),
    ("lda", {"fit": {"resubstitution_errors": 3}}, "3 of the 30 rows of the fit are misclassified"),
    ("autoencoder", {"fit": {"unexplained": 0.02}}, "1 axis gives back 98.0% of the variance"),
    ("ica", {"quality": {"reconstruction_error": 0.1}}, "reconstruction error 0.1, the mean squared error of a row"),
    ("random", {"fit": {"distortion": {"smallest": 0.5, "largest": 2.0}}},
     "squared distances are multiplied by 0.5 to 2"),
    ("sfa", {"eigenvalues": [0.1], "proportions": None}, "slowness 0.1 (0: constant in time, 2: noise)")])
def test_a_run_is_judged_by_the_measure_of_its_method(method: str, facts: dict[str, Any], sentence: str) -> None:
    found = judgement(summary([], **{"method": method, **facts}))
    assert found is not None and found.sentence == sentence and len(sentence) <= 80


def test_a_run_without_measures_has_no_sentence() -> None:
    assert judgement(summary([], method="umap")) is None and judgement(summary([])) is None


def test_several_runs_end_with_a_table() -> None:
    kept = Judgement("neighbors kept", "61.0%", "")
    outcomes = [Outcome("k=5", 0.5, Judgement("stress", "0.1", ""), kept), Outcome("k=2", error="E-PIECES"),
                Outcome("k=9", 1.25, Judgement("stress", "0.2", ""), kept)]
    assert [line.split() for line in texts(table_of_runs(outcomes, "runs.csv"))] == [
        ["run", "stress", "neighbors", "kept", "seconds"], ["k=5", "0.1", "61.0%", "0.50"], ["k=2", "E-PIECES"],
        ["k=9", "0.2", "61.0%", "1.25"]]
    mixed = [*outcomes, Outcome("m=umap", 2.0, kept, kept)]
    assert "stress 0.1" in texts(table_of_runs(mixed, "runs.csv"))[1]
    assert texts(table_of_runs(outcomes * 10, "a/runs.csv"))[-1] == "10 more in a/runs.csv"


def test_standard_errors_stand_beside_what_is_estimated() -> None:
    found = quality({"trustworthiness": 0.95, "trustworthiness_se": 0.01, "stress_1": 0.2, "continuity": None}, {})
    assert found.replace("+-", "±") == "trustworthiness 0.9500 ± 0.01, stress-1 0.2000"


@pytest.mark.parametrize(("fit", "line"), [
    ({"stress": 0.11831855, "starts": 20, "reached": 16}, "stress 0.1183, reached from 16 of 20 starts"),
    ({"stress": 0.5, "starts": 1, "reached": 1}, "stress 0.5000"),
    ({"chi_square": 6.1066, "degrees_of_freedom": 4, "p_value": 0.1913, "rmsea": 0.068, "tli": 0.9684},
     "chi-square 6.107 on 4 degrees of freedom, p = 0.19, RMSEA 0.068, TLI 0.968"),
    ({"chi_square": 6.1066, "degrees_of_freedom": 4, "p_value": 0.1913, "rmsea": None, "tli": None},
     "chi-square 6.107 on 4 degrees of freedom, p = 0.19")])
def test_the_fit_of_a_layout_or_of_factors_is_told(fit: dict[str, Any], line: str) -> None:
    assert line in texts(ending(summary([2.0, 1.0], method="nmds" if "stress" in fit else "fa", fit=fit), verbose=True))


@pytest.mark.parametrize("scale", ["data", "free"])
def test_one_stress_is_told_and_it_is_the_one_that_the_method_made_small(scale: str) -> None:
    measures = {"trustworthiness": 0.95, "stress_1": 0.2, "stress_1_scaled": 0.1, "scale": scale}
    fits: list[dict[str, Any]] = [{"stress": 0.11831855, "starts": 1, "reached": 1}, {"stress": 0.5}]
    own, other = ([line for line in texts(ending(summary([2.0, 1.0], quality=measures, fit=fit), verbose=True))
                   if "stress" in line] for fit in fits)
    assert own == ["stress 0.1183"] and len(other) == 1 and "trustworthiness" in other[0]


@pytest.mark.parametrize("fit", [{}, {"stress": None, "starts": 1}, {"chi_square": None}, {"stress": 0.5},
                                 {"chi_square": 0.0, "degrees_of_freedom": 0, "p_value": None}])
def test_a_fit_without_figures_has_no_line(fit: dict[str, Any]) -> None:
    lines = texts(ending(summary([2.0, 1.0], fit=fit), verbose=True))
    assert not [line for line in lines if "stress" in line or "chi-square" in line]
