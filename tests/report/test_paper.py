"""Figures for papers: labels apart, outlines and arrows by their geometry, and a part of the page that stays text."""

import re
import sys
import time
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.stats import f

from mlcli.base.machine.footprint import NOTHING, PLOT, SPARSE
from mlcli.base.types import Array
from mlcli.cli.program import run as command
from mlcli.config.report_options import Ellipses, Hulls, Look, NoOutlines, Spiders
from mlcli.findings.frame.finished_run import CsvColumns
from mlcli.methods import METHODS
from mlcli.report.drawing.palette import INKS, variable
from mlcli.report.figures.coloring import SHAPED, coloring, single_color
from mlcli.report.figures.scatter import DrawnEdges, Points
from mlcli.report.figures.scree import ScreeValues
from mlcli.report.page import embedding
from mlcli.report.page.figure_files import figures
from mlcli.report.page.page import page
from mlcli.report.paper import drawings, scatter
from mlcli.report.paper.drawings import ScreePlot
from mlcli.report.paper.needs import plot_cost
from mlcli.report.paper.scatter import Arrows, Plot, ellipse, hull, outline, place, styles
from mlcli.report.paper.sheet import TITLE, sheet, space_numbers
from tests.report.support import finished_run
from tests.report.test_page import ATTRIBUTES, HOSTILE, TAGS, Seen, some_everyday

pytest.importorskip("adjustText")
from matplotlib.figure import Figure

from tests.wording import Wording

RANDOM = np.random.default_rng(5)
CLOUD = RANDOM.standard_normal((40, 2)) @ [[3.0, 0.0], [1.0, 0.5]]
LOADINGS = CsvColumns({"column": ["a", "b", "c"], "y1": ["0.9", "-0.1", "0.3"], "y2": ["0.2", "0.8", "-0.1"]})


def points(values: Array = CLOUD, groups: int = 3) -> Points:
    texts = [f"g{row % groups}" for row in range(len(values))]
    return Points(values, [f"p{row}" for row in range(len(values))], coloring("kind", texts), len(values))


def distances(places: Array, cloud: Array) -> Array:
    """Squared Mahalanobis distances of places from the mean of a cloud."""
    away = places - cloud.mean(axis=0)
    return np.einsum("ij,jk,ik->i", away, np.linalg.inv(np.cov(cloud.T)), away)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_an_ellipse_is_a_contour_of_the_mahalanobis_distance_and_moves_with_the_points(level: float) -> None:
    turned = [[0.0, 2.0], [-7.0, 1.0]]
    assert np.allclose(distances(ellipse(CLOUD, level), CLOUD), 2 * f.ppf(level, 2, 39))
    moved = CLOUD @ turned + 5
    assert np.allclose(distances(ellipse(CLOUD, level) @ turned + 5, moved), distances(ellipse(moved, level), moved))


def test_an_ellipse_holds_its_share_of_a_normal_distribution() -> None:
    cloud = np.random.default_rng(0).standard_normal((40_000, 2))
    inside = distances(cloud, cloud) < distances(ellipse(cloud, 0.9)[:1], cloud)
    assert abs(inside.mean() - 0.9) < 4 * np.sqrt(0.9 * 0.1 / len(cloud))


def test_a_hull_has_corners_among_the_points_and_leaves_none_outside() -> None:
    corners = hull(CLOUD)
    assert all((corner == CLOUD).all(axis=1).any() for corner in corners) and (corners[0] == corners[-1]).all()
    for first, last in pairwise(corners):
        side = last - first
        beside = CLOUD - first
        assert (side[0] * beside[:, 1] - side[1] * beside[:, 0] >= -1e-12).all()


@pytest.mark.parametrize("named", [True, False])
def test_spider_lines_join_each_point_to_the_centroid_of_its_group_alone(*, named: bool) -> None:
    texts = [f"g{row % 3}" if named else "" for row in range(40)]
    plot = Plot(Points(CLOUD, [""] * 40, coloring("kind", [text if row != 7 else "" for row, text in enumerate(texts)])
                       if named else single_color(40), 40), "t", outlines=Spiders())
    axes = Figure().add_subplot()
    plot._draw_outlines(axes)
    groups = [[row for row in range(40) if texts[row] == group and not (named and row == 7)]
              for group in dict.fromkeys(texts)]
    assert len(axes.lines) == len(groups)
    for line, rows in zip(axes.lines, groups, strict=True):
        corners = np.asarray(line.get_xydata())
        assert np.abs(corners[::2] - CLOUD[rows].mean(axis=0)).max() < 1e-9
        assert np.array_equal(corners[1::2], CLOUD[rows])  # the row without a label has no line


def test_a_group_of_one_point_has_no_spider() -> None:
    assert outline(CLOUD[:1], Spiders()) is None and outline(CLOUD[:2], Spiders()) is not None


@pytest.mark.parametrize("cloud", [CLOUD[:2], np.outer(np.arange(5.0), [1.0, 2.0]), np.zeros((4, 2))])
def test_points_that_span_no_area_have_no_outline(cloud: Array) -> None:
    assert outline(cloud, Ellipses()) is None and outline(cloud, Hulls()) is None
    assert outline(CLOUD, NoOutlines()) is None


def test_arrows_keep_directions_and_relative_lengths_and_stay_among_the_points() -> None:
    arrows = Arrows.of(LOADINGS, 2)
    assert list(arrows.names) == ["a", "b"] and arrows.whole == 3
    ends = arrows.within(CLOUD)
    factor = ends[0, 0] / 0.9
    assert factor > 0 and np.allclose(ends, factor * np.array([[0.9, 0.2], [-0.1, 0.8]]))
    assert (ends <= CLOUD.max(axis=0)).all() and (ends >= CLOUD.min(axis=0)).all()


@pytest.mark.medium
@pytest.mark.parametrize(("cloud", "most"), [(CLOUD, 0), (0.02 * CLOUD + np.repeat(np.eye(2), 20, axis=0), 15)],
                         ids=["spread", "dense"])
def test_labels_lie_apart_from_all_others_and_marks_and_arrows_and_inside(cloud: Array, most: int) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    sheet = Figure(figsize=(6.5, 5.0), dpi=72)
    FigureCanvasAgg(sheet)
    axes = sheet.add_subplot()
    axes.plot(*cloud.T, "o")
    ends = 0.9 * cloud[[3, 30]]
    texts = [axes.text(x, y, f"site {row}", fontsize=7) for row, (x, y) in enumerate(cloud.tolist())]
    place(sheet, texts, cloud, 6.0, ends)
    marks = axes.transData.transform(np.concatenate([cloud, *(np.linspace(0.2, 1, 50)[:, None] * end for end in ends)]))
    boxes = [text.get_window_extent() for text in texts]
    panel = axes.get_window_extent()
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
        assert not ((box.min < marks) & (marks < box.max)).all(axis=1).any()
        assert panel.x0 - 1 <= box.x0 and box.x1 <= panel.x1 + 1
        assert panel.y0 - 1 <= box.y0 and box.y1 <= panel.y1 + 1
    crossed = 0
    for line in axes.lines[1:]:  # a leader line, from its mark to the edge of its label
        start, end = axes.transData.transform(line.get_xydata())
        inside = start + np.linspace(0, 0.95, 60)[:, None] * (end - start)
        crossed += sum(((box.min < inside) & (inside < box.max)).all(axis=1).any() for box in boxes)
    assert crossed <= most


@pytest.mark.medium
def test_labels_that_find_no_room_stand_where_their_points_are_and_the_page_says_so(
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scatter, "MOVED", 60)
    monkeypatch.setattr(drawings, "MOVED", 60)
    rows = 61
    run = finished_run(rows=rows, report={"point_labels": "ids"})
    begun = time.process_time()
    text = page(run)
    assert time.process_time() - begun < 10  # moving them takes minutes
    assert f"{rows} labels overlap" in text and all(f"p{row}" in Seen(text).words for row in range(rows))
    assert "find no room" not in page(finished_run(rows=20, report={"point_labels": "ids"}))


@pytest.mark.medium
@pytest.mark.parametrize("format", ["svg", *(pytest.param(name, marks=pytest.mark.slow) for name in ("pdf", "png"))])
def test_the_same_plot_gives_the_same_bytes_at_the_size_that_was_chosen(format: str) -> None:
    plot = Plot(points(), "t", Look(size=(3.5, 2.5)), [f"s{row}" for row in range(40)], None, Ellipses(),
                Arrows.of(LOADINGS, 3))
    drawn = plot.draw(format)
    assert drawn == plot.draw(format)
    shape = {"svg": b'viewBox="0 0 252 180"', "pdf": b"/MediaBox [ 0 0 252 180 ]",
             "png": (1050).to_bytes(4, "big") + (750).to_bytes(4, "big")}[format]
    assert shape in drawn


def test_numbers_below_a_panel_do_not_touch() -> None:
    axes = Figure(figsize=(1.5, 1.5)).add_subplot()
    axes.set(xlim=(-0.8, 1.1), xticks=np.arange(-0.75, 1.1, 0.25))

    def gaps() -> list[float]:
        low, high = axes.get_xlim()
        boxes = [label.get_window_extent() for tick, label in zip(axes.get_xticks(), axes.get_xticklabels(),
                                                                  strict=True) if low <= tick <= high]
        return [right.x0 - left.x1 for left, right in pairwise(boxes)]

    assert min(gaps()) < 0
    space_numbers(axes)
    assert min(gaps()) > 0


@pytest.mark.medium
def test_a_size_is_that_of_the_files_and_the_page_keeps_its_own() -> None:
    small = {"look": {"size": [3.5, 2.5]}}
    sized, plain = (finished_run(report=report) for report in (small, {}))
    shown = [embedding.embedding(run) for run in (sized, plain)]
    assert shown[0] == shown[1] and b'viewBox="0 0 252 180"' in figures(sized)["scatter"]("svg")
    both = finished_run(report={**small, "outlines": {"name": "hulls"}})
    drawn = embedding.embedding(both)
    assert drawn is not None and 'viewBox="0 0 468 ' in drawn.text and "0 0 252 180" not in drawn.text
    assert b'viewBox="0 0 252 180"' in figures(both)["scatter"]("svg")


def test_sizes_with_a_unit_are_inches() -> None:
    assert Look.model_validate({"size": ["90mm", " 7 cm"]}).size == pytest.approx((90 / 25.4, 7 / 2.54), rel=1e-15)
    assert Look.model_validate({"size": ["3.5in", 3]}).size == (3.5, 3)


@pytest.mark.medium
@pytest.mark.parametrize("look", [Look(palette="tab10"), Look(palette="gray"), Look(palette="set2", marker_size=2.5),
                                  Look(font_size=6), Look(aspect="free")])
def test_every_look_is_drawn(look: Look) -> None:
    cloud = points(CLOUD * [1.0, 4.0], groups=30)
    assert Plot(cloud, "t", look).draw("svg") != Plot(cloud, "t").draw("svg")


@pytest.mark.parametrize("palette", ["okabe-ito", "tab10", "set2", "dark2", "gray"])
def test_groups_are_told_apart_under_every_palette(palette: str) -> None:
    looks = styles(coloring("kind", [f"g{row}" for row in range(30)]), Look.model_validate({"palette": palette}))
    assert len({(str(color), marker) for color, marker in looks}) == 25
    assert len(styles(single_color(3), Look.model_validate({"palette": palette}))) == 1
    many = styles(coloring("kind", [f"g{row % 14}" for row in range(SHAPED + 1)]),
                  Look.model_validate({"palette": palette}))
    assert len({(str(color), marker) for color, marker in many}) == 13


@pytest.mark.medium
@pytest.mark.parametrize("scale", ["cividis", "magma", "gray"])
def test_a_scale_of_numbers_has_a_bar(scale: str) -> None:
    numbers = replace(points(), colors=coloring("size", [*map(str, range(39)), "NA"]))
    drawn = Plot(numbers, "t", Look.model_validate({"scale": scale})).draw("svg")
    assert b">size; gray: no number</text>" in drawn and drawn != Plot(numbers, "t").draw("svg")


@pytest.mark.parametrize("size", [0.0, 1e-300, 1.0, 1e300])
def test_coordinates_of_any_size_are_drawn(size: float) -> None:
    cloud = replace(points(CLOUD[:6] * size), colors=single_color(6))
    drawn = Plot(cloud, "t", Look(), list("abcdef"), None, Hulls()).draw("svg")
    assert b"nan" not in drawn and b"inf" not in drawn and drawn.count(b"</text>") > 6


@pytest.mark.medium
def test_a_note_stands_in_a_free_corner_and_labels_keep_off_it() -> None:
    plot = Plot(points(), "t", Look(), [f"site {row}" for row in range(40)], note="stress 0.118")
    figures: list[Any] = []
    drawn = sheet(plot.look, plot.size, "svg",
                  lambda figure, axes: (figures.append(figure), plot._paint(figure, axes))[0])
    assert drawn.count(b">stress 0.118</text>") == 1
    (axes,) = figures[0].axes
    *names, note = sorted(axes.texts, key=lambda text: text.get_text() == plot.note)
    box, room = note.get_window_extent(), axes.get_window_extent()
    assert room.x0 <= box.x0 and box.x1 <= room.x1 and room.y0 <= box.y0 and box.y1 <= room.y1
    marks = axes.transData.transform(CLOUD)
    assert not ((marks > box.min) & (marks < box.max)).all(axis=1).any()
    assert len(names) == 40 and not any(name.get_window_extent().overlaps(box) for name in names)


def test_an_axis_that_is_far_longer_than_the_other_is_drawn() -> None:
    cloud = replace(points(np.vstack([0.01 * CLOUD[:6], [0.0, 1e308]])), colors=single_color(7))
    assert Plot(cloud, "t").draw("svg").count(b"</text>") > 6


@pytest.mark.medium
def test_chosen_labels_stand_on_the_page_in_colors_of_light_and_dark_screens() -> None:
    run = finished_run(labels={"kind": ["a", "b", "c"] * 10}, report={"point_labels": "ids"})
    text = page(run)
    words = Seen(text).words
    assert all(f"p{row}" in words for row in range(30)) and {"PC 1 (40.0%)", "PC 2 (30.0%)"} <= {*words}
    used = set(re.findall(r"var\((--ink-\w+)\)", text))
    light, dark = (set(re.findall(r"(--ink-\w+):", part)) for part in re.findall(r":root\{(--ink[^}]*)\}", text))
    assert used == light == dark and {variable(color) for color in ("#0072b2", "#333333")} <= used
    assert not re.search(r'(?:fill|stroke)="#', text) and text == page(run)


@pytest.mark.parametrize(("rows", "labels", "named"), [(60, "auto", True), (61, "auto", False), (60, "none", False)])
def test_few_points_are_labeled_by_themselves(rows: int, labels: str, named: bool) -> None:
    drawn = figures(finished_run(rows=rows, report={"point_labels": labels}))["scatter"]("svg").decode()
    assert (">p0</text>" in drawn) == named and not drawn.startswith("<?xml")  # which Matplotlib would write


@pytest.mark.parametrize(("rows", "report", "needs"), [
    (60, {"point_labels": "ids"}, (PLOT, SPARSE)), (60, {"point_labels": "auto"}, ()),
    (60, {"point_labels": "auto", "figures": ["png"]}, (PLOT, SPARSE)),
    (60, {"point_labels": "none"}, ()), (61, {"arrows": 2, "point_labels": "none"}, (PLOT,)),
    (61, {"figures": ["svg", "pdf"]}, (PLOT,)),
    (60, {"point_labels": "ids", "outputs": ["embedding", "spectrum"]}, ())])
def test_what_drawing_takes_is_counted_where_something_is_drawn(rows: int, report: dict[str, Any],
                                                                needs: tuple[str, ...]) -> None:
    run = finished_run(rows=rows, report=report)
    assert plot_cost(run.config.report, run.embedding, unsure=False).needs == needs


def test_no_names_stand_over_a_background_that_says_how_unsure_it_is() -> None:
    run = finished_run(rows=9, report={"point_labels": "auto", "figures": ["png"]})
    assert plot_cost(run.config.report, run.embedding, unsure=True).needs == (PLOT,)
    assert plot_cost(finished_run(rows=9).config.report, run.embedding, unsure=False) == NOTHING


@pytest.mark.medium
@pytest.mark.parametrize("name", some_everyday(HOSTILE), ids=range(len(HOSTILE)))
def test_names_on_a_plot_stay_text(name: str) -> None:
    run = finished_run(rows=6, labels={name: [name, "b"] * 3}, ids=[name + str(row) for row in range(6)],
                   loadings=CsvColumns({"column": [name, "b"], "y1": ["1", "0.5"], "y2": ["1", "0"]}),
                   report={"point_labels": "ids", "arrows": 2, "outlines": {"name": "hulls"}, "title": name[:200]})
    text = page(run)
    seen = Seen(text)
    assert seen.open == [] and seen.tags <= TAGS and seen.attributes <= ATTRIBUTES
    assert not re.search(r"<script|url\(", text)
    assert all(drawn("svg").count(b"<script") == 0 for drawn in figures(run).values())


def test_edges_lie_under_the_points_each_once() -> None:
    ring = np.array([[row, (row + 1) % 40] for row in range(40)])
    cloud = points(CLOUD)
    drawn = Plot(cloud, "t", Look(), (), DrawnEdges.of(CLOUD, ring, 0)).draw("svg").decode()
    edge, dot = (f"{role}: {INKS[kind].light}" for role, kind in (("stroke", "edge"), ("fill", "c0")))
    assert drawn.count(edge) == 40 and drawn.rindex(edge) < drawn.index(dot)


@pytest.mark.medium
def test_the_scree_plot_has_the_share_of_the_trace_on_a_scale_whose_zero_is_that_of_the_bars() -> None:
    spectrum = ScreeValues([5.0, 4.0, -1.0], [0.625, 1.125, 1.0], 2, 3)
    figure = Figure()
    ScreePlot(spectrum, "t")._paint(figure, figure.add_subplot())
    left, right = figure.axes
    (line,) = right.lines
    assert line.get_ydata() == pytest.approx([62.5, 112.5, 100.0]) and list(line.get_xdata()) == [1, 2, 3]
    places = [axes.transData.transform((1, 0))[1] for axes in (left, right)]
    assert places[0] == pytest.approx(places[1])
    assert b">cumulative share<" in ScreePlot(spectrum, "t").draw("svg")
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["kept", "negative", "cumulative share"]  # in this order, whichever axes they are drawn on
    unknown = replace(spectrum, cumulative=[None] * 3)
    assert b"cumulative" not in ScreePlot(unknown, "t").draw("svg")


@pytest.mark.medium
def test_what_is_drawn_is_said() -> None:
    run = finished_run(loadings=LOADINGS, report={"outlines": {"name": "ellipses", "level": 0.9}, "arrows": 2,
                                              "point_labels": "none"})
    text = page(run)
    assert "Ellipses hold 90% of a normal distribution" in text
    assert "Arrows are the loadings of the 2 of 3 columns with the largest loadings" in text
    spiders = page(finished_run(labels={"kind": ["a", "b"] * 15}, report={"outlines": {"name": "spiders"}}))
    assert "Lines join each point to the centroid of its group." in spiders
    assert figures(run)["scree"]("svg").startswith(b"<?xml") and b">PC 1 (40.0%)<" in figures(run)["scatter"]("svg")


@pytest.mark.parametrize("rows", [30, 61])
def test_a_run_is_drawn_alike_whether_matplotlib_is_installed_or_not(rows: int,
                                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn() -> tuple[str, dict[str, bytes]]:
        run = finished_run(rows=rows, labels={"kind": ["a"] * rows}, report={"point_labels": "auto"})
        return page(run), {name: draw("svg") for name, draw in figures(run).items()}

    with_matplotlib = drawn()
    for module in ("matplotlib", "adjustText"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr("mlcli.base.values.extras.find_spec", lambda name: None)
    assert drawn() == with_matplotlib and "--ink" not in with_matplotlib[0]


def test_names_without_room_are_counted_below_the_figure() -> None:
    run = finished_run(rows=60, report={"point_labels": "auto"})
    near = (np.arange(120.0) % 11 + np.linspace(0, 0.4, 120)).reshape(60, 2)  # side by side, and none at one place
    text = page(replace(run, embedding=replace(run.embedding, values=near)))
    assert "of 60 names have room beside their points; mlcli report RUN --point-labels ids" in text
    assert "have room" not in page(finished_run(rows=4, report={"point_labels": "auto"}))


def test_what_only_matplotlib_draws_is_refused_without_it(monkeypatch: pytest.MonkeyPatch,
                                                          capsys: pytest.CaptureFixture[str], wording: Wording) -> None:
    monkeypatch.setattr("mlcli.base.values.extras.find_spec", lambda name: None)
    assert command(["embed", "absent.csv", "--set", "report.arrows=3"]) == 69
    assert "E-EXTRA" in (told := capsys.readouterr().err) and "E-EXTRA" in wording(told)


def test_axes_have_the_names_of_their_fields_and_shares_where_these_are_of_variance() -> None:
    shares = [0.5, 0.25]
    assert METHODS["pca"]().axis_names(shares, 3) == ["PC 1 (50.0%)", "PC 2 (25.0%)", "PC 3"]
    assert METHODS["mds"]().axis_names(shares, 1) == ["PCo 1 (50.0%)"]
    assert METHODS["fa"]().axis_names(shares, 1) == ["Factor 1 (50.0%)"]
    assert METHODS["lle"]().axis_names(shares, 2) == ["LLE 1", "LLE 2"]
    assert METHODS["cca"]().axis_names(shares, 1) == ["CCA 1"]
    assert all(method.axis for method in METHODS.values())


def parts_of(plot: Plot | ScreePlot, size: tuple[float, float]) -> tuple[Any, Any, Any, list[str]]:
    """The boxes of the sheet, of the title, and of the legend as they are drawn, in points; the legend's names."""
    kept: list[Any] = []
    sheet(plot.look, size, "svg", lambda figure, axes: (kept.append(figure), plot._paint(figure, axes))[0])
    figure, = kept
    title, = figure.findobj(lambda part: part.get_label() == TITLE)
    return figure.bbox, title.get_window_extent(), figure.legends[0].get_window_extent(), [
        text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.medium
@pytest.mark.parametrize("title", ["pca: standardized_measurements_of_2026-11-24.csv", "A title in words, as long as "
                                   "those of papers are, which no line of three inches can hold", "m" * 100])
@pytest.mark.parametrize("size", [(3.5, 3.0), pytest.param((6.5, 4.0), marks=pytest.mark.slow),
                                  pytest.param((3.0, 5.0), marks=pytest.mark.slow)])
def test_a_title_ends_before_the_legend_and_the_edge(title: str, size: tuple[float, float]) -> None:
    whole, box, legend, _ = parts_of(Plot(points(), title, Look(size=size)), size)
    assert box.x1 < legend.x0 and box.y1 <= whole.y1 and box.x0 > 0
    eigenvalues = ScreeValues([3.0, 2.0, 0.5], [0.5, 0.9, 1.0], 2, 3, "eigenvalues")
    whole, box, legend, _ = parts_of(ScreePlot(eigenvalues, title, Look(size=size)), size)
    assert box.x1 <= whole.x1 and box.y1 <= whole.y1 and not box.overlaps(legend)


def test_a_title_that_fits_stays_in_one_line() -> None:
    drawn = Plot(points(), "pca: iris.csv", Look(size=(3.5, 3.0))).draw("svg")
    assert b">pca: iris.csv</text>" in drawn


@pytest.mark.parametrize("groups", [3, 24])
@pytest.mark.parametrize("size", [(3.5, 3.0), (6.5, 2.0), (3.0, 5.0)])
def test_a_legend_fits_its_sheet_and_leaves_room_for_the_points(groups: int, size: tuple[float, float]) -> None:
    names = [f"group number {row % groups} of a long study" for row in range(96)]
    cloud = np.random.default_rng(0).standard_normal((96, 2))
    plot = Plot(Points(cloud, names, coloring("a column of labels", names), 96), "t", Look(size=size, font_size=11))
    whole, _, legend, texts = parts_of(plot, size)
    assert legend.y0 >= 0 and legend.x1 <= whole.x1 + 1 and legend.x0 > 0.45 * whole.x1
    assert len(texts) == len(set(texts)) == groups
