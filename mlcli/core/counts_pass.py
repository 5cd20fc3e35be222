"""A pass over rows that are not in memory: the numbers of some columns, and in how many rows each of them is."""

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from itertools import islice

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.source import RowPass, Rows
from mlcli.base.types import Array
from mlcli.engine.executor import results

PARTS = 64  # of a block, whose numbers are counted together


@frozen
class CountPass(RowPass):
    """A pass that counts the numbers of columns, as a source of blocks."""

    columns: Sequence[int]

    def work(self, number: int) -> list[Counter[float]]:
        """Return the counts of a block, one for each of the columns."""
        found, parts = [Counter[float]() for _ in self.columns], self.rows.parts(number)
        while some := [part[:, self.columns] for _, part in islice(parts, PARTS)]:
            for total, column in zip(found, np.concatenate(some).T, strict=True):
                total.update(counts_of(column))
        return found


def counts_of(values: Array) -> dict[float, int]:
    """Return the finite numbers of an (n,) array, in ascending order, with how often each occurs."""
    numbers, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    return dict(zip(numbers.tolist(), counts.tolist(), strict=True))


def count_numbers(rows: Rows, columns: Sequence[int]) -> dict[int, dict[float, int]]:
    """Return the finite numbers of some columns of rows, ascending, with how often each occurs: by one pass."""
    totals = {column: Counter[float]() for column in columns}
    if columns:
        with closing(results(CountPass(rows, columns))) as every:
            for found in every:
                for total, numbers in zip(totals.values(), found, strict=True):
                    total.update(numbers)
    return {column: dict(sorted(total.items())) for column, total in totals.items()}
