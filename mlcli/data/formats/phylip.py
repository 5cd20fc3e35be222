"""PHYLIP distance matrices: square or lower-triangular, with strict (10 characters) or relaxed names."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.missing import MISSING
from mlcli.base.values.naming import shown
from mlcli.data.files.source import Opened
from mlcli.data.formats.reader import Reader
from mlcli.data.options.input import Input
from mlcli.data.options.numbers import fault, is_number, number
from mlcli.data.options.wording import counted, place, shown_cell
from mlcli.data.table.cells import warn_of_underflow
from mlcli.data.table.sheet import Sheet, require_content
from mlcli.data.text.records import InputText, survey_text
from mlcli.errors import DataError

STRICT = 10  # characters of a strict name


@dataclass
class Lines:
    """The non-blank lines in order, and the number of the last one read."""

    lines: Iterator[str]
    path: str
    number: int = 0
    underflows: int = 0

    def take(self) -> str | None:
        """Return the next line that is not blank; None at the end."""
        for line in self.lines:
            self.number += 1
            if line.strip():
                return line.rstrip("\r\n")
        return None

    def early(self) -> DataError:
        """Return the error of a matrix without its last rows."""
        return DataError("PHYLIP", "the matrix ends too early", where=place(self.path, self.number),
                         hint="every row needs a name and its distances")

    def error(self, what: str) -> DataError:
        """Return the error for the last line read."""
        return DataError("PHYLIP", what, where=place(self.path, max(1, self.number)),
                         hint="a first line with the number of points, then a name and its distances a row")


def read_phylip(opened: Opened, input: Input, compute: Compute) -> Sheet:
    """Read the names and distances; relaxed names are tried first, then strict ones. Raises DataError."""
    text = survey_text(opened, input, ",")
    size = point_count(text)
    require_content(size, size, text.path)
    if size > text.survey.lines - 1:
        raise Lines(iter(()), text.path, 1).error(f"{counted(size, 'point')} need as many rows")
    compute.require_data(8.0 * size**2, f"a matrix of {size:,} x {size:,} numbers")
    relaxed = matrix(text, size, strict=False)
    found = matrix(text, size, strict=True) if isinstance(relaxed, DataError) else relaxed
    if isinstance(found, DataError):
        assert isinstance(relaxed, DataError)
        raise relaxed
    return found


def point_count(text: InputText) -> int:
    """Return the number of points, the only word on the first line; raises DataError."""
    lines = Lines(text.lines(), text.path)
    first = lines.take() if text.survey.lines else ""
    if first is None:
        raise lines.early()
    words = first.split()
    if len(words) != 1 or not (words[0].isascii() and words[0].isdigit() and len(words[0]) < 10):
        raise lines.error("the first line is not the number of points")
    return int(words[0])


def matrix(text: InputText, size: int, *, strict: bool) -> Sheet | DataError:
    """Return all rows, with names of one form, or the error of other rows; a lower triangle is completed."""
    lines = Lines(text.lines(), text.path)
    lines.take()
    values, names, diagonal = np.zeros((size, size)), list[str](), 0
    for row in range(size):
        if (line := lines.take()) is None:
            return lines.early()
        name, numbers = split(line, strict)
        diagonal = diagonal if row else len(numbers)
        lower = diagonal < min(size, 2)
        expected = row + diagonal if lower else size
        found = row_values(lines, numbers, expected, row, text.input.point)
        if isinstance(found, DataError):
            return found
        values[row, :expected] = found
        names.append(name)
    if (line := lines.take()) is not None:
        return lines.error(f"there is text after the last row: {shown(line, 40)}")
    warn_of_underflow(lines.underflows)
    if lower:
        values += np.tril(values, -1).T
    return Sheet(values, tuple(names), True, tuple(names))


def split(line: str, strict: bool) -> tuple[str, list[str]]:
    """Return a row's name and its numbers."""
    if strict:
        return line[:STRICT].strip(), line[STRICT:].split()
    words = line.split()
    return words[0], words[1:]


def row_values(lines: Lines, numbers: list[str], expected: int, row: int, decimal: str) -> Array | DataError:
    """Return the numbers of a row, an array of shape (expected,), read from several lines if necessary, or their error.
    """
    while len(numbers) < expected:
        if (line := lines.take()) is None:
            return lines.early()
        more = line.split()
        if not is_number(more[0], decimal) and more[0] not in MISSING:
            break
        numbers = numbers + more
    if len(numbers) != expected:
        return lines.error(f"row {row + 1} has {counted(len(numbers), 'number')} where {expected} are needed")
    for cell in numbers:
        wrong = fault(cell, decimal)
        lines.underflows += wrong == "underflow"
        if wrong in ("text", "overflow"):
            return lines.error(f"{shown_cell(cell)} in row {row + 1} is not a number in double precision")
    return np.array([number(cell, decimal) for cell in numbers])


READER = Reader(sheet=read_phylip)
