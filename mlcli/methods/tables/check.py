"""The certificate of methods of several tables: their kernels again, from the columns of the table."""

from collections.abc import Collection, Iterator, Sequence
from typing import Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS, Check, ratio
from mlcli.base.values.inputs import Features
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
        reach = {number: max(max_abs(data.values[:, [place for place in group.columns if place not in (
            *named, *data.categories)]]), np.finfo(float).tiny) for number, group in enumerate(groups)}
        numbers, levels, growth = list[tuple[Array, int, float]](), list[tuple[Array, int, float]](), 1.0
        for place in sorted(owner):
            column = data.values[:, place]
            if place in named or place in data.categories:
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
            scaled = moved * (largest / reach[owner[place]]) if kept else moved / deviation
            numbers.append((scaled, owner[place], np.nan))
        every = [*numbers, *levels]
        values = np.array([column for column, _, _ in every]).reshape(len(every), len(data.values)).T
        return cls(values, np.array([own for _, own, _ in every], dtype=np.int64),
                   np.array([share for _, _, share in every]), growth)

    def of_group(self, number: int) -> Array:
        """Return the columns of a group over the root of the number of rows."""
        return np.asarray(self.values[:, self.owners == number] / np.sqrt(max(len(self.values), 1)))


def norm_of(block: Array, norm: Norm) -> float:
    """Return the norm of the kernel of a block (n x c); one for a kernel of zeros."""
    if norm == "none":
        return 1.0
    sizes = np.linalg.svd(block, compute_uv=False) ** 2
    found = float(sizes.max(initial=0.0) if norm == "eigenvalue" else np.sqrt(np.sum(sizes**2)))
    return found if found > 0 else 1.0


def table_checks(data: Features, model: Model, groups: Sequence[ColumnGroup], named: Collection[int], *,
                 unscaled: Collection[str], norm: Norm) -> Iterator[Check]:
    """Check the axes of a sum of kernels, its weights, and what each group says about them, against the table."""
    standard = Standard.of(data, groups, named, unscaled)
    blocks = [standard.of_group(number) for number in range(len(groups))]
    norms, active = np.array([norm_of(block, norm) for block in blocks]), np.array([group.active for group in groups])
    coordinates, size = model.embedding, max(len(model.embedding), 1)
    values = np.pad(model.ranks.solved, (0, coordinates.shape[1]))[: coordinates.shape[1]]
    rounding = EPS * max(size, len(standard.owners), 10) * standard.growth
    stated = model.groups.weights if model.groups is not None else weights_in(model, len(groups))
    wrong, how = weights_error(blocks, norms, stated, active, norm)
    yield ratio("weights", wrong, rounding * len(groups), how)
    factors = np.sqrt(stated / norms)
    rows = np.hstack([block * factor for block, factor in zip(blocks, factors, strict=True)])
    top = float(values.max(initial=0.0))
    yield ratio("centering", max_abs(coordinates.mean(axis=0)), rounding * np.sqrt(top or 1.0),
                "the mean of every axis is zero")
    yield ratio("axes", max_abs(rows @ (rows.T @ coordinates) - coordinates * values),
                rounding * (top + 1) * max(max_abs(coordinates), EPS),
                "K F = F Λ for the sum K of the groups' kernels, each over its norm and times its weight")
    yield ratio("inertias", max_abs(coordinates.T @ coordinates / size - np.diag(values)), rounding * (top + EPS),
                "axes are uncorrelated, and their variances are the eigenvalues")
    whole = float(np.sum(rows**2))
    yield ratio("total inertia", abs(whole - model.ranks.solved_trace), rounding * (whole + EPS),
                "the eigenvalues add up to the trace of the sum")
    if model.loadings is not None:
        yield loadings_check(standard, coordinates, values, model.loadings, rounding)
    if model.groups is not None:
        yield from group_checks(blocks, norms, coordinates, values, model.groups, rounding)


def weights_in(model: Model, count: int) -> Array:
    """Return the weights that run.json has of so many groups."""
    found = model.fit["weights"]
    found = dict(found) if isinstance(found, dict) else dict(zip(found.names, found.value, strict=True))
    weights = np.array([float(weight) for weight in found.values()])
    return weights if len(weights) == count else np.full(count, np.nan)


def weights_error(blocks: Sequence[Array], norms: Array, stated: Array, active: AnyArray, norm: Norm,
                  ) -> tuple[float, str]:
    """Return how far the stated weights (g) of kernels are from those of the method, and what these are."""
    if norm != "frobenius":
        return max_abs(stated - active), "the weight of a group is one, and that of a supplementary one zero"
    cosines = np.array([[np.sum((one.T @ other) ** 2) for other in blocks] for one in blocks])
    cosines = cosines / np.outer(norms, norms)
    among = cosines[np.ix_(active, active)]
    own = stated[active]
    largest = float(own @ among @ own) / max(float(own @ own), EPS)
    apart = max(max_abs(among @ own - largest * own), abs(float(stated.sum()) - 1), max_abs(stated[~active]),
                max(0.0, -float(stated.min(initial=0.0))))
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


def group_checks(blocks: Sequence[Array], norms: Array, coordinates: Array, values: Array, groups: TableGroups,
                 rounding: float) -> Iterator[Check]:
    """Check what each group says about the axes: contributions, RV coefficients, and partial points."""
    drawn, size = values > 0, max(len(coordinates), 1)
    units = coordinates / np.sqrt(np.where(drawn, values, 1.0) * size)
    moved = [block @ (block.T @ units) / norm for block, norm in zip(blocks, norms, strict=True)]
    own = np.array([np.sum(units * some, axis=0) for some in moved])
    growth = 1 + max_abs(own)
    least = float(values[drawn].min(initial=1.0)) / max(float(values.max(initial=1.0)), EPS)
    spread = 1 / max(least, EPS)
    yield ratio("group coordinates", max_abs(groups.coordinates - own), rounding * growth * spread,
                "u'Ku of each group's kernel over its norm, and of the unit vector u of an axis")
    yield ratio("group contributions", max_abs((groups.coordinates * groups.weights[:, None]).sum(axis=0) - values),
                rounding * growth * spread * max(float(groups.weights.sum()), 1.0),
                "the groups' coordinates, times their weights, add up to the eigenvalues")
    products = np.array([[np.sum((one.T @ other) ** 2) for other in blocks] for one in blocks])
    products = products / np.outer(norms, norms)
    yield ratio("group products", max_abs(groups.products[:-1, :-1] - products), rounding * (1 + max_abs(products)),
                "traces of products of the groups' kernels")
    if groups.partial is not None:
        total = float(groups.weights.sum())
        mean = np.tensordot(groups.weights / total, groups.partial, axes=1)
        placed = np.array([some * total * np.sqrt(size) / np.sqrt(np.where(drawn, values, 1.0)) for some in moved])
        scale = rounding * spread * (1 + max_abs(placed))
        yield ratio("partial points", max(max_abs(mean - coordinates * drawn), max_abs(groups.partial - placed)), scale,
                    "a row lies at the weighted mean of its partial points, which each group's kernel places")
