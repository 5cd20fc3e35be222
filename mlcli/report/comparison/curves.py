"""Lines over the values of an option or of a number, with dots, error bars and tips, in a panel."""

import math
from collections.abc import Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.report.drawing.axes import Panel, Scale, tick_text
from mlcli.report.drawing.figure import Dots, Mark, Segments, Text

TICKS = 7  # largest number of values with a number below


@frozen
class SweepLine:
    """A measure as one option changes while the others stay: by ascending values of the option."""

    name: str  # the values of the others
    values: Sequence[float]
    heights: Sequence[float]
    errors: Sequence[float]


def across(places: Sequence[float], logarithmic: bool, left: float, side: float) -> Scale:
    """Return the scale of the option over `side` pixels, with room at both ends; one place lies in the middle."""
    low, high = scale_value(places[0], logarithmic), scale_value(places[-1], logarithmic)
    room = 0.06 * (high - low) or 1.0
    return Scale(low=low - room, high=high + room, start=left, end=left + side, step=(high - low) / 4 or 1.0)


def scale_value(value: float, logarithmic: bool) -> float:
    """Return a value, or its logarithm."""
    return math.log10(value) if logarithmic else value


def tick_numbers(panel: Panel, places: Sequence[float], logarithmic: bool) -> list[Mark]:
    """Return values below the panel: all of few, else some of them, evenly spaced."""
    every = math.ceil(len(places) / TICKS)
    return [Text(panel.x(scale_value(place, logarithmic)), panel.edges[3] + 16, tick_text(place, abs(place) or 1.0),
                 "middle", "small") for place in places[::every]]


def line_marks(line: SweepLine, panel: Panel, number: int, logarithmic: bool) -> list[Mark]:
    """Return lines from value to value, a dot at each with its figures as a tip, and its error as a bar."""
    points = np.array([(panel.x(scale_value(value, logarithmic)), panel.y(height))
                       for value, height in zip(line.values, line.heights, strict=True)])
    bars = np.array([(x, panel.y(height - error), x, panel.y(height + error)) for (x, _), height, error in
                     zip(points, line.heights, line.errors, strict=True) if error])
    tips = [f"{line.name}{', ' if line.name else ''}{value:g}: {height:.4f}" + (f" ± {error:.2g}" if error else "")
            for value, height, error in zip(line.values, line.heights, line.errors, strict=True)]
    kind = f"c{number}"
    return [*([Segments(kind, np.column_stack([points[:-1], points[1:]]))] if len(points) > 1 else []),
            *([Segments(kind, bars)] if len(bars) else []), Dots(kind, points, 3.2, tips=tips)]
