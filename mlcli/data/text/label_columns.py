"""Columns of words that no option names: labels, and possibly the names of the rows."""

from collections.abc import Sequence
from dataclasses import replace

from mlcli.base.stages.stage import note
from mlcli.base.values.missing import is_missing
from mlcli.data.options.numbers import is_number
from mlcli.data.options.wording import counted, listed, shown
from mlcli.data.table.sheet import Sheet


def word_columns(records: Sequence[Sequence[str]], decimal: str) -> tuple[int, ...]:
    """Return the columns whose cells are words, apart from missing ones; a wrong number or a date is not a word."""
    columns = [[cell for cell in cells if not is_missing(cell)] for cells in zip(*records, strict=True)]
    return tuple(place for place, cells in enumerate(columns)
                 if cells and all(cell.strip()[:1].isalpha() and not is_number(cell, decimal) for cell in cells))


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
    from mlcli.data.options.usual_scales import questionnaire

    scale, items = questionnaire({name: sheet.labels[name] for name in words}, len(sheet.columns))
    if items:
        note("W-ANSWERS", f"{len(items)} columns hold answers of a usual scale and are not analyzed, only the "
             f"{counted(len(sheet.columns), 'column')} of numbers: {listed(items)}; to analyze them, give {scale}",
             columns=len(items))
    return scale
