"""Lists of pairs: tables with two columns of names and one of numbers."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note
from mlcli.base.types import Array, Indices
from mlcli.base.values.missing import is_missing
from mlcli.base.values.naming import shown
from mlcli.data.options.input import NO_IDS, Input
from mlcli.data.options.wording import counted, place
from mlcli.data.table.sheet import Sheet
from mlcli.errors import DataError

SOURCE, TARGET = "source", "target"
NUMBERS = {"lengths": "length", "affinities": "affinity"}
EITHER = "weight"  # NetworkX's name for either
FEWEST = 3  # points
NUMBERED = 4  # points whose names are numbers: three have a square table, which is read as a matrix
MOST_MISSING = 0.1  # of the pairs of a table of numbers that is taken for their list
GRAPH = (f"or, as edges of a graph, name the columns {SOURCE}, {TARGET} and {NUMBERS['lengths']}, and give "
         "{input.kind=graph}")


@frozen
class PairList:
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


def pairs_of(names: Sequence[Sequence[str]]) -> PairList | None:
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
    return PairList(tuple(ids), left, right)


def numbered_pairs(values: Array) -> PairList | None:
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


def is_list_of_pairs(sheet: Sheet, input: Input) -> bool:
    """Whether a sheet read for a matrix is the table of a list: it has names, not all of them chosen as labels."""
    return len(sheet.labels) == 2 and sheet.values.shape[1:] == (1,) and not set(sheet.labels) <= {*input.label_columns}


def square_sheet(sheet: Sheet, input: Input) -> Sheet | None:
    """Return the matrix of the pairs that a sheet lists; None for a matrix, and for names of other points.

    A pair stands in one direction or in both; a point has the dissimilarity zero to itself. Raises DataError for pairs
    that are missing or there twice.
    """
    if is_list_of_pairs(sheet, input):
        found = pairs_of([*sheet.labels.values()])
        if found is not None:
            _warn_of_roles(input)
    elif sheet.labels or (sheet.ids is not None and sheet.id_name and not sheet.apart):  # a fourth column
        return None
    else:
        found = numbered_pairs(sheet.values)
    return None if found is None else _square(found, sheet, input)


def _square(found: PairList, sheet: Sheet, input: Input) -> Sheet:
    """Return the numbers of pairs as a square sheet; raises DataError for pairs without a number, or with two."""
    where, size = place(input.path), len(found.ids)
    if not found.distinct:
        row = _repeated(found)
        raise DataError("PAIRS", f"row {row + 1} repeats the pair {_named(found, row)}", where=where,
                        hint="give every two points one number")
    if found.missing:
        raise DataError("PAIRS", f"{counted(found.missing, 'pair')} of {counted(size, 'point')} without a number",
                        where=where, hint=f"give every two points one; {GRAPH}", kind="graph")
    values = np.full((size, size), np.nan)
    values[found.first, found.second] = sheet.values[:, -1]
    values = np.where(np.isnan(values), values.T, values)
    if (of_itself := input.of_itself) is not None:
        diagonal = np.diag(values)
        np.fill_diagonal(values, np.where(np.isnan(diagonal), of_itself, diagonal))
    return Sheet(values, found.ids, named=True, ids=found.ids)


def _warn_of_roles(input: Input) -> None:
    """Warn of options that name ids or labels of rows: rows of a list are pairs."""
    chosen = [f"{{input.{name}}}" for name in ("id_column", "label_columns")
              if getattr(input, name) not in (None, NO_IDS, ())]
    if chosen:
        note("W-PAIRS", f"each row of a list of pairs names two points, so {' and '.join(chosen)} had no effect; "
             "labels of the points come from a file of their own ({input.labels})")


def _repeated(found: PairList) -> int:
    """Return the first row whose pair an earlier one has."""
    _, first = np.unique(found.first * len(found.ids) + found.second, return_index=True)
    return int(np.setdiff1d(np.arange(len(found.first)), first)[0])


def _named(found: PairList, row: int) -> str:
    return f"{shown(found.ids[found.first[row]])} and {shown(found.ids[found.second[row]])}"
