"""Rows of data as images: the levels of their pixels, and sheets of several."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array
from mlcli.config.report_options import Image
from mlcli.report.drawing.axes import extent

WIDE = 600  # largest width of a sheet in pixels, if it need not shrink
CELL = 72  # largest width of an image in pixels, if it has fewer
GAP = 16  # pixels of an image for each pixel of the gap
LETTER = 7.0  # width of a character above an image, in pixels


@frozen
class ImageShape:
    """The arrangement of a row's cells in an image, and the values of black and white."""

    image: Image
    low: float
    high: float

    @classmethod
    def of(cls, image: Image, originals: Array) -> "ImageShape":
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
