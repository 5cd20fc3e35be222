"""The certificate of methods of several tables: their kernels again, from the columns of the table."""

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import Array, Indices
from mlcli.base.values.check import EPS, Check, ratio
from mlcli.base.values.column_groups import ColumnGroup
from mlcli.base.values.inputs import Features, ViewedDissimilarities
from mlcli.certify.contributions import WeightedRows
from mlcli.certify.subject import max_abs
from mlcli.certify.tables import Kernels, kernel_checks, values_of, weights_in
from mlcli.core.chain.tables import Norm
from mlcli.core.model import Loadings, Model
from mlcli.methods.tables.blocks import LEAST


@frozen
class Standard:
    """Standardized columns: first those of numbers, then one of each category, in the order of the table."""

    values: Array  # n x c
    owners: Indices  # c: the number of the column's group
    shares: Array  # c: of the rows that have the category; NaN for numbers
    growth: float  # of rounding: the largest size of a number over its column's deviation

    @classmethod
    def of(cls, data: Features, groups: Sequence[ColumnGroup], named: Collection[int],
           unscaled: Collection[str]) -> "Standard":
        """Return the columns of a table by their definition."""
        owner = {place: number for number, group in enumerate(groups) for place in group.columns}
        coded = {*named, *data.categories}
        reach = {number: 1.0 if coded & {*group.columns} else max(max_abs(data.values[:, list(group.columns)]),
                                                                np.finfo(float).tiny)
                 for number, group in enumerate(groups)}
        numbers, levels, growth = list[tuple[Array, int, float]](), list[tuple[Array, int, float]](), 1.0
        for place in sorted(owner):
            column = data.values[:, place]
            if place in coded:
                for level in np.unique(column):
                    there = column == level
                    share = float(there.mean())
                    levels.append(((there - share) / np.sqrt(share), owner[place], share))
                continue
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
            numbers.append((scaled, owner[place], np.nan))
        every = [*numbers, *levels]
        values = np.array([column for column, _, _ in every]).reshape(len(every), len(data.values)).T
        return cls(values, np.array([own for _, own, _ in every], dtype=np.int64),
                   np.array([share for _, _, share in every]), growth)

    def of_group(self, number: int) -> Array:
        """Return the columns of a group over the root of the number of rows."""
        return np.asarray(self.values[:, self.owners == number] / np.sqrt(max(len(self.values), 1)))


def table_checks(data: Features, model: Model, groups: Sequence[ColumnGroup], named: Collection[int], *,
                 unscaled: Collection[str], norm: Norm, averaged: bool) -> Iterator[Check]:
    """Check the axes of a sum of kernels, its weights, and what each group says about them, against the table.

    Weights are `averaged` where they are those of RV coefficients.
    """
    standard = Standard.of(data, groups, named, unscaled)
    kernels = Kernels([standard.of_group(number) for number in range(len(groups))], square=False)
    active = np.array([group.active for group in groups])
    rounding = EPS * max(len(data.values), len(standard.owners), 10) * standard.growth
    yield from kernel_checks(kernels, model, active, rounding, norm=norm, averaged=averaged)
    if model.loadings is not None:
        yield loadings_check(standard, model.embedding, values_of(model), model.loadings, rounding)


def weighted_columns(data: Features, model: Model, groups: Sequence[ColumnGroup], named: Collection[int], *,
                     unscaled: Collection[str], norm: Norm) -> WeightedRows:
    """Return the standardized columns of a table, with the root of its group's weight over its norm for each."""
    standard = Standard.of(data, groups, named, unscaled)
    kernels = Kernels([standard.of_group(number) for number in range(len(groups))], square=False)
    weights = model.groups.weights if model.groups is not None else weights_in(model, len(groups))
    size, columns = standard.values.shape
    return WeightedRows(described=standard.values, factors=np.sqrt(weights / kernels.norms(norm))[standard.owners],
                        weights=np.full(size, 1 / max(size, 1)), sizes=np.full(columns, standard.growth))


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
