"""Very many points as an image: opaque where they are dense, in the color of most points of a place."""

import numpy as np

from mlcli.base.rows.memo import memoize
from mlcli.base.rows.scratch import parts
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.quantiles import quantiles
from mlcli.report.drawing.axes import Panel, to_pixels
from mlcli.report.drawing.figure import Mark, Picture
from mlcli.report.drawing.palette import BY_GROUND, INKS
from mlcli.report.figures.coloring import Coloring, ColorRange

FINE = 1.25  # cells of the image for each pixel of the figure
LEAST = 0.5  # opacity of a cell with a single point
TOP = 0.999  # quantile of the counts of points from which on cells are opaque
SPARSE = 20_000  # largest number of points that each cover more cells
SHADES = 16  # levels of opacity: fewer make a smaller file, more cannot be distinguished


def clouds(values: Array, colors: Coloring, panel: Panel) -> list[Mark]:
    """Return points, an (m, 2) array, over a panel as two images, for light and for dark ground.

    Each cell has the color of most points there, and an opacity by the logarithm of their number. The page and the file
    of a figure share them.
    """
    if not isinstance(values, np.ndarray):
        return _clouds(values, colors, panel)
    inputs = values, colors.of, *colors.kinds, type(colors).__name__, repr(panel)
    return memoize("clouds", inputs, lambda: _clouds(values, colors, panel))


def _clouds(values: Array, colors: Coloring, panel: Panel) -> list[Mark]:
    left, right, top, bottom = panel.edges
    shape = max(1, round((bottom - top) * FINE)), max(1, round((right - left) * FINE))
    reach = 2 if len(values) <= SPARSE else 1
    groups = count_by_group(values, colors, panel, shape)
    shades = opacity(spread(groups.sum(axis=0), reach))
    kinds = (mean_step if isinstance(colors, ColorRange) else most_common)(groups, reach)
    pictures: list[Mark] = []
    for ground, kind in enumerate(BY_GROUND):
        levels = np.dstack([inks_of(kinds, colors, ground), shades])
        pictures.append(Picture(kind=kind, x=left, y=top, width=right - left, height=bottom - top, levels=levels))
    return pictures


def count_by_group(values: Array, colors: Coloring, panel: Panel, shape: tuple[int, int]) -> AnyArray:
    """Return the number of points of each group in each cell, a (groups, rows, columns) array, from an (m, 2) array.
    """
    found, place = np.zeros((len(colors.kinds), shape[0] * shape[1]), dtype=np.int64), 0
    for some in parts(values):
        groups = colors.of[place : place + len(some)]
        cells = cells_of(to_pixels(some, panel), panel.edges[0], panel.edges[2], shape)
        found += np.bincount(groups * found.shape[1] + cells, minlength=found.size).reshape(found.shape)
        place += len(some)
    return found.reshape(-1, *shape)


def cells_of(pixels: Array, left: float, top: float, shape: tuple[int, int]) -> AnyArray:
    """Return the cell of each of the (m, 2) pixels, counted row by row, an (m,) array."""
    across = np.clip(((pixels[:, 0] - left) * FINE).astype(np.int64), 0, shape[1] - 1)
    down = np.clip(((pixels[:, 1] - top) * FINE).astype(np.int64), 0, shape[0] - 1)
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


def inks_of(kinds: AnyArray, colors: Coloring, ground: int) -> AnyArray:
    """Return red, green and blue of each cell."""
    inks = [INKS[kind].dark if ground else INKS[kind].light for kind in colors.kinds]
    return np.array([[int(ink[place : place + 2], 16) for place in (1, 3, 5)] for ink in inks], np.uint8)[kinds]


def opacity(counts: AnyArray) -> AnyArray:
    """Return the opacity of each cell: zero without points, else by the logarithm of their number."""
    there = counts[counts > 0]
    most = max(float(quantiles(there, [TOP])[0]), 2.0)
    shares = np.log(np.clip(counts, 1, most)) / np.log(most)
    steps = np.rint((LEAST + (1 - LEAST) * shares) * (SHADES - 1)) / (SHADES - 1)
    return np.where(counts > 0, np.rint(steps * 255).astype(np.uint8), np.uint8(0))
