"""Columns of text as categories: a number for each text, with the same numbers for new rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from mlcli.base.types import Array
from mlcli.base.values.missing import is_missing
from mlcli.data.options.wording import place, shown_cell
from mlcli.data.prepare.prepare import Prepare
from mlcli.data.table.sheet import Sheet
from mlcli.data.table.table import Table
from mlcli.errors import ConfigError

Categories = Mapping[str, tuple[str, ...]]  # the texts that occur in each column of text, sorted


def categories_of(sheet: Sheet, names: Sequence[str]) -> Categories:
    """Return the texts that occur in the columns `names`, sorted, without empty ones."""
    return {name: tuple(sorted({text for text in sheet.labels[name] if text})) for name in names}


def encode(sheet: Sheet, categories: Categories) -> Sheet:
    """Return the sheet with its columns of text as numbers after all others."""
    if not categories:
        return sheet
    codes = [codes_of(sheet.labels[name], known) for name, known in categories.items()]
    labels = {name: texts for name, texts in sheet.labels.items() if name not in categories}
    return replace(sheet, values=np.column_stack([sheet.values, *codes]), columns=(*sheet.columns, *categories),
                   labels=labels, categories=categories)


def codes_of(texts: Sequence[str], known: Sequence[str]) -> Array:
    """Return the place of each text among `known`, a number beyond for an unknown one, NaN for a missing one."""
    places = {text: float(place) for place, text in enumerate(known)}
    return np.array([places.setdefault(text, float(len(places))) if text in places or not is_missing(text) else np.nan
                     for text in texts])


def require_known(sheet: Sheet, categories: Categories, path: str) -> None:
    """Raise DataError for the first text of a column, of the file at `path`, that is not among its categories."""
    for name, known in categories.items():
        texts = sheet.labels[name]
        row = next((row for row, text in enumerate(texts) if text not in known and not is_missing(text)), None)
        if row is not None:
            from mlcli.core.metrics.profiles import unknown_answer

            error = unknown_answer(shown_cell(texts[row]), name, known, row, sheet.row_names()[row])
            raise error.changed(where=place(path))


def recode(table: Table, categories: Categories) -> Table:
    """Return a table with the numbers that texts have in other `categories`; raises DataError for another text."""
    values = np.array(table.values)
    for name, known in categories.items():
        if (texts := table.categories.get(name)) is None:
            continue
        column = values[:, table.columns.index(name)]
        there = ~np.isnan(column)
        codes = codes_of(texts, known)
        unknown = np.flatnonzero(there)[codes[column[there].astype(np.int64)] >= len(known)]
        if len(unknown):
            from mlcli.core.metrics.profiles import unknown_answer

            row = int(unknown[0])
            raise unknown_answer(shown_cell(texts[int(column[row])]), name, known, row, table.ids[row])
        column[there] = codes[column[there].astype(np.int64)]
    return replace(table, values=values, categories={**table.categories, **categories})


def require_unchanged(prepare: Prepare, categories: Iterable[str]) -> None:
    """Raise ConfigError for preparations that do arithmetic with categories."""
    names = tuple(categories)
    changing = {"transform": bool(prepare.transform), "top_variance": prepare.top_variance is not None,
                "variable_genes": prepare.variable_genes is not None,
                "scale": prepare.scale != "none", "missing": prepare.missing == "mean",
                "reduce": prepare.reduce is not None}
    for name, asked in changing.items():
        if names and asked:
            raise ConfigError("CATEGORIES", f"columns of categories ({', '.join(names)[:80]}) cannot be transformed, "
                              "scaled or filled",
                              where=f"prepare.{name}", hint="leave it out: categories are equal or not")
