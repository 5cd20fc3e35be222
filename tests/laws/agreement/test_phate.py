"""Potential distances, entropies, the time and the stress of phate against the program of its authors."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mlcli.base.values.inputs import Spatial
from mlcli.methods.neighbor_embedding.walk import (
    Decay,
    Walk,
    decay_kernel,
    entropy_curve,
    potential_distances,
    walk_between,
    walk_clusters,
)
from tests import support
from tests.laws.agreement.tables import facts, read

EXPECTED = facts("phate/summary.json")
EVERY = {"iris": 15, "swissroll": 24, "eurodist": 5}  # rows of the tables
DATA: dict[str, Spatial] = {
    "iris": support.features(read("data/iris4.csv")),
    "swissroll": support.features(read("data/swissroll1000.csv", names=False, header=False)[:240]),
    "eurodist": support.dissimilarities(read("pcoa/eurodist/D.csv"))}
every_set = pytest.mark.parametrize("name", DATA)


def walk_of(name: str) -> Walk:
    return walk_between(decay_kernel(DATA[name], Decay(5, 40.0, 1e-4)), None)


@every_set
def test_potential_distances_and_entropies_are_those_of_phate(name: str) -> None:
    walk, time = walk_of(name), EXPECTED[name]["time"]
    assert np.allclose(entropy_curve(walk), read(f"phate/{name}/entropy.csv", names=False)[:, 0], rtol=0, atol=1e-7)
    for gamma, file in ((1.0, "potential_log"), (0.0, "potential_sqrt")):
        expected = read(f"phate/{name}/{file}.csv", names=False)
        found = potential_distances(walk, time, gamma)[:: EVERY[name]]
        assert np.abs(found - expected).max() <= 1e-10 * max(expected.max(), 1.0)


@every_set
def test_the_time_is_that_of_phate_and_the_stress_no_higher(name: str) -> None:
    model = support.fit("phate", DATA[name])
    assert model.fit["time"] == EXPECTED[name]["time"]
    assert model.fit["stress"] <= min(EXPECTED[name]["sgd"], EXPECTED[name]["smacof"]) + 1e-6


def test_walks_between_clusters_and_new_points_follow_the_formulas_of_phate() -> None:
    """Its landmark operator and its transitions, written out for arrays that are not sparse."""
    points = np.asarray(DATA["iris"].values)
    kernel = decay_kernel(DATA["iris"], Decay(5, 40.0, 1e-4))
    clusters = walk_clusters(kernel, 40, np.random.default_rng(0))
    joint = np.array([kernel.toarray()[clusters == number].sum(axis=0) for number in range(clusters.max() + 1)])
    there, back = joint / joint.sum(axis=1, keepdims=True), joint.T / joint.T.sum(axis=1, keepdims=True)
    walk = walk_between(kernel, clusters)
    assert walk.entries is not None
    assert np.allclose(walk.entries.toarray(), back, atol=1e-14)
    assert np.allclose(walk.kernel.toarray() / walk.sums[:, None], there @ back, atol=1e-14)
    new = points[::7] + 0.05
    lengths = cdist(new, points)
    weights = np.exp(-(lengths / np.sort(lengths, axis=1)[:, [4]]) ** 40)
    weights[weights < 1e-4] = 0
    model = support.fit("phate", DATA["iris"])
    assert np.allclose(model.project(new), weights / weights.sum(axis=1, keepdims=True) @ model.embedding, atol=1e-9)
