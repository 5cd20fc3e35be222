"""The memory that reading a file takes beside its table, by its format and what it says of its parts."""

from mlcli.data.files.source import Opened
from mlcli.data.files.streams import in_encoding
from mlcli.data.formats.columns import TOGETHER, sizes_of_file
from mlcli.data.formats.row_files import ALLOCATED, column_bytes, encoded, parquet_file
from mlcli.data.options.input import Input
from mlcli.data.text.csv_options import text_bytes

BATCHES = 2  # record batches of an Arrow file
BATCH = 1 << 16  # rows of a Parquet file that are decoded at once


def reading_bytes(opened: Opened, input: Input, format: str, shape: tuple[int, ...]) -> float:
    """The bytes that reading a table of this shape takes beside its numbers; 0 where they are read into their place."""
    if format in ("csv", "tsv"):
        survey = opened.surveys.get(in_encoding(opened, input).encoding)
        return 0.0 if survey is None else text_bytes(survey.longest, survey.size)
    table, columns = 8.0 * shape[0] * shape[-1], min(shape[-1], TOGETHER)
    if format == "arrow":
        sizes = sizes_of_file(opened)
        return table if sizes is None else min(table, BATCHES * 8.0 * max(sizes, default=0) * shape[-1])
    if format == "parquet":
        with opened.stream() as stream:
            rows, stored = encoded(parquet_file(stream).metadata)
        return ALLOCATED * columns * column_bytes(min(BATCH, rows), rows, stored)
    return 0.0
