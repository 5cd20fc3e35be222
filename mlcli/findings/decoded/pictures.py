"""Decoded rows as images: originals above their reconstructions, and the grid of the latent plane."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array
from mlcli.config.report_options import Image
from mlcli.findings.decoded.decode import Decoded
from mlcli.findings.decoded.layout import ABOVE, BOTTOM, LEFT, PLANE, RIGHT, TITLE, TOP, grid_labels
from mlcli.report.drawing.axes import extent
from mlcli.report.drawing.figure import Figure, Mark, Picture, Text
from mlcli.report.drawing.text import shorten, three_digits

WIDE = 600  # largest width of a sheet in pixels, if it need not shrink
CELL = 72  # largest width of an image in pixels, if it has fewer
GAP = 16  # pixels of an image for each pixel of the gap
LETTER = 7.0  # width of a character in pixels


@frozen
class Shape:
    """The arrangement of a row's cells in an image, and the values of black and white."""

    image: Image
    low: float
    high: float

    @classmethod
    def of(cls, image: Image, originals: Array) -> "Shape":
        """Return the shape of `report.image`, with the range of the originals, an (m, d) array."""
        low, high = extent(float(end.reduce(originals, None)) for end in (np.fmin, np.fmax))  # without NaN
        return cls(image, low, high)

    def levels(self, values: Array) -> AnyArray:
        """Return rows (m, d) as images of levels from 0 to 255 and opacity, an (m, rows, columns, 2 or 4) array.

        Values beyond the range are black or white; a missing cell is transparent.
        """
        shares = (values / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        levels = np.rint(255 * np.clip(np.nan_to_num(shares), 0, 1)).astype(np.uint8)
        cells = self.arrange(levels)
        there = ~self.arrange(np.isnan(values)).any(axis=3, keepdims=True)
        return np.concatenate([cells, np.where(there, np.uint8(255), np.uint8(0))], axis=3)

    def arrange(self, cells: AnyArray) -> AnyArray:
        """Return the cells of rows (m, d) at their places in the images, an (m, rows, columns, channels) array."""
        sides = self.image.rows, self.image.columns, self.image.channels
        if self.image.order == "row":
            return cells.reshape(-1, *sides)
        return cells.reshape(-1, *sides[::-1]).transpose(0, 3, 2, 1)

    def sheet(self, values: Array, across: int) -> AnyArray:
        """Return images of the rows of an (m, d) array, `across` in a line, with transparent gaps."""
        images, gap = self.levels(values), self.gap
        lines, (tall, wide) = len(images) // across, self.step
        sheet = np.zeros((lines * tall - gap, across * wide - gap, images.shape[3]), np.uint8)
        for place, image in enumerate(images):
            top, left = place // across * tall, place % across * wide
            sheet[top : top + self.image.rows, left : left + self.image.columns] = image
        return sheet

    @property
    def gap(self) -> int:
        """Pixels between two images."""
        return 1 + min(self.image.rows, self.image.columns) // GAP

    @property
    def step(self) -> tuple[int, int]:
        """Pixels from an image to the one below, and to the next."""
        return self.image.rows + self.gap, self.image.columns + self.gap

    def scale(self, across: int) -> float:
        """Return the size of a pixel with `across` images in a line: a whole number, unless it must shrink."""
        whole = min(WIDE / (across * self.step[1]), CELL / self.image.columns)
        return float(int(whole)) if whole >= 1 else WIDE / (across * self.step[1])


def row_figure(decoded: Decoded, shape: Shape, ids: Sequence[str]) -> Figure:
    """Draw originals in a line, their reconstructions below, with the rows' names and their errors."""
    count = len(decoded.rows)
    sheet = shape.sheet(np.concatenate([decoded.originals, decoded.reconstructed]), count)
    picture = sheet_picture(sheet, shape.scale(count))
    tall, wide = (shape.scale(count) * step for step in shape.step)
    below = TOP + picture.height + ABOVE
    beside = (TOP - 8, "row"), (TOP + tall / 2, "original"), (TOP + 3 * tall / 2, "reconstruction"), (below, "error")
    marks: list[Mark] = [picture, *(Text(LEFT - 10, y, name, "end", "small") for y, name in beside)]
    for place, (name, error) in enumerate(zip(ids, decoded.errors.tolist(), strict=True)):
        middle = LEFT + wide * place + shape.scale(count) * shape.image.columns / 2
        marks += [Text(middle, TOP - 8, shorten(name, max(3, int(wide / LETTER))), "middle", "small"),
                  Text(middle, below, three_digits(error), "middle", "small")]
    return Figure(TITLE, LEFT + picture.width + RIGHT, below + 12, marks)


def plane(decoded: Decoded, shape: Shape, axes: Sequence[str]) -> Figure:
    """Draw images of the features at a grid of places, each at its place on the plane of the first two axes."""
    side, scale = decoded.side, shape.scale(decoded.side)
    picture = sheet_picture(shape.sheet(decoded.plane, side), scale)
    wide, tall = picture.width, picture.height
    return Figure(PLANE, LEFT + wide + RIGHT, TOP + tall + BOTTOM, [
        picture, *grid_labels(decoded.ends, (wide, tall), (scale * shape.image.columns, scale * shape.image.rows),
                              axes)])


def sheet_picture(sheet: AnyArray, scale: float) -> Picture:
    """A sheet of images in its figure; pixels that are drawn larger stay sharp."""
    tall, wide = sheet.shape[:2]
    return Picture(kind="pixels" if scale >= 1 else "shade", x=LEFT, y=TOP, width=wide * scale, height=tall * scale,
                   levels=sheet)
