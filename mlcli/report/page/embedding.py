"""The part of a report with the embedding: its first axes, pairs of axes, and their captions."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mlcli.base.types import Array
from mlcli.findings.frame.finished_run import Embedding, FinishedRun
from mlcli.findings.loadings import LoadingsFinding
from mlcli.report.drawing.figure import Figure
from mlcli.report.drawing.html import Part, figure, frame_picture, section, sentence, side_by_side
from mlcli.report.drawing.text import number, shorten
from mlcli.report.figures.coloring import Coloring, ColorRange, coloring, single_color
from mlcli.report.figures.scatter import (
    LONGEST_RATIO,
    MOST,
    MOST_IN_PAIRS,
    DrawnEdges,
    Points,
    equal_units,
    names_beside,
    pairs,
    scatter,
)
from mlcli.report.figures.shade import shares_of
from mlcli.report.paper.needs import deviations, stress_note, texts

MOST_LABELS = 4
LONGEST_SEQUENCE = 500  # rows: more lines hide the points


def embedding(run: FinishedRun) -> Part:
    """Return the first axes, colored by each of the columns for colors, and every pair of up to four axes."""
    report = run.config.report
    if report.on_page is not report:
        run = replace(run, config=run.config.replace(report=report.on_page), drawn={})
    values = run.embedding.values
    if not values.size and LoadingsFinding.of(run) is not None and not run.manifest["input"]["rows"]:
        return None  # a covariance matrix has no rows to embed
    if not values.size:
        return section("Embedding", sentence("The embedding has no rows or no axes."))
    points = [points_of(run, name) for name in color_columns(run)] or [points_of(run, None)]
    edges = _edges(run)
    unsure, names, note = deviations(run), texts(run), stress_note(run)
    parts: list[Part] = []
    for i, some in enumerate(points):
        said = _edges_note(run, edges) + _background_note(unsure) if i == 0 else ""
        first = i == 0 and not run.colors
        parts.append(_matplotlib_part(run, some, None if i else edges, said, first)
                     if run.config.report.plotting else figure(
            scatter(some, _title(some.colors), edges if i == 0 else None, unsure, names, note),
            f"{_caption(some, i == 0)}{_names_note(some, names, note) * (i == 0)}{said}"))
    shown = [side_by_side(*parts)]
    if values.shape[1] > 2:
        few = len(values) <= MOST
        some = points[0].sample(MOST_IN_PAIRS, run.seed) if few else points[0]
        shown.append(figure(pairs(some), f"Pairs of the first {min(values.shape[1], 4)} axes; each panel has its own "
                            f"scales{' and shades' * (not few)}.{_sample_note(some)}{_density_note(some)}"))
    interactive = ("interactive.html, beside this page, is an interactive scatter plot." if run.interactive else
                   "mlcli report RUN --interactive writes an interactive scatter plot beside this page.")
    return section("Embedding", *shown, sentence(interactive, "soft advice"))


def _matplotlib_part(run: FinishedRun, points: Points, edges: DrawnEdges | None, said: str, first: bool) -> Part:
    """Return a scatter plot by Matplotlib of all points; the `first` is the run's own."""
    from mlcli.report.paper import drawings
    from mlcli.report.paper.inline import inline

    title = _title(points.colors)
    drawn = (colored_drawing(run, first_column(run), "svg") if first else
             drawings.plot(run, points, title, edges).draw("svg"))
    return frame_picture(inline(drawn, f"Scatter plot: {title}"), f"{_axes_drawn(points)}{drawings.caption(run)}{said}")


def colored_scatter(run: FinishedRun, name: str | None) -> Figure:
    """Draw the first two axes as a separate figure, colored by a column."""
    return scatter(points_of(run, name), run.title, _edges(run), deviations(run), texts(run), stress_note(run))


def colored_drawing(run: FinishedRun, name: str | None, format: str) -> bytes:
    """Draw it with Matplotlib as svg, pdf or png; once for the page and for the file."""
    from mlcli.report.paper import drawings

    if (name, format) not in run.drawn:
        run.drawn[name, format] = drawings.plot(run, points_of(run, name), run.title, _edges(run)).draw(format)
    return run.drawn[name, format]


def points_of(run: FinishedRun, name: str | None) -> Points:
    """Return the points, colored by a column, or alike."""
    values = run.embedding.values
    colors = single_color(len(values)) if name is None else coloring_of(run.embedding, name)
    return Points(values, run.embedding.ids, colors, len(values), axes=run.axes)


def coloring_of(table: Embedding, name: str) -> Coloring:
    """Return the colors of a label column of an embedding."""
    return coloring(name, table.labels[name], measured=name in table.measured)


def color_columns(run: FinishedRun) -> Sequence[str]:
    """Return the columns for colors: those that were chosen, else the first label columns."""
    return run.colors or list(run.embedding.labels)[:MOST_LABELS]


def first_column(run: FinishedRun) -> str | None:
    """Return the column that colors the separate figure; None where there is none."""
    return next(iter(color_columns(run)), None)


def _edges(run: FinishedRun) -> DrawnEdges | None:
    """Return the edges of the neighbor graph, where they are drawn, or the steps of a short sequence: on a plane."""
    values = run.embedding.values
    if values.shape[1] < 2:
        return None
    if run.edges is not None:
        return DrawnEdges.of(values, run.edges, run.seed)
    if run.config.method.ordered and 1 < len(values) <= LONGEST_SEQUENCE:
        return DrawnEdges.of(values, np.column_stack([np.arange(len(values) - 1), np.arange(1, len(values))]), run.seed)
    return None


def _background_note(deviations: Array | None) -> str:
    if deviations is None:
        return ""
    if shares_of(deviations) is None:
        return f" The decoder has the same posterior standard deviation everywhere: {number(float(deviations.max()))}."
    return (" The darker gray the background, the larger the decoder's posterior standard deviation (on a logarithmic "
            "scale); other axes are at their means.")


def _names_note(points: Points, names: Sequence[str], note: str) -> str:
    """Return a sentence on names that are not drawn, and how to get them."""
    drawn = sum(name is not None for name in names_beside(points, names, note))
    return "" if drawn == len(names) else (
        f" {drawn:,} of {len(names):,} names have room beside their points; mlcli report RUN --point-labels ids moves "
        "all of them apart (needs the extra manifold-cli[plot]).")


def _edges_note(run: FinishedRun, edges: DrawnEdges | None) -> str:
    if edges is None:
        return ""
    if run.edges is None:
        return " Lines join successive rows."
    count = len(edges.ends)
    return (f" Lines are the {edges.whole:,} edges of the neighbor graph." if count == edges.whole else
            f" Lines are a random sample of {count:,} of the {edges.whole:,} edges of the neighbor graph.")


def _title(colors: Coloring) -> str:
    return f"Embedding, colored by {shorten(colors.name, 20)}" if colors.name else "Embedding"


def _caption(points: Points, first: bool) -> str:
    stretched = points.values.shape[1] > 1 and not equal_units(points.values)
    units = (f" The axes have different scales: the second axis is stretched, because the ranges differ by more than "
             f"{LONGEST_RATIO:.2g} times."
             if stretched else " Both axes have the same scale." if points.values.shape[1] > 1 else "")
    linear = isinstance(points.colors, ColorRange)
    scale = " Colors are linear from the smallest number to the largest." if linear else ""
    return f"{_axes_drawn(points)}{units if first else ''}{scale}{_density_note(points)}"


def _axes_drawn(points: Points) -> str:
    return "One axis, against the row number." if points.values.shape[1] == 1 else "The first two axes."


def _density_note(points: Points) -> str:
    if len(points.values) <= MOST:
        return ""
    colored = "" if len(points.colors.kinds) == 1 else ("; its color is that of their mean" if isinstance(
        points.colors, ColorRange) else "; its color is that of the largest group there")
    return (f" All {points.whole:,} points: the more of them overlap, the more opaque a place is, by the logarithm of "
            f"their number{colored}.")


def _sample_note(points: Points) -> str:
    count = len(points.values)
    return f" A random sample of {count:,} of {points.whole:,} points is drawn." if count < points.whole else ""
