"""CSV and TSV: short ones read by record, others by pyarrow with explicit types; scanned again where a cell is wrong.

Cells become numbers in `_filled_by_records` and `_filled_by_arrow`. A thread of pyarrow may outlive the reading, and if
it meets a Python object while the interpreter ends, it aborts the process. Its input is therefore a file or memory of
Arrow's own, never a Python file.
"""

import codecs
from collections.abc import Callable, Iterable, Iterator
from csv import field_size_limit
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.machine.footprint import ARROW, CELL_OF_TEXT, COLUMN, MIB, resident
from mlcli.base.stages.stage import advance, no_listeners
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.missing import MISSING
from mlcli.base.values.naming import listed
from mlcli.data.files.arrow import pyarrow
from mlcli.data.files.source import Opened, changed_error
from mlcli.data.files.streams import compression
from mlcli.data.options.input import AllTexts, Input, with_categories, with_found, without_roles
from mlcli.data.options.numbers import BLANKS, EXACT
from mlcli.data.options.texts import with_proposal
from mlcli.data.options.wording import counted, place
from mlcli.data.table.cells import warn_of_rounding, warn_of_underflow
from mlcli.data.table.sheet import Sheet, require_content, require_texts
from mlcli.data.text.diagnose import NONE, Faults, faults_of, refusal, width_error
from mlcli.data.text.head import LOOKED_AT, Head, detect_dialect, read_head
from mlcli.data.text.layout import RecordLayout, numbers_error, pairs_layout, word_columns
from mlcli.data.text.records import CELLS, Broken, InputText, Survey, survey_text
from mlcli.errors import DataError


def rounded_columns(text: InputText, layout: RecordLayout, values: Array) -> tuple[list[str], list[str]]:
    """Return the columns of whole numbers that were rounded, as the first records show, and those thereby constant.

    `values` is an (n, d) array.
    """
    most, least = np.fmax.reduce(values, axis=0, initial=0.0), np.fmin.reduce(values, axis=0, initial=0.0)
    large = np.flatnonzero(np.maximum(most, -least) >= EXACT)
    if not len(large):
        return [], []
    records = islice(text.records(text.lines(layout.skip), layout.lines, layout.width), LOOKED_AT)
    below = [cells for _, cells in records]
    names, lost = [], []
    for column in large.tolist():
        cells = {cells[layout.choice.values[column]].strip(BLANKS) for cells in below}
        rounded = {cell for cell in cells if _is_whole(cell) and int(cell) != int(float(cell))}
        if rounded:
            names.append(layout.choice.columns[column])
        if rounded and len(set(map(int, filter(_is_whole, cells)))) > 1 and np.ptp(values[:, column]) == 0:
            lost.append(layout.choice.columns[column])
    return names, lost


def require_precision(text: InputText, layout: RecordLayout, values: Array) -> None:
    """Warn about columns of whole numbers that were rounded, as the first records show; `values` is an (n, d) array.

    Raises DataError for a column that rounding would make constant.
    """
    names, lost = rounded_columns(text, layout, values)
    if lost:
        raise DataError("INT-PRECISION", f"{counted(len(lost), 'column')} of whole numbers above 2**53 that differ "
                        f"only in digits that double precision does not hold: {listed(lost)}", where=place(text.path),
                        hint="name it with {input.id_column} or {input.label_columns} if it holds ids, or subtract "
                             "what all have in "
                        "common")
    warn_of_rounding(names)


def _is_whole(cell: str) -> bool:
    """Whether a cell is a whole number in plain digits."""
    return len(cell) < 40 and cell.removeprefix("-").isascii() and cell.removeprefix("-").isdecimal()


def arrow_text(text: InputText, skip: int, compute: Compute) -> Any:
    """Return the text as UTF-8 from byte `skip` on, as a native file of Arrow."""
    utf8 = codecs.lookup(text.input.encoding).name in ("utf-8", "ascii")  # checked by the survey
    name = f"/dev/fd/{text.opened.descriptor}"  # the open file, even if its path now leads to another
    if utf8 and not text.start.whole and not compression(text.path) and Path(name).exists():
        return _file(text, skip, name)
    return _memory(text, skip, compute)


def _file(text: InputText, skip: int, name: str) -> Any:
    """Return the open file itself, past a byte order mark."""
    with text.opened.stream() as stream:
        marked = stream.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8
    file = pyarrow().OSFile(name)
    file.seek(skip + (len(codecs.BOM_UTF8) if marked else 0))
    return file


def _memory(text: InputText, skip: int, compute: Compute) -> Any:
    """Return a copy of the decompressed, decoded or piped text."""
    size = text.survey.size - skip
    compute.require(float(size), f"a text of {text.survey.size:,} bytes in memory")
    buffer = pyarrow().allocate_buffer(size)
    with text.stream(skip) as stream, memoryview(buffer) as room:
        done = 0
        while done < size:
            count = stream.readinto(room[done:])  # type: ignore[attr-defined]
            if not count:
                raise changed_error(text.path)
            done += count
    return pyarrow().BufferReader(buffer)


PARSER, BLOCKS = 24 * MIB, 16  # memory of Arrow's reader of texts, and number of its blocks of text
SMALLEST, LARGEST = MIB, 32 * MIB  # bytes of such a block
TIMES = 2  # memory for a short text, in units of its size


def csv_options(layout: RecordLayout, separator: str, input: Input, *, numbers: tuple[int, ...], texts: tuple[int, ...],
                block: int, threads: bool = False) -> tuple[Any, Any, Any]:
    """Return Arrow's options: columns of numbers first, then those of texts, named by position; `block` is in bytes.

    Types are never guessed.
    """
    from pyarrow import csv

    arrow = pyarrow()
    types = dict.fromkeys(map(str, numbers), arrow.float64()) | dict.fromkeys(map(str, texts), arrow.string())
    return (csv.ReadOptions(column_names=[str(column) for column in range(layout.width)], block_size=block,
                            use_threads=threads),
            csv.ParseOptions(delimiter=separator, newlines_in_values=True, ignore_empty_lines=layout.width > 1),
            csv.ConvertOptions(column_types=types, include_columns=list(types),
                               null_values=[*MISSING, *input.missing_markers],
                               strings_can_be_null=False, quoted_strings_can_be_null=True, decimal_point=input.point))


def doubtful(values: Array, missing: int, tiny: bool = False) -> bool:
    """Whether an (m, d) array may have numbers of invalid cells or out of range, given its number of missing cells."""
    finite = np.isfinite(values)
    if int(finite.size - np.count_nonzero(finite)) != missing:
        return True
    return tiny and bool(np.any(values == 0))


def text_bytes(longest: int, size: int) -> float:
    """Return the bytes that reading a text needs besides its numbers, by its longest line and its size."""
    return float(min(PARSER + BLOCKS * max(SMALLEST, min(64 * longest, LARGEST), 2 * longest), TIMES * size))


@dataclass
class Frame:
    """The columns of a text as they are read, each as numbers or as texts, and what is wrong with the numbers."""

    values: Array  # the rows read, then room
    rows: int = 0
    doubtful: bool = False  # whether some cells need a second look
    ids: list[str] = field(default_factory=list)
    labels: dict[str, list[str]] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)  # bytes of columns of text
    faults: Faults = NONE


def is_endless(survey: Survey, columns: Iterable[list[str]]) -> bool:
    """Whether a text of some columns is longer than a cell may be; the slow scan then has the error."""
    return survey.longest > field_size_limit() and any(
        len(cell) > field_size_limit() for cells in columns for cell in cells)


SMALL_BLOCK, LARGE_BLOCK = 1 << 20, 32 << 20  # bytes
SMALL = 1 << 24  # bytes of a text
WIDE, FEW = 5000, 200  # more columns and fewer rows than these are read by record
WIDEST = 4  # columns of a list of pairs: two of names, one of numbers, and names of the rows as R writes them
REPORT = 4096  # cells that are read by record between two reports of progress


def separator_of(usual: str, input: Input) -> str:
    """Return the separator of cells, that of the options or else the `usual` one of the format."""
    return usual if input.separator == "auto" else input.separator


LayoutOf = Callable[[InputText, Head], RecordLayout]


def read_delimited(usual: str, opened: Opened, input: Input, compute: Compute, layout_of: LayoutOf) -> Sheet:
    """Return the numbers and names of a delimited text; raises DataError and RefusedByPlan."""
    text = survey_text(opened, input, separator_of(usual, input))
    if not _is_ordinary(text) and (matrix := _of_pairs(text, compute)) is not None:
        return matrix
    text = detect_dialect(text)
    head = read_head(text)
    layout = layout_of(text, head)
    if opened.lists and (pairs := _list_of_pairs(text, head, layout, compute)) is not None:
        return pairs
    if (error := numbers_error(layout, text.path)) is not None:
        raise _with_proposal(error, text, head, layout_of, compute, alone=True) if layout.choice.words else error
    layout, frame = _settled(text, head, layout_of, compute, layout)
    if (error := frame.faults.error) is not None:
        raise _with_proposal(error, text, head, layout_of, compute) if frame.faults.columns else error
    warn_of_underflow(frame.faults.underflows)
    if layout.choice.values:
        require_precision(text, layout, frame.values[: frame.rows])
    return _sheet(layout, frame, text.input.point)


def _list_of_pairs(text: InputText, head: Head, matrix: RecordLayout, compute: Compute) -> Sheet | None:
    """Return a list of pairs as a table; None for any other text, and for one whose numbers are wrong.

    Its first records show columns of words that would stand among the numbers in the layout of a `matrix`.
    """
    if len(head.cells) > WIDEST or set(word_columns(head.below, text.input.point)).isdisjoint(matrix.choice.values):
        return None
    text = replace(text, input=without_roles(text.input))
    with no_listeners():
        layout = pairs_layout(text, read_head(text))
        frame = None if layout is None else _frame(text, layout, compute)
    if layout is None or frame is None or frame.faults.error is not None:
        return None
    _, lost = rounded_columns(text, layout, frame.values[: frame.rows])
    return None if lost else _sheet(layout, frame, text.input.point)


def _settled(text: InputText, head: Head, layout_of: LayoutOf, compute: Compute,
             layout: RecordLayout) -> tuple[RecordLayout, Frame]:
    """Return the columns of a text, those of text as categories where they may be, and the layout of these."""
    frame = _frame(text, layout, compute)
    while (found := with_found(text.input, frame.faults.columns)) is not None:
        text = replace(text, input=found)
        layout = layout_of(text, head)
        frame = _frame(text, layout, compute)
    return layout, frame


def _with_proposal(error: DataError, text: InputText, head: Head, layout_of: LayoutOf, compute: Compute,
                   alone: bool = False) -> DataError:
    """Return the error of columns of text with what their cells propose, where the input asks for it."""
    if not text.opened.proposes:
        return error
    asked = replace(text, input=with_categories(text.input, (), "categories", found=True))
    with no_listeners():
        layout, frame = _settled(asked, head, layout_of, compute, layout_of(asked, head))
    if frame.faults.error is not None:
        return error
    texts = {name: frame.labels[name] for name in layout.choice.category_names}
    return with_proposal(error, texts, alone=alone)


def _frame(text: InputText, layout: RecordLayout, compute: Compute) -> Frame:
    """Return the columns of a text, with what is wrong with them; raises DataError and RefusedByPlan."""
    columns = len(layout.choice.values)
    beside = text_bytes(text.survey.longest, text.survey.size) + COLUMN * columns
    if text.survey.size > SMALL:  # for a small one the fit has the better error
        beside += resident(compute.thread_count(), [ARROW])
    to_file = ", or write it to a file, which can be read in blocks" if text.path == "-" else ""
    needed = beside + 8.0 * text.survey.lines * columns
    compute.require(needed, f"a table of {text.survey.lines:,} x {columns:,} numbers", f"choose fewer columns{to_file}")
    frame = _filled(text, layout, compute, needed)
    if frame.faults.error is not None:
        return frame
    require_content(frame.rows, layout.choice.width, text.path)
    if frame.doubtful or text.survey.quotes % 2 or is_endless(text.survey, (frame.ids, *frame.labels.values())):
        frame.faults = faults_of(text, layout)
    return frame


def _is_ordinary(text: InputText) -> bool:
    """Whether the first records are those of a table: equally many cells, more than one, and none blank at its end.

    No text that begins so is a matrix of pairs in a layout of its own.
    """
    first, _ = text.first_records((line for line in text.lines() if line.strip()), 3)
    return text.separator != " " and len(first) == 3 and len({len(cells) for cells in first}) == 1 and all(
        len(cells) > 1 and cells[-1].strip() and not cells[0].startswith("#") for cells in first)


def _of_pairs(text: InputText, compute: Compute) -> Sheet | None:
    """Return a matrix of pairs in a layout of its own; None for any other text.

    If no kind was chosen, such a layout may also be another table.
    """
    from mlcli.data.text.distance_matrices import is_printed, read_printed, read_ragged

    input = text.input
    if isinstance(input, AllTexts) or (not input.square and (input.chosen("kind") or input.kind != "features")):
        return None
    if text.separator == "," and is_printed(text) and input.kind in ("dissimilarities", "features"):
        printed = read_printed(text, compute)
        if isinstance(printed, Sheet):
            return printed
        if input.square:
            raise printed
    return read_ragged(text, compute)


def _filled(text: InputText, layout: RecordLayout, compute: Compute, needed: float) -> Frame:
    """Read all rows, by record or by Arrow; of a short text with odd quotes Arrow decides, as of a long one.

    `needed` are the bytes of memory without columns of text; raises RefusedByPlan if these do not fit beside.
    """
    wide = layout.width > WIDE and text.survey.lines < FEW
    if wide or text.survey.lines * layout.width <= CELLS:
        frame = _filled_by_records(text, layout)
        if wide or not frame.faults.odd_quotes:
            return frame
    return _filled_by_arrow(text, layout, compute, needed)


def _filled_by_arrow(text: InputText, layout: RecordLayout, compute: Compute, needed: float) -> Frame:
    """Read all rows; if Arrow fails, the slow scan finds the reason."""
    arrow = pyarrow()
    room = text.survey.ends + 1 if layout.width == 1 else text.survey.lines
    filled = Frame(np.empty((room, len(layout.choice.values))))
    try:
        for batch in _batches(text, layout, compute):
            _take(batch, text, layout, filled)
            require_texts(filled.sizes, filled.rows, compute, needed)
            advance(filled.rows, text.survey.lines)
    except arrow.ArrowException as error:
        if "Empty CSV file" not in str(error):
            filled.faults = refusal(text, layout, str(error))
    return filled


def _filled_by_records(text: InputText, layout: RecordLayout) -> Frame:
    """Read all rows by record: of a short text, or of one with very many columns, each of which takes Arrow kilobytes.
    """
    choice, point, columns = layout.choice, text.input.point, layout.choice.values
    missing = {*MISSING, *text.input.missing_markers}
    room = text.survey.ends + 1 if layout.width == 1 else text.survey.lines
    filled, gaps, report = Frame(np.empty((room, len(columns)))), 0, max(1, REPORT // layout.width)
    for record in text.attempted(text.lines(layout.skip), layout.lines, layout.width):
        if isinstance(record, Broken):
            filled.faults = Faults(record.error(), odd_quotes=not record.endless)
            return filled
        line, cells = record
        if len(cells) != layout.width:
            filled.faults = Faults(width_error(text, layout, line=line, row=filled.rows + 1, width=len(cells)))
            return filled
        if filled.rows == room:
            raise changed_error(text.path)
        numbers = [cells[column] for column in columns]
        filled.doubtful |= not _plain("".join(numbers), point)
        given = numbers if point == "." else [cell.replace(point, ".") for cell in numbers]
        if not missing.isdisjoint(numbers):
            given = ["nan" if cell in missing else value for cell, value in zip(numbers, given, strict=True)]
            gaps += sum(cell in missing for cell in numbers)
        try:
            filled.values[filled.rows] = [float(cell) for cell in given]
        except ValueError:
            filled.faults = faults_of(text, layout)
            if filled.faults.error is None:
                raise
            return filled
        if choice.id is not None:
            filled.ids.append(cells[choice.id])
        for column in choice.texts:
            filled.labels.setdefault(choice.names[column], []).append(cells[column])
        filled.rows += 1
        if filled.rows % report == 0:
            advance(filled.rows, text.survey.lines)
    filled.doubtful |= doubtful(filled.values[:filled.rows], gaps, text.survey.tiny)
    return filled


def _plain(cells: str, point: str) -> bool:
    """Whether none of these characters makes a number for Python alone: digits beyond ASCII, `_`, another point."""
    return cells.isascii() and cells.isprintable() and "_" not in cells and (point == "." or "." not in cells)


def _batches(text: InputText, layout: RecordLayout, compute: Compute) -> Iterator[Any]:
    """Yield record batches with the numeric columns first, then the ids and labels, named by position."""
    from pyarrow import csv

    choice, longest = layout.choice, text.survey.longest
    block = max(SMALL_BLOCK, min(LARGE_BLOCK, 64 * longest), 2 * longest + 2)
    texts = tuple(sorted({column for column in (choice.id, *choice.texts) if column is not None}))
    options = csv_options(layout, text.separator, text.input, numbers=choice.values, texts=texts, block=block,
                          threads=compute.thread_count() > 1)
    with csv.open_csv(arrow_text(text, layout.skip, compute), *options) as reader:
        yield from reader


def _take(batch: Any, text: InputText, layout: RecordLayout, filled: Frame) -> None:
    """Add a batch to the rows."""
    if batch.num_rows == 0:
        return
    choice, stop, columns = layout.choice, filled.rows + batch.num_rows, len(layout.choice.values)
    if stop > len(filled.values):
        raise changed_error(text.path)
    block = filled.values[filled.rows:stop]
    if columns:
        numbers = batch.select(list(range(columns)))
        block[:] = numbers.to_tensor(null_to_nan=True, row_major=True).to_numpy()
        missing = sum(column.null_count for column in numbers.columns)
        filled.doubtful |= doubtful(block, missing, text.survey.tiny)
    for column in {column for column in (choice.id, *choice.texts) if column is not None}:
        name, size = choice.names[column], batch.column(str(column)).nbytes + CELL_OF_TEXT * batch.num_rows
        filled.sizes[name] = filled.sizes.get(name, 0.0) + size
    if choice.id is not None:
        filled.ids += batch.column(str(choice.id)).to_pylist()
    for column in choice.texts:
        texts = text.input.without_markers(batch.column(str(column)).to_pylist())
        filled.labels.setdefault(choice.names[column], []).extend(texts)
    filled.rows = stop


def _sheet(layout: RecordLayout, filled: Frame, point: str) -> Sheet:
    """Return the rows as a sheet."""
    labels = {name: tuple(texts) for name, texts in filled.labels.items()}
    return Sheet(filled.values[: filled.rows], layout.choice.columns, layout.named,
                 None if layout.choice.id is None else tuple(filled.ids),
                 layout.choice.id_name if layout.named else "", labels,
                 words=layout.choice.word_names, listed=layout.choice.listed, point=point)
