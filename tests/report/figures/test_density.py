"""Very many points as an image: every point is there, colors are those of most, and more are never less opaque."""

from dataclasses import replace

import numpy as np
import pytest

from mlcli.config.report_options import Look
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.report.drawing.axes import Panel, Scale
from mlcli.report.drawing.figure import Figure, Line, Picture, Text
from mlcli.report.drawing.matplotlib_figures import image
from mlcli.report.drawing.palette import INKS, STEPS
from mlcli.report.drawing.svg import document
from mlcli.report.figures.coloring import Coloring, ColorRange, Groups, coloring, single_color
from mlcli.report.figures.density import FINE, LEAST, SHADES, density
from mlcli.report.figures.scatter import MOST
from mlcli.report.page.page import page
from tests.report.png import images
from tests.report.support import finished_run

PANEL = Panel(Scale(0, 1, 20, 420, 0.2), Scale(0, 1, 330, 30, 0.2))
STEP = 255 / (SHADES - 1) / 2 + 1  # that rounding to shades may move a level by


def tone(kind: str, ground: int = 0) -> list[int]:
    ink = INKS[kind].dark if ground else INKS[kind].light
    return [int(ink[place : place + 2], 16) for place in (1, 3, 5)]


def placed(pixels: np.ndarray) -> np.ndarray:
    """The points that the panel puts there."""
    return (pixels - (20, 330)) / (400, -300)


def pictures(values: np.ndarray, colors: Coloring) -> list[Picture]:
    return [mark for mark in density(values, colors, PANEL).pictures(colors, PANEL) if isinstance(mark, Picture)]


def drawn(pixels: np.ndarray, labels: list[str] | None = None) -> list[Picture]:
    colors = single_color(len(pixels)) if labels is None else coloring("kind", labels)
    return pictures(placed(pixels), colors)


def cell(picture: Picture, x: float, y: float) -> np.ndarray:
    return np.asarray(picture.levels[int((y - 30) * FINE), int((x - 20) * FINE)], int)


@pytest.mark.medium
def test_the_image_covers_the_points_and_nothing_else() -> None:
    pixels = np.random.default_rng(0).uniform((20, 30), (420, 330), (500, 2))
    there = drawn(pixels)[0].levels[:, :, 3] > 0
    assert all(there[int((y - 30) * FINE), int((x - 20) * FINE)] for x, y in pixels.tolist())
    rows, columns = np.nonzero(there)
    places = (np.column_stack([columns, rows]) + 0.5) / FINE + (20, 30)
    gaps = np.linalg.norm(places[:, None] - pixels, axis=2).min(axis=1)
    assert gaps.max() < 3.0 / FINE


def test_more_points_are_more_opaque_and_one_is_seen() -> None:
    counts = (1, 2, 5, 20, 100)
    pixels = np.repeat([[60.0 + 70 * i, 100.0] for i in range(5)], counts, axis=0)
    opacities = [int(cell(drawn(pixels)[0], 60.0 + 70 * i, 100.0)[3]) for i in range(5)]
    assert opacities[0] == pytest.approx(255 * LEAST, abs=STEP) and opacities[-1] == 255
    assert (np.diff(opacities) > 0).all()


@pytest.mark.parametrize("ground", [0, 1])
def test_a_mixed_cell_has_the_color_of_its_largest_group_and_of_equal_ones_the_rarest(ground: int) -> None:
    pixels = np.array([[100.0, 100.0]] * 4 + [[300.0, 200.0]] * 3 + [[200.0, 300.0]] * 2)
    labels = ["a", "a", "a", "b", "b", "b", "b", "a", "b"]
    colors = coloring("kind", labels)
    assert isinstance(colors, Groups) and colors.names == ["a", "b"] and colors.counts == [4, 5]
    picture = drawn(pixels, labels)[ground]
    of = [cell(picture, x, y)[:3].tolist() for x, y in ((100, 100), (300, 200), (200, 300))]
    assert of == [tone(colors.kinds[place], ground) for place in (0, 1, 0)]


def test_overlapping_groups_keep_their_colors() -> None:
    """A mean of ten colors would be gray everywhere."""
    generator = np.random.default_rng(3)
    labels = [f"k{i}" for i in generator.integers(0, 10, MOST + 1)]
    colors = coloring("kind", labels)
    levels = drawn(generator.normal((220, 180), 30, (len(labels), 2)), labels)[0].levels
    seen = {tuple(part) for part in levels[levels[:, :, 3] > 0][:, :3].tolist()}
    assert seen == {tuple(tone(kind)) for kind in colors.kinds} and len(seen) == 10


def test_a_mixed_cell_of_numbers_has_the_color_of_their_mean() -> None:
    numbers = [*map(str, range(STEPS)), "NA"]
    values = coloring("size", [*numbers, "0", "20", "10", "NA"])
    assert isinstance(values, ColorRange) and values.of[-2] == 10
    pixels = np.vstack([np.full((len(numbers), 2), 50.0), [[200, 100]] * 2, [[300, 100], [300, 200]]])
    picture = pictures(placed(pixels), values)[0]
    assert cell(picture, 200, 100).tolist() == cell(picture, 300, 100).tolist()[:3] + [cell(picture, 200, 100)[3]]
    assert cell(picture, 300, 100)[:3].tolist() == tone("s10") and cell(picture, 300, 200)[:3].tolist() == tone("other")


def test_the_order_of_the_rows_does_not_matter() -> None:
    generator = np.random.default_rng(1)
    pixels, labels = generator.uniform((20, 30), (420, 330), (400, 2)), [f"k{i % 3}" for i in range(400)]
    order = generator.permutation(400)
    moved = coloring("kind", labels).take(order)
    for one, other in zip(drawn(pixels, labels), pictures(placed(pixels[order]), moved), strict=True):
        assert np.array_equal(one.levels, other.levels)


def test_the_page_shows_one_of_the_images_as_the_screen_is() -> None:
    text = page(finished_run(rows=MOST + 1, labels={"kind": [f"k{i % 4}" for i in range(MOST + 1)]}))
    day, night, *bars = images(text)
    assert len(bars) == 2 and not np.array_equal(*bars) and "points that overlap" in text
    assert day.shape == night.shape and np.array_equal(day[:, :, 3], night[:, :, 3])
    assert not np.array_equal(day, night)
    assert ".night{display:none}" in text and ".day{display:none}.night{display:inline}" in text
    assert f"All {MOST + 1:,} points" in text and "random sample" not in text
    assert images(page(finished_run(rows=MOST))) == []


def test_paper_has_the_image_for_light_ground() -> None:
    pytest.importorskip("matplotlib")
    day, night = drawn(np.full((50, 2), 100.0))
    both, alone = (Figure("f", 440, 340, marks) for marks in ([day, night], [day]))
    assert image(both, "png") == image(alone, "png") != image(Figure("f", 440, 340, []), "png")
    assert document(both).count("<image ") == 2


def test_the_legend_says_how_many_points_overlap_at_a_shade() -> None:
    """At the height of a number the bar is as opaque as a place with so many points."""
    counts = (1, 10, 100, 700)
    pixels = np.repeat([[60.0 + 70 * i, 100.0] for i in range(4)], counts, axis=0)
    dense = density(placed(pixels), single_color(len(pixels)), PANEL)
    marks = dense.legend(0, 0)
    texts = [mark for mark in marks if isinstance(mark, Text)]
    assert [text.text for text in texts] == [
        "811 points", "points that overlap", "1", "10", "100", "700 or more"] and dense.most == 700
    bar = next(mark for mark in marks if isinstance(mark, Picture))
    assert dense.opacities.max() == 255 == bar.levels[:, 0, 3].max()
    ticks = [mark for mark in marks if isinstance(mark, Line)]
    levels = dense.opacities
    for tick, i in zip(ticks, range(4), strict=True):
        place = (tick.y1 - bar.y) / bar.height * (len(bar.levels) - 1)
        seen = int(levels[int((100 - 30) * FINE), int((60 + 70 * i - 20) * FINE)])
        assert seen == pytest.approx(np.interp(place, range(len(bar.levels)), bar.levels[:, 0, 3]), abs=2 * STEP)


def test_few_points_have_no_legend_of_shades() -> None:
    assert "points that overlap" not in page(finished_run(rows=MOST))


@pytest.mark.medium
def test_paper_draws_very_many_points_by_their_density() -> None:
    """As many points more in one place change the scale below the plot, not the marks on it."""
    pytest.importorskip("matplotlib")
    from mlcli.report.figures.scatter import Points
    from mlcli.report.paper.scatter import DENSE, Plot

    generator = np.random.default_rng(5)
    some = generator.standard_normal((DENSE + 1, 2))
    few, many = (Plot(Points(values, RowNumbers.up_to(len(values)), single_color(len(values)), len(values)), "t")
                 for values in (some[:-1], some))
    drawn = many.draw("svg").decode()
    assert f"{DENSE + 1:,} points" in drawn and drawn.count("<image ") >= 1
    assert "overlap" not in few.draw("svg").decode()
    chosen = replace(many, look=Look(marker_size=1.0)).draw("svg").decode()  # as the user says
    assert "overlap" not in chosen
