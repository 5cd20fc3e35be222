"""The certificate of methods of several tables: their kernels again, from the columns of the table."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS, Check, ratio, skipped
from mlcli.base.values.column_groups import ColumnGroup
from mlcli.base.values.inputs import Features, ViewedDissimilarities
from mlcli.certify.contributions import WeightedRows
from mlcli.certify.subject import max_abs
from mlcli.certify.tables import Kernels, kernel_checks, values_of, weights_in
from mlcli.core.chain.tables import Norm
from mlcli.core.model import Loadings, Model
from mlcli.methods.tables.blocks import LEAST, Blocks

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


def table_checks(data: Features, model: Model, groups: Sequence[ColumnGroup], named: Collection[int], *,
                 unscaled: Collection[str], norm: Norm, averaged: bool, tolerance: float = 0.0) -> Iterator[Check]:
    """Check the axes of a sum of kernels, its weights, and what each group says about them, against the table.

    Weights are `averaged` where they are those of RV coefficients. Missing cells were found up to a `tolerance`.
    """
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
        yield loadings_check(standard, model.embedding, values_of(model), model.loadings, rounding)


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


def matrix_checks(data: ViewedDissimilarities, model: Model, norm: Norm) -> Iterator[Check]:
    """Check the axes of a sum of the inner products of dissimilarities, its weights, and what each matrix says."""
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
                             np.ones(len(kernels), dtype=bool), EPS * 10 * size, norm=norm, averaged=True)


def loadings_check(standard: Standard, coordinates: Array, values: Array, loadings: Loadings, rounding: float) -> Check:
    """Check that loadings are correlations of numbers with the axes, and means of the rows of each category."""
    shared, roots = standard.values.T @ coordinates / max(len(coordinates), 1), np.sqrt(values)
    deviations = standard.values.std(axis=0)
    drawn = values > 0
    of_numbers = shared / deviations[:, None] / np.where(drawn, roots, 1.0)
    expected = np.where(np.isnan(standard.shares)[:, None], of_numbers,
                        shared / np.sqrt(np.nan_to_num(standard.shares, nan=1.0))[:, None])
    wrong = max_abs(loadings.values - expected) if loadings.values.shape == expected.shape else np.inf
    least = float(values[drawn].min(initial=1.0))
    return ratio("loadings", wrong, rounding * (1 + max_abs(expected)) * (1 + 1 / np.sqrt(least)),
                 "loadings are correlations of numbers with the axes, and means of the rows of each category")
