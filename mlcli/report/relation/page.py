"""The page relate.html, and the figure of a relation: rows over two axes, with arrows, means of levels, and species."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from mlcli.base.types import Array
from mlcli.config.report_options import Report
from mlcli.report.drawing.axes import to_pixels
from mlcli.report.drawing.figure import Curve, Dots, Figure, Mark, Text
from mlcli.report.drawing.html import Part, document, facts, figure, fold, frame_picture, join, section, sentence
from mlcli.report.drawing.text import four_digits, number, safe, shorten
from mlcli.report.figures.coloring import ROW, Coloring, coloring, numbers_of, single_color
from mlcli.report.figures.scatter import (
    BESIDE,
    LEFT,
    NAMED,
    TOP,
    WIDE,
    Points,
    corner_note,
    legend_end,
    panel_of,
    place_names,
    plane,
    scatter,
    with_legend,
)
from mlcli.report.page.figure_files import render
from mlcli.report.paper.scatter import Arrows, Named, Plot
from mlcli.report.relation.contents import FittedFactor, Relation, tables_of
from mlcli.report.tables.table import ReportTable, as_html, fold_long

MOST_ARROWS, MOST_NAMES = 20, 30  # of variables, and of species
HEAD, SPREAD = 9.0, 0.4  # pixels of an arrow's head, and half its angle
SHAFT = 30  # places on an arrow's shaft that names keep off
SHAPES = {"D": "diamond", "+": "cross"}  # Matplotlib's marker -> the shape of a dot


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
    return Arrows([one.name for one in order], ends, len(found.vectors), "variable")


def named_of(found: Relation) -> list[Named]:
    """Return the means of the levels of factors, and species, as places with names; none without a plane."""
    if len(found.axes) < 2:
        return []
    named = []
    if found.factors:
        named.append(Named(names_of_levels(found.factors), np.vstack([one.fit.means[:, :2] for one in found.factors]),
                           "D", "level", "level mean"))
    if found.species is not None and found.species.kind != "correlations":
        far = np.argsort(-np.hypot(*(found.species.scores[:, :2] - found.points[:, :2].mean(axis=0)).T), kind="stable")
        rows = np.sort(far[:MOST_NAMES])
        named.append(Named([found.species.names[row] for row in rows.tolist()], found.species.scores[rows, :2], "+",
                           "species", "species", italic=True))
    return named


def names_of_levels(factors: Sequence[FittedFactor]) -> list[str]:
    """Return the names of all levels, with that of their factor where two factors have levels of one name."""
    counts = Counter(level for one in factors for level in one.levels)
    return [level if counts[level] == 1 and numbers_of([level]) is None else f"{one.name} {level}"
            for one in factors for level in one.levels]


def caption(found: Relation, unnamed: int = 0) -> str:
    """Return what the figure shows; `unnamed` species have no room for their names."""
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
    if unnamed:
        parts.append(f"{unnamed} of their names have no room; --figures pdf moves all names apart (needs the extra "
                     "manifold-cli[plot]).")
    return " ".join(parts)


def drawings(found: Relation, report: Report, title: str) -> Mapping[str, bytes]:
    """Return the figure as SVG and in the formats of the options, by format.

    Matplotlib draws PNG and PDF, and SVG where an option was chosen that it alone draws.
    """
    made: dict[str, bytes] = {
        format: paper(found, report, title).draw(format) for format in dict.fromkeys(("svg", *report.figures))
        if report.plotting or format != "svg"}
    if report.plotting:
        return made
    plain, _ = plain_figure(found, title, named=report.point_labels != "none")
    return {"svg": render(plain, "svg"), **made}


def paper(found: Relation, report: Report, title: str) -> Plot:
    """Return the figure for publication, whose names are moved apart."""
    texts = found.ids if report.point_labels == "ids" else ()
    named = named_of(found)
    if report.point_labels == "none":
        named = [replace(places, names=()) for places in named]
    return Plot(points_of(found), title, report.look, list(texts), None, report.outlines, arrows_of(found), named=named,
                note=found.stress)


def plain_figure(found: Relation, title: str, *, named: bool) -> tuple[Figure, int]:
    """Return the figure without Matplotlib, and of how many species the names have no room.

    Names of arrows come first, then those of levels, and those of species where there is room.
    """
    points = points_of(found)
    base, panel = scatter(points, title, note=found.stress), panel_of(points.values)
    groups, arrows = [(some, to_pixels(some.places, panel)) for some in named_of(found)], arrows_of(found)
    marks: list[Mark] = [Dots(some.ink, places, 3.0, SHAPES[some.mark], some.names) for some, places in groups]
    shafts, ends = np.empty((0, 2)), np.empty((0, 2))
    if arrows is not None:
        ends = to_pixels(arrows.within(plane(points.values)), panel)
        (origin,) = to_pixels(np.zeros((1, 2)), panel)
        shafts = np.vstack([origin + share * (ends - origin) for share in np.linspace(0.1, 1, SHAFT)])
        marks += [_arrow(origin, end) for end in ends]
    every = np.vstack([to_pixels(plane(points.values), panel), *(places for _, places in groups), shafts])
    taken, unnamed = corner_note(points, found.stress, panel), 0
    for names, places, kind in [*([(arrows.names, ends, "small")] if arrows is not None else []), *(
            (some.names, places, "taxon" if some.italic else "small") for some, places in groups if named)]:
        beside = place_names(places, names, 3.0, panel, taken, marked=every, kind=kind)
        if kind == "taxon":
            unnamed = sum(text is None for text in beside)
            taken += [text for text in beside if text is not None]
        else:
            taken += [text or Text(x + 6, y + 4, shorten(name, NAMED), kind=kind)
                      for text, name, (x, y) in zip(beside, names, places.tolist(), strict=True)]
    colors = points.colors.legend(LEFT + WIDE + BESIDE, TOP + 8)
    key = _key([some for some, _ in groups], arrows, LEFT + WIDE + BESIDE, legend_end(colors, TOP - 6) + 14)
    texts = [text for text in taken if text.text != found.stress]
    return with_legend(base.title, base.height, [*base.marks, *marks, *texts, *key], [*colors, *key]), unnamed


def _key(named: Sequence[Named], arrows: Arrows | None, x: float, y: float) -> list[Mark]:
    """Return the legend of named places and arrows, downward from x, y."""
    marks: list[Mark] = []
    for row, some in enumerate(named):
        down = y + ROW * row
        marks += [Dots(some.ink, np.array([[x + 6, down - 4]]), 3.6, SHAPES[some.mark]),
                  Text(x + 17, down, some.key, kind="small")]
    if arrows is not None:
        down = y + ROW * len(named)
        marks += [_arrow(np.array([x, down - 4]), np.array([x + 13, down - 4])),
                  Text(x + 17, down, arrows.key, kind="small")]
    return marks


def _arrow(start: Array, end: Array) -> Curve:
    """Return an arrow in pixels, its shaft and head one line."""
    way = start - end
    angle, size = float(np.arctan2(way[1], way[0])), min(HEAD, 0.5 * float(np.hypot(*way)))
    tips = [(float(end[0]) + size * np.cos(angle + turn), float(end[1]) + size * np.sin(angle + turn))
            for turn in (-SPREAD, SPREAD)]
    tip = (float(end[0]), float(end[1]))
    return Curve("arrow", [(float(start[0]), float(start[1])), tip, tips[0], tip, tips[1]])


BY = {"terms": "Terms are added one after the other, so that their order matters.",
      "margin": "Each term is tested after all others.",
      "none": "The model is tested as a whole; --by terms or --by margin test its terms."}
MOST = 20  # rows of a table that is not folded


def page(found: Relation, report: Report, title: str, drawn: bytes) -> str:
    """Return the page as one HTML document without scripts and without network; `drawn` is the file as SVG."""
    words = f"{found.run} with {found.environment}: {found.rows:,} rows in common"
    tables = tables_of(found)
    parts = [_figure(found, report, title, drawn), _environment(found, tables), _partition(found, tables),
             _dispersion(found, tables), _species(tables), _conditions(found)]
    return document(title, f'<p class="soft">{safe(words, 400)}</p>', join(parts))


def _figure(found: Relation, report: Report, title: str, drawn: bytes) -> Part:
    if not report.on_page.plotting:
        plain, unnamed = plain_figure(found, title, named=report.point_labels != "none")
        return section("Ordination and environment", figure(plain, caption(found, unnamed)))
    from mlcli.report.paper.inline import inline

    if report.on_page is not report:
        drawn = paper(found, report.on_page, title).draw("svg")
    picture = inline(drawn, f"Ordination and environment: {title}")
    return section("Ordination and environment", frame_picture(picture, caption(found)))


def _shown(tables: Mapping[str, ReportTable], name: str) -> Part:
    table = tables.get(name)
    return None if table is None else as_html(table)


def _environment(found: Relation, tables: Mapping[str, ReportTable]) -> Part:
    if not (found.vectors or found.factors):
        return None
    axes = ", ".join(map(str, found.axes))
    return section("Fit of the environment", sentence(
        f"On {'axis' if len(found.axes) == 1 else 'axes'} {axes}: r² is the share of a variable that the axes explain "
        "together, of a factor the share of the axes' sum of squares between its levels. p is the share of "
        "permutations with an r² no smaller. With many variables some p are small by chance.", "soft"),
        _shown(tables, "vectors.csv"), _shown(tables, "factors.csv"),
        fold("Means of the levels", _shown(tables, "centroids.csv")))


def _partition(found: Relation, tables: Mapping[str, ReportTable]) -> Part:
    if found.partition is None:
        return None
    return section("PERMANOVA", sentence(
        f"Dissimilarities ~ {found.partition.formula}, {found.partition.rows:,} rows. {BY[found.partition.by]} R² is "
        "the share of all variation. A small p says that groups differ in place or in dispersion; the test of "
        "dispersion (--dispersion) tells which.", "soft"), _shown(tables, "permanova.csv"))


def _dispersion(found: Relation, tables: Mapping[str, ReportTable]) -> Part:
    if found.spread is None:
        return None
    test = found.spread.found
    return section(f"Dispersion by {found.spread.name}", sentence(
        f"F = {four_digits(test.ratio)} with {test.freedom[0]} and {test.freedom[1]} degrees of freedom, "
        f"p = {number(test.p_value)}: whether the mean distance to the {_center(found.spread.center)} of the own group "
        "is the same in all groups."), _shown(tables, "dispersion.csv"),
        fold("Every two groups, by the same permutations", _shown(tables, "dispersion_pairs.csv")))


def _center(center: str) -> str:
    return "spatial median" if center == "median" else center


def _species(tables: Mapping[str, ReportTable]) -> Part:
    table = tables.get("species.csv")
    if table is None:
        return None
    return section("Species", sentence(f"{table.caption} species.csv has all digits.", "soft"),
                   fold_long(table, f"All {len(table.rows):,}", MOST))


def _conditions(found: Relation) -> Part:
    drawn = "given in a file" if found.seed is None else f"by seed {found.seed}"
    pairs = [("permutations", f"{found.permutations:,}, {drawn}"
              + ("" if found.strata is None else f", within {found.strata}")),
             ("rows", f"{found.rows:,} in both; {found.alone[0]:,} of the run alone, {found.alone[1]:,} of the file"),
             *([("dissimilarities", found.distances)] if found.distances else []),
             *([("weights of rows", found.weights)] if found.weights else []),
             ("hash of the file (SHA-256)", found.sha256)]
    return section("Conditions", facts(pairs), *(sentence(text, "soft") for text in found.notes))
