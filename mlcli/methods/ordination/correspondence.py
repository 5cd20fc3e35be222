"""Correspondence analysis: the singular values of standardized residuals, and the base of its methods.

With weights r of the rows, masses c of the columns and profiles p / r, the standardized residuals
(p - r c) / √(r c) are √r (x - √c) of the represented rows x = p / r / √c: principal components under the weights.
"""

from collections.abc import Sequence
from contextlib import closing
from functools import reduce
from typing import Any, ClassVar, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.machine.rates import product_rate
from mlcli.base.rows.scratch import allocate, bytes_in_memory, map_blocks, release_pages
from mlcli.base.rows.source import RowPass, rows_of
from mlcli.base.stages.stage import computed, part, stage
from mlcli.base.stages.steps import Passes, Step
from mlcli.base.stored import stored
from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.options import option
from mlcli.base.values.signs import leading_signs
from mlcli.core.centering import Centering
from mlcli.core.eigen.options import PlainAxes, first_columns
from mlcli.core.eigen.spectrum import Spectrum
from mlcli.core.kernels.row_factor import READ
from mlcli.core.linalg import singular, singular_step, triangle_of
from mlcli.core.metrics.profiles import Indicators, Profiles
from mlcli.core.model import Loadings, Model, Powers
from mlcli.core.similarities.base import Similarity
from mlcli.core.similarities.projector import Projector
from mlcli.core.whitening import SLACK
from mlcli.engine.executor import results
from mlcli.errors import DataError, rows_from
from mlcli.methods.method import Method


@stored("represented")
@frozen
class Represented(Similarity):
    """The represented rows: their Euclidean distances are those of the metric."""

    metric: Profiles | Indicators

    def rows(self, new: Array) -> Array:
        """Return represented rows (m x c) of new points (m x d)."""
        return self.metric.represent(new)

    def width(self, given: int) -> int:
        """Return the number of columns that the metric represents."""
        return len(self.metric.roots)

    def rounding(self, new: Array) -> Array:
        """Return errors of the represented rows (m x c): of a sum, and of two quotients."""
        return EPS * (new.shape[1] + 4) * self.metric.represent(new)


FAINT_SHARE = 2.0**-900  # share of the total below which the numbers of a row may have lost digits
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
class ResidualPass(RowPass):
    """A pass for the standardized residuals of rows."""

    metric: Profiles
    total: float  # of all numbers

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
class CoordinatePass(RowPass):
    """A pass for the coordinates of rows."""

    metric: Profiles
    found: Inertia
    count: int

    def work(self, number: int) -> Sequence[Array]:
        """Return the coordinates of a block's parts."""
        return [self.found.coordinates(self.metric.represent(rows), self.metric.roots, self.count)
                for _, rows in self.rows.parts(number)]


def masses(rows: Array, total: float) -> Array:
    """Return the rows' shares (m) of the total of a table, from rows (m x d).

    Raises DataError for a row whose numbers are too small beside the largest of the table.
    """
    found: Array = rows.sum(axis=1) / total
    if (faint := np.flatnonzero(found < FAINT_SHARE)).size:
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
        total = float(rows.means.sum()) * len(rows)
        with part("residuals"), closing(results(ResidualPass(rows, metric, total))) as triangles:
            table = reduce(lambda above, below: triangle_of(np.vstack([above, below])), triangles)
    computed("residuals", table)
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
    with part("coordinates"), closing(results(CoordinatePass(rows, metric, found, count))) as every:
        for parts in every:
            for some in parts:
                coordinates[place : place + len(some)] = some
                place += len(some)
            release_pages()
    return coordinates


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


FAINT = 2.0**-300  # root of a mass whose reciprocal still leaves room for squares


class Correspondence(Method):
    """The base of methods of profiles with weights, whose axes are ranked by principal inertias."""

    accepts: ClassVar = (Features,)
    judged_by: ClassVar = "inertia"
    powers: ClassVar = Powers(coordinates=0, spectrum=0)
    ranked_by: ClassVar = "principal inertias"
    decodes: ClassVar = None
    rules: ClassVar = ()
    loadings: Literal["principal", "standard"] = option(
        "principal", "Coordinates of the columns in loadings.csv: principal, or standard, of which the coordinates of "
        "rows are weighted means.")
    axes: PlainAxes = PlainAxes()

    @property
    def free_scale(self) -> bool:
        """Distances of all coordinates are chi-square distances."""
        return False

    def steps(self, data: Any, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of the singular values of standardized residuals."""
        return correspondence_steps(data.values, self.width(data), self.axes.count, compute.thread_count())

    def weighs_rows(self, kind: str) -> bool:
        """Whether axes are principal axes of profiles: always."""
        return True

    def width(self, data: Input) -> int:
        """Return the number of columns of the represented rows."""
        if not isinstance(data, Features) or data.metric is None:
            return data.values.shape[1]
        return len(comparison_of(data).roots)

    def limit(self, data: Input) -> int:
        """Return the smaller of n - 1 and the columns of the represented rows less one."""
        return min(len(data.values), self.width(data)) - 1

    def eigenvalues(self, data: Input) -> int:
        """Return the number of principal inertias."""
        return max(self.limit(data), 1)

    def of_inertia(self, data: Features, found: Inertia, spectrum: Spectrum, names: tuple[str, ...],
                   fit: dict[str, Any]) -> Model:
        """Return the model of principal axes; `names` are those of the represented columns."""
        metric = comparison_of(data)
        count = self.axes.available_count(len(found.inertias))
        coordinates = principal_coordinates(data.values, metric, found, count)
        signs = leading_signs(coordinates)
        axes = first_columns(found.axes, count) * signs
        return Model(embedding=map_blocks(lambda some: some * signs, coordinates), spectrum=spectrum,
                     projector=Projector(Represented(metric), Centering(metric.roots, across=False), axes),
                     loadings=Loadings(self.column_coordinates(axes, metric, found.inertias), names, power=0), fit=fit)

    def column_coordinates(self, axes: Array, metric: Profiles | Indicators, inertias: Array) -> Array:
        """Return the coordinates of columns on principal axes (l x p): standard, or times roots of inertias (r)."""
        standard = axes / metric.roots[:, None]
        if self.loadings == "standard":
            return standard
        return standard * np.sqrt(np.pad(inertias, (0, axes.shape[1]))[: axes.shape[1]])


def comparison_of(data: Features) -> Profiles | Indicators:
    """Return the chi-square distance that the data carries."""
    assert isinstance(data.metric, Profiles | Indicators)
    return data.metric


def find_inertias(data: Features, weights: Array | None = None) -> Inertia:
    """Return the principal inertias of rows with weights (n); raises DataError for masses beyond double precision."""
    metric = comparison_of(data)
    if len(metric.roots) and metric.roots.min() < FAINT:
        raise DataError("COLUMN-SCALES", "a column holds too small a share of all numbers for double precision",
                        where=f"column {int(metric.roots.argmin()) + 1} of the data",
                        hint="leave it out with {input.columns}")
    return principal_inertias(data.values, metric, weights)
