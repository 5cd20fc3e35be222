"""The table: read, prepared, embedded and written."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.footprint import CELL_OF_TEXT
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.column_groups import ColumnGroup
from mlcli.base.values.inputs import (
    Covariance,
    CrossLabeled,
    Dissimilarities,
    Features,
    Labeled,
    Similarities,
    TwoViews,
    ViewedDissimilarities,
    WeightedGraph,
)
from mlcli.base.values.inputs import Input as MethodInput
from mlcli.base.values.naming import shown
from mlcli.base.values.scaling import read_only
from mlcli.data.files.formats import file_name
from mlcli.data.files.remote import is_remote
from mlcli.data.options.wording import place
from mlcli.data.table.row_numbers import RowNumbers, take_ids
from mlcli.errors import MlcliError, with_paths

if TYPE_CHECKING:
    from mlcli.data.table.coding import Coding
    from mlcli.data.table.similarities import SimilarityRule


CHOICES = ("input.columns", "input.view.columns", "input.view.further")  # of columns, by the number of the file
SOME = 1000  # texts of a column whose letters are counted
HERE = "array"  # the name of a table in memory, in place of a file's


@frozen
class Source:
    """The origin of a table."""

    path: str  # the path in the options
    digest: Callable[[], str]  # waits for the sha256 of the file's bytes
    bytes: int
    format: str
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # of a run: size and hash of the files read
    reading: float = 0.0  # bytes of memory for reading, besides the table
    kept: float = 0.0  # of these, the bytes that allocators do not return

    @property
    def sha256(self) -> str:
        """The sha256 of the file's bytes; raises StorageError if the file changed before it was computed."""
        return self.digest()

    def facts(self) -> dict[str, Any]:
        """Return the file's location and the hash of its content as plain values."""
        return {"path": self.path, "absolute": absolute(self.path), "format": self.format,
                "bytes": self.bytes, "sha256": self.sha256}


@frozen
class TableFile:
    """A file whose columns lie beside those of others in one table."""

    name: str  # the file's, without its endings; two files have different names
    table: "Table"  # as it was read, without numbers
    columns: tuple[str, ...]  # their names in the whole table, in the order of the file


def names_of_files(tables: "Sequence[Table]") -> tuple[str, ...]:
    """Return the names of tables by their files, numbered where two have one name; none where a table is of no file."""
    paths = [None if table.source is None else table.source.path for table in tables]
    if None in paths or HERE in paths:
        return ()
    return number_names([file_name(path) for path in paths])


def number_names(given: Sequence[str]) -> tuple[str, ...]:
    """Return names that differ: those that an earlier one has are followed by a number, from 2."""
    names = list[str]()
    for name in given:
        numbered = (f"{name} {number}" for number in count(2))
        names.append(next(one for one in chain([name], numbered) if one not in names))
    return tuple(names)


@frozen
class Table:
    """Numbers with the names of their rows and columns."""

    values: Array  # n x d; NaN where missing (features only)
    columns: tuple[str, ...]  # d
    ids: Sequence[str]  # n: a tuple, or RowNumbers for a file without ids
    id_name: str = "id"
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # label column -> n texts
    kind: str = "features"
    source: Source | None = None
    labels_source: Source | None = None  # of labels that lie in a second file
    view: "Table | None" = None  # a second view of the same rows, in the same order, whose view is the third
    files: tuple[TableFile, ...] = ()  # whose columns lie side by side in this table; none if it is of one file
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # texts that numbers of a column stand for
    coding: "Coding | None" = None  # of answers that became numbers
    rule: "SimilarityRule | None" = None  # by which similarities became dissimilarities
    observations: int | None = None  # of a covariance matrix
    graph: WeightedGraph | None = None  # that joins the points, where these have no columns
    chosen_of: int | None = None  # rows in the file, where some were chosen
    image: tuple[int, ...] | None = None  # of rows that are images: rows, columns, and 3 where they have colors
    point: str = "."  # the decimal one of numbers among labels
    places: Indices | None = None  # n, those of the rows among all that were read, from 0; None: these are all
    roles: tuple[str, ...] | None = None  # labels that say what rows are to a method, in its order; None: all of them

    def __post_init__(self) -> None:
        """Make features read-only; a square matrix may be made symmetric in place."""
        if self.kind == "features":
            object.__setattr__(self, "values", read_only(self.values))

    def facts(self, path: str | None) -> dict[str, Any]:
        """Return the origin of the table and its hash as plain values."""
        origin = self.source
        joined = {} if self.graph is None else {"edges": len(self.graph.indices) // 2}
        return {"path": path, "absolute": None if path in (None, "-") else absolute(str(path)), "kind": self.kind,
                "rows": self.rows, "columns": len(self.columns),
                **joined, "format": origin.format if origin else None, "bytes": origin.bytes if origin else None,
                "sha256": origin.sha256 if origin else None,
                **({"files": dict(origin.files)} if origin and origin.files else {}),
                **({} if self.chosen_of is None else {"chosen_of": self.chosen_of}),
                **({} if self.image is None else {"image": list(self.image)}),
                **({} if self.labels_source is None else {"labels": self.labels_source.facts()})}

    def data(self) -> MethodInput:
        """Return the input of a method, with labels or a second view if the table has them."""
        if self.graph is not None:
            return self.graph
        view: Features | None = None
        for other in reversed(self.views[1:]):
            view = Features(other.values, other.ids, other.columns) if view is None else TwoViews(
                other.values, other.ids, other.columns, view)
        if self.kind == "dissimilarities":
            return Dissimilarities(self.values, self.ids) if view is None else ViewedDissimilarities(
                self.values, self.ids, view, names=names_of_files(self.views))
        if self.kind == "kernel":
            return Similarities(self.values, self.ids)
        if self.kind == "covariance":
            return Covariance(self.values, self.columns, self.observations)
        if view is not None:
            return TwoViews(self.values, self.ids, self.columns, view)
        beside: dict[str, Any] = {"categories": self._categories, "tables": self._tables}
        match tuple(self.labels.values()):
            case (texts,):
                return Labeled(self.values, self.ids, self.columns, texts, **beside)
            case (first, second, *_):
                return CrossLabeled(self.values, self.ids, self.columns, first, second, **beside)
        return Features(self.values, self.ids, self.columns, **beside)

    @property
    def _categories(self) -> dict[int, tuple[str, ...]]:
        """The texts of the columns of categories, by their positions."""
        return {place: self.categories[name] for place, name in enumerate(self.columns) if name in self.categories}

    @property
    def _tables(self) -> tuple[ColumnGroup, ...]:
        """The columns of each of several files, by their positions."""
        places = {name: place for place, name in enumerate(self.columns)} if self.files else {}
        return tuple(ColumnGroup(file.name, tuple(places[name] for name in file.columns if name in places))
                     for file in self.files)

    @property
    def labels_with_roles(self) -> tuple[tuple[str, ...], ...]:
        """The labels that say what rows are to a method (n each), in its order; empty texts for one that is not here.
        """
        if self.roles is None:
            return tuple(self.labels.values())
        return tuple(self.labels.get(name, ("",) * self.rows) for name in self.roles)

    @property
    def parts(self) -> "tuple[Table, ...]":
        """The table of each file that was read: those of views, or those whose columns lie side by side here."""
        return tuple(file.table for file in self.files) or self.views

    def part_with(self, column: int) -> "Table":
        """Return the table of the file that a column is of, by its place in this table: this one, if it is of one file.
        """
        name = self.columns[column]
        return next((file.table for file in self.files if name in file.columns), self)

    @property
    def views(self) -> "tuple[Table, ...]":
        """This table and its further views, in their order, each without another."""
        others = () if self.view is None else self.view.views
        return (self if self.view is None else replace(self, view=None), *others)

    @property
    def rows(self) -> int:
        """The number of points: zero for a covariance matrix, whose rows are columns."""
        return 0 if self.kind == "covariance" else len(self.ids)

    @property
    def bytes(self) -> int:
        """The bytes of its numbers: of a graph those of its edges."""
        return self.values.nbytes if self.graph is None else self.graph.bytes

    @property
    def text_bytes(self) -> float:
        """The bytes of its ids and labels, by the lengths of some of them; none of numbers of rows."""
        columns = [*self.labels.values(), *([] if isinstance(self.ids, RowNumbers) else [self.ids])]
        some = [texts[:: len(texts) // SOME + 1] for texts in columns]
        return float(sum(len(texts) * (CELL_OF_TEXT + sum(map(len, few)) / max(len(few), 1))
                         for texts, few in zip(columns, some, strict=True)))

    def take(self, rows: Sequence[int] | AnyArray) -> "Table":
        """Return some of the rows (features), or of the points (a square matrix), in the given order."""
        chosen = np.asarray(rows, dtype=np.int64)
        square = self.kind != "features" and self.columns == self.ids
        values = self.values[np.ix_(chosen, chosen)] if square else self.values[chosen]
        ids = take_ids(self.ids, chosen)
        labels = {name: tuple(texts[row] for row in chosen.tolist()) for name, texts in self.labels.items()}
        view = self.view and self.view.take(chosen)
        graph = self.graph and self.graph.take(chosen)
        return replace(self, values=values, ids=ids, labels=labels, view=view, graph=graph,
                       places=chosen if self.places is None else self.places[chosen],
                       columns=tuple(ids) if square else self.columns)

    def names_of(self, rows: Sequence[int] | AnyArray) -> "Table":
        """Return some of the rows of features without their numbers, an (m, 0) array, in the given order."""
        return replace(self, values=np.empty((len(self.ids), 0))).take(rows)

    def place(self, row: int) -> int:
        """Return the number of a row in the file, from 0."""
        return row if self.places is None else int(self.places[row])

    @property
    def numbers(self) -> Indices:
        """The numbers of the rows in the file, from 1 (n)."""
        return 1 + (np.arange(len(self.ids)) if self.places is None else self.places)

    @contextmanager
    def rows_named(self) -> Iterator[None]:
        """Add to errors with a row number its number in the file, its id, and the file if they name no other place.

        Of several views the rows of any may be meant, so no file is added. Errors about a column of one of several
        files are given that file, and the option that chooses among its columns.
        """
        try:
            yield
        except MlcliError as error:
            if error.column is not None and self.files:
                raise self._at_file(error, self.columns[error.column]) from error
            if error.row is None:
                raise
            file = place(self.source.path) if self.source and self.view is None else error.where
            raise error.changed(row=self.place(error.row), name=shown(self.ids[error.row]),
                                where=file if error.where in ("", "input") else error.where) from error

    def _at_file(self, error: MlcliError, column: str) -> MlcliError:
        """Return an error about a column with its file, and the option that chooses among the columns of that file.

        No option does so among those of an array.
        """
        number = next(place for place, file in enumerate(self.files) if column in file.columns)
        first, source = self.files[0].table.source, self.files[number].table.source
        if first is None or first.path == HERE or source is None:
            return error.changed(where=self.files[number].name, hint=error.hint.replace(" with {input.columns}", ""))
        paths = {"input.columns": CHOICES[min(number, len(CHOICES) - 1)]}
        return error.changed(where=place(source.path), hint=with_paths(error.hint, paths))


def absolute(path: str) -> str:
    """Return the absolute path of a file; a remote path unchanged."""
    return path if is_remote(path) else str(Path(path).absolute())


def axis_names(count: int) -> tuple[str, ...]:
    """Return the names of the columns of coordinates."""
    return tuple(f"y{place + 1}" for place in range(count))


def coordinates(table: Table, values: Array) -> Table:
    """Return coordinates y1..yp, an (n, p) array, with the ids and labels of a table."""
    return replace(table, values=values, columns=axis_names(values.shape[1]), kind="features", view=None, graph=None,
                   files=())
