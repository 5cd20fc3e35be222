"""Tables with columns of text as categories: those that the options name, or all."""

from dataclasses import replace

from mlcli.base.stages.stage import note
from mlcli.base.values.inputs import TextColumns
from mlcli.data.options.input import Input, with_categories
from mlcli.data.options.wording import listed
from mlcli.data.prepare.categories import categories_of, encode
from mlcli.data.read.answers import SheetOf, read_texts
from mlcli.data.table.sheet import Sheet


def categorical_sheet(input: Input, read: SheetOf, taken: TextColumns) -> Sheet:
    """Return the sheet of a file, or of a folder of tables, with columns of text as categories; raises DataError."""
    if taken == "all" and not input.transpose:
        return _all(input, read)
    found = bool(input.columns) and not input.transpose
    sheet = read(with_categories(input, (), found=found))
    if not found:
        return sheet
    texts = tuple(name for name in sheet.labels if name not in (*input.label_columns, *sheet.words))
    return encode(sheet, categories_of(sheet, texts))


def _all(input: Input, read: SheetOf) -> Sheet:
    """Return the sheet with every column of text as categories, but one that names the rows."""
    sheet, cells = read_texts(input, read)
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
