"""Tables with a column for each run, under its name, or under its number where the names need too much room."""

from collections.abc import Sequence

from mlcli.findings.quality.section import MEASURES
from mlcli.report.comparison.side_by_side import LEADING, Comparison, RunPair, Side
from mlcli.report.drawing.html import UNKNOWN, Part, fold, join, section, sentence, table
from mlcli.report.drawing.text import distinct, number

ROOM = 60  # number of letters of the runs' names that fit above columns
FEW = 3  # largest number of runs with all digits, and with meanings in the same table
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
    rows = [(str(place + 1), side.name, side.method, side.input, f"{side.rows:,}", str(side.values.shape[1]),
             "" if side.seconds is None else f"{side.seconds:.3g}") for place, side in enumerate(sides)]
    return section("Runs", table(("", "run", "method", "input", "rows", "axes", "seconds"), rows, (0, 4, 5, 6)))


def quality(comparison: Comparison) -> Part:
    """Return the measures of every run."""
    sides = comparison.sides
    keys = [key for key in MEASURES if any(key in side.quality for side in sides)]
    rows = [(MEASURES[key][0], [digits(side.quality.get(key), sides) for side in sides]) for key in keys]
    meanings = [MEASURES[key] for key in keys]
    if len(sides) > FEW:
        return section("Quality", across("measure", rows, sides, numeric=True),
                       fold("What the measures mean", table(("measure", "meaning"), meanings)))
    lines = [(name, *values, meaning) for (name, values), (_, meaning) in zip(rows, meanings, strict=True)]
    return section("Quality", table(("measure", *heads(sides), "meaning"), lines, range(1, 1 + len(sides)),
                                    said=len(sides) < FEW))


def options(comparison: Comparison) -> Part:
    """Return the options in which runs differ."""
    rows = list(comparison.options.items())
    return section("Options that differ", across("option", rows, comparison.sides, numeric=False))


def eigenvalues(sides: Sequence[Side]) -> Part:
    """Return the leading eigenvalues of every run."""
    rows = [(str(place + 1), [digits(side.eigenvalues[place] if place < len(side.eigenvalues) else None, sides)
                              for side in sides])
            for place in range(LEADING) if any(place < len(side.eigenvalues) for side in sides)]
    return across("component", rows, sides, numeric=True)


def pairs(comparison: Comparison) -> Part:
    """Return how alike every two runs are: of more than a few runs as square tables, with details behind them."""
    sides, names = comparison.sides, heads(comparison.sides)
    places = [(i, j) for i in range(len(sides)) for j in range(i + 1, len(sides))]
    found = dict(zip(places, comparison.pairs, strict=True))
    rows = [(names[i], names[j], number(pair.fit.m2), angles(pair), *neighbors(pair))
            for (i, j), pair in found.items()]
    near = next((pair.agreement for pair in comparison.pairs if pair.agreement), None)
    said = f"Neighborhoods of {near.neighbors} points, seen from {near.points:,}. " if near else ""
    every = table(("run", "with", "Procrustes m²", "principal angles", "shared neighbors", "Jaccard"), rows, (2, 4, 5))
    meaning = sentence(
        f"{said}Procrustes m² is the residual sum of squares after one embedding, centered and scaled to 1, is "
        "rotated, reflected and scaled to fit the other: 0 is the same shape, 1 no similarity. Principal angles are "
        "between the spans of the centered embeddings, in degrees.", "soft")
    if len(sides) <= FEW:
        return section("Similarity of the runs", every, meaning)
    shapes = square({place: f"{pair.fit.m2:.3f}" for place, pair in found.items()}, sides)
    shared = square({place: f"{pair.agreement.overlap:.3f}" for place, pair in found.items() if pair.agreement}, sides)
    return section("Similarity of the runs", sentence("Procrustes m² of each pair of runs:"),
                   across("run", shapes, sides, numeric=True),
                   *((sentence("Shared neighbors of each pair of runs:"), across("run", shared, sides, numeric=True))
                     if near else ()), meaning, fold(f"All {len(rows)} pairs, with principal angles", every))


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


def digits(value: float | None, sides: Sequence[Side]) -> str:
    """Return a figure of a run; of many runs with fewer digits."""
    return UNKNOWN if value is None else number(value) if len(sides) <= FEW else f"{value:.4g}"


def angles(pair: RunPair) -> str:
    """Return the principal angles in degrees to 0.01, ascending; the first four of many."""
    shown = [f"{round(float(angle), 2):.3g}°" for angle in pair.angles]
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
