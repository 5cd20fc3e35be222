"""First coordinates of neighbor embeddings: small, so that all points attract and repel each other at first."""

from typing import Literal

import numpy as np

from mlcli.base.machine.rates import rates
from mlcli.base.stages.composition import Composition
from mlcli.base.stages.stage import mute_notes
from mlcli.base.stages.steps import Step
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Features, Spatial
from mlcli.core.chain.compose import compose
from mlcli.core.chain.kernels import Products
from mlcli.core.chain.stages import Stages, limit_of_columns
from mlcli.core.eigen.eigensolve import Eigensolve
from mlcli.core.eigen.options import first_columns
from mlcli.core.graph.graph import Graph
from mlcli.core.layouts.first_coordinates import classical_chain, classical_start, eigenmap_start
from mlcli.core.layouts.pairs import Pairs
from mlcli.core.metrics.distances import metric_of
from mlcli.core.model import Model
from mlcli.methods.neighbor_embedding.perplexity import JointAffinities

Start = Literal["pca", "laplacian", "random"]
SIZE = 1e-4  # standard deviation of the first axis
PRODUCTS, VECTORS = 300, 40  # of eigenmaps: products with a vector, and vectors in memory, for each axis
SMALL = 1e-2  # size of random coordinates on axes that are lacking, relative to the first


def principal_start(data: Spatial, axes: int, compute: Compute) -> Array:
    """Return principal components of features, or classical scaling of dissimilarities (n x p), p up to `axes`.

    Features are those that the metric transforms them to, where Euclidean distances then rank pairs as the metric does.
    """
    with mute_notes():
        if not isinstance(data, Features):
            pairs = Pairs.of(data.values, 0.0, list(data.ids))
            return classical_start(pairs, axes, compute)[pairs.places]
        return np.asarray(principal_chain(data, axes, compute).fit().embedding)


def principal_chain(data: Features, axes: int, compute: Compute) -> Composition[Model]:
    """Return the chain of principal components on so many axes, or on fewer where there are fewer columns."""
    metric = metric_of(data)
    values = data.values if metric.plain or not metric.embeds else metric.represent(data.values)
    count = min(axes, limit_of_columns(values, True))
    chain = Stages(kernel=Products(), centering="columns",
                   eigensolve=Eigensolve.model_construct(set(), components=count))  # as a default, which is clipped
    columns = [str(number) for number in range(values.shape[1])]
    return compose(chain, Features(values, data.ids, columns).normalized(), compute)


def principal_steps(data: Spatial, axes: int, compute: Compute) -> list[Step]:
    """Return the steps of principal components, or of classical scaling."""
    if isinstance(data, Features):
        return principal_chain(data, axes, compute).steps()
    return compose(classical_chain(axes), data, compute).steps()


def random_start(count: int, axes: int, compute: Compute) -> Array:
    """Return independent normal coordinates (n x p) of the seed, by the order of rows."""
    return compute.generator().standard_normal((count, axes))


def small_start(points: Array, axes: int, compute: Compute) -> Array:
    """Return coordinates (n x axes) whose first axis has the standard deviation `SIZE`.

    Axes that are lacking, or zero, get random coordinates, as no step leaves a plane that holds all points.
    """
    points = first_columns(points - points.mean(axis=0), axes)
    points = points / float(points[:, 0].std())
    lacking = np.flatnonzero(~points.any(axis=0))
    points[:, lacking] = random_start(len(points), len(lacking), compute) * SMALL
    return points * SIZE


def eigenmaps(affinities: JointAffinities, axes: int, compute: Compute) -> Array:
    """Return Laplacian eigenmaps of the affinities (n x axes), with pieces of their graph apart."""
    graph = Graph(affinities.starts, affinities.indices.astype(np.int64), affinities.values)
    return eigenmap_start(graph, axes, compute.seed)


def eigenmap_step(entries: float, count: int, axes: int) -> Step:
    """Return the step of Laplacian eigenmaps of so many entries and points."""
    return Step("eigensolve", "eigenmaps of the affinities", PRODUCTS * axes * entries * 12 * rates().moved,
                16.0 * entries + 8.0 * VECTORS * count * axes)
