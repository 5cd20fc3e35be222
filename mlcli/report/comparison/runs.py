"""The page over a table of runs: ranks by several measures, the best by each, quality against swept options."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mlcli.base.frozen import frozen
from mlcli.report.comparison.curves import SweepLine, across, line_marks, tick_numbers
from mlcli.report.comparison.page import embeddings_section, with_error
from mlcli.report.comparison.side_by_side import Comparison
from mlcli.report.drawing.axes import Panel, Scale
from mlcli.report.drawing.figure import Bar, Figure, Mark, Text, Tile
from mlcli.report.drawing.html import Part, document, figure, join, section, sentence, table
from mlcli.report.drawing.palette import CLASSES
from mlcli.report.drawing.text import number, safe, shorten

Row = Mapping[str, Any]  # a row of the table by column: numbers, texts, or None for an empty cell


@frozen
class RankingMeasure:
    """A figure that ranks runs."""

    column: str
    words: str
    largest: bool  # whether the largest value is the best

    def value(self, row: Row) -> float | None:
        """Return the value of a run; None where it is missing or not finite."""
        value = row.get(self.column)
        return float(value) if isinstance(value, int | float) and math.isfinite(value) else None

    def error(self, row: Row) -> float:
        """Return its standard error; 0 where it comes from all points."""
        return float(row.get(f"{self.column}_se") or 0.0)


MEASURES = (RankingMeasure("trustworthiness", "trustworthiness", True),
            RankingMeasure("continuity", "continuity", True),
            RankingMeasure("residual_variance", "residual variance", False))
RESIDUAL = MEASURES[2]
GRAPH = ("method.name", "method.neighbors", "method.graph", "method.metric", "prepare.", "input.")  # change graphs


@frozen
class RankedRun:
    """A run with its rank by each measure, of those in `measures`."""

    row: Row
    ranks: Sequence[int]

    @property
    def mean(self) -> float:
        """The mean of the ranks."""
        return sum(self.ranks) / len(self.ranks)


def graphs_differ(parameters: Sequence[str]) -> bool:
    """Whether runs that differ in these options may have different neighbor graphs."""
    return any(path.startswith(GRAPH) for path in parameters)


def measures_of(rows: Sequence[Row], parameters: Sequence[str]) -> list[RankingMeasure]:
    """Return the measures that rank the runs.

    Residual variance is measured along each run's own graph, so it compares only runs with the same graph.
    """
    return [measure for measure in MEASURES if any(measure.value(row) is not None for row in rows)
            and not (measure is RESIDUAL and graphs_differ(parameters))]


def ranking(rows: Sequence[Row], measures: Sequence[RankingMeasure]) -> list[RankedRun]:
    """Return runs by their mean rank, the best first; of equal ones in their order."""
    by_measure = [ranks(rows, measure) for measure in measures]
    found = [RankedRun(row, own) for row, own in zip(rows, zip(*by_measure, strict=True), strict=False)]
    return sorted(found, key=lambda one: one.mean)


def ranks(rows: Sequence[Row], measure: RankingMeasure) -> list[int]:
    """Return for each run 1 plus the number of runs that are better by more than both errors; last without a value."""
    sign = 1 if measure.largest else -1
    known = [(sign * value, measure.error(row)) for row in rows if (value := measure.value(row)) is not None]
    return [len(rows) if (value := measure.value(row)) is None else 1 + sum(
        other - sign * value > math.hypot(error, measure.error(row)) for other, error in known) for row in rows]


@frozen
class Best:
    """The best run by a measure."""

    measure: RankingMeasure
    row: Row
    value: float
    tied: int  # number of others whose difference from it is within the standard errors


def best(rows: Sequence[Row]) -> list[Best]:
    """Return the best run by each measure that runs have; of equal ones the first."""
    return [found for measure in MEASURES if (found := best_by(measure, rows)) is not None]


def best_by(measure: RankingMeasure, rows: Sequence[Row]) -> Best | None:
    """Return the best run by one measure; None where no run has it."""
    known = [(value if measure.largest else -value, row) for row in rows if (value := measure.value(row)) is not None]
    if not known:
        return None
    top, first = max(known, key=lambda pair: pair[0])
    room = measure.error(first)
    tied = sum(top - value <= math.hypot(room, measure.error(row)) for value, row in known if row is not first)
    return Best(measure, first, abs(top), tied)


def numeric(rows: Sequence[Row], parameters: Sequence[str]) -> list[str]:
    """Return the options that have two or more values, all of them numbers."""
    return [path for path in parameters
            if len({as_number(row.get(path)) for row in rows}) > 1 and all(
                as_number(row.get(path)) is not None for row in rows)]


def lines(rows: Sequence[Row], parameters: Sequence[str], swept: str, measure: RankingMeasure) -> list[SweepLine]:
    """Return a measure against one option: a line for each combination of the others."""
    groups: dict[str, list[tuple[float, float, float]]] = {}
    for row in rows:
        name = ", ".join(f"{path.rpartition('.')[2]}={row.get(path)}" for path in parameters if path != swept)
        value, place = measure.value(row), as_number(row.get(swept))
        if value is not None and place is not None:
            groups.setdefault(name, []).append((place, value, measure.error(row)))
    return [SweepLine(name, *zip(*sorted(points), strict=True)) for name, points in groups.items()]


def as_number(value: Any) -> float | None:
    """Return a value of an option as a number; None where it is none."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


MOST = len(CLASSES)  # lines in a panel
SIDE, TALL, GAP, LEFT, TOP, BOTTOM = 210.0, 170.0, 62.0, 46.0, 58.0, 46.0
ROW = 18.0  # height of an entry of the legend in pixels
WIDE = 50.0  # ratio of the largest value to the least above which the scale is logarithmic


def quality_curves(rows: Sequence[Row], parameters: Sequence[str], swept: str) -> Figure:
    """Draw every measure of the runs, with standard errors as bars, against one option; at most twelve lines."""
    drawn = [(measure, found) for measure in MEASURES if (found := lines(rows, parameters, swept, measure)[:MOST])]
    names = list(dict.fromkeys(line.name for _, found in drawn for line in found))[:MOST]
    places = sorted({value for _, found in drawn for line in found for value in line.values})
    logarithmic = len(places) > 1 and places[0] > 0 and places[-1] / places[0] > WIDE
    below, step = TOP + TALL + BOTTOM, SIDE + GAP
    marks: list[Mark] = []
    parts: list[Tile] = []
    for place, (measure, found) in enumerate(drawn):
        left = LEFT + place * step
        parts.append(Tile(x=place * step, y=0, width=step, height=below))
        ends = [height + sign * error for line in found for height, error in zip(line.heights, line.errors, strict=True)
                for sign in (-1, 1)]
        panel = Panel(across(places, logarithmic, left, SIDE), Scale.over(ends, TOP + TALL, TOP, most=4))
        marks += [*panel.rows(), *tick_numbers(panel, places, logarithmic),
                  Text(left, TOP - 12, measure.words, kind="small"),
                  *(mark for line in found if line.name in names
                    for mark in line_marks(line, panel, names.index(line.name), logarithmic))]
    title = f"Quality against {swept}"
    marks += [Text(LEFT, 22, title, kind="title"), Text(LEFT + SIDE / 2, below - 8, swept, "middle", "small")]
    entries = names if names != [""] else []
    for place, name in enumerate(entries):
        x, y = LEFT + place % 3 * step, below + 14 + place // 3 * ROW
        parts.append(Tile(x=place % 3 * step, y=y - 14, width=step, height=ROW, key=True))
        marks += [Bar(kind=f"c{place}", x=x, y=y - 8, width=12, height=8),
                  Text(x + 17, y, shorten(name, 36), kind="small")]
    return Figure(title, LEFT + 3 * step, below + ROW * math.ceil(len(entries) / 3) + 8, marks, parts)


METHOD = "method.name"
LETTERS = 48  # largest number of characters of an option in the table
DRAWN = 24  # embeddings on the page
LISTED = 5  # runs in the ranking
AXES = ("A run counts as good as the best one if the difference is within the standard errors. More axes improve all "
        "three measures: compare runs with the same number of axes, or look for the point where more axes gain little.")
PICTURES = ("These measures can mislead: an embedding with short circuits, or a torn one, can preserve most neighbors. "
            "Look at the embeddings, at the shares of the first axes, and at the edges of the graph (--draw-graph); "
            "docs/choosing-k.md explains how.")
OWN_GRAPH = (" Residual variance is measured along the graph of each run, and can be small for a wrong graph too: it "
             "ranks only runs with the same graph.")


def runs_page(rows: Sequence[Row], parameters: Sequence[str], comparison: Comparison | None, *, seed: int) -> str:
    """Return the page, without scripts and without network; embeddings are those of the compared runs, if any."""
    ended = [row for row in rows if not row.get("exit")]
    failed = len(rows) - len(ended)
    head = f'<p class="soft">{safe(f"{len(rows):,} runs" + (f", {failed:,} of them failed" if failed else ""))}</p>'
    embeddings = None
    if comparison is not None and comparison.sides:
        count = len(comparison.sides)
        embeddings = embeddings_section(comparison, seed, "" if count == len(ended) else
                                        f"The {count} of {len(ended):,} runs with the best quality are drawn.")
    parts = [_best(ended, parameters), _curves(ended, parameters), embeddings, _table(rows, parameters)]
    return document("Runs side by side", head, join(parts))


def runs_to_draw(rows: Sequence[Row]) -> list[int]:
    """Return the indices of the runs whose embeddings are drawn: all of few, else the best by the first measure."""
    places = [place for place, row in enumerate(rows) if not row.get("exit")]
    measure = next((measure for measure in MEASURES if any(measure.value(rows[place]) is not None for place in places)),
                   None)
    if len(places) <= DRAWN or measure is None:
        return places[:DRAWN]
    worst = float("-inf")
    sign = 1.0 if measure.largest else -1.0
    values = {place: worst if (value := measure.value(rows[place])) is None else sign * value for place in places}
    return sorted(sorted(places, key=lambda place: -values[place])[:DRAWN])


def _best(ended: Sequence[Row], parameters: Sequence[str]) -> Part:
    """Return runs by their mean rank, the best by each measure, and what these do not show."""
    measures, found = measures_of(ended, parameters), best(ended)
    if not found:
        return None
    first = ranking(ended, measures)[:LISTED] if len(measures) > 1 else []
    ranked = table(("run", "mean rank", *(measure.words for measure in measures)),
                   [(str(one.row["run"]), f"{one.mean:.3g}", *(
                       f"{rank} ({_with_error(measure, one.row)})" for measure, rank in zip(measures, one.ranks,
                                                                                        strict=True)))
                    for one in first], range(1, 2 + len(measures)), (0,))
    of = f" The first {LISTED} of {len(ended):,} runs." if len(ended) > LISTED and first else ""
    words = [measure.words for measure in measures]
    by = sentence(f"Runs by their mean rank in {', '.join(words[:-1])} and {words[-1]}; in brackets, the values.{of}"
                  ) if first else None
    return section("Best", by, ranked, _best_by(found, measures), sentence(AXES, "soft"), sentence(
        PICTURES + (OWN_GRAPH if any(one.measure is RESIDUAL for one in found) else ""), "soft"))


def _best_by(found: Sequence[Best], ranked: Sequence[RankingMeasure]) -> Part:
    """Return the best run by each measure."""
    own = {measure: "" if measure in ranked else ", along its own graph" for measure in MEASURES}
    rows = [(f"{one.measure.words} ({'largest' if one.measure.largest else 'smallest'}{own[one.measure]})",
             str(one.row["run"]), with_error(one.value, one.measure.error(one.row) or None),
             str(one.tied) if one.tied else "")
            for one in found]
    return table(("best by", "run", "value", "as good"), rows, (2, 3))


def _curves(rows: Sequence[Row], parameters: Sequence[str]) -> Part:
    swept = [path for path in numeric(rows, parameters)
             if any(len(line.values) > 1 for measure in MEASURES for line in lines(rows, parameters, path, measure))]
    figures = [figure(quality_curves(rows, parameters, path), caption(rows, parameters, path)) for path in swept]
    return section("Quality", *figures)


def caption(rows: Sequence[Row], parameters: Sequence[str], swept: str) -> str:
    """Return the caption of a figure of curves."""
    count = max(len(lines(rows, parameters, swept, measure)) for measure in MEASURES)
    left = f" The first {MOST} of {count} combinations are drawn." if count > MOST else ""
    return ("Best values: 1 for trustworthiness and continuity, 0 for residual variance. Bars are standard errors, if "
            f"the measures come from a sample.{left}")


def _table(rows: Sequence[Row], parameters: Sequence[str]) -> Part:
    failed = any(row.get("error") for row in rows)
    named = sorted(parameters, key=lambda path: path != METHOD)  # the method first, then as in a configuration
    last = ("rows", "components", "seconds", "certificate", *(["error"] if failed else []))
    head = ["run", *("method" if path == METHOD else path.rpartition(".")[2] for path in named),
            *(measure.words for measure in MEASURES), *last]
    cells = [[_shown(row.get("run")), *(shorten(_shown(row.get(column)), LETTERS) for column in named),
              *(_with_error(measure, row) for measure in MEASURES),
              *(_shown(row.get(column)) for column in last)] for row in rows]
    numbers = range(1 + len(named), 1 + len(named) + len(MEASURES) + 3)
    return section("Runs", table(head, cells, numbers, range(len(head))))


def _with_error(measure: RankingMeasure, row: Row) -> str:
    """Return a measure with its standard error, where there is one."""
    value = measure.value(row)
    return "" if value is None else with_error(value, measure.error(row) or None)


def _shown(value: object) -> str:
    """Return a cell of the table."""
    if value is None:
        return ""
    return number(value) if isinstance(value, int | float) else str(value)
