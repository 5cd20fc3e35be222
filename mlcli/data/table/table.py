"""The table: what is read, prepared, embedded and written."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import Any

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.inputs import (
    Covariance,
    Dissimilarities,
    Features,
    Labeled,
    Similarities,
    TwoViews,
    WeightedGraph,
)
from mlcli.base.values.inputs import Input as MethodInput
from mlcli.base.values.scaling import read_only
from mlcli.data.files.remote import is_remote
from mlcli.data.options.wording import shown
from mlcli.data.table.row_numbers import taken
from mlcli.errors import MlcliError


@frozen
class Source:
    """Where a table came from."""

    path: str  # as the user gave it
    digest: Callable[[], str]  # waits for the sha256 of the file's bytes
    bytes: int
    format: str
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # of a run: size and hash of what was read
    reading: float = 0.0  # bytes of memory that reading it took beside the table
    kept: float = 0.0  # of these, what allocators keep

    @property
    def sha256(self) -> str:
        """The sha256 of the file's bytes; raises StorageError where the file changed before it was known."""
        return self.digest()

    def facts(self) -> dict[str, Any]:
        """Where the file lies, and its content's hash, as plain values."""
        return {"path": self.path, "absolute": absolute(self.path), "format": self.format,
                "bytes": self.bytes, "sha256": self.sha256}


@frozen
class Table:
    """Numbers with the names of their rows and columns."""

    values: Array  # n x d; NaN where missing (features only)
    columns: tuple[str, ...]  # d
    ids: Sequence[str]  # n: a tuple, or RowNumbers where the file has none
    id_name: str = "id"
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # label column -> n texts
    kind: str = "features"
    source: Source | None = None
    labels_source: Source | None = None  # of labels that lie in a second file
    view: "Table | None" = None  # a second view of the same rows, in the same order
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # texts that numbers of a column stand for
    observations: int | None = None  # behind a covariance matrix
    graph: WeightedGraph | None = None  # that joins the points, where these have no columns
    chosen_of: int | None = None  # rows in the file, where some were chosen
    image: tuple[int, ...] | None = None  # of rows that are images: rows, columns, and 3 where they have colors
    point: str = "."  # the decimal one of numbers among labels
    places: Indices | None = None  # n, those of the rows among all that were read, from 0; None: these are all

    def __post_init__(self) -> None:
        """Makes sure that features stay what they are; a square matrix may be made symmetric in place."""
        if self.kind == "features":
            object.__setattr__(self, "values", read_only(self.values))

    def facts(self, path: str | None) -> dict[str, Any]:
        """What was read from a file, and its hash, as plain values."""
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
        """What a method takes, with everything that the table has for it: labels or a second view."""
        if self.graph is not None:
            return self.graph
        if self.kind == "dissimilarities":
            return Dissimilarities(self.values, self.ids)
        if self.kind == "kernel":
            return Similarities(self.values, self.ids)
        if self.kind == "covariance":
            return Covariance(self.values, self.columns, self.observations)
        if self.view is not None:
            other = self.view
            return TwoViews(self.values, self.ids, self.columns, Features(other.values, other.ids, other.columns))
        for texts in self.labels.values():
            return Labeled(self.values, self.ids, self.columns, texts, categories=self._categories)
        return Features(self.values, self.ids, self.columns, categories=self._categories)

    @property
    def _categories(self) -> tuple[int, ...]:
        """Where the columns of categories are."""
        return tuple(place for place, name in enumerate(self.columns) if name in self.categories)

    @property
    def rows(self) -> int:
        """How many points there are: none behind a covariance matrix, whose rows are columns."""
        return 0 if self.kind == "covariance" else len(self.ids)

    @property
    def bytes(self) -> int:
        """The memory that its numbers take: of a graph those of its edges."""
        return self.values.nbytes if self.graph is None else self.graph.bytes

    def take(self, rows: Sequence[int] | AnyArray) -> "Table":
        """Some of the rows (features), or of the points (a square matrix), in the order given."""
        chosen = np.asarray(rows, dtype=np.int64)
        square = self.kind != "features" and self.columns == self.ids
        values = self.values[np.ix_(chosen, chosen)] if square else self.values[chosen]
        ids = taken(self.ids, chosen)
        labels = {name: tuple(texts[row] for row in chosen.tolist()) for name, texts in self.labels.items()}
        view = self.view and self.view.take(chosen)
        graph = self.graph and self.graph.take(chosen)
        return replace(self, values=values, ids=ids, labels=labels, view=view, graph=graph,
                       places=chosen if self.places is None else self.places[chosen],
                       columns=tuple(ids) if square else self.columns)

    def place(self, row: int) -> int:
        """Where a row is among all that were read, from 0."""
        return row if self.places is None else int(self.places[row])

    @property
    def numbers(self) -> Indices:
        """The numbers of the rows among all that were read, from 1 (n)."""
        return 1 + (np.arange(len(self.ids)) if self.places is None else self.places)

    @contextmanager
    def rows_named(self) -> Iterator[None]:
        """Errors that count the table's rows name them by their place among all that were read, and by their ids."""
        try:
            yield
        except MlcliError as error:
            if error.row is None:
                raise
            raise error.changed(row=self.place(error.row), name=shown(self.ids[error.row])) from error


def absolute(path: str) -> str:
    """Where a path leads from any directory."""
    return path if is_remote(path) else str(Path(path).absolute())


def axis_names(count: int) -> tuple[str, ...]:
    """The names of the columns of coordinates."""
    return tuple(f"y{place + 1}" for place in range(count))


def coordinates(table: Table, values: Array) -> Table:
    """Coordinates y1..yp under the ids and labels of a table."""
    return replace(table, values=values, columns=axis_names(values.shape[1]), kind="features", view=None, graph=None)
