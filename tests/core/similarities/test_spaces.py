"""Spaces: distances between some points are the roots of the rows from them, in one unit."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mlcli import native
from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import Dissimilarities, Features, Similarities
from mlcli.base.values.sample_size import anchors_in_group
from mlcli.base.values.scaling import Unit
from mlcli.core.kernels.functions import LaplacianKernel, Polynomial
from mlcli.core.metrics.minkowski import Cityblock
from mlcli.core.paths import geodesics
from mlcli.core.paths.geodesics import is_renumbered
from mlcli.core.similarities.kernels import KernelValues
from mlcli.core.similarities.of_distances import KernelSpace
from mlcli.core.similarities.spaces import GeodesicSpace, Space, input_space
from tests import support

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


def test_squares_of_paths_are_the_same_by_groups_of_renumbered_vertices_and_one_by_one(
        monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(3).standard_normal((400, 3))
    graph = support.fit("isomap", points, neighbors=7).required_projector.similarity.graph
    space, anchors = GeodesicSpace(graph, Unit(), None, Compute()), np.arange(5, 400, 33)
    alone = [space.rows_of(anchors[place : place + 1])(slice(0, 1))[0] for place in range(len(anchors))]
    monkeypatch.setattr(geodesics, "SCATTERED", 1)
    assert not native.available() or is_renumbered(graph)
    together = space.rows_of(anchors)
    np.testing.assert_array_equal(np.vstack([together(slice(0, 5)), together(slice(5, len(anchors)))]), alone)


@pytest.mark.parametrize("size", [1, 2000, 2**21, 10**7, 10**9])
def test_a_group_has_anchors_for_all_threads(size: int) -> None:
    assert anchors_in_group(size) >= 8
    assert anchors_in_group(size) * size <= max(2**24, 8 * size)
