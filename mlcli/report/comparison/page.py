"""The comparison as a page: tables with a column for each run, and small multiples of embeddings and spectra."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.types import Array
from mlcli.base.units import percent
from mlcli.config.report_options import LABELED
from mlcli.findings.quality.section import MEASURES
from mlcli.report.comparison.side_by_side import LEADING, Comparison, RunPair, Side
from mlcli.report.drawing.axes import Panel, Scale
from mlcli.report.drawing.figure import Bar, Figure, Mark, Text, Tile
from mlcli.report.drawing.html import (
    UNKNOWN,
    Part,
    document,
    figure,
    fold,
    join,
    section,
    sentence,
    side_by_side,
    table,
)
from mlcli.report.drawing.text import distinct, four_digits, safe, shorten
from mlcli.report.figures.coloring import coloring, single_color
from mlcli.report.figures.scatter import MOST_IN_PAIRS, Points, dots, legend_end, legend_width, scatter

ROOM = 60  # number of letters of the runs' names that fit above columns
FEW = 3  # largest number of runs with meanings in the same table
ACROSS = 12  # largest number of runs in a table; more have several tables
Rows = Sequence[tuple[str, Sequence[str]]]  # the name of a row, and its cell for every run


def heads(sides: Sequence[Side]) -> list[str]:
    """Return the heads of the columns: names, or the numbers of table `runs`."""
    names = [side.name for side in sides]
    return names if sum(map(len, names)) <= ROOM else [str(place + 1) for place in range(len(names))]


def titles(sides: Sequence[Side], limit: int) -> list[str]:
    """Return the titles of the runs' panels: numbers where columns have them, short names, and methods that differ."""
    names = [side.name for side in sides]
    same = len({side.method for side in sides}) == 1
    numbers = [""] * len(sides) if heads(sides) == names else [f"{place + 1}: " for place in range(len(names))]
    return [f"{place}{name}{'' if same else f' ({side.method})'}"
            for place, name, side in zip(numbers, distinct(names, limit), sides, strict=True)]


def runs(sides: Sequence[Side]) -> Part:
    """Return name, method, input and sizes of every run, with its number."""
    inputs = [", ".join([side.input, *(path for path, _ in side.views)]) for side in sides]
    rows = [(str(place + 1), side.name, side.method, inputs[place], f"{side.rows:,}", str(side.values.shape[1]),
             "" if side.seconds is None else f"{side.seconds:.3g}") for place, side in enumerate(sides)]
    return section("Runs", table(("", "run", "method", "input", "rows", "axes", "seconds"), rows, (0, 4, 5, 6)))


def quality(comparison: Comparison) -> Part:
    """Return the measures of every run."""
    sides = comparison.sides
    keys = [key for key in MEASURES if any(key in side.quality for side in sides)]
    rows = [(MEASURES[key][0], [four_digits(side.quality.get(key)) for side in sides]) for key in keys]
    meanings = [MEASURES[key] for key in keys]
    if len(sides) > FEW:
        return section("Quality", across("measure", rows, sides, numeric=True),
                       fold("What the measures mean", table(("measure", "meaning"), meanings)))
    lines = [(name, *values, meaning) for (name, values), (_, meaning) in zip(rows, meanings, strict=True)]
    return section("Quality", table(("measure", *heads(sides), "meaning"), lines, range(1, 1 + len(sides)), (0,),
                                    said=len(sides) < FEW))


def options(comparison: Comparison) -> Part:
    """Return the options in which runs differ."""
    rows = list(comparison.options.items())
    return section("Options that differ", across("option", rows, comparison.sides, numeric=False))


def eigenvalues(sides: Sequence[Side]) -> Part:
    """Return the leading eigenvalues of every run."""
    rows = [(str(place + 1), [four_digits(side.eigenvalues[place] if place < len(side.eigenvalues) else None)
                              for side in sides])
            for place in range(LEADING) if any(place < len(side.eigenvalues) for side in sides)]
    return across("component", rows, sides, numeric=True)


def pairs(comparison: Comparison) -> Part:
    """Return how alike every two runs are: of more than a few runs as square tables, with details behind them."""
    sides, names = comparison.sides, heads(comparison.sides)
    places = [(i, j) for i in range(len(sides)) for j in range(i + 1, len(sides))]
    found = dict(zip(places, comparison.pairs, strict=True))
    tested = any(pair.p_value is not None for pair in comparison.pairs)
    rows = [(names[i], names[j], four_digits(pair.fit.m2), *((four_digits(pair.p_value),) if tested else ()),
             angles(pair), *neighbors(pair)) for (i, j), pair in found.items()]
    near = next((pair.agreement for pair in comparison.pairs if pair.agreement), None)
    said = f"Neighborhoods of {near.neighbors} points, seen from {near.points:,}. " if near else ""
    heading = ("run", "with", "Procrustes m²", *(("p",) if tested else ()), "principal angles", "shared neighbors",
               "Jaccard")
    every = table(heading, rows, (2, 3, 5, 6) if tested else (2, 4, 5))
    test = " p is the share of permutations of the rows of one embedding that fit the other as well." if tested else ""
    meaning = sentence(
        f"{said}Procrustes m² is the residual sum of squares after one embedding, centered and scaled to 1, is "
        "rotated, reflected and scaled to fit the other: 0 is the same shape, 1 no similarity. Principal angles are "
        f"between the spans of the centered embeddings, in degrees.{test}", "soft")
    if len(sides) <= FEW:
        return section("Similarity of the runs", every, meaning, spans(comparison))
    shapes = square({place: f"{pair.fit.m2:.3f}" for place, pair in found.items()}, sides)
    shared = square({place: f"{pair.agreement.overlap:.3f}" for place, pair in found.items() if pair.agreement}, sides)
    return section("Similarity of the runs", sentence("Procrustes m² of each pair of runs:"),
                   across("run", shapes, sides, numeric=True),
                   *((sentence("Shared neighbors of each pair of runs:"), across("run", shared, sides, numeric=True))
                     if near else ()), meaning, fold(f"All {len(rows)} pairs, with principal angles", every),
                   spans(comparison))


def spans(comparison: Comparison) -> Part:
    """Return the axes of every two runs one by one, where some share an eigenvalue and are compared by their space."""
    sides, names = comparison.sides, heads(comparison.sides)
    places = [(i, j) for i in range(len(sides)) for j in range(i + 1, len(sides))]
    rows = [(names[i], names[j], f"{span.start + 1}" if span.single else f"{span.start + 1} to {span.stop}",
             angle_list(span.angles) if len(span.angles) else "not compared: cut")
            for (i, j), pair in zip(places, comparison.pairs, strict=True) for span in pair.spans]
    if not any(side.shared for side in sides):
        return None
    return join([sentence("Axes that share an eigenvalue in either run are compared by the plane or space that they "
                          "span, since only that is determined; where a run keeps a part of them, there is nothing to "
                          "compare, and m², principal angles and neighbors above depend on an arbitrary choice."),
                 table(("run", "with", "axes", "principal angles"), rows, (2, 3))])


def square(cells: dict[tuple[int, int], str], sides: Sequence[Side]) -> Rows:
    """Return a figure of every two runs as a symmetric table."""
    names = heads(sides)
    return [(names[i], ["" if i == j else cells.get((min(i, j), max(i, j)), UNKNOWN) for j in range(len(sides))])
            for i in range(len(sides))]


def across(first: str, rows: Rows, sides: Sequence[Side], *, numeric: bool) -> Part:
    """Return a table with a column for each run; of many runs, several tables below each other."""
    names = heads(sides)
    return join(table((first, *names[start : start + ACROSS]),
                      [(name, *values[start : start + ACROSS]) for name, values in rows],
                      range(1, 1 + ACROSS) if numeric else (), (0,), pinned=len(sides) > FEW)
                for start in range(0, len(names), ACROSS)) if rows else None


def angles(pair: RunPair) -> str:
    """Return the principal angles of two runs."""
    return angle_list(pair.angles)


def angle_list(angles: Array) -> str:
    """Return angles (m) in degrees to 0.01, ascending; the first four of many."""
    shown = [f"{round(float(angle), 2):.3g}°" for angle in angles]
    return ", ".join(shown[:4]) + (f" to {shown[-1]}" if len(shown) > 4 else "")


def neighbors(pair: RunPair) -> tuple[str, str]:
    """Return the shares of neighbors in common."""
    near = pair.agreement
    if near is None:
        return "", ""
    return with_error(near.overlap, near.overlap_se), with_error(near.jaccard, near.jaccard_se)


def with_error(value: float, error: float | None) -> str:
    """Return a share with its standard error, where it has one."""
    return f"{value:.4f}" if error is None else f"{value:.4f} ± {error:.2g}"


COLUMNS = 3
LETTERS = 34  # largest number of characters of a run's name above its panel
SIDE, GAP, TOP, LEFT = 320.0, 42.0, 30.0, 20.0
LOW = 190.0  # height of a spectrum's panel in pixels


def embeddings(sides: Sequence[Side], placed: Sequence[Points], title: str) -> Figure:
    """Draw the first two axes of every embedding, all on the same scales, colored alike."""
    names = titles(sides, LETTERS)
    first = [np.column_stack([points.values, np.zeros(len(points.values))])[:, :2] for points in placed]
    half = 1.05 * max((float(np.abs(values).max(initial=0.0)) for values in first), default=0.0) or 1.0
    marks: list[Mark] = []
    parts: list[Tile] = []
    for place, (name, points, values) in enumerate(zip(names, placed, first, strict=True)):
        left, top = _corner(place, SIDE + TOP + GAP)
        parts.append(Tile(x=left - LEFT, y=top - TOP, width=SIDE + GAP, height=SIDE + TOP + GAP))
        panel = Panel(Scale(low=-half, high=half, start=left, end=left + SIDE, step=half),
                      Scale(low=-half, high=half, start=top + SIDE, end=top, step=half))
        marks += [Bar(kind="frame", x=left, y=top, width=SIDE, height=SIDE), *panel.rows(texts=False),
                  *panel.columns(texts=False), *dots(points, values, panel, 0.7 * points.radius),
                  _title(name, left, top), Text(left + SIDE / 2, top + SIDE + 16, points.axis(0), "middle", "small")]
        if points.values.shape[1] > 1:
            marks.append(Text(left - 7, top + SIDE / 2, points.axis(1), "middle", "small", turned=True))
    width = min(len(placed), COLUMNS) * (SIDE + GAP)
    height = -(-len(placed) // COLUMNS) * (SIDE + TOP + GAP)
    key = placed[0].colors.legend(width + 8, TOP + 8)
    low, right = (legend_end(key), legend_width(key) + 4) if key else (0.0, width)
    if key:
        parts.append(Tile(x=width, y=0, width=right - width, height=low, key=True))
    return Figure(title, right, max(height, low), [*marks, *key], parts)


def spectra(sides: Sequence[Side]) -> Figure:
    """Draw the first eigenvalues of every run that has some, in percent of its largest, on one scale."""
    known = [(side, title) for side, title in zip(sides, titles(sides, LETTERS), strict=True) if side.eigenvalues]
    shares = [_shares(side.eigenvalues[:LEADING]) for side, _ in known]
    count, flat = max(*map(len, shares), 1), [share for part in shares for share in part]
    marks: list[Mark] = []
    parts: list[Tile] = []
    for place, ((side, title), part) in enumerate(zip(known, shares, strict=True)):
        left, top = _corner(place, LOW + TOP + GAP + 18)
        parts.append(Tile(x=left - LEFT, y=top - TOP, width=SIDE + GAP, height=LOW + TOP + GAP + 18))
        panel = Panel(Scale(low=-0.5, high=count - 0.5, start=left + 34, end=left + SIDE, step=1.0),
                      Scale.over([0.0, 100.0, *flat], top + LOW, top, most=4))
        wide = 0.7 * (SIDE - 34) / count
        marks += [*panel.rows(), *panel.whole_number_labels(range(1, count + 1)), _title(title, left, top)]
        for i, share in enumerate(part):
            kind = "negative" if share < 0 else "kept" if i < side.values.shape[1] else "rest"
            above, below = sorted((panel.y(share), panel.y(0.0)))
            marks.append(Bar(kind=kind, x=panel.x(i) - wide / 2, y=above, width=wide, height=below - above,
                             tip=f"{i + 1}: {percent(share / 100, 2)}"))
    return Figure("Spectra side by side", min(len(shares), COLUMNS) * (SIDE + GAP),
                  -(-len(shares) // COLUMNS) * (LOW + TOP + GAP + 18), marks, parts)


def _shares(values: Sequence[float]) -> list[float]:
    """Return values in percent of the largest size."""
    largest = max(map(abs, values), default=0.0)
    return [100 * (value / largest) if largest else 0.0 for value in values]


def _corner(place: int, height: float) -> tuple[float, float]:
    return (place % COLUMNS) * (SIDE + GAP) + LEFT, TOP + (place // COLUMNS) * height


def _title(text: str, left: float, top: float) -> Text:
    return Text(left, top - 9, shorten(text, 48), kind="small")




NAMED = 6  # largest number of runs with names next to few points
ALIGNED = ("Each embedding is centered, scaled to the same size, and aligned with the first by a Procrustes rotation; "
           "one of fewer axes with as many leading axes of the first; two axes are drawn. Axes that the rotation mixes "
           "are called aligned: the first of them lies along the first axis of the first run.")
OWN = ("Each embedding is centered and scaled to the same size, in its own orientation; its first two axes are drawn. "
       "Signs and, where eigenvalues are close, the order of axes are arbitrary. Axes that share an eigenvalue are "
       "rotated among themselves to fit the first run.")
MOST_ON_PAGE = 24_000  # largest number of points, so that the page stays below a megabyte or so


def page(comparison: Comparison, *, seed: int, first: Part = None, style: str = "") -> str:
    """Return the page, without scripts and without network; with a `first` section that may need rules of style."""
    sides = comparison.sides
    head = f'<p class="soft">{safe(f"{len(sides)} runs, {len(comparison.ids):,} rows in common")}</p>'
    warning = None if comparison.inputs < 2 else section("Warning", sentence(
        f"The runs were made from {comparison.inputs} different inputs. Rows are matched by id, so what differs may be "
        "the data."))
    parts = [warning, first, runs(sides), pairs(comparison),
             embeddings_section(comparison, seed), quality(comparison), options(comparison), _spectra(comparison)]
    return document("Embeddings side by side", head, join(parts), style=style)


def embeddings_section(comparison: Comparison, seed: int, said: str = "") -> Part:
    """Return every embedding, aligned with the first or in its own orientation, once for each column for colors."""
    count, columns = len(comparison.ids), comparison.colors or list(comparison.labels)[:1]
    colors = [coloring(name, comparison.labels[name], measured=name in comparison.measured)
              for name in columns] or [single_color(count)]
    most = min(MOST_IN_PAIRS, MOST_ON_PAGE // (len(comparison.sides) * len(colors)))
    axes = [comparison.axis_labels(place) for place in range(len(comparison.placed))]
    drawn = [_drawn(comparison, [Points(values, comparison.ids, color, count, axes=names).sample(most, seed)
                                 for values, names in zip(comparison.placed, axes, strict=True)]) for color in colors]
    sample = f" A random sample of {most:,} of {count:,} points is drawn." if count > most else ""
    return section("Embeddings", *drawn, sentence(f"{ALIGNED if comparison.aligned else OWN}{sample} {said}".rstrip(),
                                                  "soft"))


def _drawn(comparison: Comparison, points: Sequence[Points]) -> Part:
    """Return every embedding in one coloring."""
    name = points[0].colors.name
    by = f", colored by {shorten(name, 40)}" if name else ""
    named = all(side.named for side in comparison.sides)
    if named and points[0].whole <= LABELED and len(points) <= NAMED:
        panels = [figure(scatter(part, title, names=part.ids)) for title, part in zip(
            titles(comparison.sides, 60), points, strict=True)]
        return join([sentence(f"Embeddings{by}.") if by else None, side_by_side(*panels)])
    return figure(embeddings(comparison.sides, points, f"Embeddings{by}"), f"Embeddings{by}." if by else "")


def _spectra(comparison: Comparison) -> Part:
    """Return the spectra of the runs that have one, and a sentence that names the others."""
    sides = comparison.sides
    if not any(side.eigenvalues for side in sides):
        return None
    drawn = figure(spectra(sides), "Eigenvalues in percent of each run's largest; kept axes stand out.")
    without = [title for side, title in zip(sides, titles(sides, 60), strict=True) if not side.eigenvalues]
    said = f"Without a spectrum: {', '.join(without)}." if without else ""
    return section("Spectra", drawn, sentence(said, "soft") if said else None, eigenvalues(sides))
