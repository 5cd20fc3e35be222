"""The layout of images and profiles: margins of a figure, and coordinates around the grid of the latent plane."""

from collections.abc import Sequence

from mlcli.base.types import Array
from mlcli.report.drawing.figure import Mark, Text
from mlcli.report.drawing.text import three_digits

LEFT, RIGHT, TOP, BOTTOM = 104.0, 20.0, 40.0, 44.0  # margins around the panels or images, in pixels
TITLE, ABOVE = "Rows and their reconstructions", 18.0  # height of a line of text above a row, in pixels
PLANE = "Latent-space grid, decoded"


def grid_labels(ends: Array, whole: tuple[float, float], cell: tuple[float, float],
                axes: Sequence[str]) -> list[Mark]:
    """Return the coordinates of the first and last places of a grid, next to their cells, and the axes' names.

    `ends` is a (2, 2) array, or (1, 2) with one axis: the first and the last place on each axis.
    """
    wide, tall = whole
    marks: list[Mark] = []
    for place, x in zip(ends[0].tolist(), (cell[0] / 2, wide - cell[0] / 2), strict=True):
        marks.append(Text(LEFT + x, TOP + tall + 18, three_digits(place), "middle", "small"))
    marks.append(Text(LEFT + wide / 2, TOP + tall + 34, axes[0], "middle"))
    if len(ends) > 1:
        marks += [Text(LEFT - 8, TOP + y + 4, three_digits(place), "end", "small")
                  for place, y in zip(ends[1].tolist(), (tall - cell[1] / 2, cell[1] / 2), strict=True)]
        marks.append(Text(LEFT, TOP - 12, axes[1]))
    return marks
