"""Curves of quality against a swept option: a panel for each measure, a line for each combination of the others."""

import math
from collections.abc import Sequence

import numpy as np

from mlcli.report.comparison.runs import MEASURES, Row, SweepLine, lines
from mlcli.report.drawing.axes import Panel, Scale, tick_text
from mlcli.report.drawing.figure import Bar, Dots, Figure, Mark, Part, Segments, Text
from mlcli.report.drawing.palette import CLASSES
from mlcli.report.drawing.text import shorten

MOST = len(CLASSES)  # lines in a panel
SIDE, TALL, GAP, LEFT, TOP, BOTTOM = 210.0, 170.0, 62.0, 46.0, 58.0, 46.0
ROW = 18.0  # height of an entry of the legend in pixels
TICKS = 7  # largest number of values with a number below
WIDE = 50.0  # ratio of the largest value to the least above which the scale is logarithmic


def quality_curves(rows: Sequence[Row], parameters: Sequence[str], swept: str) -> Figure:
    """Draw every measure of the runs, with standard errors as bars, against one option; at most twelve lines."""
    drawn = [(measure, found) for measure in MEASURES if (found := lines(rows, parameters, swept, measure)[:MOST])]
    names = list(dict.fromkeys(line.name for _, found in drawn for line in found))[:MOST]
    places = sorted({value for _, found in drawn for line in found for value in line.values})
    logarithmic = len(places) > 1 and places[0] > 0 and places[-1] / places[0] > WIDE
    below, step = TOP + TALL + BOTTOM, SIDE + GAP
    marks: list[Mark] = []
    parts: list[Part] = []
    for number, (measure, found) in enumerate(drawn):
        left = LEFT + number * step
        parts.append(Part(x=number * step, y=0, width=step, height=below))
        ends = [height + sign * error for line in found for height, error in zip(line.heights, line.errors, strict=True)
                for sign in (-1, 1)]
        panel = Panel(across(places, logarithmic, left), Scale.over(ends, TOP + TALL, TOP, most=4))
        marks += [*panel.rows(), *tick_numbers(panel, places, logarithmic),
                  Text(left, TOP - 12, measure.words, kind="small"),
                  *(mark for line in found if line.name in names
                    for mark in line_marks(line, panel, names.index(line.name), logarithmic))]
    title = f"Quality against {swept}"
    marks += [Text(LEFT, 22, title, kind="title"), Text(LEFT + SIDE / 2, below - 8, swept, "middle", "small")]
    entries = names if names != [""] else []
    for place, name in enumerate(entries):
        x, y = LEFT + place % 3 * step, below + 14 + place // 3 * ROW
        parts.append(Part(x=place % 3 * step, y=y - 14, width=step, height=ROW, key=True))
        marks += [Bar(kind=f"c{place}", x=x, y=y - 8, width=12, height=8),
                  Text(x + 17, y, shorten(name, 36), kind="small")]
    return Figure(title, LEFT + 3 * step, below + ROW * math.ceil(len(entries) / 3) + 8, marks, parts)


def across(places: Sequence[float], logarithmic: bool, left: float, side: float = SIDE) -> Scale:
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
