"""The layout of a delimited text's records: header, ids, labels, numbers."""

from collections.abc import Sequence
from dataclasses import replace

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.values.missing import MISSING, is_missing
from mlcli.base.values.naming import listed
from mlcli.data.options.input import AllTexts
from mlcli.data.options.numbers import is_number
from mlcli.data.options.wording import COMPARED, place
from mlcli.data.table.selection import Choice, choose, choose_pairs
from mlcli.data.table.sheet import numbered_names
from mlcli.data.text.head import Head, holds_names, names_columns, note_no_header, warn_of_numbers
from mlcli.data.text.records import InputText
from mlcli.errors import DataError


@frozen
class RecordLayout:
    """The start of the records, and the meaning of their cells."""

    choice: Choice
    named: bool  # whether the file has a header
    skip: int  # bytes before the first record of data
    lines: int  # lines before it

    @classmethod
    def of(cls, head: Head, choice: Choice, *, named: bool) -> "RecordLayout":
        """Return the layout after a header, or of a text without one."""
        return cls(choice, named, *((head.end, head.end_lines) if named else (head.top, head.top_lines)))

    @property
    def width(self) -> int:
        """The number of cells in a record."""
        return len(self.choice.names)

    def in_order(self, columns: Sequence[str]) -> "RecordLayout":
        """Return the layout with the columns of numbers in another order."""
        places = {self.choice.names[column]: column for column in self.choice.values}
        return replace(self, choice=replace(self.choice, values=tuple(places[name] for name in columns)))


def word_columns(records: Sequence[Sequence[str]], decimal: str) -> tuple[int, ...]:
    """Return the columns whose cells are words, apart from missing ones; a wrong number or a date is not a word."""
    columns = [[cell for cell in cells if not is_missing(cell)] for cells in zip(*records, strict=True)]
    return tuple(place for place, cells in enumerate(columns)
                 if cells and all(cell.strip()[:1].isalpha() and not is_number(cell, decimal) for cell in cells))


def features_layout(text: InputText, head: Head, known: Sequence[str] = ()) -> RecordLayout:
    """Return the layout of points with coordinates; `known` are columns that a header must have, numbers or not."""
    expected = text.input.header == "auto" and bool(known) and set(known) <= set(head.cells)
    words = word_columns(head.below, text.input.point)
    named = expected or names_columns(text, head.cells, head.below)
    if isinstance(named, DataError):
        raise named
    if not named:
        if not known:
            note_no_header(text, head.cells)
        return RecordLayout.of(head, choose(numbered_names("x", len(head.cells)), text.input, words=words), named=False)
    row_names = _unnamed_column(head)
    choice = choose(head.cells, text.input, row_names, words)
    if not expected:
        warn_of_numbers(text, head.cells)
    if row_names is not None and choice.id != row_names and not isinstance(text.input, AllTexts):  # labels join by it
        why = "no column names the rows" if choice.id is None else "another one holds the ids"
        note("N-ROW-NAMES", f"the unnamed first column of {place(text.path)} is not used, as {why}")
    return RecordLayout.of(head, choice, named=True)


def pairs_layout(text: InputText, head: Head) -> RecordLayout | None:
    """Return the layout of a list of pairs, two columns of words and one of numbers; None for any other text.

    Of a first record that may be a header or data, none is a list.
    """
    words = word_columns(head.below, text.input.point)
    named = names_columns(text, head.cells, head.below)
    if isinstance(named, DataError):
        return None
    names = head.cells if named else numbered_names("x", len(head.cells))
    choice = choose_pairs(names, text.input, _unnamed_column(head) if named else None, words)
    return None if choice is None else RecordLayout.of(head, choice, named=named)


def _unnamed_column(head: Head) -> int | None:
    """Return the first column where the header does not name it, as R writes names of rows."""
    return 0 if head.cells[0] == "" and len(head.cells) > 1 else None


def square_layout(text: InputText, head: Head) -> RecordLayout:
    """Return the layout of a square matrix: with or without names of rows, of columns, or of both."""
    cells, rows = head.cells, text.survey.lines - head.top_lines
    if _ids_without_header(text, cells, rows):
        return RecordLayout.of(head, choose(numbered_names("x", len(cells)), text.input, row_names=0), named=False)
    if not holds_names(text, cells):
        return RecordLayout.of(head, choose(numbered_names("x", len(cells)), text.input), named=False)
    counted_ids = text.input.ids_from is None and rows == len(cells) - len(text.input.label_columns)
    return RecordLayout.of(head, choose(cells, text.input, 0 if cells[0] == "" or counted_ids else None), named=True)


def _ids_without_header(text: InputText, cells: Sequence[str], rows: int) -> bool:
    """Whether the first record is a row: an id, then as many numbers as there are rows."""
    if text.input.header is True or text.input.ids_from is not None or len(cells) != rows + 1:
        return False
    return cells[0] != "" and _all_numbers(text, cells[1:]) and (text.input.header is False or not is_number(
        cells[0], text.input.point))


def crossed_layout(text: InputText, head: Head, points: Sequence[str]) -> RecordLayout:
    """Return the layout of one number for every new point (rows) and every point of the run (columns)."""
    cells, n = head.cells, len(points)
    extra = len(cells) - len(text.input.label_columns) - n
    known = set(points)
    unnamed = text.input.for_columns(cells).ids_from is None
    first_is_id = unnamed and (cells[0] == "" or (extra == 1 and cells[0] not in known))
    is_data = extra == 1 and cells[0] != "" and _all_numbers(text, cells[1:]) and not known.issuperset(cells[1:])
    if text.input.header is not True and (is_data or not holds_names(text, cells)):
        choice = choose(numbered_names("x", len(cells)), text.input, 0 if extra == 1 else None)
        return RecordLayout.of(head, choice, named=False)
    return RecordLayout.of(head, choose(cells, text.input, 0 if first_is_id else None), named=True)


def _all_numbers(text: InputText, cells: Sequence[str]) -> bool:
    """Whether every cell is a number or missing."""
    return all(cell in MISSING or is_number(cell, text.input.point) for cell in cells)


def numbers_error(layout: RecordLayout, path: str) -> DataError | None:
    """Return the error for a layout without any numeric column, or None."""
    if layout.choice.width:
        return None
    if layout.choice.words:
        return DataError("EMPTY", f"all columns are text: {listed(layout.choice.word_names)}", where=place(path),
                         hint=f"at least one column of numbers is needed; {COMPARED}")
    return DataError("EMPTY", "no column is left for the numbers", where=place(path),
                     hint="check {input.columns}, {input.id_column}, {input.label_columns} and input.header")
