"""What the report shows of a decoder: the right rows, the right places, and how sure the decoder is."""

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.config.report_options import Image
from mlcli.config.run_config import RunConfig
from mlcli.core.centering import Centering
from mlcli.core.similarities.base import Columns
from mlcli.core.similarities.projector import Affine, Decoder, Projector
from mlcli.data.prepare.apply import prepare as prepare_table
from mlcli.data.prepare.prepare import Prepare
from mlcli.data.table.table import Table
from mlcli.findings.decoded import sections
from mlcli.findings.decoded.decode import CANDIDATES, CELLS, Decoded, decode_rows
from mlcli.methods import Model
from mlcli.report.drawing.figure import Curve, Dots, Picture, png
from mlcli.report.figures import shade
from mlcli.report.figures.images import ImageShape
from mlcli.report.figures.scatter import panel_of
from mlcli.report.page.page import page
from tests.laws.contract.toy import Parabola
from tests.report.png import images, pixels
from tests.report.support import finished_run, with_findings
from tests.report.test_page import ATTRIBUTES, HOSTILE, TAGS, Seen
from tests.support import Notes

GENERATOR = np.random.default_rng(5)
MEAN = np.array([5.0, -1.0, 2.0])


@frozen
class Unsure(Decoder):
    """y1, y2 and their sum, with the variance 1 + y1²."""

    def __call__(self, embedding: Array) -> Array:
        """The features."""
        return np.column_stack([embedding[:, 0], embedding[:, 1], embedding[:, 0] + embedding[:, 1]])

    def variance(self, coordinates: Array) -> Array:
        """Of each place."""
        return 1 + coordinates[:, 0] ** 2


def made(decoder: Decoder | None, points: Array, embedding: Array, prepare: dict[str, Any] | None = None,
         image: list[int] | None = None, unit: int = 0) -> Decoded | None:
    """What a run of prepared points stores of a decoder."""
    names = tuple(f"x{i}" for i in range(points.shape[1]))
    config = RunConfig.model_validate({"input": {"path": "points.csv"}, "prepare": prepare or {},
                                       "report": {"image": image}})
    table = Table(points, names, [str(i) for i in range(len(points))])
    prepared = prepare_table(Prepare.model_validate(prepare or {}), table)
    projector = Projector(Columns(), Centering(np.zeros(points.shape[1]), across=False),
                          np.zeros((points.shape[1], embedding.shape[1])), decoder, unit, unit)
    return decode_rows(Model(embedding=embedding, projector=projector), prepared.table, prepared.preparation.undone,
                       len(prepared.table.columns), config)


def parabola() -> tuple[Parabola, Array, Array]:
    """A curve, places on it, and points near it that lie farther and farther away."""
    curve = Parabola(MEAN, np.array([1.0, 2.0, 0.0]), np.array([0.0, 1.0, 3.0]))
    places = GENERATOR.standard_normal((50, 1))
    away = np.zeros((50, 3))
    away[:, 2] = np.linspace(1, 50, 50)[GENERATOR.permutation(50)]
    return curve, places, curve(places) + away


def test_rows_are_drawn_from_the_smallest_to_the_largest_error() -> None:
    curve, places, points = parabola()
    found = made(curve, points, places)
    assert found is not None
    errors = np.linalg.norm(points - curve(places), axis=1)
    assert np.allclose(found.errors, errors[found.rows], rtol=1e-13)
    assert np.allclose(found.errors, [1, 8, 15, 22, 29, 36, 43, 50])
    assert np.array_equal(found.originals, points[found.rows])
    assert np.allclose(found.reconstructed, curve(places)[found.rows], rtol=1e-14)


def test_a_curve_is_decoded_between_the_quantiles_of_its_only_axis() -> None:
    curve, places, points = parabola()
    found = made(curve, points, places)
    assert found is not None and found.ends.shape == (1, 2) and found.deviations is None
    assert np.allclose(found.ends, np.quantile(places, [0.02, 0.98]))
    assert np.allclose(found.plane, curve(np.linspace(*found.ends[0], found.side)[:, None]))


def test_a_grid_goes_rightward_and_downward_with_other_axes_at_their_means() -> None:
    embedding = GENERATOR.standard_normal((200, 3)) + [0, 0, 7]
    found = made(Affine(np.zeros(3), np.eye(3)), embedding, embedding)
    assert found is not None
    grid = found.plane.reshape(found.side, found.side, 3)
    assert np.allclose(grid[0, :, 0], np.linspace(*found.ends[0], found.side))
    assert np.allclose(grid[:, 0, 1], np.linspace(*found.ends[1], found.side)[::-1])
    assert np.allclose(grid[..., 2], embedding[:, 2].mean())


def test_features_are_those_of_the_input_and_errors_those_of_the_method() -> None:
    points = GENERATOR.uniform(1, 9, (30, 3)) * [1, 100, 1e4]
    prepared = np.log1p(points)
    prepared = (prepared - prepared.mean(axis=0)) / prepared.std(axis=0)
    found = made(Affine(np.zeros(3), np.eye(3, 2)), points, prepared[:, :2],
                 {"transform": ["log1p"], "scale": "standard"})
    assert found is not None
    assert np.allclose(found.originals, points[found.rows]) and np.allclose(found.reconstructed[:, :2],
                                                                            found.originals[:, :2])
    assert np.allclose(found.errors, np.abs(prepared[found.rows, 2]))


def test_missing_cells_do_not_count_and_stay_missing() -> None:
    points = GENERATOR.standard_normal((20, 3))
    points[3:, 1] = np.nan
    found = made(Affine(np.zeros(3), np.zeros((3, 2))), points, points[:, [0, 2]], {"missing": "model"})
    assert found is not None
    assert np.allclose(found.errors, np.sqrt(np.nansum(points[found.rows] ** 2, axis=1)))
    assert np.array_equal(found.originals, points[found.rows], equal_nan=True)


def test_of_many_rows_a_sample_is_looked_at() -> None:
    points = GENERATOR.standard_normal((CANDIDATES + 500, 3))
    first, again = (made(Affine(np.zeros(3), np.eye(3, 2)), points, points[:, :2]) for _ in range(2))
    assert first is not None and again is not None
    assert all(np.array_equal(value, vars(again)[name]) for name, value in vars(first).items() if value is not None)
    text = page(finished_run(rows=CANDIDATES + 500, decoded=first))
    assert "at even steps of rank of a random sample of 2,000 of 2,500 rows" in text


@pytest.mark.parametrize("columns", [2, 1001])
def test_profiles_of_too_few_or_too_many_columns_are_not_drawn(columns: int) -> None:
    points = GENERATOR.standard_normal((10, columns))
    assert made(Affine(np.zeros(columns), np.eye(columns, 2)), points, points[:, :2]) is None


def test_large_images_make_a_small_grid() -> None:
    points = np.zeros((4, 2**15))
    found = made(Affine(points[0], np.ones((2**15, 1))), points, np.arange(4.0)[:, None], image=[128, 256])
    assert found is not None and found.side == 3 and found.plane.size <= CELLS


def test_what_leaves_the_range_of_doubles_is_not_drawn_and_said() -> None:
    points = GENERATOR.standard_normal((10, 3))
    with Notes() as notes:
        assert made(Affine(np.zeros(3), np.full((3, 2), 1e308)), points, 1e3 + points[:, :2]) is None
    assert [note.code for note in notes.notes] == ["N-NOT-DRAWN"]


@pytest.mark.parametrize("exponent", [0, 400])
def test_deviations_lie_over_the_panel_in_the_units_of_the_data(exponent: int) -> None:
    embedding = np.ldexp(GENERATOR.standard_normal((100, 3)), exponent)
    found = made(Unsure(), np.ldexp(GENERATOR.standard_normal((100, 3)), exponent), embedding, unit=exponent)
    assert found is not None and found.deviations is not None
    panel, count = panel_of(embedding), found.deviations.shape[1]
    width = (panel.x.high - panel.x.low) / count
    centers = np.ldexp(panel.x.low + width * (np.arange(count) + 0.5), -exponent)
    assert np.allclose(np.ldexp(found.deviations, -exponent), np.sqrt(1 + centers**2), rtol=1e-12)


def test_the_background_is_gray_where_the_decoder_is_unsure() -> None:
    deviations = np.array([[0.1, 1.0], [10.0, 1e-9]])
    panel = panel_of(GENERATOR.standard_normal((20, 2)))
    picture, = shade.shade(deviations, panel)
    assert isinstance(picture, Picture) and (picture.levels[..., 0] == shade.GRAY).all()
    # steps of ten are equal, and no more than a thousandth of the largest is told apart
    assert np.array_equal(picture.levels[..., 1], np.rint(shade.MOST * np.array([[1 / 3, 2 / 3], [1, 0]])))
    left, right, top, bottom = panel.edges
    assert (picture.x, picture.y, picture.width, picture.height) == (left, top, right - left, bottom - top)


def test_the_page_has_the_background_with_its_legend_where_the_decoder_knows() -> None:
    embedding = GENERATOR.standard_normal((30, 2))
    found = made(Unsure(), np.column_stack([embedding, embedding.sum(axis=1)]), embedding)
    assert found is not None and found.deviations is not None
    run = finished_run(decoded=found)
    run = replace(run, embedding=replace(run.embedding, values=embedding))
    text = page(run)
    background, bar = images(text)
    assert background.shape[:2] == found.deviations.shape and bar.shape[1] == 1
    assert "The darker gray the background, the larger the decoder" in text
    assert f">{found.deviations.max():.3g}</text>" in text and f">{found.deviations.min():.3g}</text>" in text
    even = with_findings(run, decoded=replace(found, deviations=np.full((3, 4), 0.25)))
    assert images(page(even)) == [] and "the same posterior standard deviation everywhere: 0.25" in page(even)


@pytest.mark.parametrize("channels", [2, 4])
def test_a_png_holds_its_numbers(channels: int) -> None:
    levels = GENERATOR.integers(0, 256, (7, 5, channels), dtype=np.uint8)
    assert np.array_equal(pixels(png(levels)), levels)


def test_other_readers_see_the_same_image() -> None:
    image = pytest.importorskip("matplotlib.image")
    levels = GENERATOR.integers(0, 256, (7, 5, 4), dtype=np.uint8)
    assert np.array_equal((255 * image.imread(io.BytesIO(png(levels)))).round(), levels)


def test_colors_and_gaps_of_images() -> None:
    rows = GENERATOR.uniform(0, 1, (2, 2 * 3 * 3))
    rows[0, 4] = np.nan
    shape = ImageShape(Image(2, 3, 3), 0.0, 1.0)
    sheet = shape.sheet(rows, 2)
    assert sheet.shape == (2, 3 + 1 + 3, 4)
    assert np.array_equal(sheet[:, 4:, :3], np.rint(255 * rows[1].reshape(2, 3, 3)))
    assert not sheet[:, 3, 3].any() and sheet[0, 1, 3] == 0 and (sheet[:, [0, 2, 4, 5, 6], 3] == 255).all()


def test_what_lies_beyond_the_range_is_drawn_like_its_ends() -> None:
    levels = ImageShape(Image(1, 4), -1e308, 1e308).levels(np.array([[-1.7e308, -1e308, 0.0, 1.7e308]]))
    assert levels[0, 0, :, 0].tolist() == [0, 0, 128, 255]


def drawn(found: Decoded, apart: bool) -> list[Array]:
    """The heights of the lines of originals and reconstructions, in turn."""
    figure = sections.profile_rows(found, ["a"] * len(found.rows), apart=apart)
    return [-np.array(mark.points)[:, 1] for mark in figure.marks if isinstance(mark, Curve)]


def test_profiles_pass_through_their_values() -> None:
    curve, places, points = parabola()
    found = made(curve, points, places)
    assert found is not None
    lines = drawn(found, apart=False)
    values = np.stack([found.originals, found.reconstructed], axis=1).reshape(-1, 3)
    assert len(lines) == 2 * len(found.rows)
    for line, row in zip(lines, values, strict=True):
        assert np.allclose(np.diff(line), np.diff(row) * (np.ptp(lines[0]) / np.ptp(values[0])), atol=1e-9)


def test_scaled_columns_have_ranges_of_their_own() -> None:
    points = GENERATOR.standard_normal((20, 3))
    narrow, wide = (made(Affine(np.zeros(3), np.eye(3, 2) * size[:, None]), points * size, points[:, :2])
                    for size in (np.ones(3), np.array([1.0, 1e6, 1e-3])))
    assert narrow is not None and wide is not None
    wide = replace(wide, rows=narrow.rows, originals=points[narrow.rows] * [1.0, 1e6, 1e-3],
                   reconstructed=narrow.reconstructed * [1.0, 1e6, 1e-3])
    assert np.allclose(drawn(narrow, apart=True), drawn(wide, apart=True))


def test_a_profile_is_broken_where_cells_are_missing() -> None:
    marks = sections.line("curve", np.array([0.1, 0.2, np.nan, 0.4, np.nan, 0.5, 0.6, 0.7]), (0, 0, 100, 50))
    assert [len(mark.points) for mark in marks if isinstance(mark, Curve | Dots)] == [2, 1, 3]
    assert isinstance(marks[1], Dots)


@pytest.mark.parametrize("shape", [None, (1, 3)])
def test_names_stay_text_beside_decoded_rows(shape: tuple[int, ...] | None) -> None:
    curve, places, points = parabola()
    found = made(curve, points, places)
    ids = [name[:1000] for name in (HOSTILE * 5)[:50]]
    seen = Seen(page(finished_run(rows=50, axes=1, ids=ids, decoded=found, report={"image": shape})))
    assert seen.open == [] and seen.tags <= TAGS | {"image"} and ("image" in seen.tags) == (shape is not None)
    assert seen.attributes <= ATTRIBUTES | {"href", "preserveaspectratio", "image-rendering"}


def test_the_page_says_where_the_decoder_was_asked() -> None:
    points = GENERATOR.standard_normal((30, 4))
    found = made(Affine(np.zeros(4), np.eye(4, 3)), points, points[:, :3])
    assert found is not None
    text = page(finished_run(axes=3, decoded=found))
    assert "<h2>Latent-space grid, decoded</h2>" in text and "<h2>Reconstructions</h2>" in text
    assert "the first two axes; the other axis is at the mean. Lines go over the 4 columns" in text
    assert "decoded" not in page(finished_run(axes=3))
