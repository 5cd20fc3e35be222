"""The content of a file, before rows and columns are matched and checked."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array
from mlcli.data.options.wording import counted, duplicates, listed, place
from mlcli.data.table.row_numbers import ROW, RowNumbers
from mlcli.errors import DataError

if TYPE_CHECKING:
    from mlcli.data.table.coding import Coding

FEWER = "choose fewer columns, or put PCA ahead of the method ({prepare.reduce}), which reads a table in blocks of rows"


@frozen
class Sheet:
    """Numbers with the names in the file."""

    values: Array  # n x d, or a condensed vector
    columns: tuple[str, ...]  # d
    named: bool = False  # whether the file names its columns
    ids: tuple[str, ...] | None = None  # n, where the file has any
    id_name: str = ""
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # texts of columns that stand for them
    coding: "Coding | None" = None  # of answers that became numbers
    words: tuple[str, ...] = ()  # those of the labels that no option names
    listed: bool = False  # whether the options list the columns, so that words may only name the rows
    apart: bool = False  # whether ids are not a column of the file
    point: str = "."  # the decimal one of numbers among texts
    image: tuple[int, ...] | None = None  # of rows that are images: rows, columns, and 3 where they have colors

    def row_names(self) -> Sequence[str]:
        """Return the ids, or the rows' numbers from 1."""
        return RowNumbers.up_to(len(self.values)) if self.ids is None else self.ids

    @property
    def id_header(self) -> str:
        """The name of the ids' column: `row` for numbers of rows, `id` for ids whose column has no name."""
        return ROW if self.ids is None else self.id_name or "id"


def transpose(sheet: Sheet) -> Sheet:
    """Return the transposed sheet: names of columns become ids, and ids become names of columns."""
    columns = numbered_names("x", len(sheet.values)) if sheet.ids is None else sheet.ids
    return Sheet(np.ascontiguousarray(sheet.values.T), columns, sheet.ids is not None,
                 sheet.columns if sheet.named else None)


def numbered_names(prefix: str, count: int) -> tuple[str, ...]:
    """Return the names x1, x2, ... for columns without names."""
    return tuple(f"{prefix}{number}" for number in range(1, count + 1))


def require_content(rows: int, columns: int, path: str) -> None:
    """Raise DataError for a table without rows or without columns."""
    if rows < 1 or columns < 1:
        raise content_error(rows, columns, path)


def content_error(rows: int, columns: int, path: str) -> DataError:
    """Return the error for a table without rows or without columns."""
    return DataError("EMPTY", f"{counted(rows, 'row')} and {counted(columns, 'column')} of numbers were found",
                     where=place(path), hint="at least one row and one column are needed")


def require_unique_ids(ids: Sequence[str], path: str) -> None:
    """Raise DataError for ids that occur twice."""
    again = [] if isinstance(ids, RowNumbers) else duplicates(ids)
    if again:
        raise DataError("DUPLICATE-IDS", f"ids occur more than once: {listed(again)}",
                        where=place(path), hint="name another id column ({input.id_column}), or make the ids unique")
