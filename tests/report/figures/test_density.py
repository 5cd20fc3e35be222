"""Very many points as an image: every point is there, colors are those of most, and more are never less opaque."""

import numpy as np
import pytest

from mlcli.report.drawing.axes import Panel, Scale
from mlcli.report.drawing.figure import Figure, Picture
from mlcli.report.drawing.matplotlib_figures import image
from mlcli.report.drawing.palette import INKS, STEPS
from mlcli.report.drawing.svg import document
from mlcli.report.figures.coloring import ColorRange, Groups, coloring, single_color
from mlcli.report.figures.density import FINE, LEAST, SHADES, clouds
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


def drawn(pixels: np.ndarray, labels: list[str] | None = None) -> list[Picture]:
    colors = single_color(len(pixels)) if labels is None else coloring("kind", labels)
    return [mark for mark in clouds(placed(pixels), colors, PANEL) if isinstance(mark, Picture)]


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
    picture = next(mark for mark in clouds(placed(pixels), values, PANEL) if isinstance(mark, Picture))
    assert cell(picture, 200, 100).tolist() == cell(picture, 300, 100).tolist()[:3] + [cell(picture, 200, 100)[3]]
    assert cell(picture, 300, 100)[:3].tolist() == tone("s10") and cell(picture, 300, 200)[:3].tolist() == tone("other")


def test_the_order_of_the_rows_does_not_matter() -> None:
    generator = np.random.default_rng(1)
    pixels, labels = generator.uniform((20, 30), (420, 330), (400, 2)), [f"k{i % 3}" for i in range(400)]
    order = generator.permutation(400)
    moved = coloring("kind", labels).take(order)
    for one, other in zip(drawn(pixels, labels), clouds(placed(pixels[order]), moved, PANEL), strict=True):
        assert isinstance(other, Picture) and np.array_equal(one.levels, other.levels)


def test_the_page_shows_one_of_the_images_as_the_screen_is() -> None:
    text = page(finished_run(rows=MOST + 1, labels={"kind": [f"k{i % 4}" for i in range(MOST + 1)]}))
    day, night = images(text)
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
