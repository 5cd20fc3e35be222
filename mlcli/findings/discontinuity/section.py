"""The section of the page about discontinuity, and its figure."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mlcli.base.types import AnyArray, Array
from mlcli.findings.discontinuity.thresholds import sentence_on
from mlcli.findings.frame.finished_run import CsvColumns, FinishedRun
from mlcli.report.drawing.axes import Panel, to_pixels
from mlcli.report.drawing.figure import Dots, Figure, Mark, Text
from mlcli.report.drawing.html import Part, figure, section, sentence, table
from mlcli.report.figures.coloring import ROW
from mlcli.report.figures.scatter import (
    BESIDE,
    BOTTOM,
    LEFT,
    MOST,
    TOP,
    WIDE,
    backdrop,
    panel_of,
    plane,
    sample_rows,
    sides,
    with_legend,
)
from mlcli.report.figures.shade import gray

CELLS = 48  # of the shade, along the wider side
RING = 2.0  # pixels around a point


def discontinuity(figures: Mapping[str, Any], scores: CsvColumns, run: FinishedRun) -> Part:
    """Return the sentence, the figures as a table, and the map with rings around doubtful points."""
    moved = figures["moved"]
    rows: list[Sequence[object]] = []
    meanings = {"perturbation": "largest move of a point when its input is moved",
                "singularity": "inverse of the least curvature of a point's own loss"}
    for name, meaning in meanings.items():
        values = scores.array(name)
        if np.isnan(values).all():
            continue
        limit = figures[name]
        rows.append((name, *("infinite" if np.isinf(value) else f"{value:.3g}"
                             for value in (np.median(values), values.max())),
                     "not used" if limit is None else f"{limit:g}", meaning))
    how = ("Inputs were not moved, so points have singularity alone." if not moved else
           f"Inputs were moved by {listed(moved)} along their first principal "
           "directions, both ways, with all other points fixed.")
    if figures["share"] is not None:
        how += (f" In maps that are known to be continuous, at most {100 * figures['share']:.2g}% of the points are "
                "above the thresholds.")
    return section("Discontinuity", sentence(sentence_on(figures["doubtful"], figures["rows"], torn=figures["torn"])),
                   sentence(how, "soft"),
                   table(("score", "median", "largest", "threshold", "meaning"), rows, (1, 2, 3),
                         said=True),
                   figure(map_of(scores, run, "Doubtful points"), caption(figures, scores)))


def listed(lengths: Sequence[float]) -> str:
    """Return lengths as words of a sentence."""
    said = [f"{length:.3g}" for length in lengths]
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"


def caption(figures: Mapping[str, Any], scores: CsvColumns) -> str:
    """Return the words below the map."""
    drawn = "No point has a ring, as there is no alarm." if figures["doubtful"] is None else (
        f"Rings mark {figures['doubtful']:,} doubtful points." if figures["doubtful"] else "No point is doubtful.")
    return drawn if np.isnan(scores.array("perturbation")).all() else (
        f"{drawn} The grayer the ground, the farther its points move.")


def map_of(scores: CsvColumns, run: FinishedRun, title: str) -> Figure:
    """Draw the first two axes with rings around doubtful points, over a ground that is grayer where points move far."""
    values, doubtful = run.embedding.values, scores.array("doubtful") > 0  # false where there is no alarm
    panel = panel_of(values)
    rings = np.flatnonzero(doubtful)
    others = np.flatnonzero(~doubtful)
    some = sample_rows(len(others), MOST, run.seed)
    others = others if some is None else others[some]
    few = sample_rows(len(rings), MOST, run.seed)
    rings = rings if few is None else rings[few]
    places = plane(values)
    shown = len(rings) + len(others)
    radius = 2.6 if shown <= 300 else 2.0 if shown <= 2000 else 1.4
    inside = to_pixels(places[rings], panel)
    right = float(LEFT + WIDE + BESIDE)
    rest = f"{'others' if len(rings) else 'points'} ({int(np.sum(~doubtful)):,})"
    key: list[Mark] = [Dots("other", np.array([[right + 6, TOP + 4.0]]), 3),
                       Text(right + 17, TOP + 8.0, rest, kind="small")]
    if len(rings):
        place = np.array([[right + 6, TOP + ROW + 4.0]])
        key += [Dots("mark", place, 3 + RING), Dots("other", place, 3),
                Text(right + 17, TOP + ROW + 8.0, f"doubtful ({int(np.sum(doubtful)):,})", kind="small")]
    marks: list[Mark] = [*shade_of(places, scores.array("perturbation"), panel), *backdrop(title, panel),
                         Dots("other", to_pixels(places[others], panel), radius), Dots("mark", inside, radius + RING),
                         Dots("other", inside, radius), *panel.names(*sides(run.axes, values.shape[1])), *key]
    return with_legend(title, panel.y.start + BOTTOM, marks, key)


def shade_of(places: Array, moves: Array, panel: Panel) -> list[Mark]:
    """Return a gray image over a panel, of the mean move of the points (n x 2) in each cell; none without moves (n)."""
    if np.isnan(moves).all() or not moves.max() > 0:
        return []
    left, right, top, bottom = panel.edges
    side = max(right - left, bottom - top) / CELLS
    shape = max(round((bottom - top) / side), 1), max(round((right - left) / side), 1)
    pixels = to_pixels(places, panel)
    down, across = (np.clip(((pixels[:, axis] - start) / side).astype(int), 0, most - 1)
                    for axis, start, most in ((1, top, shape[0]), (0, left, shape[1])))
    cells: AnyArray = down * shape[1] + across
    size = shape[0] * shape[1]
    counts = np.bincount(cells, minlength=size)
    means = np.bincount(cells, moves, size) / np.maximum(counts, 1)
    return [gray((means / means.max()).reshape(shape), left, top, (right - left, bottom - top))]
