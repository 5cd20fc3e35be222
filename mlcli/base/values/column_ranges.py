"""Names of columns, ranges of them, and several in one text."""

import csv
from collections.abc import Mapping


def columns_at(item: str, positions: Mapping[str, int]) -> list[int] | None:
    """Return the columns of one name, of the elements of a list, or of `first:last`; a colon may be part of a name.

    None where there are no columns of these names; an empty list for a range that runs backwards.
    """
    if item in positions:
        return [positions[item]]
    elements = [column for name, column in positions.items()
                if name.startswith(f"{item}[") and name.endswith("]") and name[len(item) + 1:-1].isdecimal()]
    if elements:  # of a column of lists
        return elements
    for first, last in ends_of(item):
        if first in positions and last in positions:
            return list(range(positions[first], positions[last] + 1))
    return None


def ends_of(item: str) -> list[tuple[str, str]]:
    """Return the two names on both sides of each colon."""
    return [(item[:at], item[at + 1:]) for at, mark in enumerate(item) if mark == ":"]


def split_at_commas(text: str) -> list[str]:
    """Return the names in a text, without blanks before them; one that holds commas or such blanks stands in quotes.

    A text that is no line of CSV is one name, and an empty text one empty name.
    """
    try:
        return next(csv.reader([text], skipinitialspace=True), []) or [""]
    except csv.Error:
        return [text]
