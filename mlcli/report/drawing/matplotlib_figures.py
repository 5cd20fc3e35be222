"""Figures as PNG and PDF, drawn by Matplotlib (the extra `manifold-cli[plot]`) in colors for a light background."""

import io
import logging
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from mlcli.base.values.extras import require
from mlcli.report.drawing.figure import Bar, Curve, Dots, Figure, Line, Mark, Picture, Segments, Text
from mlcli.report.drawing.palette import GROUND, INKS
from mlcli.report.drawing.text import visible

RESOLUTION = 200  # dots per inch of a PNG
SIDES = {"start": "left", "middle": "center", "end": "right"}
MARKERS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D", "cross": "P"}


def image(figure: Figure, format: str) -> bytes:
    """Return a figure as the bytes of a file; a pixel of the figure is a point of the page.

    Raises DependencyMissing.
    """
    require("plot", f"drawing {format}")
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # without a home it warns of a cache in TMPDIR, and uses it
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Sheet

    sheet = Sheet(figsize=(figure.width / 72, figure.height / 72), facecolor=GROUND[0])
    FigureCanvasAgg(sheet)
    axes = sheet.add_axes((0.0, 0.0, 1.0, 1.0), xlim=(0, figure.width), ylim=(figure.height, 0))
    axes.set_axis_off()
    for order, mark in enumerate(figure.marks):
        PAINTERS[type(mark)](axes, mark, order)
    out = io.BytesIO()
    with warnings.catch_warnings():  # about characters missing in the font, which become boxes
        warnings.simplefilter("ignore")
        sheet.savefig(out, format=format, dpi=RESOLUTION,
                      metadata={"CreationDate": None} if format == "pdf" else {"Software": None})
    return out.getvalue()


def _line(axes: Any, mark: Line, order: int) -> None:
    axes.plot([mark.x1, mark.x2], [mark.y1, mark.y2], zorder=order, **_stroke(mark.kind))


def _curve(axes: Any, mark: Curve, order: int) -> None:
    if mark.points:
        axes.plot(*zip(*mark.points, strict=True), zorder=order, **_stroke(mark.kind))


def _segments(axes: Any, mark: Segments, order: int) -> None:
    from matplotlib.collections import LineCollection

    ink = INKS[mark.kind]
    axes.add_collection(LineCollection(list(mark.ends.reshape(-1, 2, 2)), colors=ink.light, linewidths=ink.width,
                                       zorder=order))


def _stroke(kind: str) -> dict[str, Any]:
    ink = INKS[kind]
    dashes = {"dashes": [float(part) / ink.width for part in ink.dash.split()]} if ink.dash else {}
    return {"color": ink.light, "linewidth": ink.width, **dashes}


def _bar(axes: Any, mark: Bar, order: int) -> None:
    from matplotlib.patches import Rectangle

    ink = INKS[mark.kind]
    color = {"fill": False, "edgecolor": ink.light, "linewidth": ink.width} if ink.width else {
        "facecolor": ink.light, "edgecolor": "none"}
    axes.add_patch(Rectangle((mark.x, mark.y), mark.width, mark.height, zorder=order, **color))


def _dots(axes: Any, mark: Dots, order: int) -> None:
    axes.scatter(mark.points[:, 0], mark.points[:, 1], s=(2 * mark.radius) ** 2, marker=MARKERS[mark.shape],
                 color=INKS[mark.kind].light, linewidths=0, zorder=order)


def _text(axes: Any, mark: Text, order: int) -> None:
    ink, text = INKS[mark.kind], visible(mark.text).replace("$", r"\$")  # dollars begin formulas
    axes.text(mark.x, mark.y, text, color=ink.light, fontsize=ink.size, weight="bold" if ink.weight > 500 else "normal",
              style="italic" if ink.italic else "normal",
              ha=SIDES[mark.anchor], va="baseline", rotation=90 if mark.turned else 0, rotation_mode="anchor",
              zorder=order)


def _picture(axes: Any, mark: Picture, order: int) -> None:
    if mark.kind == "night":  # paper is light
        return
    *colors, opacity = np.moveaxis(mark.levels, 2, 0)
    axes.imshow(np.stack([*(colors if len(colors) == 3 else 3 * colors), opacity], axis=2), zorder=order, aspect="auto",
                extent=(mark.x, mark.x + mark.width, mark.y + mark.height, mark.y),
                interpolation="nearest" if mark.kind == "pixels" else "bilinear")


PAINTERS: dict[type[Mark], Callable[[Any, Any, int], None]] = {
    Line: _line, Bar: _bar, Curve: _curve, Segments: _segments, Dots: _dots, Text: _text, Picture: _picture}
