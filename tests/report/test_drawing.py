"""Axes, colors and dots: round ticks, true places, and what a label column means."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlcli.explore.page import cell
from mlcli.report.drawing.axes import Panel, Scale, round_step, to_pixels
from mlcli.report.drawing.figure import Bar, Curve, Dots, Figure, Line, Text, Tile
from mlcli.report.drawing.matplotlib_figures import image
from mlcli.report.drawing.palette import CLASSES, GROUND, INKS, STEPS, sequential
from mlcli.report.drawing.svg import document, inline
from mlcli.report.drawing.text import distinct, four_digits, shorten, visible
from mlcli.report.figures.coloring import SHAPED, ColorRange, Groups, coloring, numbers_of
from mlcli.report.figures.curves import curve, shepard
from mlcli.report.figures.scatter import Points, pairs, plane, sample_rows, scatter
from mlcli.report.figures.scree import ScreeValues, cumulative, scree

reals = st.floats(allow_nan=False, allow_infinity=False, width=64)


@settings(max_examples=200, deadline=None)
@given(st.lists(reals, min_size=1, max_size=5))
def test_a_scale_holds_its_values_and_has_a_few_round_ticks(values: list[float]) -> None:
    scale = Scale.over(values, 0.0, 100.0)
    assert all(-1e-6 <= scale(value) <= 100 + 1e-6 for value in values)
    assert scale(max(values)) >= scale(min(values))
    assert 1 <= len(scale.ticks()) <= 9
    assert all(np.isfinite(tick) for tick in scale.ticks())


@pytest.mark.filterwarnings("error")
def test_distances_beyond_the_range_of_doubles_are_drawn_without_warnings() -> None:
    pairs = np.array([[np.inf, 1.7e308], [np.inf, 1e308], [np.inf, 0.0]])
    (dots,) = (mark for mark in shepard("", pairs).marks if isinstance(mark, Dots))
    assert np.isfinite(dots.points).all()


@pytest.mark.parametrize(("low", "high", "step"), [(0, 1, 0.2), (0, 6, 1), (-3, 4, 2), (0, 1e6, 2e5),
                                                   (1.2, 1.23, 0.005)])
def test_steps_are_one_two_or_five(low: float, high: float, step: float) -> None:
    assert round_step(low, high) == pytest.approx(step)


@pytest.mark.parametrize("value", [7.535921812, -7.5, 1e-200, 1e300])
def test_values_that_differ_by_rounding_share_a_scale_wider_than_that(value: float) -> None:
    scale = Scale.over([value, float(np.nextafter(value, np.inf)), value * (1 + 1e-15)], 0.0, 100.0)
    assert len(set(scale.ticks())) > 1
    assert scale.high - scale.low > abs(value) / 2


def test_a_place_beyond_the_scale_lies_at_its_edge() -> None:
    scale = Scale.over([0.0, 10.0], 0.0, 100.0)
    assert (scale(-5.0), scale(5.0), scale(50.0)) == (0.0, 50.0, 100.0)


def test_more_than_a_dozen_numbers_make_a_scale_and_fewer_make_groups() -> None:
    many = coloring("t", [str(i / 2) for i in range(100)])
    assert isinstance(many, ColorRange) and (many.low, many.high) == (0, 49.5)
    assert many.of[0] == 0 and many.of[-1] == STEPS - 1 and (np.diff(many.of) >= 0).all()
    few = coloring("digit", ["10", "2", "", "2"])
    assert isinstance(few, Groups) and list(few.names) == ["2", "10", "no label"] and list(few.counts) == [2, 1, 1]
    assert few.kinds[few.of[2]] == "absent" and few.short_names(3) == ["2", "10", "no label"]


def test_a_number_that_is_missing_is_drawn_apart() -> None:
    found = coloring("t", ["NA", "", *map(str, range(50))])
    assert isinstance(found, ColorRange) and found.absent == 2
    assert [found.kinds[i] for i in found.of[:2]] == ["other", "other"]
    assert numbers_of(["1", "x"]) is None and numbers_of(["inf"]) is None and numbers_of(["", "NA"]) is None


@pytest.mark.parametrize(("text", "gap"), [("", True), (" ", True), ("NA", True), ("nan", True), ("#N/A", True),
                                           ("none", False), ("null", False), ("n/a", False), ("Na", False)])
def test_the_same_texts_are_gaps_among_numbers_and_names(text: str, gap: bool) -> None:
    names, numbers = coloring("g", ["a", "b", text]), coloring("t", [*map(str, range(50)), text])
    assert isinstance(names, Groups) and (names.kinds[names.of[2]] == "absent") == gap
    assert isinstance(numbers, ColorRange) == gap


def test_missing_labels_are_one_gray_group_after_the_others() -> None:
    texts = [*(f"g{i}" for i in range(30)), "", "  ", "NA", "nan"]
    found = coloring("g", texts)
    assert isinstance(found, Groups) and list(found.names[-2:]) == ["6 others", "no label"]
    assert list(found.counts[-2:]) == [6, 4] and sum(found.counts) == len(texts)
    assert [found.kinds[place] for place in found.of[30:]] == ["absent"] * 4
    assert {found.kinds[place] for place in found.of[24:30]} == {"other"}
    np.testing.assert_array_equal(np.bincount(found.of), found.counts)
    none = coloring("g", ["", "NA"])
    assert isinstance(none, Groups) and list(none.names) == ["no label"] and list(none.of) == [0, 0]


def test_the_rarest_groups_are_others_and_no_row_is_lost() -> None:
    texts = [f"g{i}" for i in range(32) for _ in range(32 - i)]
    found = coloring("g", texts)
    assert isinstance(found, Groups) and len(found.names) == 25 and found.names[-1] == "8 others"
    assert sum(found.counts) == len(texts) == len(found.of)
    assert np.bincount(found.of).tolist() == list(found.counts)


def test_every_group_has_a_look_of_its_own_and_neighbors_differ_in_color_and_shape() -> None:
    found = coloring("g", [f"g{i}" for i in range(24)])
    looks = list(zip(found.kinds, found.shapes, strict=True))
    assert len(set(looks)) == 24 and len({kind for kind, _ in looks}) == 6
    assert all(a[0] != b[0] and a[1] != b[1] for a, b in pairwise(looks))


def test_groups_of_marks_without_a_shape_have_colors_of_their_own() -> None:
    found = coloring("g", [f"g{i % 14}" for i in range(SHAPED + 1)])
    assert isinstance(found, Groups) and found.names[-1] == "2 others" and len(found.names) == len(CLASSES) + 1
    assert len(set(found.kinds)) == len(found.kinds) and set(found.shapes) == {"circle"}


def test_groups_stand_in_natural_order() -> None:
    found = coloring("site", ["site 10", "b", "site 2", "A", "site 1b", "site 1"])
    assert isinstance(found, Groups)
    assert list(found.names) == ["A", "b", "site 1", "site 1b", "site 2", "site 10"]


def luminance(color: str) -> float:
    """WCAG's relative luminance."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


@pytest.mark.parametrize("ground", [0, 1])
def test_colors_stand_out_from_their_ground(ground: int) -> None:
    for kind, ink in INKS.items():
        if kind not in ("grid", "frame", "ground", "halo", "rest", "onlight", "ondark"):
            ratio = contrast((ink.light, ink.dark)[ground], GROUND[ground])
            assert ratio > (4.5 if kind in ("text", "title", "small") else 1.5), kind


@pytest.mark.parametrize("ground", [0, 1])
@pytest.mark.parametrize("step", range(STEPS))
def test_numbers_are_read_on_every_color_of_a_matrix(step: int, ground: int) -> None:
    bar, text = cell(0, 0, 1 - (step + 0.5) / STEPS, 0.0)
    assert bar.kind == f"s{step}"
    colors = ((ink.light, ink.dark)[ground] for ink in (INKS[bar.kind], INKS[text.kind]))
    assert contrast(*colors) > 3.9


def contrast(first: str, second: str) -> float:
    """WCAG's ratio of two colors."""
    low, high = sorted(map(luminance, (first, second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("ground", [0, 1])
def test_the_sequential_scale_grows_lighter_steadily(ground: int) -> None:
    steps = [luminance(color) for color in sequential(ground)]
    assert (np.diff(steps) > 0).all()


def points(count: int, axes: int, texts: list[str]) -> Points:
    values = np.random.default_rng(1).standard_normal((count, axes)) * [3.0, 2.0, 1.0, 0.5][:axes]
    return Points(values, [f"p{i}" for i in range(count)], coloring("g", texts), count)


def test_a_sample_of_one_axis_stands_over_the_rows_own_numbers() -> None:
    whole = points(200, 1, ["a"] * 200)
    some = whole.sample(50, 0)
    places = plane(some.values, some.rows)
    assert places[-1, 0] > 100 and places[:, 1].tolist() == whole.values[places[:, 0].astype(int) - 1, 0].tolist()


@pytest.mark.parametrize("count", [50, 1000])
def test_every_point_is_drawn_once_where_it_lies(count: int) -> None:
    figure = scatter(points(count, 2, ["a", "b"] * (count // 2)), "t")
    drawn = np.concatenate([mark.points for mark in figure.marks if isinstance(mark, Dots) and len(mark.points) > 1])
    assert len(drawn) == count
    values = points(count, 2, ["a"] * count).values
    for axis, sign in ((0, 1), (1, -1)):  # pixels grow downward
        assert np.corrcoef(np.sort(sign * drawn[:, axis]), np.sort(values[:, axis]))[0, 1] == pytest.approx(1)
    across = np.ptp(drawn[:, 0]) / np.ptp(values[:, 0])
    assert np.ptp(drawn[:, 1]) / np.ptp(values[:, 1]) == pytest.approx(across)  # a unit is equally long


def test_pairs_have_a_panel_for_every_two_axes() -> None:
    figure = pairs(replace(points(40, 4, ["a"] * 40), axes=["PC 1 (50.0%)", "PC 2 (30.0%)", "PC 3", "PC 4"]))
    assert sum(isinstance(mark, Bar) and mark.kind == "frame" for mark in figure.marks) == 6
    assert "PC 1 (50.0%)" in [mark.text for mark in figure.marks if isinstance(mark, Text)]


@pytest.mark.parametrize(("axes", "name"), [(3, "g"), (4, "g"), (4, "a group with a long name")])
def test_the_part_of_a_pair_holds_its_panel_and_the_numbers_below(axes: int, name: str) -> None:
    figure = pairs(points(60, axes, [f"{name} {i % 3}" for i in range(60)]))
    for part, marks in figure.pieces:
        for mark in marks:
            if isinstance(mark, Bar):
                assert part.x <= mark.x and mark.x + mark.width < part.x + part.width
            if isinstance(mark, Text) and not mark.turned:
                first, last = reach(mark)
                assert part.x <= first and last <= part.x + part.width <= figure.width, mark


def test_names_that_differ_differ_when_they_are_short() -> None:
    names = [f"group number {i} of a study" for i in range(24)]
    assert distinct(names, 22)[3] == "group number 3…"
    long = [f"a start that all names have {i} and an end that all have" for i in range(12)]
    assert distinct(long, 22)[11] == "a start tha…s have 11…"
    assert distinct([f"{i} a long end that {i} all names have" for i in range(12)], 12)[11].startswith("11 ")
    assert distinct(["a" * 30 + str(i) + "b" * 30 for i in range(3)], 20)[0] == "a" * 10 + "…" + "b" * 9
    assert distinct(["setosa", "virginica"], 22) == ["setosa", "virginica"] and distinct(["x"] * 2, 3) == ["x", "x"]
    assert distinct([], 3) == []


def reach(text: Text) -> tuple[float, float]:
    """About where a line of text begins and ends across."""
    length = 0.6 * INKS[text.kind].size * len(text.text)
    first = text.x - {"start": 0.0, "middle": 0.5, "end": 1.0}[text.anchor] * length
    return first, first + length


@pytest.mark.parametrize("axes", [1, 2, 9, 10, 45, 400])
def test_no_label_is_cut_off(axes: int) -> None:
    places = [float(place) for place in range(1, axes + 1)]
    for kept in {1, axes // 2 or 1, axes}:
        spectrum = ScreeValues(places[::-1], (np.array(places) / axes).tolist(), kept, axes)
        figures = [curve("t", "axes", "1 - r²", places, {"residual variance": places}, marked=float(kept)),
                   scree(spectrum, "t"), cumulative(spectrum, "t")]
        for figure in figures:
            assert figure is not None
            for mark in figure.marks:
                if isinstance(mark, Text) and not mark.turned:
                    first, last = reach(mark)
                    assert first >= 0 and last <= figure.width, mark


def test_nothing_is_drawn_outside_the_figure() -> None:
    for figure in (scatter(points(60, 2, [f"g{i % 15}" for i in range(60)]), "t"),
                   pairs(points(60, 4, [str(i) for i in range(60)])),
                   shepard("s", np.random.default_rng(0).random((100, 2)) * 7)):
        for mark in figure.marks:
            spread = (mark.points if isinstance(mark, Dots) else np.array([[mark.x, mark.y]]) if isinstance(mark, Text)
                      else np.array([[mark.x1, mark.y1], [mark.x2, mark.y2]]) if isinstance(mark, Line)
                      else np.empty((0, 2)))
            assert (spread >= 0).all() and (spread <= [figure.width, figure.height]).all(), mark


@pytest.mark.parametrize(("axes", "groups"), [(2, 3), (2, 15), (3, 3), (3, 20), (4, 3), (4, 20)])
def test_the_parts_of_a_figure_hold_its_marks_each_where_it_lies(axes: int, groups: int) -> None:
    shown = points(60, axes, [f"g{i % groups}" for i in range(60)])
    figure = scatter(shown, "t") if axes == 2 else pairs(shown)
    panels = [(part, marks) for part, marks in figure.pieces if not part.key]
    (key,) = ((part, marks) for part, marks in figure.pieces if part.key)
    assert sum(len(marks) for _, marks in figure.pieces) == len(figure.marks)
    assert all(any(isinstance(mark, Dots) for mark in marks) for _, marks in panels)
    assert len([mark for mark in key[1] if isinstance(mark, Text)]) == groups + 1
    for part, marks in panels:
        for mark in marks:
            if isinstance(mark, Dots):
                assert all(part.holds(x, y) for x, y in mark.points.tolist())
    page = inline(figure)
    assert page.count("<svg") == len(figure.parts) and all(page.count(f">g{i} (") == 1 for i in range(groups))


def test_letters_of_a_narrow_screen_are_as_large_as_the_drawing_lets_them() -> None:
    def letters(width: float, *parts: Tile) -> list[float]:
        return [float(size) for size in re.findall(r"--letters:([\d.]+)", inline(Figure("", width, 100, (), parts)))]

    assert letters(340) == [11.0] and letters(440) == [pytest.approx(10.5 * 440 / 340, abs=0.05)]
    assert letters(580) == [15.0] and letters(900) == [11.0] and 'class="dense"' in inline(Figure("", 900, 100))
    parts = (Tile(x=0, y=0, width=440, height=100), Tile(x=440, y=0, width=200, height=100, key=True))
    assert letters(640, *parts) == [*letters(440), 11.0]


def test_a_sample_is_seeded_ordered_and_without_repetition() -> None:
    rows = sample_rows(1000, 100, 3)
    assert rows is not None and np.array_equal(rows, sample_rows(1000, 100, 3)) and (np.diff(rows) > 0).all()
    assert not np.array_equal(rows, sample_rows(1000, 100, 4)) and sample_rows(10, 100, 0) is None


def test_the_line_of_equality_needs_distances_of_one_size() -> None:
    def guides(ratio: float) -> int:
        pairs = np.linspace(0, 1, 20)[:, None] * [1.0, ratio]
        return sum(isinstance(mark, Line) and mark.kind == "guide" for mark in shepard("s", pairs).marks)

    assert guides(0.9) == 1 and guides(0.01) == 0


def test_curves_pass_through_their_values() -> None:
    figure = curve("c", "k", "r", [1.0, 2.0, 3.0], {"r": [0.9, 0.3, 0.0]}, marked=2.0)
    line = next(mark for mark in figure.marks if isinstance(mark, Curve))
    heights = [y for _, y in line.points]
    assert (heights[1] - heights[0]) / (heights[2] - heights[1]) == pytest.approx(2)


def test_pixels_of_points() -> None:
    panel = Panel(Scale.over([0, 1], 10, 110), Scale.over([0, 1], 200, 100))
    assert to_pixels(np.array([[0.5, 0.25]]), panel).tolist() == [[60.0, 175.0]]


def test_names_are_cut_and_their_invisible_characters_shown() -> None:
    assert visible("a\x1b\n\u202eb") == r"a\x1b\n\u202eb" and len(visible("x" * 1000)) == 80
    assert shorten("a_long_name_1", 9) != shorten("a_long_name_2", 9) and len(shorten("x" * 50, 9)) == 9


@pytest.mark.medium
@pytest.mark.parametrize(("format", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_matplotlib_draws_the_same_figure_to_the_same_bytes(format: str, start: bytes) -> None:
    pytest.importorskip("matplotlib")
    figure = scatter(points(60, 2, [f"${i % 6}漢" for i in range(60)]), "a $title$")
    drawn = image(figure, format)
    assert drawn.startswith(start) and drawn == image(figure, format)


def test_a_document_stands_alone() -> None:
    text = document(Figure("t", 10, 10, [Dots("c0", np.zeros((1, 2)))]))
    assert 'xmlns="http://www.w3.org/2000/svg"' in text and "prefers-color-scheme:dark" in text and ".c0{" in text
    assert ".c1{" not in text


def test_only_round_ends_stand_for_dots_as_others_print_as_nothing() -> None:
    marks = [Dots("plain", np.array([[5.0, 5.0]]), 3, shape) for shape in ("circle", "square", "triangle", "diamond")]
    drawn = document(Figure("dots", 10, 10, marks))
    assert 'linecap="square"' not in drawn and drawn.count('stroke-linecap="round"') == drawn.count('h0"/>') == 1
    assert drawn.count("z\"/>") == 3


@pytest.mark.parametrize(("value", "text"), [
    (None, "–"), (3, "3"), (12_907, "12,907"), (0.979873, "0.9799"), (0.0104149, "0.01041"), (187.159, "187.2"),
    (-5314.45, "-5,314"), (999.96, "1,000"), (12907.7, "12,908"), (793266.6, "793,267"), (3.0229e-14, "3.023e-14"),
    (1.5e6, "1.5e+06"), (0.0, "0"), (1.0, "1"), (float("nan"), "nan")])
def test_results_have_four_digits_and_larger_ones_all_before_the_point(value: float | None, text: str) -> None:
    assert four_digits(value) == text


def test_a_legend_shows_lines_as_lines_with_their_dashes() -> None:
    drawn = curve("", "k", "share", [1.0, 2.0], {"this": [0.1, 0.2], "PCA": [0.2, 0.3]})
    keys = [mark.kind for mark in drawn.marks if isinstance(mark, Line) and mark.y1 == mark.y2 and mark.kind in INKS
            and mark.kind not in ("grid", "axis")]
    assert keys == ["curve", "second"] == [mark.kind for mark in drawn.marks if isinstance(mark, Curve)]
    assert not any(isinstance(mark, Bar) for mark in drawn.marks)


def test_the_line_of_parallel_analysis_is_set_off_from_bars_below_it() -> None:
    kinds = [mark.kind for mark in scree(ScreeValues([3.0, 1.0], [0.75, 1.0], 1, 2, line=[1.5, 0.9]), "").marks]
    assert kinds.index("kept") < kinds.index("halo") < kinds.index("curve") and "curve" in kinds


@pytest.mark.parametrize(("values", "numbers"), [
    ([14, 68], ["20", "40", "60"]), ([4.714, 14.13], ["6", "8", "10", "12", "14"]),
    ([-0.31, 0.22], ["−0.2", "0", "0.2"])])
def test_a_scale_of_colors_has_round_numbers_at_their_places(values: list[float], numbers: list[str]) -> None:
    found = coloring("t", list(map(repr, np.linspace(*values, 40).tolist())))
    marks = found.legend(0, 0)
    texts = [mark for mark in marks if isinstance(mark, Text)][1:]
    bars = [mark for mark in marks if isinstance(mark, Bar)]
    top, bottom = min(bar.y for bar in bars), max(bar.y + bar.height for bar in bars)
    assert [text.text for text in texts] == numbers
    for text in texts:
        share = (float(text.text.replace("−", "-")) - values[0]) / (values[1] - values[0])
        assert abs(text.y - 4 - (bottom + share * (top - bottom))) < 1.5


def test_without_a_scale_of_its_own_an_embedding_has_no_line_of_equality() -> None:
    pairs = np.array([[1.0, 0.5], [2.0, 1.1], [15.0, 6.0]])
    assert any(isinstance(mark, Line) and mark.kind == "guide" for mark in shepard("", pairs).marks)
    free = shepard("", pairs, scaled=False)
    assert not any(isinstance(mark, Line) and mark.kind == "guide" for mark in free.marks)
    (dots,) = (mark for mark in free.marks if isinstance(mark, Dots))
    assert np.ptp(dots.points[:, 1]) > 0.9 * 350 * (6.0 - 0.5) / 6.0
