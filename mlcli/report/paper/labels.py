"""Labels beside points: moved apart by adjustText, and joined to their points where they had to move away."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlcli.base.types import Array
from mlcli.report.drawing.palette import INKS
from mlcli.report.paper.sheet import laid_out

ROUNDS = 30  # of moving labels apart, whatever the time: the same input gives the same places
FEW = 60  # labels up to which so many rounds take a second or two; each takes time by the square of their number
MOVED = 200  # labels up to which they are moved: more find no room
SHAFT, STEP = 2.0, 8.0  # points that an arrow's shaft is wide, and between places on it
TURNS = np.linspace(0, 2 * np.pi, 24, endpoint=False)
AROUND = np.concatenate([np.zeros((1, 2)), *(reach * np.column_stack([np.cos(TURNS), np.sin(TURNS)])
                                             for reach in range(2, 62, 3))])  # points from where a text is
NEAR = 3.0  # points between a mark and its label up to which they need no line


def place(figure: Any, texts: Sequence[Any], places: Array, marker: float, arrows: Array) -> None:
    """Fixes the axes, and moves texts apart from each other, from the marks at places (m x 2), and from arrows.

    Arrows begin at the origin; these are their ends (k x 2).
    """
    (axes, *_) = figure.axes
    laid_out(figure)
    axes.set(xlim=axes.get_xlim(), ylim=axes.get_ylim())
    if not 0 < len(texts) <= MOVED:
        return
    from adjustText import adjust_text

    anchors = [text.get_position() for text in texts]
    static = [*_boxes(axes, places, marker), *_boxes(axes, _along(axes, arrows), SHAFT)]
    adjust_text(list(texts), objects=static, ax=axes, iter_lim=_rounds(len(texts)),
                expand=(1.05, 1.1), force_text=(0.15, 0.25), force_static=(0.1, 0.25), prevent_crossings=False)
    corners = np.array([box.get_points() for box in static]).reshape(-1, 2)
    _free(axes, texts, axes.transData.transform(corners).reshape(-1, 4))
    for text, anchor in zip(texts, anchors, strict=True):
        _joined(axes, text, anchor, marker)


def _rounds(count: int) -> int:
    """How often so many labels are moved."""
    return ROUNDS * FEW**2 // max(count, FEW) ** 2


def _free(axes: Any, texts: Sequence[Any], taken: Array) -> None:
    """Moves each text that still lies over another one, or over what is taken, to the nearest free place around it."""
    boxes, room = np.array([text.get_window_extent().extents for text in texts]), axes.get_window_extent().extents
    for place, text in enumerate(texts):
        others = np.concatenate([taken, np.delete(boxes, place, axis=0)])
        moved = boxes[place] + np.tile(AROUND, 2)  # a row for each place around it, which begin with its own
        inside = ((moved[:, :2] >= room[:2]) & (moved[:, 2:] <= room[2:])).all(axis=1)
        apart = (moved[:, None, :2] >= others[:, 2:]) | (moved[:, None, 2:] <= others[:, :2])
        free = np.flatnonzero(apart.any(axis=2).all(axis=1) & inside)
        if len(free) and free[0]:
            boxes[place] = moved[free[0]]
            start = axes.transData.transform(text.get_position())
            text.set_position(axes.transData.inverted().transform(start + AROUND[free[0]]))


def _along(axes: Any, ends: Array) -> Array:
    """Places on the shafts of arrows, so close that no text lies between two."""
    lengths = np.hypot(*(axes.transData.transform(ends) - axes.transData.transform((0, 0))).T)
    parts = [np.linspace(0.15, 1, 1 + int(length / STEP))[:, None] * end
             for end, length in zip(ends, lengths.tolist(), strict=True)]
    return np.concatenate([np.empty((0, 2)), *parts])


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
