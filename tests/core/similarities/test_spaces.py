"""Spaces: distances between some points are the roots of the rows from them, in one unit."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Dissimilarities, Features, Similarities
from mlcli.base.values.scaling import Unit
from mlcli.core.kernels.functions import LaplacianKernel, Polynomial
from mlcli.core.metrics.minkowski import Cityblock
from mlcli.core.similarities.kernels import KernelValues
from mlcli.core.similarities.of_distances import KernelSpace
from mlcli.core.similarities.spaces import Space, input_space

POINTS = np.random.default_rng(0).uniform(-1, 1, (9, 3))
IDS = [str(number) for number in range(len(POINTS))]
EVERY = np.arange(len(POINTS))
PLAIN = Unit(), Unit()


def of_polynomial(points: Array) -> Space:
    return KernelValues(points, Polynomial(degree=2, gamma=1.0), np.zeros(3)).space(None, PLAIN, Compute())


SPACES: dict[str, Callable[[Array], Space]] = {
    "euclidean": lambda points: input_space(Features(points, IDS), EVERY),
    "cityblock": lambda points: input_space(Features(points, IDS, metric=Cityblock()), EVERY),
    "dissimilarities": lambda points: input_space(Dissimilarities(cdist(points, points), IDS), EVERY),
    "similarities": lambda points: input_space(Similarities(points @ points.T, IDS), EVERY),
    "polynomial": of_polynomial,
    "kernel of distances": lambda points: KernelSpace(
        input_space(Features(points, IDS), EVERY), LaplacianKernel(rate=0.5), PLAIN)}


@pytest.mark.parametrize("size", [1.0, 1000.0, 2.0**140, 2.0**-140])
@pytest.mark.parametrize("name", SPACES)
def test_distances_between_points_are_the_roots_of_rows(name: str, size: float) -> None:
    space = SPACES[name](size * POINTS)
    sources, targets = np.array([1, 4, 7]), np.array([0, 4, 2, 8])
    rows = space.rows_of(EVERY)(slice(None))[np.ix_(sources, targets)]
    np.testing.assert_allclose(space.between(sources, targets), np.sqrt(rows), rtol=1e-9, atol=1e-12)
