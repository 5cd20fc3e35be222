"""Distances as R prints them: aligned names and numbers, wrapped into blocks, often one triangle alone."""

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import islice

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.missing import MISSING
from mlcli.data.options.numbers import fault, number
from mlcli.data.options.wording import counted, place, shown_cell
from mlcli.data.table.sheet import Sheet
from mlcli.data.text.records import Text
from mlcli.errors import DataError

WORD = re.compile(r"\S+")


@frozen
class Block:
    """The lines from one header to the next."""

    first: int  # the number of its header's line
    header: str
    rows: tuple[str, ...]

    @cached_property
    def ends(self) -> list[int]:
        """The ends of its columns: names and numbers are aligned right, with nothing above the names of rows."""
        header = self.header + " " * len(self.rows[-1])
        return [word.end() for word in WORD.finditer(self.rows[-1]) if header[word.end() - 1] != " "]


def is_printed(text: Text) -> bool:
    """Whether a text begins with a header above columns: blanks, then names without any separator.

    The line below begins with a name.
    """
    first, second = (*islice((line for line in text.lines() if line.strip()), 2), "", "")[:2]
    return first[:1] == " " != second[:1] and not any(mark in first for mark in ",;\t|\"")


def read_printed(text: Text, compute: Compute) -> Sheet:
    """Return the matrix, NaN where nothing is printed; raises DataError."""
    blocks = _blocks(text)
    for block in blocks:
        if not block.ends or block.header[block.ends[-1] :].strip():
            raise _fault(text, block.first, "its names do not stand over numbers")
    names = _names(blocks)
    compute.require(8.0 * len(names) ** 2, f"a matrix of {counted(len(names), 'point')}")
    values, first = np.full((len(names), len(names)), np.nan), len(names) - len(blocks[0].rows)
    column = 0
    for block in blocks:
        if len(block.rows) != len(blocks[0].rows):
            raise _fault(text, block.first, "this block has another number of rows than the first")
        if column + len(block.ends) > len(names) - first:
            raise _fault(text, block.first, f"there are more columns than {counted(len(names), 'point')}")
        values[first:, column : column + len(block.ends)] = _cells(text, block, max(map(len, names[first:])))
        column += len(block.ends)
    if column + first != len(names):
        raise _fault(text, blocks[-1].first, f"{counted(len(names), 'row')} and {counted(column, 'column')} were found")
    return Sheet(values, names, True, names)


def _blocks(text: Text) -> list[Block]:
    """Return the blocks, each of which starts with a line that begins with a blank."""
    found: list[tuple[int, str, list[str]]] = []
    for place_, line in enumerate(text.lines(), 1):
        line = line.rstrip("\r\n")
        if line[:1] == " " and line.strip():
            found.append((place_, line, []))
        elif line.strip():
            found[-1][2].append(line)
    for first, _, rows in found:
        if not rows:
            raise _fault(text, first, "there are no rows under these names")
    return [Block(first, header, tuple(rows)) for first, header, rows in found]


def _names(blocks: Sequence[Block]) -> tuple[str, ...]:
    """Return the points: the names of the rows, preceded by the first column for a triangle without diagonal."""
    first = blocks[0]
    end = first.ends[0]
    rows = tuple(line[:end].rpartition(" ")[0].strip() for line in first.rows)
    columns = sum(len(block.ends) for block in blocks)
    head = first.header[:end].strip()
    if columns == len(rows) and head != rows[0]:
        return (head, *rows)
    return rows


def _cells(text: Text, block: Block, width: int) -> Array:
    """Return the numbers of a block (rows x columns) after names of width `width`; raises DataError for other cells."""
    starts = [width, *block.ends]
    values = np.full((len(block.rows), len(block.ends)), np.nan)
    for row, line in enumerate(block.rows):
        for column, end in enumerate(block.ends):
            (cell,) = text.input.without_markers([line[starts[column] : end].strip()])
            if cell not in MISSING:
                if fault(cell, text.input.point) in ("text", "overflow"):
                    raise _fault(text, block.first + row + 1, f"{shown_cell(cell)} is not a number")
                values[row, column] = number(cell, text.input.point)
    return values


def _fault(text: Text, line: int, what: str) -> DataError:
    return DataError("PRINTED", f"this is not a matrix as R prints it: {what}", where=place(text.path, line),
                     hint="write it with write.csv(as.matrix(d), FILE), or give input.separator")
