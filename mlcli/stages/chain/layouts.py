"""First coordinates of a layout: classical scaling, and random ones."""

from collections.abc import Iterator

import numpy as np

from mlcli.base.stages.stage import mute_notes
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Dissimilarities
from mlcli.stages.algebra.distances import squared_distances
from mlcli.stages.chain.kernels.pairs import GowerKernel
from mlcli.stages.chain.stages import Stages
from mlcli.stages.eigen.eigensolve import Eigensolve
from mlcli.stages.layout.pairs import Pairs

EXACT = 1e-7  # error of distances, relative to the largest, that is rounding: a root of that of squares
SMALL = 1e-2  # size of random coordinates on axes that classical scaling lacks, relative to its own


def classical_chain(axes: int) -> Stages:
    """Return the chain of classical scaling on so many axes, or on fewer where it has fewer."""
    return Stages(kernel=GowerKernel(), centering="double",
                  eigensolve=Eigensolve.model_construct(set(), components=axes))  # as a default, which is clipped


def classical_start(pairs: Pairs, axes: int, compute: Compute) -> Array:
    """Return classical scaling (u x p) on as many axes as it has, up to `axes`."""
    with mute_notes():
        data = Dissimilarities(pairs.lengths, [str(number) for number in range(len(pairs))])
        chain = classical_chain(min(axes, len(pairs) - 1))
        return np.asarray(chain.compose(data, compute, lambda steps, rows: None).fit().embedding)


def reproduces(pairs: Pairs, points: Array) -> bool:
    """Tell whether coordinates (u x p) have the dissimilarities as distances: more axes would add nothing."""
    errors = np.sqrt(squared_distances(points, points)) - pairs.lengths
    return bool(np.abs(errors).max() <= EXACT * pairs.lengths.max())


def layout_starts(pairs: Pairs, first: Array, axes: int, count: int, compute: Compute) -> Iterator[Array]:
    """Yield `count` starts (u x axes): classical scaling first, then normal points of the dissimilarities' size.

    Axes that classical scaling lacks get small random coordinates, as no step leaves a plane that holds all points.
    """
    generator = compute.generator()
    scale = float(np.sqrt(2 * pairs.size / max(pairs.counts.sum() ** 2, 1)))
    more = generator.standard_normal((len(pairs), axes - first.shape[1])) * SMALL * scale
    yield np.column_stack([first, more])
    for _ in range(count - 1):
        yield generator.standard_normal((len(pairs), axes)) * scale
