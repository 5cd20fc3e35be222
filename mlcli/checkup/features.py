"""A table of points as it stands in the file: missing cells, repeated rows and columns, constants, scales."""

from collections.abc import Sequence

import numpy as np

from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.rows.gaps import Gaps
from mlcli.base.stages.stage import stage
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.scaling import Unit
from mlcli.checkup.report import Features, Missing, Scales
from mlcli.checkup.unusual import NearlyConstant
from mlcli.data.prepare.columns import codes_of
from mlcli.data.prepare.scales import spreads
from mlcli.data.table.cells import ROWS
from mlcli.data.table.table import Table

LISTED = 5
NAMED = 100
SELDOM, ENOUGH = 100, 20  # nearly constant: at most one row of so many differs; rows needed for the test
BLOCK = 2**18  # numbers in a block


@stage("features")
def features_of(table: Table) -> Features:
    """Return facts about a table before any preparation."""
    values, names = table.values, table.columns
    deviations, unit, constant = spreads(values)
    rows, columns = repeated_pairs(values, 1), repeated_pairs(values, 0)
    columns = columns[~constant[columns[:, 0]]]  # constant columns are reported as constant
    nearly = nearly_constant(values, names, constant)
    texts = np.array([name in table.categories for name in names])  # codes of texts have no scale
    spread, scales = scales_of(deviations, unit, constant | texts, names)
    return Features(rows=len(values), columns=len(names), missing=missing_of(values, names),
                    constant_columns=int(constant.sum()),
                    constant_column_names=tuple(names[j] for j in np.flatnonzero(constant)[:NAMED].tolist()),
                    nearly_constant_columns=len(nearly), nearly_constant=tuple(nearly[:NAMED]),
                    duplicate_columns=len(columns),
                    duplicate_column_names=tuple((names[j], names[i]) for j, i in columns[:NAMED].tolist()),
                    duplicate_rows=len(rows),
                    duplicate_row_ids=tuple((table.ids[j], table.ids[i]) for j, i in rows[:LISTED].tolist()),
                    codes=tuple(codes_of(values, names)[:NAMED]), scale_spread=spread, scales=scales)


def nearly_constant(values: Array, names: Sequence[str], constant: AnyArray) -> list[NearlyConstant]:
    """List columns of an (n, d) array where at most one row, or a hundredth of the rows, differs from the median.

    `constant` is a (d,) array of flags: these columns are skipped. Missing cells do not count.
    """

    def some(columns: slice) -> list[NearlyConstant]:
        found = []
        for column in range(columns.start, columns.stop):
            known = values[:, column]
            known = known if (finite := np.isfinite(known)).all() else known[finite]
            if len(known) < ENOUGH or constant[column]:
                continue
            middle = np.partition(known, len(known) // 2)[len(known) // 2]
            others = int(np.count_nonzero(known != middle))
            if others <= max(1, len(known) // SELDOM):
                found.append(NearlyConstant(names[column], float(middle), others))
        return found

    return [column for part in in_order(some, row_blocks(values.shape[1], BLOCK, len(values))) for column in part]


def missing_of(values: Array, names: Sequence[str]) -> Missing:
    """Count the cells of an (n, d) array without a finite number, by column."""
    by_column, infinite, rows = np.zeros(len(names), dtype=np.int64), 0, 0
    for block in row_blocks(len(values), ROWS):
        bad = ~np.isfinite(values[block])
        if bad.any():
            by_column += bad.sum(axis=0)
            infinite += int(np.isinf(values[block]).sum())
            rows += int(bad.any(axis=1).sum())
    return _missing(by_column, infinite, rows, names)


def missing_in_all(gaps: Gaps, names: Sequence[str]) -> Missing:
    """Count missing cells in all rows of a table that is read in blocks."""
    by_column = len(gaps.rows) - np.broadcast_to(gaps.present, len(names))
    return _missing(by_column, gaps.infinite, len(gaps.rows), names)


def _missing(by_column: Indices, infinite: int, rows: int, names: Sequence[str]) -> Missing:
    worst = np.argsort(-by_column, kind="stable")[:LISTED]
    return Missing(cells=int(by_column.sum()), infinite=infinite, rows=rows, columns=int(np.count_nonzero(by_column)),
                   worst=tuple((names[j], int(by_column[j])) for j in worst.tolist() if by_column[j]))


def scales_of(deviations: Array, unit: Unit, without: AnyArray,
              names: Sequence[str]) -> tuple[float | None, Scales | None]:
    """Return the ratio of the largest to the smallest standard deviation, and the scales of the columns that vary.

    `deviations` is a (d,) array in `unit`; columns flagged in `without`, a (d,) array, are left out. None
    if no column remains.
    """
    varying = np.flatnonzero(~without)
    if len(varying) == 0:
        return None, None
    high, low = varying[deviations[varying].argmax()], varying[deviations[varying].argmin()]
    largest, smallest, middle = (unit.number(value) for value in (
        deviations[high], deviations[low], np.median(deviations[varying])))
    with np.errstate(divide="ignore", under="ignore"):
        spread = float(deviations[high] / deviations[low])
        shares = (deviations[varying] / deviations[high]) ** 2
    return spread, Scales(largest=largest, largest_column=names[high], smallest=smallest, smallest_column=names[low],
                          median=middle, dominant_share=float(1 / shares.sum()))


def repeated_pairs(values: Array, axis: int) -> Indices:
    """Return the rows (axis 1) or columns (axis 0) that equal an earlier one, each with it, as an (m, 2) array."""
    prints = fingerprints(values, axis)
    order = np.argsort(prints, kind="stable")
    same = prints[order[1:]] == prints[order[:-1]]
    pairs = np.stack([order[1:][same], order[:-1][same]], axis=1)
    equal = [_equal(values, pairs[some], axis) for some in row_blocks(len(pairs), BLOCK, values.shape[axis])]
    pairs = pairs[np.concatenate(equal)] if equal else pairs
    return pairs[np.argsort(pairs[:, 0], kind="stable")]


def _equal(values: Array, pairs: Indices, axis: int) -> AnyArray:
    """Return whether the two members of each pair are equal throughout; two missing cells count as equal."""
    first, second = (np.take(values, pairs[:, side], axis=1 - axis) for side in (0, 1))
    result: AnyArray = ((first == second) | (np.isnan(first) & np.isnan(second))).all(axis=axis)
    return result


def fingerprints(values: Array, axis: int) -> AnyArray:
    """Return a 64-bit hash of every row (axis 1) or column (axis 0) of an (n, d) array; equal ones have equal hashes.

    The bits of every cell are mixed and summed with fixed odd weights, modulo 2**64.
    """
    rows, columns = values.shape
    drawn: Indices = np.random.default_rng(0).integers(0, 2**62, (values.shape[axis],))
    weights = (2 * drawn + 1).astype(np.uint64)
    prints = np.zeros(rows if axis == 1 else columns, dtype=np.uint64)
    for block in row_blocks(rows, BLOCK, columns):
        bits = (values[block] + 0.0).view(np.uint64)  # minus zero is zero
        bits = np.where(np.isnan(values[block]), np.uint64(1), bits)
        bits = (bits ^ (bits >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
        bits ^= bits >> np.uint64(29)
        if axis == 1:
            prints[block] = (bits * weights).sum(axis=1)
        else:
            prints += (bits * weights[block, None]).sum(axis=0)
    return prints
