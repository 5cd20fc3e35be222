"""Tables that are read in blocks of rows, because they do not fit in memory or on request.

One pass reads every number: it finds gaps, sums moments for means and covariances, and keeps a sample of
rows.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np

from mlcli.base.context import context
from mlcli.base.frozen import frozen
from mlcli.base.machine.footprint import ARROW, ARROW_COLUMN, COLUMN, resident
from mlcli.base.rows.moments import Moments
from mlcli.base.rows.passes import column_of
from mlcli.base.rows.source import Rows, as_array, rows_of
from mlcli.base.rows.sparse import SparseRows, is_sparse
from mlcli.base.stages.stage import note
from mlcli.base.types import Indices
from mlcli.base.values.compute import Compute
from mlcli.core.moments_pass import gather, pass_bytes, sample_of, sketch_rows
from mlcli.data.formats.block_file import BlockFile, texts_of
from mlcli.data.options.input import Input
from mlcli.data.options.numbers import EXACT
from mlcli.data.options.wording import counted
from mlcli.data.read.id_columns import require_no_ids_in
from mlcli.data.read.some_rows import SomeRows
from mlcli.data.read.square_blocks import points_in, streamed_square
from mlcli.data.table.cells import warn_of_underflow
from mlcli.data.table.row_numbers import ROW, RowNumbers
from mlcli.data.table.sheet import require_unique_ids
from mlcli.data.table.table import Source, Table
from mlcli.data.text.rows import TextRows, Underflows
from mlcli.engine.executor import results

SAMPLED, NUMBERS = 4096, 1 << 21  # most rows of the sample, and most numbers
IN_MEMORY = 1 << 24  # most numbers of the sample of a sparse table, whose rows are in memory
FEWEST = 64  # least rows of the sample
SAFE = 0.9  # share of the memory for blocks that are read in parallel


@frozen
class Unread(Table):
    """A table whose numbers are not yet read, with the types of its columns if the file has them."""

    types: Sequence[Any] = ()


def unread_table(found: BlockFile, columns: Sequence[str], input: Input, source: Source) -> Unread:
    """Return the table of a file without reading its numbers: for rows that are used one by one, or chosen."""
    if input.square:
        points = points_in(found.file, input)
        return Unread(as_array(Rows(found.file)), tuple(points), points, ROW, kind=input.kind, source=source)
    named, rows = texts_of(found, input), Rows(found.file)
    ids: Sequence[str] = RowNumbers.up_to(len(rows)) if named.ids is None else named.ids
    require_unique_ids(ids, input.path)
    return Unread(as_array(rows), tuple(columns), ids, named.id_header, named.labels, "features", source,
                  image=found.image, point=named.point, types=found.types)


def streamed_table(found: BlockFile, input: Input, compute: Compute, source: Source) -> Table:
    """Return the table of a file, after one pass over it."""
    return after_first_pass(unread_table(found, found.choice.columns, input, source), input, compute)


def after_first_pass(table: Table, input: Input, compute: Compute) -> Table:
    """Return a table in blocks with its moments, sample and gaps, after one pass over its rows.

    Raises DataError and RefusedByPlan.
    """
    rows = rows_of(table.values)
    assert rows is not None
    if input.square:
        return streamed_square(table, rows, input, compute)
    rows = replace(rows, lanes=_lanes(rows, compute))
    chosen = _sampled(rows, compute)
    if context().sketch and not is_sparse(rows) and (sketch := sketch_rows(rows, chosen)) is not None:
        _tell(rows, chosen)
        return replace(table, values=as_array(sketch))
    sums = gather(rows, chosen)
    _warn_inexact(table.columns, table.types if isinstance(table, Unread) else (), sums.moments)
    file = rows.source.source if isinstance(rows.source, SomeRows) else rows.source
    if isinstance(file, TextRows) and any(text.survey.tiny for text in file.files):
        with closing(results(Underflows(file))) as every:
            warn_of_underflow(sum(every))
    sample = sample_of(sums, chosen, rows.shape[1])
    require_no_ids_in(table, sample.values, table.numbers[sample.places] - 1, input,
                      lambda column: (column_of(rows, column), table.numbers - 1))
    _tell(rows, chosen)
    return replace(table, values=as_array(replace(rows, moments=sums.moments, sample=sample, gaps=sums.gaps)))


def _lanes(rows: Rows, compute: Compute) -> int:
    """Return the number of blocks to read in parallel: one for each thread if memory allows; raises RefusedByPlan.

    Sums are added in the order of the blocks, so that the result does not depend on it.
    """
    threads, arrow = compute.thread_count(), not rows.source.direct
    columns = rows.shape[1]
    alone = (resident(threads, [ARROW] * arrow) + pass_bytes(columns, 0) + 8.0 * len(_sampled(rows, compute)) * columns
             + (COLUMN + ARROW_COLUMN * arrow) * columns)
    each = rows.nbytes + pass_bytes(columns, 1) - pass_bytes(columns, 0)
    compute.require(alone + each, "a block of the table", "choose fewer columns")
    return max(1, min(threads, int((SAFE * compute.memory_bytes() - alone) / max(each, 1.0))))


def _tell(rows: Rows, chosen: Indices) -> None:
    """Note how the table is read or stored."""
    of_rows = f"measures of single rows use a sample of {len(chosen):,}"
    if isinstance(rows.source, SparseRows):
        entries = int(rows.source.matrix.nnz)
        note("N-SPARSE-ROWS", f"the table of {len(rows):,} x {rows.shape[1]:,} numbers is kept sparse ({entries:,} "
             f"non-zero entries); {of_rows}", entries=entries, sample=len(chosen))
    else:
        note("N-STREAMED", f"the table of {len(rows):,} x {rows.shape[1]:,} numbers is read in "
             f"{counted(rows.blocks, 'block')} of rows; {of_rows}", blocks=rows.blocks, sample=len(chosen))


def _sampled(rows: Rows, compute: Compute) -> Indices:
    """Return the sampled rows, which stay in memory; the first and the last are among them."""
    numbers = IN_MEMORY if isinstance(rows.source, SparseRows) else NUMBERS
    count = min(len(rows), max(FEWEST, min(SAMPLED, numbers // rows.shape[1])))
    drawn = compute.generator().choice(len(rows), count, replace=False)
    return np.unique(np.concatenate([drawn, [0, len(rows) - 1]]))


def _warn_inexact(columns: Sequence[str], types: Sequence[Any], moments: Moments) -> None:
    """Warn about integers that lost digits."""
    sizes = moments.plain.sizes
    names = [name for name, kind, size in zip(columns, types, sizes, strict=False)
             if "int64" in str(kind) and size >= EXACT]
    if names:
        note("W-INT-PRECISION", f"integers above 2**53 were rounded in {counted(len(names), 'column')}",
             columns=names[:100])
