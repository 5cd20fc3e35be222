"""Small multiples: each embedding aligned with the first, and each spectrum on one scale."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.types import Array
from mlcli.base.units import percent
from mlcli.report.comparison.run_tables import titles
from mlcli.report.comparison.side_by_side import LEADING, Side
from mlcli.report.drawing.axes import Panel, Scale
from mlcli.report.drawing.figure import Bar, Figure, Mark, Part, Text
from mlcli.report.drawing.text import shorten
from mlcli.report.figures.scatter import Points, dots, legend_end, legend_width

COLUMNS = 3
LETTERS = 34  # largest number of characters of a run's name above its panel
SIDE, GAP, TOP, LEFT = 320.0, 42.0, 30.0, 20.0
LOW = 190.0  # height of a spectrum's panel in pixels


def embeddings(sides: Sequence[Side], placed: Sequence[Points], title: str) -> Figure:
    """Draw the first two axes of every embedding, all on the same scales, colored alike."""
    first, names = [_first_two(points.values) for points in placed], titles(sides, LETTERS)
    half = 1.05 * max((float(np.abs(values).max(initial=0.0)) for values in first), default=0.0) or 1.0
    marks: list[Mark] = []
    parts: list[Part] = []
    for place, (name, points, values) in enumerate(zip(names, placed, first, strict=True)):
        left, top = _corner(place, SIDE + TOP + GAP)
        parts.append(Part(x=left - LEFT, y=top - TOP, width=SIDE + GAP, height=SIDE + TOP + GAP))
        panel = Panel(Scale(low=-half, high=half, start=left, end=left + SIDE, step=half),
                      Scale(low=-half, high=half, start=top + SIDE, end=top, step=half))
        marks += [Bar(kind="frame", x=left, y=top, width=SIDE, height=SIDE), *panel.rows(texts=False),
                  *panel.columns(texts=False), *dots(points, values, panel, 0.7 * points.radius),
                  _title(name, left, top), Text(left + SIDE / 2, top + SIDE + 16, points.axis(0), "middle", "small")]
        if points.values.shape[1] > 1:
            marks.append(Text(left - 7, top + SIDE / 2, points.axis(1), "middle", "small", turned=True))
    width = min(len(placed), COLUMNS) * (SIDE + GAP)
    height = -(-len(placed) // COLUMNS) * (SIDE + TOP + GAP)
    key = placed[0].colors.legend(width + 8, TOP + 8)
    low, right = (legend_end(key), legend_width(key) + 4) if key else (0.0, width)
    if key:
        parts.append(Part(x=width, y=0, width=right - width, height=low, key=True))
    return Figure(title, right, max(height, low), [*marks, *key], parts)


def spectra(sides: Sequence[Side]) -> Figure:
    """Draw the first eigenvalues of every run that has some, in percent of its largest, on one scale."""
    known = [(side, title) for side, title in zip(sides, titles(sides, LETTERS), strict=True) if side.eigenvalues]
    shares = [_shares(side.eigenvalues[:LEADING]) for side, _ in known]
    count, flat = max(*map(len, shares), 1), [share for part in shares for share in part]
    marks: list[Mark] = []
    parts: list[Part] = []
    for place, ((side, title), part) in enumerate(zip(known, shares, strict=True)):
        left, top = _corner(place, LOW + TOP + GAP + 18)
        parts.append(Part(x=left - LEFT, y=top - TOP, width=SIDE + GAP, height=LOW + TOP + GAP + 18))
        panel = Panel(Scale(low=-0.5, high=count - 0.5, start=left + 34, end=left + SIDE, step=1.0),
                      Scale.over([0.0, 100.0, *flat], top + LOW, top, most=4))
        wide = 0.7 * (SIDE - 34) / count
        marks += [*panel.rows(), *panel.whole_number_labels(range(1, count + 1)), _title(title, left, top)]
        for i, share in enumerate(part):
            kind = "negative" if share < 0 else "kept" if i < side.values.shape[1] else "rest"
            above, below = sorted((panel.y(share), panel.y(0.0)))
            marks.append(Bar(kind=kind, x=panel.x(i) - wide / 2, y=above, width=wide, height=below - above,
                             tip=f"{i + 1}: {percent(share / 100, 2)}"))
    return Figure("Spectra side by side", min(len(shares), COLUMNS) * (SIDE + GAP),
                  -(-len(shares) // COLUMNS) * (LOW + TOP + GAP + 18), marks, parts)


def _shares(values: Sequence[float]) -> list[float]:
    """Return values in percent of the largest size."""
    largest = max(map(abs, values), default=0.0)
    return [100 * (value / largest) if largest else 0.0 for value in values]


def _corner(place: int, height: float) -> tuple[float, float]:
    return (place % COLUMNS) * (SIDE + GAP) + LEFT, TOP + (place // COLUMNS) * height


def _title(text: str, left: float, top: float) -> Text:
    return Text(left, top - 9, shorten(text, 48), kind="small")


def _first_two(values: Array) -> Array:
    """Return the first two axes, the second zero where there is only one."""
    return np.column_stack([values, np.zeros(len(values))])[:, :2]

