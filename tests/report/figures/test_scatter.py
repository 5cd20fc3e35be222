"""The edges of the neighbor graph under the scatter plot: between the right points, and no more than a page holds."""

import re
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from mlcli.base.types import Array, Indices
from mlcli.findings.frame.finished_run import FinishedRun
from mlcli.methods import METHODS
from mlcli.report.drawing.axes import Panel, Scale, to_pixels
from mlcli.report.drawing.figure import Text
from mlcli.report.figures.coloring import coloring, single_color
from mlcli.report.figures.scatter import (
    APART,
    ASCENT,
    DESCENT,
    MOST_EDGES,
    SMALL,
    DrawnEdges,
    Points,
    box_of,
    corner_note,
    covered,
    names_beside,
    panel_of,
    place_names,
    scatter,
)
from mlcli.report.page.embedding import LONGEST_SEQUENCE
from mlcli.report.page.figure_files import figures
from mlcli.report.page.page import page
from tests.report.support import finished_run

PANEL = Panel(Scale.over((0.0, 1.0), 60, 468, whole=False), Scale.over((0.0, 1.0), 350, 60, whole=False))
RING = np.column_stack([np.arange(30), (np.arange(30) + 1) % 30])


def lines(drawn: str) -> list[tuple[float, ...]]:
    """The ends of the edges in a figure."""
    (path,) = re.findall(r'<path class="edge" d="([^"]*)"', drawn)
    return [tuple(map(float, part.replace("L", " ").split())) for part in path.split("M")[1:]]


def test_edges_join_the_dots_of_their_points() -> None:
    run = finished_run(edges=RING)
    drawn = figures(run)["scatter"]("svg").decode()
    found = re.findall(r'<path class="plain"[^>]*d="M([\d.]+) ([\d.]+)h0"', drawn)
    dots = [tuple(map(float, place)) for place in found]
    assert len(dots) == 30
    assert sorted(lines(drawn)) == sorted((*dots[left], *dots[right]) for left, right in RING.tolist())
    assert drawn.index('class="edge"') < drawn.index('class="plain"'), "edges lie under the points"
    assert "Lines are the 30 edges of the neighbor graph." in page(run)


def test_only_the_first_plot_has_edges_and_pages_without_them_say_nothing() -> None:
    labels = {"a": ["x", "y"] * 15, "b": ["u", "v", "w"] * 10}
    assert page(finished_run(edges=RING, labels=labels)).count('<path class="edge"') == 1
    assert 'class="edge"' not in page(finished_run())
    assert "neighbor graph" not in page(finished_run())
    assert 'class="edge"' not in page(finished_run(edges=RING, axes=1))


def sequence(rows: int, axes: int = 2) -> FinishedRun:
    """A run whose method takes rows as a sequence."""
    run = finished_run(rows=rows, axes=axes)
    return replace(run, config=run.config.replace(method=METHODS["lgssm"]()))


def test_lines_join_the_successive_rows_of_a_sequence_where_they_do_not_hide_the_points() -> None:
    run = sequence(40)
    found = lines(figures(run)["scatter"]("svg").decode())
    assert [end[2:] for end in found[:-1]] == [start[:2] for start in found[1:]]  # one path
    assert len({end[:2] for end in found} | {found[-1][2:]}) == 40 and "Lines join successive rows." in page(run)
    for other in (sequence(LONGEST_SEQUENCE + 1), sequence(1), sequence(40, axes=1), finished_run(rows=40)):
        assert "successive rows" not in page(other) and 'class="edge"' not in page(other)


def many(rows: int, edges: int) -> tuple[Array, Indices]:
    generator = np.random.default_rng(0)
    return generator.standard_normal((rows, 2)), generator.integers(0, rows, (edges, 2))


def test_of_many_edges_a_seeded_sample_is_drawn_and_the_page_says_so() -> None:
    values, pairs = many(100, 3 * MOST_EDGES)
    first, again, other = (DrawnEdges.of(values, pairs, seed) for seed in (0, 0, 1))
    assert (len(first.ends), first.whole) == (MOST_EDGES, 3 * MOST_EDGES)
    assert np.array_equal(first.ends, again.ends)
    assert not np.array_equal(first.ends, other.ends)
    text = page(finished_run(rows=100, edges=pairs))
    assert "Lines are a random sample of 10,000 of the 30,000 edges of the neighbor graph." in text
    assert len(text) < 2**20


@pytest.mark.parametrize("free", [(1, 1), (1, 0), (0, 1), (0, 0)])
def test_a_note_stands_in_a_corner_without_points_and_no_name_covers_it(free: tuple[int, int]) -> None:
    ends = np.array([[x, y] for x in (0.0, 1.0) for y in (0.0, 1.0)])
    values = np.where((ends == free).all(axis=1)[:, None], 0.5, ends)
    points = Points(values, ["site"] * 4, single_color(4), 4)
    panel = panel_of(values)
    (note,) = corner_note(points, "stress 0.118", panel)
    left, right, top, bottom = box_of(note)
    assert not covered(to_pixels(values, panel), (left, right, top, bottom), points.radius).any()
    assert (left > sum(panel.edges[:2]) / 2) == free[0] and (top < sum(panel.edges[2:]) / 2) == free[1]
    for name in names_beside(points, ["a long name"] * 4, "stress 0.118"):
        assert name is None or not (box_of(name)[0] < right and left < box_of(name)[1]
                                    and box_of(name)[2] < bottom and top < box_of(name)[3])


def test_points_at_one_place_are_named_together() -> None:
    """As colors of hair that are in one cluster: none of their names is lost, and a text is not cut."""
    values = np.array([[0.0, 1.0], [1.0, 0.0], [0.9999, 0.0001], [1.0, 0.0], [1.0, 0.0]])
    points = Points(values, ["row"] * 5, single_color(5), 5)
    texts = names_beside(points, ["Blond", "Black", "Brown", "Red", "a name of twenty signs"])
    assert [text and text.text for text in texts[:4]] == ["Blond", *["Black, Brown, Red"] * 3]
    assert texts[4] is None or texts[4].text == "a name of twenty signs"
    drawn = scatter(points, "hair", names=["Blond", "Black", "Brown", "Red", "a name of twenty signs"])
    assert [mark.text for mark in drawn.marks if isinstance(mark, Text)].count("Black, Brown, Red") == 1


def test_without_names_no_pixels_of_points_are_computed() -> None:
    """Those of millions of points, whose coordinates lie in a file, would fill memory."""
    many = Points(np.broadcast_to([1.0, 2.0], (10**6, 2)), ["site"], single_color(1), 4)
    tracemalloc.start()
    try:
        assert names_beside(many, []) == []
        assert names_beside(many, ["", ""]) == [None, None]
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()


def test_names_cover_no_dot_and_no_other_name_and_stay_in_the_panel() -> None:
    places = np.random.default_rng(3).uniform((60, 60), (468, 350), (60, 2))
    names = [f"site {'x' * (row % 9)}{row}" for row in range(60)]
    found = place_names(places, names, 3.6, PANEL)
    before = {"start": 0.0, "middle": 0.5, "end": 1.0}
    boxes = []
    for text, name in zip(found, names, strict=True):
        if text is not None:
            left = text.x - before[text.anchor] * SMALL * len(name)
            boxes.append((left, left + SMALL * len(name), text.y - ASCENT, text.y + DESCENT))
    assert 20 < len(boxes) < 60
    for place, (left, right, top, bottom) in enumerate(boxes):
        assert left >= 60 and right <= 468 and top >= 60 and bottom <= 350
        assert not any(left < x < right and top < y < bottom for x, y in places.tolist())
        assert not any(left < other[1] and other[0] < right and top < other[3] and other[2] < bottom
                       for other in boxes[:place])


def test_a_name_stands_to_the_right_of_its_dot_where_it_can() -> None:
    name, = place_names(np.array([[100.0, 100.0]]), ["a"], 3.0, PANEL)
    other, = place_names(np.array([[467.0, 100.0]]), ["a"], 3.0, PANEL)
    assert name is not None and (name.x, name.anchor) == (103 + APART, "start")
    assert other is not None and (other.x, other.anchor) == (464 - APART, "end")


def test_the_title_of_a_legend_is_seen_whole() -> None:
    """Its letters are larger than those of the entries; in a plain sans serif font this word is 78 pixels wide."""
    points = Points(np.eye(2), ["1", "2"], coloring("Management", ["BF", "SF"]), 2)
    drawn = scatter(points, "")
    title = next(mark for mark in drawn.marks if getattr(mark, "text", "") == "Management")
    assert drawn.width - title.x > 80
