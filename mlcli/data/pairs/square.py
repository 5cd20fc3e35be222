"""Square matrices: their points (of a covariance: columns), and conditions on their numbers."""

from dataclasses import replace
from itertools import combinations

import numpy as np

from mlcli.base.rows.blocks import row_blocks
from mlcli.base.stages.stage import note
from mlcli.base.types import Array, Indices
from mlcli.base.units import percent
from mlcli.base.values.naming import LISTED, listed, shown
from mlcli.base.values.scaling import Unit
from mlcli.core.linalg import symmetric_eigenvalues
from mlcli.data.formats.arrays import points_of
from mlcli.data.options.input import Input, WithMatrices
from mlcli.data.options.wording import NO_PAIRS, counted, joined, place
from mlcli.data.pairs.symmetry import from_triangle, make_symmetric
from mlcli.data.table.cells import ROWS, refuse_negative, refuse_nonfinite
from mlcli.data.table.sheet import Sheet, require_unique_ids
from mlcli.errors import DataError

SAMPLE = 10_000
ALL = 39  # most points whose triples are all tried
SHARE = 0.2
SLACK = 1e-9  # relative, for points on a line


ORDER = "no rule takes roots of these, but {method.name=nmds} uses their order alone, which roots do not change"
ROOTS = {None: "if they are squared, give {input.squared=true}",
         "one-minus": "{input.similarities=root-one-minus} takes their roots",
         "max-minus": "of similarities from 0 to 1, {input.similarities=root-one-minus} takes the roots",
         "root-one-minus": ORDER, "minus-log": ORDER}  # by the rule that made dissimilarities of similarities


def warn_if_squared(values: Array, input: Input) -> None:
    """Warn if an (n, n) array violates the triangle inequality in more than a fifth of the triples.

    The remedy depends on the rule by which similarities became these dissimilarities. One of several matrices is named.
    """
    share = violation_share(values)
    if share > SHARE:
        of = f" of {place(input.path)}" if isinstance(input, WithMatrices) else ""
        note("W-LOOKS-SQUARED", f"the triangle inequality fails in {percent(share, 0)} of the triples{of}, as it does "
             f"for squared distances; {ROOTS[input.similarities]}", share=share)


def violation_share(values: Array) -> float:
    """Return the share of triples of an (n, n) array with a side longer than the other two combined."""
    if len(values) < 3:
        return 0.0
    first, second, third = triples(len(values)).T
    halves = np.stack([values[first, second], values[second, third], values[third, first]]) * 0.5  # no overflow
    halves.sort(axis=0)
    return float(np.mean(halves[2] > (halves[0] + halves[1]) * (1 + SLACK)))


def triples(size: int) -> Indices:
    """Return three different points in each row of an (m, 3) array: all triples, or a fixed sample."""
    if size <= ALL:
        return np.array(list(combinations(range(size), 3)), dtype=np.int64)
    drawn = np.random.default_rng(0).integers(0, [size, size - 1, size - 2], (SAMPLE, 3))
    first, second, third = drawn.T
    second = second + (second >= first)
    low, high = np.minimum(first, second), np.maximum(first, second)
    third = third + (third >= low)
    return np.stack([first, second, third + (third >= high)], axis=1)


ROUNDING = 1e-12  # of the largest entry: a diagonal this small is zero
UNIT = 1e-6  # allowed deviation of correlations' diagonal from one: files often round them
INDEFINITE = 1e-8  # of the largest eigenvalue: one below minus this is not rounding


def square_matrix(sheet: Sheet, input: Input) -> tuple[Array, tuple[str, ...]]:
    """Return the (n, n) array of a sheet, rows and columns in one order, and the ids; raises DataError."""
    bare = sheet.values.ndim == 2 and not sheet.named and sheet.ids is None and not sheet.labels
    if bare and input.kind == "dissimilarities" and min(sheet.values.shape) == 1 < sheet.values.size:
        sheet = replace(sheet, values=sheet.values.ravel())  # one row or one column of them is a condensed vector
    values = sheet.values
    if values.ndim == 1:
        values = square_of(values, input.path)
        np.fill_diagonal(values, input.of_itself or 0.0)
    rows, columns = values.shape
    if rows != columns:
        raise DataError("NOT-SQUARE", f"the matrix has {counted(rows, 'row')} and {counted(columns, 'column')}",
                        where=place(input.path), hint="one row and one column for every point; "
                        f"name columns of labels ({{input.label_columns}}); {NO_PAIRS}")
    values, ids = order_columns(values, sheet, input.path)
    require_unique_ids(ids, input.path)
    return fill_triangle(values, input), ids


def check_square(values: Array, ids: tuple[str, ...], input: Input) -> Array:
    """Return the (n, n) array that a method takes; raises DataError for numbers that violate its conditions."""
    refuse_nonfinite(values, ids, ids, place(input.path), "every two points need a number; "
                     "leave points out that have none")
    if input.kind == "dissimilarities":
        return check_dissimilarities(values, ids, input)
    values = make_symmetric(values, ids, input)
    if input.kind == "correlation":
        require_correlation(values, ids, place(input.path))
    if input.gives == "covariance":
        require_covariance(values, place(input.path))
    return values


def require_correlation(values: Array, ids: tuple[str, ...], where: str) -> None:
    """Raise DataError for an (n, n) array without a unit diagonal, or with a number beyond one."""
    off = np.flatnonzero(np.abs(np.diag(values) - 1) > UNIT)
    if len(off):
        raise DataError("NOT-CORRELATION", f"{counted(len(off), 'column')} with a diagonal entry that is not 1: "
                        + joined([f"{values[row, row]:.17g} at {shown(ids[row])}" for row in off[:LISTED]], len(off)),
                        where=where, hint="give {input.kind=covariance} for a matrix of variances and covariances")
    row, column = np.unravel_index(int(np.abs(values).argmax()), values.shape)
    if abs(values[row, column]) > 1 + UNIT:
        raise DataError("NOT-CORRELATION", f"between {shown(ids[row])} and {shown(ids[column])} it holds "
                        f"{values[row, column]:.17g}", where=where, hint="correlations lie between -1 and 1")


def require_covariance(values: Array, where: str) -> None:
    """Raise DataError for a (d, d) array with a negative eigenvalue: some weighted sum would have negative variance."""
    eigenvalues = symmetric_eigenvalues(Unit.of(values).measured(values))
    if eigenvalues[-1] < -INDEFINITE * np.abs(eigenvalues).max():
        raise DataError("NOT-COVARIANCE", "this is not a covariance matrix: its smallest eigenvalue is "
                        f"{eigenvalues[-1] / np.abs(eigenvalues).max():.3g} times its largest", where=where,
                        hint="compute it from complete rows: rounded numbers, or columns compared pair by pair around "
                            "missing cells, give negative eigenvalues")


def square_of(condensed: Array, path: str) -> Array:
    """Return the (n, n) array of a condensed vector, n(n-1)/2 numbers in the order of SciPy's pdist.

    Raises DataError.
    """
    size = points_of(len(condensed), path)
    square = np.zeros((size, size))
    start = 0
    for row in range(size - 1):
        stop = start + size - 1 - row
        square[row, row + 1:] = square[row + 1:, row] = condensed[start:stop]
        start = stop
    return square


def order_columns(values: Array, sheet: Sheet, path: str) -> tuple[Array, tuple[str, ...]]:
    """Return an (n, n) array with columns in the order of the rows, matched by name, and the ids; raises DataError."""
    if sheet.values.ndim == 1 or not sheet.named or sheet.ids is None:
        return values, sheet.columns if sheet.named else sheet.ids or tuple(map(str, range(1, len(values) + 1)))
    if sheet.ids == sheet.columns:
        return values, sheet.ids
    require_unique_ids(sheet.ids, path)
    rows, columns = set(sheet.ids), {name: position for position, name in enumerate(sheet.columns)}
    alone = [name for name in sheet.ids if name not in columns]
    if alone:
        others = [name for name in sheet.columns if name not in rows]
        raise DataError("IDS-DIFFER", f"rows and columns name different points: {listed(alone)} only among the rows, "
                        f"{listed(others)} only among the columns", where=place(path),
                        hint="write the same ids in the header and in the first column (R: check.names=FALSE)")
    note("N-REORDERED", "the columns were put in the order of the rows", columns=len(columns))
    return np.ascontiguousarray(values[:, [columns[name] for name in sheet.ids]]), sheet.ids


def fill_triangle(values: Array, input: Input) -> Array:
    """Fill an empty triangle of an (n, n) array from the other one, and an empty diagonal with its known value."""
    whole = from_triangle(values)
    if whole is None:
        return values
    note("N-TRIANGLE", "the matrix is one triangle; the other one was filled in from it")
    diagonal = np.diag(whole)
    if input.of_itself is not None:
        np.fill_diagonal(whole, np.where(np.isnan(diagonal), input.of_itself, diagonal))
    return whole


def check_dissimilarities(values: Array, ids: tuple[str, ...], input: Input) -> Array:
    """Return an (n, n) array of dissimilarities, checked, and their roots if they are squared; raises DataError."""
    where = place(input.path)
    if look_like_similarities(values):
        raise DataError("LOOKS-LIKE-SIMILARITY", "every row has its largest entry on the diagonal, as in similarities",
                        where=where, kind="kernel", hint="give {input.kind=kernel}, or a rule that makes "
                        "dissimilarities of them, as {input.similarities=one-minus}")
    refuse_negative(values, ids, ids, where)
    values = make_symmetric(zero_diagonal(values, ids, where), ids, input)
    if input.squared:
        return np.sqrt(values)
    warn_if_squared(values, input)
    return values


def look_like_similarities(values: Array) -> bool:
    """Whether the diagonal of an (n, n) array is positive and the largest entry of every row."""
    diagonal = np.diag(values)
    if not diagonal.min() > 0:  # before a look at all entries
        return False
    return bool(diagonal.min() > ROUNDING * np.abs(values).max() and np.all(diagonal >= values.max(axis=1)))


def zero_diagonal(values: Array, ids: tuple[str, ...], where: str) -> Array:
    """Set the diagonal of an (n, n) array to exactly zero, in place; raises DataError if it is not nearly zero."""
    diagonal = np.abs(np.diag(values))
    if not diagonal.any():
        return values
    largest = max(float(np.abs(values[rows]).max()) for rows in row_blocks(len(values), ROWS))
    bad = np.flatnonzero(diagonal > ROUNDING * largest)
    if len(bad):
        parts = [f"{values[row, row]:.17g} at {shown(ids[row])}" for row in bad[:LISTED]]
        raise DataError("DIAGONAL", f"{counted(len(bad), 'point')} with a dissimilarity to itself: "
                        + joined(parts, len(bad)), where=where, hint="the diagonal must be zero")
    note("W-DIAGONAL", f"a diagonal of at most {diagonal.max():.3g} was set to zero", largest=float(diagonal.max()))
    np.fill_diagonal(values, 0.0)
    return values
