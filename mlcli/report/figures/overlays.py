"""Figures over an embedding in gray: new points among those of a run, and a path from point to point."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from mlcli.base.types import Array, Indices
from mlcli.core.paths.geodesics import Search
from mlcli.data.options.wording import counted
from mlcli.report.drawing.axes import Panel, to_pixels
from mlcli.report.drawing.figure import Bar, Curve, Dots, Figure, Mark, Segments, Text
from mlcli.report.drawing.palette import STEPS
from mlcli.report.drawing.text import number, shorten
from mlcli.report.figures.coloring import ROW, coloring, single_color
from mlcli.report.figures.scatter import (
    BESIDE,
    BOTTOM,
    HALF,
    LEFT,
    LETTERS,
    MOST,
    TOP,
    WIDE,
    DrawnEdges,
    Points,
    backdrop,
    dots,
    panel_of,
    plane,
    sample_rows,
    sides,
    with_legend,
)

FAINT = 0.8  # radius of the run's points over that of the new ones


def new_points_over(values: Array, new: Array, ids: Sequence[str], labels: Mapping[str, Sequence[str]], *,
                    axes: Sequence[str], seed: int) -> Figure:
    """Draw new points, an (m, p) array, over an embedding, an (n, p) array, colored by the first label column.

    Samples of very many. New points of a single axis are over the numbers of their own rows.
    """
    colors = next((coloring(name, texts) for name, texts in labels.items()), single_color(len(new)))
    shown = Points(new, ids, colors, len(new), axes=axes).sample(MOST, seed)
    rows = sample_rows(len(values), MOST, seed)
    others = plane(values, rows) if rows is None else plane(values[rows], rows)
    panel = panel_of(np.concatenate([values, new]))
    title = f"{len(new):,} new point{'' if len(new) == 1 else 's'} among {len(values):,}"
    right = float(LEFT + WIDE + BESIDE)
    key = [*_key(len(values), len(new), right, named=bool(labels)), *colors.legend(right, TOP + 8 + 3 * ROW)]
    marks: list[Mark] = [*backdrop(title, panel), Dots("other", to_pixels(others, panel), FAINT * shown.radius),
                         *dots(shown, plane(shown.values, shown.rows), panel, shown.radius + 0.6),
                         *panel.names(*shown.sides), *key]
    return with_legend(title, panel.y.start + BOTTOM, marks, key)


def _key(old: int, new: int, x: float, *, named: bool) -> list[Mark]:
    """Return the legend of gray, and of the new points' color where they have one."""
    y = TOP + 8.0
    gray: list[Mark] = [Dots("other", np.array([[x + 6, y - 4]]), 3),
                        Text(x + 17, y, f"the run's ({old:,})", kind="small")]
    own: list[Mark] = [Dots("plain", np.array([[x + 6, y + ROW - 4]]), 4),
                       Text(x + 17, y + ROW, f"new ({new:,})", kind="small")]
    return gray if named else [*gray, *own]


def moves_over(values: Array, rows: Indices, former: Array, *, title: str, axes: Sequence[str], seed: int) -> Figure:
    """Draw lines from `former` places (m x p) to rows (m) of an embedding (n x p), over the other rows in gray."""
    panel, places = panel_of(np.concatenate([values, former])), plane(values)
    others = np.setdiff1d(np.arange(len(values)), rows)
    some = sample_rows(len(others), MOST, seed)
    others = others if some is None else others[some]
    radius = next(size for most, size in SIZES if len(others) + len(rows) <= most or most == MOST)
    ends = to_pixels(places[rows], panel)
    marks: list[Mark] = [*backdrop(title, panel), Dots("other", to_pixels(places[others], panel), FAINT * radius),
                         Segments("move", np.column_stack([to_pixels(plane(former, rows), panel), ends])),
                         Dots("plain", ends, radius), *panel.names(*sides(axes, values.shape[1]))]
    return Figure(title, LEFT + WIDE + RIGHT, panel.y.start + BOTTOM, marks)


RIGHT = 40  # pixels to the right of the plot
SIZES = ((100, 3.4), (500, 2.8), (2000, 2.0), (MOST, 1.4))  # largest number of points, and radius of a dot
NAMED, LETTER = 24, 7.0  # largest number of characters of an id, and pixels of one
BESIDE_DOT = 8.0  # pixels between the middle of a dot and its name


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
    marks: list[Mark] = [*backdrop(title, panel), Dots("other", others, radius),
                         Curve("way", list(map(tuple, passed.tolist()))),
                         Dots("mark", passed, radius + 0.8), *_end_names(passed, ends, panel),
                         *panel.names(*sides(axes, values.shape[1]))]
    return Figure(title, max(LEFT + WIDE + RIGHT, LEFT + LETTERS["text"] * len(title)), panel.y.start + BOTTOM, marks)


def _end_names(passed: Array, ends: Sequence[str], panel: Panel) -> list[Mark]:
    """Return the names of both ends, on a ground that no line shows through; one for a single point.

    Each is inside the panel, beside which the numbers of its axis stand, and where the path does not leave to: on the
    other side, or else above or below.
    """
    left, right, *_ = panel.edges
    marks: list[Mark] = []
    for (x, y), (toward, below), name in [(passed[0], passed[min(1, len(passed) - 1)], ends[0]),
                                          (passed[-1], passed[max(-2, -len(passed))], ends[1])][: len(passed)]:
        wide = LETTER * len(name)
        inside = {"end": x - BESIDE_DOT - wide >= left, "start": x + BESIDE_DOT + wide <= right + HALF}
        sides = ("end", "start") if toward > x else ("start", "end")
        side = next((side for side in sides if inside[side]), sides[0])
        line = float(y) + 4 if side == sides[0] or len(passed) == 1 else float(y) + (-8 if below > y else 16)
        begin = float(x) + (-BESIDE_DOT if side == "end" else BESIDE_DOT)
        marks += [Bar("ground", begin - (wide if side == "end" else 0.0) - 2, line - 11, width=wide + 4, height=15),
                  Text(begin, line, name, side)]
    return marks


NEXT = 0.8  # radius of a point that is not settled over that of the others


def search_over(values: Array, search: Search, edges: Indices, way: Indices, *, names: Sequence[str],
                axes: Sequence[str], seed: int) -> Figure:
    """Draw what Dijkstra's algorithm visited over the first two axes of an embedding (n x p), colored by distance.

    `edges` (e x 2) are those of settled points, `way` (m) is the path, empty if there is none; `names` are those of the
    first and the last point.
    """
    panel = panel_of(values)
    places = to_pixels(plane(values), panel)
    count = len(search.settled)
    title = f"Dijkstra from {names[0]}: {count:,} of {counted(len(values), 'point')} settled"
    rest = np.setdiff1d(np.arange(len(values)), np.concatenate([search.settled, search.frontier]))
    chosen = [rows if (some := sample_rows(len(rows), MOST, seed)) is None else rows[some]
              for rows in (rest, search.settled[::-1], search.frontier)]
    radius = next(size for most, size in SIZES if len(values) <= most or most == MOST)
    tree = np.column_stack([search.before, search.settled])[1:]
    farthest = float(search.lengths[-1]) or 1.0
    order = np.argsort(search.settled)
    found = search.lengths[order][np.searchsorted(search.settled, chosen[1], sorter=order)]
    levels = np.rint((STEPS - 1) * found / farthest).astype(np.int64)
    right = float(LEFT + WIDE + BESIDE)
    key = _search_key(right, way=len(way) > 0, rest=len(rest) > 0, frontier=len(search.frontier) > 0)
    marks: list[Mark] = [
        *backdrop(title, panel), Dots("absent", places[chosen[0]], NEXT * radius),
        *DrawnEdges.of(plane(values), edges, seed).marks(panel),
        *DrawnEdges.of(plane(values), tree, seed).marks(panel, "axis"),
        *(Dots(f"s{level}", places[chosen[1][levels == level]], radius) for level in np.unique(levels).tolist()),
        Dots("c1", places[chosen[2]], NEXT * radius, "diamond")]
    if len(way):
        passed = places[way]
        marks += [Curve("way", list(map(tuple, passed.tolist()))), Dots("mark", passed, radius + 0.8),
                  *_end_names(passed, names, panel)]
    else:
        marks += _end_names(places[search.settled[:1]], names, panel)
    return with_legend(title, panel.y.start + BOTTOM, [*marks, *panel.names(*sides(axes, values.shape[1])), *key], key)


def _search_key(x: float, **there: bool) -> list[Mark]:
    """Return the legend of a search, of what is there."""
    entries: list[tuple[Mark, str]] = [
        (Dots("s0", np.array([[x + 6, 0.0]]), 4), "settled first"),
        (Dots(f"s{STEPS - 1}", np.array([[x + 6, 0.0]]), 4), "settled last"),
        (Segments("axis", np.array([[x, 0.0, x + 12, 0.0]])), "shortest path to each")]
    if there["frontier"]:
        entries.append((Dots("c1", np.array([[x + 6, 0.0]]), 4, "diamond"), "tentative distance"))
    if there["rest"]:
        entries.append((Dots("absent", np.array([[x + 6, 0.0]]), 4), "not visited"))
    if there["way"]:
        entries.append((Segments("way", np.array([[x, 0.0, x + 12, 0.0]])), "path"))
    marks: list[Mark] = []
    for row, (mark, name) in enumerate(entries):
        y = TOP + 8 + ROW * row
        if isinstance(mark, Dots):
            marks.append(replace(mark, points=mark.points + np.array([0, y - 4])))
        elif isinstance(mark, Segments):
            marks.append(replace(mark, ends=mark.ends + np.array([0, y - 4, 0, y - 4])))
        marks.append(Text(x + 17, y, name, kind="small"))
    return marks
