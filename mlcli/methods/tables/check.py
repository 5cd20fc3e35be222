"""The certificate of methods of several tables: their kernels again, from the columns of the table."""

from collections.abc import Collection, Iterator, Sequence
from typing import Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS, Check, ratio
from mlcli.base.values.inputs import Features, ViewedDissimilarities
from mlcli.certify.contributions import WeightedRows
from mlcli.certify.subject import max_abs
from mlcli.core.model import Loadings, Model, TableGroups
from mlcli.methods.tables.blocks import LEAST, ColumnGroup

Norm = Literal["eigenvalue", "frobenius", "none"]  # that a table's kernel is divided by


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


@frozen
class Kernels:
    """The kernels of several tables, as blocks Z of Z Z', or as matrices."""

    blocks: Sequence[Array]  # n x c, or n x n
    square: bool  # whether they are matrices

    def apply(self, number: int, vectors: Array) -> Array:
        """Return K u (n x p) of vectors u (n x p)."""
        block = self.blocks[number]
        return np.asarray(block @ vectors if self.square else block @ (block.T @ vectors))

    def product(self, one: int, other: int) -> float:
        """Return the trace of the product of two kernels."""
        left, right = self.blocks[one], self.blocks[other]
        return float(np.sum(left * right) if self.square else np.sum((left.T @ right) ** 2))

    def trace(self, number: int) -> float:
        """Return the trace of a kernel."""
        block = self.blocks[number]
        return float(np.trace(block) if self.square else np.sum(block**2))

    @property
    def products(self) -> Array:
        """The traces of all products (g x g)."""
        numbers = range(len(self.blocks))
        return np.array([[self.product(one, other) for other in numbers] for one in numbers])

    def norms(self, norm: Norm) -> Array:
        """Return the norms of the kernels (g); one for a kernel of zeros."""
        if norm == "none":
            return np.ones(len(self.blocks))
        sizes = [np.linalg.eigvalsh(block) if self.square else np.linalg.svd(block, compute_uv=False) ** 2
                 for block in self.blocks]
        found = np.array([some.max(initial=0.0) if norm == "eigenvalue" else np.sqrt(np.sum(some**2))
                          for some in sizes])
        return np.where(found > 0, found, 1.0)


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


def values_of(model: Model) -> Array:
    """Return the eigenvalues of the axes (p), zero on one without extent."""
    count = model.embedding.shape[1]
    return np.maximum(np.pad(model.ranks.solved, (0, count))[:count], 0.0)


def kernel_checks(kernels: Kernels, model: Model, active: AnyArray, rounding: float, *, norm: Norm,
                  averaged: bool) -> Iterator[Check]:
    """Check axes, weights and what each table says against the kernels of the tables."""
    norms, coordinates, values = kernels.norms(norm), model.embedding, values_of(model)
    size, numbers = max(len(coordinates), 1), range(len(active))
    stated = model.groups.weights if model.groups is not None else weights_in(model, len(active))
    products = kernels.products
    wrong, how = weights_error(products, stated, active, averaged=averaged)
    yield ratio("weights", wrong, rounding * len(active), how)
    top = float(values.max(initial=0.0))
    yield ratio("centering", max_abs(coordinates.mean(axis=0)), rounding * np.sqrt(top or 1.0),
                "the mean of every axis is zero")
    moved = np.array([kernels.apply(number, coordinates) / norms[number] for number in numbers])
    yield ratio("axes", max_abs(np.tensordot(stated, moved, axes=1) - coordinates * values),
                rounding * (top + 1) * max(max_abs(coordinates), EPS),
                "K F = F Λ for the sum K of the tables' kernels, each over its norm and times its weight")
    yield ratio("inertias", max_abs(coordinates.T @ coordinates / size - np.diag(values)), rounding * (top + EPS),
                "axes are uncorrelated, and their variances are the eigenvalues")
    whole = float(sum(kernels.trace(number) * stated[number] / norms[number] for number in numbers))
    yield ratio("total inertia", abs(whole - model.ranks.solved_trace), rounding * (abs(whole) + EPS),
                "the eigenvalues add up to the trace of the sum")
    if model.groups is not None:
        yield from group_checks(moved, products / np.outer(norms, norms), coordinates=coordinates, values=values,
                                groups=model.groups, rounding=rounding)


def weights_in(model: Model, count: int) -> Array:
    """Return the weights that run.json has of so many groups."""
    found = model.fit["weights"]
    found = dict(found) if isinstance(found, dict) else dict(zip(found.names, found.value, strict=True))
    weights = np.array([float(weight) for weight in found.values()])
    return weights if len(weights) == count else np.full(count, np.nan)


def weights_error(products: Array, stated: Array, active: AnyArray, *, averaged: bool) -> tuple[float, str]:
    """Return how far stated weights (g) are from those of the method, by traces of products of kernels (g x g)."""
    if not averaged:
        return max_abs(stated - active), "the weight of a group is one, and that of a supplementary one zero"
    roots = np.sqrt(np.diag(products))
    among = (products / np.outer(roots, roots))[np.ix_(active, active)]
    own = stated[active]
    largest = float(own @ among @ own) / max(float(own @ own), EPS)
    first = float(np.linalg.eigvalsh(among).max(initial=0.0)) if np.isfinite(among).all() else np.inf
    apart = max(max_abs(among @ own - largest * own), abs(first - largest), abs(float(stated.sum()) - 1),
                max_abs(stated[~active]), max(0.0, -float(stated.min(initial=0.0))))
    return apart, "the weights are the first eigenvector of the RV coefficients, and their sum is one"


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


def group_checks(moved: Array, products: Array, *, coordinates: Array, values: Array, groups: TableGroups,
                 rounding: float) -> Iterator[Check]:
    """Check what each group says about the axes: contributions, RV coefficients, and partial points.

    `moved` are K F of each table's kernel over its norm (g x n x p), `products` the traces of their products (g x g).
    """
    drawn, size = values > 0, max(len(coordinates), 1)
    variances = np.where(drawn, values, 1.0)
    own = np.einsum("gnp,np->gp", moved, coordinates) / (variances * size)
    growth = 1 + max_abs(own)
    least = float(values[drawn].min(initial=1.0)) / max(float(values.max(initial=1.0)), EPS)
    spread = 1 / max(least, EPS)
    yield ratio("group coordinates", max_abs(groups.coordinates - own), rounding * growth * spread,
                "u'Ku of each group's kernel over its norm, and of the unit vector u of an axis")
    yield ratio("group contributions", max_abs((groups.coordinates * groups.weights[:, None]).sum(axis=0) - values),
                rounding * growth * spread * max(float(groups.weights.sum()), 1.0),
                "the groups' coordinates, times their weights, add up to the eigenvalues")
    yield ratio("group products", max_abs(groups.products[:-1, :-1] - products), rounding * (1 + max_abs(products)),
                "traces of products of the groups' kernels")
    if groups.partial is not None:
        total = float(groups.weights.sum())
        mean = np.tensordot(groups.weights / total, groups.partial, axes=1)
        placed = moved * (total / variances)
        scale = rounding * spread * (1 + max_abs(placed))
        yield ratio("partial points", max(max_abs(mean - coordinates * drawn), max_abs(groups.partial - placed)), scale,
                    "a row lies at the weighted mean of its partial points, which each group's kernel places")
