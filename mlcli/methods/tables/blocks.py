"""Groups of columns as blocks: numbers standardized, categories as zeros and ones, each group with a weight.

A represented row z has z·z' as the sum of the groups' kernels. Of a column of numbers z is (x - mean) / deviation, of a
category of share p it is (1 - p) / √p in its rows and -√p in others: principal components of z are those of
correlations, and multiple correspondence analysis times the number of questions (Pagès, 2004).

Axes, weights and what groups say about them follow from the products of represented columns alone. So of a table that
is read in blocks a few rows with the same products stand for all (`equivalent_rows`), as the triangle R does for QR.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Strict

from mlcli.base.frozen import frozen
from mlcli.base.rows.memo import memoize
from mlcli.base.rows.source import CenteredSparseRows, Rows, rows_of
from mlcli.base.stages.stage import note, running
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS
from mlcli.base.values.column_groups import ColumnGroup, groups_of, require_groups, require_names
from mlcli.base.values.inputs import Features, TextColumns
from mlcli.base.values.metric import RowMetric
from mlcli.base.values.naming import listed
from mlcli.base.values.scaling import all_finite
from mlcli.core.counts_pass import count_numbers
from mlcli.core.kernels.factor_solver import NARROW
from mlcli.core.kernels.row_factor import RowFactor
from mlcli.core.linalg import symmetric_eigen
from mlcli.core.metrics import EUCLIDEAN
from mlcli.core.metrics.base import Metric
from mlcli.core.metrics.profiles import Indicators, indicators_of
from mlcli.core.moments_pass import gather
from mlcli.core.similarities.base import Similarity
from mlcli.errors import ConfigError, DataError, NumericalError

Names = Annotated[tuple[str, ...], Strict(False)]
LEAST = 4 * EPS  # deviation, relative to the largest number, up to which a column varies by rounding only
REACH = 480  # exponents of deviations of columns that keep their scales, whose squares are added
WHERE = "method.groups"


class TableMetric(Metric):
    """The distance of rows whose columns of text are categories."""

    name: Literal["tables"] = "tables"
    categories: ClassVar[TextColumns] = "all"
    scalable: ClassVar[bool] = False  # every column has a scale of its own


def column_groups(texts: Sequence[str], supplementary: Sequence[str], columns: Sequence[str],
                  files: Sequence[ColumnGroup] = ()) -> list[ColumnGroup]:
    """Return the groups that texts NAME=COLUMNS define among the columns (d); raises ConfigError.

    Those columns of each of several `files` that no text names are a group as well. Without texts and files all columns
    are one group. COLUMNS are names and ranges first:last, separated by commas.
    """
    if not texts and not files:
        if supplementary:
            raise ConfigError("GROUPS", f"there is no group {supplementary[0][:80]!r}: no groups are given",
                              where="method.supplementary", hint="give {method.groups}, or leave it out")
        return [ColumnGroup("all", tuple(range(len(columns))))]
    named = list[tuple[str, tuple[str]]]()
    for text in texts:
        name, given, items = (part.strip() for part in text.partition("="))
        if not (name and given and items):
            raise ConfigError("GROUPS", f"{text[:80]!r} is no group", where=WHERE,
                              hint="write NAME=COLUMNS, as in {method.groups=taste=sweet:sour}")
        named.append((name, (items,)))
    chosen = groups_of(named, columns, WHERE)
    held = {place for group in chosen for place in group.columns}
    others = [replace(file, columns=tuple(place for place in file.columns if place not in held)) for file in files]
    chosen += [group for group in others if group.columns]
    require_names([group.name for group in chosen], WHERE)
    return with_supplementary(chosen, supplementary)


def with_supplementary(groups: Sequence[ColumnGroup], names: Sequence[str]) -> list[ColumnGroup]:
    """Return groups of which those with some names take no part in the axes.

    Raises ConfigError for a name that no group has, and where no group is left.
    """
    found = [replace(group, active=group.name not in names) for group in groups]
    require_groups(names, found, "method.supplementary")
    if not any(group.active for group in found):
        raise ConfigError("GROUPS", "all groups are supplementary: none is left to analyze",
                          where="method.supplementary", hint="name fewer groups")
    return found


@stored("cell-completion", loadings="ca", shares="a")
@frozen
class Completion:
    """Missing cells by the axes of a fit: z = B D F, with scores F of the completed row itself (Josse, Husson, 2012).

    A represented row has the scores F = V'(f z) on directions V = f B of columns times factors f. With z_m = B_m D F in
    the missing cells, F solves (I - V_m'V_m D) F = V_o'(f z)_o: no iteration is needed.
    """

    loadings: Array  # c x a, B: regressions of represented columns without factors on the scores
    shares: Array  # a, D: (λ - σ²) / λ of each axis, of variance λ, with the noise σ²

    def __call__(self, rows: Array, factors: Array) -> Array:
        """Return represented rows without factors (n x c; NaN where missing) completed; `factors` are of columns (c).
        """
        gaps = np.isnan(rows)
        found, directions, roots = rows.copy(), self.loadings * factors[:, None], np.sqrt(self.shares)
        kinds, places = np.unique(np.packbits(gaps, axis=1), axis=0, return_inverse=True)
        order = np.argsort(places.ravel(), kind="stable")
        for chosen in np.split(order, np.cumsum(np.bincount(places.ravel(), minlength=len(kinds)))[:-1]):
            gone = gaps[chosen[0]]
            if not gone.any():
                continue
            missing, known = directions[gone] * roots, directions[~gone] * roots
            system = np.eye(len(roots)) - missing.T @ missing
            solved = np.linalg.solve(system, known.T @ (rows[np.ix_(chosen, ~gone)] * factors[~gone]).T)
            found[np.ix_(chosen, gone)] = (self.loadings[gone] * roots @ solved).T
        return found


@stored("blocks", within={"numbers": "d", "questions": "d", "groups": "g"}, positive=("scales",), numbers="u",
        exponents="u", means="u", scales="u", questions="q", groups="c", factors="g")
@frozen
class Blocks(RowMetric):
    """Rows with their columns centered and scaled, times a factor of their group."""

    numbers: Indices  # columns of numbers
    exponents: Indices  # powers of two that bring each of them into [0.5, 1)
    means: Array  # in these units
    scales: Array  # in these units
    questions: Indices  # columns of categories
    answers: Indicators  # among the columns of categories
    groups: Indices  # of each represented column: those of numbers, then the categories
    factors: Array  # of the groups; zero for a supplementary one
    completion: Completion | None = None  # of missing cells, of a fit that had some
    name: ClassVar[str] = "tables"
    scalable: ClassVar[bool] = False
    embeds: ClassVar[bool] = True
    closed: ClassVar[bool] = True

    def check(self, points: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """Refuse categories (n x d) that no training row has; raises DataError."""
        self.answers.check(points[:, self.questions], ids, [columns[place] for place in self.questions.tolist()])

    def represent(self, points: Array) -> Array:
        """Return represented rows (n x c) of points (n x d)."""
        return self.unweighted(points) * self.factors[self.groups]

    def unweighted(self, points: Array) -> Array:
        """Return represented rows (n x c) of points (n x d) without the factors of the groups.

        Missing cells are completed by the axes of the fit, or NaN before it.
        """
        numbers = (np.ldexp(points[:, self.numbers], -self.exponents) - self.means) / self.scales
        answers = points[:, self.questions]
        levels = (self.answers.represent(answers) - self.answers.roots) * np.sqrt(len(self.questions))
        if np.isnan(answers).any():
            levels[np.repeat(np.isnan(answers), self.answers.counts, axis=1)] = np.nan
        found = np.hstack([numbers, levels])
        if self.completion is None or all_finite(found):
            return found
        return self.completion(found, self.factors[self.groups])

    def cells(self, rows: Array) -> Array:
        """Return represented rows without factors (n x c) as numbers in the columns' units, and shares of categories.
        """
        count, roots = len(self.numbers), np.sqrt(self.masses)
        return np.hstack([rows[:, :count] * self.scales + self.means, (rows[:, count:] + roots) * roots])

    def refitted(self, cells: Array, standardized: AnyArray) -> Self:
        """Return the blocks with the means, deviations and shares of completed cells (n x c).

        Only columns of numbers that are `standardized` (u) are divided by deviations. Raises NumericalError for a
        category that has no share.
        """
        count = len(self.numbers)
        numbers, shares = cells[:, :count], cells[:, count:].mean(axis=0)
        if shares.min(initial=1.0) <= 0:
            raise NumericalError("SHARES", "estimates of missing categories leave one without rows",
                                 where="method.axes.components", hint="ask for fewer axes, or merge rare categories")
        return replace(self, means=numbers.mean(axis=0),
                       scales=np.where(standardized, numbers.std(axis=0), self.scales),
                       answers=replace(self.answers, roots=np.sqrt(shares / max(len(self.questions), 1))))

    def compare(self, left: Array, right: Array) -> Array:
        """Return distances (m x n) of represented rows (m x c, n x c)."""
        return EUCLIDEAN.compare(left, right)

    def lengths(self, squared: Array) -> Array:
        """Return the roots of squared distances (m x n), in place."""
        return np.sqrt(squared, out=squared)

    def with_factors(self, factors: Array) -> Self:
        """Return the comparison with other factors of the groups (g)."""
        return replace(self, factors=factors)

    @property
    def masses(self) -> Array:
        """The share of rows of each category."""
        return np.asarray(self.answers.roots**2 * len(self.questions))


def blocks_of(data: Features, groups: Sequence[ColumnGroup], named: set[int], center: Sequence[str]) -> Blocks:
    """Return the blocks of groups of columns, each with the factor one, or zero if it is supplementary.

    Columns of text are categories, and those `named`, by their places. The groups named in `center` keep the scales of
    their numbers. Raises ConfigError for unknown names in `center`, and DataError for a category with one level, and
    if no column varies.
    """
    require_groups(center, groups, "method.center")
    owner = {place: number for number, group in enumerate(groups) for place in group.columns}
    questions = np.array(sorted({*data.categories, *named} & owner.keys()), dtype=np.int64)
    texts = {at: data.categories[place] for at, place in enumerate(questions.tolist()) if place in data.categories}
    answers = indicators_of(answers_of(data, questions), texts)
    if alone := sorted(set(range(len(questions))) - set(answers.questions.tolist())):
        level = int(questions[alone[0]])
        raise DataError("ONE-LEVEL", f"column {data.columns[level]!r} has the same category in all rows",
                        where="input", hint=leave_out(data, [level]), column=level)
    others = np.array(sorted(owner.keys() - {*questions.tolist()}), dtype=np.int64)
    exponents, means, deviations = moments_of(data.values, others)
    varies = deviations > LEAST
    if not varies.any() and not len(questions) and len(data.values) > 1:  # of a single row no column does
        names = [data.columns[place] for place in others.tolist()]
        raise DataError("CONSTANT-GROUP", f"no column varies: {listed(names)}",
                        where="input", hint="correct the table, or choose other columns with {input.columns}")
    owners = np.array([owner[place] for place in others.tolist()], dtype=np.int64)
    scales = np.array(deviations)
    for number, group in enumerate(groups):
        if group.name in center:
            own, unit = np.flatnonzero(owners == number), unit_of(group, others, exponents, questions)
            require_reach(data, group, others[own], (deviations * varies)[own], exponents[own], unit=unit)
            scales[own] = np.ldexp(1.0, unit - exponents[own])
    of_levels = np.repeat([owner[place] for place in questions.tolist()], answers.counts).astype(np.int64)
    return Blocks(numbers=others[varies], exponents=exponents[varies], means=means[varies], scales=scales[varies],
                  questions=questions, answers=answers, groups=np.concatenate([owners[varies], of_levels]),
                  factors=np.array([float(group.active) for group in groups]))


def answers_of(data: Features, questions: Indices) -> list[tuple[Array, Indices]]:
    """Return the categories of columns, as numbers, ascending, and how many rows have each; in blocks by a pass.

    Of rows whose first ones stand for all, for a prediction, a sample is counted, and a column of text has all its
    categories.
    """
    rows = rows_of(data.values)
    if rows is not None and not rows.sketched:
        places = questions.tolist()
        counts = memoize("categories", (rows, questions), lambda: count_numbers(rows, places))  # the plan has them too
        return [(np.array(list(found)), np.array(list(found.values()), dtype=np.int64)) for found in counts.values()]
    if rows is None:
        points = data.values[:, questions]
        return [np.unique(column[~np.isnan(column)], return_counts=True) for column in points.T]
    seen = rows[rows.at_hand][:, questions].astype(np.float32)  # near the numbers that they stand for
    levels = [np.arange(len(data.categories[place])) if place in data.categories else np.unique(column)
              for place, column in zip(questions.tolist(), seen.T, strict=True)]
    return [(found.astype(np.float64), np.ones(len(found), dtype=np.int64)) for found in levels]


def moments_of(values: Array, columns: Indices) -> tuple[Indices, Array, Array]:
    """Return powers of two (u) of columns of points (n x d), and their means and deviations (u, u) in these units."""
    rows = rows_of(values)
    if rows is not None:
        assert rows.moments is not None
        known = rows.moments.of_columns(columns)
        exponents = known.exponents
        known = known.times_power(-exponents)
        return exponents, known.means, np.sqrt(known.squares / known.rows)
    points = values[:, columns]
    exponents = np.frexp(np.fmax.reduce(np.abs(points), axis=0, initial=0.0))[1].astype(np.int64)
    points = np.ldexp(points, -exponents)
    if all_finite(points):
        return exponents, points.mean(axis=0), points.std(axis=0)
    return exponents, np.nanmean(points, axis=0), np.nanstd(points, axis=0)  # a fit has those of completed columns


def require_reach(data: Features, group: ColumnGroup, numbers: Indices, deviations: Array, exponents: Indices, *,
                  unit: int) -> None:
    """Raise DataError for a column of a group that keeps its scales, if squares of its numbers leave doubles.

    Its columns of `numbers` have deviations, zero for one that does not vary, in units of powers of two with these
    exponents; they are measured in the group's `unit`.
    """
    sizes = np.frexp(deviations)[1] + exponents  # exponents of the deviations
    far = (deviations > 0) & ((np.abs(sizes - unit) > REACH) | (np.abs(sizes) > REACH))
    if far.any():
        place = int(np.argmax(far * (1 + np.abs(sizes))))
        said = np.ldexp(deviations[place], int(exponents[place]))
        raise DataError("GROUP-SCALES", f"column {data.columns[numbers[place]]!r} of group {group.name[:80]!r} has the "
                        f"standard deviation {said:.3g}: its squares cannot be added to those of other columns",
                        where="method.center", hint="leave the group out of {method.center}, or give the column "
                        "another unit")


def unit_of(group: ColumnGroup, numbers: Indices, exponents: Indices, questions: Indices) -> int:
    """Return the exponent of the power of two in which a group that keeps its scales is measured.

    That is of the largest of its columns of numbers, with these exponents, or zero beside columns of categories, which
    have no unit.
    """
    if np.isin(group.columns, questions).any():
        return 0
    held = exponents[np.isin(numbers, group.columns)]
    return int(held.max()) if len(held) else 0


def constant_columns(groups: Sequence[ColumnGroup], blocks: Blocks) -> list[int]:
    """Return the places of columns of groups that do not vary."""
    held = {place for group in groups for place in group.columns}
    return sorted(held - {*blocks.numbers.tolist(), *blocks.questions.tolist()})


def note_unused(data: Features, groups: Sequence[ColumnGroup], blocks: Blocks) -> None:
    """Warn of columns of numbers that do not vary, and of those of no group, which are left out."""
    held = {place for group in groups for place in group.columns}
    if still := [data.columns[place] for place in constant_columns(groups, blocks)]:
        note("W-CONST", f"left out {len(still)} of {len(data.columns)} columns, which do not vary: {listed(still)}",
             columns=still[:100])
    if rest := [name for place, name in enumerate(data.columns) if place not in held]:
        note("W-NO-GROUP", f"left out {len(rest)} of {len(data.columns)} columns, which are in no group: "
             f"{listed(rest)}; put them into a group, which may be supplementary "
             "({method.supplementary=[NAME]})", columns=len(rest))


def leave_out(data: Features, places: Sequence[int]) -> str:
    """Return how some columns of a table, or of one of its files, are left out, as a remedy."""
    own = next((table.columns for table in data.tables if places[0] in table.columns), ())
    if own and {*own} <= {*places}:
        return "leave the file out"
    return f"leave {'it' if len(places) == 1 else 'them'} out with {{input.columns}}"


def require_variation(data: Features, groups: Sequence[ColumnGroup], blocks: Blocks) -> None:
    """Raise DataError for one of several groups whose columns do not vary."""
    held = {*np.unique(blocks.groups).tolist()}
    if len(groups) > 1 and (still := [group for number, group in enumerate(groups) if number not in held]):
        (first, *others), name = still[0].columns, still[0].name
        of_file = name in (table.name for table in data.tables)
        what = (f"all of its {1 + len(others)} columns have" if others else
                f"its only column, {data.columns[first]!r}, has")
        hint = leave_out(data, still[0].columns) if of_file else "leave it out of {method.groups}"
        raise DataError("CONSTANT-GROUP", f"group {name[:80]!r} does not vary: {what} the same number in all rows",
                        where="input", hint=hint, column=None if others and not of_file else first)


@frozen
class RepresentedRows:
    """Rows that are represented as they are read, without the factors of the groups."""

    metric: Blocks

    def __call__(self, first: int, rows: Array) -> Array:
        return self.metric.unweighted(rows)

    def of_entries(self, rows: CenteredSparseRows) -> CenteredSparseRows | None:
        """Return None: zeros are not those of represented rows."""
        return None

    def key(self) -> Any:
        """The metric, by which rows are represented."""
        return ("represented", self.metric)


def represented_rows(metric: Blocks, rows: Rows) -> Rows:
    """Return represented rows (n x c, c > 0), without factors, of rows (n x d) that are read in blocks."""
    return rows.mapped(RepresentedRows(metric), width=len(metric.groups))


def factor_of_rows(metric: Blocks, rows: Rows) -> RowFactor:
    """Return the kernel of represented rows (n x c, c > 0), without factors, of rows (n x d) that are read in blocks.

    The products of categories are summed by another pass.
    """
    represented = represented_rows(metric, rows)
    if not len(metric.questions) and rows.moments is not None and rows.moments.whole:
        own = rows.moments.of_columns(metric.numbers).times_power(-metric.exponents)
        moments = own.scaled(1 / metric.scales, metric.means)
    else:
        with running("covariance"):
            moments = gather(represented, products=True).moments
    return RowFactor.of(replace(represented, moments=moments), "auto")


def equivalent_rows(kernel: RowFactor, rank: int) -> Array:
    """Return rows (m x c) with the products of columns of all n rows of a kernel F F', over m instead of n.

    They are a root of F'F, which has a `rank` at most, or the triangle of F = Q R by another pass if products lost
    digits of small eigenvalues, as in PCA. Columns count by their correlations, whatever their scales.
    """
    deviations = np.sqrt(np.diag(kernel.side))
    values, vectors = symmetric_eigen(kernel.side / np.outer(deviations, deviations))
    if values[rank - 1] >= NARROW * values[0]:
        root = (vectors[:, :rank] * np.sqrt(values[:rank])).T * deviations
    else:
        order = np.argsort(-deviations, kind="stable")
        root = kernel.triangle(order)[:, np.argsort(order)]
    return np.asarray(root * np.sqrt(len(root) / len(kernel.rows)))


@stored("of-tables")
@frozen
class OfTables(Similarity):
    """The represented rows of groups of columns: their products are the sum of the groups' kernels."""

    metric: Blocks

    def rows(self, new: Array) -> Array:
        """Return represented rows (m x c) of new points (m x d)."""
        return self.metric.represent(new)

    def columns(self, new: Array) -> Array:
        """Return represented columns (m x c) of new points (m x d), those of supplementary groups as well."""
        return self.metric.unweighted(new)

    def width(self, given: int) -> int:
        """Return the number of represented columns."""
        return len(self.metric.groups)

    def rounding(self, new: Array) -> Array:
        """Return errors of the represented rows (m x c): of means far from zero, over the deviations."""
        metric = self.metric
        own = np.concatenate([(1 + np.abs(metric.means)) / metric.scales, 1 / np.sqrt(metric.masses)])
        return 8 * EPS * (own * metric.factors[metric.groups] + np.abs(metric.represent(new)))
