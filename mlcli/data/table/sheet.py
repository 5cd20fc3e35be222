"""The content of a file, before rows and columns are matched and checked; a column of words may name its rows."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.missing import is_missing
from mlcli.base.values.naming import listed, shown
from mlcli.data.options.numbers import is_number
from mlcli.data.options.texts import FINGERPRINTS, are_molecules, questionnaire
from mlcli.data.options.wording import counted, duplicates, place
from mlcli.data.table.row_numbers import ROW, RowNumbers
from mlcli.errors import DataError

if TYPE_CHECKING:
    from mlcli.data.table.coding import Coding

FEWER = "choose fewer columns, or put PCA ahead of the method ({prepare.reduce}), which reads a table in blocks of rows"
FEW = 3  # columns of numbers, beside which molecules may be what a user wants to compare
SOME = 50  # texts of a column that are looked at
UNREAD = "choose the others by {input.columns}, with {input.id_column=none}"  # remedy for a column of long texts


def require_texts(sizes: Mapping[str, float], rows: int, compute: Compute, beside: float) -> None:
    """Raise RefusedByPlan, with the largest column, if columns of text of so many rows do not fit in memory.

    `sizes` are their bytes, by name, and `beside` those of what is read with them.
    """
    if sizes:
        largest = max(sizes, key=lambda name: sizes[name])
        compute.require(beside + sum(sizes.values()), f"a table with the texts of column {shown(largest)} in its first "
                        f"{rows:,} rows", UNREAD)


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


def _warn_of_molecules(labels: Mapping[str, Sequence[str]], numbers: int) -> None:
    """Warn of columns of SMILES that became labels of a table with few columns of numbers."""
    if found := [name for name, texts in labels.items() if are_molecules([text for text in texts[:SOME] if text])]:
        note("W-SMILES", f"{listed(found)} hold{'s' if len(found) == 1 else ''} SMILES, and only "
             f"{counted(numbers, 'column')} of numbers {'is' if numbers == 1 else 'are'} used: {FINGERPRINTS}")


def with_row_names(sheet: Sheet, *, turned: bool = False, ids: bool = True) -> Sheet:
    """Return the sheet with its first column of words as ids, if it has none and the words are distinct.

    Notes how columns of words are used; those of a sheet that will be `turned` do not describe points.
    Without `ids` none of them names the rows. Where options list the columns, those of words are only what
    may name its rows.
    """
    if not sheet.words:
        return sheet
    ids = ids and sheet.ids is None
    if sheet.listed and ids:
        return _named_beside(sheet)
    first = sheet.words[0]
    texts = sheet.labels[first]
    names = ids and _are_distinct(texts)
    others = sheet.words[1:] if names else sheet.words
    uses = ("as names of the columns", "for nothing, as points are columns") if turned else ("as ids", "as labels")
    parts = [f"{listed([first])} {uses[0]}"] * names + [f"{listed(others)} {uses[1]}"] * bool(others)
    options = "{input.id_column} and {input.columns}"
    if not turned:
        options = "{input.id_column}, {input.label_columns} and {input.columns}"
    scale = "" if turned else _usual_answers(sheet, others)
    options += f"; {scale} makes answers numbers" if scale else ""
    note("N-TEXT-COLUMNS", f"columns of text were used: {', '.join(parts)}; to change this, give {options}")
    if not turned and len(sheet.columns) <= FEW:
        _warn_of_molecules({name: sheet.labels[name] for name in others}, len(sheet.columns))
    if not names:
        return sheet
    labels = {name: column for name, column in sheet.labels.items() if name != first}
    return replace(sheet, ids=texts, id_name=first, labels=labels)


def _named_beside(sheet: Sheet) -> Sheet:
    """Return the sheet with the first column beside the chosen ones that names the rows as ids, without the others."""
    labels = {name: texts for name, texts in sheet.labels.items() if name not in sheet.words}
    named = next((name for name in sheet.words if _are_distinct(sheet.labels[name])
                  and all(text.isdecimal() or not is_number(text, sheet.point) for text in sheet.labels[name])), None)
    if named is None:
        return replace(sheet, labels=labels, words=())
    note("N-IDS", f"column {shown(named)} names the rows; to change this, give {{input.id_column}}, or "
         "{input.id_column=none} for their numbers", column=named)
    return replace(sheet, ids=sheet.labels[named], id_name=named, labels=labels, words=())


def _are_distinct(texts: Sequence[str]) -> bool:
    """Whether texts can name rows: none is missing, and no two are the same."""
    return len(set(texts)) == len(texts) and not any(map(is_missing, texts))


def _usual_answers(sheet: Sheet, words: Sequence[str]) -> str:
    """Return the option that codes columns of words by a usual scale; empty if none is of one.

    Warns where such columns, as of a questionnaire, are more than those of numbers, which alone are analyzed.
    """
    scale, items = questionnaire({name: sheet.labels[name] for name in words}, len(sheet.columns))
    if items:
        note("W-ANSWERS", f"answers of a usual scale, in {counted(len(items), 'column')}, are not analyzed, only the "
             f"{counted(len(sheet.columns), 'column')} of numbers: {listed(items)}; to analyze them, give {scale}",
             columns=len(items))
    return scale
