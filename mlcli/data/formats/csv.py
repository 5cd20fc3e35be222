"""CSV: texts with cells separated by a comma, unless another separator is detected; whole, or in blocks.

Cells become numbers in `data/text/delimited.py`.
"""

from collections.abc import Sequence
from functools import partial

from mlcli.base.values.compute import Compute
from mlcli.data.files.source import FileId, Opened
from mlcli.data.files.streams import seekable
from mlcli.data.formats.block_file import BlockFile, is_short
from mlcli.data.formats.reader import Reader
from mlcli.data.options.input import Input
from mlcli.data.text.delimited import read_delimited, text_bytes
from mlcli.data.text.records import Surveyed
from mlcli.errors import ConfigError

SHORTEST = 2  # bytes of a cell with its separator


def separated_by(usual: str) -> Reader:
    """Return the reader of texts with the default separator `usual`."""
    return Reader(text=partial(read_delimited, usual), blocks=partial(_blocks, usual),
                  parts=partial(_of_parts, usual), beside=bytes_beside)


def bytes_beside(opened: Opened, input: Input, shape: tuple[int, ...]) -> float:
    """Return the bytes that reading needs besides the table: parts of the text and the places of cells."""
    known: Surveyed | None = opened.surveys.get(input.encoding)
    return 0.0 if known is None else text_bytes(known.survey.longest, known.survey.size)


def _blocks(usual: str, opened: Opened, input: Input, compute: Compute, known: tuple[str, ...]) -> BlockFile | None:
    """Return a text in pieces; None if it cannot be cut, or its table fits in memory whatever its columns."""
    if not seekable(input) or is_short(opened.size / SHORTEST, input, compute):
        return None
    from mlcli.data.formats.csv_blocks import blocks_of

    return blocks_of(usual, opened, input, compute, known)


def _of_parts(usual: str, ids: Sequence[FileId], input: Input) -> BlockFile:
    """Return the table of the files of a folder, with the columns of the first one; raises ConfigError and DataError.
    """
    if not seekable(input):
        raise ConfigError("PARTS", "a directory of CSV files must be UTF-8", where="input.encoding",
                          hint="write them as UTF-8, or as one file")
    from mlcli.data.formats.csv_blocks import blocks_of_parts

    return blocks_of_parts(usual, ids, input)


READER = separated_by(",")
