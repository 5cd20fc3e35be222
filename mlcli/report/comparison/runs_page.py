"""The page over several runs: the best by each measure, quality against swept options, all embeddings, the table."""

from collections.abc import Sequence

from mlcli.report.comparison.page import embeddings_section
from mlcli.report.comparison.quality_curves import MOST, quality_curves
from mlcli.report.comparison.run_tables import with_error
from mlcli.report.comparison.runs import (
    MEASURES,
    RESIDUAL,
    Best,
    RankingMeasure,
    Row,
    best,
    lines,
    measures_of,
    numeric,
    ranking,
)
from mlcli.report.comparison.side_by_side import Comparison
from mlcli.report.drawing.html import Part, document, figure, join, section, sentence, table
from mlcli.report.drawing.text import number, safe

DRAWN = 24  # embeddings on the page
LISTED = 5  # runs in the ranking
AXES = ("A run counts as good as the best one if the difference is within the standard errors. More axes improve all "
        "three measures: compare runs with the same number of axes, or look for the point where more axes gain little.")
PICTURES = ("These measures can mislead: an embedding with short circuits, or a torn one, can preserve most neighbors. "
            "Look at the plots below, at the shares of the first axes, and at the edges of the graph (--draw-graph); "
            "docs/choosing-k.md explains how.")
OWN_GRAPH = (" Residual variance is measured along the graph of each run, and can be small for a wrong graph too: it "
             "ranks only runs with the same graph.")


def runs_page(rows: Sequence[Row], parameters: Sequence[str], comparison: Comparison | None, *, seed: int) -> str:
    """Return the page, without scripts and without network; embeddings are those of the compared runs, if any."""
    ended = [row for row in rows if not row.get("exit")]
    failed = len(rows) - len(ended)
    head = f'<p class="soft">{safe(f"{len(rows):,} runs" + (f", {failed:,} of them failed" if failed else ""))}</p>'
    parts = [_best(ended, parameters), _curves(ended, parameters), _embeddings(comparison, len(ended), seed),
             _table(rows, parameters)]
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
    names = _in_sentence([measure.words for measure in measures])
    by = sentence(f"Runs by their mean rank in {names}; in brackets, the values.{of}") if first else None
    return section("Best", by, ranked, _best_by(found, measures), sentence(AXES, "soft"), sentence(
        PICTURES + (OWN_GRAPH if any(one.measure is RESIDUAL for one in found) else ""), "soft"))


def _in_sentence(words: Sequence[str]) -> str:
    """Return words in a sentence."""
    return f"{', '.join(words[:-1])} and {words[-1]}"


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


def _embeddings(comparison: Comparison | None, ended: int, seed: int) -> Part:
    if comparison is None or not comparison.sides:
        return None
    count = len(comparison.sides)
    said = "" if count == ended else f"The {count} of {ended:,} runs with the best quality are drawn."
    return join([embeddings_section(comparison, seed, said)])


def _table(rows: Sequence[Row], parameters: Sequence[str]) -> Part:
    failed = any(row.get("error") for row in rows)
    first, last = ("run", *parameters), ("rows", "components", "seconds", "certificate", *(["error"] if failed else []))
    head = [*(path.rpartition(".")[2] for path in first), *(measure.words for measure in MEASURES), *last]
    cells = [[*(_shown(row.get(column)) for column in first), *(_with_error(measure, row) for measure in MEASURES),
              *(_shown(row.get(column)) for column in last)] for row in rows]
    numbers = range(len(first), len(first) + len(MEASURES) + 3)
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
