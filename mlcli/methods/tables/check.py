"""The certificate of methods of several tables: their kernels again, from the columns of the table."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.scratch import take_rows
from mlcli.base.rows.source import Rows, all_parts, rows_of
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS, Check, count, ratio, skipped
from mlcli.base.values.column_groups import ColumnGroup
from mlcli.base.values.inputs import Features, ViewedDissimilarities
from mlcli.certify.contributions import WeightedRows
from mlcli.certify.subject import Plan, max_abs
from mlcli.certify.tables import AppliedBlock, AppliedKernels, Kernels, kernel_checks, values_of, weights_in
from mlcli.core.chain.tables import Norm
from mlcli.core.model import Model
from mlcli.methods.tables.blocks import LEAST, Blocks

NUMBER = 3e-9  # seconds for a number of a row that is standardized
STRAY = 1e3  # gaps of an iteration that has not converged, up to which its equations may be off


@frozen
class Standard:
    """Standardized columns: first those of numbers, then one of each category, in the order of the table."""

    values: Array  # n x c
    owners: Indices  # c: the number of the column's group
    shares: Array  # c: of the rows that have the category; NaN for numbers
    growth: float  # of rounding: the largest size of a number over its column's deviation
    places: Indices  # c: of the column in the table

    @classmethod
    def of(cls, data: Features, groups: Sequence[ColumnGroup], named: Collection[int],
           unscaled: Collection[str], estimates: "Estimates | None" = None) -> "Standard":
        """Return the columns of a table by their definition, with the estimates of its missing cells."""
        owner = {place: number for number, group in enumerate(groups) for place in group.columns}
        coded = {*named, *data.categories}
        reach = {number: 1.0 if coded & {*group.columns} else max(float(np.fmax.reduce(np.abs(
            data.values[:, list(group.columns)]), axis=None, initial=0.0)), np.finfo(float).tiny)
                 for number, group in enumerate(groups)}
        numbers, levels, growth = list[tuple[Array, int, float]](), list[tuple[Array, int, float]](), 1.0
        held, asked = list[int](), list[int]()
        for place in sorted(owner):
            column, gone = data.values[:, place], np.isnan(data.values[:, place])
            if place in coded:
                for level in np.unique(column[~gone]):
                    there = (column == level).astype(np.float64)
                    if gone.any() and estimates is not None:
                        there[gone] = estimates.of_level(place, float(level))[gone]
                    share = float(there.mean())
                    asked.append(place)
                    levels.append(((there - share) / np.sqrt(share), owner[place], share))
                continue
            if gone.any() and estimates is not None:
                column = np.where(gone, estimates.of_number(place), column)
            largest = max_abs(column)
            measured = column / (largest or 1.0)
            moved = measured - measured.mean()
            moved = moved - moved.mean()
            deviation = float(np.sqrt(np.mean(moved**2)))
            if deviation <= LEAST:
                continue
            growth = max(growth, 1 / deviation)
            kept = groups[owner[place]].name in unscaled
            scaled = moved * (largest / reach[owner[place]]) if kept else moved / deviation  # in the group's unit
            held.append(place)
            numbers.append((scaled, owner[place], np.nan))
        every = [*numbers, *levels]
        values = np.array([column for column, _, _ in every]).reshape(len(every), len(data.values)).T
        return cls(values, np.array([own for _, own, _ in every], dtype=np.int64),
                   np.array([share for _, _, share in every]), growth, np.array([*held, *asked], dtype=np.int64))

    def of_group(self, number: int) -> Array:
        """Return the columns of a group over the root of the number of rows."""
        return np.asarray(self.values[:, self.owners == number] / np.sqrt(max(len(self.values), 1)))


@frozen
class Estimates:
    """The missing cells of a table by the model's axes, solved for each row anew."""

    metric: Blocks
    cells: Array  # n x c: of represented columns, numbers in the columns' units and shares of categories
    noise: float
    gap: float  # of means, deviations and shares of the completed columns from those of the model, over deviations
    allowed: float  # of it, where the iteration converged
    converged: bool

    @property
    def error(self) -> float:
        """The relative error of the fit's equations that the iteration leaves."""
        return self.allowed if self.converged else STRAY * self.gap

    @classmethod
    def of(cls, data: Features, model: Model, tolerance: float) -> "Estimates | None":
        """Return the estimates; None where no cell is missing.

        In factors f times represented cells r, with directions V = f B, r_m = V_m D (V_m'r_m + V_o'r_o).
        """
        metric = model.required_projector.similarity.comparison
        if not isinstance(metric, Blocks) or metric.completion is None:
            return None
        given = replace(metric, completion=None).unweighted(data.values)
        factors, shares = metric.factors[metric.groups], metric.completion.shares
        loadings, cells = metric.completion.loadings, given.copy()
        directions, pull = loadings * factors[:, None], (loadings * factors[:, None]) * shares
        for row in np.flatnonzero(np.isnan(given).any(axis=1)).tolist():
            gone = np.isnan(given[row])
            active = gone & (factors > 0)
            known = directions[~gone].T @ (given[row, ~gone] * factors[~gone])
            found = np.linalg.solve(np.eye(int(active.sum())) - pull[active] @ directions[active].T,
                                    pull[active] @ known)
            cells[row, gone] = (loadings * shares)[gone] @ (known + directions[active].T @ found)
        count = len(metric.numbers)
        gap = max(max_abs(cells.mean(axis=0)), max_abs(np.where(
            metric.scales == np.ldexp(1.0, np.frexp(metric.scales)[1] - 1), 0.0, cells[:, :count].std(axis=0) - 1)))
        return cls(metric, metric.cells(cells), float(model.fit["noise_variance"]), gap=gap, allowed=tolerance,
                   converged=bool(model.fit["converged"]))

    def of_number(self, place: int) -> Array:
        """Return the cells (n) of a column of numbers."""
        column = int(np.flatnonzero(self.metric.numbers == place)[0])
        return np.ldexp(self.cells[:, column], int(self.metric.exponents[column]))

    def of_level(self, place: int, level: float) -> Array:
        """Return the shares (n) of a category in the rows."""
        answers = self.metric.answers
        owners = np.repeat(self.metric.questions[answers.questions], answers.counts)
        return self.cells[:, len(self.metric.numbers) + int(np.flatnonzero((owners == place) & (
            answers.levels == level))[0])]

    def checks(self, values: Array, rows: int, standard: "Standard", factors: Array) -> Iterator[Check]:
        """Check estimates by the fixed point's equations: moments of completed columns, noise by all eigenvalues (c).
        """
        completion = self.metric.completion
        assert completion is not None
        yield ratio("missing cells", self.gap, self.allowed, "with estimates by the axes, columns have the means, "
                    "deviations and shares by which they were standardized") if self.converged else skipped(
            "missing cells", "the iteration ended before it converged")
        count, coded = len(completion.shares), ~np.isnan(standard.shares)
        held = factors > 0
        columns = int(held.sum()) - len({*standard.places[coded & held].tolist()})
        left = rows / min(columns, rows - 1) * columns * float(values[count:].sum()) / (
            (rows - 1 - count) * (columns - count))
        noise = min(left, float(values[count]) if len(values) > count else 0.0)
        top = max(float(values.max(initial=0.0)), EPS)
        yield ratio("noise variance", abs(noise - self.noise) / top, 1e-12 + self.error,
                    "the mean of the eigenvalues that the axes leave, as of missMDA")
        kept = np.maximum(values[:count], EPS * top)
        yield ratio("shares", max_abs(completion.shares - np.maximum(values[:count] - noise, 0.0) / kept),
                    (1e-12 + self.error) * top / float(kept.min(initial=top)),
                    "(λ - σ²) / λ of each axis, by which missing cells are estimated")


@frozen
class StandardRows:
    """Standardized columns of a table that is read in blocks, in the order of `Standard`: sums from one pass."""

    numbers: Indices  # places of the columns of numbers that vary
    answered: Indices  # places of the columns of the categories, one for each of them
    levels: Array  # that stand for these
    means: Array  # c
    factors: Array  # c, of deviations from these
    owners: Indices  # c: the number of the column's group
    shares: Array  # c: of the rows that have the category; NaN for numbers
    growth: float  # of rounding, as of `Standard`
    products: Array  # c x c: Z'Z / n of the columns Z
    shared: Array  # c x p: Z'F / n with coordinates F
    unknown: int  # rows with a category that the model does not have

    def values(self, rows: Array) -> Array:
        """Return standardized rows (m x c) of rows (m x d)."""
        raw = np.hstack([rows[:, self.numbers], rows[:, self.answered] == self.levels])
        return np.asarray((raw - self.means) * self.factors)

    @classmethod
    def of(cls, rows: Rows, model: Model, groups: Sequence[ColumnGroup], coded: Collection[int],
           unscaled: Collection[str]) -> "StandardRows":
        """Return the columns of rows by their definition; columns of categories are `coded`."""
        metric = model.required_projector.similarity.comparison
        assert isinstance(metric, Blocks)
        owner = {place: number for number, group in enumerate(groups) for place in group.columns}
        numbers = np.array([place for place in sorted(owner) if place not in coded], dtype=np.int64)
        answered = np.repeat(metric.questions[metric.answers.questions], metric.answers.counts)
        largest, levels, count, size = rows.reach[numbers], metric.answers.levels, len(numbers), len(rows)
        units = np.concatenate([np.where(largest > 0, largest, 1.0), np.ones(len(levels))])

        def measured(some: Array) -> Array:
            return np.hstack([some[:, numbers], some[:, answered] == levels]) / units

        near = measured(rows[rows.at_hand]).mean(axis=0)
        axes, unknown = model.embedding.shape[1], 0
        sums, products, shared, total = (np.zeros(shape) for shape in (
            len(near), (len(near), len(near)), (len(near), axes), axes))
        for first, part in all_parts(rows):
            moved, own = measured(part), take_rows(model.embedding, np.arange(first, first + len(part)))
            unknown += int(np.sum(moved[:, count:].sum(axis=1) != len(metric.questions)))
            moved -= near
            sums += moved.sum(axis=0)
            products += moved.T @ moved
            shared += moved.T @ own
            total += own.sum(axis=0)
        rest = sums / size
        products, shared = products / size - np.outer(rest, rest), shared / size - np.outer(rest, total / size)
        means, deviations = near + rest, np.sqrt(np.maximum(np.diag(products), 0.0))
        kept = np.concatenate([deviations[:count] > LEAST, np.ones(len(levels), dtype=bool)])
        owners = np.array([owner[place] for place in (*numbers.tolist(), *answered.tolist())], dtype=np.int64)
        scales = np.ones(len(means))
        for number, group in enumerate(groups):
            mixed = bool({*coded} & {*group.columns})
            unit = 1.0 if mixed else max(float(rows.reach[list(group.columns)].max(initial=0.0)), np.finfo(float).tiny)
            scales[owners == number] = units[owners == number] / unit
        numeric = np.arange(len(means)) < count
        divided = ~np.isin(owners, [number for number, group in enumerate(groups) if group.name in unscaled])
        scales = np.where(numeric, np.where(divided, 1 / np.where(deviations > 0, deviations, 1.0), scales),
                          1 / np.sqrt(np.where(numeric, 1.0, means)))
        growth = max(1.0, float((1 / deviations[numeric & kept]).max(initial=1.0)))
        scaled, every = scales[kept], np.ix_(kept, kept)
        return cls(numbers=numbers[kept[:count]], answered=answered, levels=levels, means=(means * units)[kept],
                   factors=scaled / units[kept], owners=owners[kept], shares=np.where(numeric, np.nan, means)[kept],
                   growth=growth, products=products[every] * np.outer(scaled, scaled),
                   shared=shared[kept] * scaled[:, None], unknown=unknown)

    def kernels(self, count: int) -> Kernels:
        """Return kernels of so many groups with the products of the rows' own: of a root R of Z'Z / n = R'R."""
        deviations = np.sqrt(np.diag(self.products))
        values, vectors = np.linalg.eigh(self.products / np.outer(deviations, deviations))
        root = (vectors * np.sqrt(np.maximum(values, 0.0))).T * deviations
        return Kernels([root[:, self.owners == number] for number in range(count)], square=False)

    def apply(self, norms: Array, rows: Rows, coordinates: Array, plan: Plan) -> AppliedKernels:
        """Return the rows' kernels, of norms (g), applied to coordinates (n x p): at the rows that the plan looks at.
        """
        places = [self.owners == number for number in range(len(norms))]
        chosen = plan.sample(0.4, NUMBER * max(len(self.owners), 1), len(rows), least=64)

        def block(some: Indices, given: Array) -> AppliedBlock:
            values = self.values(given)
            moved = [values[:, own] @ self.shared[own] / norm for own, norm in zip(places, norms, strict=True)]
            return AppliedBlock(some, take_rows(coordinates, some), np.array(moved))

        def blocks() -> Iterator[AppliedBlock]:
            if len(chosen) < len(rows):
                yield block(chosen, rows[chosen])
                return
            for first, part in all_parts(rows):
                yield block(np.arange(first, first + len(part)), part)

        own = [np.sum(self.shared[own]**2, axis=0) / norm for own, norm in zip(places, norms, strict=True)]
        return AppliedKernels(np.array(own), blocks, exact=len(chosen) == len(rows))


def block_checks(rows: Rows, model: Model, groups: Sequence[ColumnGroup], coded: Collection[int], plan: Plan, *,
                 unscaled: Collection[str], norm: Norm, averaged: bool) -> Iterator[Check]:
    """Check what `table_checks` does, against a table that is read in blocks, by one pass over its rows.

    F'F / n = Λ, and Z'F / n gives directions of these lengths: then F are the coordinates of all rows on them.
    """
    standard = StandardRows.of(rows, model, groups, coded, unscaled)
    yield count("categories", standard.unknown, "rows with a category that the model does not have")
    rounding = EPS * max(len(rows), len(standard.owners), 10) * standard.growth
    active = np.array([group.active for group in groups])
    yield from kernel_checks(standard.kernels(len(groups)), model, active, rounding, norm=norm, averaged=averaged,
                             apply=lambda norms: standard.apply(norms, rows, model.embedding, plan))
    if model.loadings is not None:
        yield loadings_check(standard.shares, standard.shared, np.sqrt(np.diag(standard.products)), model, rounding)


def table_checks(data: Features, model: Model, groups: Sequence[ColumnGroup], named: Collection[int], plan: Plan, *,
                 unscaled: Collection[str], norm: Norm, averaged: bool, tolerance: float = 0.0) -> Iterator[Check]:
    """Check the axes of a sum of kernels, its weights, and what each group says about them, against the table.

    Weights are `averaged` where they are those of RV coefficients. Missing cells were found up to a `tolerance`.
    """
    if (rows := rows_of(data.values)) is not None:
        yield from block_checks(rows, model, groups, {*named, *data.categories}, plan, unscaled=unscaled, norm=norm,
                                averaged=averaged)
        return
    estimates = Estimates.of(data, model, tolerance)
    standard = Standard.of(data, groups, named, unscaled, estimates)
    kernels = Kernels([standard.of_group(number) for number in range(len(groups))], square=False)
    active = np.array([group.active for group in groups])
    rounding = EPS * max(len(data.values), len(standard.owners), 10) * standard.growth
    if estimates is not None:
        rounding += estimates.error
        weights = model.groups.weights if model.groups is not None else weights_in(model, len(groups))
        factors = np.sqrt(weights / kernels.norms(norm))[standard.owners]
        sizes = np.linalg.svd(standard.values * factors / np.sqrt(len(data.values)), compute_uv=False)
        yield from estimates.checks(sizes**2, len(data.values), standard, factors)
    yield from kernel_checks(kernels, model, active, rounding, norm=norm, averaged=averaged)
    if model.loadings is not None:
        shared = standard.values.T @ model.embedding / max(len(model.embedding), 1)
        yield loadings_check(standard.shares, shared, standard.values.std(axis=0), model, rounding)


def weighted_columns(data: Features, model: Model, groups: Sequence[ColumnGroup], named: Collection[int], *,
                     unscaled: Collection[str], norm: Norm, tolerance: float) -> WeightedRows:
    """Return the standardized columns of a table, with the root of its group's weight over its norm for each."""
    estimates = Estimates.of(data, model, tolerance)
    standard = Standard.of(data, groups, named, unscaled, estimates)
    kernels = Kernels([standard.of_group(number) for number in range(len(groups))], square=False)
    weights = model.groups.weights if model.groups is not None else weights_in(model, len(groups))
    size, columns = standard.values.shape
    return WeightedRows(described=standard.values, factors=np.sqrt(weights / kernels.norms(norm))[standard.owners],
                        weights=np.full(size, 1 / max(size, 1)), sizes=np.full(
                            columns, standard.growth + (0.0 if estimates is None else estimates.error / EPS)))


def matrix_checks(data: ViewedDissimilarities, model: Model, active: AnyArray, norm: Norm) -> Iterator[Check]:
    """Check the axes of a sum of the inner products of dissimilarities, its weights, and what each matrix says.

    The `active` matrices (g) have weights.
    """
    names, size = [str(name) for name in data.ids], max(len(data.values), 1)
    kernels = []
    for view in data.views:
        values, columns = np.asarray(view.values), [str(name) for name in getattr(view, "columns", names)]
        if {*names} <= {*columns}:
            values = values[:, [columns.index(name) for name in names]]
        values = values / (max_abs(values) or 1.0)
        centered = np.eye(size) - 1 / size
        kernels.append(centered @ (values**2 / (-2 * size)) @ centered)
    scaled = [kernel / (max_abs(kernel) or 1.0) for kernel in kernels]
    yield from kernel_checks(Kernels([(kernel + kernel.T) / 2 for kernel in scaled], square=True), model,
                             active, EPS * 10 * size, norm=norm, averaged=True)


def loadings_check(shares: Array, shared: Array, deviations: Array, model: Model, rounding: float) -> Check:
    """Check that loadings are correlations of numbers with the axes, and means of the rows of each category.

    Standardized columns (c) of `deviations` have the mean products `shared` (c x p) with coordinates; `shares` are
    those of rows with a category, NaN for numbers.
    """
    values, loadings = values_of(model), model.loadings
    assert loadings is not None
    drawn = values > 0
    of_numbers = shared / deviations[:, None] / np.where(drawn, np.sqrt(values), 1.0)
    expected = np.where(np.isnan(shares)[:, None], of_numbers,
                        shared / np.sqrt(np.nan_to_num(shares, nan=1.0))[:, None])
    wrong = max_abs(loadings.values - expected) if loadings.values.shape == expected.shape else np.inf
    least = float(values[drawn].min(initial=1.0))
    return ratio("loadings", wrong, rounding * (1 + max_abs(expected)) * (1 + 1 / np.sqrt(least)),
                 "loadings are correlations of numbers with the axes, and means of the rows of each category")
