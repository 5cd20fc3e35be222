"""The figure of a relation: rows over two axes, with arrows of variables, means of levels, and species."""

from collections.abc import Mapping

import numpy as np

from mlcli.base.types import Array
from mlcli.config.report_options import Report
from mlcli.report.drawing.axes import to_pixels
from mlcli.report.drawing.figure import Curve, Dots, Figure, Mark, Text
from mlcli.report.drawing.svg import document
from mlcli.report.drawing.text import shorten
from mlcli.report.figures.coloring import Coloring, coloring, single_color
from mlcli.report.figures.scatter import NAMED, Points, panel_of, place_names, plane, scatter
from mlcli.report.paper.scatter import Arrows, Named, Plot
from mlcli.report.relation.contents import Relation

MOST_ARROWS, MOST_NAMES = 20, 30  # of variables, and of species
HEAD, SPREAD = 9.0, 0.4  # pixels of an arrow's head, and half its angle


def points_of(found: Relation) -> Points:
    """Return the common rows, colored by a factor where there is one."""
    colors: Coloring = single_color(len(found.points)) if found.colors is None else coloring(*found.colors)
    return Points(found.points, list(found.ids), colors, len(found.points), axes=found.axis_names)


def arrows_of(found: Relation) -> Arrows | None:
    """Return the variables of numbers as arrows, the ones with the largest r²; None without a plane."""
    if len(found.axes) < 2 or not found.vectors:
        return None
    order = sorted(sorted(found.vectors, key=lambda one: -one.fit.r2)[:MOST_ARROWS], key=found.vectors.index)
    ends = np.array([one.fit.arrow[:2] for one in order])
    return Arrows([one.name for one in order], ends, len(found.vectors))


def named_of(found: Relation) -> list[Named]:
    """Return the means of the levels of factors, and species, as places with names; none without a plane."""
    if len(found.axes) < 2:
        return []
    named = []
    if found.factors:
        names = [f"{one.name} {level}" for one in found.factors for level in one.levels]
        named.append(Named(names, np.vstack([one.fit.means[:, :2] for one in found.factors])))
    if found.species is not None and found.species.kind != "correlations":
        far = np.argsort(-np.hypot(*(found.species.scores[:, :2] - found.points[:, :2].mean(axis=0)).T), kind="stable")
        rows = np.sort(far[:MOST_NAMES])
        named.append(Named([found.species.names[row] for row in rows.tolist()], found.species.scores[rows, :2], "+",
                           "mark"))
    return named


def caption(found: Relation) -> str:
    """Return what the figure shows."""
    parts = ["The rows over the first two of the axes." if len(found.axes) > 1 else "The rows over the axis."]
    arrows, named = arrows_of(found), named_of(found)
    if arrows is not None:
        count = len(arrows.names)
        some = "" if count == arrows.whole else f" (the {count} of {arrows.whole} with the largest r²)"
        parts.append(f"Arrows are variables of numbers{some}: in the direction of increase, as long as the "
                     "correlation, scaled together to fit.")
    if any(one.mark == "D" for one in named):
        parts.append("Diamonds are the means of the levels of factors.")
    species = next((one for one in named if one.mark == "+"), None)
    if species is not None and found.species is not None:
        whole = len(found.species.names)
        some = f", the {len(species.names)} of {whole} farthest from the middle" if len(species.names) < whole else ""
        parts.append(f"Crosses are species{some}.")
    return " ".join(parts)


def drawings(found: Relation, report: Report, title: str) -> Mapping[str, bytes]:
    """Return the figure as SVG and in the formats of the options, by format.

    Matplotlib draws PNG and PDF, and SVG where an option was chosen that it alone draws.
    """
    plain = () if report.plotting else ("svg",)
    return {format: document(plain_figure(found, title, named=report.point_labels != "none")).encode("utf-8", "replace")
            if format in plain else paper(found, report, title).draw(format)
            for format in dict.fromkeys(("svg", *report.figures))}


def paper(found: Relation, report: Report, title: str) -> Plot:
    """Return the figure for publication, whose names are moved apart."""
    texts = found.ids if report.point_labels == "ids" else ()
    named = named_of(found)
    if report.point_labels == "none":
        named = [Named((), places.places, places.mark, places.ink) for places in named]
    return Plot(points_of(found), title, report.look, list(texts), None, report.outlines, arrows_of(found), named=named)


def plain_figure(found: Relation, title: str, *, named: bool) -> Figure:
    """Return the figure without Matplotlib; names of levels and species are apart where there is room."""
    points = points_of(found)
    base, panel = scatter(points, title), panel_of(points.values)
    marks: list[Mark] = []
    groups = [(some, to_pixels(some.places, panel)) for some in named_of(found)]
    for some, places in groups:
        marks.append(Dots("mark", places, 3.0, "diamond" if some.mark == "D" else "square", some.names))
    if named and groups:
        names, places = [name for some, _ in groups for name in some.names], np.vstack([part for _, part in groups])
        for name, (x, y), beside in zip(names, places.tolist(), place_names(places, names, 3.0, panel), strict=True):
            marks.append(beside or Text(x + 6, y + 4, shorten(name, NAMED), kind="small"))
    arrows = arrows_of(found)
    if arrows is not None:
        ends = arrows.within(plane(points.values))
        (origin,) = to_pixels(np.zeros((1, 2)), panel)
        for name, end in zip(arrows.names, to_pixels(ends, panel), strict=True):
            marks += _arrow(origin, end, name)
    return Figure(base.title, base.width, base.height, [*base.marks, *marks], base.parts)


def _arrow(start: Array, end: Array, name: str) -> list[Mark]:
    """Return an arrow in pixels, its shaft and head one line, with a name at its end."""
    way = start - end
    angle, size = float(np.arctan2(way[1], way[0])), min(HEAD, float(np.hypot(*way)))
    tips = [(float(end[0]) + size * np.cos(angle + turn), float(end[1]) + size * np.sin(angle + turn))
            for turn in (-SPREAD, SPREAD)]
    tip = (float(end[0]), float(end[1]))
    line = [(float(start[0]), float(start[1])), tip, tips[0], tip, tips[1]]
    left = end[0] < start[0]
    return [Curve("curve", line), Text(tip[0] + (-4 if left else 4), tip[1] + 4, shorten(name, NAMED),
                                       "end" if left else "start", "small")]
