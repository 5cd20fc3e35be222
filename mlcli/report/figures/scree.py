"""The scree plot: eigenvalues as bars, and their cumulative share as a curve of its own."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.report.drawing.axes import ALIKE, Panel, Scale, guide, legend
from mlcli.report.drawing.figure import Bar, Curve, Dots, Figure, Mark, Text
from mlcli.report.drawing.text import number

WIDTH, HEIGHT = 480, 310
LEFT, RIGHT, TOP, BOTTOM = 66, 16, 76, 50
HIGH = 56  # the top of the plot where there is no legend
SHARED = 44  # pixels of the numbers of a second scale
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


def scree(spectrum: Eigenvalues, title: str, *, shared: bool = False) -> Figure:
    """Eigenvalues as bars; kept axes are darker, negative ones and lower bounds have colors of their own.

    With `shared`, their cumulative share is a curve over them, on a scale to the right whose zero is that of the bars.
    """
    values = bars(spectrum)
    line, shares = spectrum.line[: len(values)], shares_of(spectrum, len(values)) if shared else []
    heights = Scale.over([0.0, *(value for value, _ in values), *line], HEIGHT - BOTTOM, TOP)
    shares = shares if heights.high > 0 else []
    panel = _panel(len(values), heights, SHARED if shares else 0)
    used = {kind for _, kind in values}
    shown = [*(entry for entry in KINDS if entry[0] in used), *([("knot", "parallel analysis")] if line else []),
             *([("c2", "cumulative share")] if shares else [])]
    marks: list[Mark] = [Text(LEFT, 20, title, kind="title"), *panel.rows(),
                         *(_bar(panel, i, value, kind) for i, (value, kind) in enumerate(values)),
                         *_lined(panel, line), *_shared(panel, shares), *panel.counted(range(1, len(values) + 1)),
                         *panel.names(_which(spectrum, len(values)), spectrum.what), *legend(shown, LEFT, 44)]
    return Figure(f"Scree plot: {title}", WIDTH, HEIGHT, marks)


def _which(spectrum: Eigenvalues, drawn: int) -> str:
    """What the bars are."""
    kept = f", {spectrum.kept:,} kept" if spectrum.kept > drawn else ""
    return "component" if drawn >= spectrum.computed else (
        f"component, the first {drawn} of {spectrum.computed:,} computed{kept}")


def _shared(panel: Panel, shares: Sequence[float]) -> list[Mark]:
    """The cumulative share of the trace over the bars, with its numbers at the right."""
    if not shares:
        return []
    top, heights = 1.05 * max(1.0, *shares), panel.y
    scale = Scale(low=top * heights.low / heights.high, high=top, start=heights.start, end=heights.end, step=0.2)
    points = [(panel.x(i), scale(share)) for i, share in enumerate(shares)]
    right = panel.edges[1]
    return [Curve("l2", points), Dots("c2", np.array(points), 2.5), Text(WIDTH, TOP - 10, "share, %", "end"),
            *(Text(right + 6, scale(tick) + 4, f"{100 * tick:.0f}", kind="small") for tick in scale.ticks()
              if tick > -1e-9)]


def cumulative(spectrum: Eigenvalues, title: str) -> Figure | None:
    """The running share of the trace, up to the kept axes at least; None where the trace is unknown."""
    shares = shares_of(spectrum, max(MOST, spectrum.kept))
    if not shares:
        return None
    panel = _panel(len(shares), Scale.over([0.0, 100.0, *(100 * share for share in shares)], HEIGHT - BOTTOM, HIGH))
    points = [(panel.x(i), panel.y(100 * share)) for i, share in enumerate(shares)]
    marks: list[Mark] = [Text(LEFT, 20, title, kind="title"), *panel.rows(), Curve("curve", points),
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


def _panel(count: int, heights: Scale, beside: float = 0) -> Panel:
    return Panel(Scale(low=-0.5, high=max(count, 1) - 0.5, start=LEFT, end=WIDTH - max(RIGHT, beside), step=1), heights)


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
