"""Columnar files: chosen columns as numbers, ids and labels, whole or by groups of rows; lists as columns.

Lists of one length are columns: embeddings are stored so, as lists of fixed size, lists, or tensors of fixed shape.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from csv import field_size_limit
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self, cast

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.stages.stage import advance, no_listeners
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.naming import LISTED, shown
from mlcli.data.files.arrow import corrupt, pyarrow
from mlcli.data.files.source import Opened
from mlcli.data.formats.block_file import part_rows
from mlcli.data.options.input import Input, categories_hint, with_categories, with_found, without_roles
from mlcli.data.options.numbers import EXACT
from mlcli.data.options.texts import of_dates, with_proposal
from mlcli.data.options.wording import counted, joined, place
from mlcli.data.table.cells import warn_of_rounding
from mlcli.data.table.selection import Choice, choose, choose_pairs
from mlcli.data.table.sheet import FEWER, Sheet, content_error, require_content
from mlcli.errors import DataError


def is_numeric(kind: Any) -> bool:
    """Whether an Arrow type is of numbers (a column of nulls counts)."""
    types = pyarrow().types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind)
                or types.is_null(kind))


def as_doubles(column: Any) -> Array:
    """Return a numeric column in double precision; nulls are NaN."""
    arrow = pyarrow()
    if arrow.types.is_decimal(column.type):
        column = column.cast(arrow.string())  # parsing is exact; a direct cast may be off by one bit
    if arrow.types.is_boolean(column.type):
        column = column.cast(arrow.uint8())
    values: Array = column.cast(arrow.float64(), safe=False).to_numpy(zero_copy_only=False)
    return values


def is_inexact(column: Any) -> bool:
    """Whether integers are too large for double precision."""
    arrow = pyarrow()
    if not arrow.types.is_integer(column.type) or column.type.bit_width < 64 or column.null_count == len(column):
        return False
    from pyarrow import compute

    extremes = compute.min_max(column).as_py()
    return bool(max(abs(extremes["min"]), abs(extremes["max"])) > EXACT)


PANDAS_INDEX = "__index_level_0__"
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
    def index(self) -> int | None:
        """The column that is the index of a frame of pandas, or None."""
        return self.names.index(PANDAS_INDEX) if self.names.count(PANDAS_INDEX) == 1 else None

    def types_of(self, choice: Choice) -> list[Any]:
        """Return the types of the columns of numbers."""
        return [self.types[column] for column in choice.values]

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


def list_numbers(column: Any, name: str, length: int, row: int, path: str, hint: str = REMEDY) -> Array:
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
                            hint=hint)
    numbers = as_doubles(numbers_in(column)).reshape(-1, length)
    if there.all():
        return numbers
    found = np.full((len(column), length), np.nan)
    found[there] = numbers
    return found


def numbers_in(column: Any) -> Any:
    """Return the elements of an Arrow array of lists, of the rows that have one."""
    return getattr(column, "storage", column).flatten()


TOGETHER = 24  # columns transposed in one step: few enough for the memory, enough to fill cache lines
ROWS = 4096  # rows transposed in one step
Require = Callable[[list[str]], int]  # the bytes of the texts in some columns, after a check of limits


def no_limits(names: list[str]) -> int:
    """Require nothing of columns of text."""
    return 0


@frozen
class Columnar:
    """An open columnar file: its announced content, and its batches, which can be read repeatedly."""

    columns: Columns
    rows: int
    batches: Callable[[list[str]], Iterator[tuple[int, Any]]]  # each with its first row
    require: Require = no_limits


def numbered_batches(row: int, batches: Iterator[Any]) -> Iterator[tuple[int, Any]]:
    """Yield consecutive batches, each with its first row."""
    for batch in batches:
        yield row, batch
        row += batch.num_rows


def read_columns(file: Columnar, opened: Opened, input: Input, compute: Compute) -> Sheet:
    """Read the chosen columns, after a check of the announced sizes against memory."""
    choice = choose_columns(file.columns, input)
    if opened.lists and file.rows and _texts_among(file.columns.types, choice):
        choice = _list_of_pairs(file.columns, input) or choice
    if (error := _text_error(file, choice, input)) is not None:
        raise _with_proposal(error, file, opened, input, compute, alone=not choice.width)
    require_numeric(file.columns.types, choice, input)
    columns = len(choice.values)
    require_content(file.rows, choice.width, opened.path)
    sources = sources_of(choice.columns, file.columns.lengths)
    wanted = [*dict.fromkeys((*sources, *(choice.names[column] for column in _text_columns(choice))))]
    texts = file.require([choice.names[column] for column in _text_columns(choice)])
    compute.require_data(8.0 * file.rows * columns + texts, f"a table of {file.rows:,} x {columns:,} numbers"
                         + (f" with {texts:,} bytes of ids and labels" if texts else ""),
                         FEWER)
    taken = ColumnTable(choice, np.empty((file.rows, columns)), sources)
    for row, batch in file.batches(wanted):
        taken.add(row, batch, opened.path)
        advance(taken.cells // len(wanted), file.rows)
    if taken.cells != file.rows * len(wanted):
        raise corrupt(opened.path, "columnar", ValueError(f"{file.rows} rows announced, and some are missing"))
    warn_of_rounding(sorted(taken.inexact))
    labels = {choice.names[column]: tuple(taken.texts[choice.names[column]]) for column in choice.texts}
    ids = None if choice.id is None else tuple(taken.texts[choice.id_name])
    id_name = "" if choice.id_name == PANDAS_INDEX else choice.id_name
    return Sheet(taken.values, choice.columns, True, ids, id_name, labels, words=choice.word_names,
                 listed=choice.listed)


def choose_columns(columns: Columns, input: Input) -> Choice:
    """Choose the columns to read; pandas' index contains the ids, and so does a first text column of a square file."""
    names, row_names = columns.names, columns.index
    if row_names is None and input.square and names and is_text(columns.types[0]):
        row_names = 0
    words = [] if input.square else [column for column, kind in enumerate(columns.types) if is_text(kind)]
    choice = choose(names, input, row_names, words)
    texts = [names[column] for column in _texts_among(columns.types, choice)]
    return choice if (again := with_found(input, texts)) is None else choose_columns(columns, again)


def _list_of_pairs(columns: Columns, input: Input) -> Choice | None:
    """Choose the columns of a list of pairs, two of text and one of numbers; None for a file of another kind."""
    words = [column for column, kind in enumerate(columns.types) if is_text(kind)]
    choice = choose_pairs(columns.names, without_roles(input), columns.index, words)
    known = choice is not None and all(is_numeric(columns.types[column]) for column in choice.values)
    return choice if known else None


def _texts_among(types: Sequence[Any], choice: Choice) -> list[int]:
    """Return the columns of text among those of numbers, where no column of another type is there."""
    others = [column for column in choice.values if not is_numeric(types[column])]
    return others if all(is_text(types[column]) for column in others) else []


def _text_error(file: Columnar, choice: Choice, input: Input) -> DataError | None:
    """Return the error of columns of text where numbers were expected, or None."""
    if _texts_among(file.columns.types, choice):
        return numeric_error(file.columns.types, choice, input)
    return content_error(file.rows, 0, input.path) if choice.words and not choice.width else None


def _with_proposal(error: DataError, file: Columnar, opened: Opened, input: Input, compute: Compute, *,
                   alone: bool) -> DataError:
    """Return the error of columns of text with what their cells propose, where the input asks for it."""
    if not opened.proposes or not file.rows:
        return error
    asked = with_categories(input, (), "categories", found=True)
    with no_listeners():
        texts = read_columns(file, opened, asked, compute).labels
    names = choose_columns(file.columns, asked).category_names
    return with_proposal(error, {name: texts[name] for name in names}, alone=alone)


def chosen_columns(columns: Columns, rows: int, input: Input, require: Require = no_limits) -> Choice:
    """Choose and check the columns of a columnar file, as `read_columns` does."""
    choice = choose_columns(columns, input)
    require_numeric(columns.types, choice, input)
    require_content(rows, choice.width, input.path)
    require([choice.names[column] for column in _text_columns(choice)])
    return choice


def _text_columns(choice: Choice) -> list[int]:
    """Return the columns of ids, labels and categories."""
    return [column for column in (choice.id, *choice.texts) if column is not None]


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is of texts."""
    types = pyarrow().types
    if types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def require_numeric(types: list[Any], choice: Choice, input: Input) -> None:
    """Raise DataError for columns whose type does not fit their use, each with its type."""
    if (error := numeric_error(types, choice, input)) is not None:
        raise error


def numeric_error(types: Sequence[Any], choice: Choice, input: Input) -> DataError | None:
    """Return the error for columns whose type does not fit their use, each with its type, or None."""
    bad = [column for column in choice.values if not is_numeric(types[column])]
    if bad:
        parts = [f"{shown(choice.names[column])} is of type {types[column]}" for column in bad[:LISTED]]
        texts = all(is_text(types[column]) for column in bad)
        dates = all(pyarrow().types.is_temporal(types[column]) for column in bad)
        nested = any(pyarrow().types.is_nested(types[column]) for column in bad)
        return DataError("TEXT-COLUMN" if texts else "COLUMN-TYPE",
                         f"{counted(len(bad), 'column')} cannot be used as numbers: {joined(parts, len(bad))}",
                         where=place(input.path),
                         hint="choose others with {input.columns}" if nested else
                             of_dates([choice.names[column] for column in bad]) if dates else
                             "name it with {input.id_column} or {input.label_columns}, or choose others with "
                             "{input.columns}" + (categories_hint(input) if texts else ""))
    for column in (choice.id, *choice.texts):
        if column is not None and not (is_text(types[column]) or is_numeric(types[column])
                                       or pyarrow().types.is_temporal(types[column])):
            return DataError("COLUMN-TYPE", f"column {shown(choice.names[column])} of type {types[column]} "
                             "cannot be an id or a label", where=place(input.path), hint="text, numbers and dates can")
    return None


@dataclass
class ColumnTable:
    """The chosen columns as they are read."""

    choice: Choice
    values: Array  # n x d
    sources: Mapping[str, Origin]  # the file's columns of numbers, and of lists of these
    cells: int = 0
    texts: dict[str, list[str]] = field(default_factory=dict)
    inexact: set[str] = field(default_factory=set)

    def add(self, start: int, batch: Any, path: str) -> None:
        """Add a record batch: some of the columns, from a row on."""
        stop = start + batch.num_rows
        if stop > len(self.values):
            raise corrupt(path, "columnar", ValueError("more rows than announced"))
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        numbers = {int(source.places[0]): columns[name] for name, source in self.sources.items()
                   if source.elements is None and name in columns}
        fill(self.values[start:stop], {position: as_doubles(column) for position, column in numbers.items()})
        self.inexact |= {self.choice.columns[position] for position, column in numbers.items() if is_inexact(column)}
        for name, source in self.sources.items():
            if source.elements is not None and name in columns:
                self.values[start:stop, source.slice] = source.chosen(
                    list_numbers(columns[name], name, source.length, start, path))
                self.inexact |= {name} if is_inexact(numbers_in(columns[name])) else set()
        for text in (self.choice.id, *self.choice.texts):
            name = "" if text is None else self.choice.names[text]
            if name in columns:
                self.texts.setdefault(name, []).extend(as_texts(columns[name], name, path))
        self.cells += batch.num_rows * batch.num_columns


def fill(rows: Array, columns: dict[int, Array]) -> None:
    """Copy columns, arrays of shape (n,) by position, into `rows`, an (n, d) array.

    Works on all threads, on blocks small enough that the cache lines they share stay in the cache.
    """
    runs = _runs(sorted(columns))

    def copy(some: slice) -> None:
        for run in runs:
            block = np.stack([columns[position][some] for position in run])
            rows[some, run[0]:run[-1] + 1] = block.T

    each(copy, row_blocks(len(rows), ROWS))


def _runs(positions: list[int]) -> list[list[int]]:
    """Split positions into consecutive runs, each small enough for the cache."""
    runs: list[list[int]] = []
    for position in positions:
        if runs and position == runs[-1][-1] + 1 and len(runs[-1]) < TOGETHER:
            runs[-1].append(position)
        else:
            runs.append([position])
    return runs


def as_texts(column: Any, name: str, path: str) -> list[str]:
    """Return an id or label column as texts, equal ones of a dictionary as one object; null is the empty text.

    Raises DataError for a text that is longer than a cell of a CSV file may be.
    """
    arrow = pyarrow()
    if arrow.types.is_dictionary(column.type):
        indices = column.indices.cast(arrow.int64()).fill_null(-1).to_numpy()
        used, places = np.unique(indices, return_inverse=True)
        texts = as_texts(column.dictionary.take(arrow.array(used[used >= 0])), name, path)
        texts = texts if len(texts) == len(used) else ["", *texts]
        return [texts[place] for place in places.tolist()]
    if arrow.types.is_floating(column.type):
        return ["" if value is None else f"{value:.17g}" for value in column.to_pylist()]
    _require_short(column, name, path)
    return ["" if value is None else value for value in column.cast(arrow.string()).to_pylist()]


def _require_short(column: Any, name: str, path: str) -> None:
    """Raise DataError for texts that are longer than a cell of a CSV file may be."""
    from pyarrow import compute

    longest = compute.max(compute.utf8_length(column)).as_py() if is_text(column.type) else None
    if longest is not None and longest > field_size_limit():
        raise DataError("FIELD-SIZE", f"a cell of column {shown(name)} is longer than {field_size_limit():,} "
                        "characters", where=place(path), hint="choose another column for ids or labels")


FEWEST = 256  # least rows read in one step from a columnar file: each column costs a call


def numbers_of(batch: Any) -> Array:
    """Return a record batch of numbers as an (m, d) array, in column order in memory."""
    types = {str(kind) for kind in batch.schema.types}
    if types <= {"double"} or types <= {"float"}:
        return np.asarray(batch.to_tensor(null_to_nan=True, row_major=False).to_numpy(), dtype=np.float64)
    return np.stack([as_doubles(column) for column in batch.columns]).T


class GroupedRows:
    """The base of files of named columns, read by groups of rows, never by single ones."""

    names: tuple[str, ...]  # of columns of numbers
    lengths: Lengths  # of lists whose elements are such
    direct = False

    @property
    def columns(self) -> int:
        """The number of columns."""
        return len(self.names)

    @property
    def part(self) -> int:
        """The number of rows read in one step."""
        return part_rows(self.columns, FEWEST)

    def take(self, chosen: Indices) -> Array:
        """Raise NotImplementedError for any rows, of shape (m,): groups are read as a whole."""
        raise NotImplementedError

    @cached_property
    def sources(self) -> dict[str, Origin]:
        """The file's columns that these are read from."""
        return sources_of(self.names, self.lengths)

    def numbers(self, batch: Any, row: int, path: str) -> Array:
        """Return a record batch with the file's columns as an (m, d) array, in column order in memory.

        `row` is its first row in the file. Raises DataError for a list of another length.
        """
        if not self.lengths:
            return numbers_of(batch.select(list(self.names)))
        found = np.empty((self.columns, batch.num_rows))
        for name, source in self.sources.items():
            column = batch.column(name)
            found[source.slice] = as_doubles(column) if source.elements is None else source.chosen(
                list_numbers(column, name, source.length, row, path)).T
        return found.T

    def in_order(self, names: tuple[str, ...]) -> Self:
        """Return the same columns in another order."""
        return replace(cast(Any, self), names=names)
