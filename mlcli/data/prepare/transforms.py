"""Transforms of features, row by row: logarithms, roots, shares, ranks, log-ratios; some after a size by column."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.naming import shown
from mlcli.base.values.scaling import all_finite
from mlcli.core.arithmetic import logarithm_of_successor
from mlcli.core.rows import (
    additive_log_ratios,
    doublings,
    log_ratios,
    ranks,
    relative_ranks,
    robust_log_ratios,
    root_shares,
    shares,
    unit,
)
from mlcli.data.prepare import missing
from mlcli.data.prepare.scales import BLOCK, largest, means_present, root_masses
from mlcli.data.table.table import Table
from mlcli.errors import DataError

Name = Literal["log1p", "sqrt", "log", "total", "hellinger", "cpm", "unit", "presence", "rank", "rrank", "clr", "rclr",
               "alr", "max", "frequency", "wisconsin", "chisquare"]
Outside = Callable[[Array], AnyArray]  # flags of the cells outside of a domain
OVER_ZERO = ("add a small amount to all cells, or replace zeros by one (a pseudocount), or choose log1p or sqrt")


@frozen
class Transform:
    """A transform of rows (m x d): function, domain, and inverse if there is one."""

    apply: Callable[[Array], Array]
    outside: Outside | None = None
    domain: str = ""  # the domain in words
    remedy: str = "correct the cell, or leave its column out with {input.columns}"
    whole: bool = False  # whether a cell's result depends on its whole row, which must not be all zeros
    inverse: Callable[[Array], Array] | None = None
    entries: Callable[[Any], Array] | None = None  # for sparse rows, if a cell's result depends on its row
    keeps_zeros: bool = True
    sizes: Callable[[Array], Array] | None = None  # of the columns of all rows of the fit, by which cells are divided
    last: bool = False  # whether they are divided after the map, not before


def by_column(names: Sequence[Name]) -> list[Name]:
    """Return the transforms that divide columns by sizes of theirs, which the fit finds."""
    return [name for name in names if TRANSFORMS[name].sizes is not None]


def fit_sizes(table: Table, names: Sequence[Name]) -> Array | None:
    """Return the sizes of the columns (t x d) for each transform that has any; None where none has.

    Raises DataError for missing cells, and as `apply_transforms` does.
    """
    if not (wanted := by_column(names)):
        return None
    if not all_finite(table.values):
        row = int(np.flatnonzero(~np.isfinite(table.values).all(axis=1))[0])
        with table.rows_named():
            raise _undefined(f"{wanted[0]} needs all cells of a column, and one is missing",
                             "choose prepare.missing: drop or mean, or transforms of single cells", table, row)
    found = np.empty((len(wanted), len(table.columns)))
    for place, name in enumerate(names):
        if (sizes := TRANSFORMS[name].sizes) is not None:
            before = by_column(names[:place])
            made = apply_transforms(table, names[:place], found[: len(before)])
            with table.rows_named():
                _require_domain(name, made.values, table, 0)
            found[len(before)] = sizes(made.values)
    return found


def apply_transforms(table: Table, names: Sequence[Name], sizes: Array | None = None) -> Table:
    """Return the table after the transforms, in their order; raises DataError for a row outside a domain.

    NaN stay NaN. Rows do not depend on each other, so new rows are treated as the first ones were. `sizes` are those
    of `fit_sizes`.
    """
    if not names:
        return table
    values: Array = np.empty_like(table.values)

    def fill(rows: slice) -> None:
        block = table.values[rows]
        own = iter(() if sizes is None else sizes)
        for name in names:
            block = _applied(name, block, table, rows.start, next(own) if TRANSFORMS[name].sizes else None)
        values[rows] = block

    with table.rows_named():
        each(fill, row_blocks(len(values), BLOCK, values.shape[1]))
    return replace(table, values=values)


def _applied(name: Name, block: Array, table: Table, start: int, sizes: Array | None) -> Array:
    """Return rows (m x d), from row `start` of the table on, after a transform; raises DataError outside its domain."""
    transform = TRANSFORMS[name]
    _require_domain(name, block, table, start)
    if sizes is not None and not transform.last:
        block = _divided(block, sizes)
    _require_whole(name, block, table, start)
    block = transform.apply(block)
    return _divided(block, sizes) if sizes is not None and transform.last else block


def _divided(rows: Array, sizes: Array) -> Array:
    """Return rows (m x d) with each column over its size, zero where that is zero."""
    found: Array = np.divide(rows, sizes, out=np.zeros(rows.shape), where=sizes > 0)
    return found


def _require_domain(name: Name, block: Array, table: Table, start: int) -> None:
    """Raise DataError for a cell of an (m, d) array, from row `start` of the table on, outside a transform's domain."""
    transform = TRANSFORMS[name]
    if transform.outside is not None and (wrong := transform.outside(block)).any():
        row, column = np.argwhere(wrong)[0]
        raise _undefined(f"column {shown(table.columns[column])}: {name} is defined for numbers {transform.domain}, "
                         f"not {block[row, column]:g}", transform.remedy, table, start + int(row))


def _require_whole(name: Name, block: Array, table: Table, start: int) -> None:
    """Raise DataError for a row with a missing cell, or of zeros, where a transform needs the whole row."""
    if not TRANSFORMS[name].whole:
        return
    if not all_finite(block):
        row = int(np.flatnonzero(np.isnan(block).any(axis=1))[0])
        raise _undefined(f"{name} needs the whole row, and a cell is missing",
                         "choose prepare.missing: drop or mean, or transforms of single cells", table, start + row)
    if not (filled := block.any(axis=1)).all():
        raise _undefined(f"{name} is not defined for a row of zeros", "leave the row out of the file", table,
                         start + int(np.flatnonzero(~filled)[0]))


def _undefined(what: str, hint: str, table: Table, row: int) -> DataError:
    return DataError("TRANSFORM", what, where=missing.where_of(table), hint=hint, row=row)


def invert_transforms(values: Array, names: Sequence[Name]) -> tuple[Array, Sequence[Name]]:
    """Invert the last transforms of an (n, d) array as far as possible; return it and the transforms that remain."""
    while names and (inverse := TRANSFORMS[names[-1]].inverse) is not None:
        values, names = inverse(values), names[:-1]
    return values, names


def keep_zeros(names: Sequence[Name]) -> bool:
    """Whether transforms map zeros to zero and do not depend on other cells that are zero."""
    return all(TRANSFORMS[name].keeps_zeros for name in names)


def transformed_entries(rows: Any, names: Sequence[Name]) -> Any:
    """Return sparse rows (compressed, of SciPy) after transforms that keep zeros and are defined for them."""
    for name in names:
        transform = TRANSFORMS[name]
        rows = with_values(rows, transform.apply(rows.data) if transform.entries is None else transform.entries(rows))
    return rows


def times_columns(rows: Any, factors: Array) -> Any:
    """Return sparse (n, d) rows of SciPy with each column times its factor; `factors` is a (d,) array."""
    return rows if np.all(factors == 1) else with_values(rows, rows.data * factors[rows.indices])


def with_values(rows: Any, values: Array) -> Any:
    """Return sparse rows of SciPy with other numbers in the same places; `values` has the shape (entries,)."""
    return type(rows)((values, rows.indices, rows.indptr), shape=rows.shape)


def _shared(rows: Any) -> Array:
    """Return the entries of sparse rows as shares of their row's total."""
    return _over(rows, np.asarray(rows.sum(axis=1)).ravel())


def _over(rows: Any, sizes: Array) -> Array:
    """Return the entries of sparse rows, each row divided by its size."""
    divided: Array = rows.data / np.repeat(sizes, np.diff(rows.indptr))
    return divided


def _exponentials(rows: Array) -> Array:
    with np.errstate(over="ignore"):  # overflow is an error later, with its row
        return np.expm1(rows)


AMOUNTS: tuple[Outside, str] = (lambda rows: rows < 0, "of zero or more")  # two domains, in words
POSITIVE: tuple[Outside, str, str] = (lambda rows: rows <= 0, "over zero", OVER_ZERO)
TRANSFORMS: dict[Name, Transform] = {
    "log1p": Transform(logarithm_of_successor, lambda rows: rows <= -1, "over -1", inverse=_exponentials),
    "log": Transform(doublings, *AMOUNTS),
    "sqrt": Transform(np.sqrt, *AMOUNTS, inverse=lambda rows: np.square(np.maximum(rows, 0.0))),
    "total": Transform(shares, *AMOUNTS, whole=True, entries=_shared),
    "hellinger": Transform(root_shares, *AMOUNTS, whole=True,
                           entries=lambda rows: np.sqrt(_shared(rows))),
    "cpm": Transform(lambda rows: shares(rows) * 1e6, *AMOUNTS, whole=True,
                     entries=lambda rows: _shared(rows) * 1e6),
    "unit": Transform(unit, whole=True, entries=lambda rows: _over(
        rows, np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel()))),
    "presence": Transform(lambda rows: np.where(np.isnan(rows), rows, rows != 0)),
    "rank": Transform(ranks, *AMOUNTS, whole=True, keeps_zeros=False),
    "rrank": Transform(relative_ranks, *AMOUNTS, whole=True, keeps_zeros=False),
    "rclr": Transform(robust_log_ratios, *AMOUNTS, whole=True, keeps_zeros=False),
    "max": Transform(np.asarray, *AMOUNTS, sizes=largest),
    "frequency": Transform(np.asarray, *AMOUNTS, sizes=means_present),
    "wisconsin": Transform(shares, *AMOUNTS, whole=True, sizes=largest),
    "chisquare": Transform(shares, *AMOUNTS, whole=True, sizes=root_masses, last=True),
    "clr": Transform(log_ratios, *POSITIVE, whole=True, keeps_zeros=False),
    "alr": Transform(additive_log_ratios, *POSITIVE, whole=True,
                     keeps_zeros=False),
}
