"""The scatter plot of a paper: points by group, with labels, edges, outlines and arrows."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.config.report_options import Ellipses, Look, NoOutlines, Outlines, Spiders
from mlcli.findings.frame.finished_run import CsvColumns
from mlcli.report.drawing.palette import CLASSES, GROUND, INKS
from mlcli.report.figures.coloring import COLORS, SHAPES, UNGROUPED, Coloring, ColorRange, Groups
from mlcli.report.figures.density import SHADES, Density, density, opacity_of
from mlcli.report.figures.scatter import DrawnEdges, Points, equal_units, panel_of, plane
from mlcli.report.figures.shade import gray, shares_of
from mlcli.report.paper.sheet import entitle, fix_layout, inches, one_line, sheet, space_numbers

ROOM = 0.9  # length of the longest arrow, as a share of the points' range


@frozen
class Arrows:
    """Columns as arrows from the origin."""

    names: Sequence[str]  # k
    ends: Array  # (k, 2) array, in units of the loadings
    whole: int  # number of all columns, of which these have the largest loadings
    key: str = ""  # what they are, for the legend; none: they are not in it

    @classmethod
    def of(cls, loadings: CsvColumns, count: int) -> "Arrows":
        """Return the arrows of the `count` columns with the largest loadings on the first two axes."""
        ends = np.column_stack([loadings.numbers(axis) for axis in ("y1", "y2")])
        longest = np.sort(np.argsort(-np.hypot(*ends.T), kind="stable")[:count])
        names = loadings.texts(next(iter(loadings.columns)))
        return cls([names[row] for row in longest.tolist()], ends[longest], len(ends))

    def within(self, points: Array) -> Array:
        """Return the ends of the arrows, scaled by one factor into the range of the points, an (m, 2) array."""
        low, high = np.minimum(points.min(axis=0), 0), np.maximum(points.max(axis=0), 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            rooms = np.where(self.ends > 0, high, low) / self.ends
        known = rooms[np.isfinite(rooms) & (rooms > 0)]
        return self.ends * (ROOM * float(known.min(initial=np.inf)) if len(known) else 1.0)


AGAIN = 4  # rounds of looking for the nearest place of each label
CROSSED = 40.0  # length in points that a crossing counts as
CROWD = 40.0  # half the side in points of the square around a mark whose other marks make a crowd
ROUNDS = 30  # rounds of moving labels apart; no time limit, so that results repeat
FEW = 60  # largest number of labels for all rounds: a round takes time proportional to the square of it
MARKS = 500  # marks that labels are moved away from; of more, some evenly
MOVED = 200  # largest number of labels that are moved: more find no room
SHAFT, STEP = 2.0, 8.0  # width of an arrow's shaft, and distance of places on it, in points
TURNS = np.linspace(0, 2 * np.pi, 24, endpoint=False)
AROUND = np.concatenate([np.zeros((1, 2)), *(reach * np.column_stack([np.cos(TURNS), np.sin(TURNS)])
                                             for reach in range(2, 62, 3))])  # offsets in points from a text's place
CORNERS_OF_PANEL = (0.99, 0.99), (0.99, 0.01), (0.01, 0.99), (0.01, 0.01)  # as shares of its sides
NEAR = 3.0  # largest distance in points of a mark and its label without a line


def place(figure: Any, texts: Sequence[Any], places: Array, marker: float, arrows: Array, note: Any = None) -> None:
    """Fix the axes' limits, put a note into a corner, and move texts apart from each other, from marks and arrows.

    `places`, an (m, 2) array, are those of the marks; `arrows`, a (k, 2) array, the ends of arrows from the origin.
    """
    (axes, *_) = figure.axes
    fix_layout(figure)
    axes.set(xlim=axes.get_xlim(), ylim=axes.get_ylim())
    space_numbers(axes)
    if note is not None:
        _move_to_corner(axes, note, places, marker)
    if not 0 < len(texts) <= MOVED:
        return
    from adjustText import adjust_text

    anchors = [text.get_position() for text in texts]
    marks = places[:: 1 + len(places) // MARKS]
    static = [*_boxes(axes, marks, marker), *_boxes(axes, _shaft_points(axes, arrows), SHAFT),
              *([] if note is None else [note.get_window_extent().transformed(axes.transData.inverted())])]
    adjust_text(list(texts), objects=static, ax=axes, iter_lim=ROUNDS * FEW**2 // max(len(texts), FEW) ** 2,
                expand=(1.05, 1.1), force_text=(0.15, 0.25), force_static=(0.1, 0.25), prevent_crossings=False)
    corners = np.array([box.get_points() for box in static]).reshape(-1, 2)
    _move_to_near_places(axes, texts, axes.transData.transform(anchors),
                         axes.transData.transform(corners).reshape(-1, 4), marker)
    for text, anchor in zip(texts, anchors, strict=True):
        _leader_line(axes, text, anchor, marker)


def _move_to_corner(axes: Any, note: Any, places: Array, marker: float) -> None:
    """Move a text to the first corner of the panel without marks, else to the one with the fewest."""
    marks, counts = axes.transData.transform(places), list[int]()

    def move(corner: tuple[float, float]) -> None:
        x, y = corner
        note.set(position=corner, ha="right" if x > 0.5 else "left", va="top" if y > 0.5 else "bottom")

    for corner in CORNERS_OF_PANEL:
        move(corner)
        box = note.get_window_extent().padded(marker / 2)
        counts.append(int(((marks > box.min) & (marks < box.max)).all(axis=1).sum()))
    move(CORNERS_OF_PANEL[counts.index(min(counts))])


def _move_to_near_places(axes: Any, texts: Sequence[Any], anchors: Array, taken: Array, marker: float) -> None:
    """Move each text to a place near its mark that is free of others and of the boxes in `taken`.

    Of free places the nearest is taken; each text that its leader line crosses, and each leader line that it covers,
    counts as `CROSSED` points. Texts in crowds are moved first. `anchors`, a (k, 2) array, are the places of the marks,
    `taken` an (m, 4) array of boxes, all in pixels.
    """
    room, least = axes.get_window_extent().extents, marker / 2 + NEAR
    starts = axes.transData.transform([text.get_position() for text in texts])
    firsts = np.array([text.get_window_extent().extents for text in texts])
    boxes, near = firsts.copy(), []  # for each text the boxes to try, the nearest first
    for home in firsts - np.tile(starts - anchors, 2):
        tried = home + np.tile(AROUND, 2)
        inside = ((tried[:, :2] >= room[:2]) & (tried[:, 2:] <= room[2:])).all(axis=1)
        near.append(tried[inside & ~_overlaps(tried, taken).any(axis=1)])
    crowds = (np.abs(anchors[:, None] - anchors) < CROWD).all(axis=2).sum(axis=1)
    for place in np.argsort(-crowds, kind="stable").tolist() * (AGAIN if len(texts) <= FEW else 1):
        others, marks = np.delete(boxes, place, axis=0), np.delete(anchors, place, axis=0)
        free = near[place][~_overlaps(near[place], others).any(axis=1)]
        if not len(free):
            continue
        ends, lines = np.clip(anchors[place], free[:, :2], free[:, 2:]), np.clip(marks, others[:, :2], others[:, 2:])
        lengths, drawn = np.hypot(*(ends - anchors[place]).T), np.hypot(*(lines - marks).T) > least
        crossings = _meet(anchors[place][None], ends, others).sum(axis=1) * (lengths > least) + _meet(
            marks[drawn], lines[drawn], free).sum(axis=0)
        boxes[place] = free[(np.maximum(lengths, least) + CROSSED * crossings).argmin()]
    moved = axes.transData.inverted().transform(starts + (boxes - firsts)[:, :2])
    for text, position in zip(texts, moved, strict=True):
        text.set_position(position)


def _overlaps(first: Array, second: Array) -> Any:
    """Return which of the boxes, a (k, 4) and an (m, 4) array, overlap: a (k, m) array."""
    return ((first[:, None, :2] < second[:, 2:]) & (first[:, None, 2:] > second[:, :2])).all(axis=2)


def _meet(starts: Array, ends: Array, boxes: Array) -> Any:
    """Return which lines from `starts` to `ends`, (k, 2) arrays, meet the boxes, an (m, 4) array: a (k, m) array."""
    steps = (ends - starts)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):  # lines along an axis are inside of a slab, or never
        low, high = (boxes[:, :2] - starts[:, None]) / steps, (boxes[:, 2:] - starts[:, None]) / steps
    enter, leave = np.fmin(low, high).max(axis=2), np.fmax(low, high).min(axis=2)
    return np.maximum(enter, 0) < np.minimum(leave, 1)


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


CORNERS = 120  # corners of an ellipse
FEWEST = 3  # fewest points that span an area


def outline(points: Array, kind: Outlines) -> Array | None:
    """Return a closed curve around points, an (m, 2) array; None where they lie on a line, or there is no outline.

    A spider is a curve from the centroid to each of two or more points and back.
    """
    if isinstance(kind, Spiders):
        return spider(points) if len(points) > 1 else None
    if isinstance(kind, NoOutlines) or len(points) < FEWEST or np.linalg.matrix_rank(points - points.mean(axis=0)) < 2:
        return None
    return ellipse(points, kind.level) if isinstance(kind, Ellipses) else hull(points)


def ellipse(points: Array, level: float) -> Array:
    """Return the contour at Mahalanobis distance √(2 F), F the quantile of F(2, n - 1) at the level (Fox, 2016).

    `points` is an (n, 2) array; returns a (c, 2) array.
    """
    from scipy.stats import f

    radius = np.sqrt(2 * f.ppf(level, 2, len(points) - 1))
    turns = np.linspace(0, 2 * np.pi, CORNERS + 1)
    factor = np.linalg.cholesky(np.cov(points.T))
    return np.asarray(points.mean(axis=0) + radius * np.column_stack([np.cos(turns), np.sin(turns)]) @ factor.T)


def spider(points: Array) -> Array:
    """Return the curve from the centroid of an (m, 2) array to each point and back, a (2m + 1, 2) array."""
    center = points.mean(axis=0)
    legs = np.stack([points, np.broadcast_to(center, points.shape)], axis=1)
    return np.vstack([center, legs.reshape(-1, 2)])


def hull(points: Array) -> Array:
    """Return the corners of the convex hull of an (m, 2) array, the first one again at the end."""
    from scipy.spatial import ConvexHull

    corners = ConvexHull(points).vertices
    return points[np.append(corners, corners[0])]


WIDTH, LEGEND, MARGINS = 6.5, 1.4, 0.7  # inches: width of a figure, of its legend, and of the margins
SIZE = WIDTH, 0.75 * WIDTH  # size of a figure, about
LEAST, PITCH = 4.0, 1.66  # smallest letters of a legend in points; heights of a letter between two names
SHARE, LETTER = 0.3, 0.56  # largest share of the sheet's width for a legend; width of a letter over its height
ROW = 1.4  # distance of two names of the legend, in heights of a letter
LOWEST, HIGHEST = 0.45, 1.05  # range of the panel's height over its width
MARKERS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D"}
NAMED = 0.7  # size of the mark of a named place, in that of a point
IMAGE = 5_000  # more points are an image in SVG and PDF
DENSE = 20_000  # more points are drawn as their density
FINE = 2.5  # cells of the density for each pixel of the panel
MODERATE = (1e-30, 1e30)  # range of sizes that Matplotlib's axes can show
COLORMAPS = {"tab10": "tab10", "set2": "Set2", "dark2": "Dark2"}


@frozen
class Named:
    """Places with names over the points: means of groups, or species."""

    names: Sequence[str]  # k, or none
    places: Array  # (k, 2) array
    mark: str  # Matplotlib's marker
    ink: str
    key: str  # what they are, for the legend
    italic: bool = False  # names, as those of species are


@frozen
class Plot:
    """A scatter plot: its contents and look."""

    points: Points
    title: str
    look: Look = Look()
    texts: Sequence[str] = ()  # names next to the points, one for each, or none
    edges: DrawnEdges | None = None
    outlines: Outlines = NoOutlines()
    arrows: Arrows | None = None
    deviations: Array | None = None  # (rows, columns) array: a decoder's deviations over the panel
    named: Sequence[Named] = ()
    note: str = ""  # in a corner of the panel

    def draw(self, format: str) -> bytes:
        """Return the plot as a file: svg, pdf or png."""
        return sheet(self.look, self.size, format, self._paint)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches: as the user chose, or by the ranges of the points."""
        keyed = isinstance(self.points.colors, Groups | ColorRange) or self._named_handles
        wide = WIDTH - MARGINS - (LEGEND if keyed else 0)
        across, up = np.ptp(self._places, axis=0)
        ratio = np.clip(up, LOWEST * across, HIGHEST * across) / across if self._equal and across and up else 0.75
        high = MARGINS + wide * float(ratio)
        return inches(self.look, (WIDTH, round(max(high, self._legend), 2)))

    @property
    def _legend(self) -> float:
        """The height of the groups' names in one column, in inches."""
        colors = self.points.colors
        groups = len(colors.names) if isinstance(colors, Groups) else 0
        rows = groups + len(self._named_handles)
        return (rows + 2) * ROW * self.look.font_size / 72 if rows else 0.0

    @property
    def _equal(self) -> bool:
        fits = equal_units(self.points.values) if self.look.aspect == "auto" else self.look.aspect == "equal"
        return fits and self.points.values.shape[1] > 1

    @property
    def _marker(self) -> float:
        """The diameter of a mark in points."""
        return self.look.marker_size or 2.0 * self.points.radius * (self.size[0] / WIDTH) ** 0.5

    @property
    def _unit(self) -> float:
        """A power of ten by which coordinates of extreme sizes are divided."""
        most = float(np.abs(self.points.values[:, :2]).max(initial=0.0))
        return 1.0 if not most or MODERATE[0] < most < MODERATE[1] else 10.0 ** np.floor(np.log10(most))

    @property
    def _places(self) -> Array:
        return plane(self.points.values / self._unit, self.points.rows)

    def _paint(self, figure: Any, axes: Any) -> None:
        """Draw everything from back to front; labels come last, when all limits are known."""
        across, up = self.points.sides
        units = "" if self._unit == 1 else f", in {self._unit:.0e}"
        axes.set(xlabel=one_line(across + units), ylabel=one_line(up + units))
        entitle(axes, self.title)
        self._draw_background(axes)
        if self._equal:
            axes.set_aspect("equal", adjustable="datalim")
        self._draw_edges(axes)
        self._draw_points(axes)
        self._draw_outlines(axes)
        ends = self._ends
        named = self._draw_arrows(axes, ends)
        for places in self.named:
            named += self._draw_named(axes, places)
        _key(figure, self.points.colors, self.look, self._named_handles)
        beside = [axes.text(x, y, one_line(text, 24), fontsize=0.8 * self.look.font_size, in_layout=False)
                  for (x, y), text in zip(self._places.tolist(), self.texts, strict=False)]
        marks = np.vstack([self._places, *(places.places / self._unit for places in self.named)])
        place(figure, [*beside, *named], marks, self._marker, ends, self._draw_note(axes))

    def _draw_note(self, axes: Any) -> Any:
        """Draw the note where `place` finds a corner for it; None without one."""
        return axes.text(0, 0, self.note, transform=axes.transAxes, fontsize=0.9 * self.look.font_size,
                         in_layout=False) if self.note else None

    def _draw_edges(self, axes: Any) -> None:
        from matplotlib.collections import LineCollection

        if self.edges is not None:
            ends = self.edges.ends.reshape(-1, 2, 2) / self._unit
            axes.add_collection(LineCollection(list(ends), colors=INKS["edge"].light, linewidths=0.6, zorder=0.5,
                                               rasterized=len(ends) > IMAGE))

    def _draw_background(self, axes: Any) -> None:
        """Draw a gray background, the darker the less sure the decoder is."""
        shares = None if self.deviations is None else shares_of(self.deviations)
        if shares is not None:
            levels = gray(shares, 0, 0, (1, 1)).levels
            axes.imshow(levels[..., [0, 0, 0, 1]], extent=self._extent, aspect="auto", interpolation="bilinear",
                        zorder=0)

    def _draw_points(self, axes: Any) -> None:
        size, many = self._marker, len(self.points.values) > IMAGE
        if self._density is not None:
            self._draw_density(axes, self._density)
            return
        looks = styles(self.points.colors, self.look)
        for group, rows in self.points.turns():
            color, marker = looks[group]
            axes.plot(*self._places[rows].T, marker, color=color, markersize=size, markeredgecolor=GROUND[0],
                      markeredgewidth=0 if many else 0.04 * size, rasterized=many, zorder=2)

    @cached_property
    def _density(self) -> Density | None:
        """The density of very many points, which is drawn instead of them; None if the user chose a size of marks."""
        if len(self.points.values) <= DENSE or self.look.marker_size is not None:
            return None
        places = plane(self.points.values, self.points.rows)
        return density(places, self.points.colors, panel_of(self.points.values, self.points.rows), FINE)

    def _draw_density(self, axes: Any, dense: Density) -> None:
        """Draw the density as an image, and below the plot how many points overlap at which shade."""
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import ListedColormap, LogNorm, to_rgb

        inks = np.array([to_rgb(color) for color in shades(self.points.colors, self.look)])
        axes.imshow(dense.levels(np.rint(255 * inks).astype(np.uint8)), extent=self._extent, aspect=axes.get_aspect(),
                    interpolation="nearest", zorder=2)
        grays = np.tile(to_rgb(INKS["level"].light), (SHADES, 1))
        opacities = opacity_of(np.linspace(0, 1, SHADES)) / 255
        bar = axes.figure.colorbar(
            ScalarMappable(LogNorm(1, dense.most), ListedColormap(np.column_stack([grays, opacities]))), ax=axes,
            location="bottom", shrink=0.6, aspect=30, ticks=[number for number, _ in dense.ticks()])
        bar.ax.set_xticklabels([said for _, said in dense.ticks()])
        bar.ax.minorticks_off()
        bar.set_label(f"{dense.count:,} points: how many overlap")
        bar.outline.set_visible(False)

    @property
    def _extent(self) -> Array:
        """The least and the largest number of both axes in the panel, a (4,) array."""
        panel = panel_of(self.points.values, self.points.rows)
        return np.array([panel.x.low, panel.x.high, panel.y.low, panel.y.high]) / self._unit

    def _draw_outlines(self, axes: Any) -> None:
        """Draw the outline of each group; of all points where they have no groups."""
        colors, looks = self.points.colors, styles(self.points.colors, self.look)
        parts = ([(looks[group][0], colors.of == group) for group in range(len(colors.kinds))
                  if colors.kinds[group] not in UNGROUPED] if not isinstance(colors, ColorRange) else
                 [(INKS["guide"].light, np.full(len(colors.of), True))])
        for color, rows in parts:
            curve = outline(self._places[rows], self.outlines)
            if curve is not None:
                axes.plot(*curve.T, color=color, linewidth=0.7 if isinstance(self.outlines, Spiders) else 1.1,
                          zorder=1.5)

    def _draw_named(self, axes: Any, named: Named) -> list[Any]:
        """Draw marks at places with names, and return the names."""
        places, color = named.places / self._unit, INKS[named.ink].light
        axes.plot(*places.T, named.mark, color=color, markersize=NAMED * self._marker, zorder=3, linestyle="")
        return [axes.text(x, y, one_line(name, 24), color=color, fontsize=0.8 * self.look.font_size,
                          style="italic" if named.italic else "normal", in_layout=False)
                for name, (x, y) in zip(named.names, places.tolist(), strict=False)]

    @property
    def _named_handles(self) -> list[Any]:
        """The entries of the legend for named places and arrows."""
        from matplotlib.lines import Line2D

        size = NAMED * 0.7 * self.look.font_size
        marks = [Line2D([], [], linestyle="", marker=places.mark, color=INKS[places.ink].light, markersize=size,
                        label=places.key) for places in self.named]
        return marks if self.arrows is None or not self.arrows.key else [*marks, Line2D(
            [], [], color=INKS["arrow"].light, linewidth=0.9, marker=">", markersize=0.6 * size,
            label=self.arrows.key)]

    @property
    def _ends(self) -> Array:
        """The ends of the arrows, a (k, 2) array."""
        return np.empty((0, 2)) if self.arrows is None else self.arrows.within(self._places)

    def _draw_arrows(self, axes: Any, ends: Array) -> list[Any]:
        """Draw the arrows, and return the texts at their ends."""
        color = INKS["arrow"].light
        for end in ends.tolist():
            axes.annotate("", end, (0, 0), zorder=3, arrowprops={
                "arrowstyle": "-|>", "color": color, "linewidth": 0.9, "shrinkA": 0, "shrinkB": 0,
                "mutation_scale": 0.8 * self.look.font_size})
        return [axes.text(*(1.04 * end), one_line(name, 24), color=color, fontsize=0.8 * self.look.font_size,
                          ha="left" if end[0] > 0 else "right", va="center", in_layout=False)
                for name, end in zip(self.arrows.names if self.arrows else (), ends, strict=True)]


def styles(colors: Coloring, look: Look) -> list[tuple[Any, str]]:
    """Return the color and the marker of each group; where a palette has too few colors, other shapes follow."""
    looks = list(zip(shades(colors, look), colors.shapes, strict=True))
    turns = [SHAPES.index(shape) + looks[:i].count((color, shape)) for i, (color, shape) in enumerate(looks)]
    return [(color, MARKERS[SHAPES[turn % len(SHAPES)]]) for (color, _), turn in zip(looks, turns, strict=True)]


def shades(colors: Coloring, look: Look) -> list[Any]:
    """Return the color of each group in the chosen palette or scale."""
    import matplotlib

    if isinstance(colors, ColorRange):
        steps = len(colors.kinds) - 1
        if look.scale == "viridis":
            return [INKS[kind].light for kind in colors.kinds]
        return [*map(tuple, matplotlib.colormaps[look.scale](np.linspace(0.05, 0.85, steps)).tolist()),
                INKS["other"].light]
    if look.palette == "okabe-ito":
        return [INKS[kind].light for kind in colors.kinds]
    known = [str(level) for level in np.linspace(0, 0.75, COLORS)] if look.palette == "gray" else matplotlib.colormaps[
        COLORMAPS[look.palette]].colors  # type: ignore[attr-defined]
    chosen = {"plain": known[0], **{kind: INKS[kind].light for kind in UNGROUPED},
              **{f"c{i}": known[i % len(known)] for i in range(len(CLASSES))}}
    return [chosen[kind] for kind in colors.kinds]


def _key(figure: Any, colors: Coloring, look: Look, others: Sequence[Any] = ()) -> None:
    """Draw the legend of colors and shapes to the right of the panel, below them the other entries."""
    from matplotlib.lines import Line2D

    if isinstance(colors, ColorRange):
        _bar(figure, colors, look)
    elif isinstance(colors, Groups):
        (wide, high), rows = figure.get_size_inches(), len(colors.names) + len(others) + 2
        size = max(min(0.9 * look.font_size, 72 * high / (rows * PITCH)), LEAST)
        letters = max(min(int(72 * wide * SHARE / (LETTER * size)), 24), 8)
        handles = [Line2D([], [], linestyle="", marker=marker, color=color, markeredgewidth=0,
                          markersize=0.7 * size, label=one_line(name, 24))
                   for (color, marker), name in zip(styles(colors, look), colors.short_names(letters), strict=True)]
        figure.legend(handles=[*handles, *others], title=one_line(colors.name, letters + 2), loc="outside right upper",
                      alignment="left", fontsize=size, title_fontsize=size,
                      ncols=math.ceil(rows * size * PITCH / (72 * high) - 0.01))
    if others and not isinstance(colors, Groups):
        figure.legend(handles=others, loc="outside right upper", alignment="left", fontsize=0.9 * look.font_size)


def _bar(figure: Any, colors: ColorRange, look: Look) -> None:
    """Draw the scale of numbers."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    scale = ScalarMappable(Normalize(colors.low, colors.high), ListedColormap(shades(colors, look)[:-1]))
    bar = figure.colorbar(scale, ax=figure.axes[0], shrink=0.7, aspect=18)
    bar.set_label(f"{one_line(colors.name, 40)}{'; gray: no number' if colors.absent else ''}")
    bar.outline.set_visible(False)
