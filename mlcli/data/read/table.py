"""Reading of a table: features, dissimilarities, a kernel, a covariance or a graph, from any of the formats.

Most tables are one file of features, all of it in memory. What others need is imported where it is known that one is
such a table.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mlcli.base.machine.footprint import KEPT
from mlcli.base.rows.source import rows_of
from mlcli.base.stages.stage import no_listeners, stage
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import TextColumns
from mlcli.data.files.formats import format_of
from mlcli.data.files.source import Opened, open_input
from mlcli.data.formats.block_file import BlockFile, reads_blocks, sheet_of_blocks
from mlcli.data.formats.cell_names import matrix_in, name_files
from mlcli.data.formats.parts import id_of, parts_of, read_parts, source_of_files, source_of_parts
from mlcli.data.formats.reader import block_file_of, read_folder, read_sheet, reader_of
from mlcli.data.options.formats import Format
from mlcli.data.options.input import (
    Input,
    LabelFile,
    WithTables,
    check,
    has_coding,
    options_of_whole,
    refuse_coding,
    with_categories,
)
from mlcli.data.pairs.lists import is_list_of_pairs, lists_pairs, square_sheet
from mlcli.data.read.detect_pairs import refuse_resemblance
from mlcli.data.read.id_columns import require_no_ids
from mlcli.data.read.labels import with_labels
from mlcli.data.table.row_numbers import ROW, RowNumbers
from mlcli.data.table.sheet import Sheet, require_unique_ids, transpose
from mlcli.data.table.table import Source, Table
from mlcli.data.text.delimited import LayoutOf
from mlcli.data.text.layout import features_layout, square_layout
from mlcli.errors import DataError


@stage("read")
def read(input: Input, compute: Compute | None = None, categories: TextColumns = "", streams: bool = False) -> Table:
    """Return the table of an input, checked and with ids, and its further views, whose rows are not yet matched.

    With `categories`, columns of text are categories, those that the input names or all. If the next step `streams`, a
    table that does not fit in memory is read in blocks; views that are further columns lie beside those of the first
    then. Raises DataError also for a matrix of pairs whose kind was not chosen.
    """
    if input.views and isinstance(input, WithTables) and input.stream == "always":
        from mlcli.data.read.joined_files import read_joined

        machine = compute or Compute()
        return read_joined(input, machine, lambda file: read_unchecked(file, machine, categories))
    table = _rows_of(input, compute or Compute(), categories, streams, refuses=True)
    if input.view.path is not None:
        from mlcli.data.prepare.views import chain_views, errors_for_view

        views = []
        for number, view in enumerate(input.views):
            with errors_for_view(number, str(view.path)):
                own = input.of_view(view)
                found = read_unchecked(own, compute, categories if isinstance(input, WithTables) else "")
                views.append(checked_matrix(found, own) if own.square else found)
        table = replace(table, view=chain_views(views))
        if not input.square:
            return table
    if rows_of(table.values) is not None:  # a file read in blocks was checked by its first pass
        return table
    refuse_resemblance(table, input)
    return checked_matrix(table, input) if input.square else table


def checked_matrix(table: Table, input: Input) -> Table:
    """Return the table of a square matrix in memory as a method takes it; raises DataError."""
    from mlcli.data.pairs.similarities import to_dissimilarities
    from mlcli.data.pairs.square import check_square

    table = to_dissimilarities(table, input)
    return replace(table, values=check_square(table.values, tuple(table.ids), input))


def read_unchecked(input: Input, compute: Compute | None = None, categories: TextColumns = "",
                   streams: bool = False) -> Table:
    """Return the table as stored in the file, with ids, or the chosen rows; its numbers are not yet checked."""
    return _rows_of(input, compute or Compute(), categories, streams, refuses=False)


def _rows_of(input: Input, compute: Compute, categories: TextColumns, streams: bool, *, refuses: bool) -> Table:
    """Return the rows that are chosen, with labels; of a matrix of pairs that `refuses` labels, its kind is the error.
    """
    check(input)
    table = whole_table(input, compute, categories, streams)
    labeled = with_labels(table, input, compute)
    if isinstance(labeled, DataError):  # the labels may be right, and the table of another kind
        if refuses:
            refuse_resemblance(table, input)
        raise labeled
    if not input.chooses_rows:
        return labeled
    from mlcli.data.read.chosen_rows import chosen_rows

    def again(names: Sequence[str]) -> Table:
        with no_listeners():
            return whole_table(input.replace(label_columns=(*input.label_columns, *names), labels=LabelFile()), compute,
                               categories)

    return chosen_rows(labeled, input, compute, again, streams)


def whole_table(input: Input, compute: Compute, categories: TextColumns = "", streams: bool = False) -> Table:
    """Return all rows of a file, without the labels of another; of a file in blocks none where rows will be chosen."""
    if folder := read_folder(input, compute):
        refuse_coding(input, "a folder of images or of a matrix with its names")
        return features_table(folder[0], input, folder[1])
    if files := parts_of(input.path):
        return _of_parts(files, input, compute, categories, streams)
    with open_input(matrix_in(input.path), compute) as file:
        format = format_of(file, input)
        source = source_of(input, file, format)
        if input.kind == "graph":
            from mlcli.data.pairs.graphs import graph_table

            return graph_table(file, input, source, compute)
        blocks = _cut(file, input, format, compute, categories) if (
            streams or input.chooses_rows or input.stream == "always") else None
        if reads_blocks(blocks, input, compute):
            return _of_blocks(blocks, input, compute, categories, source)
        layout = square_layout if input.square else features_layout
        sheet = _sheet_of(file, input, format, compute, layout, categories)
        extra = reader_of(format).beside(file, input, sheet.values.shape)
        source = replace(source, reading=extra, kept=KEPT * extra)
        return square_table(sheet, input, source) if input.square else features_table(sheet, input, source)


def can_be_cut(input: Input, compute: Compute, categories: TextColumns = "") -> bool:
    """Whether the rows of a file can be read in blocks, with the options of the input; raises DataError."""
    if has_coding(input) or (input.square and options_of_whole(input)):
        return False
    if files := parts_of(input.path):
        return _parts_in_blocks(files, input, compute, categories) is not None
    if Path(input.path).is_dir():
        return False
    with open_input(matrix_in(input.path), compute) as file:
        return _cut(file, input, format_of(file, input), compute, categories) is not None


def _sheet_of(file: Opened, input: Input, format: Format, compute: Compute, layout: LayoutOf,
              categories: TextColumns) -> Sheet:
    """Return the sheet of a file, with columns of text as answers that options code, or as the method takes them."""
    def read(asked: Input) -> Sheet:
        return read_sheet(file, asked, format, compute, layout)

    if (coded := _with_codes(input, read, categories)) is not None:
        return coded
    if not input.square:
        return read_sheet(replace(file, proposes=not input.transpose), input, format, compute, layout)
    sheet = read_sheet(replace(file, lists=True), input, format, compute, layout)
    if (pairs := square_sheet(sheet, input)) is not None:
        return pairs
    if not is_list_of_pairs(sheet, input):
        return sheet
    with no_listeners():  # of other names: the error of a matrix with columns of text
        return read(input)


def _with_codes(input: Input, read: Callable[[Input], Sheet], categories: TextColumns) -> Sheet | None:
    """Return the sheet with columns of text as numbers: answers that options code, or categories; None with neither."""
    if not (categories or has_coding(input)):
        return None
    from mlcli.data.read.text_columns import categorical_sheet, coded_sheet

    return coded_sheet(input, read) if has_coding(input) else categorical_sheet(input, read, categories)


def _of_blocks(found: BlockFile | None, input: Input, compute: Compute, categories: TextColumns,
               source: Source) -> Table:
    """Return the table of a file that is read in blocks, some columns of which may be categories."""
    assert found is not None
    from mlcli.data.read.blocks import table_of_blocks

    if found.choice.categories:
        from mlcli.data.read.text_columns import coded_file

        found = coded_file(found, input, categories, compute)
    return table_of_blocks(found, input, compute, source)


def _cut(file: Opened, input: Input, format: Format, compute: Compute, categories: TextColumns) -> BlockFile | None:
    """Return the file in blocks, some columns of which may be categories; None with answers to code."""
    return None if has_coding(input) else block_file_of(file, _finding(input, categories), format, compute)


def _finding(input: Input, categories: TextColumns) -> Input:
    """Return the input with columns of text as categories where they may be: all, or those that are chosen."""
    return with_categories(input, (), "categories" if categories == "all" else "labels", found=True) if (
        categories) else input


def source_of(input: Input, file: Opened, format: Format) -> Source:
    """Return the source of a table, with the files of names that belong to it."""
    if input.kind != "features" or not (others := name_files(file.path)):
        return Source(input.path, file.digest, file.size, format.name)
    return source_of_files(input.path, [id_of(path) for path in (file.path, *map(str, others))], format.name)


def _of_parts(files: list[str], input: Input, compute: Compute, categories: TextColumns, streams: bool) -> Table:
    """Return the table of a directory of files, in memory if it fits."""
    def read(asked: Input) -> Sheet:
        return sheet_of_blocks(read_parts(files, asked, compute), asked, compute)

    source = source_of_parts(files, input)
    cut = streams or input.chooses_rows or input.stream == "always"
    found = _parts_in_blocks(files, input, compute, categories) if cut or not categories else None
    if cut and reads_blocks(found, input, compute):
        return _of_blocks(found, input, compute, categories, source)
    sheet = _with_codes(input, read, categories)
    if sheet is None:
        assert found is not None
        sheet = sheet_of_blocks(found, input, compute)
    return features_table(sheet, input, source)


def _parts_in_blocks(files: list[str], input: Input, compute: Compute, categories: TextColumns) -> BlockFile | None:
    """Return the files for reading in blocks, some columns of which may be categories; None with answers to code."""
    return None if has_coding(input) else read_parts(files, _finding(input, categories), compute)


def features_table(sheet: Sheet, input: Input, source: Source) -> Table:
    """Return the table of points with coordinates; raises DataError for ids among the features."""
    if not lists_pairs(sheet):  # whose numbers may be whole and distinct
        require_no_ids(sheet.values, np.arange(len(sheet.values)), sheet.columns, sheet.words, input,
                       named=sheet.ids is not None, apart=sheet.apart)
    sheet = points_as_rows(sheet, input)
    return table_of(sheet, sheet.values, sheet.columns, input, source)


def points_as_rows(sheet: Sheet, input: Input) -> Sheet:
    """Return the sheet with a row for every point."""
    if not input.transpose:
        return sheet
    require_unique_ids(sheet.row_names(), input.path)  # ids become the names of columns
    return transpose(sheet)


def square_table(sheet: Sheet, input: Input, source: Source) -> Table:
    """Return the table of one number for every two points."""
    from mlcli.data.pairs.square import square_matrix

    values, ids = square_matrix(sheet, input)
    named = sheet.named or sheet.ids is not None
    return Table(values, ids, ids if named else RowNumbers.up_to(len(ids)), (sheet.id_name or "id") if named else ROW,
                 sheet.labels, input.gives, source, observations=input.observations)


def table_of(sheet: Sheet, values: Array, columns: tuple[str, ...], input: Input, source: Source) -> Table:
    """Return the table with the rows' own ids; raises DataError if they are not unique."""
    ids = sheet.row_names()
    require_unique_ids(ids, input.path)
    return Table(values, columns, ids, sheet.id_header, sheet.labels, input.gives, source,
                 categories=sheet.categories, coding=sheet.coding, image=sheet.image, point=sheet.point)
