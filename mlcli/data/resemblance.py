"""What a table read as features looks like, where it is a matrix of pairs: correlations, distances, covariances."""

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows import rows_of
from mlcli.base.types import Array
from mlcli.data.input import Input
from mlcli.data.symmetry import ROUNDING, worst_pair
from mlcli.data.table import Table
from mlcli.data.wording import place
from mlcli.errors import DataError

SMALLEST = 3  # rows; a smaller table is symmetric by chance
KERNEL = "--kind kernel for similarities of points"


@frozen
class Resemblance:
    """A kind of input that a table looks like."""

    kind: str
    what: str  # the matrix, in words
    sign: str  # of its diagonal
    otherwise: str = ""  # what else it may be


CORRELATION = Resemblance("correlation", "a correlation matrix", sign="ones", otherwise=KERNEL)
SIMILARITIES = Resemblance("kernel", "a matrix of similarities", sign="ones")
DISSIMILARITIES = Resemblance("dissimilarities", "a matrix of dissimilarities", sign="zeros")
COVARIANCE = Resemblance("covariance", "a covariance matrix", sign="variances", otherwise=KERNEL)


def resemblance(table: Table) -> Resemblance | None:
    """The kind that a table of features looks like: square, symmetric, with ones, zeros or variances on the diagonal.

    Variances count only where rows and columns have the same names. A matrix that is zero beside its diagonal is none.
    """
    values = table.values
    if rows_of(values) is not None:  # read in blocks
        return None
    rows, columns = values.shape
    if table.kind != "features" or table.categories or rows != columns or rows < SMALLEST:
        return None
    kind = _by_diagonal(np.diag(values), alike=tuple(table.ids) == table.columns)
    if kind is None or not np.isfinite(values).all():
        return None
    largest = float(np.abs(values).max())
    if worst_pair(values)[0] > ROUNDING * largest / 2:
        return None
    beside = values - np.diag(np.diag(values))
    if not beside.any():
        return None
    if kind is CORRELATION:
        return CORRELATION if largest <= 1 + ROUNDING else SIMILARITIES
    return None if kind is DISSIMILARITIES and beside.min() < 0 else kind


def refuse_resemblance(table: Table, input: Input) -> None:
    """Refuses a table that looks like a matrix of pairs, unless its kind was said; raises DataError."""
    if input.chosen("kind") or input.transpose or (known := resemblance(table)) is None:
        return
    other = f", {known.otherwise}" if known.otherwise else ""
    raise DataError("LOOKS-LIKE-MATRIX", f"the table looks like {known.what}: {len(table.ids)} rows and columns, "
                    f"symmetric, {known.sign} on the diagonal", where=place(input.path),
                    hint=f"give --kind {known.kind}{other}, or --kind features if its rows are points all the same")


def _by_diagonal(diagonal: Array, *, alike: bool) -> Resemblance | None:
    """What the diagonal alone may be that of."""
    if (np.abs(diagonal - 1) <= ROUNDING).all():
        return CORRELATION
    if not diagonal.any():
        return DISSIMILARITIES
    return COVARIANCE if alike and (diagonal > 0).all() else None
