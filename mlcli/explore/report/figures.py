"""The curves of an exploration: a panel with a line for each method, in one set of colors."""

from collections.abc import Mapping, Sequence

from mlcli.explore.report.contents import Candidate, TrialEntry, curve_places
from mlcli.explore.report.ranking import figures
from mlcli.report.comparison.quality_curves import across, line_marks, scale_value
from mlcli.report.comparison.runs import SweepLine
from mlcli.report.drawing.axes import Panel, Scale
from mlcli.report.drawing.figure import Bar, Curve, Figure, Mark, Part, Text
from mlcli.report.drawing.text import shorten

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
    for place, (number, name, line) in enumerate(there):
        y = TOP + 6 + 19 * place
        marks += [Bar(kind=f"c{number}", x=LEFT + SIDE + 20, y=y - 8, width=12, height=8),
                  Text(LEFT + SIDE + 37, y, shorten(name, 26), kind="small"),
                  *(line_marks if dots else line_without_dots)(line, box, number, logarithmic)]
    right, height = LEFT + SIDE + 14, TOP + TALL + BOTTOM
    return Figure(title, LEFT + SIDE + KEY, height, marks, [
        Part(x=0, y=0, width=right, height=height),
        Part(x=right, y=TOP - 10, width=KEY, height=20 + 19 * len(there), key=True)])


def tick_numbers(box: Panel, ticks: Sequence[float], logarithmic: bool) -> list[Mark]:
    """Return numbers below all ticks."""
    return [Text(box.x(scale_value(tick, logarithmic)), box.edges[3] + 16, f"{tick:,g}", "middle", "small")
            for tick in ticks]


def line_without_dots(line: SweepLine, box: Panel, number: int, logarithmic: bool) -> list[Mark]:
    """Return a line through many points, without dots."""
    return [Curve(f"l{number}", [(box.x(scale_value(value, logarithmic)), box.y(height))
                                 for value, height in zip(line.values, line.heights, strict=True)])]
