"""Walks against NumPy and LAPACK, their clusters, and the same bits of all at every instruction set."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mlcli import native
from mlcli.base.types import Array
from mlcli.core.centering import uncentered
from mlcli.core.metrics import RowMetric
from mlcli.core.metrics.angles import Cosine
from mlcli.core.metrics.minkowski import Cityblock
from mlcli.core.similarities.projector import Projector
from mlcli.methods.neighbor_embedding import walk
from mlcli.methods.neighbor_embedding.new_points import DecaySteps
from mlcli.methods.neighbor_embedding.walk import (
    Decay,
    Walk,
    by_lists,
    decay_kernel,
    decay_lists,
    entropies,
    entropy_curve,
    knee,
    leading_functions,
    means,
    memberships,
    potential,
    potential_distances,
    power,
    walk_between,
    walk_clusters,
)
from tests.native.support import choose, levels, needs_native
from tests.support import dissimilarities, distances, features

RANDOM = np.random.default_rng(2)
POINTS = np.vstack([RANDOM.standard_normal((36, 3)), RANDOM.standard_normal((24, 3)) + 100])
KERNEL = decay_kernel(features(POINTS), Decay(5, 40.0, 1e-4))


def test_clusters_are_numbered_in_the_order_of_their_points() -> None:
    labels = walk_clusters(KERNEL, 20, np.random.default_rng(0))
    firsts = np.unique(labels, return_index=True)[1]
    assert np.all(np.diff(firsts) > 0) and 2 < labels.max() + 1 <= 20
    assert np.array_equal(labels, walk_clusters(KERNEL, 20, np.random.default_rng(0)))
    assert not {*labels[:36].tolist()} & {*labels[36:].tolist()}


def walk_of(decay: float, clusters: int | None = None) -> Walk:
    """Few entries for a large decay, most of all pairs for a small one."""
    kernel = decay_kernel(features(POINTS), Decay(5, decay, 1e-4))
    return walk_between(kernel, None if clusters is None else walk_clusters(kernel, clusters, np.random.default_rng(0)))


def steps_of(walk: Walk) -> Array:
    return np.asarray(walk.kernel.toarray() / walk.sums[:, None])


@pytest.mark.parametrize("exponent", [1e-17, 5e-324])
def test_a_kernel_that_hardly_decays_joins_all_points_alike(exponent: float) -> None:
    found = decay_kernel(features(POINTS), Decay(5, exponent, 1e-4)).toarray()
    apart = ~np.eye(len(POINTS), dtype=bool)
    assert np.abs(found[apart] - np.exp(-1.0)).max() < 1e-15 and np.all(found[~apart] <= 1)


def test_leading_functions_span_those_of_the_whole_walk() -> None:
    """Of fewer points than functions, all: distances are then those of the rows of P."""
    found, sums = leading_functions(KERNEL, np.random.default_rng(1)), KERNEL.sum(axis=1)
    whole = KERNEL.toarray() / sums[:, None]
    assert np.allclose(found @ found.T, whole @ whole.T, atol=1e-10)


def test_means_and_memberships_of_labels() -> None:
    labels = np.array([0, 2, 0, 2, 1])
    values = np.arange(10.0).reshape(5, 2)
    assert memberships(labels, 3).toarray().tolist() == [[1, 0, 1, 0, 0], [0, 0, 0, 0, 1], [0, 1, 0, 1, 0]]
    assert means(values, labels).tolist() == [[2, 3], [8, 9], [4, 5]]

@pytest.mark.parametrize(("decay", "clusters"), [(40.0, None), (2.0, None), (40.0, 30)])
def test_powers_of_a_walk_are_those_of_numpy(decay: float, clusters: int | None) -> None:
    """Each probability to its own size, also where it is small."""
    walk = walk_of(decay, clusters)
    steps = steps_of(walk)
    assert_allclose(steps.sum(axis=1), 1, rtol=1e-14)
    for time in (1, 2, 3, 4, 22, 39, 1024):
        assert_allclose(power(walk, time), np.linalg.matrix_power(steps, time), rtol=1e-11)


@pytest.mark.parametrize("gamma", [1.0, 0.3, 0.0, -1.0])
def test_potentials_and_their_distances_are_those_of_the_formula(gamma: float) -> None:
    walk = walk_of(40.0)
    ends, exponent = np.linalg.matrix_power(steps_of(walk), 9), (1 - gamma) / 2
    expected = -np.log(ends + 1e-7) if gamma == 1 else ends**exponent / exponent
    assert_allclose(potential(ends, gamma), expected, rtol=1e-12)
    found = potential_distances(walk, 9, gamma)
    assert np.array_equal(found, found.T)
    assert_allclose(found, distances(expected), atol=1e-11 * found.max())


@pytest.mark.parametrize("decay", [40.0, 2.0])
def test_entropies_are_those_of_the_singular_values_of_lapack(decay: float) -> None:
    walk = walk_of(decay)
    values = np.linalg.svd(steps_of(walk), compute_uv=False)
    shares = [values**place / np.sum(values**place) for place in range(1, 101)]
    expected = [-np.sum(some * np.log(some, out=np.zeros_like(some), where=some > 0)) for some in shares]
    assert_allclose(entropies(values), expected, atol=1e-12)
    assert_allclose(entropy_curve(walk), expected, atol=1e-6)


def test_a_knee_does_not_follow_rounding() -> None:
    """Nor where the entropy stays, as of groups that no walk leaves, and every place is as good as any other."""
    curve = entropy_curve(walk_of(40.0))
    for seed in range(5):
        noise = np.random.default_rng(seed).uniform(-1e-13, 1e-13, len(curve))
        assert knee(curve + noise) == knee(curve)
        assert knee(np.log(7) + noise) == 1


def test_affinities_are_those_of_the_formula() -> None:
    lengths = distances(POINTS)
    for decay in (Decay(5, 40.0, 1e-4), Decay(3, 1.5, 1e-3)):
        ratios = lengths / np.sort(lengths, axis=1)[:, [decay.nearest]]
        expected = np.exp(-(ratios**decay.exponent))
        expected[expected < decay.threshold] = 0
        assert_allclose(decay.affinities(lengths, 1), expected, rtol=1e-12)


def arrays_of(columns: int) -> Iterator[Array]:
    """Every array of a fit up to the lengths of a layout, and new points."""
    points = np.random.default_rng(5).standard_normal((140, columns))
    kernel = decay_kernel(features(points), Decay(5, 10.0, 1e-4))
    clusters = walk_clusters(kernel, 40, np.random.default_rng(0))
    yield kernel.data
    yield clusters
    for labels in (None, clusters):
        walk = walk_between(kernel, labels)
        yield potential_distances(walk, 11, 1.0)
        yield potential_distances(walk, 4, 0.5)
        nodes = len(walk.sums)
        places = np.random.default_rng(1).random((nodes, 2))
        similarity = DecaySteps(Decay(5, 10.0, 1e-4), points, labels, nodes)
        yield Projector(similarity, uncentered(nodes), places).project(points[:20] + 0.1)


@needs_native
@pytest.mark.medium
@pytest.mark.parametrize("columns", [3, 40])
def test_every_instruction_set_and_none_have_the_same_bits(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    usual, found = native.describe(), []
    try:
        for level in levels():
            choose(level)
            found.append([some.tobytes() for some in arrays_of(columns)])
    finally:
        choose(usual)
    monkeypatch.setattr(native, "available", lambda: False)
    found.append([some.tobytes() for some in arrays_of(columns)])
    assert all(some == found[0] for some in found[1:])


CROWD = np.vstack([POINTS, np.tile(POINTS[:1], (40, 1)), POINTS[:9] * 1.001, np.full((1, 3), 1e4)])


@pytest.mark.parametrize("metric", [None, Cosine(), Cityblock()])
@pytest.mark.parametrize("decay", [Decay(5, 40.0, 1e-4), Decay(2, 3.0, 1e-2), Decay(3, 0.2, 1e-4)])
def test_lists_of_neighbors_give_the_affinities_of_all_pairs(metric: RowMetric | None, decay: Decay,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of more equal points than neighbors are searched for at first, and where most points have affinities."""
    data = replace(features(CROWD), metric=metric)
    pairs = decay_kernel(data, decay).toarray()
    monkeypatch.setattr(walk, "ALL_PAIRS", 10)
    assert_allclose(decay_kernel(data, decay).toarray(), pairs, rtol=1e-10, atol=1e-15)


def test_lists_are_no_longer_than_they_must_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "ALL_PAIRS", 10)
    decay = Decay(3, 20.0, 1e-3)
    lists = decay_lists(features(POINTS), decay)
    assert by_lists(features(POINTS)) and not by_lists(dissimilarities(distances(POINTS)))
    assert lists.counts.min() >= decay.nearest
    reach = lists.lengths[lists.starts[:-1] + decay.nearest - 1] * (-np.log(decay.threshold)) ** (1 / decay.exponent)
    assert np.all(lists.lengths <= reach[lists.rows] * (1 + 1e-12))
    every = np.linalg.norm(POINTS[:, None] - POINTS, axis=2)
    assert lists.counts.tolist() == (np.sum(every <= reach[:, None], axis=1) - 1).tolist()
