"""The likeness of every two embeddings, as matrices of colors with their numbers."""

from collections.abc import Callable, Sequence

from mlcli.report.comparison.side_by_side import RunPair
from mlcli.report.drawing.figure import Bar, Figure, Mark, Part, Text
from mlcli.report.drawing.palette import STEPS
from mlcli.report.drawing.text import shorten

CELL, LEFT, TOP, GAP = 48.0, 136.0, 74.0, 24.0
DARK = 9  # the last step of the scale on which white text is easier to read than black


def heat(names: Sequence[str], pairs: Sequence[RunPair]) -> Figure | None:
    """Return two matrices: likeness 1 - m² by Procrustes, and the share of common neighbors; None for one embedding.
    """
    if len(names) < 2:
        return None
    width = LEFT + len(names) * CELL
    marks: list[Mark] = []
    for number, (title, value) in enumerate((
            ("Shape: 1 − Procrustes m²", lambda pair: 1 - pair.fit.m2),
            ("Neighbors in common", lambda pair: pair.agreement.overlap if pair.agreement else float("nan")))):
        marks += matrix(title, names, pairs, value, number * (width + GAP))
    height = TOP + len(names) * CELL + 8
    return Figure("Agreement of the methods", 2 * (width + GAP), height, marks,
                  [Part(x=number * (width + GAP), y=0, width=width + GAP, height=height) for number in range(2)])


def matrix(title: str, names: Sequence[str], pairs: Sequence[RunPair], value: Callable[[RunPair], float], left: float,
           ) -> list[Mark]:
    """Return the marks of one matrix with the names of its rows and columns."""
    place = {name: i for i, name in enumerate(names)}
    marks: list[Mark] = [Text(LEFT + left, 20, title)]
    for name, i in place.items():
        marks += [Text(LEFT + left - 8, TOP + (i + 0.5) * CELL + 4, shorten(name, 20), "end", "small"),
                  Text(LEFT + left + (i + 0.5) * CELL, TOP - 8 - 13 * (i % 2), shorten(name.partition(" ")[0], 10),
                       "middle", "small"), *cell(i, i, 1.0, left)]
    for pair in pairs:
        i, j = place[pair.first], place[pair.second]
        marks += [*cell(i, j, value(pair), left), *cell(j, i, value(pair), left)]
    return marks


def cell(row: int, column: int, value: float, left: float) -> list[Mark]:
    """Return a square in the color of a number between 0 and 1, with the number."""
    x, y = LEFT + left + column * CELL, TOP + row * CELL
    if value != value:
        return [Bar(kind="grid", x=x, y=y, width=CELL - 2, height=CELL - 2)]
    shade = min(int((1 - max(min(value, 1.0), 0.0)) * STEPS), STEPS - 1)
    return [Bar(kind=f"s{shade}", x=x, y=y, width=CELL - 2, height=CELL - 2),
            Text(x + CELL / 2 - 1, y + CELL / 2 + 4, f"{value:.2f}", "middle",
                 "onlight" if shade > DARK else "ondark")]
