"""Starts of a minimization over coordinates: principal components, Isomap, or random points."""

from collections.abc import Iterator
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from mlcli.base.machine.rates import product_rate
from mlcli.base.stages.stage import stage
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array
from mlcli.base.values.check import EPS
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features
from mlcli.base.values.options import Options, option
from mlcli.core.chain.compose import compose
from mlcli.core.chain.stages import NeighborGraph, Stages
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.graph.neighbors import Neighbors
from mlcli.core.linalg import singular
from mlcli.core.paths.paths import Paths


class Principal(Options):
    """Principal components."""

    name: Literal["pca"] = "pca"

    def steps(self, data: Features, compute: Compute, axes: int) -> list[Step]:
        """Return the step of the singular vectors of the centered points."""
        rows, columns = data.values.shape
        work = 6.0 * rows * columns * min(rows, columns) / product_rate(compute.thread_count())
        return [Step("eigensolve", "principal components as a start", work, 24.0 * rows * columns)]

    def points(self, data: Features, compute: Compute, axes: int) -> Iterator[Array]:
        """Yield the scores (n x r), of at most `axes` components."""
        yield principal_scores(data.values)[:, :axes]


class Geodesic(Options):
    """Isomap."""

    name: Literal["isomap"] = "isomap"
    neighbors: int = option(10, "Neighbors of each point; a graph in pieces is connected.", ge=1)

    def chain(self, rows: int, axes: int) -> Stages:
        """Return the chain of Isomap for `rows` points."""
        neighbors = Neighbors(count=min(self.neighbors, rows - 1), pieces="connect")
        return Stages(graph=NeighborGraph(neighbors=neighbors), paths=Paths(),
                      eigensolve=Eigensolve().replace(components=axes))

    def steps(self, data: Features, compute: Compute, axes: int) -> list[Step]:
        """Return the steps of Isomap."""
        if len(data.values) < 2:
            return []
        return compose(self.chain(len(data.values), axes), data, compute).steps()

    def points(self, data: Features, compute: Compute, axes: int) -> Iterator[Array]:
        """Yield the coordinates of Isomap (n x r)."""
        yield compose(self.chain(len(data.values), axes), data, compute).fit().embedding


class Random(Options):
    """Standard normal points."""

    name: Literal["random"] = "random"
    restarts: int = option(3, "Number of random starts; the best result is kept.", ge=1)

    def steps(self, data: Features, compute: Compute, axes: int) -> list[Step]:
        """Return no steps: drawing points takes no time worth listing."""
        return []

    def points(self, data: Features, compute: Compute, axes: int) -> Iterator[Array]:
        """Yield `restarts` starts of standard normal points (n x axes), drawn with the run's seed."""
        generator = compute.generator()
        for _ in range(self.restarts):
            yield generator.standard_normal((len(data.values), axes))


Start = Annotated[Principal | Geodesic | Random, Field(discriminator="name")]


@stage("eigensolve")
def principal_scores(points: Array) -> Array:
    """Return the principal component scores (n x r) of points (n x d) whose singular values are above rounding."""
    left, sizes, _ = singular(points - points.mean(axis=0))
    there = sizes > 10 * max(points.shape) * EPS * float(np.abs(points).max(initial=0.0))
    return left[:, there] * sizes[there]


def standardize(points: Array) -> Array:
    """Return coordinates (n x r) with mean zero and variance one; an axis without extent stays zero."""
    centered = points - points.mean(axis=0)
    deviations = centered.std(axis=0)
    return np.asarray(centered / np.where(deviations > 0, deviations, 1.0))
