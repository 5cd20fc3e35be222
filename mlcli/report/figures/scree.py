"""The scree plot: eigenvalues as bars, and their cumulative share; shares above one are explained."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.units import percent
from mlcli.report.drawing.axes import ALIKE, Panel, Scale, guide, legend, round_step
from mlcli.report.drawing.figure import Bar, Curve, Dots, Figure, Mark, Text
from mlcli.report.drawing.text import number

UNCORRELATED = 1e-12  # size of a correlation that is rounding
WHY = "Cumulative shares exceed 100% because they are shares of the trace, which includes negative eigenvalues."
OVERLAP = ("The factors are correlated, so what they share is in the squared loadings of each: their proportions of "
           "variance stand with the loadings.")


def shares_overlap(ranked_by: str, fit: Mapping[str, Any]) -> bool:
    """Whether axes are correlated factors ranked by their squared loadings, which are no shares of the variance."""
    correlations = fit.get("factor_correlations") or ()
    return ranked_by == "sums of squared loadings" and any(
        row != column and abs(value) > UNCORRELATED
        for row, values in enumerate(correlations) for column, value in enumerate(values))


def exceed_one(cumulative: Sequence[float | None], digits: int) -> bool:
    """Whether running sums of shares pass 100% where they are shown with so many decimals."""
    return any(share is not None and round(share, digits + 2) > 1 for share in cumulative)


def positive_shares(values: Sequence[float], cumulative: Sequence[float | None], whole: float | None, *,
                    digits: int) -> list[float]:
    """Return running sums as shares of the positive eigenvalues, whose sum is `whole`, where sums pass 100%.

    Empty otherwise, or where that sum is not known.
    """
    return [summed / whole for summed in accumulate(max(value, 0.0) for value in values)
            ] if whole and exceed_one(cumulative, digits) else []


WIDTH, HEIGHT = 480, 310
LEFT, RIGHT, TOP, BOTTOM = 66, 16, 76, 50
HIGH = 56  # the top of a plot without a legend
SHARED = 44  # width of the numbers of a second scale in pixels
MOST = 30  # more bars cannot be distinguished
LARGEST = 1e300  # share that an axis can show
FEW_TICKS = 4.0  # largest share with ticks at every 20 %
DOTTED = 40  # largest number of points of a curve with dots
KINDS = (("kept", "kept"), ("rest", "not kept"), ("negative", "negative"), ("bound", "at least"))  # kinds of bars


@frozen
class ScreeValues:
    """The eigenvalues to show, in the form of spectrum.csv."""

    values: Sequence[float]  # descending, with their signs
    cumulative: Sequence[float | None]  # running share of the trace; None where the trace is unknown
    kept: int
    computed: int
    what: str = "eigenvalues"  # name of the values that rank the axes
    at_least: Sequence[float] = ()  # lower bounds of the following ones
    line: Sequence[float] = ()  # line of parallel analysis, from the first on


def scree(spectrum: ScreeValues, title: str, *, shared: bool = False) -> Figure:
    """Draw eigenvalues as bars; kept axes are darker, negative ones and lower bounds have other colors.

    With `shared`, their cumulative share is a curve over them, on a scale to the right whose zero is that of the bars.
    """
    values = bars(spectrum)
    line, shares = spectrum.line[: len(values)], shares_of(spectrum, len(values)) if shared else []
    heights = Scale.over([0.0, *(value for value, _ in values), *line], HEIGHT - BOTTOM, TOP)
    shares = shares if heights.high > 0 else []
    panel = _panel(len(values), heights, SHARED if shares else 0)
    used = {kind for _, kind in values}
    shown = [*(entry for entry in KINDS if entry[0] in used), *([("curve", "parallel analysis")] if line else []),
             *([("l2", "cumulative share")] if shares else [])]
    marks: list[Mark] = [Text(LEFT, 20, title, kind="title"), *panel.rows(),
                         *(_bar(panel, i, value, kind) for i, (value, kind) in enumerate(values)),
                         *_analysis_line(panel, line), *_share_curve(panel, shares),
                         *panel.whole_number_labels(range(1, len(values) + 1)),
                         *panel.names(_bars_name(spectrum, len(values)), spectrum.what), *legend(shown, LEFT, 44)]
    return Figure(f"Scree plot: {title}", WIDTH, HEIGHT, marks)


def _bars_name(spectrum: ScreeValues, drawn: int) -> str:
    """Return the label below the bars."""
    kept = f", {spectrum.kept:,} kept" if spectrum.kept > drawn else ""
    return "component" if drawn >= spectrum.computed else (
        f"component, the first {drawn} of {spectrum.computed:,} computed{kept}")


def _share_curve(panel: Panel, shares: Sequence[float]) -> list[Mark]:
    """Return the cumulative share of the trace over the bars, with its numbers at the right."""
    if not shares:
        return []
    top, heights = min(1.05 * max(1.0, *shares), LARGEST), panel.y
    scale = Scale(low=top * heights.low / heights.high, high=top, start=heights.start, end=heights.end,
                  step=0.2 if top < FEW_TICKS else round_step(0.0, top))
    points = [(panel.x(i), scale(share)) for i, share in enumerate(shares)]
    right = panel.edges[1]
    return [Curve("l2", points), Dots("c2", np.array(points), 2.5), Text(WIDTH, TOP - 10, "share, %", "end"),
            *(Text(right + 6, scale(tick) + 4, f"{100 * tick:.0f}", kind="small") for tick in scale.ticks()
              if tick > -1e-9)]


def cumulative(spectrum: ScreeValues, title: str) -> Figure | None:
    """Draw the running share of the trace, up to the kept axes at least; None where the trace is unknown."""
    shares = shares_of(spectrum, max(MOST, spectrum.kept))
    if not shares:
        return None
    panel = _panel(len(shares), Scale.over([0.0, 100.0, *(100 * share for share in shares)], HEIGHT - BOTTOM, HIGH))
    points = [(panel.x(i), panel.y(100 * share)) for i, share in enumerate(shares)]
    marks: list[Mark] = [Text(LEFT, 20, title, kind="title"), *panel.rows(), Curve("curve", points),
                         *([Dots("knot", np.array(points), 3)] if len(points) <= DOTTED else []),
                         *panel.whole_number_labels(range(1, len(shares) + 1)),
                         *panel.names("components kept", "share of the trace, %")]
    if 0 < spectrum.kept <= len(shares):
        x, y = points[spectrum.kept - 1]
        text = f"{spectrum.kept:,} kept: {percent(shares[spectrum.kept - 1])}"
        marks += [*guide(panel, x, y, text, HEIGHT - BOTTOM - 8), Dots("mark", np.array([[x, y]]), 4.5)]
    return Figure(f"Cumulative share: {title}", WIDTH, HEIGHT, marks)


def shares_of(spectrum: ScreeValues, most: int) -> list[float]:
    """Return the running share of the trace at the first components; empty where one of them is unknown."""
    shares = [share for share in spectrum.cumulative[:most] if share is not None and np.isfinite(share)]
    return shares if len(shares) == len(spectrum.cumulative[:most]) else []


def _panel(count: int, heights: Scale, beside: float = 0) -> Panel:
    return Panel(Scale(low=-0.5, high=max(count, 1) - 0.5, start=LEFT, end=WIDTH - max(RIGHT, beside), step=1), heights)


def bars(spectrum: ScreeValues) -> list[tuple[float, str]]:
    """Return the heights of the bars, each with its kind."""
    values = [*spectrum.values, *spectrum.at_least][:MOST]
    zero = ALIKE * max(map(abs, values), default=0.0)
    return [(value, "bound" if place >= len(spectrum.values) else "negative" if value < -zero else
             "kept" if place < spectrum.kept else "rest") for place, value in enumerate(values)]


def _analysis_line(panel: Panel, line: Sequence[float]) -> list[Mark]:
    """Return the line of parallel analysis, with a margin that sets it off from bars."""
    points = [(panel.x(i), panel.y(value)) for i, value in enumerate(line)]
    return [Curve("halo", points), Dots("ground", np.array(points), 4), Curve("curve", points),
            Dots("knot", np.array(points), 2.5)] if points else []


def _bar(panel: Panel, place: int, value: float, kind: str) -> Bar:
    width = min(0.7 * (panel.x(1) - panel.x(0)) if panel.x.high > 1 else 60.0, 60.0)
    top, bottom = sorted((panel.y(value), panel.y(0.0)))
    return Bar(kind=kind, x=panel.x(place) - width / 2, y=top, width=width, height=bottom - top,
               tip=f"{place + 1}: {'at least ' if kind == 'bound' else ''}{number(value)}")
