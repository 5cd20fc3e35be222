"""Columnar files: the chosen columns of their batches as numbers, ids and labels."""

from collections.abc import Callable, Iterator
from csv import field_size_limit
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import advance, note
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.data.files.arrow import corrupt, pyarrow
from mlcli.data.files.source import Opened
from mlcli.data.options.input import Input
from mlcli.data.options.numbers import EXACT
from mlcli.data.options.wording import LISTED, counted, joined, place, shown
from mlcli.data.table.selection import Choice, choose
from mlcli.data.table.sheet import FEWER, Sheet, require_content
from mlcli.errors import DataError

PANDAS_INDEX = "__index_level_0__"
TOGETHER = 24  # columns transposed at once: few enough for the memory, enough to fill lines of it
ROWS = 4096  # rows transposed from columns at once


@frozen
class Columnar:
    """An open columnar file: what it claims to hold, and its batches, as often as needed."""

    names: list[str]
    types: list[Any]
    rows: int
    batches: Callable[[list[str]], Iterator[tuple[int, Any]]]  # each with the row that it begins at
    require: Callable[[list[str]], int] = lambda names: 0  # refuses columns that grow too much; bytes that texts take


def numbered_batches(row: int, batches: Iterator[Any]) -> Iterator[tuple[int, Any]]:
    """Batches that follow each other, each with the row that it begins at."""
    for batch in batches:
        yield row, batch
        row += batch.num_rows


def read_columns(file: Columnar, opened: Opened, input: Input, compute: Compute) -> Sheet:
    """Reads the chosen columns, after the file's own figures were checked against the memory."""
    choice = choose_columns(file, input)
    require_numeric(file.types, choice, opened.path)
    columns = len(choice.values)
    require_content(file.rows, choice.width, opened.path)
    wanted = _wanted(choice)
    texts = file.require([choice.names[column] for column in (choice.id, *choice.texts) if column is not None])
    compute.require(8.0 * file.rows * columns + texts, f"a table of {file.rows:,} x {columns:,} numbers"
                    + (f" with {texts:,} bytes of ids and labels" if texts else ""),
                    FEWER)
    taken = Taken(choice, np.empty((file.rows, columns)))
    for row, batch in file.batches(wanted):
        taken.add(row, batch, opened.path)
        advance(taken.cells // len(wanted), file.rows)
    if taken.cells != file.rows * len(wanted):
        raise corrupt(opened.path, "columnar", ValueError(f"{file.rows} rows announced, and some are missing"))
    taken.warn()
    labels = {choice.names[column]: tuple(taken.texts[choice.names[column]]) for column in choice.texts}
    ids = None if choice.id is None else tuple(taken.texts[choice.id_name])
    id_name = "" if choice.id_name == PANDAS_INDEX else choice.id_name
    return Sheet(taken.values, choice.columns, True, ids, id_name, labels, words=choice.word_names)


def choose_columns(file: Columnar, input: Input) -> Choice:
    """The columns to read; pandas' own index names the rows, and so does a first text column of a square file."""
    names = file.names
    row_names = names.index(PANDAS_INDEX) if names.count(PANDAS_INDEX) == 1 else None
    if row_names is None and input.square and names and is_text(file.types[0]):
        row_names = 0
    words = [] if input.square else [column for column, kind in enumerate(file.types) if is_text(kind)]
    return choose(names, input, row_names, words)


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


def _wanted(choice: Choice) -> list[str]:
    """The names of the columns that are read."""
    texts = [column for column in (choice.id, *choice.texts) if column is not None]
    return [choice.names[column] for column in dict.fromkeys((*choice.values, *texts))]


def is_text(kind: Any) -> bool:
    """Whether an Arrow type holds words."""
    types = pyarrow().types
    if types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def is_numeric(kind: Any) -> bool:
    """Whether an Arrow type holds numbers (nothing but nulls counts)."""
    types = pyarrow().types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind)
                or types.is_null(kind))


def require_numeric(types: list[Any], choice: Choice, path: str) -> None:
    """Refuses columns whose type cannot be used as it is chosen, each with its type."""
    bad = [column for column in choice.values if not is_numeric(types[column])]
    if bad:
        parts = [f"{shown(choice.names[column])} is of type {types[column]}" for column in bad[:LISTED]]
        texts = all(is_text(types[column]) for column in bad)
        raise DataError("TEXT-COLUMN" if texts else "COLUMN-TYPE",
                        f"{counted(len(bad), 'column')} cannot be used as numbers: {joined(parts, len(bad))}",
                        where=place(path), columns=[choice.names[column] for column in bad] if texts else (),
                        hint="name it with {input.id_column} or {input.label_columns}, or choose others with "
                             "{input.columns}")
    for column in (choice.id, *choice.texts):
        if column is not None and not _has_text_form(types[column]):
            raise DataError("COLUMN-TYPE", f"column {shown(choice.names[column])} of type {types[column]} "
                            "cannot be an id or a label", where=place(path), hint="text, numbers and dates can")


def _has_text_form(kind: Any) -> bool:
    """Whether the values of a type can stand as ids or labels."""
    return is_text(kind) or is_numeric(kind) or bool(pyarrow().types.is_temporal(kind))


@dataclass
class Taken:
    """What has been read of the chosen columns so far."""

    choice: Choice
    values: Array  # n x d
    cells: int = 0
    texts: dict[str, list[str]] = field(default_factory=dict)
    inexact: set[str] = field(default_factory=set)

    def add(self, start: int, batch: Any, path: str) -> None:
        """Adds a record batch: some of the columns, from a row on."""
        stop = start + batch.num_rows
        if stop > len(self.values):
            raise corrupt(path, "columnar", ValueError("more rows than announced"))
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        numbers = {position: columns[name] for name, position in self.positions.items() if name in columns}
        fill(self.values[start:stop], {position: as_doubles(column) for position, column in numbers.items()})
        self.inexact |= {self.choice.columns[position] for position, column in numbers.items() if is_inexact(column)}
        for text in (self.choice.id, *self.choice.texts):
            name = "" if text is None else self.choice.names[text]
            if name in columns:
                self.texts.setdefault(name, []).extend(as_texts(columns[name], name, path))
        self.cells += batch.num_rows * batch.num_columns

    @cached_property
    def positions(self) -> dict[str, int]:
        """Where each numeric column stands in the table."""
        return {name: position for position, name in enumerate(self.choice.columns)}

    def warn(self) -> None:
        """Notes integers that lost digits."""
        if self.inexact:
            names = sorted(self.inexact)
            note("W-INT-PRECISION", f"integers above 2**53 were rounded in {counted(len(names), 'column')}",
                 columns=names[:100])


def fill(rows: Array, columns: dict[int, Array]) -> None:
    """Puts columns into rows, so many at a time that the lines of memory they share are still in the cache."""
    for first in range(0, len(rows), ROWS):
        for run in _runs(sorted(columns)):
            block = np.stack([columns[position][first:first + ROWS] for position in run])
            rows[first:first + ROWS, run[0]:run[-1] + 1] = block.T


def _runs(positions: list[int]) -> list[list[int]]:
    """Positions cut where they do not follow each other, and into runs that fit the cache."""
    runs: list[list[int]] = []
    for position in positions:
        if runs and position == runs[-1][-1] + 1 and len(runs[-1]) < TOGETHER:
            runs[-1].append(position)
        else:
            runs.append([position])
    return runs


def as_doubles(column: Any) -> Array:
    """A numeric column in double precision; nulls are NaN."""
    arrow = pyarrow()
    if arrow.types.is_decimal(column.type):
        column = column.cast(arrow.string())  # parsed exactly, where a direct cast may be off by one bit
    if arrow.types.is_boolean(column.type):
        column = column.cast(arrow.uint8())
    values: Array = column.cast(arrow.float64(), safe=False).to_numpy(zero_copy_only=False)
    return values


def is_inexact(column: Any) -> bool:
    """Whether integers too large for double precision are among the values."""
    arrow = pyarrow()
    if not arrow.types.is_integer(column.type) or column.type.bit_width < 64 or column.null_count == len(column):
        return False
    from pyarrow import compute

    extremes = compute.min_max(column).as_py()
    return bool(max(abs(extremes["min"]), abs(extremes["max"])) > EXACT)


def as_texts(column: Any, name: str, path: str) -> list[str]:
    """An id or label column as texts, equal ones of a dictionary as one; null is the empty text.

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
    """Refuses texts that are longer than a cell of a CSV file may be."""
    from pyarrow import compute

    longest = compute.max(compute.utf8_length(column)).as_py() if is_text(column.type) else None
    if longest is not None and longest > field_size_limit():
        raise DataError("FIELD-SIZE", f"a cell of column {shown(name)} is longer than {field_size_limit():,} "
                        "characters", where=place(path), hint="choose another column for ids or labels")
