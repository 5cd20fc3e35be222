"""Ids: numbers of rows for a file without any, converted to text on demand, and the places of ids among others."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, overload

import numpy as np

from mlcli.base.types import AnyArray, Indices

ROW = "row"  # the header of numbers that no file gave as ids


class RowNumbers(Sequence[str]):
    """"1", "2", ... or some of these: equal to a tuple of the same texts, without the memory of millions of texts.

    With a prefix, as in "new1", they are ids of their own.
    """

    def __init__(self, numbers: range | Indices, prefix: str = "") -> None:
        self._numbers = numbers
        self.prefix = prefix

    @classmethod
    def up_to(cls, count: int) -> "RowNumbers":
        """Return the numbers from 1 to `count`."""
        return cls(range(1, count + 1))

    @classmethod
    def of_texts(cls, texts: Sequence[str]) -> "RowNumbers":
        """Return the numbers that texts stand for, as a file holds them; raises ValueError for any other text."""
        if isinstance(texts, cls):
            return texts
        numbers = np.array([int(text) if text.isascii() and text.isdigit() else 0 for text in texts], dtype=np.int64)
        if numbers.min(initial=1) < 1:
            raise ValueError("a text is no number of a row")
        return cls(numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> "RowNumbers": ...
    def __getitem__(self, place: int | slice) -> "str | RowNumbers":
        if isinstance(place, slice):
            return RowNumbers(self._numbers[place], self.prefix)
        return f"{self.prefix}{int(self._numbers[place])}"

    def __iter__(self) -> Iterator[str]:
        numbers = self._numbers if isinstance(self._numbers, range) else self._numbers.tolist()
        return (f"{self.prefix}{number}" for number in numbers) if self.prefix else map(str, numbers)

    def __eq__(self, other: Any) -> bool:
        if isinstance(other, RowNumbers) and self.prefix == other.prefix:
            if isinstance(self._numbers, range) and isinstance(other._numbers, range):
                return self._numbers == other._numbers
            return np.array_equal(self.array(), other.array())
        if isinstance(other, RowNumbers):
            return not len(self) and not len(other)
        return tuple(self) == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"RowNumbers({self._numbers!r}{self.prefix and f', {self.prefix!r}'})"

    def prefixed(self, prefix: str) -> "RowNumbers":
        """Return these numbers after a prefix."""
        return RowNumbers(self._numbers, prefix)

    def array(self) -> Indices:
        """Return the numbers as an array."""
        if isinstance(self._numbers, range):
            return np.arange(self._numbers.start, self._numbers.stop, self._numbers.step, dtype=np.int64)
        return self._numbers

    def take(self, rows: Sequence[int] | AnyArray) -> "RowNumbers":
        """Return the numbers of some of the rows, in the given order."""
        chosen = np.asarray(rows, dtype=np.int64)
        if isinstance(self._numbers, range):
            return RowNumbers(self._numbers.start + self._numbers.step * chosen, self.prefix)
        return RowNumbers(self._numbers[chosen], self.prefix)


def take_ids(ids: Sequence[str], rows: Indices) -> Sequence[str]:
    """Return the ids of the rows `rows`, numbers of shape (m,)."""
    return ids.take(rows) if isinstance(ids, RowNumbers) else tuple(ids[row] for row in rows.tolist())


def places_of(ids: Sequence[str], known: Sequence[str]) -> Indices | None:
    """Return the place of each id (n) among the known ones.

    None where they do not tell: for numbers of rows on either side, a known id that occurs twice, or one that is not
    known.
    """
    if isinstance(ids, RowNumbers) or isinstance(known, RowNumbers):
        return None
    places = {name: place for place, name in enumerate(known)}
    found = [places.get(name, -1) for name in ids]
    return None if len(places) < len(known) or -1 in found else np.array(found, dtype=np.int64)


def join_ids(parts: Sequence[Sequence[str]]) -> Sequence[str]:
    """Return the ids of consecutive parts of a table, each of the same prefix where they are numbers."""
    numbers = [part for part in parts if isinstance(part, RowNumbers)]
    if len(numbers) < len(parts):
        return tuple(chain(*parts))
    return RowNumbers(np.concatenate([part.array() for part in numbers]), numbers[0].prefix)
