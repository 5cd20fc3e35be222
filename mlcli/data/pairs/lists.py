"""Lists of pairs and of edges: tables with two columns of names and one of numbers."""

from collections.abc import Callable, Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import no_listeners
from mlcli.base.types import Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.missing import is_missing
from mlcli.data.files.formats import format_of
from mlcli.data.files.source import Opened
from mlcli.data.formats.edges import Edges
from mlcli.data.formats.reader import reader_of
from mlcli.data.options.input import NO_IDS, Input, plain
from mlcli.data.options.wording import counted, place, shown
from mlcli.data.table.sheet import Sheet
from mlcli.errors import DataError, MlcliError

SOURCE, TARGET = "source", "target"
NUMBERS = {"lengths": "length", "affinities": "affinity"}
EITHER = "weight"  # NetworkX's name for either


class EdgeList(Input):
    """The input of a list of edges: two columns of names, and one of numbers with one of two names."""

    def for_columns(self, names: Sequence[str]) -> Input:
        """Return the options with the columns of an edge list; raises DataError if the file lacks one."""
        own = NUMBERS[self.edges]
        number = next((name for name in (own, EITHER) if name in names), None)
        if number is None or SOURCE not in names or TARGET not in names:
            raise DataError("EDGE-LIST", f"an edge list has the columns {SOURCE}, {TARGET} and {own} (or {EITHER})",
                            where=place(self.path), hint="name them so in the first row")
        return plain(self, label_columns=(SOURCE, TARGET), columns=(number,))


def read_edge_list(file: Opened, input: Input, compute: Compute) -> Edges:
    """Read the edges of a table; its points are numbered in the order of their names, source before target.

    Raises DataError for edges without names or numbers.
    """
    sheet = _sheet(file, input, compute)
    names = np.array([sheet.labels[SOURCE], sheet.labels[TARGET]], dtype=object).T.ravel()
    blank = np.flatnonzero(names == "")
    if len(blank):
        raise DataError("MISSING", f"{counted(len(blank), 'end')} of edges without a name, the first in row "
                        f"{blank[0] // 2 + 1}", where=place(input.path), hint="name both ends of every edge")
    ids = {name: number for number, name in enumerate(dict.fromkeys(names.tolist()))}
    ends = np.fromiter((ids[name] for name in names.tolist()), dtype=np.int64, count=len(names))
    return Edges(len(ids), ends[::2], ends[1::2], sheet.values[:, 0], tuple(ids))


def _sheet(file: Opened, input: Input, compute: Compute) -> Sheet:
    """Read the two columns of names as labels, and the one of numbers; raises DataError if one is missing."""
    asked = EdgeList(**{**{name: getattr(input, name) for name in Input.model_fields}, "header": True})
    return reader_of(format_of(file, input)).table(file, asked, compute)


FEWEST = 3  # points
NUMBERED = 4  # points whose names are numbers: three have a square table, which is read as a matrix
MOST_MISSING = 0.1  # of the pairs of a table of numbers that is taken for their list
GRAPH = (f"or, as edges of a graph, name the columns {SOURCE}, {TARGET} and {NUMBERS['lengths']}, and give "
         "{input.kind=graph}")


@frozen
class Pairs:
    """The pairs of a list: points in the order in which they first appear, and the two of each row."""

    ids: tuple[str, ...]  # n
    first: Indices  # m
    second: Indices  # m

    @property
    def distinct(self) -> bool:
        """Whether no pair of points is there twice in one direction."""
        return len(np.unique(self.first * len(self.ids) + self.second)) == len(self.first)

    @property
    def missing(self) -> int:
        """The number of pairs of different points without a row."""
        low, high = np.minimum(self.first, self.second), np.maximum(self.first, self.second)
        there = np.unique((low * len(self.ids) + high)[low != high])
        return self.whole - len(there)

    @property
    def whole(self) -> int:
        """The number of pairs of different points."""
        return len(self.ids) * (len(self.ids) - 1) // 2

    @property
    def nearly_complete(self) -> bool:
        """Whether hardly any pair is missing, so that two columns of numbers are names and no grid of places."""
        return len(self.ids) >= NUMBERED and self.missing <= MOST_MISSING * self.whole

    @property
    def one_way(self) -> bool:
        """Whether a row stands for every pair, none for a point with itself and none for a pair backwards."""
        return len(self.first) == self.whole - self.missing


def pairs_of(names: Sequence[Sequence[str]]) -> Pairs | None:
    """Return the pairs of two columns of names; None where these are not names of the same points.

    Half of the names of the shorter column at least stand in the other, too.
    """
    first, second = map(set, names)
    if any(map(is_missing, first | second)) or 2 * len(first & second) < min(len(first), len(second)) or len(
            first | second) < FEWEST:
        return None
    ids = {name: number for number, name in enumerate(dict.fromkeys(name for pair in zip(*names, strict=True)
                                                                    for name in pair))}
    left, right = (np.array([ids[name] for name in column]) for column in names)
    return Pairs(tuple(ids), left, right)


def numbered_pairs(values: Array) -> Pairs | None:
    """Return the pairs of a table of three numbers of which the first two name points; None for another table."""
    if values.shape[1:] != (3,) or len(values) < FEWEST:
        return None
    ends = values[:, :2]
    if not (np.isfinite(ends).all() and (ends == np.rint(ends)).all()):
        return None
    if len(np.unique(ends)) > 2 * len(values) ** 0.5 + 2:  # too many points for as few pairs
        return None
    found = pairs_of([[str(int(end)) for end in column] for column in ends.T])
    return found if found is not None and found.distinct and found.nearly_complete else None


def lists_pairs(sheet: Sheet) -> bool:
    """Whether a table has two columns of names of the same points, each pair once, and one of numbers."""
    names = [*([] if sheet.ids is None else [sheet.ids]), *sheet.labels.values()]
    if len(names) != 2 or sheet.values.shape[1:] != (1,):
        return False
    found = pairs_of(names)
    return found is not None and found.distinct


def square_sheet(read: Callable[[Input], Sheet], input: Input) -> Sheet | None:
    """Return the matrix of a list of pairs, which `read` gives as a table; None for a table of another kind.

    A pair stands in one direction or in both; a point has the dissimilarity zero to itself. Raises DataError for pairs
    that are missing or there twice.
    """
    try:
        with no_listeners():
            sheet = read(input.replace(kind="features", id_column=NO_IDS, label_columns=(), symmetrize="error",
                                       squared=False))
    except MlcliError:
        return None
    if not sheet.labels:
        found = numbered_pairs(sheet.values)
    elif len(sheet.labels) == 2 and sheet.values.shape[1:] == (1,):
        found = pairs_of([*sheet.labels.values()])
    else:
        return None
    return None if found is None else _square(found, sheet, input)


def _square(found: Pairs, sheet: Sheet, input: Input) -> Sheet:
    """Return the numbers of pairs as a square sheet; raises DataError for pairs without a number, or with two."""
    where, size = place(input.path), len(found.ids)
    if not found.distinct:
        row = _repeated(found)
        raise DataError("PAIRS", f"row {row + 1} repeats the pair {_named(found, row)}", where=where,
                        hint="give every two points one number")
    if found.missing:
        raise DataError("PAIRS", f"{counted(found.missing, 'pair')} of {counted(size, 'point')} without a number",
                        where=where, hint=f"give every two points one; {GRAPH}")
    values = np.full((size, size), np.nan)
    values[found.first, found.second] = sheet.values[:, -1]
    values = np.where(np.isnan(values), values.T, values)
    if input.kind == "dissimilarities":
        np.fill_diagonal(values, np.nan_to_num(np.diag(values)))
    return Sheet(values, found.ids, named=True, ids=found.ids)


def _repeated(found: Pairs) -> int:
    """Return the first row whose pair an earlier one has."""
    _, first = np.unique(found.first * len(found.ids) + found.second, return_index=True)
    return int(np.setdiff1d(np.arange(len(found.first)), first)[0])


def _named(found: Pairs, row: int) -> str:
    return f"{shown(found.ids[found.first[row]])} and {shown(found.ids[found.second[row]])}"
