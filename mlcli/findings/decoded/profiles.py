"""Decoded rows as profiles, lines over the columns: originals with their reconstructions, and the latent plane."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.findings.decoded.decode import Decoded
from mlcli.findings.decoded.layout import ABOVE, BOTTOM, LEFT, PLANE, RIGHT, TITLE, TOP, grid_labels
from mlcli.report.drawing.axes import extent, legend
from mlcli.report.drawing.figure import Bar, Curve, Dots, Figure, Mark, Part, Text
from mlcli.report.drawing.text import shorten, three_digits

ACROSS = 4  # panels in a line
WIDE, TALL, GAP = 144.0, 96.0, 12.0  # width and height of the panel of a row, and the gap, in pixels
CELL = 112.0, 72.0, 6.0  # width and height of a panel of the plane, and the gap
INSIDE = 4.0  # pixels between the frame and the lines


@frozen
class Heights:
    """The values at the foot and the top of a panel, of every column (d)."""

    low: Array
    high: Array

    @classmethod
    def of(cls, decoded: Decoded, apart: bool) -> "Heights":
        """Return the range of all drawn values; with `apart`, of each column by itself."""
        drawn = np.concatenate([decoded.originals, decoded.reconstructed, decoded.plane])
        ends = np.array([extent(values) for values in (drawn.T.tolist() if apart else [drawn.ravel().tolist()])])
        low, high = np.broadcast_to(ends.T, (2, drawn.shape[1]))
        return cls(low, high)

    def shares(self, row: Array) -> Array:
        """Return the heights of values, a (d,) array, as shares from 0 to 1; NaN where missing."""
        return (row / 2 - self.low / 2) / (self.high / 2 - self.low / 2)


def row_figure(decoded: Decoded, ids: Sequence[str], *, apart: bool) -> Figure:
    """Draw each row with its reconstruction in its own panel, with its name and its error."""
    heights, count = Heights.of(decoded, apart), len(decoded.rows)
    marks: list[Mark] = []
    parts = [Part(x=LEFT - GAP / 2, y=0, width=WIDE + GAP, height=TOP, key=True)]
    for place in range(count):
        left = LEFT + place % ACROSS * (WIDE + GAP)
        top = TOP + ABOVE + place // ACROSS * (TALL + GAP + ABOVE)
        box = (left, top, WIDE, TALL)
        parts.append(Part(x=left - GAP / 2, y=top - ABOVE, width=WIDE + GAP, height=TALL + GAP + ABOVE))
        marks += [frame(box), Text(left, top - 7, shorten(ids[place], 12), kind="small"),
                  Text(left + WIDE, top - 7, f"error {three_digits(decoded.errors[place])}", "end", "small"),
                  *line("curve", heights.shares(decoded.originals[place]), box),
                  *line("second", heights.shares(decoded.reconstructed[place]), box)]
    lines = -(-count // ACROSS)
    marks += legend([("knot", "original"), ("mark", "reconstruction")], LEFT, TOP - 12)
    return Figure(TITLE, LEFT + min(count, ACROSS) * (WIDE + GAP) - GAP + RIGHT,
                  TOP + lines * (TALL + GAP + ABOVE) + 4, marks, parts)


def plane(decoded: Decoded, axes: Sequence[str], *, apart: bool) -> Figure:
    """Draw profiles of the features at a grid of places, each at its place on the plane of the first two axes."""
    side, heights = decoded.side, Heights.of(decoded, apart)
    wide, tall, gap = CELL
    marks: list[Mark] = []
    for place, row in enumerate(decoded.plane):
        box = (LEFT + place % side * (wide + gap), TOP + place // side * (tall + gap), wide, tall)
        marks += [frame(box), *line("curve", heights.shares(row), box)]
    whole = side * (wide + gap) - gap, len(decoded.plane) // side * (tall + gap) - gap
    return Figure(PLANE, LEFT + whole[0] + RIGHT, TOP + whole[1] + BOTTOM,
                  [*marks, *grid_labels(decoded.ends, whole, (wide, tall), axes)])


def frame(box: tuple[float, float, float, float]) -> Mark:
    """Return the border of a panel."""
    left, top, wide, tall = box
    return Bar(kind="frame", x=left, y=top, width=wide, height=tall)


def line(kind: str, shares: Array, box: tuple[float, float, float, float]) -> list[Mark]:
    """Draw a profile of heights from 0 to 1, a (d,) array, in a panel, interrupted where cells are missing."""
    left, top, wide, tall = box
    x = left + INSIDE + np.linspace(0, wide - 2 * INSIDE, len(shares))
    y = top + tall - INSIDE - shares * (tall - 2 * INSIDE)
    gaps = np.flatnonzero(np.isnan(y))
    marks: list[Mark] = []
    for piece in np.split(np.column_stack([x, y]), gaps):
        points = piece[~np.isnan(piece[:, 1])]
        if len(points) == 1:
            marks.append(Dots("plain" if kind == "curve" else "mark", points, 1.2))
        elif len(points):
            marks.append(Curve(kind, list(map(tuple, points.tolist()))))
    return marks
