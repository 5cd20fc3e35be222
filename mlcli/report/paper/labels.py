"""Labels beside points: moved apart by adjustText, and joined to their points where they had to move away."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlcli.base.types import Array
from mlcli.report.palette import INKS
from mlcli.report.paper.sheet import laid_out

ROUNDS = 100  # of moving labels apart, whatever the time: the same input gives the same places
FEW = 60  # labels up to which so many rounds take a second or two; each takes time by the square of their number
MOVED = 200  # labels up to which they are moved: more find no room
NEAR = 3.0  # points between a mark and its label up to which they need no line


def place(figure: Any, texts: Sequence[Any], places: Array, marker: float) -> None:
    """Fixes the axes' place and limits, and moves texts apart from each other and from the marks at places (m x 2)."""
    (axes, *_) = figure.axes
    laid_out(figure)
    axes.set(xlim=axes.get_xlim(), ylim=axes.get_ylim())
    if not 0 < len(texts) <= MOVED:
        return
    from adjustText import adjust_text

    anchors = [text.get_position() for text in texts]
    adjust_text(list(texts), objects=_boxes(axes, places, marker), ax=axes, iter_lim=_rounds(len(texts)),
                expand=(1.05, 1.1), force_text=(0.15, 0.25), force_static=(0.1, 0.25), prevent_crossings=False)
    for text, anchor in zip(texts, anchors, strict=True):
        _joined(axes, text, anchor, marker)


def _rounds(count: int) -> int:
    """How often so many labels are moved."""
    return ROUNDS * FEW**2 // max(count, FEW) ** 2


def _boxes(axes: Any, places: Array, marker: float) -> list[Any]:
    """The squares that marks fill, in data coordinates."""
    from matplotlib.transforms import Bbox

    centers = axes.transData.transform(places)
    low, high = (axes.transData.inverted().transform(centers + side * marker / 2) for side in (-1, 1))
    return [Bbox(np.sort([first, last], axis=0)) for first, last in zip(low, high, strict=True)]


def _joined(axes: Any, text: Any, anchor: tuple[float, float], marker: float) -> None:
    """A thin line from a point to the edge of its label, where the label lies away from it."""
    box, start = text.get_window_extent(), axes.transData.transform(anchor)
    end = np.clip(start, (box.x0, box.y0), (box.x1, box.y1))
    if np.hypot(*(end - start)) > marker / 2 + NEAR:
        axes.plot(*axes.transData.inverted().transform([start, end]).T, color=INKS["axis"].light, linewidth=0.5,
                  zorder=1)
