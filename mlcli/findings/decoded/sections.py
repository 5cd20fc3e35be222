"""The parts of a report about a decoder: rows with reconstructions and the latent plane, as images or as profiles."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array
from mlcli.config.report_options import Image
from mlcli.findings.decoded import DecodedFinding
from mlcli.findings.decoded.decode import CANDIDATES, Decoded
from mlcli.findings.frame.finished_run import FinishedRun
from mlcli.report.drawing.axes import extent, legend
from mlcli.report.drawing.figure import Bar, Curve, Dots, Figure, Mark, Picture, Text, Tile
from mlcli.report.drawing.html import Part, figure, section
from mlcli.report.drawing.text import shorten, three_digits
from mlcli.report.figures.images import LETTER, ImageShape

ROWS, PLANE = "Rows and their reconstructions", "Latent-space grid, decoded"
LEFT, RIGHT, TOP, BOTTOM = 104.0, 20.0, 40.0, 44.0  # margins around the panels or images, in pixels
ABOVE = 18.0  # height of a line of text above a row, in pixels
ACROSS = 4  # panels of rows in a line
ROW_PANEL = 144.0, 96.0, 12.0  # width and height of the panel of a row, and the gap, in pixels
PLANE_PANEL = 112.0, 72.0, 6.0  # the same of a panel of the plane
INSIDE = 4.0  # pixels between the frame of a panel and the lines


def plane(run: FinishedRun, image: Image | None) -> Part:
    """Return the features at a grid of places on the plane of the first two axes, as images or as profiles."""
    found = DecodedFinding.of(run)
    if found is None:
        return None
    drawn = (profile_plane(found, run.axes, apart=_own_ranges(run)) if image is None else
             picture_plane(found, ImageShape.of(image, found.originals), run.axes))
    others = run.embedding.values.shape[1] - len(found.ends)
    means = f"; the other {'axis is' if others == 1 else f'{others} axes are'} at the mean" if others else ""
    return section(PLANE, figure(drawn, "Decoded points of a grid between the 2nd and the 98th percentile of the first "
                                 f"{'two axes' if len(found.ends) > 1 else 'axis'}{means}. "
                                 f"{_values(run, found, image)}"))


def reconstructions(run: FinishedRun, image: Image | None) -> Part:
    """Return some rows with their reconstructions, as images or as profiles."""
    found = DecodedFinding.of(run)
    if found is None:
        return None
    ids = [run.embedding.ids[row] for row in found.rows.tolist()]
    drawn = (profile_rows(found, ids, apart=_own_ranges(run)) if image is None else
             picture_rows(found, ImageShape.of(image, found.originals), ids))
    count = len(run.embedding.values)
    some = f" of a random sample of {CANDIDATES:,} of {count:,} rows" if count > CANDIDATES else ""
    pair = ("a row of the second view and what its row of the first leads to" if "decoded_view" in run.fit else
            "a row and its reconstruction")
    said = (f"Rows from the smallest to the largest error, at even steps of rank{some}. The error is the distance "
            f"between {pair}, as the method measures it. {_values(run, found, image)}")
    return section("Reconstructions", figure(drawn, said))


def _own_ranges(run: FinishedRun) -> bool:
    """Whether each column of a profile has its own range: where the columns were scaled, their units differ."""
    return run.config.prepare.scale not in ("none", "center")


def _values(run: FinishedRun, found: Decoded, image: Image | None) -> str:
    """Return a sentence on the values of dark and light, or of the heights of lines."""
    if image is not None:
        shape = ImageShape.of(image, found.originals)
        low, high = three_digits(shape.low), three_digits(shape.high)
        return (f"Pixels go from {low} (dark) to {high} (light), the range of the originals in the report; values "
                "beyond are clipped.")
    lines = f"Lines go over the {found.plane.shape[1]:,} columns in their order"
    if _own_ranges(run):
        return f"{lines}, each column over a range of its own."
    heights = Heights.of(found, apart=False)
    return f"{lines}; panels reach from {three_digits(heights.low[0])} to {three_digits(heights.high[0])}."


def picture_rows(decoded: Decoded, shape: ImageShape, ids: Sequence[str]) -> Figure:
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
    return Figure(ROWS, LEFT + picture.width + RIGHT, below + 12, marks)


def picture_plane(decoded: Decoded, shape: ImageShape, axes: Sequence[str]) -> Figure:
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


def profile_rows(decoded: Decoded, ids: Sequence[str], *, apart: bool) -> Figure:
    """Draw each row with its reconstruction in its own panel, with its name and its error."""
    heights, count = Heights.of(decoded, apart), len(decoded.rows)
    wide, tall, gap = ROW_PANEL
    marks: list[Mark] = []
    parts = [Tile(x=LEFT - gap / 2, y=0, width=wide + gap, height=TOP, key=True)]
    for place in range(count):
        left = LEFT + place % ACROSS * (wide + gap)
        top = TOP + ABOVE + place // ACROSS * (tall + gap + ABOVE)
        box = (left, top, wide, tall)
        parts.append(Tile(x=left - gap / 2, y=top - ABOVE, width=wide + gap,
                          height=tall + gap + ABOVE))
        marks += [frame(box), Text(left, top - 7, shorten(ids[place], 12), kind="small"),
                  Text(left + wide, top - 7, f"error {three_digits(decoded.errors[place])}", "end", "small"),
                  *line("curve", heights.shares(decoded.originals[place]), box),
                  *line("second", heights.shares(decoded.reconstructed[place]), box)]
    lines = -(-count // ACROSS)
    marks += legend([("curve", "original"), ("second", "reconstruction")], LEFT, TOP - 12)
    return Figure(ROWS, LEFT + min(count, ACROSS) * (wide + gap) - gap + RIGHT,
                  TOP + lines * (tall + gap + ABOVE) + 4, marks, parts)


def profile_plane(decoded: Decoded, axes: Sequence[str], *, apart: bool) -> Figure:
    """Draw profiles of the features at a grid of places, each at its place on the plane of the first two axes."""
    side, heights = decoded.side, Heights.of(decoded, apart)
    wide, tall, gap = PLANE_PANEL
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
