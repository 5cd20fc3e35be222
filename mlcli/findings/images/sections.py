"""The parts of a report with rows, and axes, as images.

Sources: Tenenbaum, de Silva and Langford, 2000, fig. 1; eigenfaces: Turk and Pentland, 1991.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.scratch import take_rows
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.config.report_options import Image
from mlcli.findings.frame.finished_run import FinishedRun
from mlcli.findings.frame.result import Result
from mlcli.findings.images import ImagesFinding
from mlcli.findings.loadings import LoadingsFinding
from mlcli.report.drawing.axes import Panel, to_pixels
from mlcli.report.drawing.figure import Bar, Dots, Figure, Mark, Picture, Text
from mlcli.report.drawing.html import Part, figure, section
from mlcli.report.drawing.text import LONGEST, shorten
from mlcli.report.figures.images import LETTER, ImageShape
from mlcli.report.figures.scatter import BOTTOM, LEFT, MOST, backdrop, panel_of, plane, sample_rows, sides

AREA = 37.4**2  # square pixels of a picture
SIDES = 13.6, 102.0  # smallest and largest side in pixels
GAP = 4.25  # pixels between two pictures, and between a picture and its point
MOST_PICTURES = 80


@stored("thumbnails", within={"rows": "n"}, rows="m", values="md")
@frozen
class Thumbnails:
    """Some rows with their features, in the input's units or, after a transform without an inverse, in its units."""

    rows: Indices  # m: row numbers in the embedding, in the order of their choice
    values: Array  # m x d, NaN where a cell is missing

    def require_sense(self) -> None:
        """Raise ValueError where the numbers cannot be drawn, or are more than a run writes."""
        if not self.values.size or np.isinf(self.values).any() or len(self.rows) > MOST_PICTURES:
            raise ValueError("it is empty or too large, or holds a number that is not finite")


def thumbnails_of(result: Result, image: Image) -> Thumbnails | None:
    """Return some rows of a run as images; of a table read in blocks, rows that are in memory."""
    table, embedding, sample = result.prepared, result.model.embedding, result.sample()
    rows = choose_rows(embedding if sample is None else take_rows(embedding, sample), image, result.config.compute.seed)
    rows = rows if sample is None else sample[rows]
    with np.errstate(over="ignore", invalid="ignore"):
        found = Thumbnails(rows, result.start.undone(table.take(rows).values))
    return found if not np.isinf(found.values).any() else None


def box_of(image: Image) -> tuple[float, float]:
    """Return width and height of a picture in pixels, in the proportions of the image."""
    ratio = image.columns / image.rows
    wide, tall = (float(np.clip(np.sqrt(AREA * part), *SIDES)) for part in (ratio, 1 / ratio))
    return wide, tall


def choose_rows(embedding: Array, image: Image, seed: int) -> Indices:
    """Return the rows of an embedding, an (n, p) array, with pictures over its first two axes, an (m,) array.

    Farthest-point sampling, in the metric whose unit ball is an image with its gap: each row is the farthest from all
    before it, until an image covers every other row. Then no two pictures overlap, and no more find room.
    Of very many rows, a sample is searched.
    """
    rows = sample_rows(len(embedding), MOST, seed)
    rows = np.arange(len(embedding)) if rows is None else rows
    places = to_pixels(plane(embedding), panel_of(embedding))[rows] / (np.array(box_of(image)) + GAP)
    picked = [int(np.argmin(_distances(places, places.mean(axis=0))))]
    nearest = _distances(places, places[picked[0]])
    while nearest.max() >= 1 and len(picked) < MOST_PICTURES:
        picked.append(int(np.argmax(nearest)))
        nearest = np.minimum(nearest, _distances(places, places[picked[-1]]))
    return rows[picked].astype(np.int64)


def _distances(places: AnyArray, place: AnyArray) -> Array:
    """Return Chebyshev distances from every place to one."""
    return np.asarray(np.abs(places - place).max(axis=1))


AXES = "Axes as images"
LARGER = 2.4  # sides of the image of an axis, in sides of a picture over the embedding
ROOM, TOP = 600.0, 24.0  # pixels of a line of images, and of the space above it
RIGHT = 20.0  # pixels to the right of the plot


def pictures_over_plane(embedding: Array, found: Thumbnails, image: Image, seed: int, axes: Sequence[str],
               title: str) -> Figure:
    """Draw the chosen rows as pictures, each to the lower right of its point, over the other points in gray.

    `embedding` is an (n, p) array, of which the first two axes are drawn.
    """
    wide, tall = box_of(image)
    pixels = to_pixels(plane(embedding), panel_of(embedding))
    panel = widen(panel_of(embedding), wide + GAP, tall + GAP)
    some = sample_rows(len(pixels), MOST, seed)
    points = pixels[found.rows]
    marks: list[Mark] = [*backdrop(shorten(title, LONGEST), panel),
                         Dots("other", pixels if some is None else pixels[some], 1.5)]
    for (x, y), levels in zip(points.tolist(), ImageShape.of(image, found.values).levels(found.values), strict=True):
        marks += [Picture(kind="shade", x=x + GAP / 2, y=y + GAP / 2, width=wide, height=tall, levels=levels),
                  Bar(kind="frame", x=x + GAP / 2, y=y + GAP / 2, width=wide, height=tall)]
    marks += [Dots("mark", points, 2.6), *panel.names(*sides(axes, embedding.shape[1]))]
    return Figure(title, panel.x.end + RIGHT, panel.y.start + BOTTOM, marks)


def widen(panel: Panel, wide: float, tall: float) -> Panel:
    """Return a panel with more pixels to the right and below; points in it stay where they are."""
    x, y = panel.x, panel.y
    across, up = ((scale.high / 2 - scale.low / 2) / abs(scale.end - scale.start) * 2 for scale in (x, y))
    return Panel(replace(x, high=min(x.high + across * wide, sys.float_info.max), end=x.end + wide),
                 replace(y, low=max(y.low - up * tall, -sys.float_info.max), start=y.start + tall))


def axes_as_images(loadings: Array, image: Image, names: Sequence[str]) -> Figure:
    """Draw the weights of the first axes, a (d, p) array, as images: mid-gray is zero, and each has its own range."""
    wide, tall = (LARGER * side for side in box_of(image))
    across = int(ROOM / (wide + GAP))
    marks: list[Mark] = []
    for axis, (weights, name) in enumerate(zip(loadings[:, : 2 * across].T, names, strict=False)):
        x, y = LEFT + axis % across * (wide + GAP), TOP + axis // across * (tall + TOP)
        most = float(np.abs(weights).max()) or 1.0
        levels = ImageShape(image, -most, most).levels(weights[None])[0]
        marks += [Text(x, y - 6, shorten(name, max(4, int(wide / LETTER))), kind="small"),
                  Picture(kind="shade", x=x, y=y, width=wide, height=tall, levels=levels)]
    drawn = len(marks) // 2
    return Figure(AXES, LEFT + min(across, drawn) * (wide + GAP), -(-drawn // across) * (tall + TOP) + 4, marks)


TITLE = "Images over the embedding"


def over_plane(run: FinishedRun) -> Part:
    """Return pictures of some rows next to their points."""
    drawn, found = rows_drawn(run), ImagesFinding.of(run)
    if drawn is None or found is None:
        return None
    return section(TITLE, figure(drawn, f"{len(found.rows)} rows as images, each to the "
                   "lower right of its point: each is the one farthest from those before it, as long as there is room "
                   "for its image. The other points are gray."))


def rows_drawn(run: FinishedRun, title: str = TITLE) -> Figure | None:
    """Return the figure with pictures of rows; None where rows are no images."""
    image, found = run.config.report.picture, ImagesFinding.of(run)
    if found is None or image is None:
        return None
    return pictures_over_plane(run.embedding.values, found, image, run.seed, run.axes, title)


def axes(run: FinishedRun, image: Image | None) -> Part:
    """Return the loadings of each axis as images."""
    loadings = LoadingsFinding.of(run)
    if image is None or loadings is None:
        return None
    names = list(loadings.columns)
    weights = np.array([loadings.array(name) for name in names[1:] if name]).T
    if not weights.size or len(weights) != prod((image.rows, image.columns, image.channels)):
        return None
    shown = axes_as_images(np.nan_to_num(weights), image, run.axis_names(weights.shape[1]))
    return section("Axes as images", figure(shown, "The loadings of each axis as an image. Mid-gray is zero, and the "
                   "largest weight is black or white."))
