"""OFF: the vertices of a mesh in the Object File Format, as points in space."""

from collections.abc import Iterator

import numpy as np

from mlcli.base.values.compute import Compute
from mlcli.data.files.source import Opened
from mlcli.data.formats.reader import Reader
from mlcli.data.options.formats import Format
from mlcli.data.options.input import Input
from mlcli.data.options.numbers import fault, number
from mlcli.data.options.wording import counted, place, shown_cell
from mlcli.data.table.sheet import Sheet, require_content
from mlcli.data.text.records import survey_text
from mlcli.errors import DataError

OFF = Format("off", "OFF", (".off",), (b"OFF",), text=True, labels=False, reader="mlcli_example.off:READER")
COLUMNS = ("x", "y", "z")


def read_off(opened: Opened, input: Input, compute: Compute) -> Sheet:
    """Return the vertices of a mesh (n x 3); its faces are not used. Raises DataError."""
    text = survey_text(opened, input, " ")
    lines = words(text.lines())
    first, head = next(lines, (1, []))
    if not head or head[0] != "OFF":
        raise refused(opened.path, first, "the first word is not OFF")
    sizes, line = (head[1:], first) if head[1:] else next(lines, (first, []))[::-1]
    if not sizes or not (sizes[0].isascii() and sizes[0].isdigit() and len(sizes[0]) < 10):
        raise refused(opened.path, line, "the number of vertices is missing")
    size = int(sizes[0])
    require_content(size, len(COLUMNS), opened.path)
    if size > text.survey.lines:
        raise refused(opened.path, line, f"{counted(size, 'point')} need as many lines")
    compute.require(8.0 * len(COLUMNS) * size, f"{size:,} points of three numbers")
    values = np.empty((size, len(COLUMNS)))
    for row in range(size):
        line, cells = next(lines, (line, []))
        if len(cells) < len(COLUMNS):
            raise refused(opened.path, line, f"vertex {row + 1} of {size:,} has {counted(len(cells), 'number')}, not 3")
        for column, cell in enumerate(cells[: len(COLUMNS)]):
            if fault(cell, ".") in ("text", "overflow"):
                raise refused(opened.path, line, f"{shown_cell(cell)} is not a number in double precision")
            values[row, column] = number(cell, ".")
    return Sheet(values, COLUMNS, True)


def words(lines: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the words of each line that is neither blank nor a comment, with its number from 1."""
    for line, text in enumerate(lines, start=1):
        if cells := text.partition("#")[0].split():
            yield line, cells


def refused(path: str, line: int, what: str) -> DataError:
    """Return the error for a line of a file."""
    return DataError("OFF", what, where=place(path, line),
                     hint="OFF, the numbers of vertices, faces and edges, then x y z of each vertex on a line")


READER = Reader(sheet=read_off)
