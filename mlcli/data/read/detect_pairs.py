"""Signs that a table read as features is a matrix of pairs (correlations, distances, covariances), or edges."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.source import rows_of
from mlcli.base.types import Array
from mlcli.base.values.naming import shown
from mlcli.data.options.input import Input
from mlcli.data.options.wording import place
from mlcli.data.pairs.lists import EITHER, NUMBERS, SOURCE, TARGET, numbered_pairs, pairs_of
from mlcli.data.pairs.symmetry import ROUNDING, from_triangle, worst_pair
from mlcli.data.table.row_numbers import RowNumbers
from mlcli.data.table.table import Table
from mlcli.errors import DataError, option

SMALLEST = 3  # rows: a smaller table may be symmetric by chance
KERNEL = "{input.kind=kernel} for similarities of points"
SQUARE = "{rows} rows and columns, {form}, "  # the sign of a matrix of pairs


@frozen
class Resemblance:
    """A kind of input that a table looks like."""

    kind: str
    what: str  # its name in words
    sign: str  # the feature that it is recognized by
    otherwise: str = ""  # the option for an alternative kind
    options: str = ""  # options needed besides its kind

    @property
    def points(self) -> bool:
        """Whether it is about points, which can have labels."""
        return self.kind not in ("correlation", "covariance")


CORRELATION = Resemblance("correlation", "a correlation matrix", sign=SQUARE + "ones on the diagonal", otherwise=KERNEL)
SIMILARITIES = Resemblance("kernel", "a matrix of similarities", sign=SQUARE + "ones on the diagonal")
DISSIMILARITIES = Resemblance("dissimilarities", "a matrix of dissimilarities", sign=SQUARE + "zeros on the diagonal")
COVARIANCE = Resemblance("covariance", "a covariance matrix", sign=SQUARE + "variances on the diagonal",
                         otherwise=KERNEL)
APART = Resemblance("dissimilarities", "a matrix of dissimilarities", sign=SQUARE + "an empty diagonal",
                    otherwise="{input.kind=correlation} for correlations")
TOGETHER = Resemblance("correlation", "a correlation matrix", sign=SQUARE + "an empty diagonal")
EDGES = "a list of the edges of a graph"
PAIRS = Resemblance("dissimilarities", "a list of pairs", sign="two columns name points, {names}, one has a number")
NAMED = f"columns {SOURCE}, {TARGET} and "
GRAPHS = {name: Resemblance("graph", EDGES, sign=NAMED + name, options=options) for name, options in (
    (EITHER, ""), (NUMBERS["lengths"], ""), (NUMBERS["affinities"], " {input.edges=affinities}"))}


def resemblance(table: Table) -> Resemblance | None:
    """Return the kind of input that a table of features looks like; None if it does not.

    A list of edges is recognized by its names, a list of pairs by names of the same points in two columns. A matrix of
    pairs is square, symmetric or one triangle, with ones, zeros or variances on the diagonal; that of a triangle may be
    empty. Variances count only if rows and columns have the same names. A matrix of zeros beside its diagonal is not
    one of pairs.
    """
    if table.kind != "features" or table.categories:
        return None
    return _by_names(table) or _by_pairs(table) or _by_numbers(table)


def _by_pairs(table: Table) -> Resemblance | None:
    """Return the list of pairs that a table is: two columns of names of the same points, and one of numbers.

    Whole numbers name points too, where a row stands for every pair: both directions are a grid of places as well.
    """
    names = name_columns(table)
    if not names and rows_of(table.values) is None:
        numbered = numbered_pairs(table.values)
        return PAIRS if numbered is not None and numbered.one_way else None
    if len(names) != 2 or len(table.columns) != 1 or len(table.ids) < SMALLEST:
        return None
    found = pairs_of([*names.values()])
    return PAIRS if found is not None and found.distinct else None


def name_columns(table: Table) -> dict[str, Sequence[str]]:
    """Return the columns of words of a table: its ids, if it has any, and its labels."""
    ids = {} if isinstance(table.ids, RowNumbers) else {table.id_name: table.ids}
    return {**ids, **table.labels}


def _by_names(table: Table) -> Resemblance | None:
    """Return the graph whose edges a table lists: two columns of ends, and one of numbers."""
    names = {table.id_name, *table.labels, *table.columns}
    numbers = [name for name in table.columns if name not in (SOURCE, TARGET)]
    return GRAPHS.get(numbers[0]) if {SOURCE, TARGET} <= names and len(numbers) == 1 else None


def _by_numbers(table: Table) -> Resemblance | None:
    """Return the kind of matrix that the numbers look like."""
    values = table.values
    if rows_of(values) is not None:  # read in blocks
        return None
    rows, columns = values.shape
    if rows != columns or rows < SMALLEST:
        return None
    triangle = from_triangle(values)
    kind = _by_diagonal(np.diag(values), alike=tuple(table.ids) == table.columns)
    if kind is None and triangle is None:
        return None
    whole = values if triangle is None else triangle
    beside = whole.copy()
    np.fill_diagonal(beside, 0)
    largest = float(np.abs(beside).max())
    if not 0 < largest < np.inf or worst_pair(beside)[0] > ROUNDING * largest / 2:
        return None
    if kind is None:
        return _by_cells(beside) if np.isnan(np.diag(whole)).all() else None
    if kind is CORRELATION:
        return CORRELATION if largest <= 1 + ROUNDING else SIMILARITIES
    return None if kind is DISSIMILARITIES and beside.min() < 0 else kind


def refuse_resemblance(table: Table, input: Input) -> None:
    """Raise DataError for a table that looks like a matrix of pairs or a list of edges, unless its kind was chosen."""
    if input.chosen("kind") or input.transpose or (known := resemblance(table)) is None:
        return
    other = f", {known.otherwise}" if known.otherwise else ""
    form = "symmetric" if rows_of(table.values) is not None or not np.isnan(table.values).any() else "one triangle"
    unlabeled = " and no labels" if input.labels.path is not None and not known.points else ""
    if known is PAIRS and (input.label_columns or input.ids_from or input.labels.path):
        return  # columns that are named as labels are such
    names = " and ".join(map(shown, name_columns(table) or table.columns[:2]))
    sign = known.sign.format(rows=len(table.ids), form=form, names=names)
    raise DataError("LOOKS-LIKE-MATRIX", f"the table looks like {known.what}: {sign}",
                    where=place(input.path), kind=known.kind,
                    hint=f"give {option('input.kind', known.kind)}{known.options}{unlabeled}{other}, or "
                    f"{{input.kind=features}} if its rows are points with features")


def _by_diagonal(diagonal: Array, *, alike: bool) -> Resemblance | None:
    """Return the kind of matrix that the diagonal suggests."""
    if (np.abs(diagonal - 1) <= ROUNDING).all():
        return CORRELATION
    if not diagonal.any():
        return DISSIMILARITIES
    return COVARIANCE if alike and (diagonal > 0).all() else None


def _by_cells(beside: Array) -> Resemblance | None:
    """Return the kind of matrix that a triangle without a diagonal suggests."""
    return APART if beside.min() >= 0 else TOGETHER if np.abs(beside).max() <= 1 + ROUNDING else None
