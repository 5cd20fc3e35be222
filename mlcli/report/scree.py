"""The scree plot: eigenvalues as bars, and their cumulative share as a curve of its own."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.report.axes import ALIKE, Panel, Scale, guide, legend
from mlcli.report.drawing import Bar, Curve, Dots, Figure, Mark, Text
from mlcli.report.text import number

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 78, 24, 66, 52
MOST = 30  # more bars cannot be distinguished
DOTTED = 40  # points of a curve that are drawn as dots too
KINDS = (("kept", "kept"), ("rest", "not kept"), ("negative", "negative"), ("bound", "at least"))  # of bars


@frozen
class Eigenvalues:
    """The eigenvalues to show, as spectrum.csv holds them."""

    values: Sequence[float]  # descending, with their signs
    cumulative: Sequence[float | None]  # running share of the trace; None where the trace is unknown
    kept: int
    computed: int
    what: str = "eigenvalues"  # what the axes are ranked by
    at_least: Sequence[float] = ()  # lower bounds of those that come after
    line: Sequence[float] = ()  # what parallel analysis expects of unrelated columns, from the first on


def scree(spectrum: Eigenvalues, title: str) -> Figure:
    """Eigenvalues as bars; kept axes are darker, negative ones and lower bounds have colors of their own."""
    values = bars(spectrum)
    line = spectrum.line[: len(values)]
    panel = _panel(len(values), Scale.over([0.0, *(value for value, _ in values), *line], HEIGHT - BOTTOM, TOP))
    used = {kind for _, kind in values}
    shown = [*(entry for entry in KINDS if entry[0] in used), *([("knot", "parallel analysis")] if line else [])]
    marks: list[Mark] = [Text(LEFT, 24, title, kind="title"), *panel.rows(),
                         *(_bar(panel, i, value, kind) for i, (value, kind) in enumerate(values)),
                         *_lined(panel, line), *panel.counted(range(1, len(values) + 1)),
                         *panel.names("component", spectrum.what),
                         *legend(shown, WIDTH - RIGHT - 80 * len(shown) - (40 if line else 0), TOP - 10, 80)]
    if len(values) < spectrum.computed:
        kept = f", {spectrum.kept:,} kept" if spectrum.kept > len(values) else ""
        marks.append(Text(WIDTH - RIGHT, HEIGHT - 16, f"first {len(values)} of {spectrum.computed:,} computed{kept}",
                          "end", "small"))
    return Figure(f"Scree plot: {title}", WIDTH, HEIGHT, marks)


def cumulative(spectrum: Eigenvalues, title: str) -> Figure | None:
    """The running share of the trace, up to the kept axes at least; None where the trace is unknown."""
    shares = shares_of(spectrum, max(MOST, spectrum.kept))
    if not shares:
        return None
    panel = _panel(len(shares), Scale.over([0.0, 100.0, *(100 * share for share in shares)], HEIGHT - BOTTOM, TOP))
    points = [(panel.x(i), panel.y(100 * share)) for i, share in enumerate(shares)]
    marks: list[Mark] = [Text(LEFT, 24, title, kind="title"), *panel.rows(), Curve("curve", points),
                         *([Dots("knot", np.array(points), 3)] if len(points) <= DOTTED else []),
                         *panel.counted(range(1, len(shares) + 1)),
                         *panel.names("components kept", "share of the trace, %")]
    if 0 < spectrum.kept <= len(shares):
        x, y = points[spectrum.kept - 1]
        text = f"{spectrum.kept:,} kept: {shares[spectrum.kept - 1]:.1%}"
        marks += [*guide(panel, x, y, text, HEIGHT - BOTTOM - 8), Dots("mark", np.array([[x, y]]), 4.5)]
    return Figure(f"Cumulative share: {title}", WIDTH, HEIGHT, marks)


def shares_of(spectrum: Eigenvalues, most: int) -> list[float]:
    """The running share of the trace at the first components; empty where one of them is unknown."""
    shares = [share for share in spectrum.cumulative[:most] if share is not None and np.isfinite(share)]
    return shares if len(shares) == len(spectrum.cumulative[:most]) else []


def _panel(count: int, heights: Scale) -> Panel:
    return Panel(Scale(low=-0.5, high=max(count, 1) - 0.5, start=LEFT, end=WIDTH - RIGHT, step=1), heights)


def bars(spectrum: Eigenvalues) -> list[tuple[float, str]]:
    """The heights of the bars that are drawn, each with its kind."""
    values = [*spectrum.values, *spectrum.at_least][:MOST]
    zero = ALIKE * max(map(abs, values), default=0.0)
    return [(value, "bound" if place >= len(spectrum.values) else "negative" if value < -zero else
             "kept" if place < spectrum.kept else "rest") for place, value in enumerate(values)]


def _lined(panel: Panel, line: Sequence[float]) -> list[Mark]:
    """The line of parallel analysis."""
    points = [(panel.x(i), panel.y(value)) for i, value in enumerate(line)]
    return [Curve("curve", points), Dots("knot", np.array(points), 2.5)] if points else []


def _bar(panel: Panel, place: int, value: float, kind: str) -> Bar:
    width = min(0.7 * (panel.x(1) - panel.x(0)) if panel.x.high > 1 else 60.0, 60.0)
    top, bottom = sorted((panel.y(value), panel.y(0.0)))
    return Bar(kind=kind, x=panel.x(place) - width / 2, y=top, width=width, height=bottom - top,
               tip=f"{place + 1}: {'at least ' if kind == 'bound' else ''}{number(value)}")
