"""Damage to CSV files: lines cut, cells added, cells that are no numbers."""

from functools import partial

from tests.faults.fuzz.documents import Damage, as_a_whole

CELLS = {"text": "x", "nothing": "", "infinite": "inf", "not a number": "nan", "huge": "1e308", "below zero": "-7",
         "out of range": "1e999", "many digits": "9" * 5000, "long": "y" * 200_000, "an open quote": '"', "two": "1,2",
         "a new line": '"1\n2"', "a formula": "=1+1", "other bytes": "\udcff", "zero byte": "\0"}


def of_csv(content: bytes) -> list[Damage]:
    """Every damage to a CSV file: in its head, its first rows and its last."""
    lines = content.decode("utf-8", "surrogateescape").splitlines()
    chosen = dict.fromkeys(row for row in (0, 1, 2, len(lines) - 1) if row < len(lines))
    found = list(as_a_whole(content))
    for row in chosen:
        found += [(f"line {row} left out", partial(_lines, [*lines[:row], *lines[row + 1:]])),
                  (f"line {row} twice", partial(_lines, [*lines[:row], lines[row], *lines[row:]])),
                  (f"line {row} blank", partial(_lines, [*lines[:row], "", *lines[row + 1:]])),
                  (f"cells after line {row}", partial(_lines, [*lines[:row], lines[row] + ",1", *lines[row + 1:]]))]
        for column in range(lines[row].count(",") + 1):
            found += [(f"cell {row},{column} {name}", partial(_cell, lines, row, column, text))
                      for name, text in CELLS.items()]
            found.append((f"cell {row},{column} left out", partial(_cell, lines, row, column, None)))
    found += [(f"column {column} left out", partial(_without, lines, column))
              for column in range(lines[0].count(",") + 1)]
    return [*found, ("no rows", partial(_lines, lines[:1])), ("no head", partial(_lines, lines[1:]))]


def _lines(lines: list[str]) -> bytes:
    return "\n".join([*lines, ""]).encode("utf-8", "surrogateescape")


def _cell(lines: list[str], row: int, column: int, text: str | None) -> bytes:
    cells = lines[row].split(",")
    cells[column:column + 1] = [] if text is None else [text]
    return _lines([*lines[:row], ",".join(cells), *lines[row + 1:]])


def _without(lines: list[str], column: int) -> bytes:
    return _lines([",".join(cell for place, cell in enumerate(line.split(",")) if place != column) for line in lines])
