"""A table of points as it stands in the file: missing cells, repeated and outlying rows, columns, scales, labels."""

from collections.abc import Mapping, Sequence

import numpy as np

from mlcli.base.rows.blocks import in_order, row_blocks
from mlcli.base.rows.source import Gaps
from mlcli.base.stages.stage import stage
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features
from mlcli.base.values.missing import classes_of
from mlcli.base.values.sample_size import sample_of
from mlcli.base.values.scaling import Unit
from mlcli.checkup.report import ColumnScales, Far, LabelFacts, Missing, NearlyConstant, Outliers, TableFacts
from mlcli.core.graph.search import Lists
from mlcli.core.linalg import leading_eigen
from mlcli.data.options.wording import counted
from mlcli.data.prepare.columns import codes_of
from mlcli.data.prepare.scales import spreads
from mlcli.data.table.cells import ROWS
from mlcli.data.table.table import Table

FEWEST = 10  # rows needed to call one an outlier
SPREADS = {"center": 5.0, "neighbors": 6.0}  # beyond the median, in spreads of the logarithm
NEAR = 5  # rank of the neighbor whose distance counts: a group of up to as many far rows is detected
FARTHEST = 1e150  # largest number of median deviations: its square does not overflow
LISTED = 5


def outliers_of(values: Array | None, columns: Sequence[str], ids: Sequence[str], lists: Lists | None) -> Outliers:
    """Find outliers among `values`, an (n, d) array if not None, and by `lists` of equally many nearest neighbors."""
    center = neighbors = None
    if values is not None and len(values) >= FEWEST:
        lengths, widest = from_center(values)
        center = far_rows(lengths, ids, "center", [columns[column] for column in widest])
    if lists is not None and len(lists.counts) >= FEWEST:
        nearest = lists.lengths.reshape(len(lists.counts), -1)
        neighbors = far_rows(nearest[:, min(NEAR, nearest.shape[1]) - 1], ids, "neighbors")
    return Outliers(center, neighbors)


def far_rows(lengths: Array, ids: Sequence[str], rule: str, columns: Sequence[str] = ()) -> Far:
    """Find the rows whose length, in an (n,) array of numbers of at least zero, is far beyond that of the others.

    With q the quantiles of the logarithms of lengths above zero, a row is far away beyond q50 + s (q90 -
    q50), s being `SPREADS`: no row of 1,000 is, of normal, uniform, log-normal or Student's t points with 3
    degrees of freedom. Up to a tenth of the rows may be far away without hiding each other.
    """
    positive = lengths > 0
    logs = np.log(lengths, where=positive, out=np.full(len(lengths), -np.inf))
    if positive.sum() < FEWEST:
        return Far(0, float("inf"), ())
    median, high = np.quantile(logs[positive], [0.5, 0.9])
    limit = median + SPREADS[rule] * max(high - median, np.finfo(float).eps)
    beyond = np.flatnonzero(logs > limit)
    worst = beyond[np.argsort(-logs[beyond], kind="stable")[:LISTED]]
    with np.errstate(over="ignore"):  # infinitely far, where lengths differ by more than the range of numbers
        return Far(len(beyond), float(np.exp(limit - median)), tuple(
            (str(ids[row]), float(np.exp(logs[row] - median)), columns[row] if columns else "")
            for row in worst.tolist()))


def from_center(values: Array) -> tuple[Array, Indices]:
    """Return the length of each row's deviations from the medians, and the column that contributes most.

    Returns two (n,) arrays for an (n, d) array. Deviations are in median absolute deviations of each
    column. Columns with a median deviation of zero (more than half of their values equal) are left out.
    """
    squares, largest, widest = np.zeros(len(values)), np.zeros(len(values)), np.zeros(len(values), dtype=np.int64)
    for column in range(values.shape[1]):
        exponent = np.frexp(np.abs(values[:, column]).max())[1]
        inside = np.ldexp(values[:, column], -exponent)  # differences cannot overflow
        apart = np.abs(inside - np.median(inside))
        usual = np.median(apart)
        if usual > 0:
            with np.errstate(over="ignore"):
                squared = np.minimum(apart / usual, FARTHEST) ** 2
            squares += squared
            wider = squared > largest
            largest[wider], widest[wider] = squared[wider], column
    return np.sqrt(squares), widest


AXES = 2  # principal components that labels are compared with
MOST = 50  # most values of a label
SAMPLE = 2000  # most rows
ROUNDING = 1e-12  # of the first eigenvalue: components of no more count as zero
LEAST_ROWS = 3  # least average number of rows for each value


def labels_of(data: Features, labels: Mapping[str, Sequence[str]], compute: Compute) -> tuple[LabelFacts, ...]:
    """Return the shares of the first principal components that labels explain, on at most 2,000 rows."""
    rows = sample_of(len(data.values), SAMPLE, compute.generator())
    groups, _ = label_groups(labels, rows)
    axes = components(data.normalized().values[rows]) if groups else ()
    return tuple(LabelFacts(name, int(codes.max()) + 1, tuple(
        epsilon_squared(axis[codes >= 0], codes[codes >= 0]) for axis in axes)) for name, codes in groups.items())


def components(values: Array) -> Array:
    """Return the first principal components of an (n, d) array of points, each of length one, as a (p, n) array."""
    centered = values - values.mean(axis=0)
    eigenvalues, leading = leading_eigen(centered @ centered.T)
    return leading(min(AXES, int((eigenvalues > ROUNDING * eigenvalues[0]).sum()))).T


def label_groups(labels: Mapping[str, Sequence[str]], rows: Indices) -> tuple[dict[str, Indices], dict[str, str]]:
    """Return the labels that divide rows (m) into few groups, with the group of each (m), and why others do not.

    A row without a label is in no group, -1.
    """
    groups, reasons = dict[str, Indices](), dict[str, str]()
    for name, texts in labels.items():
        values, codes = classes_of([texts[row] for row in rows.tolist()])
        count, known = len(values), int(np.sum(codes >= 0))
        if count < 2:
            reasons[name] = "it has one value only" if count else "no row has a value"
        elif count > MOST:
            reasons[name] = f"it has {count:,} values, and {MOST} are the most"
        elif known < LEAST_ROWS * count:
            reasons[name] = (f"{counted(known, 'row')} with {count} values are fewer than {LEAST_ROWS} to a value on "
                             "average")
        else:
            groups[name] = codes
    return groups, reasons


def epsilon_squared(axis: Array, codes: Indices) -> float:
    """Return ε², the share of the variance of an axis between groups, corrected for groups drawn by chance.

    ε² = 1 - (1 - η²)(n - 1)/(n - g), at least 0, with η² the sum of squares between g groups over the total
    (Kelley, 1935). `axis` and `codes`, the group of each row, are (n,) arrays.
    """
    size, sizes = len(axis), np.bincount(codes)
    centered = axis - axis.mean()
    means = np.bincount(codes, centered) / sizes
    total = float(centered @ centered)
    share = float(sizes @ means**2) / total if total > 0 else 0.0
    return max(0.0, 1 - (1 - share) * (size - 1) / (size - len(sizes)))


NAMED = 100
SELDOM, ENOUGH = 100, 20  # nearly constant: at most one row of so many differs; rows needed for the test
BLOCK = 2**18  # numbers in a block


@stage("features")
def features_of(table: Table) -> TableFacts:
    """Return facts about a table before any preparation."""
    values, names = table.values, table.columns
    deviations, unit, constant = spreads(values)
    rows, columns = repeated_pairs(values, 1), repeated_pairs(values, 0)
    columns = columns[~constant[columns[:, 0]]]  # constant columns are reported as constant
    nearly = nearly_constant(values, names, constant)
    texts = np.array([name in table.categories for name in names])  # codes of texts have no scale
    spread, scales = scales_of(deviations, unit, constant | texts, names)
    return TableFacts(rows=len(values), columns=len(names), missing=missing_of(values, names),
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
              names: Sequence[str]) -> tuple[float | None, ColumnScales | None]:
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
    return spread, ColumnScales(largest=largest, largest_column=names[high], smallest=smallest,
                                smallest_column=names[low], median=middle, dominant_share=float(1 / shares.sum()))


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
