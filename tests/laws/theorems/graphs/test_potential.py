"""Facts about phate: what potential distances do not depend on, where walks end, and the knee of two lines."""

from typing import Any

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.base.values.compute import Compute
from mlcli.base.values.inputs import AffinityGraph
from mlcli.errors import ConfigError
from mlcli.methods import METHODS
from mlcli.methods.neighbor_embedding.walk import (
    Decay,
    Walk,
    decay_kernel,
    entropy_curve,
    graph_kernel,
    knee,
    potential,
    potential_distances,
    power,
    walk_between,
)
from tests.support import Notes, distances, features, fit
from tests.wording import Wording

RANDOM = np.random.default_rng(8)
POINTS = RANDOM.standard_normal((90, 4)) * [3, 2, 1, 0.5]
DECAY = Decay(5, 40.0, 1e-4)


def walk_of(points: Array) -> Walk:
    return walk_between(decay_kernel(features(points), DECAY), None)


def potentials(points: Array, time: int = 9, gamma: float = 1.0) -> Array:
    return potential_distances(walk_of(points), time, gamma)


@pytest.mark.parametrize("gamma", [1.0, 0.0, -0.5])
def test_potential_distances_follow_their_points_and_have_no_unit(gamma: float) -> None:
    order, expected = RANDOM.permutation(90), potentials(POINTS, gamma=gamma)
    near = 1e-10 * expected.max()
    assert np.abs(potentials(POINTS[order], gamma=gamma) - expected[np.ix_(order, order)]).max() < near
    assert np.abs(potentials(POINTS * 37.0 + 5.0, gamma=gamma) - expected).max() < 1e-6 * expected.max()


def test_after_many_steps_all_walks_end_alike() -> None:
    """The walk of one piece forgets where it began: the distances fall, and vanish."""
    sizes = [potentials(POINTS, time).max() for time in (1, 10, 100, 1000)]
    assert sizes == sorted(sizes, reverse=True)
    assert potentials(POINTS, 100_000).max() == 0.0
    with Notes() as notes:
        model = fit("phate", POINTS, time=100_000)
    assert not model.embedding.any() and "W-RANK" in notes.codes


def test_potentials_between_the_logarithm_and_the_square_root() -> None:
    """p^c / c without its constant tends to log p as c falls; at γ = 0 distances are twice those of the roots."""
    ends = power(walk_of(POINTS), 60)
    assert ends.min() > 1e-5
    logs, nearly = (distances(potential(ends, gamma)) for gamma in (1.0, 0.9998))
    assert np.abs(logs - nearly).max() < 0.01 * logs.max()
    assert np.allclose(potentials(POINTS, 60, 0.0), 2 * distances(np.sqrt(ends)), atol=1e-9)
    assert np.allclose(potentials(POINTS, 60, -1.0), distances(ends), atol=1e-12)


def test_equal_points_are_at_potential_distance_zero() -> None:
    twice = np.vstack([POINTS, POINTS[:6]])
    found = potentials(twice)
    assert found[np.arange(6), np.arange(90, 96)].max() < 1e-6 * found.max()
    model = fit("phate", twice)
    assert np.abs(model.embedding[:6] - model.embedding[90:]).max() < 1e-6 * np.abs(model.embedding).max()


def test_the_entropy_of_a_walk_on_a_ring_is_that_of_its_eigenvalues() -> None:
    """All points of a ring are alike, so the walk is symmetric, with the Fourier transform of a row as eigenvalues."""
    angles = 2 * np.pi * np.arange(40) / 40
    walk = walk_of(np.column_stack([np.cos(angles), np.sin(angles)]))
    values = np.abs(np.fft.fft(walk.kernel.toarray()[0] / walk.sums[0]))
    for place in (0, 1, 30, 99):
        shares = values ** (place + 1) / np.sum(values ** (place + 1))
        shares = shares[shares > 0]
        assert entropy_curve(walk)[place] == pytest.approx(-shares @ np.log(shares), abs=1e-6)


@pytest.mark.parametrize("corner", [3, 20, 50, 90])
def test_the_knee_of_two_lines_is_their_corner(corner: int) -> None:
    places = np.arange(100.0)
    found = knee(np.where(places <= corner, -3 * places, -3 * corner - 0.1 * (places - corner)))
    assert found == corner or (corner < 10 and found == corner + 1)  # as in the program of the authors


def test_new_points_lie_within_their_neighbors() -> None:
    model = fit("phate", POINTS)
    projector: Any = model.projector
    rows = projector.similarity.rows(projector.input_unit.measured(POINTS))
    assert np.allclose(rows.sum(axis=1), 1, atol=1e-14)
    again = model.project(POINTS)
    assert np.sqrt(np.mean((again - model.embedding) ** 2)) < 0.2 * model.embedding.std()
    for row, place in zip(rows, again, strict=True):
        members = model.embedding[row > 0]
        assert np.all(place >= members.min(axis=0) - 1e-9) and np.all(place <= members.max(axis=0) + 1e-9)


def test_a_graph_of_the_affinities_has_the_layout_of_the_points(wording: Wording) -> None:
    """Points have the affinity one with themselves, which is the largest of all."""
    kernel = decay_kernel(features(POINTS), DECAY)
    whole = kernel.toarray()
    np.fill_diagonal(whole, 0.0)
    left, right = np.nonzero(whole)
    starts = np.concatenate([[0], np.cumsum(np.bincount(left, minlength=90))])
    graph = AffinityGraph(np.zeros((90, 0)), [str(number) for number in range(90)], starts=starts, indices=right,
                          weights=whole[left, right] / whole.max())
    own = graph_kernel(graph).toarray()
    assert np.allclose(own * whole.max(), np.where(np.eye(90) > 0, whole.max(), whole))
    model: Any = fit("phate", graph, landmarks=30)
    assert model.embedding.shape == (90, 2)
    with wording.raises(ConfigError, "UNUSED"):
        fit("phate", graph, nearest=4)


def test_pieces_and_few_points_are_told() -> None:
    apart = np.vstack([POINTS[:20], POINTS[20:40] + 1e3])
    with Notes() as notes:
        model = fit("phate", apart)
        few = fit("phate", POINTS[:4])
    assert {"W-WALK-PIECES", "N-NEAREST"} <= notes.codes
    assert np.isfinite(model.embedding).all() and np.isfinite(few.embedding).all()


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"landmarks": 1050}])
def test_threads_change_no_byte(options: dict[str, Any]) -> None:
    """Of several blocks of rows in every stage."""
    data = features(RANDOM.standard_normal((1100, 5)))
    one, two = (METHODS["phate"](iterate={"limit": 3}, **options).resolve(data).fit(data, Compute(threads=count))
                for count in (1, 2))
    assert np.array_equal(one.embedding, two.embedding)
    assert np.array_equal(one.entropy, two.entropy)  # type: ignore[arg-type]
