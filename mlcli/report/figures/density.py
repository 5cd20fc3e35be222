"""Very many points as an image: opaque where they are dense, in the color of most points of a place."""

import math

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.memo import memoize
from mlcli.base.rows.scratch import parts
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.quantiles import quantiles
from mlcli.report.drawing.axes import Panel, to_pixels
from mlcli.report.drawing.figure import Line, Mark, Picture, Text
from mlcli.report.drawing.palette import BY_GROUND, INKS
from mlcli.report.figures.coloring import Coloring, ColorRange

FINE = 1.25  # cells of the image for each pixel of the figure
LEAST = 0.5  # opacity of a cell with a single point
TOP = 0.999  # quantile of the counts of points from which on cells are opaque
SPARSE = 20_000  # largest number of points that each cover more cells
BAR = 16.0, 96.0  # width and height of the bar in the legend, in pixels
NEXT = 0.85  # part of the bar below its last number in which others have room
SHADES = 16  # levels of opacity: fewer make a smaller file, more cannot be distinguished


@frozen
class Density:
    """Points of a panel in cells: which group's color each cell has, and how opaque it is."""

    groups: AnyArray  # (rows, columns) array of group numbers
    opacities: AnyArray  # (rows, columns) array, from 0 to 255
    most: int  # number of points that overlap from which on a cell is opaque
    count: int  # number of all points

    def levels(self, inks: AnyArray) -> AnyArray:
        """Return the image in the colors of the groups, an (m, 3) array; a (rows, columns, 4) array from 0 to 255."""
        return np.dstack([inks[self.groups], self.opacities])

    def pictures(self, colors: Coloring, panel: Panel) -> list[Mark]:
        """Return two images over the panel, for light and for dark ground."""
        left, right, top, bottom = panel.edges
        return [Picture(kind=kind, x=left, y=top, width=right - left, height=bottom - top,
                        levels=self.levels(inks_of(colors, ground))) for ground, kind in enumerate(BY_GROUND)]

    def legend(self, x: float, y: float) -> list[Mark]:
        """Return how many points there are, and a bar that says how many overlap at which opacity, downward from x, y.
        """
        steps = opacity_of(np.linspace(1, 0, SHADES))[:, None]
        marks: list[Mark] = [Text(x, y, f"{self.count:,} points"), Text(x, y + 17, "points that overlap", kind="small")]
        for ground, kind in enumerate(BY_GROUND):
            ink = np.array([rgb(INKS["level"].dark if ground else INKS["level"].light)], np.uint8)
            marks.append(Picture(kind=kind, x=x, y=y + 29, width=BAR[0], height=BAR[1],
                                 levels=np.dstack([ink[np.zeros_like(steps, int)], steps])))
        for number, said in self.ticks():
            place = y + 29 + BAR[1] * (1 - np.log(number) / np.log(self.most))
            marks += [Line(kind="axis", x1=x + BAR[0], y1=place, x2=x + BAR[0] + 4, y2=place),
                      Text(x + BAR[0] + 8, place + 4, said, kind="small")]
        return marks

    def ticks(self) -> list[tuple[int, str]]:
        """Return numbers of points for a scale, each with its text: powers of ten, and the last one."""
        last = self.most, f"{self.most:,} or more"
        powers = [10**power for power in range(len(str(self.most))) if 10**power < self.most ** NEXT]
        return [*((power, f"{power:,}") for power in powers), last]


def density(values: Array, colors: Coloring, panel: Panel, fine: float = FINE) -> Density:
    """Return the density of points, an (m, 2) array, over a panel, with `fine` cells for a pixel.

    Each cell has the color of most points there, and an opacity by the logarithm of their number. The page and the file
    of a figure share it.
    """
    if not isinstance(values, np.ndarray):
        return _density(values, colors, panel, fine)
    inputs = values, colors.of, *colors.kinds, type(colors).__name__, repr(panel), fine
    return memoize("density", inputs, lambda: _density(values, colors, panel, fine))


def _density(values: Array, colors: Coloring, panel: Panel, fine: float) -> Density:
    left, right, top, bottom = panel.edges
    shape = max(1, round((bottom - top) * fine)), max(1, round((right - left) * fine))
    reach = round((2 if len(values) <= SPARSE else 1) * fine / FINE)
    groups = count_by_group(values, colors, panel, shape)
    counts = spread(groups.sum(axis=0), reach)
    most = opaque_from(counts)
    shares = np.log(np.clip(counts, 1, most)) / np.log(most)
    kinds = (mean_step if isinstance(colors, ColorRange) else most_common)(groups, reach)
    return Density(kinds, np.where(counts > 0, opacity_of(shares), np.uint8(0)), most, len(values))


def count_by_group(values: Array, colors: Coloring, panel: Panel, shape: tuple[int, int]) -> AnyArray:
    """Return the number of points of each group in each cell, a (groups, rows, columns) array, from an (m, 2) array.
    """
    found, place = np.zeros((len(colors.kinds), shape[0] * shape[1]), dtype=np.int64), 0
    for some in parts(values):
        groups = colors.of[place : place + len(some)]
        cells = cells_of(to_pixels(some, panel), panel, shape)
        found += np.bincount(groups * found.shape[1] + cells, minlength=found.size).reshape(found.shape)
        place += len(some)
    return found.reshape(-1, *shape)


def cells_of(pixels: Array, panel: Panel, shape: tuple[int, int]) -> AnyArray:
    """Return the cell of each of the (m, 2) pixels, counted row by row, an (m,) array."""
    left, right, top, bottom = panel.edges
    across = np.clip(((pixels[:, 0] - left) * (shape[1] / (right - left))).astype(np.int64), 0, shape[1] - 1)
    down = np.clip(((pixels[:, 1] - top) * (shape[0] / (bottom - top))).astype(np.int64), 0, shape[0] - 1)
    return np.asarray(down * shape[1] + across)


def spread(sums: AnyArray, reach: int) -> AnyArray:
    """Return sums over the disk of cells around each cell: a point covers as many."""
    tall, wide = sums.shape
    room = np.pad(sums, reach)
    steps = range(-reach, reach + 1)
    return np.asarray(sum(room[reach + y : reach + y + tall, reach + x : reach + x + wide]
                          for y in steps for x in steps if x * x + y * y <= reach * reach))


def most_common(groups: AnyArray, reach: int) -> AnyArray:
    """Return the group with most points in each cell; of equal ones the rarest overall, which is seen least."""
    kinds, most = np.zeros(groups.shape[1:], np.int64), np.zeros(groups.shape[1:], np.int64)
    sizes = groups.sum(axis=(1, 2))
    for group in np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)].tolist():
        here = spread(groups[group], reach)
        kinds[(here > 0) & (here >= most)] = group
        most = np.maximum(most, here)
    return kinds


def mean_step(groups: AnyArray, reach: int) -> AnyArray:
    """Return the mean step of the scale over the numbers in each cell; the kind without numbers where there are none.
    """
    known = groups[:-1]
    counts = spread(known.sum(axis=0), reach)
    sums = spread(np.tensordot(np.arange(len(known)), known, axes=1), reach)
    return np.where(counts > 0, np.rint(sums / np.maximum(counts, 1)).astype(np.int64), len(known))


def inks_of(colors: Coloring, ground: int) -> AnyArray:
    """Return red, green and blue of each group on light (0) or dark (1) ground, an (m, 3) array."""
    return np.array([rgb(INKS[kind].dark if ground else INKS[kind].light) for kind in colors.kinds], np.uint8)


def rgb(ink: str) -> list[int]:
    """Return red, green and blue of a color."""
    return [int(ink[place : place + 2], 16) for place in (1, 3, 5)]


def opaque_from(counts: AnyArray) -> int:
    """Return the number of points from which on a cell is opaque, two or more."""
    there = counts[counts > 0]
    return max(math.ceil(quantiles(there, [TOP])[0]), 2) if len(there) else 2


def opacity_of(shares: AnyArray) -> AnyArray:
    """Return opacities from 0 to 255 of shares, from 0 for a single point to 1, in `SHADES` steps."""
    steps = np.rint((LEAST + (1 - LEAST) * shares) * (SHADES - 1)) / (SHADES - 1)
    return np.rint(steps * 255).astype(np.uint8)
