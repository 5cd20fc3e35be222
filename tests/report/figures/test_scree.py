"""The spectrum as a table and a picture."""

import csv
import io
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from mlcli.base.values.scaling import Unit
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.findings.spectrum.table import spectrum_facts
from mlcli.methods import METHODS
from mlcli.report.drawing.figure import Bar, Curve, Figure, Text
from mlcli.report.drawing.svg import LETTERS, document
from mlcli.report.figures.scree import ScreeValues, bars, cumulative, scree
from tests.support import spectrum_table

SVG = "{http://www.w3.org/2000/svg}"


def spectrum(values: list[float], *, trace: float | None = None, complete: bool = True) -> Spectrum:
    array = np.array(values)
    return Spectrum(array, np.ones((len(array), 1)), None, float(array.sum()) if trace is None else trace, complete)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_numbers_come_back_to_the_last_bit() -> None:
    values = (np.random.default_rng(0).random(20) * 10.0 ** np.arange(10, -10, -1)).tolist()
    table = rows(spectrum_table(spectrum(values), None))
    assert [float(row["eigenvalue"]) for row in table] == values
    assert [int(row["component"]) for row in table] == list(range(1, 21))


def test_shares_are_of_the_trace_and_may_pass_one() -> None:
    table = rows(spectrum_table(spectrum([6.0, 4.0, -2.0]), None))
    assert [float(row["proportion"]) for row in table] == [0.75, 0.5, -0.25]
    assert [float(row["cumulative"]) for row in table] == [0.75, 1.25, 1.0]


def test_an_unknown_trace_leaves_shares_empty() -> None:
    table = rows(spectrum_table(spectrum([6.0, 4.0], trace=float("nan"), complete=False), None))
    assert [row["proportion"] for row in table] == ["", ""]


def test_as_many_rows_as_asked() -> None:
    assert len(rows(spectrum_table(spectrum([3.0, 2.0, 1.0]), 2))) == 2


def test_the_parts_of_the_trace_are_named() -> None:
    facts = spectrum_facts(spectrum([6.0, 4.0, -2.0]))
    assert (facts["trace"], facts["sum_of_positive"], facts["sum_of_sizes"]) == (8, 10, 12)
    assert facts["negative_share"] == pytest.approx(1 / 6)
    partly = spectrum_facts(spectrum([6.0, 4.0], trace=8.0, complete=False))
    assert partly["sum_of_positive"] is None and partly["trace"] == 8


@pytest.mark.parametrize(("values", "smallest"), [([3.0, -1.0], -1), ([0.1, 2.0], 0.1), ([], None)])
def test_the_smallest_is_found_in_every_order(values: list[float], smallest: float | None) -> None:
    assert spectrum_facts(Spectrum.of_values(np.array(values), complete=True))["smallest"] == smallest


def shown(values: list[float], kept: int = 2) -> ScreeValues:
    shares = np.cumsum(values) / sum(values) if sum(values) else [None] * len(values)
    return ScreeValues(values, list(shares), kept, len(values))


@pytest.mark.parametrize("values", [[5.0, 3.0, 1.0], [5.0, 3.0, -1.0, -4.0], [0.0], [1e-300, 1e-301], [1e300, 1e299],
                                    list(range(80, 0, -1)), [float("inf"), 1.0], [-1.0, -2.0], [1.7e308, -1.7e308], []])
def test_the_picture_is_well_formed_and_has_a_bar_for_each_value(values: list[float]) -> None:
    figure = scree(ScreeValues(values, [None] * len(values), 2, len(values)), "a <name> & more")
    root = ElementTree.fromstring(document(figure))
    bars = [bar for bar in root.findall(f"{SVG}rect") if bar.find(f"{SVG}title") is not None]
    assert len(bars) == min(len(values), 30)
    assert sum(bar.get("class") == "kept" for bar in bars) == min(2, sum(v >= 0 for v in values[:2]))
    assert sum(bar.get("class") == "negative" for bar in bars) == sum(v < 0 for v in values)
    for bar in bars:
        assert 0 <= float(bar.get("y", "nan")) <= figure.height
        assert 0 <= float(bar.get("height", "nan")) <= figure.height
    assert "a <name> & more" in [element.text for element in root.iter(f"{SVG}text")]


def test_bars_are_as_high_as_their_values() -> None:
    heights = [mark.height for mark in scree(shown([4.0, 2.0, 1.0]), "").marks if isinstance(mark, Bar) and mark.tip]
    assert heights[0] == pytest.approx(2 * heights[1]) and heights[0] == pytest.approx(4 * heights[2])


def test_what_rounding_leaves_of_zero_is_not_negative() -> None:
    kinds = [kind for _, kind in bars(shown([28.0, 0.2, -1e-15]))]
    assert kinds == ["kept", "kept", "rest"] and [kind for _, kind in bars(shown([28.0, -1e-9]))][1] == "negative"


def test_the_scree_plot_of_a_file_has_the_share_of_the_trace_on_a_scale_with_the_same_zero() -> None:
    figure = scree(shown([6.0, 3.0, 1.0, -2.0]), "", shared=True)
    (line,) = (mark for mark in figure.marks if isinstance(mark, Curve))
    bars = {mark.tip.partition(":")[0]: mark for mark in figure.marks if isinstance(mark, Bar) and mark.tip}
    zero = bars["1"].y + bars["1"].height
    heights = np.array([zero - y for _, y in line.points])
    assert heights / heights[-1] == pytest.approx([0.75, 1.125, 1.25, 1.0])
    numbers = {mark.text: mark.y for mark in figure.marks if isinstance(mark, Text) and mark.x > 430}
    assert numbers["0"] == pytest.approx(zero + 4) and numbers["100"] == pytest.approx(line.points[-1][1] + 4)
    assert "cumulative share" in texts(figure) and "cumulative share" not in texts(scree(shown([6.0, 3.0]), ""))
    assert "cumulative share" not in texts(scree(ScreeValues([2.0, 1.0], [None] * 2, 1, 2), "", shared=True))


def test_a_cut_scree_says_so() -> None:
    texts = [mark.text for mark in scree(ScreeValues([2.0, 1.0], [0.5, 0.75], 1, 500), "").marks
             if isinstance(mark, Text)]
    assert "component, the first 2 of 500 computed" in texts


def test_lower_bounds_are_drawn_as_such_after_the_computed_ones() -> None:
    figure = scree(ScreeValues([4.0, 2.0], [None] * 2, 1, 2, at_least=[1.0, 0.5]), "")
    bars = [mark for mark in figure.marks if isinstance(mark, Bar) and mark.tip]
    assert [bar.kind for bar in bars] == ["kept", "rest", "bound", "bound"] and bars[2].tip == "3: at least 1"
    assert bars[0].height == pytest.approx(4 * bars[2].height)
    assert {"kept", "not kept", "at least"} <= set(texts(figure))


def texts(figure: Figure) -> list[str]:
    return [mark.text for mark in figure.marks if isinstance(mark, Text)]


def test_the_cumulative_curve_goes_as_far_as_axes_were_kept() -> None:
    values = [float(value) for value in range(80, 0, -1)]
    whole = shown(values, kept=50)
    figure = cumulative(whole, "")
    assert figure is not None and f"50 kept: {sum(values[:50]) / sum(values):.1%}" in texts(figure)
    assert "component, the first 30 of 80 computed, 50 kept" in texts(scree(whole, ""))
    cut = cumulative(ScreeValues(values[:3], whole.cumulative[:3], 50, 80), "")
    assert cut is not None and not any("kept:" in text for text in texts(cut))


def test_the_cumulative_curve_rises_by_the_shares_and_needs_a_trace() -> None:
    figure = cumulative(shown([6.0, 3.0, 1.0]), "")
    assert figure is not None
    curve = next(mark for mark in figure.marks if isinstance(mark, Curve))
    rises = -np.diff([y for _, y in curve.points])
    assert rises[0] == pytest.approx(3 * rises[1])
    assert cumulative(ScreeValues([2.0], [None], 1, 1), "") is None


def test_bounds_beyond_the_range_of_doubles_are_left_out() -> None:
    """As null they would be no bars."""
    found = replace(spectrum([3.0, 2.0], complete=False), solved_at_least=np.array([1.5, 1.0]))
    assert spectrum_facts(found)["further_at_least"] == [1.5, 1.0]
    assert spectrum_facts(replace(found, unit=Unit(1024)))["further_at_least"] == []


@pytest.mark.parametrize("share", [9.2e18, 1.7e308])
def test_a_share_beyond_all_others_has_few_ticks(share: float) -> None:
    """As a damaged file of eigenvalues may have it."""
    figure = scree(ScreeValues([3.0, 1.0], [0.75, share], 1, 2), "")
    assert len(figure.marks) < 60


def test_what_every_method_ranks_by_is_a_heading_that_no_screen_cuts() -> None:
    """On a narrow one letters are larger beside the drawing (`svg.LETTERS`), about half as wide as high."""
    for name in METHODS:
        what = METHODS[name].ranked_by or ""
        drawn = scree(ScreeValues([2.0, 1.0], [0.7, 1.0], 1, 2, what), "x")
        heading = next(mark for mark in drawn.marks if isinstance(mark, Text) and mark.text == what) if what else None
        assert heading is None or heading.x + 0.53 * LETTERS[1] * len(what) <= drawn.width, name
