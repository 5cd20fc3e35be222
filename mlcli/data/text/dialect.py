"""Detection of a text's separator and decimal point where the options choose none.

Each is detected only if one reading is possible; otherwise the text is read with the defaults, and its
faults are reported.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from mlcli.base.values.missing import is_missing
from mlcli.data.options.input import AllTexts
from mlcli.data.options.numbers import is_number
from mlcli.data.text.records import Text
from mlcli.errors import option

MARKS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars", " ": "blanks"}  # between cells
LOOKED_AT = 50  # records
GROUPED = re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+")  # a number whose commas may separate thousands

Records = list[list[str]]


def detect_dialect(text: Text) -> Text:
    """Return the text with the separator that makes it a table, and with decimal commas if its numbers have them."""
    separator, point = text.separator, text.input.point
    lines = [line for line in islice(text.lines(), LOOKED_AT) if not line.startswith("#")]  # comments, or a header
    if text.input.separator == "auto":
        separator = _separator(text, lines)
    if separator != "," and text.input.decimal == "auto" and _has_decimal_commas(_records(text, lines, separator)):
        point = ","
    taken = [*text.taken, *[f"cells are separated by {MARKS[separator]}"] * (separator != text.separator),
             *["numbers have decimal commas"] * (point != text.input.point)]
    found = {**({"separator": separator} if separator != text.separator else {}),
             **({"decimal": point} if point != text.input.point else {})}
    return replace(text, separator=separator, taken=taken, input=text.input.replace(**found))


def options_for(text: Text, separator: str) -> str:
    """Return the options that read a text with a separator, and with decimal commas if it has them."""
    separated = replace(text, input=text.input.replace(separator=separator), separator=separator)
    commas = detect_dialect(separated).input.point
    decimal = f" {option('input.decimal', ',')}" if commas == "," else ""
    return option("input.separator", {"\t": "tab"}.get(separator, separator)) + decimal


def _separator(text: Text, lines: Sequence[str]) -> str:
    """Return the default separator if it makes a table, else the only other one that does.

    The default if several do.
    """
    tables = {mark: records for mark in MARKS if _is_table(records := _records(text, lines, mark))}
    if text.separator in tables:
        return text.separator
    if " " in tables and (len(tables) > 1 or isinstance(text.input, AllTexts) or not _has_numbers(tables[" "])):
        del tables[" "]  # blanks also separate words
    return next(iter(tables)) if len(tables) == 1 else text.separator


def _records(text: Text, lines: Sequence[str], separator: str) -> Records:
    """Return the records of some lines, up to the first one that is broken."""
    return replace(text, separator=separator).first_records(iter(lines), LOOKED_AT)[0]


def _is_table(records: Records) -> bool:
    """Whether all records have equally many cells, more than one; a header may lack the name of the ids."""
    widths = {len(record) for record in records[1:] or records}
    if len(widths) != 1 or (width := widths.pop()) < 2:
        return False
    return len(records[0]) in (width, max(width - 1, 2))


def _has_numbers(records: Records) -> bool:
    """Whether no cell is empty (as in columns aligned by blanks), and a column below the first record is of numbers."""
    columns = zip(*(records[1:] or records), strict=True)
    return all(all(record) for record in records) and any(
        all(is_number(cell, ".") or is_number(cell, ",") for cell in column) for column in columns)


def _has_decimal_commas(records: Records) -> bool:
    """Whether numbers have a comma, none has a point, and not all commas can separate thousands."""
    cells = [cell for record in records for cell in record if not is_missing(cell)]
    if any(is_number(cell, ".") and "." in cell for cell in cells):
        return False
    return any("," in cell and is_number(cell, ",") and not GROUPED.fullmatch(cell.strip()) for cell in cells)
