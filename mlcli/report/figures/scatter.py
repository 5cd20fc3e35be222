"""Scatter plots of the embedding: the first two axes, and every pair of up to four."""

import sys
from collections.abc import Iterator, Sequence
from itertools import chain, combinations

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.scratch import parts
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.report.drawing.axes import Panel, Scale, extent, to_pixels
from mlcli.report.drawing.figure import Bar, Dots, Figure, Mark, Segments, Text, Tile
from mlcli.report.drawing.text import shorten
from mlcli.report.figures import shade
from mlcli.report.figures.coloring import Coloring
from mlcli.report.figures.density import density

MOST = 5_000  # more points are drawn as an image
MOST_EDGES = 10_000  # largest number of edges
MOST_IN_PAIRS = 2_000
MOST_TIPS = 300  # largest number of points with names as tips
ROUNDS = 4  # rounds in which groups alternate, so that none hides the others
LEFT, RIGHT, TOP, BOTTOM = 60, 216, 60, 48
WIDE, LOWEST, HIGHEST, FREE = 408, 170, 442, 289  # pixels of the plot; its height where units differ
HALF = 14  # pixels to the right of a panel for half of the last number below it
BESIDE = 20  # pixels between the plot and its legend
LETTERS = {"small": 6.5, "text": 8.2}  # width of a letter there, in an entry and in the title
NAMED, SMALL = 24, 6.2  # characters of a name beside a point, and pixels of one
ASCENT, DESCENT, APART = 9.0, 3.0, 3.0  # pixels of a small text above and below its line, and between it and a point
LONGEST_RATIO = WIDE / LOWEST  # largest ratio of the axes' ranges with equal units


@frozen
class DrawnEdges:
    """Edges under the points: the places of both ends on the plane, an (m, 4) array."""

    ends: Array
    whole: int  # number of all edges, of which these may be a sample

    @classmethod
    def of(cls, values: Array, pairs: Indices, seed: int) -> "DrawnEdges":
        """Return edges between rows of an embedding, at most `MOST_EDGES` of them by a seeded sample.

        `values` is an (n, p) array, `pairs` an (e, 2) array of row numbers.
        """
        rows, places = sample_rows(len(pairs), MOST_EDGES, seed), values[:, :2]
        some = pairs if rows is None else pairs[rows]
        return cls(np.column_stack([places[some[:, 0]], places[some[:, 1]]]), len(pairs))

    def marks(self, panel: Panel, kind: str = "edge") -> list[Mark]:
        """Return the lines in pixels, of a kind of mark."""
        first, second = to_pixels(self.ends[:, :2], panel), to_pixels(self.ends[:, 2:], panel)
        return [Segments(kind, np.column_stack([first, second]))]


@frozen
class Points:
    """Rows of an embedding for a figure."""

    values: Array  # (m, p) array
    ids: Sequence[str]  # m
    colors: Coloring  # m
    whole: int  # number of all rows, of which these may be a sample
    rows: Indices | None = None  # their row numbers; None: all
    axes: Sequence[str] = ()  # labels of the axes; none: y1, y2, ...

    @property
    def radius(self) -> float:
        """The radius of a dot: smaller for more points."""
        count = len(self.values)
        return 3.6 if count <= 100 else 3.0 if count <= 500 else 2.2 if count <= 2000 else 1.5

    def sample(self, most: int, seed: int) -> "Points":
        """Return at most `most` of the rows by a seeded sample, in order."""
        rows = sample_rows(len(self.values), most, seed)
        return self if rows is None else Points(
            self.values[rows], [self.ids[row] for row in rows.tolist()], self.colors.take(rows), self.whole, rows,
            self.axes)

    @property
    def sides(self) -> tuple[str, str]:
        """The labels of both sides of the plane."""
        return sides([self.axis(place) for place in range(2)], self.values.shape[1])

    def axis(self, place: int) -> str:
        """Return the label of an axis."""
        return self.axes[place] if place < len(self.axes) else f"y{place + 1}"

    def turns(self) -> Iterator[tuple[int, Indices]]:
        """Yield the groups with their rows, in the order of drawing; where they are many, in several rounds."""
        rounds = 1 if len(self.values) <= MOST_TIPS else ROUNDS
        for turn in range(rounds):
            rows = np.arange(turn, len(self.values), rounds)
            groups = self.colors.of[rows]
            for group in np.flatnonzero(np.bincount(groups)).tolist():
                yield group, rows[groups == group]


def sides(axes: Sequence[str], count: int) -> tuple[str, str]:
    """Return the labels of both sides of a plane of the first of `count` axes; a single one is over the rows."""
    return (axes[0], axes[1]) if count > 1 else ("row", axes[0])


def backdrop(title: str, panel: Panel) -> list[Mark]:
    """Return what is behind all points: the title, and lines with their numbers."""
    return [Text(LEFT, 22, title, kind="title"), *panel.rows(), *panel.columns()]


def sample_rows(count: int, most: int, seed: int) -> AnyArray | None:
    """Return a seeded sample of row numbers without repetition, in order, an (m,) array; None where all are taken."""
    return None if count <= most else np.sort(np.random.default_rng(seed).choice(count, most, replace=False))


def scatter(points: Points, title: str, edges: DrawnEdges | None = None, deviations: Array | None = None,
            names: Sequence[str] = (), note: str = "") -> Figure:
    """Draw the first two axes, with equal scales where that fits; one axis against the rows' numbers.

    `deviations`, a (rows, columns) array of a decoder over the panel, give a gray background. `names` of all points,
    or none, stand beside those with room for them, and the `note` in a corner of the panel. Very many points are an
    image, with the number of points that a shade stands for in the legend. Points with an empty name have none.
    """
    panel, right = panel_of(points.values, points.rows), LEFT + WIDE + BESIDE
    places = plane(points.values, points.rows)
    dense = density(places, points.colors, panel) if len(places) > MOST else None
    key = points.colors.legend(right, TOP + 8)
    if dense is not None:
        key += dense.legend(right, legend_end(key, TOP - 6) + 14)
    under, grays = ([], []) if deviations is None else (
        shade.shade(deviations, panel), shade.legend(deviations, right, legend_end(key, TOP - 6) + 14))
    joined = [] if edges is None else edges.marks(panel)
    marks: list[Mark] = [Text(LEFT, 22, title, kind="title"), *under, *panel.rows(), *panel.columns(), *joined,
                         *(dots(points, places, panel, points.radius) if dense is None else
                           dense.pictures(points.colors, panel)),
                         *corner_note(points, note, panel),
                         *dict.fromkeys(name for name in names_beside(points, names, note) if name is not None),
                         *panel.names(*points.sides), *key, *grays]
    return with_legend(f"Scatter plot: {title}", panel.y.start + BOTTOM, marks, [*key, *grays])


def names_beside(points: Points, names: Sequence[str], note: str = "") -> list[Text | None]:
    """Return the names of points on the first two axes, each where it has room; None where it has none.

    Points at one place, to a pixel, have one text with all of their names, if it is not too long.
    """
    if not any(names):  # of very many points even their pixels would fill memory
        return [None] * len(names)
    panel = panel_of(points.values, points.rows)
    places = to_pixels(plane(points.values, points.rows), panel)
    together = list[list[int]]()
    for row in (row for row, name in enumerate(names) if name):
        for rows in together:
            if np.abs(places[rows[0]] - places[row]).max() < 1 and len(_joined(names, [*rows, row])) <= NAMED:
                rows.append(row)
                break
        else:
            together.append([row])
    found: list[Text | None] = [None] * len(names)
    for rows, text in zip(together, place_names(
            places[[rows[0] for rows in together]], [_joined(names, rows) for rows in together], points.radius, panel,
            corner_note(points, note, panel), marked=places), strict=True):
        for row in rows:
            found[row] = text
    return found


def _joined(names: Sequence[str], rows: Sequence[int]) -> str:
    """Return the names of some rows in one text."""
    return ", ".join(names[row] for row in rows)


def corner_note(points: Points, note: str, panel: Panel) -> list[Text]:
    """Return a note in the first corner of the panel without points, else in the one with the fewest; none if empty."""
    if not note:
        return []
    left, right, top, bottom = panel.edges
    places = to_pixels(plane(points.values, points.rows), panel)
    corners = [Text(x, y, note, anchor, "small") for x, anchor in ((right - APART, "end"), (left + APART, "start"))
               for y in (top + ASCENT + APART, bottom - DESCENT - APART)]
    return [min(corners, key=lambda text: int(covered(places, box_of(text), points.radius).sum()))]


def box_of(text: Text) -> tuple[float, float, float, float]:
    """Return the left, right, upper and lower end of a small text in pixels."""
    wide = SMALL * len(text.text)
    left = text.x - {"start": 0.0, "middle": wide / 2, "end": wide}[text.anchor]
    return left, left + wide, text.y - ASCENT, text.y + DESCENT


def covered(places: Array, box: tuple[float, float, float, float], radius: float) -> AnyArray:
    """Whether dots at places, an (n, 2) array, touch a box: an (n,) array."""
    left, right, top, bottom = box
    low, high = (left - radius, top - radius), (right + radius, bottom + radius)
    return np.asarray(((places > low) & (places < high)).all(axis=1))


def place_names(places: Array, names: Sequence[str], radius: float, panel: Panel, others: Sequence[Text] = (), *,
                marked: Array | None = None, kind: str = "small") -> list[Text | None]:
    """Return a name for each of the places, an (n, 2) array in pixels, or None where it has no room.

    A name stands right of its dot, left of it, above or below, wherever it first stays inside the panel and covers
    neither a dot, another text, nor a name before it. `marked`, an (m, 2) array, are all dots, if not the places alone.
    """
    left, right, top, bottom = panel.edges
    every = places if marked is None else marked
    taken, found = [box_of(text) for text in others], list[Text | None]()
    for (x, y), name in zip(places.tolist() if names else (), names, strict=True):
        text, away = shorten(name, NAMED), radius + APART
        for anchor, begin, line in (("start", x + away, y + 4), ("end", x - away, y + 4),
                                    ("middle", x, y - away - DESCENT), ("middle", x, y + away + ASCENT)):
            beside = Text(begin, line, text, anchor, kind)
            low, high, over, under = box = box_of(beside)
            inside = left <= low and high <= right and top <= over and under <= bottom
            if inside and not covered(every, box, radius).any() and not any(
                    low < end and start < high and over < down and up < under for start, end, up, down in taken):
                taken.append(box)
                found.append(beside)
                break
        else:
            found.append(None)
    return found


def with_legend(title: str, height: float, marks: Sequence[Mark], key: Sequence[Mark]) -> Figure:
    """Return a plot as a figure, with the legend to its right as a separate part."""
    if not key:
        return Figure(title, LEFT + WIDE + BESIDE, height, marks)
    left, low = LEFT + WIDE + BESIDE - 4, legend_end(key)
    wide = legend_width(key) - left + 4
    return Figure(title, left + wide, max(height, low), marks, [
        Tile(x=0, y=0, width=left, height=height), Tile(x=left, y=TOP - 8, width=wide, height=low - TOP + 8, key=True)])


def equal_units(values: Array) -> bool:
    """Whether both axes of the scatter plot of an (n, p) array have the same scale."""
    return values.shape[1] > 1 and _ratio(values) <= LONGEST_RATIO


def pairs(points: Points) -> Figure:
    """Draw every pair of the first three or four axes, each panel with its own scales."""
    count = min(points.values.shape[1], 4)
    side, gap = (214.0 if count == 3 else 140.0), LEFT + HALF
    marks: list[Mark] = []
    parts: list[Tile] = []
    for first, second in combinations(range(count), 2):
        left, top = 60 + first * (side + gap), 14 + (second - 1) * (side + gap)
        places = points.values[:, first : second + 1 : second - first]
        panel = Panel(Scale.over(_ends(places[:, 0]), left, left + side, whole=False, most=4),
                      Scale.over(_ends(places[:, 1]), top + side, top, whole=False, most=4))
        marks += [*_frame(panel), *panel.rows(), *panel.columns(),
                  *dots(points, places, panel, 0.75 * points.radius),
                  Text(left + side / 2, top + side + 31, points.axis(first), "middle", "small"),
                  Text(left - 42, top + side / 2, points.axis(second), "middle", "small", turned=True)]
        parts.append(Tile(x=left - 60, y=top - 14, width=side + gap, height=side + gap))
    step, whole = side + gap, (count - 1) * (side + gap)
    low = legend_end(points.colors.legend(0, 30))
    broad = legend_width(points.colors.legend(0, 30)) + 16
    inside = low < (count - 2) * step and broad <= step
    right = whole - step if inside else whole  # in the corner without pairs, or to their right
    key = points.colors.legend(right + 12, 30)
    if key:
        parts.append(Tile(x=right, y=0, width=step if inside else broad, height=low, key=True))
    wide, high = max(whole, right + broad if key else 0), max(whole, low)
    return Figure("Scatter plots of pairs of axes", wide, high, [*marks, *key], parts)


def panel_of(values: Array, rows: Indices | None = None) -> Panel:
    """Return the panel of the first two axes of an (n, p) array, with equal scales where that fits."""
    x, y = (_ends(places) for places in plane(values, rows).T)
    if not equal_units(values):
        return Panel(Scale.over(x, LEFT, LEFT + WIDE, whole=False), Scale.over(y, TOP + FREE, TOP, whole=False))
    spans = x[1] / 2 - x[0] / 2, y[1] / 2 - y[0] / 2
    tall = float(min(max(WIDE * spans[1] / spans[0], LOWEST), HIGHEST))
    pixel = max(spans[0] / WIDE, spans[1] / tall)  # half a pixel: a whole range may be larger than any double
    return Panel(Scale.over(_widen(x, pixel * WIDE), LEFT, LEFT + WIDE, whole=False),
                 Scale.over(_widen(y, pixel * tall), TOP + tall, TOP, whole=False))


def _widen(ends: tuple[float, float], half: float) -> tuple[float, float]:
    middle, most = ends[0] / 2 + ends[1] / 2, sys.float_info.max
    return max(middle - half, -most), min(middle + half, most)


def plane(values: Array, rows: Indices | None = None) -> Array:
    """Return the first two axes of an (n, p) array, or its only axis over the numbers of the `rows` from 1.

    The result is an (n, 2) array.
    """
    if values.shape[1] == 1:
        return np.column_stack([1 + (np.arange(len(values)) if rows is None else rows), values[:, 0]])
    return values[:, :2]


def _ends(values: Array) -> tuple[float, float]:
    """Return a range with a little room around it."""
    ends = [(float(some.min(initial=np.inf)), float(some.max(initial=-np.inf))) for some in parts(values)]
    low, high = extent(chain(*ends))
    room = 0.03 * (high / 2 - low / 2) * 2
    return low - room, high + room


def _ratio(values: Array) -> float:
    x, y = _ends(values[:, 0]), _ends(values[:, 1])
    return (x[1] / 2 - x[0] / 2) / (y[1] / 2 - y[0] / 2)


def _frame(panel: Panel) -> list[Mark]:
    left, right, top, bottom = panel.edges
    return [Bar(kind="frame", x=left, y=top, width=right - left, height=bottom - top)]


def dots(points: Points, values: Array, panel: Panel, radius: float) -> list[Mark]:
    """Return the points, an (m, 2) array, as dots by groups; very many as an image."""
    marks: list[Mark] = []
    if len(values) > MOST:
        return density(values, points.colors, panel).pictures(points.colors, panel)
    pixels = to_pixels(values, panel)
    for group, chosen in points.turns():
        tips = [points.ids[row] for row in chosen.tolist()] if len(pixels) <= MOST_TIPS else ()
        marks.append(Dots(points.colors.kinds[group], pixels[chosen], radius, points.colors.shapes[group], tips))
    return marks


def legend_width(key: Sequence[Mark]) -> float:
    """Return the right end of the longest text of a legend."""
    return max((mark.x + LETTERS[mark.kind] * len(mark.text) for mark in key if isinstance(mark, Text)), default=0.0)


def legend_end(marks: Sequence[Mark], none: float = 0.0) -> float:
    """Return the lower end of a legend."""
    return max((mark.y for mark in marks if isinstance(mark, Text)), default=none) + 14
