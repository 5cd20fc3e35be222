"""The page of a checkup: its findings, the curves over the number of columns, and all sections of its text."""

from collections.abc import Iterator

import numpy as np

from mlcli.base.types import Array
from mlcli.checkup.lines import CURVES, sections_of, subset_sentences, title_of
from mlcli.checkup.report import ColumnSubsets, Interval, Report
from mlcli.report.drawing.figure import Figure
from mlcli.report.drawing.html import (
    LONG,
    Html,
    Part,
    badge,
    document,
    figure,
    join,
    section,
    sentence,
    side_by_side,
    verbatim,
)
from mlcli.report.drawing.text import safe
from mlcli.report.figures.curves import over_sizes

KINDS = {"error": "bad", "warning": "plain"}  # badges of severities
ACROSS = "columns"


def page(report: Report) -> str:
    """Return the whole page, without scripts and without network."""
    parts = [_findings(report), _curves(report.column_subsets),
             *(section(title, verbatim("\n".join(line.removeprefix("  ") for line in lines), width=LONG))
               for title, lines in sections_of(report) if title != CURVES)]
    return document("Data check", f'<p class="lead">{safe(title_of(report), LONG)}</p>', join(parts))


def _findings(report: Report) -> Part:
    if not report.findings:
        return section("Findings", sentence("There are none."))
    return section("Findings", *(Html(
        f"<p>{badge(finding.severity, KINDS[finding.severity])} {safe(finding.code)}: "
        f'{safe(finding.sentence, LONG)}<br><span class="soft">{safe(finding.advice, LONG)}</span></p>')
        for finding in report.findings))


def _curves(subsets: ColumnSubsets | None) -> Part:
    """Return the curves with what they say; None where distances were not examined over the number of columns."""
    if subsets is None:
        return None
    return section(
        CURVES, *map(sentence, subset_sentences(subsets)), side_by_side(*map(figure, figures_of(subsets))),
        sentence(f"Distances between {subsets.rows:,} rows by 1, 2, 4, ... of their columns, up to all, which is the "
                 f"data. Each of {subsets.draws} draws puts the columns in a random order; dots are medians over "
                 "draws, and vertical lines hold four fifths of them. Nearest over farthest is 1 where all rows are as "
                 "far. The variation of squared distances is their standard deviation over their mean.", "soft"))


def figures_of(subsets: ColumnSubsets) -> Iterator[Figure]:
    """Yield the figures of the curves: how alike distances become, and how well they separate classes."""
    yield over_sizes("How near is the nearest row?", ACROSS, "distance, of that to the farthest", subsets.sizes,
                     {"nearest / farthest": _lines(subsets.nearest_over_farthest)}, {})
    yield over_sizes("How much do distances vary?", ACROSS, "variation of squared distances", subsets.sizes,
                     {"variation": _lines(subsets.variation)}, {"independent": subsets.variation_independent})
    for found in subsets.separation:
        yield over_sizes(f"Are rows of one {found.label} nearer?", ACROSS, "share of comparisons", subsets.sizes,
                         {found.label: _lines(found.nearer)}, {"independent": found.nearer_independent}, low=0.5)


def _lines(found: tuple[Interval, ...]) -> Array:
    """Return medians and both ends of intervals (m x 3)."""
    return np.array([(interval.median, interval.low, interval.high) for interval in found])
