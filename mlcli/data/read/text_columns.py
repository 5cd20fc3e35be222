"""Columns of text as numbers: answers in words, ordered as a scale, reverse-keyed items turned; and categories."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.memo import memoize
from mlcli.base.rows.source import Part, RowsOfSource
from mlcli.base.stages.stage import note
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import LEAVE_OUT, TextColumns
from mlcli.base.values.missing import is_missing
from mlcli.base.values.naming import listed, shown
from mlcli.data.formats.block_file import BlockFile, RowFile, Texts, part_rows
from mlcli.data.options.input import Input, Range, with_categories
from mlcli.data.options.wording import nearest
from mlcli.data.prepare.categories import categories_of, codes_of, encode
from mlcli.data.table.coding import Coding
from mlcli.data.table.sheet import Sheet, with_row_names
from mlcli.engine.executor import results
from mlcli.errors import ConfigError

TEXT = 12  # numbers that take the memory of a text in a list, about
HELD = 8 * 2 * TEXT  # bytes of a category beside its letters: a text, and its places in tables and in order
SheetOf = Callable[[Input], Sheet]


def read_texts(input: Input, read: SheetOf, names: Sequence[str] = (),
               named_by: str = "input.columns") -> tuple[Sheet, Mapping[str, tuple[str, ...]]]:
    """Return the sheet with all columns of text among its labels, and the cells of those that no option names.

    Columns `names`, which the option `named_by` gives, are read as text whatever they hold; missing cells are empty.
    Raises ConfigError and DataError.
    """
    sheet = read(with_categories(input, names, "categories", found=True, named_by=named_by))
    return sheet, {name: tuple("" if is_missing(text) else text for text in column)
                   for name, column in sheet.labels.items() if name not in (*input.label_columns, *sheet.words)}


def coded_sheet(input: Input, read: SheetOf) -> Sheet:
    """Return the sheet of a file or of a folder of tables with answers in words as numbers, after all other columns.

    Columns of text without any of the answers stay ids or labels. Raises ConfigError for columns and options without
    effect, and DataError for answers that are not listed.
    """
    sheet, texts = read_texts(input, read, tuple(scales_of(input)), "input.columns" if input.columns else "input.items")
    answers = answers_of(input, texts)
    others = sheet.words or tuple(name for name in texts if name not in answers)
    return code_answers(with_row_names(replace(sheet, words=others), ids=not input.without_ids), answers,
                        input)


def coded_frame(sheet: Sheet, input: Input, texts: Mapping[str, Sequence[str]]) -> Sheet:
    """Return the sheet of an array in memory with answers as numbers; `texts` are its columns of text.

    Raises ConfigError and DataError as `coded_sheet` does.
    """
    return code_answers(sheet, answers_of(input, texts), input)


def scales_of(input: Input) -> dict[str, tuple[str, ...]]:
    """Return the answers of columns with a scale of their own in words."""
    return {name: items.answers for items in input.items for name in items.columns if items.answers}


def answers_of(input: Input, texts: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return the answers of the columns of text that hold some; raises ConfigError for answers that none holds."""
    scales = scales_of(input)
    if unknown := [name for name in scales if name not in texts]:
        raise ConfigError("UNKNOWN-COLUMN", f"there is no column of text {shown(unknown[0])}", where="input.items",
                          hint=nearest(unknown[0], tuple(texts)))
    answers = {name: scales.get(name, input.answers) for name, cells in texts.items() if name in scales or (
        input.answers and (input.columns or not {text.strip() for text in cells}.isdisjoint(input.answers)))}
    if input.answers and input.answers not in answers.values():
        found = sorted({text for cells in texts.values() if len(set(cells)) < len(cells) for text in cells if text})
        raise ConfigError("ANSWERS", "no column of text holds any of the answers", where="input.answers",
                          hint=f"the texts there are {listed(found, 10)}" if found else "leave it out")
    return answers


def code_answers(sheet: Sheet, answers: Mapping[str, tuple[str, ...]], input: Input) -> Sheet:
    """Return the sheet with columns of answers as numbers and reverse-keyed ones turned, and their coding."""
    coding = Coding(answers, _turns(input, answers, (*sheet.columns, *answers)))
    note("N-CODED", coding.in_words(), columns=len(answers))
    sheet = with_codes(sheet, coding, input.path)
    return replace(sheet, values=coding.turned(sheet.values, sheet.columns, sheet.row_names(), input.path),
                   coding=coding)


def with_codes(sheet: Sheet, coding: Coding, path: str) -> Sheet:
    """Return the sheet with its columns of answers in words as numbers, not yet turned; raises DataError."""
    texts = {name: sheet.labels[name] for name in coding.answers if name in sheet.labels}
    values = np.column_stack([sheet.values, *coding.codes(texts, sheet.row_names(), path)])
    labels = {name: cells for name, cells in sheet.labels.items() if name not in texts}
    return replace(sheet, values=values, columns=(*sheet.columns, *texts), labels=labels)


def _turns(input: Input, answers: Mapping[str, Sequence[str]], columns: Sequence[str]) -> dict[str, Range]:
    """Return least and greatest answer of each reverse-keyed column; raises ConfigError for one without a scale."""
    ranges = {name: items.range for items in input.items for name in items.columns if items.range is not None}
    for where, names in (("input.reverse", input.reverse), ("input.items", ranges)):
        if unknown := [name for name in names if name not in columns]:
            raise ConfigError("UNKNOWN-COLUMN", f"there is no column of numbers or answers {shown(unknown[0])}",
                              where=where, hint=nearest(unknown[0], columns))
    plain = [name for name in input.reverse if name not in answers and name not in ranges]
    if input.range is not None and not plain:
        raise ConfigError("UNUSED", "range has no effect: all reverse-keyed columns have scales of their own",
                          where="input.range", hint="leave it out")
    if input.range is None and plain:
        raise ConfigError("SCALE", f"the scale of {listed(plain)} is not declared: what occurs may be less than what "
                          "may be answered", where="input.reverse", hint="give least and greatest answer, as in "
                          "{input.range=1,5}")
    scales = {**{name: (1.0, float(len(found))) for name, found in answers.items()}, **ranges}
    return {name: tuple(map(float, scales.get(name) or input.range or ())) for name in input.reverse}


def categorical_sheet(input: Input, read: SheetOf, taken: TextColumns) -> Sheet:
    """Return the sheet of a file, or of a folder of tables, with columns of text as categories; raises DataError."""
    if taken == "all" and not input.transpose:
        return _all_as_categories(input, read)
    found = bool(input.columns) and not input.transpose
    sheet = read(with_categories(input, (), found=found))
    if not found:
        return sheet
    texts = tuple(name for name in sheet.labels if name not in (*input.label_columns, *sheet.words))
    return encode(sheet, categories_of(sheet, texts))


def _all_as_categories(input: Input, read: SheetOf) -> Sheet:
    """Return the sheet with every column of text as categories, but one that names the rows."""
    sheet, cells = read_texts(input, read)
    texts = dict(cells)
    sheet = replace(sheet, labels={**sheet.labels, **texts})
    if not input.columns and sheet.ids is None and not input.without_ids:
        sheet = with_first_as_ids(sheet, tuple(texts))
        if sheet.ids is not None:
            _note_ids(sheet.id_name)
    return encode(sheet, categories_of(sheet, [name for name in texts if name in sheet.labels]))


def with_first_as_ids(sheet: Sheet, texts: Sequence[str]) -> Sheet:
    """Return a sheet without ids with the first of its columns of text as ids, if its cells all differ and none is
    missing.
    """
    first = next(iter(texts), None)
    cells = () if first is None else sheet.labels[first]
    if first is None or len(set(cells)) < len(cells) or not all(cells):
        return sheet
    labels = {name: column for name, column in sheet.labels.items() if name != first}
    return replace(sheet, ids=cells, id_name=first, labels=labels)


def _note_ids(name: str) -> None:
    """Note that a column of text names the rows."""
    note("N-TEXT-COLUMNS", f"the column of text {listed([name])} was used as ids; to change this, give "
         "{input.id_column} or {input.columns}")


@frozen
class CodedRows(RowsOfSource):
    """Rows of a file with columns of text as numbers, after all others: the places of texts among those that occur."""

    source: RowFile
    names: tuple[str, ...]  # k, of the columns of text
    categories: tuple[tuple[str, ...], ...]  # k

    direct = False

    @property
    def bounds(self) -> tuple[int, ...]:
        """The first row of every block, then the number of rows."""
        return self.source.bounds

    @property
    def columns(self) -> int:
        """Numbers in a row."""
        return self.source.columns + len(self.names)

    @property
    def part(self) -> int:
        """Rows that are read together."""
        return min(part_rows(self.source.columns + TEXT * len(self.names)), self.source.part)

    @property
    def buffer_bytes(self) -> int:
        """The bytes in use while the file is read: texts, and numbers that wait for them."""
        waiting = self.source.part * self.source.columns + TEXT * self.part * len(self.names)
        return self.source.buffer_bytes + 8 * waiting

    def parts(self, number: int) -> Iterator[Part]:
        """Yield the rows of a block."""
        place, held = self.bounds[number], np.zeros((0, self.source.columns))
        numbers = (rows for _, rows in self.source.parts(number)) if self.source.columns else None
        for texts in self.source.text_parts(number, self.names, self.part):
            codes = np.column_stack([codes_of(*column) for column in zip(texts, self.categories, strict=True)])
            while numbers is not None and len(held) < len(codes):
                held = np.concatenate([held, next(numbers)]) if len(held) else next(numbers)
            yield place, np.hstack([codes[:, :0] if numbers is None else held[:len(codes)], codes])
            place, held = place + len(codes), held[len(codes):]

    def take(self, chosen: Indices) -> Array:
        """Raise NotImplementedError for any rows, of shape (m,): texts are read in blocks."""
        raise NotImplementedError

    def text_parts(self, number: int, names: tuple[str, ...], most: int) -> Iterator[list[list[str]]]:
        """Yield columns of a block as texts, at most `most` rows at a time."""
        return self.source.text_parts(number, names, most)

    def key(self) -> str:
        """Return the file and its columns of text, for cache keys."""
        return repr((self.source.key(), self.names, self.categories))


def different_texts(file: RowFile, names: tuple[str, ...], compute: Compute) -> list[set[str]]:
    """Return the different texts of each of some columns of a file, missing ones among them, by one pass.

    Raises RefusedByPlan, with the column that takes most, as soon as they do not fit in memory: those of a column of
    ids are as many as there are rows.
    """
    found: list[set[str]] = [set() for _ in names]
    sizes = [0] * len(names)
    with closing(results(Texts(file, names, set, part_rows(TEXT * len(names))))) as every:
        for number, block in enumerate(every):
            for place, some in enumerate(block):
                some -= found[place]
                found[place] |= some
                sizes[place] += sum(map(len, some)) + HELD * len(some)
            most = sizes.index(max(sizes))
            compute.require_data(sum(sizes), f"column {shown(names[most])} with {len(found[most]):,} different texts "
                                 f"in its first {file.bounds[number + 1]:,} rows, as categories,", LEAVE_OUT)
    return found


def coded_file(found: BlockFile, input: Input, taken: TextColumns, compute: Compute) -> BlockFile:
    """Return a file that is read in blocks with its columns of categories as numbers, as `categorical_sheet` has them.

    One pass over these columns finds the categories; a run that reads the file again knows them. Raises RefusedByPlan.
    """
    choice, names, file = found.choice, found.choice.category_names, found.file
    texts = dict(zip(names, memoize("texts", (file.key(), *names), lambda: different_texts(file, names, compute)),
                     strict=True))
    first = texts[names[0]]
    if taken == "all" and not input.columns and choice.id is None and not input.without_ids and (
            len(first) == file.bounds[-1] and not any(map(is_missing, first))):
        _note_ids(names[0])
        choice, names = replace(choice, id=choice.categories[0]), names[1:]
    known = {name: tuple(sorted(text for text in texts[name] if not is_missing(text))) for name in names}
    coded: RowFile = CodedRows(file, names, tuple(known.values())) if names else file
    return replace(found, file=coded, choice=replace(choice, categories=()), categories=known)
