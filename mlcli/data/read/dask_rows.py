"""Arrays and data frames of Dask: computed in blocks of rows where the first step can read these, else as a whole.

They are recognized by their attributes; Dask is not imported here. A block is computed by the scheduler that Dask uses
for the caller: threads of this machine, or a cluster.
"""

import hashlib
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.source import Part, Rows, as_array
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.data.formats.arrays import KINDS
from mlcli.data.formats.block_file import SMALL
from mlcli.data.options.input import Input
from mlcli.data.options.wording import words_of
from mlcli.data.table.sheet import FEWER, Sheet, numbered_names
from mlcli.data.table.table import HERE
from mlcli.errors import DataError

SHARE = 8  # of the memory: a larger table is computed in blocks
PART = 1 << 19  # numbers of rows that are worked on together: 4 MiB


def is_delayed(given: Any) -> bool:
    """Whether an object is an array or a data frame of Dask."""
    return hasattr(given, "__dask_graph__") and (hasattr(given, "rechunk") or hasattr(given, "to_dask_array"))


def computed_whole(given: Any, compute: Compute) -> Any:
    """Return an array of NumPy or a frame of pandas; raises RefusedByPlan, and DataError where Dask fails."""
    if hasattr(given, "rechunk") and not np.isnan(given.size):  # of a selection nobody has counted the rows
        compute.require_data(2 * 8.0 * given.size, "an array of Dask as a whole", FEWER)
    return _computed(given, "the array")


def sheet_in_blocks(given: Any, input: Input, compute: Compute, *, streams: bool,
                    coded: bool = False) -> tuple[Sheet, Any] | None:
    """Return the numbers of an array or a frame in blocks, and a frame of pandas of a frame's other columns.

    None where it is to be computed as a whole: where the next step does not `streams`, or where the table takes little
    of the memory and blocks were not asked for (`input.stream`), or where columns of texts are to be `coded` as
    categories. Raises DataError where Dask fails.
    """
    if not streams or input.kind != "features" or input.stream == "never":
        return None
    framed = hasattr(given, "to_dask_array")
    numbers = [name for name, kind in given.dtypes.items() if kind.kind in KINDS] if framed else []
    if framed and (not numbers or (coded and len(numbers) < len(given.columns))):
        return None  # reading it as a whole codes texts, or refuses them
    array = _failing(lambda: given[numbers].to_dask_array(lengths=True), "the lengths of its partitions") if framed \
        else given
    if array.ndim != 2 or array.dtype.kind not in KINDS:
        return None
    if np.isnan(array.size):
        array = _failing(array.compute_chunk_sizes, "the lengths of its chunks")
    size = 8.0 * array.size
    if input.stream != "always" and (size <= SMALL or size <= compute.memory_bytes() / SHARE):
        return None
    source = DelayedRows(array if len(array.chunks[1]) == 1 else array.rechunk({1: -1}))
    values = as_array(Rows(source))
    if not framed:
        return Sheet(values, numbered_names("x", source.columns), False), None
    others = _computed(given[[name for name in given.columns if name not in numbers]], "its columns of texts")
    counted = others.index.dtype.kind in KINDS and others.index.name is None  # rows, from 0 in each partition
    return Sheet(values, tuple(map(str, numbers)), True), others.reset_index(drop=True) if counted else others


def _computed(given: Any, what: str) -> Any:
    """Return the values; raises DataError with Dask's words."""
    return _failing(given.compute, what)


def _failing(compute: Callable[[], Any], what: str) -> Any:
    """Return what Dask computes; raises DataError with its words for whatever the code of the graph raises."""
    try:
        return compute()
    except MemoryError:
        raise
    except Exception as error:
        raise DataError("ARRAY", f"Dask cannot compute {what}: {words_of(error)}", where=HERE,
                        hint="compute it once without mlcli to see why") from None


@frozen
class DelayedRows:
    """The rows of an array of Dask (n x d), of which each chunk of rows is a block."""

    array: Any

    direct = False

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        """The first row of every block, then the number of rows."""
        return (0, *np.cumsum(self.array.chunks[0]).tolist())

    @property
    def columns(self) -> int:
        """Numbers in a row."""
        return int(self.array.shape[1])

    @property
    def part(self) -> int:
        """Rows that are worked on together."""
        return max(min(PART // max(self.columns, 1), max(self.array.chunks[0])), 1)

    @property
    def buffer_bytes(self) -> int:
        """Bytes of a block, as Dask computes it and in double precision."""
        return 2 * 8 * max(self.array.chunks[0]) * self.columns

    def parts(self, number: int) -> Iterator[Part]:
        """The rows of a block, a few at a time; raises DataError where Dask cannot compute them."""
        first, last = self.bounds[number : number + 2]
        rows = np.asarray(_computed(self.array[first:last], f"its rows {first + 1} to {last}"), dtype=np.float64)
        for start in range(0, len(rows), self.part):
            yield first + start, rows[start : start + self.part]

    def take(self, chosen: Indices) -> Array:
        """Single rows (m x d), by the blocks that hold them."""
        return np.asarray(_computed(self.array[chosen], "some of its rows"), dtype=np.float64)

    @cached_property
    def _hash(self) -> str:
        hashed = hashlib.sha256()
        for number in range(len(self.bounds) - 1):
            for _, rows in self.parts(number):
                hashed.update(np.ascontiguousarray(rows).data)
        return hashed.hexdigest()

    def key(self) -> str:
        """The hash of the content, for which all blocks are computed once more."""
        return self._hash
