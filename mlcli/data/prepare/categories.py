"""Columns of text as categories: a number for each text, the same for new rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from mlcli.base.types import Array
from mlcli.data.options.input import Input, WithCategories
from mlcli.data.prepare.prepare import Prepare
from mlcli.data.table.sheet import Sheet
from mlcli.errors import ConfigError

Categories = Mapping[str, tuple[str, ...]]  # the texts that occur in each column of text, sorted


def as_texts(input: Input, names: Iterable[str]) -> Input:
    """How to read the file with some of the chosen columns as text."""
    return WithCategories(**dict(input), categories=tuple(names))


def categories_of(sheet: Sheet, names: Sequence[str]) -> Categories:
    """The texts that occur in some columns; a missing one is none of them."""
    return {name: tuple(sorted({text for text in sheet.labels[name] if text})) for name in names}


def coded(sheet: Sheet, categories: Categories) -> Sheet:
    """The sheet with its columns of text as numbers after all others."""
    if not categories:
        return sheet
    codes = [numbers(sheet.labels[name], known) for name, known in categories.items()]
    labels = {name: texts for name, texts in sheet.labels.items() if name not in categories}
    return replace(sheet, values=np.column_stack([sheet.values, *codes]), columns=(*sheet.columns, *categories),
                   labels=labels, categories=categories)


def numbers(texts: Sequence[str], known: Sequence[str]) -> Array:
    """The place of each text among those known; of one that is not, a number beyond; NaN where it is missing."""
    places = {text: float(place) for place, text in enumerate(known)}
    return np.array([places.setdefault(text, float(len(places))) if text else np.nan for text in texts])


def require_unchanged(prepare: Prepare, categories: Categories) -> None:
    """Refuses preparations that would do arithmetic with categories; raises ConfigError."""
    changing = {"transform": bool(prepare.transform), "top_variance": prepare.top_variance is not None,
                "scale": prepare.scale != "none", "missing": prepare.missing == "mean",
                "reduce": prepare.reduce is not None}
    for name, asked in changing.items():
        if categories and asked:
            raise ConfigError("CATEGORIES", f"columns of text ({', '.join(categories)[:80]}) cannot be prepared so",
                              where=f"prepare.{name}", hint="leave it out: gower compares columns by their ranges")
