"""Non-negative matrix factorization.

The weights of given parts in training rows or new ones, and the factorization by them.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar, Literal, cast

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.rows.blocks import each, row_blocks
from mlcli.base.stages.composition import Composition, FitStage
from mlcli.base.stages.stage import note, running
from mlcli.base.stages.steps import Step, repeated
from mlcli.base.stored import stored
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.check import EPS, Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.options import option
from mlcli.base.values.quantity import Quantity
from mlcli.certify.subject import Subject
from mlcli.core.centering import uncentered
from mlcli.core.eigen.eigensolve import ForAxes
from mlcli.core.eigen.options import PlainAxes
from mlcli.core.iterate import Iterated
from mlcli.core.kernels.factor_solver import product_steps
from mlcli.core.model import Loadings, Model, Powers
from mlcli.core.similarities.base import Similarity
from mlcli.core.similarities.projector import Affine, Projector
from mlcli.errors import DataError
from mlcli.methods.method import Method
from mlcli.methods.parts.check import factorization_checks
from mlcli.methods.parts.nonnegative import (
    BLOCK,
    NEARLY_EXACT,
    Factorization,
    Objective,
    Refinement,
    fall_between,
    falls_of,
    objective_of,
    random_start,
    side_of,
    size_of,
    start_of_singular_vectors,
    step_of,
    step_seconds,
)
from mlcli.methods.trials import variant

PLACED_AT_ONCE = 1 << 19  # numbers of a thread at once
RIDGE = 64 * EPS  # added to the diagonal: parts that are combinations of others share what they explain
NEAR = 1e-12  # relative size below which an entry or a slope counts as zero
FULL_EXCHANGES = 3  # of all wrong entries at once without fewer of them, before one at a time
EXCHANGES = 5  # for each part, at most
WARM = 10  # multiplicative updates before Newton's method
FAINT = 1e-100  # share of the largest number of the parts below which a column has none of any
NEWTON, HALVINGS = 100, 50  # its steps and those of its line search, at most
ARMIJO = 1e-4  # share of the fall that the slope promises
SLACK = 8 * EPS  # relative rounding of the objective, below which a fall is not seen


def place_rows(objective: Objective, points: Array, parts: Array) -> Array:
    """Return the weights w ≥ 0 (n x p) that minimize the objective of each row x ≈ w H of points (n x d).

    `parts` is H (p x d).
    """
    found = np.zeros((len(points), len(parts)))
    there = np.any(parts > 0, axis=1)
    held = parts[there]
    solve = least_squares if objective == "frobenius" else least_divergence
    width = max(points.shape[1], len(held) ** 2, 1)

    def fill(rows: slice) -> None:
        found[rows, there] = solve(points[rows], held)

    if there.any():
        each(fill, row_blocks(len(points), PLACED_AT_ONCE, width), progress=True)
    return found


def least_squares(points: Array, parts: Array) -> Array:
    """Return the w ≥ 0 (m x p) of least ‖x - w H‖ for rows x of points (m x d) and parts H (p x d), none zero.

    By exchanges of whole blocks of entries between those that are zero and those that are not, and where these do not
    make fewer of them wrong, of one at a time (Portugal, Júdice and Vicente, 1994; Kim and Park, 2011).
    """
    lengths = np.linalg.norm(parts, axis=1)
    units = parts / lengths[:, None]
    gram, products = units @ units.T, points @ units.T
    gram.flat[:: len(gram) + 1] += RIDGE
    return _least_quadratic(gram, products) / lengths


def _least_quadratic(gram: Array, products: Array) -> Array:
    """Return the w ≥ 0 (m x p) of least wᵀ G w / 2 - wᵀ b for rows b of products (m x p).

    `gram` is G, positive definite: one for all rows (p x p), or each row's own (m x p x p).
    """
    weights, left = _exchange(gram, products)
    if left.any():
        from scipy.optimize import nnls

        for row in np.flatnonzero(left):
            # least squares with Rᵀ R = G and right side R⁻ᵀ b
            triangle = np.linalg.cholesky(gram if gram.ndim == 2 else gram[row]).T
            weights[row] = nnls(triangle, np.linalg.solve(triangle.T, products[row]))[0]
    return weights


def _exchange(gram: Array, products: Array) -> tuple[Array, AnyArray]:
    """Return the weights (m x p), and the rows (m) for which no set of nonzero entries was found."""
    (rows, count), sizes = products.shape, np.abs(products).max(axis=1, initial=0.0)[:, None]
    weights, used = np.zeros((rows, count)), np.zeros((rows, count), dtype=bool)
    fewest, tries = np.full(rows, count + 1), np.full(rows, FULL_EXCHANGES)
    open_rows = np.flatnonzero(sizes[:, 0] > 0)
    for _ in range(EXCHANGES * (count + 2)):
        free, own = used[open_rows], gram if gram.ndim == 2 else gram[open_rows]
        matrices = np.where(free[:, :, None] & free[:, None, :], own, np.eye(count))
        found = np.linalg.solve(matrices, np.where(free, products[open_rows], 0.0)[:, :, None])[:, :, 0]
        slopes = (found @ own if own.ndim == 2 else np.einsum("mi,mij->mj", found, own)) - products[open_rows]
        largest = np.abs(found).max(axis=1, initial=0.0)[:, None]
        wrong = np.where(free, found < -NEAR * largest, slopes < -NEAR * sizes[open_rows])
        number = wrong.sum(axis=1)
        weights[open_rows] = np.maximum(found, 0.0)
        better = number < fewest[open_rows]
        tries[open_rows] = np.where(better, FULL_EXCHANGES, tries[open_rows] - 1)
        fewest[open_rows] = np.minimum(number, fewest[open_rows])
        single = tries[open_rows] < 0
        last = count - 1 - wrong[:, ::-1].argmax(axis=1)
        alone = wrong & (np.arange(count) == last[:, None])
        used[open_rows] = free ^ np.where(single[:, None], alone, wrong)
        open_rows = open_rows[number > 0]
        if not len(open_rows):
            break
    return weights, np.isin(np.arange(rows), open_rows)


def least_divergence(points: Array, parts: Array) -> Array:
    """Return the w ≥ 0 (m x p) of least Σ x ln(x / w H) - x + w H for rows x of points (m x d) and parts H (p x d).

    A convex problem: multiplicative updates, then Newton's method on the entries that are not at zero (Bertsekas,
    1982), and where its step does not lower the divergence, towards the least value of its quadratic model over all
    w ≥ 0 (Lee, Sun and Saunders, 2014). Cells in columns that no part has do not count.
    """
    held = parts.max(axis=0) > FAINT * parts.max()
    points, parts = points[:, held], parts[:, held]
    totals, sums = points.sum(axis=1), parts.sum(axis=1)
    there = totals > 0
    shares, units = points[there] / totals[there, None], parts / sums[:, None]
    weights = np.full((len(shares), len(units)), 1.0 / len(units))
    for _ in range(WARM):
        model = weights @ units
        weights *= np.divide(shares, model, out=np.zeros_like(model), where=shares > 0) @ units.T
    open_rows = np.arange(len(shares))
    for _ in range(NEWTON):
        weights[open_rows], moved = _newton_step(shares[open_rows], weights[open_rows], units)
        open_rows = open_rows[moved]
        if not len(open_rows):
            break
    found = np.zeros((len(points), len(units)))
    found[there] = weights * totals[there, None]
    return found / sums


def _newton_step(shares: Array, weights: Array, units: Array) -> tuple[Array, AnyArray]:
    """Return weights (m x p) after a step for rows of sum one (m x d), and which rows (m) are not at the minimum."""
    count = len(units)
    first, second = np.triu_indices(count)
    model = weights @ units
    ratios = np.divide(shares, model, out=np.zeros_like(model), where=shares > 0)
    slopes = 1 - ratios @ units.T
    apart = np.abs(weights - np.maximum(weights - slopes, 0.0))
    distance = apart.max(axis=1)
    curved = np.divide(ratios, model, out=np.zeros_like(model), where=ratios > 0) @ (units[first] * units[second]).T
    curves = np.empty((len(shares), count, count))
    curves[:, first, second] = curves[:, second, first] = curved
    free = ~((weights <= np.minimum(distance, 0.1 / count)[:, None]) & (slopes > 0))
    diagonal = np.einsum("mkk->mk", curves)
    diagonal += RIDGE * diagonal.max(axis=1, keepdims=True)
    matrices = np.where(free[:, :, None] & free[:, None, :], curves, np.eye(count))
    steps = np.linalg.solve(matrices, np.where(free, slopes, 0.0)[:, :, None])[:, :, 0]
    steps = np.where(free, steps, weights)  # entries near zero with a positive slope go there
    before = _divergence(shares, weights, model)
    found, left, length = weights.copy(), distance > NEAR, 1.0
    waiting = np.flatnonzero(left)
    for halving in range(HALVINGS):
        if not len(waiting):
            break
        if halving == 1:  # entries on their way to zero take others along, which a step of the free ones does not see
            steps[waiting] = weights[waiting] - _model_minimum(curves[waiting], slopes[waiting], weights[waiting])
        tried = np.maximum(weights[waiting] - length * steps[waiting], 0.0)
        after = _divergence(shares[waiting], tried, tried @ units)
        promised = np.einsum("mk,mk->m", slopes[waiting], tried - weights[waiting])
        lower = after <= before[waiting] + ARMIJO * promised + SLACK * (1 + np.abs(before[waiting]))
        found[waiting[lower]] = tried[lower]
        waiting, length = waiting[~lower], length / 2 if halving else 1.0
    left[waiting] = False  # no step lowers it: what is left is rounding
    return found, left


def _model_minimum(curves: Array, slopes: Array, weights: Array) -> Array:
    """Return the w ≥ 0 (m x p) of least quadratic model, of curves (m x p x p) and slopes (m x p) at weights."""
    sizes = np.sqrt(np.einsum("mkk->mk", curves))
    products = np.einsum("mij,mj->mi", curves, weights) - slopes
    return _least_quadratic(curves / (sizes[:, :, None] * sizes[:, None, :]), products / sizes) / sizes


def _divergence(shares: Array, weights: Array, model: Array) -> Array:
    """Return Σ w - Σ x ln(w H) of rows (m) with shares x (m x d) and models w H (m x d); infinite for 0 where x > 0."""
    with np.errstate(divide="ignore"):
        logarithms = np.log(model, out=np.zeros_like(model), where=shares > 0)
    found: Array = weights.sum(axis=1) - np.einsum("ij,ij->i", shares, logarithms)
    return found


@stored("part-weights", factor="cd")
@frozen
class PartWeights(Similarity):
    """The weights w ≥ 0 for which w H is nearest to a row."""

    keeps_distances: ClassVar[bool] = False
    objective: Objective
    factor: Array  # H, one part in each row

    def rows(self, new: Array) -> Array:
        """Return the weights (m x p) of new points (m x d); raises DataError for a negative cell."""
        require_nonnegative(new)
        return place_rows(self.objective, new, self.factor)

    def width(self, given: int) -> int:
        """Return the number of parts; 0 where the parts have another number of columns."""
        return len(self.factor) if self.factor.shape[1] == given else 0

    def check(self, new: Array, ids: Sequence[str], columns: Sequence[str]) -> None:
        """Raise DataError for the first negative cell of new points (m x d)."""
        require_nonnegative(new, ids, columns)

    def rounding(self, new: Array) -> Array | float:
        """Return the errors of the weights of new points (m x d), larger where parts nearly depend on each other."""
        lengths = np.linalg.norm(self.factor, axis=1)
        units = self.factor[lengths > 0] / lengths[lengths > 0, None]
        least = float(np.linalg.eigvalsh(units @ units.T).min(initial=1.0))
        return 64 * EPS * float(np.abs(new).sum(axis=1).max(initial=0.0)) / max(least, RIDGE)


def require_nonnegative(points: Array, ids: Sequence[str] = (), columns: Sequence[str] = ()) -> None:
    """Raise DataError for the first negative cell of points (n x d), by row and column, and their names where known."""
    if points.size and float(points.min()) < 0:
        row, column = np.argwhere(points < 0)[0].tolist()
        named = repr(columns[column]) if len(columns) else f"{column + 1}"
        raise DataError("NEGATIVE", f"column {named}: nmf takes numbers of zero or more, not {points[row, column]:g}",
                        hint="correct the cell, or leave the column out with {input.columns}", row=row,
                        name=repr(ids[row]) if len(ids) else "")


Start = Literal["nndsvda", "random"]
USUAL = 200  # iterations of most fits
LEEWAY = 5.0  # falls that the next step may promise, over the tolerance of those to come
PLACED = 20  # iterations that take as long as the exact weights


class NMF(Method):
    """Parts without negative numbers, whose sums with weights of zero or more are nearest to the rows.

    It keeps rows as sums of parts, none of which is ever subtracted. It fails if other starts give different parts,
    since the objective has many minima: ask for fewer parts, or compare `fit.objective` in `run.json` for some seeds.
    Set the number of parts first (`-p`), then the `objective`, kullback_leibler for counts.

    How it works: X ≈ W H with W, H ≥ 0: each row is a sum of the parts, the rows of H, with weights W. Coordinates are
    W, the weights of the parts in a row. Each part sums to one, so a weight is the amount of its part in the row, in
    the data's unit, and the weights of a row add up to the total of its reconstruction. Parts are in descending order
    of the total of their weights.

    The objective `frobenius` is ‖X - W H‖² / 2, minimized by coordinate descent over one column of W or row of H at a
    time (HALS). The objective `kullback_leibler`, which suits counts, is Σ x ln(x / (W H)) - x + W H, minimized by
    multiplicative updates. The start is made of singular vectors (NNDSVDa), or of random numbers from `compute.seed`.

    Negative cells are refused. Rows of zeros are allowed and get weights of zero; so are columns of zeros, which are
    zero in every part.

    New points: The weights of a new row are those that minimize the objective for the given parts exactly, by
    non-negative least squares or the least divergence; so are those of the training rows after the last iteration. With
    `kullback_leibler`, cells of new rows in columns that are zero in every part do not count.

    Files: `loadings.csv` holds the parts, the rows of H; `fit.shares` in `run.json` has the share of each part in the
    sum of all weights.

    Source: Lee and Seung, 1999 and 2001; Cichocki and Phan, "Fast local algorithms for large scale nonnegative matrix
    and tensor factorizations", 2009; Boutsidis and Gallopoulos, 2008 (start); Gillis and Glineur, 2012 (repeated
    sweeps).
    """

    accepts: ClassVar = (Features,)
    judged_by: ClassVar = "reconstruction"
    powers: ClassVar = Powers(coordinates=1, spectrum=0)
    ranked_by: ClassVar = None
    rules: ClassVar = ()
    domain: ClassVar = "amounts"
    can_resample: ClassVar = True
    repeat_tolerance: ClassVar = 1e-6
    variants: ClassVar = (
        variant("", "rotation", "shift", "mirror", "constant column"),
        variant("divergence", "rotation", "shift", "mirror", "constant column", objective="kullback_leibler"))
    axis: ClassVar = "Part"
    name: Literal["nmf"] = "nmf"
    objective: Objective = option("frobenius", "Squared errors (frobenius), or the generalized Kullback-Leibler "
                                  "divergence.")
    start: Start = option("nndsvda", "Start: halves of singular vectors, or random numbers.")
    sweeps: int = option(3, "Sweeps over a factor for each product with the data, of frobenius (1: plain HALS).", ge=1)
    iterate: Refinement = Refinement()
    axes: PlainAxes = PlainAxes()

    def limit(self, data: Input) -> int:
        """Return the smaller of n - 1 and d: n parts could be the rows themselves."""
        return min(len(data.values) - 1, data.values.shape[1])

    def resolved_stages(self, data: Input) -> dict[str, Any]:
        """Return no changes; raises ConfigError for sweeps of multiplicative updates."""
        if self.objective == "frobenius":
            return {}
        return self.refuse_unused("multiplicative updates have no sweeps", "sweeps")

    def in_range(self, data: Input) -> Any:
        """Return the data in units that keep squares in range; raises DataError for a negative cell."""
        require_nonnegative(data.values, data.ids, cast(Features, data).columns)
        return super().in_range(data)

    @property
    def power(self) -> int:
        """The power of the data's unit in the objective."""
        return 2 if self.objective == "frobenius" else 1

    def composition(self, data: Features, compute: Compute, share: float | None = None) -> "NMFComposition":
        """Return the stages: the start, the iterations, and the exact weights for their parts."""
        return NMFComposition(self, data, compute)

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check signs, sums and order of the parts, the objective, and that neither factor can be improved."""
        yield from super().checks(subject)
        data, model = subject.data, subject.model
        yield from factorization_checks(data.values, model.embedding, model.directions, self.objective,
                                        self.iterate.tolerance, model.fit, data.unit**self.power)


@frozen
class PlacedParts:
    """Parts of sum one, in descending order of the totals of their weights, which are the exact ones."""

    weights: Array  # n x p: W
    parts: Array  # p x d: H, zero in columns of zeros
    objective: float
    fall: float  # of the objective, relative to its size, that another step over one part alone promises at most


@frozen
class NMFComposition(Composition[Model]):
    """X ≈ W H of the least objective; columns of zeros have none of any part."""

    method: NMF
    data: Features
    compute: Compute

    @cached_property
    def used(self) -> AnyArray:
        """Mask of the columns that are not zero (d)."""
        return np.any(self.data.values > 0, axis=0)

    @cached_property
    def points(self) -> Array:
        """The columns that are not zero (n x q)."""
        points, used = self.data.values, self.used
        return points if used.all() else np.ascontiguousarray(points[:, used])

    @cached_property
    def count(self) -> int:
        """The number of parts, p."""
        return self.method.axes.available_count(self.method.axes.count if self.used.any() else 0)

    @cached_property
    def least(self) -> float:
        """The size of the objective that falls are relative to where it is smaller."""
        return NEARLY_EXACT * size_of(self.method.objective, self.points)

    @FitStage
    def first(self) -> Factorization | None:
        """W and H at the start, by singular vectors or random numbers; None where all numbers are zero."""
        method, points, count = self.method, self.points, self.count
        if not self.used.any():
            return None
        if method.start == "random":
            return random_start(points, count, self.compute.generator())
        return start_of_singular_vectors(points, count, ForAxes.of(method.axes.replace(components=count)), self.compute)

    @first.cost
    def _(self) -> list[Step]:
        if self.method.start == "random":
            return []
        shape, threads = self.data.values.shape, self.compute.thread_count()
        products = product_steps(shape, side_of(shape), threads)[-1]
        solving = ForAxes.of(self.method.axes).step(min(shape), threads, products.memory, products.remedy)
        return [products, solving]

    @FitStage
    def found(self) -> Iterated[Factorization] | None:
        """W and H after the last iteration."""
        if self.first is None:
            return None
        step = step_of(self.method.objective, self.points, self.method.sweeps)
        return self.method.iterate(step, self.first, partial(fall_between, least=self.least))

    @found.cost
    def _(self) -> list[Step]:
        frobenius = self.method.objective == "frobenius"
        return [repeated("iterate", "sweeps" if frobenius else "updates", self.step_seconds, self.held, usual=USUAL,
                         most=self.method.iterate.limit)]

    @property
    def step_seconds(self) -> float:
        """The predicted seconds of an iteration."""
        method = self.method
        return step_seconds(self.data.values.shape, method.axes.count, method.objective, method.sweeps,
                            self.compute.thread_count())

    @property
    def held(self) -> float:
        """The predicted bytes of the table, the factors, and the blocks of the threads."""
        rows, columns = self.data.values.shape
        copies = 3 if self.method.objective == "kullback_leibler" else 1
        blocks = min(copies * self.compute.thread_count() * BLOCK, copies * rows * columns)
        return 8.0 * (rows * columns + self.method.axes.count * (3 * rows + 6 * columns) + blocks)

    @FitStage
    def placed(self) -> PlacedParts:
        """The weights of the parts, as of new rows."""
        objective, points, used = self.method.objective, self.points, self.used
        parts = np.zeros((self.count, len(used)))
        if self.found is not None:
            state = self.found.state
            totals = state.weights.sum(axis=1) * state.parts.sum(axis=1)
            parts[:, used] = state.scaled[np.argsort(-totals, kind="stable")]
        with running("coordinates"):
            weights = place_rows(objective, points, parts[:, used])
            order = np.argsort(-weights.sum(axis=0), kind="stable")
            if np.any(np.diff(order) < 0):
                parts = parts[order]
                weights = place_rows(objective, points, parts[:, used])
            value, fall = objective_of(objective, points, weights, parts[:, used]), 0.0
            if self.found is not None and self.found.converged:
                fall = float(falls_of(objective, points, weights, parts[:, used]).max()) / max(value, self.least)
        return PlacedParts(weights, parts, value, fall)

    @placed.cost
    def _(self) -> list[Step]:
        return [Step("coordinates", "the weights of the parts in each row", PLACED * self.step_seconds, self.held)]

    def result(self) -> Model:
        """Return the weights, and the parts by which new rows get theirs."""
        method, found, placed = self.method, self.found, self.placed
        totals, trace, facts = placed.weights.sum(axis=0), np.zeros(0), dict[str, Any]()
        if found is not None:
            converged = found.converged and placed.fall <= LEEWAY * method.iterate.tolerance
            trace, facts = found.trace, {**found.facts, "converged": converged}
            if empty := int(np.sum(totals == 0)):
                note("W-RANK", f"{empty} of {self.count} parts have no weight in any row: fewer suffice")
            if trace.size and len(trace) < method.iterate.limit and not converged:
                note("W-UNCONVERGED", f"stopped after {len(trace)} iterations of little progress, but another one over "
                     "one part alone promises more: choose a smaller method.iterate.tolerance")
        facts["shares"] = (totals / (totals.sum() or 1.0)).tolist()
        if method.objective == "frobenius":
            facts["explained"] = 1 - placed.objective / (size_of(method.objective, self.points) or 1.0)
        projector = Projector(PartWeights(method.objective, placed.parts), uncentered(len(placed.parts)),
                              np.eye(len(placed.parts)), Affine(np.zeros(len(self.used)), placed.parts.T))
        return Model(embedding=placed.weights, projector=projector,
                     fit={"objective": Quantity(placed.objective, method.power), **facts},
                     objective=Quantity(trace, method.power),
                     loadings=Loadings(placed.parts.T, self.data.columns, power=0))
