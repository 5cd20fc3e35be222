"""A delimited text: its lines surveyed once, then read as records as often as needed."""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import BinaryIO

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.data.files.shared_handle import CHUNK
from mlcli.data.files.source import Opened
from mlcli.data.files.streams import in_encoding, text_stream
from mlcli.data.options.input import Input
from mlcli.data.options.wording import place
from mlcli.errors import DataError

LINE_LIMIT = 128 << 20  # bytes
CELLS = 4096  # of a text that is read by record since it takes less time than Arrow, which is not even imported for it
TINY = re.compile(rb"[eE]-[0-9]{3}")  # only numbers with such an exponent, or with this many zeros,
ZEROS = b"0" * 300  # can be read as zero although they are not
Watch = Callable[[bytes], None]
OVERLAP = 320  # bytes of a chunk that are searched again with the next one


@frozen
class Survey:
    """The results of one pass over the text."""

    size: int  # bytes, as UTF-8 without a byte order mark
    lines: int  # that are not blank
    ends: int  # line ends, blank lines included
    longest: int  # bytes
    tiny: bool  # whether numbers may underflow
    quotes: int


@frozen
class TextStart:
    """The first bytes of a text, which are kept, as UTF-8; of a short text all."""

    content: bytes
    whole: bool

    @property
    def end(self) -> int:
        """The bytes that need not be read again: all of a short text, or else whole lines."""
        return len(self.content) if self.whole else self.content.rfind(b"\n") + 1


NOTHING = TextStart(b"", whole=False)


@frozen
class Broken:
    """A record that cannot be read, as its quotes do not match or a cell does not end; it is the last one."""

    path: str
    reason: str
    start: int  # line
    line: int  # that was read last

    @property
    def endless(self) -> bool:
        """Whether a cell is longer than cells may be."""
        return "limit" in self.reason

    def error(self) -> DataError:
        """Return the error for such a record."""
        if self.endless:
            return DataError("FIELD-SIZE", f"a cell is longer than {csv.field_size_limit():,} characters",
                             where=place(self.path, self.start), hint="is a quote left open, or the separator wrong?")
        return DataError("QUOTE", f"the quotes do not match: {self.reason}",
                         where=place(self.path, min(self.start, self.line)),
                         hint="close the quote, and write a quote inside a quoted cell twice")


@frozen
class Surveyed:
    """What one pass over a text leaves."""

    survey: Survey
    start: TextStart
    encoding: str  # the one that was found, UTF-16 where its byte order mark is


@frozen
class InputText:
    """The text of an input and the separator of its cells."""

    opened: Opened
    input: Input
    separator: str
    survey: Survey
    start: TextStart = NOTHING
    taken: Sequence[str] = ()  # detected conventions, in words

    @property
    def path(self) -> str:
        """The path in the options."""
        return self.opened.path

    def stream(self, skip: int = 0) -> BinaryIO:
        """Return the text as UTF-8 from byte `skip` on; a short one is not read again."""
        if self.start.whole:
            return io.BytesIO(self.start.content[skip:])
        stream = text_stream(self.opened, self.input)
        while skip > 0:
            skip -= len(stream.read(min(skip, CHUNK)))
        return stream

    def lines(self, skip: int = 0) -> Iterator[str]:
        """Yield its lines with their ends, unchanged; the first ones are not read again."""
        if skip < self.start.end:
            yield from io.StringIO(self.start.content[skip : self.start.end].decode(), newline="")
            skip = self.start.end
        if self.start.whole:
            return
        with io.TextIOWrapper(self.stream(skip), encoding="utf-8", newline="") as lines:
            yield from lines

    def records(self, lines: Iterator[str], before: int, width: int = 0) -> Iterator[tuple[int, list[str]]]:
        """Yield the records with the number of their first line; raises DataError at a broken one.

        Blank lines count if records have one cell.
        """
        for record in self.attempted(lines, before, width):
            if isinstance(record, Broken):
                raise record.error()
            yield record

    def attempted(self, lines: Iterator[str], before: int, width: int = 0) -> Iterator[tuple[int, list[str]] | Broken]:
        """Yield what `records` does, and a broken record as the last one."""
        reader = csv.reader(lines, delimiter=self.separator, strict=True)
        start = before
        try:
            for cells in reader:
                line, start = start + 1, before + reader.line_num
                if cells or width == 1:
                    yield line, self.input.without_markers(cells or [""])
        except csv.Error as error:
            yield Broken(self.path, str(error), start + 1, before + reader.line_num)

    def first_records(self, lines: Iterator[str], count: int, width: int = 0) -> tuple[list[list[str]], bool]:
        """Return the first records up to a broken one, and whether there is such; its error is for who reads all."""
        found = list(islice(self.attempted(lines, 0, width), count))
        whole = [record[1] for record in found if not isinstance(record, Broken)]
        return whole, len(whole) < len(found)


def survey_text(opened: Opened, input: Input, separator: str, watch: Watch | None = None) -> InputText:
    """Survey the text, once per encoding, for its size and faults of encoding; raises DataError.

    `watch` receives all of its bytes, without a byte order mark.
    """
    known: Surveyed | None = opened.surveys.get(input.encoding)
    if known is None or watch is not None:
        found = in_encoding(opened, input)
        known = Surveyed(*survey(text_stream(opened, found), opened.path, watch), found.encoding)
        opened.surveys[input.encoding] = known
    taken = () if known.encoding == input.encoding else ("the text is UTF-16",)
    input = input.replace(encoding=known.encoding) if taken else input
    return InputText(opened, input, separator, known.survey, known.start, taken)


def survey(stream: BinaryIO, path: str, watch: Watch | None = None) -> tuple[Survey, TextStart]:
    """Count lines, and look for numbers and quotes that the fast reader may misread; the first bytes are kept."""
    size = lines = ends = longest = open_line = quotes = 0
    tail, tiny, start = b"", False, b""
    while chunk := stream.read(CHUNK):
        start = start or chunk
        size += len(chunk)
        if watch is not None:
            watch(chunk)
        stops = np.flatnonzero(np.isin(np.frombuffer(chunk, np.uint8), (10, 13)))
        lengths = np.diff(stops, prepend=-1 - open_line) - 1
        longest = max(longest, int(lengths.max(initial=0)), open_line)
        lines, ends = lines + int(np.count_nonzero(lengths)), ends + len(stops)
        open_line = len(chunk) - 1 - int(stops[-1]) if len(stops) else open_line + len(chunk)
        quotes += chunk.count(b'"')
        tiny = tiny or TINY.search(tail + chunk) is not None or ZEROS in tail + chunk
        tail = chunk[-OVERLAP:]
        if max(longest, open_line) > LINE_LIMIT:
            raise DataError("LINE-SIZE", f"a line is longer than {LINE_LIMIT >> 20} MiB", where=place(path, lines + 1),
                            hint="is this a text table with line ends?")
    return Survey(size=size, lines=lines + (open_line > 0), ends=ends, longest=max(longest, open_line), tiny=tiny,
                  quotes=quotes), TextStart(start, whole=size == len(start))
