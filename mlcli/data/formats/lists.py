"""Lists in columnar files: elements of lists of one length are columns of numbers, called name[0], name[1] and so on.

Embeddings are stored so, as lists of fixed size, lists, or tensors of fixed shape.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.data.files.arrow import pyarrow
from mlcli.data.formats.arrow_numbers import as_doubles, is_numeric
from mlcli.data.options.wording import place, shown
from mlcli.errors import DataError

LONGEST = 1 << 20  # elements of a list at most: each is a column with a name
REMEDY = "give all lists one length, or choose other columns with {input.columns}"

Lengths = Mapping[str, int]  # of the lists in each column of such, by its name


@frozen
class Columns:
    """The columns of a file, the elements of lists in the place of these."""

    names: list[str]
    types: list[Any]
    lengths: Lengths

    @property
    def elements(self) -> int:
        """The number of columns that the file itself does not have."""
        return sum(self.lengths.values()) - len(self.lengths)


@frozen
class Origin:
    """A column of a file that numbers are read from."""

    places: Indices  # of its numbers in the table
    elements: Indices | None  # of its lists that these are; None for a column of numbers
    length: int  # of its lists

    @cached_property
    def slice(self) -> "slice | Indices":
        """The places, as a slice where they follow each other."""
        first, count = int(self.places[0]), len(self.places)
        return slice(first, first + count) if np.array_equal(self.places, np.arange(first, first + count)) else (
            self.places)

    def chosen(self, lists: Array) -> Array:
        """Return the elements among all of its lists, an (m, length) array."""
        whole = self.elements is None or np.array_equal(self.elements, np.arange(self.length))
        return lists if whole else lists[:, self.elements]


def columns_of(names: Sequence[str], types: Sequence[Any], first: Callable[[str], Iterable[Any]], *,
               texts: bool) -> Columns:
    """Return the columns of a file with the elements of lists; without lists where all are read as `texts`.

    `first` gives batches of one column, in which the length of its lists is looked up. A column without any list, or
    with lists of very many elements, stays what it is, which no table takes.
    """
    lengths: dict[str, int] = {}
    columns, kinds = list[str](), list[Any]()
    for name, kind in zip(names, types, strict=True):
        inner = element_type(kind)
        if texts and inner is not None:
            continue
        length = 0 if inner is None else _length_of(name, kind, first)
        if not 0 < length <= LONGEST:
            columns.append(name)
            kinds.append(kind)
        else:
            lengths[name] = length
            columns += [element_name(name, element) for element in range(lengths[name])]
            kinds += [inner] * lengths[name]
    return Columns(columns, kinds, lengths)


def element_name(name: str, element: int) -> str:
    """Return the name of an element of lists, from 0."""
    return f"{name}[{element}]"


def sources_of(names: Sequence[str], lengths: Lengths) -> dict[str, Origin]:
    """Return the columns of a file that columns of numbers with these names are read from."""
    known = {element_name(name, element): (name, element)
             for name, length in lengths.items() for element in range(length)}
    found: dict[str, tuple[list[int], list[int]]] = {}
    for position, name in enumerate(names):
        column, *element = known.get(name, (name,))
        places, elements = found.setdefault(str(column), ([], []))
        places.append(position)
        elements += map(int, element)
    return {name: Origin(np.array(places), np.array(elements) if elements else None, lengths.get(name, 1))
            for name, (places, elements) in found.items()}


def element_type(kind: Any) -> Any:
    """Return the type of the numbers in lists of a type; None for any other type."""
    types, kind = pyarrow().types, _stored(kind)
    if not (types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)):
        return None
    inner = kind.value_type
    return inner if is_numeric(inner) and not types.is_null(inner) else None


def _stored(kind: Any) -> Any:
    """Return the type in which values are stored: of a tensor of fixed shape a list."""
    return getattr(kind, "storage_type", kind)


def _length_of(name: str, kind: Any, first: Callable[[str], Iterable[Any]]) -> int:
    """Return the length of the lists of a column: that of their type, or of the first one; 0 without any."""
    kind = _stored(kind)
    if pyarrow().types.is_fixed_size_list(kind):
        return int(kind.list_size)
    lengths = (batch.column(0).value_lengths().drop_null() for batch in first(name))
    return next((int(known[0].as_py()) for known in lengths if len(known)), 0)


def list_numbers(column: Any, name: str, length: int, row: int, path: str) -> Array:
    """Return an Arrow array of lists as an (m, length) array; a row without a list has no number at all.

    `row` is the number of its first row in the file, from 0. Raises DataError for a list of another length.
    """
    column = getattr(column, "storage", column)
    there: AnyArray = column.is_valid().to_numpy(zero_copy_only=False)
    if not pyarrow().types.is_fixed_size_list(column.type):
        lengths = column.value_lengths().fill_null(length).to_numpy(zero_copy_only=False)
        if len(wrong := np.flatnonzero(lengths != length)):
            raise DataError("LISTS", f"row {row + int(wrong[0]) + 1}: the list of column {shown(name)} has "
                            f"{int(lengths[wrong[0]]):,} elements, and the first one {length:,}", where=place(path),
                            hint=REMEDY)
    numbers = as_doubles(numbers_in(column)).reshape(-1, length)
    if there.all():
        return numbers
    found = np.full((len(column), length), np.nan)
    found[there] = numbers
    return found


def numbers_in(column: Any) -> Any:
    """Return the elements of an Arrow array of lists, of the rows that have one."""
    return getattr(column, "storage", column).flatten()
