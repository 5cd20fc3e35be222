"""Axes: a range of values mapped to pixels, with round ticks, and the panel of two of them."""

import math
import sys
from collections.abc import Iterable, Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.report.drawing.figure import Bar, Line, Mark, Text
from mlcli.report.drawing.palette import INKS
from mlcli.report.drawing.text import number

MOST_TICKS = 6
LETTER = 7.5  # width of a small letter in a row of names, with room for a page that enlarges it
SAMPLE = 15  # width of a line in a legend, which shows its dashes
ALIKE = 1e-12  # relative difference of values that counts as rounding


@frozen
class Scale:
    """A map of values from low to high to pixels from start to end."""

    low: float
    high: float
    start: float
    end: float
    step: float

    @classmethod
    def over(cls, values: Iterable[float], start: float, end: float, *, whole: bool = True, most: int = MOST_TICKS,
             ) -> "Scale":
        """Return the scale of all finite values; with `whole`, it begins and ends at a tick."""
        low, high = extent(values)
        step = round_step(low, high, most)
        if whole:
            low = max(math.floor(low / step + 1e-9) * step, -sys.float_info.max)
            high = min(math.ceil(high / step - 1e-9) * step, sys.float_info.max)
        return cls(low, high, start, end, step)

    def __call__(self, value: float) -> float:
        """Return the pixel of a value, at the edge where it lies beyond."""
        share = (min(max(value, self.low), self.high) / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Return the round values in the range."""
        first, last = math.ceil(self.low / self.step - 1e-9), math.floor(self.high / self.step + 1e-9)
        return [place * self.step for place in range(first, last + 1) if math.isfinite(place * self.step)]


def extent(values: Iterable[float]) -> tuple[float, float]:
    """Return the least and the largest finite value, made different; 0 to 1 where there is none."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    if high / 2 - low / 2 > max(1e-300, ALIKE * max(abs(low), abs(high))):
        return low, high
    room = abs(high) / 2 if abs(high) > 1e-290 else 0.5
    most = sys.float_info.max
    return (low, high + 2 * room) if low == high == 0 else (max(low - room, -most), min(high + room, most))


def round_step(low: float, high: float, most: int = MOST_TICKS) -> float:
    """Return the least of 1, 2, 5 times a power of ten that divides a range into at most `most` parts."""
    span = min(high / 2 - low / 2, 8e307) * 2
    step = float(10.0 ** math.floor(math.log10(span / most)))
    return step * next(factor for factor in (1, 2, 5, 10, 20) if span / (step * factor) <= most + 1e-9)


def tick_text(value: float, step: float) -> str:
    """Return a tick's number; rounding of zero is "0"."""
    return "0" if abs(value) < step / 2 else number(float(value)).replace("-", "−")


@frozen
class Panel:
    """The rectangle of two scales."""

    x: Scale
    y: Scale

    @property
    def edges(self) -> tuple[float, float, float, float]:
        """Left, right, top and bottom."""
        return self.x.start, self.x.end, self.y.end, self.y.start

    def rows(self, *, texts: bool = True) -> list[Mark]:
        """Return horizontal lines at the ticks of y, with their numbers."""
        left, right, _, _ = self.edges
        lines: list[Mark] = [Line(kind=tick_kind(tick, self.y.step), x1=left, y1=self.y(tick), x2=right,
                                  y2=self.y(tick))
                             for tick in self.y.ticks()]
        numbers = [Text(left - 6, self.y(tick) + 4, tick_text(tick, self.y.step), "end", "small")
                   for tick in self.y.ticks()]
        return [*lines, *numbers] if texts else lines

    def columns(self, *, texts: bool = True) -> list[Mark]:
        """Return vertical lines at the ticks of x, with their numbers."""
        _, _, top, bottom = self.edges
        lines: list[Mark] = [Line(kind=tick_kind(tick, self.x.step), x1=self.x(tick), y1=top, x2=self.x(tick),
                                  y2=bottom)
                             for tick in self.x.ticks()]
        numbers = [Text(self.x(tick), bottom + 16, tick_text(tick, self.x.step), "middle", "small")
                   for tick in self.x.ticks()]
        return [*lines, *numbers] if texts else lines

    def names(self, across: str, up: str) -> list[Mark]:
        """Return the names of the axes."""
        left, right, top, bottom = self.edges
        return [Text((left + right) / 2, bottom + 36, across, "middle"), Text(left, top - 10, up, "start")]

    def whole_number_labels(self, numbers: Sequence[int]) -> list[Mark]:
        """Return whole numbers under places 0, 1, ... of x, thinned where they would touch."""
        every = max(1, math.ceil(len(numbers) / 15))
        return [Text(self.x(place), self.edges[3] + 16, str(numbers[place]), "middle", "small")
                for place in range(0, len(numbers), every)]


def guide(panel: Panel, x: float, top: float, text: str, y: float) -> list[Mark]:
    """Return a line from the foot of the panel up to `top`, and a text at height y on the side with more room."""
    left, right, _, bottom = panel.edges
    away, anchor = (8, "start") if x < (left + right) / 2 else (-8, "end")
    return [Line(kind="guide", x1=x, y1=bottom, x2=x, y2=top), Text(x + away, y, text, anchor, "small")]


def to_pixels(values: Array, panel: Panel) -> Array:
    """Return points, an (m, 2) array, in pixels, at the edge where they lie beyond."""
    columns = []
    for column, scale in zip(values.T, (panel.x, panel.y), strict=True):
        inside = np.clip(column, scale.low, scale.high)
        shares = (inside / 2 - scale.low / 2) / (scale.high / 2 - scale.low / 2)
        columns.append(scale.start + shares * (scale.end - scale.start))
    return np.column_stack(columns)


def tick_kind(tick: float, step: float) -> str:
    """Return the kind of a tick's line: the one at zero is the axis."""
    return "axis" if abs(tick) < step / 2 else "grid"


def legend(entries: Sequence[tuple[str, str]], x: float, y: float) -> list[Mark]:
    """Return short bars, or lines for kinds of lines, with names in a row, each with the width of its name."""
    marks: list[Mark] = []
    for kind, name in entries:
        marks += [Line(kind=kind, x1=x, y1=y - 4, x2=x + SAMPLE, y2=y - 4) if INKS[kind].width else
                  Bar(kind=kind, x=x, y=y - 8, width=12, height=8), Text(x + SAMPLE + 5, y, name, kind="small")]
        x += SAMPLE + 18 + LETTER * len(name)
    return marks
