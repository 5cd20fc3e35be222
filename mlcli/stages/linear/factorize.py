"""A non-negative factorization from the start to the exact weights of its parts, and what it costs."""

from functools import partial
from typing import Any, Literal

import numpy as np

from mlcli.base.frozen import frozen
from mlcli.base.stages.stage import note, running
from mlcli.base.stages.steps import Step, repeated
from mlcli.base.types import AnyArray, Array
from mlcli.base.values.compute import Compute
from mlcli.stages.eigen.axes import Axes
from mlcli.stages.eigen.eigensolve import ForAxes
from mlcli.stages.kernels.sides import product_steps
from mlcli.stages.linear.nonnegative import (
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
from mlcli.stages.linear.nonnegative_rows import place_rows

Start = Literal["nndsvda", "random"]
USUAL = 200  # iterations of most fits
LEEWAY = 5.0  # falls that the next step may promise, over the tolerance of those to come
PLACED = 20  # iterations that take as long as the exact weights


@frozen
class Factored:
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

    def __call__(self, points: Array, compute: Compute) -> Factored:
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
        return Factored(weights, parts, value, trace, facts)

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
