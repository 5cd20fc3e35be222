"""Random projections: the laws of their entries, frames that keep distances, and the bound of distortion."""

from itertools import pairwise

import numpy as np
import pytest

from mlcli.methods.parts.random_projection import distortion_bound, distortions, random_directions
from tests.support import distances, fit

POINTS = np.random.default_rng(2).standard_normal((40, 200))


@pytest.mark.parametrize("kind", ["gaussian", "sparse", "orthogonal"])
def test_squared_lengths_are_kept_on_average(kind: str) -> None:
    row = POINTS[0]
    lengths = [np.sum((row @ random_directions(kind, 200, 20, 0.1, np.random.default_rng(seed))) ** 2)
               for seed in range(300)]
    assert np.mean(lengths) == pytest.approx(np.sum(row**2), rel=0.06)


def test_a_frame_of_all_columns_is_a_rotation() -> None:
    points = POINTS[:, :6]
    model = fit("random", points, kind="orthogonal", components=6)
    assert np.allclose(distances(model.embedding), distances(points), rtol=1e-12)
    assert model.fit["distortion"]["largest"] == pytest.approx(1, abs=1e-12)


def test_sparse_entries_have_their_density_and_one_size() -> None:
    entries = random_directions("sparse", 3000, 40, 1 / 3, np.random.default_rng(1))
    assert np.mean(entries != 0) == pytest.approx(1 / 3, abs=0.01)
    assert np.allclose(np.abs(entries[entries != 0]), np.sqrt(3 / 40), rtol=1e-15)
    assert np.mean(entries > 0) == pytest.approx(1 / 6, abs=0.01)


def test_the_bound_is_the_root_of_its_equation_and_falls_with_axes() -> None:
    found = [distortion_bound(1000, count) for count in (166, 1000, 5000)]
    assert found[0] < 1 and all(after < before for before, after in pairwise(found))
    for epsilon, count in zip(found, (166, 1000, 5000), strict=True):
        assert 4 * np.log(1000) / (epsilon**2 / 2 - epsilon**3 / 3) == pytest.approx(count, rel=1e-12)
    assert np.isnan(distortion_bound(1000, 165))


@pytest.mark.parametrize("kind", ["gaussian", "sparse", "orthogonal"])
def test_distances_are_kept_within_the_bound(kind: str) -> None:
    model = fit("random", POINTS[:20], kind=kind, components=19)
    assert model.fit["bound"] is None
    directions = random_directions(kind, 200, 190, 0.1, np.random.default_rng(0))
    ratios = distortions(POINTS, POINTS @ directions)
    assert np.abs(ratios - 1).max() <= distortion_bound(len(POINTS), 190)
