"""Names in one text of a command line, with commas between, as in a line of CSV."""

import csv


def split_at_commas(text: str) -> list[str]:
    """Return the names in a text, without blanks before them; one that holds commas or such blanks stands in quotes.

    A text that is no line of CSV is one name, and an empty text one empty name.
    """
    try:
        return next(csv.reader([text], skipinitialspace=True), []) or [""]
    except csv.Error:
        return [text]
