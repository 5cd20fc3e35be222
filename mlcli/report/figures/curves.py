"""Curves of the report: residual variance by dimension, Shepard diagram, local radii, Q_NX, an iteration's trace."""

from collections.abc import Mapping, Sequence

import numpy as np

from mlcli.base.types import Array
from mlcli.report.drawing.axes import Panel, Scale, guide, legend, to_pixels
from mlcli.report.drawing.figure import Curve, Dots, Figure, Line, Mark, Segments, Text
from mlcli.report.drawing.palette import CLASSES
from mlcli.report.drawing.text import shorten
from mlcli.report.figures.scatter import place_names

WIDTH, HEIGHT = 480, 290
LEFT, RIGHT, TOP, BOTTOM = 66, 16, 56, 50
SIDE = 350  # side of the Shepard diagram in pixels
NAMES = 20  # height of a row of names in pixels
LETTERS = 18  # of a name in a legend
KINDS = ("curve", "second")  # kinds of lines


def curve(title: str, across: str, up: str, x: Sequence[float], lines: dict[str, Sequence[float]], *,
          marked: float | None = None, zero: bool = True) -> Figure:
    """Draw one or two lines over the same places, with dots where these are few, and a guide at `marked`."""
    values = [value for line in lines.values() for value in line]
    top = TOP + (NAMES if len(lines) > 1 else 0)
    panel = _panel(x, [0.0, *values] if zero else values, top)
    marks: list[Mark] = [Text(LEFT, 20, title, kind="title"), *panel.rows(), *_below(panel, x)]
    for kind, line in zip(KINDS, lines.values(), strict=False):
        points = [(panel.x(place), panel.y(value)) for place, value in zip(x, line, strict=True) if np.isfinite(value)]
        marks.append(Curve(kind, points))
        if 0 < len(points) <= 40 and kind == "curve":
            marks.append(Dots("knot", np.array(points), 3))
    if marked is not None and marked in x:
        marks += guide(panel, panel.x(marked), top, f"kept: {marked:g}", top + 12)
    if len(lines) > 1:
        marks += legend(list(zip(KINDS, lines, strict=False)), LEFT, TOP - 12)
    return Figure(title, WIDTH, HEIGHT, [*marks, *panel.names(across, up)])


def over_sizes(title: str, across: str, up: str, sizes: Sequence[int], lines: Mapping[str, Array],
               theory: Mapping[str, Sequence[float]], *, low: float = 0.0) -> Figure:
    """Draw lines with intervals over growing sizes, whose places are equally far apart, and lines of theory.

    `lines` hold the middle and both ends of the interval at each size (m x 3); the vertical axis begins at `low`, or
    below it.
    """
    heights = [low, *(float(value) for line in lines.values() for value in line.ravel()),
               *(value for line in theory.values() for value in line)]
    panel = Panel(Scale(low=-0.5, high=len(sizes) - 0.5, start=LEFT, end=WIDTH - RIGHT, step=1),
                  Scale.over(heights, HEIGHT - BOTTOM, TOP + NAMES))
    marks: list[Mark] = [Text(LEFT, 20, title, kind="title"), *panel.rows(), *panel.whole_number_labels(sizes)]
    marks += [Curve("second", [(panel.x(place), panel.y(value)) for place, value in enumerate(line)])
              for line in theory.values()]
    for number, line in enumerate(lines.values()):
        kind = number % len(CLASSES)
        points = [(panel.x(place), panel.y(float(value))) for place, value in enumerate(line[:, 0])]
        ends = [(x, panel.y(low), x, panel.y(high)) for (x, _), (low, high) in zip(
            points, line[:, 1:].tolist(), strict=True)]
        marks += [Segments(f"l{kind}", np.array(ends)), Curve(f"l{kind}", points),
                  Dots(f"c{kind}", np.array(points), 3)]
    names = [*((f"l{number % len(CLASSES)}", shorten(name, LETTERS)) for number, name in enumerate(lines)),
             *([("second", "if columns were independent")] if theory else [])]
    return Figure(title, WIDTH, HEIGHT, [*marks, *panel.names(across, up), *legend(names, LEFT, TOP - 12)])


def shepard(title: str, pairs: Array, line: Array | None = None, *, scaled: bool = True) -> Figure:
    """Draw distances in the embedding against those to keep, an (m, 2) array, with the line of equality.

    `line` holds the places of another line (m x 2). If they are not `scaled`, the embedding's have no unit, and there
    is no such line.
    """
    across, up = (float(column.max(initial=0.0)) for column in pairs.T)
    alike = scaled and comparable(pairs)
    if alike:
        across = up = max(across, up)
    panel = Panel(Scale.over([0.0, across], LEFT, LEFT + SIDE, whole=False),
                  Scale.over([0.0, up], TOP + SIDE, TOP, whole=False))
    marks: list[Mark] = [Text(LEFT, 20, title, kind="title"), *panel.rows(), *panel.columns(),
                         Dots("plain", to_pixels(pairs, panel), 1.5), *panel.names("distance in the data",
                                                                                   "distance in the embedding")]
    if line is not None:
        marks.append(Curve("curve", [(panel.x(x), panel.y(y)) for x, y in line.tolist()]))
    elif alike:
        marks.append(Line(kind="guide", x1=panel.x(0), y1=panel.y(0), x2=panel.x(across), y2=panel.y(up)))
    return Figure(title, LEFT + SIDE + RIGHT, TOP + SIDE + BOTTOM, marks)


def beside(title: str, pairs: Array, across: str, up: str, names: Sequence[str] = (), *, zero: bool = False) -> Figure:
    """Draw two finite numbers of each point, an (m, 2) array, over each other, with the names of both.

    `names` of all points, or none, stand beside those with room for them. With `zero`, both scales contain zero.
    """
    named_points = len(names) > 0  # names need room beyond the outermost points
    shown = np.vstack([pairs, np.zeros((int(zero), 2))])
    panel = Panel(Scale.over(shown[:, 0], LEFT, LEFT + SIDE, whole=named_points),
                  Scale.over(shown[:, 1], TOP + SIDE, TOP, whole=named_points))
    places, radius = to_pixels(pairs, panel), 3.0 if len(names) else 1.5
    named = [text for text in place_names(places, names, radius, panel) if text is not None]
    return Figure(title, LEFT + SIDE + RIGHT, TOP + SIDE + BOTTOM, [
        Text(LEFT, 20, title, kind="title"), *panel.rows(), *panel.columns(),
        Dots("plain", places, radius), *named, *panel.names(across, up)])


def comparable(pairs: Array) -> bool:
    """Whether the two distances of the pairs, an (m, 2) array, are of one size, so that a line of equality makes sense.
    """
    across, up = pairs.max(axis=0, initial=0.0)
    return bool(across / 5 <= up and up / 5 <= across)


def _panel(x: Sequence[float], values: Sequence[float], top: float) -> Panel:
    counts = all(float(place).is_integer() for place in x)
    room = 0.5 if counts and 1 < len(x) <= 40 else 0.0  # half a step of axes, neighbors and the like
    low, high = (min(x), max(x)) if len(x) > 1 else (min(x, default=0.0) - 1, max(x, default=1.0) + 1)
    return Panel(Scale.over([low - room, high + room], LEFT, WIDTH - RIGHT, whole=False, most=12),
                 Scale.over(values, HEIGHT - BOTTOM, top))


def _below(panel: Panel, x: Sequence[float]) -> list[Mark]:
    """Numbers below: of every place where these are few whole numbers, else round ones."""
    bottom = panel.edges[3]
    places = list(x) if len(x) <= 15 and all(float(value).is_integer() for value in x) else panel.x.ticks()
    return [Text(panel.x(place), bottom + 16, f"{place:,g}", "middle", "small") for place in places]
