"""The scree plot: eigenvalues as bars, and their cumulative share as a curve of its own."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.report.axes import Panel, Scale, legend
from mlcli.report.drawing import Bar, Curve, Dots, Figure, Line, Mark, Text
from mlcli.report.text import number

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 78, 24, 66, 52
MOST = 30  # bars beyond this cannot be told apart


@frozen
class Eigenvalues:
    """The eigenvalues to show, as spectrum.csv holds them."""

    values: Sequence[float]  # descending, with their signs
    cumulative: Sequence[float | None]  # running share of the trace; None where the trace is unknown
    kept: int
    computed: int
    what: str = "eigenvalues"  # what the axes are ranked by

    @property
    def shown(self) -> Sequence[float]:
        """Those that there is room for."""
        return self.values[:MOST]


def scree(spectrum: Eigenvalues, title: str) -> Figure:
    """Eigenvalues as bars; kept axes are darker, negative ones have a color of their own."""
    values = spectrum.shown
    panel = _panel(len(values), Scale.over([0.0, *values], HEIGHT - BOTTOM, TOP))
    bars = [_bar(panel, i, value, spectrum.kept) for i, value in enumerate(values)]
    entries = [("kept", "kept"), ("rest", "not kept"), ("negative", "negative")]
    used = {bar.kind for bar in bars}
    shown = [entry for entry in entries if entry[0] in used]
    marks: list[Mark] = [Text(LEFT, 24, title, kind="title"), *panel.rows(), *bars,
                         *panel.counted(range(1, len(values) + 1)), *panel.names("component", spectrum.what),
                         *legend(shown, WIDTH - RIGHT - 80 * len(shown), TOP - 10, 80)]
    if len(values) < spectrum.computed:
        marks.append(Text(WIDTH - RIGHT, HEIGHT - 16, f"first {len(values)} of {spectrum.computed:,} computed", "end",
                          "small"))
    return Figure(f"Scree plot: {title}", WIDTH, HEIGHT, marks)


def cumulative(spectrum: Eigenvalues, title: str) -> Figure | None:
    """The running share of the trace; None where the trace is unknown."""
    shares = [share for share in spectrum.cumulative[:MOST] if share is not None and np.isfinite(share)]
    if not shares or len(shares) < len(spectrum.shown):
        return None
    panel = _panel(len(shares), Scale.over([0.0, 100.0, *(100 * share for share in shares)], HEIGHT - BOTTOM, TOP))
    points = [(panel.x(i), panel.y(100 * share)) for i, share in enumerate(shares)]
    kept = min(spectrum.kept, len(shares))
    marks: list[Mark] = [Text(LEFT, 24, title, kind="title"), *panel.rows(), Curve("curve", points),
                         Dots("knot", np.array(points), 3), *panel.counted(range(1, len(shares) + 1)),
                         *panel.names("components kept", "share of the trace, %")]
    if kept:
        x, y = points[kept - 1]
        side = "start" if x < WIDTH / 2 else "end"
        marks += [Line("guide", x, HEIGHT - BOTTOM, x, y), Dots("mark", np.array([[x, y]]), 4.5),
                  Text(x + (8 if side == "start" else -8), HEIGHT - BOTTOM - 8, f"{kept} kept: {shares[kept - 1]:.1%}",
                       side)]
    return Figure(f"Cumulative share: {title}", WIDTH, HEIGHT, marks)


def _panel(count: int, heights: Scale) -> Panel:
    return Panel(Scale(-0.5, max(count, 1) - 0.5, LEFT, WIDTH - RIGHT, 1), heights)


def _bar(panel: Panel, place: int, value: float, kept: int) -> Bar:
    kind = "negative" if value < 0 else "kept" if place < kept else "rest"
    width = min(0.7 * (panel.x(1) - panel.x(0)) if panel.x.high > 1 else 60.0, 60.0)
    top, bottom = sorted((panel.y(value), panel.y(0.0)))
    return Bar(kind, panel.x(place) - width / 2, top, width, bottom - top, f"{place + 1}: {number(value)}")
