"""A path over the embedding: the points that it passes, joined in their order (Tenenbaum and others, 2000, fig. 3)."""

from collections.abc import Sequence

from mlcli.base.types import Array, Indices
from mlcli.report.drawing.axes import spots
from mlcli.report.drawing.figure import Curve, Dots, Figure, Mark, Text
from mlcli.report.drawing.text import number, shortened
from mlcli.report.figures.scatter import BOTTOM, LEFT, MOST, WIDE, panel_of, plane, sampled

RIGHT = 40  # pixels beside the plot
SIZES = ((100, 3.4), (500, 2.8), (2000, 2.0), (MOST, 1.4))  # radius of a dot, up to so many points
NAMED, LETTER = 24, 7.0  # characters of an id, and the room that one takes


def way_over(values: Array, ids: Sequence[str], way: Indices, length: float, *, axes: Sequence[str],
             seed: int) -> Figure:
    """The path over the first two axes of an embedding (n x p), over a sample of very many points."""
    panel, places = panel_of(values), plane(values)
    rows = sampled(len(values), MOST, seed)
    others, passed = spots(places if rows is None else places[rows], panel), spots(places[way], panel)
    radius = next(size for most, size in SIZES if len(others) <= most)
    steps = f"{len(way) - 1:,} step{'' if len(way) == 2 else 's'}"
    ends = [shortened(ids[int(way[place])], NAMED) for place in (0, -1)]
    title = f"The shortest path from {ends[0]} to {ends[1]}: {steps}, {number(length)} long"
    marks: list[Mark] = [Text(LEFT, 22, title, kind="title"), *panel.rows(), *panel.columns(),
                         Dots("other", others, radius), Curve("way", list(map(tuple, passed.tolist()))),
                         Dots("mark", passed, radius + 0.8), *_named(passed, ends),
                         *panel.names(*(axes if values.shape[1] > 1 else ("row", axes[0])))]
    return Figure(title, LEFT + WIDE + RIGHT, panel.y.start + BOTTOM, marks)


def _named(passed: Array, ends: Sequence[str]) -> list[Mark]:
    """The names of both ends, each where the path does not leave to, if it has room there; one of a single point."""
    marks: list[Mark] = []
    for (x, y), (toward, _), name in [(passed[0], passed[min(1, len(passed) - 1)], ends[0]),
                                      (passed[-1], passed[max(-2, -len(passed))], ends[1])][: len(passed)]:
        room = LETTER * len(name) + 8
        left = x > room and (toward > x or x + room > LEFT + WIDE + RIGHT)
        away, anchor = (-8.0, "end") if left else (8.0, "start")
        marks.append(Text(float(x) + away, float(y) + 4, name, anchor))
    return marks
