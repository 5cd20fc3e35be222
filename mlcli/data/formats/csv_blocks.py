"""CSV and TSV in blocks of rows: cut at ends of records into pieces, each parsed as the whole text would be."""

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import row_blocks
from mlcli.base.rows.source import Part
from mlcli.base.stages.stage import no_listeners
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.data.files.arrow import pyarrow
from mlcli.data.files.remote import is_remote
from mlcli.data.files.source import FileId, Opened, plain_stream
from mlcli.data.files.streams import seekable
from mlcli.data.formats.block_file import BlockFile, is_short
from mlcli.data.formats.parts import parts_differ
from mlcli.data.options.input import Input, finds_texts, with_found
from mlcli.data.options.numbers import fault
from mlcli.data.table.sheet import require_content
from mlcli.data.text.delimited import Frame, csv_options, doubtful, is_endless, separator_of
from mlcli.data.text.diagnose import NONE, Faults, refusal
from mlcli.data.text.head import detect_dialect, read_head
from mlcli.data.text.layout import RecordLayout, features_layout, numbers_error, word_columns
from mlcli.data.text.records import InputText, Survey, survey_text

PIECE = 2 << 20  # least bytes of a piece
RETURN, NEWLINE, QUOTE = b'\r\n"'


class Cuts:
    """The ends of records in a text that is added in chunks, and the number of records before each cut.

    A line end ends a record if the number of quotes before it is even, provided that every quote that opens
    a cell is its first character.
    """

    def __init__(self, separator: str, piece: int = 0) -> None:
        self._before = {ord(separator), RETURN, NEWLINE, QUOTE}  # bytes allowed before an opening quote
        self._size = self._rows = self._lines = self._quotes = 0
        self._last, self._end, self._piece = NEWLINE, -1, piece or PIECE
        self.stray = False  # whether a quote stands within a cell that did not begin with one
        self._cuts: list[tuple[int, int, int]] = []  # bytes, records, records with blank lines

    def add(self, chunk: bytes) -> None:
        """Add the next bytes of the text."""
        text = np.frombuffer(chunk, np.uint8)
        ends = self._closed(text, np.flatnonzero((text == NEWLINE) | (text == RETURN)))
        before = np.where(ends > 0, text[ends - 1], self._last)
        rows = self._rows + np.cumsum(np.diff(ends + self._size, prepend=self._end) > 1)
        lines = self._lines + np.cumsum(~((text[ends] == NEWLINE) & (before == RETURN)))
        self._cut(text, ends, rows=rows, lines=lines)
        if len(ends):
            self._rows, self._lines, self._end = int(rows[-1]), int(lines[-1]), self._size + int(ends[-1])
        self._last, self._size = int(text[-1]), self._size + len(text)

    def pieces(self, skip: int, above: "Cuts", blanks: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the starts of pieces after the skipped bytes, with the end of the text, and the records before each.

        `above` describes the skipped bytes; blank lines are records if these have one cell (`blanks`).
        """
        every = [*self._cuts, self._all()]
        known = [above._all(), *(cut for cut in every[:-1] if cut[0] > skip), every[-1]]
        first = known[0][1 + blanks]
        return tuple(cut[0] for cut in known), tuple(cut[1 + blanks] - first for cut in known)

    def _all(self) -> tuple[int, int, int]:
        """Return the bytes, the records, and the records with blank lines, a last one without a line end included."""
        open_end = self._size - self._end > 1
        return self._size, self._rows + open_end, self._lines + open_end

    def _closed(self, text: AnyArray, stops: AnyArray) -> AnyArray:
        """Return the line ends outside of quotes."""
        quotes = np.flatnonzero(text == QUOTE)
        if not len(quotes) and self._quotes % 2 == 0:
            return stops
        opening = quotes[self._quotes % 2 :: 2]
        before = np.where(opening > 0, text[opening - 1], self._last)
        self.stray = self.stray or not np.isin(before, list(self._before)).all()
        inside = (self._quotes + np.searchsorted(quotes, stops)) % 2
        self._quotes += len(quotes)
        closed: AnyArray = stops[inside == 0]
        return closed

    def _cut(self, text: AnyArray, ends: AnyArray, *, rows: AnyArray, lines: AnyArray) -> None:
        """Record the first ends that are far enough from the last cut, none between a return and a newline."""
        after = text[np.minimum(ends + 1, len(text) - 1)]
        whole = (text[ends] == NEWLINE) | ((ends + 1 < len(text)) & (after != NEWLINE))
        places = ends[whole] + 1 + self._size
        last = self._cuts[-1][0] if self._cuts else 0
        while (place := int(np.searchsorted(places, last + self._piece))) < len(places):
            last = int(places[place])
            self._cuts.append((last, int(rows[whole][place]), int(lines[whole][place])))


PIECES = 8  # pieces in a block of work


@frozen
class TextFile:
    """A text in a file, cut into pieces."""

    id: FileId
    input: Input
    separator: str
    survey: Survey
    layout: RecordLayout
    starts: tuple[int, ...]  # bytes before each piece, and behind them the end
    firsts: tuple[int, ...]  # rows before each, and behind them all

    @property
    def pieces(self) -> int:
        """The number of pieces."""
        return len(self.starts) - 1

    def content(self, piece: int) -> Any:
        """Return the bytes of a piece, in memory of Arrow's own."""
        start, size = self.starts[piece], self.starts[piece + 1] - self.starts[piece]
        buffer = pyarrow().allocate_buffer(size)
        self.id.fill(start, memoryview(buffer))
        return buffer

    def frame(self, piece: int, numbers: tuple[int, ...]) -> Frame:
        """Return columns of a piece as numbers, with what is wrong with them."""
        frame = Frame(np.empty((0, len(numbers))))
        table: Any = self._parsed(piece, numbers, ()) if numbers else None  # Arrow takes none for all
        if isinstance(table, str):
            frame.faults = self.refused(table)
            return frame
        frame.rows = 0 if table is None else table.num_rows
        if numbers and frame.rows:  # not of blank lines alone
            batch = table.select([*range(len(numbers))]).combine_chunks().to_batches()[0]
            frame.values = batch.to_tensor(null_to_nan=True, row_major=True).to_numpy()
            if doubtful(frame.values, sum(column.null_count for column in batch.columns)) and any(
                    kind in ("text", "overflow") for kind in self._faults(piece)):  # infinite ones are numbers
                frame.faults = self.refused("some cells are no numbers")
        return frame

    def _parsed(self, piece: int, numbers: tuple[int, ...], texts: tuple[int, ...]) -> Any:
        """Return some columns of a piece, named by position; None without any row, and a text that says what is wrong.
        """
        from pyarrow import csv as arrow_csv

        arrow, content = pyarrow(), self.content(piece)
        options = csv_options(self.layout, self.separator, self.input, numbers=numbers, texts=texts,
                              block=max(content.size, 1))
        try:
            table = arrow_csv.read_csv(arrow.BufferReader(content), *options)
        except arrow.ArrowException as error:
            return None if "Empty CSV file" in str(error) else str(error)
        if table.num_rows != self.firsts[piece + 1] - self.firsts[piece]:
            return "it has other rows than its line ends and quotes announce"
        return table

    def numbers(self, piece: int) -> Array:
        """Return the numbers of a piece as an (m, d) array; raises DataError."""
        frame = self.frame(piece, self.layout.choice.values)
        frame.faults.require_none()
        return frame.values

    def text_parts(self, piece: int, columns: tuple[int, ...], most: int) -> Iterator[list[list[str]]]:
        """Yield columns of texts of a piece, at most `most` rows at a time; raises DataError."""
        table: Any = self._parsed(piece, (), columns) if columns else None
        if isinstance(table, str):
            self.refused(table).require_none()
            return
        for rows in row_blocks(0 if table is None else table.num_rows, most):
            some = table.slice(rows.start, most)
            texts = [self.input.without_markers(some.column(str(column)).to_pylist()) for column in columns]
            if is_endless(self.survey, texts):
                self.refused("a cell is too long").require_none()
            yield texts

    def underflows(self, piece: int) -> int:
        """Return the number of numbers of a piece that are too small for double precision."""
        if not np.any(self.numbers(piece) == 0):
            return 0
        return sum(kind == "underflow" for kind in self._faults(piece))

    def refused(self, reason: str) -> Faults:
        """Return what is wrong with the text: what a second reading finds, or else `reason`."""
        return refusal(InputText(open_here(self.id), self.input, self.separator, self.survey), self.layout, reason)

    def faults(self) -> Faults:
        """Return what is wrong with the numbers of the text, up to the first piece where something is."""
        frames = (self.frame(piece, self.layout.choice.values) for piece in range(self.pieces))
        return next((frame.faults for frame in frames if frame.faults.error is not None), NONE)

    def _faults(self, piece: int) -> Iterator[str]:
        """Yield the fault of each cell of a piece."""
        lines = io.TextIOWrapper(io.BytesIO(self.content(piece).to_pybytes()), encoding="utf-8", newline="")
        for cells in csv.reader(lines, delimiter=self.separator, strict=True):
            if len(cells) == self.layout.width:
                cells = self.input.without_markers(cells)
                yield from (fault(cells[column], self.input.point) for column in self.layout.choice.values)


def open_here(id: FileId) -> Opened:
    """Return a file as this thread has it open, without its hash."""
    descriptor = -1 if is_remote(id.path) else cast(Any, id.open_once(plain_stream)).fileno()
    return Opened(id.path, id.state[0], lambda: "", descriptor=descriptor)


@frozen
class TextRows:
    """Chosen columns of one or several delimited texts, several pieces to a block."""

    files: tuple[TextFile, ...]
    names: tuple[str, ...]  # of columns of numbers
    direct = False

    @property
    def point(self) -> str:
        """The decimal point."""
        return self.files[0].input.point

    @cached_property
    def _blocks(self) -> tuple[tuple[TextFile, range, int], ...]:
        """Blocks, each with its file, its pieces there, and the rows of the files before."""
        found, rows = [], 0
        for file in self.files:
            found += [(file, range(first, min(first + PIECES, file.pieces)), rows)
                      for first in range(0, file.pieces, PIECES)]
            rows += file.firsts[-1]
        return tuple(block for block in found if block[0].firsts[block[1].stop] > block[0].firsts[block[1].start])

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        """First rows of blocks, and the number of rows."""
        return (*(rows + file.firsts[pieces.start] for file, pieces, rows in self._blocks),
                sum(file.firsts[-1] for file in self.files))

    @property
    def columns(self) -> int:
        """The number of columns."""
        return len(self.names)

    @cached_property
    def part(self) -> int:
        """The largest number of rows read in one step."""
        return max(int(np.diff(file.firsts).max(initial=1)) for file in self.files)

    @cached_property
    def buffer_bytes(self) -> int:
        """The bytes in use while a thread parses: a piece, and the places of its cells."""
        return 3 * max(int(np.diff(file.starts).max(initial=0)) for file in self.files)

    def take(self, chosen: Indices) -> Array:
        """Raise NotImplementedError for any rows, of shape (m,): pieces are read as a whole."""
        raise NotImplementedError

    def in_order(self, names: tuple[str, ...]) -> "TextRows":
        """Return the same columns in another order."""
        return TextRows(tuple(replace(file, layout=file.layout.in_order(names)) for file in self.files), names)

    def parts(self, number: int) -> Iterator[Part]:
        """Yield the rows of a block, piece by piece."""
        file, pieces, rows = self._blocks[number]
        for piece in pieces:
            yield rows + file.firsts[piece], file.numbers(piece)

    def text_parts(self, number: int, names: tuple[str, ...], most: int) -> Iterator[list[list[str]]]:
        """Yield columns of texts of a block, at most `most` rows at a time."""
        file, pieces, _ = self._blocks[number]
        columns = tuple(file.layout.choice.names.index(name) for name in names)
        for piece in pieces:
            yield from file.text_parts(piece, columns, most)

    def underflows(self, number: int) -> int:
        """Return the number of numbers of a block that are too small for double precision."""
        file, pieces, _ = self._blocks[number]
        return sum(file.underflows(piece) for piece in pieces) if file.survey.tiny else 0

    def key(self) -> str:
        """Return the files, their dialect, and the columns, for cache keys."""
        return repr(([(file.id.key, file.separator, file.input.point, file.layout.skip) for file in self.files],
                     self.names))


@frozen
class Underflows:
    """The number of numbers too small for double precision, as a source of blocks."""

    rows: TextRows

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return len(self.rows.bounds) - 1

    def work(self, number: int) -> int:
        """Return the number in a block."""
        return self.rows.underflows(number)

    def stop(self) -> None:
        """Do nothing: blocks are short."""


def blocks_of(usual: str, opened: Opened, input: Input, compute: Compute, known: tuple[str, ...]) -> BlockFile | None:
    """Return a text in pieces; None if it cannot be cut or its table is short (`block_file.is_short`).

    Columns of text that may be categories are those of words in the first records.
    """
    text, cuts = _survey_cuts(opened, input, separator_of(usual, input))
    if cuts.stray or not seekable(text.input):
        return None
    head = read_head(text)
    with no_listeners():  # notes on the layout are made when the text is read
        choice = features_layout(text, head, known).choice
        words = [choice.names[column] for column in word_columns(head.below, text.input.point)
                 if column in choice.values]
        text = replace(text, input=with_found(text.input, words) or text.input)
    if is_short(text.survey.lines * len(choice.names), input, compute):
        return None
    file = cut(text, features_layout(text, head, known), cuts)
    require_content(file.firsts[-1], file.layout.choice.width, opened.path)
    return block_file_of_texts((file,))


def _survey_cuts(opened: Opened, input: Input, separator: str) -> tuple[InputText, Cuts]:
    """Return a text with the possible cuts, by the separator that is detected."""
    cuts = Cuts(separator)
    text = detect_dialect(survey_text(opened, input, separator, cuts.add))
    return (text, cuts) if text.separator == separator else (text, _survey_cuts(opened, text.input, text.separator)[1])


def cut(text: InputText, layout: RecordLayout, cuts: Cuts) -> TextFile:
    """Return a text in pieces; raises DataError for one without numbers, or with quotes that do not match."""
    if (error := numbers_error(layout, text.path)) is not None:
        raise error
    skipped = Cuts(text.separator)
    with text.stream() as stream:
        if layout.skip:
            skipped.add(stream.read(layout.skip))
    starts, firsts = cuts.pieces(layout.skip, skipped, layout.width == 1)
    opened, marked = text.opened, 0
    with opened.stream() as stream:
        marked = len(codecs.BOM_UTF8) if stream.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8 else 0
    file = TextFile(FileId(opened.path, opened.state), text.input, text.separator, text.survey, layout,
                    starts=tuple(marked + start for start in starts), firsts=firsts)
    if text.survey.quotes % 2:
        file.refused("the quotes do not match").require_none()
    return file


def block_file_of_texts(files: tuple[TextFile, ...]) -> BlockFile:
    """Return the table of several texts of one layout."""
    layout = files[0].layout
    return BlockFile(TextRows(files, layout.choice.columns), layout.choice, named=layout.named)


def cut_alike(opened: Opened, input: Input, separator: str, first: RecordLayout | None) -> TextFile | None:
    """Return a text with the columns of the first; None if they differ, or it cannot be cut."""
    text, cuts = _survey_cuts(opened, input, separator)
    head = read_head(text)
    if first is None:
        return None if cuts.stray else cut(text, features_layout(text, head), cuts)
    if cuts.stray or len(head.cells) != first.width or (first.named and head.cells != first.choice.names):
        return None
    return cut(text, RecordLayout.of(head, first.choice, named=first.named), cuts)


def blocks_of_parts(usual: str, ids: Sequence[FileId], input: Input) -> BlockFile:
    """Return the table of the files of a folder, with the columns of the first one; raises DataError."""
    texts: list[TextFile] = []
    for id in ids:
        asked = texts[0].input if texts else input  # in the dialect detected in the first
        text = cut_alike(open_here(id), asked, separator_of(usual, asked), texts[0].layout if texts else None)
        if text is None:
            raise parts_differ(id, ids[0], "the same columns in the same order, and no quote within a cell that does "
                               "not begin with one")
        columns = text.faults().columns if finds_texts(asked) else ()
        if (again := with_found(asked, columns)) is not None:
            return blocks_of_parts(usual, ids, again)
        texts.append(text)
    found = block_file_of_texts(tuple(texts))
    require_content(found.file.bounds[-1], found.choice.width, input.path)
    return found
