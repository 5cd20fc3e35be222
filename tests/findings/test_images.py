"""Rows as images over the embedding: spread over all of it without overlap; axes as images; the order of cells."""

from dataclasses import replace

import numpy as np
import pytest

from mlcli.config.report_options import Image
from mlcli.findings.frame.finished_run import CsvColumns
from mlcli.findings.images.sections import (
    GAP,
    MOST_PICTURES,
    Thumbnails,
    axes_as_images,
    box_of,
    choose_rows,
    pictures_over_plane,
)
from mlcli.report.drawing.axes import to_pixels
from mlcli.report.drawing.figure import Dots, Picture, Text
from mlcli.report.figures.images import ImageShape
from mlcli.report.figures.scatter import MOST, panel_of, plane
from mlcli.report.page.page import page
from tests.report.png import images
from tests.report.support import finished_run, with_findings

GENERATOR = np.random.default_rng(3)
CLOUDS = {"plane": GENERATOR.standard_normal((400, 3)), "line": GENERATOR.standard_normal((300, 1)),
          "clumps": np.repeat(GENERATOR.standard_normal((4, 2)), 50, axis=0), "alike": np.ones((5, 2)),
          "alone": np.zeros((1, 2)), "many": GENERATOR.standard_normal((MOST + 500, 2)),
          "huge": GENERATOR.standard_normal((60, 2)) * 1e307}
SHAPES = [Image(8, 8), Image(4, 40), Image(50, 2, 3)]


@pytest.mark.parametrize("image", SHAPES, ids=str)
@pytest.mark.parametrize("name", CLOUDS)
def test_pictures_do_not_overlap_and_leave_no_room_for_another(name: str, image: Image) -> None:
    values, box = CLOUDS[name], np.array(box_of(image)) + GAP
    rows = choose_rows(values, image, 0)
    places = to_pixels(plane(values), panel_of(values)) / box
    apart = np.abs(places[rows][:, None] - places[rows]).max(axis=2) + 2 * np.eye(len(rows))
    assert apart.min() >= 1
    if len(rows) < MOST_PICTURES and name != "many":
        assert np.abs(places[:, None] - places[rows]).max(axis=2).min(axis=1).max() < 1
    assert np.array_equal(rows, choose_rows(values, image, 0))


def test_each_picture_lies_at_its_own_point() -> None:
    values, image = CLOUDS["plane"], Image(2, 2)
    rows = choose_rows(values, image, 0)
    cells = GENERATOR.uniform(size=(len(values), 4))
    figure = pictures_over_plane(values, Thumbnails(rows, cells[rows]), image, 0, ("Isomap 1", "Isomap 2"), "Rows")
    assert {"Isomap 1", "Isomap 2"} <= {mark.text for mark in figure.marks if isinstance(mark, Text)}
    marked = next(mark for mark in figure.marks if isinstance(mark, Dots) and mark.kind == "mark")
    pictures = [mark for mark in figure.marks if isinstance(mark, Picture)]
    whole = to_pixels(plane(values), panel_of(values))
    shape = ImageShape.of(image, cells[rows])
    for row, place, picture in zip(rows, marked.points, pictures, strict=True):
        np.testing.assert_allclose(place, whole[row])
        np.testing.assert_allclose((picture.x, picture.y), whole[row] + GAP / 2)
        assert np.array_equal(picture.levels, shape.levels(cells[row][None])[0])
        assert picture.x + picture.width <= figure.width and picture.y + picture.height <= figure.height


@pytest.mark.parametrize("channels", [1, 3])
def test_cells_come_in_either_order(channels: int) -> None:
    cells = np.arange(6.0 * channels)
    rows, columns = (ImageShape(Image(2, 3, channels, order), 0.0, 5.0).arrange(cells[None])[0]
                     for order in ("row", "column"))
    assert np.array_equal(rows, cells.reshape((2, 3, channels)))
    assert np.array_equal(columns, cells.reshape((2, 3, channels), order="F"))


def test_axes_are_images_whose_middle_gray_is_zero() -> None:
    weights = np.array([[1.0, 0.0], [-2.0, 0.0], [0.0, 0.0], [0.5, 0.0]])
    marks = axes_as_images(weights, Image(2, 2), ["a", "b"]).marks
    assert [mark.text for mark in marks if isinstance(mark, Text)] == ["a", "b"]
    first, second = (mark for mark in marks if isinstance(mark, Picture))
    assert first.levels[..., 0].tolist() == [[191, 0], [128, 159]] and (second.levels[..., 0] == 128).all()


def test_the_page_shows_them_where_rows_are_images() -> None:
    run = finished_run(rows=40, labels={})
    report = run.config.report.replace(image=(2, 3))
    found = Thumbnails(np.array([3, 8]), GENERATOR.uniform(size=(2, 6)))
    weights = CsvColumns({"column": [f"x{i}" for i in range(6)], "y1": [str(i) for i in range(6)], "y2": ["1"] * 6})
    shown = page(with_findings(replace(run, config=run.config.replace(report=report)), images=found, loadings=weights))
    assert len(images(shown)) == 4 and "<h2>Images over the embedding</h2>" in shown and "Axes as images" in shown
    assert "Images over the embedding" not in page(run) and images(page(run)) == []
