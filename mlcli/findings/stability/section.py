"""The part of a report about stability."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.base.units import percent
from mlcli.findings.frame.finished_run import FinishedRun
from mlcli.findings.stability.measure import StabilityResult, spreads_of
from mlcli.report.drawing.axes import to_pixels
from mlcli.report.drawing.figure import Curve, Dots, Figure, Line, Mark
from mlcli.report.drawing.html import Part, figure, section, sentence, table
from mlcli.report.drawing.text import number
from mlcli.report.figures.scatter import BOTTOM, LEFT, WIDE, backdrop, panel_of, plane, sample_rows, sides

TITLE = "Points in fits to resampled rows"
ELLIPSES = 200  # largest number of ellipses
CORNERS = 24  # corners of the line for an ellipse
RIGHT = 40


def stability(found: StabilityResult, run: FinishedRun) -> Part:
    """Return intervals as a table, the angle of the axes, and an ellipse for each point."""
    figures = found.figures
    return section("Stability", sentence(_description(figures), "soft"), _intervals(figures), _angle(figures),
                   _ellipses(run, found))


def _description(found: Mapping[str, Any]) -> str:
    rows = (f"{found['resamples']} fits to bootstrap samples (as many rows, drawn with replacement)" if found["kind"] ==
    "bootstrap" else
            f"{found['resamples']} fits to {number(found['rows'])} rows each, drawn without replacement; spreads are "
            "for all rows, by the delete-d jackknife, and very wide where the result depends on single rows")
    failed = f"; {found['failed']} more failed and are left out" if found["failed"] else ""
    return f"{rows}{failed}. Intervals and ellipses are of level {_level(found)}."


def _level(found: Mapping[str, Any]) -> str:
    return f"{100 * found['level']:.3g}%"


def _intervals(found: Mapping[str, Any]) -> Part:
    """Return eigenvalues and shares, each with its interval."""
    values, shares = found.get("eigenvalues", []), found.get("shares", [])
    head, rows = ["component"], [[str(axis + 1)] for axis in range(max(len(values), len(shares)))]
    for name, items, shown in (
            ("eigenvalue", values, number), ("share of trace", shares, partial(percent, digits=2))):
        if items:
            head += [name, "interval"]
            for row, item in zip(rows, items, strict=True):
                row += [shown(item["value"]), f"{shown(item['low'])} to {shown(item['high'])}"]
    return table(head, rows, range(len(head)))


def _angle(found: Mapping[str, Any]) -> Part:
    angle = found["angle"]
    if angle["median"] is None:
        return None
    return sentence(f"The largest angle between these axes and those of other rows is {angle['median']:.3g}° (median), "
                    f"and at most {angle['at_most']:.3g}° in {_level(found)} of the fits, by {angle['of']}.")


def _ellipses(run: FinishedRun, stable: StabilityResult) -> Part:
    if not len(stable.deviations):
        return None
    found = stable.figures
    names, spreads = spreads_of(stable)
    known = np.flatnonzero(np.isfinite(spreads).all(axis=1))
    some = sample_rows(len(known), ELLIPSES, run.seed)
    rows = known if some is None else known[some]
    drawn = _drawn(run.embedding.values, spreads, rows, float(found["level"]), run.axes)
    sample = f" A random sample of {len(rows)} of {len(known):,} points." if some is not None else ""
    what = "An ellipse" if len(names) > 1 else "A line"
    return figure(drawn, f"{what} for each point, which holds {_level(found)} of a normal distribution with the spread "
                  f"of its places, after fits are rotated, reflected and moved onto the run, not stretched.{sample}")


def _drawn(embedding: Array, spreads: Array, rows: Indices, level: float, axes: Sequence[str]) -> Figure:
    """Draw points (n, p) with the ellipses of some rows' spreads (n, 3), or the lines of their deviations (n, 1)."""
    places = plane(embedding)
    with np.errstate(over="ignore"):  # points out of range are drawn at the largest double
        outlines = [np.nan_to_num(places[row] + offsets(spreads[row], level)) for row in rows.tolist()]
    panel = panel_of(np.concatenate([places, *outlines]))
    marks: list[Mark] = [*backdrop(TITLE, panel), Dots("plain", to_pixels(places[rows], panel), 1.6)]
    marks += [_outline(to_pixels(outline, panel)) for outline in outlines]
    marks += panel.names(*sides(axes, embedding.shape[1]))
    return Figure(TITLE, LEFT + WIDE + RIGHT, panel.y.start + BOTTOM, marks)


def _outline(pixels: Array) -> Mark:
    """Return an ellipse, or a vertical line."""
    if len(pixels) > 2:
        return Curve("ellipse", list(map(tuple, pixels.tolist())))
    (x1, y1), (x2, y2) = pixels.tolist()
    return Line(kind="ellipse", x1=x1, y1=y1, x2=x2, y2=y2)


def offsets(spread: Array, level: float) -> Array:
    """Return the outline, about its center, of the ellipse with a share `level` of a normal distribution.

    `spread` is a (3,) array of two deviations and a correlation: a circle of radius √(-2 ln(1 - level)) is mapped by a
    root of the covariance, to a (c, 2) array. Of a (1,) array, one deviation, both ends of the interval by normal
    quantiles.
    """
    if len(spread) == 1:
        reach = NormalDist().inv_cdf((1 + level) / 2) * float(spread[0])
        return np.array([[0.0, -reach], [0.0, reach]])
    turns, radius, correlation = np.linspace(0, 2 * np.pi, CORNERS + 1), math.sqrt(-2 * math.log1p(-level)), spread[2]
    across = np.cos(turns)
    up = correlation * across + math.sqrt(max(1 - correlation**2, 0.0)) * np.sin(turns)
    return np.asarray(radius * np.column_stack([spread[0] * across, spread[1] * up]))
