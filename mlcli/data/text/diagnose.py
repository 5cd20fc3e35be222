"""The slow, exact second reading of a text: finds the wrong cell, its line and its column."""

import re
from collections import Counter
from dataclasses import dataclass, field

from mlcli.base.frozen import frozen
from mlcli.base.values.missing import MISSING
from mlcli.base.values.naming import LISTED, listed, shown
from mlcli.data.options.input import categories_hint
from mlcli.data.options.numbers import fault, is_number
from mlcli.data.options.texts import remedy_of
from mlcli.data.options.wording import NO_PAIRS, counted, joined, place, shown_cell
from mlcli.data.text.head import options_for
from mlcli.data.text.layout import RecordLayout
from mlcli.data.text.records import Broken, InputText
from mlcli.errors import DataError

GROUPED = ((".", re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d*)?")),
           (",", re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")))  # marks between thousands, and numbers with them
WINDOW = 1000  # rows after the first bad one that distinguish a text column from a bad cell


@dataclass
class FaultyCells:
    """The faults of one kind found so far."""

    total: int = 0
    first: list[tuple[int, int, int, str]] = field(default_factory=list)  # line, row, column, cell

    def add(self, line: int, row: int, column: int, cell: str) -> None:
        """Count a cell, and keep the first few."""
        self.total += 1
        if len(self.first) < LISTED:
            self.first.append((line, row, column, cell))


@frozen
class Faults:
    """What is wrong with the numbers of a text."""

    error: DataError | None = None
    columns: tuple[str, ...] = ()  # of text, where these are what is wrong
    underflows: int = 0  # numbers that are too small for double precision
    odd_quotes: bool = False  # whether the quotes do not match

    def require_none(self) -> None:
        """Raise the error, if there is one."""
        if self.error is not None:
            raise self.error


NONE = Faults()


def faults_of(text: InputText, layout: RecordLayout) -> Faults:
    """Return what is wrong with the numbers of a text: the first records that are broken, or the cells."""
    kinds: dict[str, FaultyCells] = {"text": FaultyCells(), "overflow": FaultyCells(), "underflow": FaultyCells()}
    bad: Counter[int] = Counter()
    missing: Counter[int] = Counter()
    row = 0
    for row, record in enumerate(text.attempted(text.lines(layout.skip), layout.lines, layout.width), 1):
        if isinstance(record, Broken):
            return Faults(record.error(), odd_quotes=not record.endless)
        line, cells = record
        if len(cells) != layout.width:
            return Faults(width_error(text, layout, line=line, row=row, width=len(cells)))
        for column in layout.choice.values:
            kind = fault(cells[column], text.input.point)
            missing[column] += cells[column] in MISSING
            if kind:
                kinds[kind].add(line, row, column, cells[column])
                bad[column] += kind == "text"
        if kinds["text"].first and row >= kinds["text"].first[0][1] + WINDOW:
            break
    if texts := sorted(column for column, count in bad.items() if 2 * count > row - missing[column]):
        names = tuple(layout.choice.names[column] for column in texts)
        return Faults(text_columns_error(text, layout, texts, kinds["text"]), names)
    if kinds["text"].total:
        return Faults(cells_error(text, layout, kinds["text"], "NOT-A-NUMBER", "is not a number", "are not numbers"))
    if kinds["overflow"].total:
        return Faults(cells_error(text, layout, kinds["overflow"], "OVERFLOW", "is too large for double precision",
                                  "are too large for double precision"))
    return Faults(underflows=kinds["underflow"].total)


def refusal(text: InputText, layout: RecordLayout, reason: str) -> Faults:
    """Return what is wrong with a text that Arrow refuses: what a second reading finds, or else `reason`."""
    found = faults_of(text, layout)
    return found if found.error is not None else Faults(DataError(
        "CSV", f"the text is not a table: {shown(reason, 160)}", where=place(text.path),
        hint="check the quotes and the separator"))


def width_error(text: InputText, layout: RecordLayout, *, line: int, row: int, width: int) -> DataError:
    """Return the error for a record that is longer or shorter than the first."""
    first = "the header" if layout.named else "the first row"
    hint = "every row needs as many cells; quote cells that hold the separator"
    if layout.named and row == 1 and width == layout.width + 1:
        hint = "R's write.table names no id column: write with col.names=NA, or put a separator before the header"
    return DataError("RAGGED", f"row {row} has {counted(width, 'value')} where {first} has {layout.width}",
                     where=place(text.path, line), hint=hint)


def text_columns_error(text: InputText, layout: RecordLayout, columns: list[int], cells: FaultyCells) -> DataError:
    """Return the error for columns of words among the features."""
    names = [layout.choice.names[column] for column in columns]
    parts = [cell_in_words(cell, layout) for cell in cells.first if cell[2] in columns][:1]
    seen = {layout.choice.names[column]: [cell for _, _, place, cell in cells.first if place == column]
            for column in columns}
    return DataError("TEXT-COLUMN", f"{counted(len(names), 'column')} of text among the numbers: {listed(names)}"
                     + "".join(f", for example {part}" for part in parts), where=place(text.path),
                     hint=(other_convention(text, cells) or (remedy_of(seen)
                           or "name it with {input.id_column} or {input.label_columns}, or choose others with "
                           "{input.columns}") + (f"; {NO_PAIRS}" if text.input.square else ""))
                     + categories_hint(text.input))


def cells_error(text: InputText, layout: RecordLayout, cells: FaultyCells, code: str, one: str, many: str) -> DataError:
    """Return the error for cells of numeric columns, with the first five."""
    parts = [cell_in_words(cell, layout) for cell in cells.first]
    return DataError(code, f"{counted(cells.total, 'cell')} {one if cells.total == 1 else many}: "
                     + joined(parts, cells.total), where=place(text.path, cells.first[0][0]),
                     hint=other_convention(text, cells) or "correct them; missing values are empty, NA or NaN, and "
                     "{input.missing_markers} names others")


def cell_in_words(entry: tuple[int, int, int, str], layout: RecordLayout) -> str:
    """Return a cell with its place in words."""
    line, row, column, cell = entry
    return f"{shown_cell(cell)} in line {line}, row {row}, column {shown(layout.choice.names[column])}"


def other_convention(text: InputText, cells: FaultyCells) -> str:
    """Return the hint for cells with a semicolon, a decimal comma or thousands apart; empty if none has one."""
    found = [cell for _, _, _, cell in cells.first]
    if text.input.separator == "auto" and any(";" in cell for cell in found):
        return f"is the separator ; ? give {options_for(text, ';')}"
    commas = any("," in cell for cell in found)  # 1e400 is a number with a comma, too: it is too large with any point
    if text.input.point == "." and commas and all(is_number(cell, ",") for cell in found):
        return "are these decimal commas? give {input.decimal=,}"
    for mark, grouped in GROUPED:
        thousands = [cell.strip() for cell in found if grouped.fullmatch(cell.strip())]
        if found and len(thousands) == len(found):
            first = thousands[0]
            return (f"are the {'points' if mark == '.' else 'commas'} between thousands? write numbers without them, "
                    f"as {shown(first.replace(mark, ''))}")
    return ""
