"""Colors from a label column: groups for names, a scale for numbers."""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray
from mlcli.base.values.missing import is_missing
from mlcli.report.drawing.axes import Scale, tick_text
from mlcli.report.drawing.figure import Bar, Dots, Line, Mark, Text
from mlcli.report.drawing.palette import CLASSES, STEPS
from mlcli.report.drawing.text import distinct, shorten

SHAPES = ("circle", "square", "triangle", "diamond")
COLORS = 6  # colors that everyone can distinguish; more groups repeat them in other shapes
MOST = COLORS * len(SHAPES)  # largest number of groups with a color and shape
SHAPED = 1_000  # largest number of rows with shapes; marks of more are too small or an image, and only colors differ
FEW = 13  # largest number of different numbers that are groups
UNGROUPED = ("other", "absent")  # kinds of rarer groups together, and of rows without a label
NUMBERS = 5  # most parts of a scale between its round numbers
ROW = 19  # pixels between two names of a legend


@frozen
class Coloring:
    """The group of each row, and the color and shape of each group."""

    name: str
    of: AnyArray  # n group numbers
    kinds: Sequence[str]
    shapes: Sequence[str]

    def legend(self, x: float, y: float) -> list[Mark]:
        """Return the legend of the colors, downward from x, y; empty for one color."""
        return []

    def take(self, rows: AnyArray) -> "Coloring":
        """Return the colors of some rows, under the same legend."""
        values = {key: value for key, value in vars(self).items() if key != "of"}
        return type(self)(of=self.of[rows], **values)


@frozen
class Groups(Coloring):
    """A color and a shape for each name; after them a gray group of the rarer ones, and one of missing labels."""

    names: Sequence[str]
    counts: Sequence[int]

    def short_names(self, limit: int) -> list[str]:
        """Return names that are short and still differ; after them the other groups, and rows without a label."""
        groups = sum(kind not in UNGROUPED for kind in self.kinds)
        return [*distinct(self.names[:groups], limit), *self.names[groups:]]

    def legend(self, x: float, y: float) -> list[Mark]:
        """Return a dot, a name and a count for each group."""
        marks: list[Mark] = [Text(x, y, shorten(self.name, 26))]
        for i, (name, count) in enumerate(zip(self.short_names(22), self.counts, strict=True)):
            down = y + 8 + ROW * (i + 1)
            marks += [Dots(self.kinds[i], np.array([[x + 6, down - 4]]), 4, self.shapes[i]),
                      Text(x + 17, down, f"{name} ({count:,})", kind="small")]
        return marks


@frozen
class ColorRange(Coloring):
    """A scale of colors from the least number to the largest."""

    low: float
    high: float
    absent: int

    def legend(self, x: float, y: float) -> list[Mark]:
        """Return a bar of colors with round numbers."""
        tall = 7.0
        bars: list[Mark] = [Bar(kind=f"s{i}", x=x, y=y + 14 + tall * (STEPS - 1 - i), width=16, height=tall + 0.5)
                            for i in range(STEPS)]
        marks: list[Mark] = [Text(x, y, shorten(self.name, 26)), *bars]
        scale = Scale.over([self.low, self.high], y + 14 + tall * STEPS, y + 14, whole=False, most=NUMBERS)
        for tick in scale.ticks():
            marks += [Line(kind="axis", x1=x + 16, y1=scale(tick), x2=x + 20, y2=scale(tick)),
                      Text(x + 24, scale(tick) + 4, tick_text(tick, scale.step), kind="small")]
        if self.absent:
            down = y + 38 + tall * STEPS
            marks += [Dots("other", np.array([[x + 8, down - 4]]), 4),
                      Text(x + 24, down, f"no number ({self.absent:,})", kind="small")]
        return marks


def coloring(name: str, texts: Sequence[str], *, measured: bool = False,
             names: Sequence[str] | None = None) -> Coloring:
    """Return the colors of a label column: a scale for more than a dozen different numbers, groups otherwise.

    Of a column of measurements two different numbers are enough for a scale. Groups are in the order of `names`, if
    these are given.
    """
    if names is not None:
        return _groups_of(name, texts, order=names.index)
    numbers = numbers_of(texts)
    if numbers is not None and len({value for value in numbers if value == value}) > (1 if measured else FEW):
        return _range_of(name, np.array(numbers))
    return _groups_of(name, texts, order=_natural if numbers is None else _order)


def single_color(count: int) -> Coloring:
    """Return one color for all points."""
    return Coloring("", np.broadcast_to(np.int64(0), count), ("plain",), ("circle",))


def numbers_of(texts: Sequence[str]) -> list[float] | None:
    """Return the numbers of the texts, NaN for absent ones; None unless all the others are finite numbers."""
    try:
        numbers = list(map(float, texts))
    except ValueError:
        numbers = []
    if numbers and np.isfinite(numbers).all():
        return numbers
    for text in texts[len(numbers):]:
        try:
            numbers.append(float(text))
        except ValueError:
            if not is_missing(text):
                return None
            numbers.append(math.nan)
    return numbers if np.isfinite(numbers).any() and not np.isinf(numbers).any() else None


def _range_of(name: str, values: AnyArray) -> ColorRange:
    absent = np.isnan(values)
    low, high = float(values[~absent].min()), float(values[~absent].max())
    shares = (np.where(absent, low, values) / 2 - low / 2) / (high / 2 - low / 2)
    steps = np.minimum((shares * STEPS).astype(np.int64), STEPS - 1)
    kinds = (*(f"s{i}" for i in range(STEPS)), "other")
    return ColorRange(name, np.where(absent, STEPS, steps), kinds, ("circle",) * len(kinds), low, high,
                      int(absent.sum()))


def _groups_of(name: str, texts: Sequence[str], *, order: Callable[[str], Any]) -> Groups:
    counts, shaped = Counter(text for text in texts if not is_missing(text)), len(texts) <= SHAPED
    colors, most = (COLORS, MOST) if shaped else (len(CLASSES), len(CLASSES))
    names = sorted((text for text, _ in counts.most_common(most)), key=order)
    place = {text: i for i, text in enumerate(names)}
    rarer = len(counts) > len(names)
    place |= dict.fromkeys((text for text in set(texts) if is_missing(text)), len(names) + rarer)
    of = np.fromiter((place.get(text, len(names)) for text in texts), dtype=np.int64, count=len(texts))
    kinds = [f"c{i % colors}" for i in range(len(names))]
    shapes = [SHAPES[(i % colors - i // colors) % len(SHAPES) if shaped else 0] for i in range(len(names))]
    shown, sizes = list(names), [counts[text] for text in names]
    without = len(texts) - counts.total()
    for kind, said, size in (("other", f"{len(counts) - len(names):,} others", counts.total() - sum(sizes)),
                             ("absent", "no label", without)):
        if size:
            kinds, shapes, shown, sizes = [*kinds, kind], [*shapes, "circle"], [*shown, said], [*sizes, size]
    return Groups(name, of, kinds, shapes, shown, sizes)


def _order(text: str) -> float:
    """Return the sort key of numbers, those that are none last."""
    number = float(text)
    return math.inf if math.isnan(number) else number


def _natural(text: str) -> list[tuple[str, int]]:
    """Return a sort key of words by their letters, numbers in them by size: site 2 before site 10."""
    parts = re.split(r"([0-9]{1,18})", text)
    return [(word.casefold(), int(digits or 0)) for word, digits in zip_longest(parts[::2], parts[1::2])]
