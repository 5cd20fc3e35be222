"""The sum of several tables' kernels, and what each of them says about its axes.

K = Σ w_g K_g / s_g with the norm s_g and the weight w_g of a table g (`core/chain/tables.py`). A method of several
tables says both: that is all in which multiple factor analysis, factor analysis of mixed data and STATIS differ.

All stages take represented rows. Of a table that is read in blocks these are `equivalent_rows`, as many as columns;
one more pass then places all rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import pass_cost, product_rate, rates
from mlcli.base.rows.blocks import AHEAD
from mlcli.base.rows.scratch import bytes_in_memory, map_blocks, parts
from mlcli.base.rows.source import Rows, in_memory, rows_of
from mlcli.base.stages.composition import Composition, FitStage
from mlcli.base.stages.stage import computed, note, running, stage
from mlcli.base.stages.steps import Passes, Step, repeated
from mlcli.base.stored import result
from mlcli.base.types import AnyArray, Array, Indices
from mlcli.base.values.check import EPS, Check
from mlcli.base.values.column_groups import ColumnGroup, named_columns
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import LEAVE_OUT, Features, Given, Input
from mlcli.base.values.naming import shown
from mlcli.base.values.options import option
from mlcli.base.values.quantity import Quantity
from mlcli.base.values.scaling import all_finite
from mlcli.base.values.signs import leading_signs
from mlcli.certify.contributions import WeightedRows
from mlcli.certify.subject import Subject
from mlcli.core.centering import uncentered
from mlcli.core.chain.tables import (
    Norm,
    TableProducts,
    describe_groups,
    figures_of,
    norms_of,
    unit_vectors,
    weights_by_rv,
)
from mlcli.core.eigen.options import PlainAxes, first_columns
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.iterate import Iterate
from mlcli.core.kernels.row_factor import READ, RowFactor
from mlcli.core.linalg import singular, singular_step, symmetric_eigenvalues
from mlcli.core.model import Loadings, Model, Powers, TableGroups
from mlcli.core.moments_pass import pass_bytes
from mlcli.core.similarities.projector import Projector
from mlcli.core.whitening import SLACK
from mlcli.errors import ConfigError
from mlcli.methods.method import Method
from mlcli.methods.tables.blocks import (
    Blocks,
    Completion,
    Names,
    OfTables,
    TableMetric,
    answers_of,
    blocks_of,
    column_groups,
    equivalent_rows,
    factor_of_rows,
    note_unused,
    represented_rows,
    require_variation,
    unit_of,
)
from mlcli.methods.tables.check import table_checks, weighted_columns

AGREE = 1.0  # tolerances of missing cells, up to which the certificate finds the equations of their fit
USUAL = 60  # iterations of missing cells
SYSTEM = 6.0  # calls that the system of equations of a row is worth
REPRESENTED, CERTIFIED = 8, 12  # passes over memory that take as long as representing rows, and checking them
TEXT_CELL = 14  # bytes of a text file that take as long to read as a cell of a column of text with its category
PARTS = 3  # arrays of represented rows of a part that a pass holds
COPIES = 6.0  # arrays of the size of the represented rows in memory at once


@stage("groups")
def table_products(rows: Array, places: Sequence[Indices]) -> TableProducts:
    """Compare the kernels of groups of columns of represented rows (n x c); `places` are the columns of each group."""
    return products_of_columns(rows, places)


def products_of_columns(rows: Array, places: Sequence[Indices]) -> TableProducts:
    """Return the traces of products of groups' kernels, and their first eigenvalues, of represented rows (n x c)."""
    products, eigenvalues = np.zeros((len(places), len(places))), np.zeros(len(places))
    if not rows.shape[1]:
        return TableProducts(products, eigenvalues)
    sizes, size = [len(place) for place in places], max(len(rows), 1)
    owners, ordered = np.repeat(np.arange(len(places)), sizes), rows[:, np.concatenate(places)] / np.sqrt(size)
    for number in np.flatnonzero(sizes).tolist():
        block = ordered[:, owners == number]
        across = block.T @ ordered
        products[number] = np.bincount(owners, (across**2).sum(axis=0), len(places))
        own = across[:, owners == number] if block.shape[1] <= size else block @ block.T
        eigenvalues[number] = symmetric_eigenvalues((own + own.T) / 2)[0]
    return TableProducts((products + products.T) / 2, eigenvalues)


@frozen
class CombinedAxes:
    """The axes of a sum of kernels."""

    eigenvalues: Array  # r, descending, above rounding
    directions: Array  # c x r, orthonormal, of represented rows
    total: float  # the trace of the sum


@stage("combine")
def combined_axes(rows: Array, size: int) -> CombinedAxes:
    """Return the axes of represented rows (m x c) of mean zero, by their singular values; they stand for `size` rows.
    """
    computed("combined rows", rows)
    return axes_of_rows(rows, size)


def axes_of_rows(rows: Array, size: int) -> CombinedAxes:
    """Return the axes of represented rows (m x c) of mean zero: squared singular values, and directions.

    They stand for `size` rows, m or more, by which rounding grows.
    """
    scaled = rows / np.sqrt(max(len(rows), 1))
    _, sizes, right = singular(scaled)
    kept = sizes > SLACK * EPS * max(*rows.shape, size) * sizes.max(initial=0.0)
    return CombinedAxes(sizes[kept] ** 2, right[kept].T, float(np.sum(scaled**2)))


@result("completed-cells")
@frozen
class CompletedCells:
    """Cells of represented columns (n x c), estimates where they were missing."""

    cells: Array  # numbers in the columns' units, and shares of categories
    objective: float  # mean square of what the axes leave of the cells that are there, times factors


def noise_variance(eigenvalues: Array, count: int, rows: int, columns: int) -> float:
    """Return the variance of a column that `count` axes leave to noise, at most the next eigenvalue (r; descending).

    `columns` is the rank of the columns. Source: Josse and Husson, 2012; as in missMDA 1.19.
    """
    freedom = (rows - 1 - count) * (columns - count)
    left = rows * columns / min(columns, rows - 1) * float(eigenvalues[count:].sum()) / max(freedom, 1)
    return min(left, float(eigenvalues[count]) if len(eigenvalues) > count else 0.0)


class TablesMethod(Method):
    """The base of methods of several tables, which are groups of columns."""

    accepts: ClassVar[tuple[type[Given], ...]] = (Features,)
    in_blocks: ClassVar = ""
    judged_by: ClassVar = "inertia"
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    decodes: ClassVar = None
    ranked_by: ClassVar = "principal inertias"
    rules: ClassVar = ()
    loads: ClassVar = "levels"
    unit_free: ClassVar = True
    can_resample: ClassVar = False
    missing: ClassVar[bool] = True
    joins_views: ClassVar[bool] = True
    later: ClassVar[tuple[str, ...]] = ("iterate",)
    averaged: ClassVar[bool] = False  # whether weights are those of the RV coefficients
    places_partial: ClassVar[bool] = True  # whether rows are placed by each table alone as well
    categories: Names = option((), "Columns of numbers that are categories, as columns of text are: names, or ranges "
                               "first:last (empty: none).")
    axes: PlainAxes = PlainAxes()
    iterate: Iterate = Iterate()

    @property
    def distance(self) -> TableMetric:
        """The distance of rows of several tables."""
        return TableMetric()

    @property
    def free_scale(self) -> bool:
        """Distances of all coordinates are those of represented rows."""
        return False

    def groups_of(self, data: Features) -> list[ColumnGroup]:
        """Return the groups of the data's columns; raises ConfigError."""
        raise NotImplementedError

    def weigh(self, compared: TableProducts, active: AnyArray) -> tuple[Array, Array]:
        """Return the norm of each kernel and its weight in the sum (g, g), of the `active` ones (g)."""
        weights = weights_by_rv(compared, active) if self.averaged else active.astype(np.float64)
        return norms_of(compared, self.norm), weights

    @property
    def norm(self) -> Norm:
        """The norm that a kernel is divided by."""
        raise NotImplementedError

    @property
    def unscaled_groups(self) -> Names:
        """The names of groups whose numbers are not divided by their deviations."""
        return ()

    def named_categories(self, columns: Sequence[str]) -> set[int]:
        """Return the places of columns (d) of numbers that are categories; raises ConfigError."""
        return named_columns(self.categories, columns, "method.categories")

    def blocks(self, data: Features) -> Blocks:
        """Return the groups of the data's columns; raises ConfigError and DataError."""
        groups = self.groups_of(data)
        return blocks_of(data, groups, self.named_categories(data.columns), self.unscaled_groups)

    def with_metric(self, data: Input) -> Input:
        """Return rows with the distance of all groups together, of weight one each; raises DataError."""
        if not isinstance(data, Features) or isinstance(data.metric, Blocks):
            return data
        return replace(data, metric=self.blocks(data))

    def compared(self, data: Input, model: Model) -> Input:
        """Return rows with the distance that the fit has: kernels have their weights."""
        found = self.with_metric(data)
        return replace(found, metric=model.required_projector.similarity.comparison) if isinstance(
            found, Features) else found

    def weighs_rows(self, kind: str) -> bool:
        """Whether the input is features."""
        return kind == Features.kind

    def limit(self, data: Input) -> int:
        """Return the smaller of n - 1 and the columns, with one less than its levels for each that is a category."""
        columns, questions = self.widths(data)
        return max(min(len(data.values) - 1, columns - questions), 1)

    def widths(self, data: Input) -> tuple[int, int]:
        """Return the number of represented columns, one of each level, and that of categories."""
        if not isinstance(data, Features):
            return data.values.shape[1], 0
        if isinstance(data.metric, Blocks):
            return len(data.metric.groups), len(data.metric.questions)
        held = {place for group in self.groups_of(data) for place in group.columns}
        named = held & {*data.categories, *self.named_categories(data.columns)}
        coded = np.array([place for place in sorted(named) if place not in data.categories], dtype=np.int64)
        levels = sum(len(data.categories[place]) for place in named & {*data.categories})
        levels += sum(len(found) for found, _ in answers_of(data, coded))
        return len(held) - len(named) + levels, len(named)

    def eigenvalues(self, data: Input) -> int:
        """Return the number of axes."""
        return self.limit(data)

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Raise ConfigError for options of the iteration without missing cells, and for axes that leave no noise."""
        if not isinstance(data, Features) or all_finite(data.values):
            return self.refuse_unused("no cell is missing", "iterate")
        count, most = self.axes.components, self.limit(data)
        if isinstance(count, int) and count >= most:
            raise ConfigError("GAPS", f"{count} of {most} axes leave no noise, which estimates of missing cells need",
                              where="method.axes.components", hint=f"ask for at most {most - 1}, or give "
                              "{prepare.missing=drop}")
        return {}

    def composition(self, data: Any, compute: Compute, share: float | None = None) -> Composition[Model]:
        """Return the stages: kernels compared, and their sum."""
        return TablesComposition(self, data, compute)

    def certified_seconds(self, data: Any, steps: Sequence[Step]) -> float:
        """Predict the seconds of the certificate's pass over rows that are read in blocks."""
        rows = rows_of(data.values)
        if rows is None:
            return 0.0
        width = self.widths(data)[0]
        return seconds_of_reading(data, rows) + CERTIFIED * pass_cost(len(rows) * width) + len(
            rows) * width**2 / product_rate(1)

    def weighted_rows(self, subject: Subject) -> WeightedRows:
        """Return the standardized columns of numbers and categories, with the factors of their groups."""
        data, groups = subject.data, self.groups_of(subject.data)
        return weighted_columns(data, subject.model, groups, self.named_categories(data.columns),
                                unscaled=self.unscaled_groups, norm=self.norm, tolerance=AGREE * self.iterate.tolerance)

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check axes, weights and what each group says against the groups' kernels, computed from the table."""
        yield from super().checks(subject)
        data, model = subject.data, subject.model
        yield from table_checks(data, model, self.groups_of(data), self.named_categories(data.columns),
                                subject.plan, unscaled=self.unscaled_groups, norm=self.norm, averaged=self.averaged,
                                tolerance=AGREE * self.iterate.tolerance)


def seconds_of_reading(data: Features, rows: Rows) -> float:
    """Return the seconds of a core that reads the rows of a table in blocks, and the categories of columns of text."""
    return len(rows) * (rows.shape[1] * READ + len(data.categories) * TEXT_CELL * rates().parsed)


class GroupedMethod(TablesMethod):
    """The base of methods of groups that a user names."""

    groups: Names = option((), "The groups of columns: NAME=COLUMNS, where COLUMNS are names and ranges first:last, "
                           "separated by commas, a name that holds commas in quotes (empty: one group, or one of each "
                           "file).")
    supplementary: Names = option((), "Groups that take no part in the axes and are described by them (empty: none).")
    center: Names = option((), "Groups whose numbers are only centered, not divided by their standard deviations "
                           "(empty: none).")

    def blocks(self, data: Features) -> Blocks:
        """Return the groups of the data's columns; raises ConfigError and DataError."""
        found = super().blocks(data)
        require_variation(data, self.groups_of(data), found)
        return found

    def groups_of(self, data: Features) -> list[ColumnGroup]:
        """Return the groups of the data's columns: those named, and of each further file the others; ConfigError."""
        return column_groups(self.groups, self.supplementary, data.columns, data.tables)

    @property
    def unscaled_groups(self) -> Names:
        """The names of groups whose numbers are not divided by their deviations."""
        return self.center


@frozen
class TablesComposition(Composition[Model]):
    """K = Σ w K / s = U Λ Uᵀ of the tables' kernels: coordinates are √n U √Λ."""

    method: TablesMethod
    data: Any
    compute: Compute

    @property
    def blocks(self) -> Blocks:
        """The groups of columns, each of weight one."""
        found = self.data.metric
        assert isinstance(found, Blocks)
        return found

    @property
    def streamed(self) -> Rows | None:
        """The rows of a table that is read in blocks; None in memory.

        Represented ones are taken into memory if they are no more than their columns, whose products would be larger.
        """
        rows = rows_of(self.data.values)
        return rows if rows is not None and len(rows) > self.method.widths(self.data)[0] else None

    @FitStage
    def factor(self) -> RowFactor | None:
        """Z Z' of rows that are read in blocks, by the products Z'Z of their columns; None in memory."""
        rows = self.streamed
        return None if rows is None or not len(self.blocks.groups) else factor_of_rows(self.blocks, rows)

    @factor.cost
    def _(self) -> list[Step]:
        rows = self.streamed
        return [] if rows is None else [self.products_step(rows)]

    @FitStage
    def completed(self) -> tuple[Blocks, Array, dict[str, Any], Quantity | None]:
        """The rows Z of all columns, without factors; missing cells at the fixed point of the axes that are kept.

        Of rows that are read in blocks, a few with the same products of columns.
        """
        if self.factor is not None:
            columns, questions = self.method.widths(self.data)
            return self.blocks, equivalent_rows(self.factor, columns - questions), {}, None
        if all_finite(self.data.values):
            return self.blocks, self.represented, {}, None
        return self.complete()

    @completed.cost
    def _(self) -> list[Step]:
        if all_finite(self.data.values):
            return []
        rows, (columns, _) = len(self.data.values), self.method.widths(self.data)
        each = singular_step("combine", (rows, columns), self.compute.thread_count(), copies=COPIES)
        rows = int(np.isnan(self.data.values).any(axis=1).sum())  # a system of equations for each, at most
        return [repeated("iterate", "missing cells by the axes", 2 * each.seconds + SYSTEM * rows * rates().called,
                         2 * each.memory, usual=USUAL, most=self.method.iterate.limit, remedy=self.remedy)]

    @property
    def remedy(self) -> str:
        """How to need less memory: without a column of text whose categories are most of the columns."""
        texts = {place: len(found) for place, found in self.data.categories.items()}
        most = max(texts, key=lambda place: texts[place], default=None)
        if most is None or 2 * texts[most] < self.method.widths(self.data)[0]:
            return "choose fewer columns, or merge categories"
        return f"column {shown(self.data.columns[most])} has {texts[most]:,} categories: {LEAVE_OUT}"

    @property
    def represented(self) -> Array:
        """The represented rows (n x c), without factors, in memory."""
        rows = rows_of(self.data.values)
        if rows is None:
            return self.blocks.unweighted(self.data.values)
        width = len(self.blocks.groups)
        return in_memory(represented_rows(self.blocks, rows)) if width else np.zeros((len(rows), 0))

    def products_step(self, rows: Rows) -> Step:
        """Return the cost of the products of represented columns of rows that are read in blocks."""
        (size, (width, questions)), threads = (len(rows), self.method.widths(self.data)), self.compute.thread_count()
        known = not questions and rows.moments is not None and rows.moments.whole
        count, lanes = 0 if known else 1 + bool(questions), rows.at_once(threads)
        taken = 8.0 * 5 * width**2 + (0.0 if known else pass_bytes(width, lanes) + self.pass_bytes(rows, width))
        if known:
            return Step("covariance", f"from the first pass over {size:,} rows", 0.0, taken)
        seconds = count * self.pass_seconds(rows, width) + size * width**2 / product_rate(1)
        said = "one for the categories, and one for products" if questions else "for products"
        return Step("covariance", f"by {count} pass{'es' * (count > 1)} over {size:,} rows, {said}", seconds / threads,
                    taken, remedy=self.remedy, passes=Passes(
                        count, seconds / count, rows.blocks, sent=8.0 * width, working=self.part_bytes(rows, width),
                        returned=8.0 * rows.blocks * width**2))

    def part_bytes(self, rows: Rows, width: int) -> float:
        """Return the bytes that a pass over rows represented by `width` columns holds for each thread."""
        return rows.nbytes + 8.0 * PARTS * min(rows.source.part, len(rows)) * width

    def pass_bytes(self, rows: Rows, width: int) -> float:
        """Return the bytes that a pass of all threads holds beside the block that every fit of such rows is given."""
        return rows.at_once(self.compute.thread_count()) * self.part_bytes(rows, width) - rows.nbytes

    def pass_seconds(self, rows: Rows, width: int) -> float:
        """Return the seconds of a core that reads rows and represents them by `width` columns."""
        return seconds_of_reading(self.data, rows) + REPRESENTED * pass_cost(len(rows) * width)

    @property
    def standardized(self) -> AnyArray:
        """Which columns of numbers are divided by their deviations."""
        groups = self.method.groups_of(self.data)
        kept = [number for number, group in enumerate(groups) if group.name in self.method.unscaled_groups]
        return ~np.isin(self.blocks.groups[:len(self.blocks.numbers)], kept)

    def analyze(self, cells: Array) -> tuple[Blocks, Array, CombinedAxes]:
        """Return the blocks of completed cells (n x c), with factors; their rows without these; and the axes."""
        blocks = self.blocks.refitted(cells, self.standardized)
        count, roots = len(blocks.numbers), np.sqrt(blocks.masses)
        plain = np.hstack([(cells[:, :count] - blocks.means) / blocks.scales, cells[:, count:] / roots - roots])
        compared = products_of_columns(plain, places_of(blocks))
        norms, weights = self.method.weigh(compared, self.blocks.factors > 0)
        blocks = blocks.with_factors(np.sqrt(weights / norms))
        return blocks, plain, axes_of_rows(plain * blocks.factors[blocks.groups], len(plain))

    def completion(self, blocks: Blocks, plain: Array, found: CombinedAxes) -> tuple[Completion, float]:
        """Return how the axes complete rows, and the noise variance, of completed rows without factors (n x c)."""
        count = self.method.axes.available_count(len(found.eigenvalues))
        kept = first_columns(found.directions, count)
        factors, size = blocks.factors[blocks.groups], max(len(plain), 1)
        values = np.pad(found.eigenvalues, (0, max(count - len(found.eigenvalues), 0)))[:count]
        positive = np.where(values > 0, values, 1.0)
        owners = np.repeat(np.arange(len(blocks.questions)), blocks.answers.counts)
        asked = np.unique(owners[factors[len(blocks.numbers):] > 0])  # whose categories add up to one
        noise = noise_variance(found.eigenvalues, count, size, int(np.sum(factors > 0)) - len(asked))
        loadings = plain.T @ ((plain * factors) @ kept) / (size * positive)
        return Completion(loadings, np.maximum(values - noise, 0.0) / positive), noise

    def complete(self) -> tuple[Blocks, Array, dict[str, Any], Quantity]:
        """Iterate between the axes of completed rows, and missing cells by these axes, to the fixed point.

        Return the blocks, the completed rows without factors (n x c), figures of the fit, and the objective's course.
        """
        given = self.blocks.unweighted(self.data.values)
        there = ~np.isnan(given)

        def step(state: CompletedCells) -> CompletedCells:
            blocks, plain, found = self.analyze(state.cells)
            factors = blocks.factors[blocks.groups]
            completion, _ = self.completion(blocks, plain, found)
            completed = completion(np.where(there, plain, np.nan), factors)
            fitted = (completed * factors) @ (completion.loadings * factors[:, None]) * completion.shares
            left = np.where(there, completed - fitted @ completion.loadings.T, 0.0) * factors
            return CompletedCells(np.where(there, state.cells, blocks.cells(completed)),
                                  float(np.sum(left**2)) / max(len(plain), 1))

        def change(before: CompletedCells, after: CompletedCells) -> float:
            scales = np.concatenate([self.blocks.scales, np.sqrt(self.blocks.masses)])
            return float((np.abs(after.cells - before.cells) / scales).max(initial=0.0))

        start = self.blocks.cells(np.where(there, given, 0.0))
        ended = self.method.iterate(step, CompletedCells(start, 0.0), change)
        blocks, plain, found = self.analyze(ended.state.cells)
        noise = self.completion(blocks, plain, found)[1]
        return blocks.with_factors(self.blocks.factors), plain, {
            **ended.facts, "missing_cells": int(np.isnan(self.data.values[:, held_columns(self.blocks)]).sum()),
            "noise_variance": noise}, Quantity(ended.trace)

    @FitStage
    def compared(self) -> TableProducts:
        """The traces of K_g K_h, and the first eigenvalue of each K_g."""
        return table_products(self.completed[1], places_of(self.blocks))

    @compared.cost
    def _(self) -> list[Step]:
        width = self.method.widths(self.data)[0]
        rows = len(self.data.values) if self.streamed is None else width
        count = len(self.method.groups_of(self.data))
        return [Step("groups", f"products of {count} groups of columns",
                     2.0 * rows * width**2 / product_rate(self.compute.thread_count()),
                     8.0 * (2 * rows * width + width**2), remedy=self.remedy)]

    @FitStage
    def weighted(self) -> tuple[Array, Array, Blocks]:
        """The norms s and weights w, and with them the represented rows √(w / s) Z."""
        norms, weights = self.method.weigh(self.compared, self.blocks.factors > 0)
        return norms, weights, self.completed[0].with_factors(np.sqrt(weights / norms))

    @weighted.cost
    def _(self) -> list[Step]:
        return []

    @FitStage
    def combined(self) -> CombinedAxes:
        """Λ, and the directions V of the represented rows."""
        blocks = self.weighted[2]
        return combined_axes(self.completed[1] * blocks.factors[blocks.groups], len(self.data.values))

    @combined.cost
    def _(self) -> list[Step]:
        method, size, columns = self.method, len(self.data.values), self.method.widths(self.data)[0]
        threads, streamed = self.compute.thread_count(), self.streamed
        groups = len(method.groups_of(self.data)) if method.places_partial else 0
        step = replace(singular_step("combine", (size if streamed is None else columns, columns), threads,
                                     copies=COPIES), remedy=self.remedy)
        if streamed is None:
            return [replace(step, memory=step.memory + 16.0 * groups * size * method.axes.count)]
        placed, lanes = (1 + groups) * method.axes.count, streamed.at_once(threads)
        seconds = self.pass_seconds(streamed, columns) + 2.0 * size * columns * placed / product_rate(1)
        part, block = self.part_bytes(streamed, columns), int(np.diff(streamed.source.bounds).max(initial=0))
        waiting = lanes + AHEAD + 1 if lanes > 1 else 2  # blocks of results; a single thread begins none ahead
        taken = self.pass_bytes(streamed, columns) + 8.0 * min(waiting * block, size) * placed + 2 * bytes_in_memory(
            2, size * placed)
        return [replace(step, how=f"{step.how}, and a pass over {size:,} rows, which places them",
                        seconds=step.seconds + seconds / threads, memory=step.memory + taken, passes=Passes(
                            1, seconds, streamed.blocks, sent=8.0 * columns * placed, working=part,
                            returned=8.0 * size * placed, here=step.seconds))]

    def result(self) -> Model:
        """Return the coordinates, and what each group says about the axes."""
        method, data, found, (norms, weights, blocks) = self.method, self.data, self.combined, self.weighted
        groups = method.groups_of(data)
        note_unused(data, groups, blocks)
        if len(groups) == 1 and method.places_partial:
            note("W-ONE-GROUP", f"there is one group of columns, and {method.name} of one table is principal "
                 "components analysis of it; give {method.groups}")
        count = method.axes.available_count(len(found.eigenvalues))
        facts = self.completed[2]
        plain = self.completed[1]
        if facts:
            blocks = replace(blocks, completion=self.completion(blocks, plain, found)[0])
            plain = blocks.unweighted(data.values)
        factors = blocks.factors[blocks.groups]
        directions = first_columns(found.directions, count)
        coordinates = (plain * factors) @ directions
        values = np.pad(found.eigenvalues, (0, max(count - len(found.eigenvalues), 0)))[:count]
        placed = None if self.streamed is None else self.place(blocks, coordinates, directions, values)
        signs = leading_signs(coordinates if placed is None else placed[0])
        directions, coordinates = directions * signs, coordinates * signs
        spectrum = Spectrum.of_values(found.eigenvalues, found.total, complete=True)
        units = unit_vectors(coordinates, values)
        applied = (apply_kernel(plain[:, place], units) / norm
                   for place, norm in zip(places_of(blocks), norms, strict=True))
        powers = [2 * unit_of(group, blocks.numbers, blocks.exponents, blocks.questions)
                  if group.name in method.unscaled_groups else 0 for group in groups]
        says = describe_groups(
            applied, coordinates, values, norms=norms, weights=weights, compared=self.compared,
            eigenvalues=np.ldexp(self.compared.eigenvalues, powers),
            groups=[(group.name, group.active, len(group.columns)) for group in groups],
            partial=method.places_partial and placed is None)
        loadings = Loadings(column_loadings(plain, blocks, coordinates, values), column_names(data, blocks), power=0)
        if placed is not None:
            coordinates, says = with_signs(*placed, says, signs)
        return Model(
            embedding=coordinates, spectrum=spectrum, groups=says, fit={**figures_of(says), **facts},
            objective=self.completed[3],
            projector=Projector(OfTables(blocks), uncentered(len(factors)), directions), loadings=loadings)

    def place(self, blocks: Blocks, coordinates: Array, directions: Array, values: Array) -> tuple[Array, Array]:
        """Place all rows that are read in blocks, by one pass: return coordinates (n x p) and partial points (n x gp).

        `coordinates` F (m x p), of variances `values` λ (p), are those of the rows Z (m x c) that stand for all. By a
        group, of norm s, a row z lies at z Z'F W / (m s λ), with the sum W of the weights.
        """
        plain, (norms, weights, _) = self.completed[1], self.weighted
        shared = plain.T @ coordinates / max(len(plain), 1) / np.where(values > 0, values, 1.0)
        every = [directions * blocks.factors[blocks.groups][:, None]]
        for number, norm in enumerate(norms if self.method.places_partial else ()):
            every.append(shared * (blocks.groups == number)[:, None] * (float(weights.sum()) / norm))
        with running("combine"):
            found = np.zeros((len(self.data.values), len(every) * len(values))) if self.factor is None else (
                self.factor.multiply(np.hstack(every)))
        return np.asarray(map_blocks(lambda some: some[:, :len(values)].copy(), found)), found[:, len(values):]


def with_signs(coordinates: Array, partial: Array, groups: TableGroups, signs: Array) -> tuple[Array, TableGroups]:
    """Return coordinates (n x p) and groups with partial points (n x gp), if any, in place, on axes of other signs (p).
    """
    for every in (coordinates, partial):
        for some in parts(every):
            some *= np.tile(signs, every.shape[1] // len(signs))
    if not partial.shape[1]:
        return coordinates, groups
    return coordinates, replace(groups, partial=partial.reshape(len(partial), -1, len(signs)).transpose(1, 0, 2))


def held_columns(blocks: Blocks) -> Indices:
    """Return the columns of the table that are represented."""
    return np.concatenate([blocks.numbers, blocks.questions])


def places_of(blocks: Blocks) -> list[Indices]:
    """Return the represented columns of each group."""
    return [np.flatnonzero(blocks.groups == number) for number in range(len(blocks.factors))]


def column_names(data: Features, blocks: Blocks) -> tuple[str, ...]:
    """Return the names of represented columns (c): those of numbers, then COLUMN=CATEGORY."""
    levels = zip(np.repeat(blocks.questions, blocks.answers.counts).tolist(), blocks.answers.texts, strict=True)
    return (*(data.columns[place] for place in blocks.numbers.tolist()),
            *(f"{data.columns[place]}={text}" for place, text in levels))


def column_loadings(plain: Array, blocks: Blocks, coordinates: Array, values: Array) -> Array:
    """Return loadings (c x p) of represented columns without factors (n x c), given coordinates (n x p).

    For a column of numbers its correlations with the axes, of variances λ (p); for a category the mean of its rows.
    """
    shared = plain.T @ coordinates / max(len(plain), 1)
    count = len(blocks.numbers)
    deviations = np.sqrt((plain[:, :count] ** 2).mean(axis=0))
    roots = np.sqrt(np.where(values > 0, values, 1.0))
    return np.vstack([shared[:count] / deviations[:, None] / roots,
                      shared[count:] / np.sqrt(blocks.masses)[:, None]])


def apply_kernel(block: Array, vectors: Array) -> Array:
    """Return K u (n x p) of vectors u (n x p) for K = Z Z' / n, with Z a block of columns (n x c)."""
    return np.asarray(block @ (block.T @ vectors) / max(len(block), 1))
