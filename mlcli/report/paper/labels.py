"""Labels next to points: moved apart by adjustText, with lines to their points where they had to move away."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlcli.base.types import Array
from mlcli.report.drawing.palette import INKS
from mlcli.report.paper.sheet import fix_layout

ROUNDS = 30  # rounds of moving labels apart; no time limit, so that results repeat
FEW = 60  # largest number of labels for all rounds: a round takes time proportional to the square of it
MARKS = 500  # marks that labels are moved away from; of more, some evenly
MOVED = 200  # largest number of labels that are moved: more find no room
SHAFT, STEP = 2.0, 8.0  # width of an arrow's shaft, and distance of places on it, in points
TURNS = np.linspace(0, 2 * np.pi, 24, endpoint=False)
AROUND = np.concatenate([np.zeros((1, 2)), *(reach * np.column_stack([np.cos(TURNS), np.sin(TURNS)])
                                             for reach in range(2, 62, 3))])  # offsets in points from a text's place
NEAR = 3.0  # largest distance in points of a mark and its label without a line


def place(figure: Any, texts: Sequence[Any], places: Array, marker: float, arrows: Array) -> None:
    """Fix the axes' limits, and move texts apart from each other, from marks and from arrows.

    `places`, an (m, 2) array, are those of the marks; `arrows`, a (k, 2) array, the ends of arrows from the origin.
    """
    (axes, *_) = figure.axes
    fix_layout(figure)
    axes.set(xlim=axes.get_xlim(), ylim=axes.get_ylim())
    if not 0 < len(texts) <= MOVED:
        return
    from adjustText import adjust_text

    anchors = [text.get_position() for text in texts]
    marks = places[:: 1 + len(places) // MARKS]
    static = [*_boxes(axes, marks, marker), *_boxes(axes, _shaft_points(axes, arrows), SHAFT)]
    adjust_text(list(texts), objects=static, ax=axes, iter_lim=_rounds(len(texts)),
                expand=(1.05, 1.1), force_text=(0.15, 0.25), force_static=(0.1, 0.25), prevent_crossings=False)
    corners = np.array([box.get_points() for box in static]).reshape(-1, 2)
    _move_to_free_places(axes, texts, axes.transData.transform(corners).reshape(-1, 4))
    for text, anchor in zip(texts, anchors, strict=True):
        _leader_line(axes, text, anchor, marker)


def _rounds(count: int) -> int:
    """Return the number of rounds for `count` labels."""
    return ROUNDS * FEW**2 // max(count, FEW) ** 2


def _move_to_free_places(axes: Any, texts: Sequence[Any], taken: Array) -> None:
    """Move each text that overlaps another one, or a box in `taken`, to the nearest free place around it."""
    boxes, room = np.array([text.get_window_extent().extents for text in texts]), axes.get_window_extent().extents
    for place, text in enumerate(texts):
        others = np.concatenate([taken, np.delete(boxes, place, axis=0)])
        moved = boxes[place] + np.tile(AROUND, 2)  # a row for each place around it, its own first
        inside = ((moved[:, :2] >= room[:2]) & (moved[:, 2:] <= room[2:])).all(axis=1)
        apart = (moved[:, None, :2] >= others[:, 2:]) | (moved[:, None, 2:] <= others[:, :2])
        free = np.flatnonzero(apart.any(axis=2).all(axis=1) & inside)
        if len(free) and free[0]:
            boxes[place] = moved[free[0]]
            start = axes.transData.transform(text.get_position())
            text.set_position(axes.transData.inverted().transform(start + AROUND[free[0]]))


def _shaft_points(axes: Any, ends: Array) -> Array:
    """Return places on the shafts of arrows, so close that no text fits between two."""
    lengths = np.hypot(*(axes.transData.transform(ends) - axes.transData.transform((0, 0))).T)
    parts = [np.linspace(0.15, 1, 1 + int(length / STEP))[:, None] * end
             for end, length in zip(ends, lengths.tolist(), strict=True)]
    return np.concatenate([np.empty((0, 2)), *parts])


def _boxes(axes: Any, places: Array, marker: float) -> list[Any]:
    """Return the squares of the marks, in data coordinates."""
    from matplotlib.transforms import Bbox

    centers = axes.transData.transform(places)
    low, high = (axes.transData.inverted().transform(centers + side * marker / 2) for side in (-1, 1))
    return [Bbox(np.sort([first, last], axis=0)) for first, last in zip(low, high, strict=True)]


def _leader_line(axes: Any, text: Any, anchor: tuple[float, float], marker: float) -> None:
    """Draw a thin line from a point to the edge of its label, where the label lies away from it."""
    box, start = text.get_window_extent(), axes.transData.transform(anchor)
    end = np.clip(start, (box.x0, box.y0), (box.x1, box.y1))
    if np.hypot(*(end - start)) > marker / 2 + NEAR:
        axes.plot(*axes.transData.inverted().transform([start, end]).T, color=INKS["axis"].light, linewidth=0.5,
                  zorder=1)
