"""A path over the embedding: its points joined in order (Tenenbaum, de Silva and Langford, 2000, fig. 3)."""

from collections.abc import Sequence

from mlcli.base.types import Array, Indices
from mlcli.report.drawing.axes import to_pixels
from mlcli.report.drawing.figure import Curve, Dots, Figure, Mark, Text
from mlcli.report.drawing.text import number, shorten
from mlcli.report.figures.scatter import BOTTOM, LEFT, MOST, WIDE, panel_of, plane, sample_rows

RIGHT = 40  # pixels to the right of the plot
SIZES = ((100, 3.4), (500, 2.8), (2000, 2.0), (MOST, 1.4))  # largest number of points, and radius of a dot
NAMED, LETTER = 24, 7.0  # largest number of characters of an id, and pixels of one


def path_over(values: Array, ids: Sequence[str], way: Indices, length: float, *, axes: Sequence[str],
              seed: int) -> Figure:
    """Draw the path over the first two axes of an embedding, an (n, p) array, and a sample of very many points.

    `way` is an (m,) array of row numbers, `length` its length.
    """
    panel, places = panel_of(values), plane(values)
    rows = sample_rows(len(values), MOST, seed)
    others, passed = to_pixels(places if rows is None else places[rows], panel), to_pixels(places[way], panel)
    radius = next(size for most, size in SIZES if len(others) <= most)
    steps = f"{len(way) - 1:,} step{'' if len(way) == 2 else 's'}"
    ends = [shorten(ids[int(way[place])], NAMED) for place in (0, -1)]
    title = f"The shortest path from {ends[0]} to {ends[1]}: {steps}, {number(length)} long"
    marks: list[Mark] = [Text(LEFT, 22, title, kind="title"), *panel.rows(), *panel.columns(),
                         Dots("other", others, radius), Curve("way", list(map(tuple, passed.tolist()))),
                         Dots("mark", passed, radius + 0.8), *_end_names(passed, ends),
                         *panel.names(*(axes if values.shape[1] > 1 else ("row", axes[0])))]
    return Figure(title, LEFT + WIDE + RIGHT, panel.y.start + BOTTOM, marks)


def _end_names(passed: Array, ends: Sequence[str]) -> list[Mark]:
    """Return the names of both ends, each on the side that the path does not leave to; one for a single point."""
    marks: list[Mark] = []
    for (x, y), (toward, _), name in [(passed[0], passed[min(1, len(passed) - 1)], ends[0]),
                                      (passed[-1], passed[max(-2, -len(passed))], ends[1])][: len(passed)]:
        room = LETTER * len(name) + 8
        left = x > room and (toward > x or x + room > LEFT + WIDE + RIGHT)
        away, anchor = (-8.0, "end") if left else (8.0, "start")
        marks.append(Text(float(x) + away, float(y) + 4, name, anchor))
    return marks
