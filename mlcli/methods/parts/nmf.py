"""Non-negative matrix factorization."""

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar, Literal, cast

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note, running
from mlcli.base.stages.steps import Step, repeated
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.check import Check
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Input
from mlcli.base.values.options import option
from mlcli.base.values.quantity import Quantity
from mlcli.certify.subject import Subject
from mlcli.core.eigen.eigensolve import ForAxes
from mlcli.core.eigen.options import Axes
from mlcli.core.kernels.factor_solver import product_steps
from mlcli.core.model import Loadings, Model, Powers
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
from mlcli.methods.parts.weights import place_rows, require_nonnegative, weights_projector
from mlcli.methods.trials import variant

Start = Literal["nndsvda", "random"]
USUAL = 200  # iterations of most fits
LEEWAY = 5.0  # falls that the next step may promise, over the tolerance of those to come
PLACED = 20  # iterations that take as long as the exact weights


@frozen
class OrderedParts:
    """Parts of sum one, in descending order of the totals of their weights, and how they were found."""

    weights: Array  # n x p: W
    parts: Array  # p x d: H
    objective: float
    trace: Array  # the objective after each iteration
    facts: dict[str, Any]  # each part's share of all weights; of squares, the share that is explained; the iterations


@frozen
class Factorizing:
    """How a table is factorized."""

    objective: Objective
    start: Start
    sweeps: int
    iterate: Refinement
    axes: Axes

    def __call__(self, points: Array, compute: Compute) -> OrderedParts:
        """Return the factorization of points (n x d) of zero or more; columns of zeros have none of any part."""
        used = np.any(points > 0, axis=0)
        some = points if used.all() else np.ascontiguousarray(points[:, used])
        count = self.axes.available_count(self.axes.count if used.any() else 0)
        least = NEARLY_EXACT * size_of(self.objective, some)
        parts, trace, facts = np.zeros((count, points.shape[1])), np.zeros(0), dict[str, Any]()
        if used.any():
            done = self.iterate(step_of(self.objective, some, self.sweeps), self._begin(some, count, compute),
                                partial(fall_between, least=least))
            scaled = done.state.scaled
            totals = done.state.weights.sum(axis=1) * done.state.parts.sum(axis=1)
            parts[:, used] = scaled[np.argsort(-totals, kind="stable")]
            trace, facts = done.trace, done.facts
        with running("coordinates"):
            weights, parts = self._place(some, parts, used)
            value, totals = objective_of(self.objective, some, weights, parts[:, used]), weights.sum(axis=0)
            if facts.get("converged"):
                left = float(falls_of(self.objective, some, weights, parts[:, used]).max()) / max(value, least)
                facts["converged"] = left <= LEEWAY * self.iterate.tolerance
        if used.any() and (empty := int(np.sum(totals == 0))):
            note("W-RANK", f"{empty} of {count} parts have no weight in any row: fewer suffice")
        if trace.size and facts["iterations"] < self.iterate.limit and not facts["converged"]:
            note("W-UNCONVERGED", f"stopped after {len(trace)} iterations of little progress, but another one over one "
                 "part alone promises more: choose a smaller method.iterate.tolerance")
        facts["shares"] = (totals / (totals.sum() or 1.0)).tolist()
        if self.objective == "frobenius":
            facts["explained"] = 1 - value / (size_of(self.objective, some) or 1.0)
        return OrderedParts(weights, parts, value, trace, facts)

    def _place(self, points: Array, parts: Array, used: AnyArray) -> tuple[Array, Array]:
        """Return weights (n x p) of points in used columns (n x q), as of new rows, and parts (p x d) in order."""
        weights = place_rows(self.objective, points, parts[:, used])
        order = np.argsort(-weights.sum(axis=0), kind="stable")
        if np.all(np.diff(order) > 0):
            return weights, parts
        parts = parts[order]
        return place_rows(self.objective, points, parts[:, used]), parts

    def _begin(self, points: Array, count: int, compute: Compute) -> Factorization:
        if self.start == "random":
            return random_start(points, count, compute.generator())
        return start_of_singular_vectors(points, count, ForAxes.of(self.axes.replace(components=count)), compute)

    def steps(self, shape: tuple[int, ...], threads: int) -> list[Step]:
        """Return the steps of singular vectors, of the iteration and of the weights, for points of a shape (n x d)."""
        count, size, start = self.axes.count, shape[0] * shape[1], list[Step]()
        if self.start == "nndsvda":
            products = product_steps(shape, side_of(shape), threads)[-1]
            start = [products, ForAxes.of(self.axes).step(min(shape), threads, products.memory, products.remedy)]
        each = step_seconds(shape, count, self.objective, self.sweeps, threads)
        copies = 3 if self.objective == "kullback_leibler" else 1
        held = 8.0 * (size + count * (3 * shape[0] + 6 * shape[1]) + min(copies * threads * BLOCK, copies * size))
        how = "sweeps" if self.objective == "frobenius" else "updates"
        return [*start, repeated("iterate", how, each, held, usual=USUAL, most=self.iterate.limit),
                Step("coordinates", "the weights of the parts in each row", PLACED * each, held)]


class NMF(Method):
    """Parts without negative numbers, whose sums with weights of zero or more are nearest to the rows.

    X ≈ W H with W, H ≥ 0. Coordinates are W, the weights of the parts in a row; `loadings.csv` holds the parts, the
    rows of H. Each part sums to one, so a weight is the amount of its part in the row, in the data's unit, and the
    weights of a row add up to the total of its reconstruction. Parts are in descending order of the total of their
    weights (as shares in `fit.shares`), and there is no spectrum. frobenius minimizes ‖X - W H‖² / 2 by coordinate
    descent over one column of W or row of H at a time (HALS); kullback_leibler minimizes Σ x ln(x / (W H)) - x + W H,
    as for counts, by multiplicative updates. The start is NNDSVDa, made of singular vectors, or random numbers that
    follow `compute.seed`. After the last iteration, and for new rows, weights are the exact minimum for the given
    parts: non-negative least squares, or the least divergence.

    Negative cells are refused. Rows and columns of zeros are allowed, and have weights and parts of zero. Cells of new
    rows in columns that are zero in every part do not count for kullback_leibler.

    The objective has many minima, and another start may give other parts: it fails if they are then not alike. Ask for
    fewer parts, or compare `fit.objective` of some seeds. Source: Lee and Seung, 1999 and 2001; Cichocki and Phan,
    "Fast local algorithms for large scale nonnegative matrix and tensor factorizations", 2009; Boutsidis and
    Gallopoulos, 2008 (start); Gillis and Glineur, 2012 (repeated sweeps).
    """

    accepts: ClassVar = (Features,)
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
    axes: Axes = Axes()

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
    def factorize(self) -> Factorizing:
        """The stages of the fit."""
        return Factorizing(self.objective, self.start, self.sweeps, self.iterate, self.axes)

    @property
    def power(self) -> int:
        """The power of the data's unit in the objective."""
        return 2 if self.objective == "frobenius" else 1

    def steps(self, data: Features, compute: Compute, share: float | None) -> list[Step]:
        """Return the steps of the singular vectors of the start, of the iteration, and of the weights at its end."""
        return self.factorize.steps(data.values.shape, compute.thread_count())

    def solve(self, data: Features, compute: Compute) -> Model:
        """Minimize the objective from the start, and compute the weights for the parts that were found."""
        found = self.factorize(data.values, compute)
        return Model(embedding=found.weights, projector=weights_projector(self.objective, found.parts),
                     fit={"objective": Quantity(found.objective, self.power), **found.facts},
                     objective=Quantity(found.trace, self.power),
                     loadings=Loadings(found.parts.T, data.columns, power=0))

    def checks(self, subject: Subject) -> Iterator[Check]:
        """Check signs, sums and order of the parts, the objective, and that neither factor can be improved."""
        yield from super().checks(subject)
        data, model = subject.data, subject.model
        yield from factorization_checks(data.values, model.embedding, model.directions, self.objective,
                                        self.iterate.tolerance, model.fit, data.unit**self.power)
