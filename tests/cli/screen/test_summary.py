"""The end of a run: bars as long as their eigenvalues, in what the terminal can show."""

from typing import Any

import pytest

from mlcli.cli.screen.summary import LONGEST, SHORTEST, bar, ending, scree
from mlcli.findings.quality.measure import line as quality


def summary(values: list[float], proportions: list[float] | None = None, **others: Any) -> dict[str, Any]:
    return {"run": "runs/x", "method": "pca", "components": 1, "seconds": 0.5, "warnings": [], "notes": [],
            "input": {"path": "x.csv", "kind": "features", "rows": 30, "columns": 3},
            "embedding": {"rows": 30, "components": 1}, "spectrum": {"ranked_by": "eigenvalues"},
            "scree": {"eigenvalues": values, "proportions": proportions}, **others}


def test_bars_are_as_long_as_the_sizes_of_their_values() -> None:
    lines = scree(summary([4.0, 2.0, -1.0, 0.0], [0.8, 0.4, -0.2, 0.0]), blocks=True, color=False)[1:-1]
    assert [line.count("█") for line in lines] == [LONGEST, LONGEST // 2, LONGEST // 4, 0]
    assert "▌" in lines[2] and "-20.0%" in lines[2] and lines[3].split()[-1] == "100.0%"
    assert [line.split()[0] for line in lines] == ["1*", "2", "3", "4"]
    assert len({line.index("%") for line in lines}) == 1


@pytest.mark.parametrize(("columns", "length"), [(None, LONGEST), (200, LONGEST), (60, 12), (20, SHORTEST)])
def test_bars_are_shorter_on_a_narrow_terminal(columns: int | None, length: int) -> None:
    head, *lines = scree(summary([4.0, 2.0], [0.8, 0.4]), blocks=True, color=False, columns=columns)
    assert lines[0].count("█") == length and len(lines[0]) == len(head) == len(lines[1])
    assert columns is None or columns < 60 or len(head) <= columns


def test_sums_over_one_are_explained_and_the_share_of_the_positive_ones_stands_beside() -> None:
    values, shares = [4.0, 2.0, -1.0], [0.8, 0.4, -0.2]
    known = scree(summary(values, shares, spectrum={"ranked_by": "eigenvalues", "sum_of_positive": 6.0}),
                  blocks=True, color=False)
    assert known[0].split()[-1] == "positive" and "which includes negative eigenvalues" in known[-1]
    assert [line.split()[-1] for line in known[1:-1]] == ["66.7%", "100.0%", "100.0%"]
    unknown = scree(summary(values, shares), blocks=True, color=False)
    assert unknown[0].split()[-1] == "sum" and unknown[-1] == known[-1]
    assert not any("exceed" in line for line in scree(summary([4.0, 1.0], [0.8, 0.2]), blocks=True, color=False))


def test_sums_are_explained_only_where_the_column_shows_more_than_all() -> None:
    shown, hidden = (scree(summary([4.0, -0.001], [share, -0.0002], spectrum={
        "ranked_by": "eigenvalues", "sum_of_positive": 4.0}), blocks=True, color=False) for share in (1.0006, 1.0002))
    assert "exceed 100%" in shown[-1] and "100.1%" in shown[1] and shown[0].split()[-1] == "positive"
    assert not any("exceed" in line for line in hidden) and hidden[0].split()[-1] == "sum"


def test_small_shares_keep_their_digits_and_their_sign() -> None:
    lines = scree(summary([4.0, 0.001, -0.001, -1e-17], [1.0, 0.0002, -0.0002, -1e-18]), blocks=True, color=False)
    assert [line.split()[-2] for line in lines[2:]] == ["0.02%", "-0.02%", "0%"]


def test_what_are_no_eigenvalues_is_named() -> None:
    lines = scree(summary([0.9, 0.1], spectrum={"ranked_by": "canonical correlations"}), blocks=True, color=False)
    assert lines[0] == "  axes are ranked by canonical correlations" and "eigenvalue" not in lines[1]
    assert len(lines) == 4


def test_plain_text_where_blocks_cannot_be_shown() -> None:
    text = "\n".join(scree(summary([4.0, 2.0]), blocks=False, color=False))
    assert text.isascii() and "#" * LONGEST in text and "%" not in text


def test_colors_only_when_asked_for() -> None:
    assert "\x1b[" not in "".join(scree(summary([4.0, -2.0]), blocks=True, color=False))
    assert "".join(scree(summary([4.0, -2.0]), blocks=True, color=True)).count("\x1b[0m") == 2


def test_lower_bounds_follow_the_computed_eigenvalues() -> None:
    found = {"ranked_by": "eigenvalues", "further_at_least": [1.25, 1.0]}
    lines = scree(summary([4.0, 2.0], [0.5, 0.25], spectrum=found), blocks=True, color=False)
    assert [line.split()[-1] for line in lines[1:]] == ["50.0%", "75.0%", "1.25", "1"]
    assert [">=" in line for line in lines] == [False, False, False, True, True]


@pytest.mark.parametrize("values", [[], [0.0, 0.0], [float("inf"), 1.0], [-1.0, -2.0], [1e308, 1e-308]])
def test_any_spectrum_has_an_end(values: list[float]) -> None:
    assert len(scree(summary(values), blocks=True, color=False)) == (len(values) + 1 if values else 0)


def test_a_bar_grows_by_eighths() -> None:
    lengths = [len(bar(i / (8 * LONGEST), True, LONGEST)) for i in range(8 * LONGEST + 1)]
    assert lengths == sorted(lengths) and lengths[-1] == LONGEST and bar(0.0, True, LONGEST) == ""


def test_everything_fits_on_a_screen_and_hostile_names_stay_text() -> None:
    lines = ending(summary([1.0] * 10, [0.1] * 10, run="a\x1b[31m", quality={"trustworthiness": 0.9},
                           dimension={"sentence": "Keep 2 axes."}))
    assert len(lines) <= 24 and max(map(len, lines)) <= 100
    assert lines[0] == "mlcli: pca of x.csv: 30 rows x 3 columns to 30 x 1 in 0.50 s"
    assert lines[-1] == r"mlcli: wrote a\x1b[31m" and "mlcli: Keep 2 axes." in lines


def test_standard_errors_stand_beside_what_is_estimated() -> None:
    found = quality({"trustworthiness": 0.95, "trustworthiness_se": 0.01, "stress_1": 0.2, "continuity": None}, {})
    assert found.replace("+-", "±") == "trustworthiness 0.9500 ± 0.01, stress-1 0.2000"


@pytest.mark.parametrize(("fit", "line"), [
    ({"stress": 0.11831855, "starts": 20, "reached": 16}, "mlcli: stress 0.1183, reached from 16 of 20 starts"),
    ({"stress": 0.5, "starts": 1, "reached": 1}, "mlcli: stress 0.5000"),
    ({"chi_square": 6.1066, "degrees_of_freedom": 4, "p_value": 0.1913, "rmsea": 0.068, "tli": 0.9684},
     "mlcli: chi-square 6.107 on 4 degrees of freedom, p = 0.19, RMSEA 0.068, TLI 0.968"),
    ({"chi_square": 6.1066, "degrees_of_freedom": 4, "p_value": 0.1913, "rmsea": None, "tli": None},
     "mlcli: chi-square 6.107 on 4 degrees of freedom, p = 0.19")])
def test_the_fit_of_a_layout_or_of_factors_is_told(fit: dict[str, Any], line: str) -> None:
    assert line in ending(summary([2.0, 1.0], fit=fit))


@pytest.mark.parametrize("scale", ["data", "free"])
def test_one_stress_is_told_and_it_is_the_one_that_the_method_made_small(scale: str) -> None:
    measures = {"trustworthiness": 0.95, "stress_1": 0.2, "stress_1_scaled": 0.1, "scale": scale}
    own = ending(summary([2.0, 1.0], quality=measures, fit={"stress": 0.11831855, "starts": 1, "reached": 1}))
    assert [line for line in own if "stress" in line] == ["mlcli: stress 0.1183"]
    assert any("trustworthiness" in line for line in own)
    other = ending(summary([2.0, 1.0], quality=measures, fit={"stress": 0.5}))
    assert len([line for line in other if "stress" in line]) == 1


@pytest.mark.parametrize("fit", [{}, {"stress": None, "starts": 1}, {"chi_square": None}, {"stress": 0.5},
                                 {"chi_square": 0.0, "degrees_of_freedom": 0, "p_value": None}])
def test_a_fit_without_figures_has_no_line(fit: dict[str, Any]) -> None:
    lines = ending(summary([2.0, 1.0], fit=fit))
    assert not [line for line in lines if "stress" in line or "chi-square" in line]
