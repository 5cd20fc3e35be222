"""The start of a text: its separator and decimal point, its comments, and the first record, which is names or data.

Each is detected only if one reading is possible; otherwise the text is read with the defaults, and its
faults are reported.
"""

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from operator import eq

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.values.missing import is_missing
from mlcli.base.values.naming import listed, shown
from mlcli.data.options.input import AllTexts
from mlcli.data.options.numbers import BLANKS, are_numbers, is_number
from mlcli.data.options.wording import counted, place
from mlcli.data.text.records import InputText
from mlcli.errors import DataError, option

MARKS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars", " ": "blanks"}  # between cells
LOOKED_AT = 50  # records
GROUPED = re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+")  # a number whose commas may separate thousands
Records = list[list[str]]


def detect_dialect(text: InputText) -> InputText:
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


def options_for(text: InputText, separator: str) -> str:
    """Return the options that read a text with a separator, and with decimal commas if it has them."""
    separated = replace(text, input=text.input.replace(separator=separator), separator=separator)
    commas = detect_dialect(separated).input.point
    decimal = f" {option('input.decimal', ',')}" if commas == "," else ""
    return option("input.separator", {"\t": "tab"}.get(separator, separator)) + decimal


def _separator(text: InputText, lines: Sequence[str]) -> str:
    """Return the default separator if it makes a table, else the only other one that does.

    The default if several do.
    """
    tables = {mark: records for mark in MARKS if _is_table(records := _records(text, lines, mark))}
    if text.separator in tables:
        return text.separator
    if " " in tables and (len(tables) > 1 or isinstance(text.input, AllTexts) or not _has_numbers(tables[" "])):
        del tables[" "]  # blanks also separate words
    return next(iter(tables)) if len(tables) == 1 else text.separator


def _records(text: InputText, lines: Sequence[str], separator: str) -> Records:
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


LONGEST_COUNT = 15  # digits
UNLIKELY = 0.05  # chance of values that do not recur, below which they are names
YEAR = 4  # digits


@frozen
class Head:
    """The first record, the places around it in the text, and the records below it."""

    cells: tuple[str, ...]
    below: Sequence[Sequence[str]]  # the first ones, of those as wide as the first record
    top: int  # bytes of comments before the first record
    top_lines: int
    end: int  # bytes up to the record after it
    end_lines: int


def read_head(text: InputText) -> Head:
    """Return the first record; raises DataError if there is none."""
    lines = text.lines()
    top = _comments(text)
    if text.taken:
        note("N-WRITTEN", f"detected in the text: {', '.join(text.taken)}; if this is wrong, set input.separator, "
             "input.decimal or input.encoding")
    top_bytes = sum(len(line.encode()) for line in itertools.islice(lines, len(top)))
    taken: list[str] = []
    first = next(text.records(_recorded(lines, taken), len(top)), None)
    if first is None:
        raise DataError("EMPTY", "the file holds no rows and no columns", where=place(text.path),
                        hint="at least one row and one column of numbers are needed")
    end = top_bytes + sum(len(line.encode()) for line in taken)
    cells = tuple(first[1])
    below, broken = text.first_records(text.lines(end), LOOKED_AT)
    if not broken and _lacks_a_name(text, cells, below):
        note("N-ROW-NAMES-ADDED", f"the header of {place(text.path)} has one name fewer than the rows have cells: the "
             "first column names the rows, as R writes them")
        cells = ("", *cells)
    if len(cells) == 1:  # blank lines are records, too
        below, _ = text.first_records(text.lines(end), LOOKED_AT, 1)
    below = [record for record in below if len(record) == len(cells)]
    head = Head(cells=cells, below=below, top=top_bytes, top_lines=len(top), end=end, end_lines=len(top) + len(taken))
    _require_separated(text, head)
    return head


def _comments(text: InputText) -> list[str]:
    """Return the lines at the top that begin with #, without a last one that is as wide as the records: a header.

    Such a header, as `#OTU ID`, may lack the name of the first column.
    """
    top = list(itertools.takewhile(lambda line: line.startswith("#"), text.lines()))
    if text.input.square or not top:
        return top
    records, broken = text.first_records(
        iter([top[-1], *itertools.islice(text.lines(), len(top), len(top) + LOOKED_AT)]), 2)
    if broken:
        return []
    widths = list(map(len, records))
    if len(widths) == 1 or widths[0] in (widths[1], widths[1] - 1):
        top = top[:-1]
    if top:
        note("N-COMMENTS", f"{place(text.path)} begins with {counted(len(top), 'line')} of comments (#), left out",
             lines=len(top))
    return top


def _recorded(lines: Iterator[str], taken: list[str]) -> Iterator[str]:
    """Yield the lines, and record each in `taken`."""
    for line in lines:
        taken.append(line)
        yield line


def _lacks_a_name(text: InputText, cells: tuple[str, ...], below: Sequence[Sequence[str]]) -> bool:
    """Whether the first records have one cell more than the header of names, and none is empty at its end."""
    numbers = any(is_number(cell, text.input.point) for cell in cells) and not text.input.square
    if text.input.header is False:
        return False
    firsts = tuple(record[0] for record in below)
    if numbers and firsts != cells[:LOOKED_AT]:  # of a matrix of pairs numbers are names: the same on both sides
        return False
    return len(set(firsts)) == len(below) > 0 and all(len(record) == len(cells) + 1 and record[-1] for record in below)


def _require_separated(text: InputText, head: Head) -> None:
    """Raise DataError for a single column that is plainly several with another separator."""
    cells = head.cells
    if text.input.separator != "auto" or len(cells) > 1:
        return
    marks = [mark for mark in (";", "\t", ",", "|") if mark in cells[0]]
    words = cells[0].split()
    if not marks and len(words) > 1 and all(is_number(word, text.input.point) for word in words):
        marks = [" "]
    if marks:
        raise DataError("SEPARATOR", f"the first row is one cell, {shown(cells[0], 40)}, with {marks[0]!r} in it",
                        where=place(text.path, 1), hint=f"give {options_for(text, marks[0])}, or "
                        "{input.separator=,} for a single column")


def holds_names(text: InputText, cells: tuple[str, ...]) -> bool:
    """Whether the first record is a header: by option, or by an empty first cell or any text in it."""
    if text.input.header != "auto":
        return text.input.header
    return (len(cells) > 1 and cells[0] == "") or not are_numbers(cells, text.input.point)


def names_columns(text: InputText, cells: tuple[str, ...], below: Sequence[Sequence[str]]) -> bool | DataError:
    """Whether the first record is a header, where words of it may recur in their columns in the records `below`.

    A word that recurs is a cell of data, or the name of a question and one of its answers. The other cells decide: a
    word above numbers is a name; a number above numbers, and a numbered id above others, is data. A cell above texts
    that recur among themselves is a name if it does not: by Good and Turing, the chance of another value there is the
    share of values that occur once. Returns the error where this leaves both readings.
    """
    named = holds_names(text, cells)
    if text.input.header != "auto" or not named or cells[0] == "" or not any(any(map(eq, cells, row)) for row in below):
        return named
    evidence = _evidence(cells, below, text.input.point)
    recurring = [cells[column] for column in evidence.recurring]
    if not recurring or not _named_by_options(text).isdisjoint(cells):
        return True
    if len(set(cells)) < len(cells):
        return False
    numbers, new = evidence.numbers, evidence.chances
    counts = _counts(numbers) and (len(numbers) > 2 or len(numbers[0].strip(BLANKS)) == YEAR)
    is_data = evidence.numbered or (numbers and not counts)
    is_names = bool(evidence.words) or (bool(new) and math.prod(new) <= UNLIKELY)
    if is_data and not evidence.words:
        return False
    if is_data or (not is_names and (counts or new or (evidence.ids and len(recurring) == 1))):
        return _two_readings(text, cells, recurring)
    if is_names:
        note("N-NAMES-RECUR", f"the first row of {place(text.path)} was read as column names although "
             f"{listed(recurring)} {'occurs' if len(recurring) == 1 else 'occur'} again below; if it is data, give "
             "{input.header=false}", columns=len(recurring))
    return is_names


@frozen
class HeaderEvidence:
    """What the cells of a first record are, compared with the records below."""

    numbers: tuple[str, ...]  # above numbers
    words: tuple[str, ...]  # above numbers
    recurring: tuple[int, ...]  # columns of texts with the cell
    chances: tuple[float, ...]  # of a value that does not occur below, for each other column of texts that recur
    ids: tuple[str, ...]  # above texts that are all different
    numbered: bool  # whether one of these differs from one below in digits alone


def _evidence(cells: Sequence[str], below: Sequence[Sequence[str]], point: str) -> HeaderEvidence:
    """Return what the cells of a first record are, those without a missing value."""
    found = dict[str, list[str]](numbers=[], words=[], ids=[])
    recurring, counts, numbered = list[int](), list[tuple[int, int]](), False
    for column, cell in enumerate(cells):
        texts = [record[column] for record in below if not is_missing(record[column])]
        if is_missing(cell) or not texts:
            continue
        if all(is_number(text, point) for text in texts):
            found["numbers" if is_number(cell, point) else "words"].append(cell)
        elif cell in texts:
            recurring.append(column)
        elif len(set(texts)) == len(texts):
            found["ids"].append(cell)
            form = _without_digits(cell)
            numbered |= form != cell and form in map(_without_digits, texts)
        else:
            counts.append((sum(texts.count(text) == 1 for text in texts), len(texts)))
    # one name that recurs is a coincidence; several are a reason to expect one more new value in every other column
    more = len(recurring) > 1
    return HeaderEvidence(**{name: tuple(given) for name, given in found.items()}, recurring=tuple(recurring),
                          chances=tuple((once + more) / (count + more) for once, count in counts), numbered=numbered)


def _without_digits(cell: str) -> str:
    """Return a cell with a mark instead of each number in it."""
    return re.sub("[0-9]+", "\0", cell)


def _named_by_options(text: InputText) -> set[str]:
    """Return the names of columns, and texts that may be ends of ranges of columns, that the options give."""
    input = text.input
    ranges = (end for item in input.columns for at, mark in enumerate(item) if mark == ":"
              for end in (item[:at], item[at + 1:]))
    items = (name for section in input.items for name in section.columns)
    names = {input.ids_from or "", *input.label_columns, *input.columns, *ranges, *input.reverse, *items,
             *getattr(input, "named", ()), *getattr(input, "categories", ())}
    return names - {""}


def _two_readings(text: InputText, cells: Sequence[str], recurring: Sequence[str]) -> DataError:
    """Return the error for a first record that may be a header or data."""
    hint = "give {input.header=true} if it holds names, and {input.header=false} if it is data"
    if isinstance(text.input, AllTexts):
        hint = "if it holds names, name a column that is used; if it is data, write a row of names above it"
    return DataError("HEADER", f"the first row, {listed(cells, 3)}, may be column names or data: "
                     f"{listed(recurring)} {'occurs' if len(recurring) == 1 else 'occur'} again below in the same "
                     "column, and the other cells do not decide", where=place(text.path, 1), hint=hint)


def note_no_header(text: InputText, cells: tuple[str, ...]) -> None:
    """Note a first record of numbers that is read as data; warn if it counts, as years and numbered names do."""
    if text.input.header != "auto":
        return
    row = listed(cells, 3)
    if _counts(cells):
        note("W-HEADER-LIKE", f"the first row, {row}, looks like numbered columns, such as years, and was read as "
             "data; give {input.header=true} if it holds names, and {input.header=false} if it is data")
    else:
        note("N-NO-HEADER", f"the first row, {row}, was read as data; if it holds names, give "
             "{input.header=true}")


def _counts(cells: tuple[str, ...]) -> bool:
    """Whether the cells are whole numbers that increase by equal steps."""
    cells = tuple(cell.strip(BLANKS) for cell in cells)
    if len(cells) < 2 or not all(cell.isdecimal() and len(cell) <= LONGEST_COUNT for cell in cells):
        return False
    steps = {int(after) - int(before) for before, after in pairwise(cells)}
    return len(steps) == 1 and min(steps) > 0


def warn_of_numbers(text: InputText, cells: tuple[str, ...]) -> None:
    """Warn about a header that looks like data."""
    numbers = [cell for cell in cells if is_number(cell, text.input.point)]
    if text.input.header == "auto" and cells[0] != "" and 2 * len(numbers) >= len(cells):
        note("W-HEADER-NUMBERS", f"the first row was read as column names although {counted(len(numbers), 'cell')} of "
             f"{len(cells)} are numbers; if it is data, give {{input.header=false}}", cells=len(numbers))
