"""A table that is read in blocks of rows, because memory does not hold it or because the user says so.

One pass looks at every number: it finds gaps, sums what means and covariances follow from, and keeps a sample of rows.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mlcli.base.compute import Compute
from mlcli.base.footprint import resident
from mlcli.base.frozen import frozen
from mlcli.base.moments import Moments
from mlcli.base.rows import Rows, Sample, as_array
from mlcli.base.stage import note
from mlcli.base.types import Indices
from mlcli.data.arrow import arrow_reading
from mlcli.data.columns import Columnar, choose_columns, is_text, require_numeric
from mlcli.data.digest import state
from mlcli.data.input import Input
from mlcli.data.npy import read_header, require_kind, require_size
from mlcli.data.numbers import EXACT
from mlcli.data.parquet import require_modest_texts
from mlcli.data.row_files import BUFFERED as LARGE
from mlcli.data.row_files import ArrowRows, FileId, NpyRows, ParquetRows, RowFile, arrow_reader, parquet_file
from mlcli.data.row_numbers import RowNumbers
from mlcli.data.selection import Choice, choose
from mlcli.data.sheet import Sheet, numbered, require_content, require_unique_ids
from mlcli.data.source import Opened
from mlcli.data.streamed_square import streamed_square
from mlcli.data.table import Source, Table
from mlcli.data.wording import counted, place
from mlcli.data.words import with_row_names
from mlcli.engine.executor import results
from mlcli.errors import ConfigError, DataError
from mlcli.stages.algebra.gathering import gathered, sample_of

SAMPLED, NUMBERS = 4096, 1 << 21  # rows of the sample, at most, and numbers of it
FEWEST = 64  # rows of it at least
FARTHEST = 2.0**400  # size of numbers whose squares are summed
WHOLE, SQUARE = 2, 4  # arrays of the size of a table, and of a matrix, that a run holds which has it in memory


@frozen
class Found:
    """A file that can be read in blocks, with what it says of its columns."""

    file: RowFile
    choice: Choice
    types: Sequence[Any] = ()

    @property
    def bytes(self) -> float:
        """The memory that all of its numbers would take."""
        return 8.0 * self.file.bounds[-1] * self.file.columns


@frozen
class Texts:
    """The ids and labels of a file: a source of blocks."""

    file: RowFile
    names: tuple[str, ...]

    @property
    def blocks(self) -> int:
        """How many blocks of work there are."""
        return len(self.file.bounds) - 1

    def work(self, number: int) -> list[list[str]]:
        """The columns of texts of a block."""
        return self.file.texts(number, self.names)

    def stop(self) -> None:
        """Blocks are short."""


def found_in(opened: Opened, input: Input, format: str, compute: Compute) -> Found | None:
    """The file as it can be read in blocks; None where its format, or the way it is read, does not allow that."""
    kinds = ("npy",) if input.kind == "dissimilarities" else tuple(FINDERS) if input.kind == "features" else ()
    if format not in kinds or input.transpose or input.view.path is not None or opened.content is not None:
        return None
    with arrow_reading(opened.path, format, compute):
        return FINDERS[format](opened, input)


def in_blocks(found: Found | None, input: Input, compute: Compute) -> bool:
    """Whether a file is read in blocks: where it is asked for, or where the memory does not hold the table.

    Raises ConfigError where blocks are asked for in vain.
    """
    if input.stream == "never":
        return False
    if input.stream == "always":
        if found is None:
            raise ConfigError("STREAM", "only features in Parquet, Arrow IPC and NPY files, and "
                              "dissimilarities in square NPY files, are read in blocks",
                              where="input.stream", hint="convert the file, or leave input.stream out")
        return True
    copies = SQUARE if input.square else WHOLE
    needed = 0.0 if found is None else resident(compute.thread_count()) + copies * found.bytes
    return found is not None and needed > compute.memory_bytes()


def streamed_table(found: Found, input: Input, compute: Compute, source: Source) -> Table:
    """The table of a file, by one pass over it."""
    if input.square:
        return streamed_square(found.file, input, compute, source)
    file, choice, chosen = found.file, found.choice, _sampled(found.file, compute)
    rows = Rows(file)
    compute.require(resident(compute.thread_count()) + compute.thread_count() * rows.nbytes, "a block of the table",
                    "choose fewer columns")
    sums = gathered(rows, chosen)
    _require_range(sums.moments, input.path)
    _warn_inexact(found, sums.moments)
    named = texts_of(found, input)
    sample = sample_of(sums, chosen, file.columns)
    if named.ids is None and not input.columns:
        _warn_of_ids(choice, sums.moments, sample)
    ids: Sequence[str] = RowNumbers.up_to(file.bounds[-1]) if named.ids is None else named.ids
    require_unique_ids(ids, input.path)
    note("N-STREAMED", f"the table of {len(rows):,} x {file.columns:,} numbers is read in "
         f"{counted(rows.blocks, 'block')} of rows; what looks at single rows takes {len(chosen):,} of them",
         blocks=rows.blocks, sample=len(chosen))
    values = as_array(replace(rows, moments=sums.moments, sample=sample, gaps=sums.gaps))
    return Table(values, choice.columns, ids, named.id_name or "id", named.labels, "features", source)


def _sampled(file: RowFile, compute: Compute) -> Indices:
    """The rows that are kept in memory, the first and the last among them."""
    rows = file.bounds[-1]
    count = min(rows, max(FEWEST, min(SAMPLED, NUMBERS // file.columns)))
    drawn = compute.generator().choice(rows, count, replace=False)
    return np.unique(np.concatenate([drawn, [0, rows - 1]]))


def texts_of(found: Found, input: Input) -> Sheet:
    """A sheet without numbers: the ids, where the file has any, and the labels."""
    choice = found.choice
    bare = Sheet(np.empty((0, len(choice.columns))), choice.columns, named=True)
    wanted = [column for column in (choice.id, *choice.labels) if column is not None]
    if isinstance(found.file, NpyRows) and wanted:
        raise ConfigError("STREAM", "ids and labels of an NPY file are not read in blocks", where="input.stream",
                          hint="write the table as Parquet, or choose its other columns")
    if not wanted:
        return bare
    names = tuple(choice.names[column] for column in wanted)
    columns: list[list[str]] = [[] for _ in names]
    with closing(results(Texts(found.file, names))) as every:
        for block in every:
            for texts, some in zip(columns, block, strict=True):
                texts.extend(some)
    by_name = dict(zip(names, map(tuple, columns), strict=True))
    ids = None if choice.id is None else by_name[choice.id_name]
    labels = {choice.names[column]: by_name[choice.names[column]] for column in choice.labels}
    return with_row_names(replace(bare, ids=ids, id_name=choice.id_name, labels=labels, words=choice.word_names))


def _require_range(moments: Moments, path: str) -> None:
    """Refuses numbers whose squares leave the range of doubles, or lose digits at its end."""
    sizes = np.maximum(np.abs(moments.least), np.abs(moments.most))
    if moments.rows and np.any((sizes > FARTHEST) | ((sizes > 0) & (sizes < 1 / FARTHEST))):
        raise DataError("OVERFLOW", "some numbers are too large or too small for sums of their squares",
                        where=place(path), hint="rescale the columns, or give more memory (--memory-limit)")


def _warn_inexact(found: Found, moments: Moments) -> None:
    """Notes integers that lost digits."""
    sizes = np.maximum(-moments.least, moments.most)
    names = [name for name, kind, size in zip(found.choice.columns, found.types, sizes, strict=False)
             if "int64" in str(kind) and size >= EXACT]
    if names:
        note("W-INT-PRECISION", f"integers above 2**53 were rounded in {counted(len(names), 'column')}",
             columns=names[:100])


def _warn_of_ids(choice: Choice, moments: Moments, sample: Sample) -> None:
    """Notes a first column that counts the rows, as ids do."""
    counts = sample.values[:, 0] - sample.places
    if len(choice.columns) > 1 and len(counts) > 2 and np.ptp(counts) == 0 and counts[0] == np.floor(counts[0]):
        note("W-ID-LIKE", f"the first column, {choice.columns[0]!r}, counts the rows and is used as a feature; "
             f"if it names them, give --id-column {choice.columns[0]}", column=choice.columns[0])


def _parquet(opened: Opened, input: Input) -> Found:
    with opened.stream() as stream:
        file, id = parquet_file(stream), FileId(opened.path, state(opened.descriptor))
        schema, data = file.schema_arrow, file.metadata
        sizes = [data.row_group(number).num_rows for number in range(data.num_row_groups)]
        large = any(data.row_group(number).total_byte_size > LARGE for number in range(data.num_row_groups))
        firsts = np.cumsum([0, *sizes]).tolist()
        groups = tuple((id, number, firsts[number]) for number, size in enumerate(sizes) if size)
        texts = sum(map(is_text, schema.types))
        columnar = Columnar(schema.names, schema.types, data.num_rows, lambda names: iter(()),
                            partial(require_modest_texts, file, opened.size, input, texts))
        choice = chosen_columns(columnar, input)
        return Found(ParquetRows(groups, firsts[-1], choice.columns, large), choice, types_of(schema, choice))


def _arrow(opened: Opened, input: Input) -> Found | None:
    with opened.stream() as stream:
        if stream.read(6) != b"ARROW1":
            return None  # a stream has no batches by number
        stream.seek(0)
        reader = arrow_reader(stream)
        sizes = [reader.get_batch(number).num_rows for number in range(reader.num_record_batches)]
        bounds = np.cumsum([0, *sizes]).tolist()
        schema = reader.schema
        choice = chosen_columns(Columnar(schema.names, schema.types, bounds[-1], lambda names: iter(())), input)
        id = FileId(opened.path, state(opened.descriptor))
        return Found(ArrowRows(id, tuple(bounds), choice.columns), choice, types_of(schema, choice))


def chosen_columns(file: Columnar, input: Input) -> Choice:
    """The columns of a columnar file, checked as where it is read whole."""
    choice = choose_columns(file, input)
    require_numeric(file.types, choice, input.path)
    require_content(file.rows, choice.width, input.path)
    file.require([choice.names[column] for column in (choice.id, *choice.texts) if column is not None])
    return choice


def types_of(schema: Any, choice: Choice) -> list[Any]:
    """The types of the columns of numbers."""
    return [schema.types[column] for column in choice.values]


def _npy(opened: Opened, input: Input) -> Found | None:
    with opened.stream() as stream:
        header = read_header(stream, opened.path)
    require_kind(header, input, opened.path)
    require_size(header, opened.size, opened.path)
    if header.fortran or header.dtype.itemsize > 8 or len(header.shape) != 2:
        return None
    require_content(header.shape[0], header.shape[1], opened.path)
    choice = choose(numbered("x", header.shape[1]), input)
    columns: Indices = np.asarray(choice.values, dtype=np.int64)
    chosen = None if len(columns) == header.shape[1] else columns
    return Found(NpyRows(FileId(opened.path, state(opened.descriptor)), header, chosen), choice)


FINDERS: dict[str, Callable[[Opened, Input], Found | None]] = {"parquet": _parquet, "arrow": _arrow, "npy": _npy}
