"""Texts of distances: a lower triangle without cells above its diagonal, and matrices as R prints them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice, pairwise
from typing import cast

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.missing import MISSING
from mlcli.data.options.numbers import fault, is_number, number
from mlcli.data.options.wording import counted, place, shown_cell
from mlcli.data.table.sheet import Sheet
from mlcli.data.text.records import Broken, InputText
from mlcli.errors import DataError

FEWEST, LOOKED_AT = 3, 5  # rows
DASHES = ("-", "\u2013", "\u2014")  # which printed tables have on their diagonal
OTHERS = (";", "\t", "|", " ")  # separators where commas make no cells
BLANKS = re.compile(r"[ \t]+")
Records = list[list[str]]


def read_ragged(text: InputText, compute: Compute) -> Sheet | None:
    """Return the matrix, NaN above its diagonal; None for any other text, and if options choose columns.

    Raises DataError for a cell that is not a number.
    """
    input = text.input
    if input.ids_from is not None or input.label_columns or input.columns or input.transpose:
        return None
    first = _first(text)
    if input.separator == "auto" and text.separator == "," and all(len(record) == 1 for record in first):
        others = (replace(text, separator=mark) for mark in OTHERS)
        text, first = next(((other, rows) for other in others if _rises(rows := _first(other))), (text, first))
    if not _rises(first):
        return None
    compute.require_data(100.0 * text.survey.size + 8.0 * text.survey.lines**2, "one triangle of a matrix")
    return _sheet(text, _records(text))


def _first(text: InputText) -> Records:
    """Return the first records; none if quotes do not match."""
    first = list(islice(_attempted(text), LOOKED_AT))
    return [] if any(isinstance(record, Broken) for record in first) else cast(Records, first)


def _records(text: InputText) -> Records:
    """Return all records; raises DataError for a broken one."""
    found: Records = []
    for record in _attempted(text):
        if isinstance(record, Broken):
            raise record.error()
        found.append(record)
    return found


def _attempted(text: InputText) -> Iterator[list[str] | Broken]:
    """Yield records without empty cells at their ends, and a broken one as the last.

    Repeated blanks count once, and comments at the top are skipped.
    """
    lines = (line for line in text.lines() if line.strip())
    plain = (BLANKS.sub(" ", line).strip() + "\n" for line in lines) if text.separator == " " else lines
    top = True
    for record in text.attempted(plain, 0):
        if isinstance(record, Broken):
            yield record
            return
        cells = record[1]
        top = top and cells[0].startswith("#")
        if not top:
            kept = max((place for place, cell in enumerate(cells, 1) if cell.strip()), default=0)
            yield [cell.strip() for cell in cells[:kept]]


def _rises(records: Records) -> bool:
    """Whether each record, without a header of names, has one cell more than the one before."""
    widths = [len(record) for record in records[_is_headed(records):]]
    return len(widths) >= FEWEST and widths[0] <= 2 and all(after == before + 1 for before, after in pairwise(widths))


def _is_headed(records: Records) -> bool:
    """Whether the first record is no shorter than the second, as names of columns are not."""
    return len(records) > 1 and len(records[0]) >= len(records[1])


def _sheet(text: InputText, records: Records) -> Sheet | None:
    """Return the triangle as a sheet; None if its rows do not rise to the end, or do not fit the names."""
    if not _rises(records):
        return None
    header, rows = (records[0], records[1:]) if _is_headed(records) else ([], records)
    firsts = [row[0] for row in rows]
    called = len(rows[-1]) > len(rows) or header[:1] == [""] or firsts == header or not all(
        is_number(cell, text.input.point) for cell in firsts)
    body = [row[called:] for row in rows]
    last = len(body[-1])
    names = _names_of_triangle(header, firsts) if called else header or [str(row) for row, _ in enumerate(rows, 1)]
    if names is None or not {len(rows), last} <= {len(names), len(names) - 1}:
        return None
    values = np.full((len(names), len(names)), np.nan)
    for row, cells in zip(values[len(names) - len(body):], body, strict=True):
        row[:len(cells)] = [_number(cell, text) for cell in cells]
    return Sheet(values, tuple(names), True, tuple(names))


def _names_of_triangle(header: list[str], ids: list[str]) -> list[str] | None:
    """Return the names of points: a triangle without its diagonal may begin with the row of the second point.

    None if rows and columns have different names.
    """
    columns = header[1:] if header[:1] == [""] or len(header) == len(ids) + 1 else header
    return next((names for names in (ids, [*columns[:1], *ids]) if names[:len(columns)] == columns), None)


def _number(cell: str, text: InputText) -> float:
    if cell in MISSING or cell in DASHES:
        return np.nan
    if fault(cell, text.input.point) in ("text", "overflow"):
        raise DataError("NOT-A-NUMBER", f"{shown_cell(cell)} in a triangle of {counted(text.survey.lines, 'line')} is "
                        "not a number", where=place(text.path), hint="correct it; missing values are NA")
    return number(cell, text.input.point)


WORD = re.compile(r"\S+")


@frozen
class DistanceBlock:
    """The lines from one header to the next."""

    first: int  # the number of its header's line
    header: str
    rows: tuple[str, ...]

    @cached_property
    def ends(self) -> list[int]:
        """The ends of its columns: names and numbers are aligned right, with nothing above the names of rows."""
        header = self.header + " " * len(self.rows[-1])
        return [word.end() for word in WORD.finditer(self.rows[-1]) if header[word.end() - 1] != " "]


def is_printed(text: InputText) -> bool:
    """Whether a text begins with a header above columns: blanks, then names without any separator.

    The line below begins with a name.
    """
    first, second = (*islice((line for line in text.lines() if line.strip()), 2), "", "")[:2]
    return first[:1] == " " != second[:1] and not any(mark in first for mark in ",;\t|\"")


def read_printed(text: InputText, compute: Compute) -> Sheet | DataError:
    """Return the matrix, NaN where nothing is printed, or the error of a text that is none; raises RefusedByPlan."""
    blocks = _blocks(text)
    for block in blocks:
        if not block.rows:
            return _fault(text, block.first, "there are no rows under these names")
    for block in blocks:
        if not block.ends or block.header[block.ends[-1] :].strip():
            return _fault(text, block.first, "its names do not stand over numbers")
    names = _names(blocks)
    compute.require_data(8.0 * len(names) ** 2, f"a matrix of {counted(len(names), 'point')}")
    # No cell is written before it is read: memory for the square of the rows of a damaged text is not touched.
    values, first = np.empty((len(names), len(names))), len(names) - len(blocks[0].rows)
    column = 0
    for block in blocks:
        if len(block.rows) != len(blocks[0].rows):
            return _fault(text, block.first, "this block has another number of rows than the first")
        if column + len(block.ends) > len(names) - first:
            return _fault(text, block.first, f"there are more columns than {counted(len(names), 'point')}")
        cells = _cells(text, block, max(map(len, names[first:])))
        if isinstance(cells, DataError):
            return cells
        values[first:, column : column + len(block.ends)] = cells
        column += len(block.ends)
    if column + first != len(names):
        return _fault(text, blocks[-1].first, f"{counted(len(names), 'row')} and {counted(column, 'column')} "
                      "were found")
    values[:first], values[:, column:] = np.nan, np.nan  # a triangle without diagonal lacks them
    return Sheet(values, names, True, names)


def _blocks(text: InputText) -> list[DistanceBlock]:
    """Return the blocks, each of which starts with a line that begins with a blank."""
    found: list[tuple[int, str, list[str]]] = []
    for place_, line in enumerate(text.lines(), 1):
        line = line.rstrip("\r\n")
        if line[:1] == " " and line.strip():
            found.append((place_, line, []))
        elif line.strip():
            found[-1][2].append(line)
    return [DistanceBlock(first, header, tuple(rows)) for first, header, rows in found]


def _names(blocks: Sequence[DistanceBlock]) -> tuple[str, ...]:
    """Return the points: the names of the rows, preceded by the first column for a triangle without diagonal."""
    first = blocks[0]
    end = first.ends[0]
    rows = tuple(line[:end].rpartition(" ")[0].strip() for line in first.rows)
    columns = sum(len(block.ends) for block in blocks)
    head = first.header[:end].strip()
    if columns == len(rows) and head != rows[0]:
        return (head, *rows)
    return rows


def _cells(text: InputText, block: DistanceBlock, width: int) -> Array | DataError:
    """Return the numbers of a block (rows x columns) after names of width `width`, or the error of another cell."""
    starts = [width, *block.ends]
    values = np.full((len(block.rows), len(block.ends)), np.nan)
    for row, line in enumerate(block.rows):
        for column, end in enumerate(block.ends):
            (cell,) = text.input.without_markers([line[starts[column] : end].strip()])
            if cell not in MISSING:
                if fault(cell, text.input.point) in ("text", "overflow"):
                    return _fault(text, block.first + row + 1, f"{shown_cell(cell)} is not a number")
                values[row, column] = number(cell, text.input.point)
    return values


def _fault(text: InputText, line: int, what: str) -> DataError:
    return DataError("PRINTED", f"this is not a matrix as R prints it: {what}", where=place(text.path, line),
                     hint="write it with write.csv(as.matrix(d), FILE), or give input.separator")
