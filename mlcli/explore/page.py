"""The page explore.html: the recommendation, its reasons, and all results that they rest on, with their figures."""

from collections.abc import Callable, Mapping, Sequence

from mlcli.base.units import percent
from mlcli.explore.contents import Candidate, Exploration, TrialEntry, curve_places
from mlcli.explore.scores import figures
from mlcli.report.comparison.curves import SweepLine, across, line_marks, scale_value
from mlcli.report.comparison.page import embeddings_section
from mlcli.report.comparison.side_by_side import RunPair
from mlcli.report.drawing.axes import Panel, Scale
from mlcli.report.drawing.figure import Bar, Curve, Figure, Mark, Text, Tile
from mlcli.report.drawing.html import Part, document, figure, join, section, sentence, table, verbatim
from mlcli.report.drawing.palette import STEPS
from mlcli.report.drawing.text import number, safe, shorten

SIDE, TALL, LEFT, TOP, BOTTOM, KEY = 410.0, 250.0, 56.0, 52.0, 50.0, 190.0
TICKS = [factor * 10.0**power for power in range(7) for factor in (1, 2, 5)]
DRAWN = 0.8  # share of the sizes: neighborhoods of almost all points agree by chance
Lines = Mapping[str,
                SweepLine | None]  # by method; None for a method without a line, so that the others keep their colors


def neighborhoods_figure(candidates: Sequence[Candidate]) -> Figure | None:
    """Draw R_NX against the size of the neighborhoods, for the best setting of each method."""
    lines: dict[str, SweepLine | None] = {}
    for one in candidates:
        curve = one.entry.judged.curve
        places = curve_places(int(DRAWN * len(curve)))
        lines[one.entry.name] = SweepLine(one.entry.method, places.tolist(), curve[places - 1].tolist(),
                                          [0.0] * len(places))
    return panel("R_NX of neighborhoods of every size", "neighbors", lines, logarithmic=True, dots=False)


def axes_figure(candidates: Sequence[Candidate]) -> Figure | None:
    """Draw the area under R_NX against the number of axes."""
    lines: dict[str, SweepLine | None] = {}
    for one in candidates:
        figures_of = [(axes, figures(judged)) for axes, judged in one.by_axes]
        lines[one.entry.name] = SweepLine(one.entry.method, [float(axes) for axes, _ in figures_of],
                                          [shown["r_nx"] for _, shown in figures_of],
                                          [shown["r_nx_se"] for _, shown in figures_of]) if figures_of else None
    return panel("R_NX by the number of axes", "axes", lines)


def counts_figure(candidates: Sequence[Candidate], entries: Sequence[TrialEntry]) -> Figure | None:
    """Draw the area under R_NX against the number of neighbors; a linear method is a level line."""
    counts = sorted({entry.count for entry in entries if entry.count is not None})
    lines: dict[str, SweepLine | None] = {}
    for one in candidates:
        own = sorted((entry.count, figures(entry.judged)) for entry in entries
                     if entry.method == one.entry.method and entry.count is not None)
        level = figures(one.entry.judged)["r_nx"]
        if own:
            lines[one.entry.name] = SweepLine(one.entry.method, [float(count) for count, _ in own],
                                              [shown["r_nx"] for _, shown in own],
                                              [shown["r_nx_se"] for _, shown in own])
        else:
            lines[one.entry.name] = SweepLine(one.entry.method, [counts[0], counts[-1]], [level] * 2, [0.0] * 2
                                         ) if one.entry.linear and counts else None
    return panel("R_NX by the neighbors of a method", "k, neighbors", lines) if len(counts) > 1 else None


def panel(title: str, below: str, lines: Lines, *, logarithmic: bool = False, dots: bool = True) -> Figure | None:
    """Draw one panel with a line for each method and their names to the right; None where no line has two points."""
    there = [(number, name, line) for number, (name, line) in enumerate(lines.items()) if line and line.values]
    if not any(len(line.values) > 1 for _, _, line in there):
        return None
    places = sorted({value for _, _, line in there for value in line.values})
    ends = [height + sign * error for _, _, line in there
            for height, error in zip(line.heights, line.errors, strict=True) for sign in (-1, 1)]
    box = Panel(across(places, logarithmic, LEFT, SIDE), Scale.over(ends, TOP + TALL, TOP, most=5))
    ticks = [tick for tick in TICKS if places[0] <= tick <= places[-1]] if logarithmic else places
    marks: list[Mark] = [Text(LEFT, 22, title, kind="title"), *box.rows(), *tick_numbers(box, ticks, logarithmic),
                         Text(LEFT + SIDE / 2, TOP + TALL + 38, below, "middle", "small")]
    for place, (color, name, line) in enumerate(there):
        y = TOP + 6 + 19 * place
        marks += [Bar(kind=f"c{color}", x=LEFT + SIDE + 20, y=y - 8, width=12, height=8),
                  Text(LEFT + SIDE + 37, y, shorten(name, 26), kind="small"),
                  *(line_marks if dots else line_without_dots)(line, box, color, logarithmic)]
    right, height = LEFT + SIDE + 14, TOP + TALL + BOTTOM
    return Figure(title, LEFT + SIDE + KEY, height, marks, [
        Tile(x=0, y=0, width=right, height=height),
        Tile(x=right, y=TOP - 10, width=KEY, height=20 + 19 * len(there), key=True)])


def tick_numbers(box: Panel, ticks: Sequence[float], logarithmic: bool) -> list[Mark]:
    """Return numbers below all ticks."""
    return [Text(box.x(scale_value(tick, logarithmic)), box.edges[3] + 16, f"{tick:,g}", "middle", "small")
            for tick in ticks]


def line_without_dots(line: SweepLine, box: Panel, number: int, logarithmic: bool) -> list[Mark]:
    """Return a line through many points, without dots."""
    return [Curve(f"l{number}", [(box.x(scale_value(value, logarithmic)), box.y(height))
                                 for value, height in zip(line.values, line.heights, strict=True)])]


CELL, MATRIX_LEFT, MATRIX_TOP, GAP = 48.0, 136.0, 74.0, 24.0
DARK = 9  # the last step of the scale on which white text is easier to read than black


def heat(names: Sequence[str], pairs: Sequence[RunPair]) -> Figure | None:
    """Return two matrices: likeness 1 - m² by Procrustes, and the share of common neighbors; None for one embedding.
    """
    if len(names) < 2:
        return None
    width = MATRIX_LEFT + len(names) * CELL
    marks: list[Mark] = []
    for place, (title, value) in enumerate((
            ("Shape: 1 − Procrustes m²", lambda pair: 1 - pair.fit.m2),
            ("Neighbors in common", lambda pair: pair.agreement.overlap if pair.agreement else float("nan")))):
        marks += matrix(title, names, pairs, value, place * (width + GAP))
    height = MATRIX_TOP + len(names) * CELL + 8
    return Figure("Agreement of the methods", 2 * (width + GAP), height, marks,
                  [Tile(x=place * (width + GAP), y=0, width=width + GAP, height=height) for place in range(2)])


def matrix(title: str, names: Sequence[str], pairs: Sequence[RunPair], value: Callable[[RunPair], float], left: float,
           ) -> list[Mark]:
    """Return the marks of one matrix with the names of its rows and columns."""
    place = {name: i for i, name in enumerate(names)}
    marks: list[Mark] = [Text(MATRIX_LEFT + left, 20, title)]
    for name, i in place.items():
        marks += [Text(MATRIX_LEFT + left - 8, MATRIX_TOP + (i + 0.5) * CELL + 4, shorten(name, 20), "end", "small"),
                  Text(MATRIX_LEFT + left + (i + 0.5) * CELL, MATRIX_TOP - 8 - 13 * (i % 2),
                       shorten(name.partition(" ")[0], 10), "middle", "small"), *cell(i, i, 1.0, left)]
    for pair in pairs:
        i, j = place[pair.first], place[pair.second]
        marks += [*cell(i, j, value(pair), left), *cell(j, i, value(pair), left)]
    return marks


def cell(row: int, column: int, value: float, left: float) -> list[Mark]:
    """Return a square in the color of a number between 0 and 1, with the number."""
    x, y = MATRIX_LEFT + left + column * CELL, MATRIX_TOP + row * CELL
    if value != value:
        return [Bar(kind="grid", x=x, y=y, width=CELL - 2, height=CELL - 2)]
    shade = min(int((1 - max(min(value, 1.0), 0.0)) * STEPS), STEPS - 1)
    return [Bar(kind=f"s{shade}", x=x, y=y, width=CELL - 2, height=CELL - 2),
            Text(x + CELL / 2 - 1, y + CELL / 2 + 4, f"{value:.2f}", "middle",
                 "onlight" if shade > DARK else "ondark")]


MEASURES = (("r_nx", "R_NX"), ("trustworthiness", "trustworthiness"), ("continuity", "continuity"))
OTHERS = (("distances", "distances"), ("geodesics", "paths"), ("label_error", "label error"))


def page(exploration: Exploration, *, seed: int = 0) -> str:
    """Return the page as one HTML document without scripts and without network."""
    head = f'<p class="soft">{safe(f"{exploration.input}: {exploration.size}", 400)}</p>'
    parts = [_recommendation(exploration), _checkup(exploration), _ranking(exploration), _axes(exploration),
             _settings(exploration), _agreement(exploration),
             embeddings_section(exploration.comparison, seed), _stability(exploration.candidates),
             _exclusions(exploration), _conditions(exploration)]
    return document("Which method, which k, how many axes", head, join(parts))


def _recommendation(exploration: Exploration) -> Part:
    sentences = exploration.recommendation.sentences
    command = [verbatim(exploration.command)] if exploration.command else []
    return section("Recommended", sentence(sentences[0][:1].upper() + sentences[0][1:], "lead"),
                   *(sentence(one) for one in sentences[1:]), *command)


def _checkup(exploration: Exploration) -> Part:
    rows = [(finding["code"], f"{finding['sentence']}; {finding['advice']}") for finding in exploration.findings]
    return section("What to know of the data", table(("finding", "what it says"), rows, (), (0,), said=True)
                   or sentence("The checkup found nothing that needs care.", "soft"))


def _ranking(exploration: Exploration) -> Part:
    rows = [_rank_row(one, exploration.recommendation.chosen == place)
            for place, one in enumerate(exploration.candidates)]
    shown = [(key, words) for key, words in OTHERS if any(key in one.entry.judged.scores
                                                           for one in exploration.candidates)]
    head = ("", "method", "mean rank", *(words for _, words in MEASURES), *(words for _, words in shown))
    cells = [[*row[:3], *(row[3][key] for key, _ in (*MEASURES, *shown))] for row in rows]
    counted = f"{exploration.axes} {'axis' if exploration.axes == 1 else 'axes'}"
    return section(f"Ranking, with {counted}", table(head, cells, range(2, len(head)), (0, 1)), sentence(
        f"The setting of each method with the largest R_NX, all cut to {counted} ({exploration.why}), by the mean of "
        "the ranks in R_NX, trustworthiness and continuity; in brackets what nine of ten samples of the points give. "
        "= marks those that are as good as the first within that.", "soft"), sentence(
        "These three compare neighborhoods of the embedding with those of the input, by ranks alone. R_NX is the mean "
        "over all sizes of neighborhoods on a logarithmic scale: 1 keeps all, 0 is chance. Trustworthiness falls with "
        "false neighbors, which projections make; continuity falls with torn neighborhoods, which unrolling makes.",
        "soft"), sentence(
        "The others do not rank, because each favors a method. Distances (rank correlation with those of the input) "
        "favors PCA and MDS; paths (the same with lengths of paths on the neighbor graph) favors Isomap; label error "
        "(nearest neighbor of another label) favors what separates groups.", "soft"),
        figure(neighborhoods_figure(exploration.candidates),
               "Small neighborhoods are on the left, the global arrangement on the right. The figure R_NX in the table "
               "is the mean height of a curve on this scale."))


def _rank_row(one: Candidate, chosen: bool) -> tuple[str, str, str, dict[str, str]]:
    low, high = one.place.interval
    known = figures(one.entry.judged)
    cells = {key: f"{known[key]:.3f}" + (f" ± {known[key + '_se']:.1g}" if key == "r_nx" else "")
             if key in known else "–" for key, _ in (*MEASURES, *OTHERS)}
    mark = "→" if chosen else "=" if one.place.tied else ""
    return mark, one.entry.name, f"{one.place.mean_rank:.1f} ({low:.1f}–{high:.1f})", cells


def _axes(exploration: Exploration) -> Part:
    rows = [(one.entry.name, str(one.advice["components"]), str(one.advice.get("sentence", "")))
            for one in exploration.candidates if one.advice.get("components")]
    return section("How many axes", figure(axes_figure(exploration.candidates),
                                           "The first axes of one fit. Where a curve levels off, more axes are not "
                                           "needed. Bars are standard errors over the points."),
                   table(("method", "axes", "rules of the method"), rows, (1,), (0,), said=True))


def _settings(exploration: Exploration) -> Part:
    """Return all settings: methods in the order of their ranks, each by its number of neighbors."""
    ranked = [one.entry.method for one in exploration.candidates]
    entries = sorted(exploration.entries, key=lambda one: (
        ranked.index(one.method) if one.method in ranked else len(ranked), one.count or 0, one.name))
    rows = [(one.name, *(f"{figures(one.judged)[key]:.3f}" for key, _ in MEASURES), f"{one.seconds:.2f}",
             "–" if one.doubtful is None else f"{one.doubtful:,}", ", ".join(dict.fromkeys(one.warnings)), one.run)
            for one in entries]
    return section("Settings", figure(counts_figure(exploration.candidates, exploration.entries),
                                      "The horizontal line is the linear method, which uses no neighbors."),
                   table(("setting", *(words for _, words in MEASURES), "seconds", "doubtful", "warnings", "run"), rows,
                         (1, 2, 3, 4, 5), (0, 7)), sentence(
        "Doubtful points lie where the map of a layout tears: a small change of their input would move them far.",
        "soft"))


def _agreement(exploration: Exploration) -> Part:
    names = [one.entry.name for one in exploration.candidates]
    near = next((pair.agreement.neighbors for pair in exploration.comparison.pairs if pair.agreement), 0)
    return section("Where methods agree", figure(heat(names, exploration.comparison.pairs), (
        "Shape: what one embedding explains of another's, once moved, turned and scaled onto it; 1 is the same. "
        f"Neighbors in common: of the {near} nearest points in one, the share among the {near} nearest in the other. "
        "What methods agree on is less likely to be made by one of them.")))


def _stability(candidates: Sequence[Candidate]) -> Part:
    rows = [(one.entry.name, str(one.fits) if one.fits else "–", number(one.m2) if one.m2 is not None else "–",
             "–" if one.overlap is None else percent(one.overlap),
             ", ".join(f"{words}: {m2:.2g}" for words, m2 in one.next_counts) or "–", one.unstable)
            for one in candidates]
    return section("How stable each is", table(
        ("method", "fits", "Procrustes m²", "neighbors kept", "m² with other k", "notes"), rows, (1, 2, 3), (0,)),
        sentence("Each method is fitted again to random samples of 80% of the rows and compared with the fit to all "
                 "rows: 0 is the same shape. Fits with the next fewer and more neighbors are compared in the same way.",
                 "soft"))


def _exclusions(exploration: Exploration) -> Part:
    rows = [(name, reason, "–" if seconds is None else f"{seconds:,.2g}")
            for name, reason, seconds in exploration.left]
    return section("Left out", table(("setting", "why", "predicted seconds"), rows, (2,), (0,)))


def _conditions(exploration: Exploration) -> Part:
    which = ("all points" if exploration.anchors == exploration.rows else
             f"a random sample of {exploration.anchors:,} of {exploration.rows:,} points")
    return section("How it was measured", sentence(
        f"As seen from {which}; trustworthiness and continuity with {exploration.neighbors} neighbors. Errors are "
        f"those of the sample of points. It took {exploration.seconds:.1f} s of a budget of {exploration.budget:g} s. "
        f"explore.json holds all figures, runs.csv all runs.", "soft"))
