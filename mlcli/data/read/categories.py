"""Tables with columns of text as categories: those that the options name, or all."""

from dataclasses import replace
from functools import partial

from mlcli.base.stages.stage import note
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import TextColumns
from mlcli.data.files.source import Opened
from mlcli.data.formats.reader import LayoutOf, read_sheet
from mlcli.data.options.formats import Format
from mlcli.data.options.input import Input
from mlcli.data.options.wording import listed
from mlcli.data.prepare.categories import categories_of, encode, with_categories
from mlcli.data.read.answers import read_texts
from mlcli.data.table.sheet import Sheet
from mlcli.errors import DataError


def categorical_sheet(file: Opened, input: Input, format: Format, compute: Compute, layout: LayoutOf,
                      taken: TextColumns) -> Sheet:
    """Return the sheet of a file with columns of text as categories; raises DataError."""
    read = partial(read_sheet, file, format=format, compute=compute, layout=layout)
    if taken == "all" and not input.transpose:
        return _all(input, read)
    try:
        return read(input=with_categories(input, ()))
    except DataError as error:
        if not error.columns or input.transpose:
            raise
        if not input.columns:
            categories = "a column of text that {input.columns} names is a category"
            raise error.changed(hint=f"{error.hint}; {categories}") from error
        sheet = read(input=with_categories(input, error.columns))
        return encode(sheet, categories_of(sheet, error.columns))


def _all(input: Input, read: partial[Sheet]) -> Sheet:
    """Return the sheet with every column of text as categories, but one that names the rows."""
    sheet, cells = read_texts(input, lambda asked: read(input=asked))
    texts = dict(cells)
    sheet = replace(sheet, labels={**sheet.labels, **texts})
    first = next(iter(texts), None)
    if first is not None and not input.columns and sheet.ids is None and not input.without_ids and (
            len(set(texts[first])) == len(texts[first]) and all(texts[first])):
        ids = texts.pop(first)
        sheet = replace(sheet, ids=ids, id_name=first,
                        labels={name: column for name, column in sheet.labels.items() if name != first})
        note("N-TEXT-COLUMNS", f"the column of text {listed([first])} was used as ids; to change this, give "
             "{input.id_column} or {input.columns}")
    return encode(sheet, categories_of(sheet, tuple(texts)))
