"""Ids of rows without ids: their numbers, converted to text on demand."""

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np

from mlcli.base.types import AnyArray, Indices


class RowNumbers(Sequence[str]):
    """"1", "2", ... or some of these: equal to a tuple of the same texts, without the memory of millions of texts."""

    def __init__(self, numbers: range | Indices) -> None:
        self._numbers = numbers

    @classmethod
    def up_to(cls, count: int) -> "RowNumbers":
        """Return the numbers from 1 to `count`."""
        return cls(range(1, count + 1))

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> "RowNumbers": ...
    def __getitem__(self, place: int | slice) -> "str | RowNumbers":
        return RowNumbers(self._numbers[place]) if isinstance(place, slice) else str(int(self._numbers[place]))

    def __iter__(self) -> Iterator[str]:
        return map(str, self._numbers if isinstance(self._numbers, range) else self._numbers.tolist())

    def __eq__(self, other: Any) -> bool:
        if isinstance(other, RowNumbers):
            if isinstance(self._numbers, range) and isinstance(other._numbers, range):
                return self._numbers == other._numbers
            return np.array_equal(self.array(), other.array())
        return tuple(self) == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"RowNumbers({self._numbers!r})"

    def array(self) -> Indices:
        """Return the numbers as an array."""
        if isinstance(self._numbers, range):
            return np.arange(self._numbers.start, self._numbers.stop, self._numbers.step, dtype=np.int64)
        return self._numbers

    def take(self, rows: Sequence[int] | AnyArray) -> "RowNumbers":
        """Return the numbers of some of the rows, in the given order."""
        chosen = np.asarray(rows, dtype=np.int64)
        if isinstance(self._numbers, range):
            return RowNumbers(self._numbers.start + self._numbers.step * chosen)
        return RowNumbers(self._numbers[chosen])


def take_ids(ids: Sequence[str], rows: Indices) -> Sequence[str]:
    """Return the ids of the rows `rows`, numbers of shape (m,)."""
    return ids.take(rows) if isinstance(ids, RowNumbers) else tuple(ids[row] for row in rows.tolist())
