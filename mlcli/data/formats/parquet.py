"""Parquet files, by row group and a few columns at a time; what texts grow to is bounded before they are decoded.

What a file says of its column chunks is not read: where that is damaged, Arrow ends the process.
"""

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any

from mlcli.base.frozen import frozen
from mlcli.base.values.compute import Compute
from mlcli.data.files.arrow import arrow_reading, pyarrow
from mlcli.data.files.source import Opened
from mlcli.data.files.streams import require_modest
from mlcli.data.formats.columns import TOGETHER, Columnar, is_text, numbered_batches, read_columns
from mlcli.data.options.input import Input
from mlcli.data.table.sheet import Sheet

BATCH = 1 << 16  # rows read at once
ROOM = 1 << 28  # bytes of texts decoded at once where each may repeat the one before it
NUMBER = 8  # bytes of a number at most


@frozen
class File:
    """A Parquet file, open in two ways."""

    kept: Any  # texts stay in their dictionaries, for a few bytes may name a long one a million times
    decoded: Any
    texts: int  # how many columns are texts


def read_parquet(opened: Opened, input: Input, compute: Compute) -> Sheet:
    """The numbers and names of a Parquet file."""
    from pyarrow import parquet

    pyarrow()
    with arrow_reading(opened.path, "Parquet", compute), opened.stream() as stream, opened.stream() as again:
        decoded = parquet.ParquetFile(stream, page_checksum_verification=True)
        names, types = decoded.schema_arrow.names, decoded.schema_arrow.types
        texts = [name for name, kind in zip(names, types, strict=True) if is_text(kind)]
        kept = parquet.ParquetFile(again, page_checksum_verification=True, read_dictionary=texts) if texts else decoded
        file = File(kept, decoded, len(texts))
        columnar = Columnar(names, types, decoded.metadata.num_rows, partial(_batches, file),
                            partial(require_modest_texts, decoded, opened.size, input, len(texts)))
        return read_columns(columnar, opened, input, compute)


def _batches(file: File, names: list[str]) -> Iterator[tuple[int, Any]]:
    """The row groups one after the other, some of their columns at a time."""
    start = 0
    for group in range(file.decoded.metadata.num_row_groups):
        for first in range(0, len(names), TOGETHER):
            for row, batch in numbered_batches(start, _of_group(file, group, names[first:first + TOGETHER])):
                batch.validate(full=True)  # Arrow does not look whether places lie within a damaged dictionary
                yield row, batch
        start += file.decoded.metadata.row_group(group).num_rows


def _of_group(file: File, group: int, names: list[str]) -> Iterator[Any]:
    """Batches of some columns of a row group.

    Texts stored as changes of the ones before come without dictionaries, and few at a time: each may be as long as all.
    """
    try:
        batches = file.kept.iter_batches(BATCH, [group], names)
        first = next(batches, None)
    except OSError as error:  # Arrow's word for encodings that it does not read into dictionaries
        if error.errno:
            raise
        rows = max(1, min(BATCH, ROOM // max(1, _text_bytes(file.decoded, group, file.texts))))
        batches = file.decoded.iter_batches(rows, [group], names)
        first = next(batches, None)
    return chain([] if first is None else [first], batches)


def _text_bytes(file: Any, group: int, texts: int) -> int:
    """The bytes of a row group before compression that are not numbers, where so many columns are texts."""
    chunks = file.metadata.row_group(group)
    return max(0, int(chunks.total_byte_size) - NUMBER * chunks.num_rows * (chunks.num_columns - texts))


def require_modest_texts(file: Any, stored: int, input: Input, texts: int, names: list[str]) -> int:
    """The bytes of texts, where some are wanted; raises DataError where they grow beyond the limits of `input`."""
    total = sum(_text_bytes(file, group, texts) for group in range(file.metadata.num_row_groups)) if names else 0
    require_modest(total, stored, "the text in the file", input)
    return total
