"""Correspondence analysis: the singular values of standardized residuals, in memory or by passes over rows.

With weights r of the rows, masses c of the columns and profiles p / r, the standardized residuals
(p - r c) / √(r c) are √r (x - √c) of the represented rows x = p / r / √c: principal components under the weights.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import reduce

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.scratch import allocate, bytes_in_memory, release_pages
from mlcli.base.rows.source import Rows, rows_of
from mlcli.base.stages.stage import part, stage
from mlcli.base.stages.steps import Passes, Step
from mlcli.base.types import Array
from mlcli.engine.executor import results
from mlcli.errors import DataError, rows_from
from mlcli.stages.algebra.costs import product_rate, singular_step
from mlcli.stages.algebra.linalg import EPS, singular, triangle_of
from mlcli.stages.algebra.metrics.profiles import Indicators, Profiles
from mlcli.stages.eigen.axes import first_columns
from mlcli.stages.kernels.row_factor import READ
from mlcli.stages.linear.whitening import SLACK

FAINT = 2.0**-900  # share of the total below which the numbers of a row may have lost digits
TALL = 2  # rows that are made a triangle together, for each column
COPIES = 3.8  # arrays of the size of the represented rows in memory at once
PASSES, SCORES = 2, 3  # over the rows; arrays of coordinates in memory at once


@frozen
class Inertia:
    """Principal inertias of a cloud of profiles, and its principal axes."""

    inertias: Array  # r, descending: squares of the singular values, above rounding
    axes: Array  # l x r, orthonormal, in the space of represented rows

    def coordinates(self, rows: Array, center: Array, count: int) -> Array:
        """Return principal coordinates (m x count) of represented rows (m x l), zeros on axes beyond the rank."""
        return (rows - center) @ first_columns(self.axes, count)


@frozen
class Residuals:
    """Rows in a file as standardized residuals: a source of blocks."""

    rows: Rows
    metric: Profiles
    total: float  # of all numbers

    @property
    def blocks(self) -> int:
        """How many blocks of work there are."""
        return self.rows.blocks

    def stop(self) -> None:
        """Blocks are short."""

    def work(self, number: int) -> Array:
        """Return R of the residuals Q R of a block (at most d x d)."""
        width = len(self.metric.roots)
        stacked: list[Array] = [np.zeros((0, width))]
        for place, rows in self.rows.parts(number):
            with rows_from(place):
                weights = masses(rows, self.total)
            stacked.append(residuals(self.metric.represent(rows), self.metric.roots, weights))
            if sum(map(len, stacked)) > TALL * width:
                stacked = [triangle_of(np.vstack(stacked))]
        return triangle_of(np.vstack(stacked))


@frozen
class Coordinates:
    """A pass for the coordinates of rows in a file: a source of blocks."""

    rows: Rows
    metric: Profiles
    found: Inertia
    count: int

    @property
    def blocks(self) -> int:
        """How many blocks of work there are."""
        return self.rows.blocks

    def stop(self) -> None:
        """Blocks are short."""

    def work(self, number: int) -> Sequence[Array]:
        """Return the coordinates of a block's parts."""
        return list(self._parts(number))

    def _parts(self, number: int) -> Iterator[Array]:
        for _, rows in self.rows.parts(number):
            yield self.found.coordinates(self.metric.represent(rows), self.metric.roots, self.count)


def masses(rows: Array, total: float) -> Array:
    """Return the rows' shares (m) of the total of a table, from rows (m x d).

    Raises DataError for a row whose numbers are too small beside the largest of the table.
    """
    found: Array = rows.sum(axis=1) / total
    if (faint := np.flatnonzero(found < FAINT)).size:
        raise DataError("ROW-SCALES", "the row holds too small a share of all numbers for double precision",
                        where="input", row=int(faint[0]), hint="leave the row out")
    return found


def residuals(rows: Array, center: Array, weights: Array) -> Array:
    """Return standardized residuals (m x l) of represented rows (m x l) with weights (m), about a center (l)."""
    return np.sqrt(weights)[:, None] * (rows - center)


@stage("residuals")
def principal_inertias(points: Array, metric: Profiles | Indicators, weights: Array | None = None) -> Inertia:
    """Return the principal inertias and axes of points (n x d) under a metric (Greenacre, 2007, appendix A).

    The rows' weights (n) sum to one; by default they are the rows' shares of all numbers. Axes whose singular value
    is rounding of one, the largest that residuals can have, are left out.
    """
    rows = rows_of(points)
    if rows is None:
        weights = masses(points, float(points.sum())) if weights is None else weights
        table = residuals(metric.represent(points), metric.roots, weights)
    else:
        assert isinstance(metric, Profiles)
        with part("residuals"), closing(results(Residuals(rows, metric, total_of(rows)))) as triangles:
            table = reduce(lambda above, below: triangle_of(np.vstack([above, below])), triangles)
    _, sizes, right = singular(table)
    kept = sizes > SLACK * EPS * max(len(points), len(metric.roots))
    return Inertia(sizes[kept] ** 2, without(right[kept].T, metric.roots))


def without(axes: Array, center: Array) -> Array:
    """Return unit axes (l x r) less their part along a unit center (l), which is rounding over the singular value."""
    rest = axes - np.outer(center, center @ axes)
    return rest / np.linalg.norm(rest, axis=0)


def principal_coordinates(points: Array, metric: Profiles | Indicators, found: Inertia, count: int) -> Array:
    """Return the principal coordinates (n x count) of points (n x d)."""
    rows = rows_of(points)
    if rows is None:
        return found.coordinates(metric.represent(points), metric.roots, count)
    assert isinstance(metric, Profiles)
    coordinates, place = allocate(len(rows), count), 0
    with part("coordinates"), closing(results(Coordinates(rows, metric, found, count))) as every:
        for parts in every:
            for some in parts:
                coordinates[place : place + len(some)] = some
                place += len(some)
            release_pages()
    return coordinates


def total_of(rows: Rows) -> float:
    """Return the sum of all numbers."""
    return float(rows.means.sum()) * len(rows)


def correspondence_steps(points: Array, width: int, count: int, threads: int) -> list[Step]:
    """Return the steps for points (n x d) that are represented by `width` columns, with `count` axes."""
    rows = rows_of(points)
    if rows is None:
        return [singular_step("residuals", (len(points), width), threads, copies=COPIES)]
    size = len(rows)
    seconds = size * width * (PASSES * READ + 2.0 * (1 + TALL) / TALL * width / product_rate(1))
    taken = rows.at_once(threads) * (rows.nbytes + 8.0 * (2 + TALL) * width**2) + bytes_in_memory(SCORES, size * count)
    return [Step("residuals", f"by {PASSES} passes over {size:,} rows", seconds / threads, taken,
                 passes=Passes(PASSES, seconds / PASSES, rows.blocks, sent=8.0 * width**2, working=float(rows.nbytes),
                               returned=8.0 * (size * count / PASSES + rows.blocks * width**2)))]
