"""Points added to a layout: their graph, the gradient of their divergence, and the kernels' bits."""

import numpy as np
import pytest

from mlcli import native
from mlcli.methods.neighbor_embedding.added_points import (
    AddedDivergence,
    AddedNeighbors,
    AddedRows,
    add_by_edges,
    first_places,
    follow_added,
    room_for,
)
from mlcli.methods.neighbor_embedding.negative_sampling import Sampling, fit_curve
from tests.native.support import needs_native
from tests.support import features

GENERATOR = np.random.default_rng(3)
POINTS = GENERATOR.standard_normal((60, 4))
MOVING, FIXED = np.arange(50, 60), np.arange(50)


def neighbors(count: int = 7) -> AddedNeighbors:
    return AddedNeighbors.of(features(POINTS), MOVING, FIXED, count)


def test_neighbors_are_the_nearest_of_all_others() -> None:
    found, order = neighbors(), np.concatenate([MOVING, FIXED])
    squares = np.sum((POINTS[MOVING, None] - POINTS[None]) ** 2, axis=2)
    squares[np.arange(10), MOVING] = np.inf
    for row in range(10):
        assert {*order[found.indices[row]].tolist()} == {*np.argsort(squares[row])[:7].tolist()}
    assert np.allclose(found.lengths, np.sqrt(np.sort(squares, axis=1)[:, :7]))


def test_a_pair_has_the_mean_of_both_directions_or_that_of_the_added_point() -> None:
    found = neighbors()
    values = GENERATOR.uniform(0.1, 1, found.indices.shape)
    graph = found.joined(values, 50)
    dense = np.zeros((10, 60))
    np.put_along_axis(dense, found.indices, values, axis=1)
    dense[:, :10] = (dense[:, :10] + dense[:, :10].T) / 2
    assert np.allclose(graph.matrix().toarray()[:10], dense, rtol=1e-15)
    assert not graph.matrix().toarray()[10:].any()


@pytest.mark.parametrize("dof", [1.0, 0.7])
def test_the_gradient_is_that_of_the_divergence(dof: float) -> None:
    found = neighbors()
    shares = np.full(found.indices.shape, 1 / 7)
    fixed, start = GENERATOR.standard_normal((50, 2)), GENERATOR.standard_normal((10, 2))
    divergence = AddedDivergence.of(found.joined(shares, 50), fixed, dof)
    attraction, repulsion, _ = divergence(start)
    step, numeric = 1e-5, np.zeros_like(start)
    for place in np.ndindex(*start.shape):
        sides = []
        for sign in (1, -1):
            moved = start.copy()
            moved[place] += sign * step
            sides.append(divergence(moved)[2])
        numeric[place] = (sides[0] - sides[1]) / (2 * step)
    assert np.allclose(numeric, 4 * (attraction - repulsion) / 60, rtol=1e-6, atol=1e-9)


def test_many_fixed_points_repel_by_a_field_within_them_and_one_by_one_beyond(monkeypatch: pytest.MonkeyPatch) -> None:
    fixed = GENERATOR.standard_normal((800, 2)) * 8
    places = np.concatenate([GENERATOR.standard_normal((40, 2)) * 6, [[60.0, 1.0]]])
    graph = neighbors().joined(np.full((10, 7), 1 / 7), 50)
    exact, sums = AddedDivergence(graph, fixed, 1.0, 0.0).repulsion(places)
    monkeypatch.setattr("mlcli.methods.neighbor_embedding.repulsion.EXACT_ROWS", 500)
    forces, totals = AddedDivergence(graph, fixed, 1.0, 0.0).repulsion(places)
    assert np.abs(forces - exact).max() < 1e-4 * np.linalg.norm(exact)
    assert np.allclose(totals, sums, rtol=1e-4)
    assert np.array_equal(forces[-1], exact[-1])
    assert not np.array_equal(forces[0], exact[0])


def test_a_point_that_equals_a_fixed_one_is_on_it() -> None:
    points = POINTS.copy()
    points[55] = points[7]
    places = np.full((60, 2), np.nan)
    places[:50] = GENERATOR.standard_normal((50, 2))
    rows = AddedRows.of(features(points), places, MOVING, 7)
    assert np.array_equal(places[55], places[7])
    assert 55 not in rows.moving
    assert 55 in rows.fixed


@needs_native
def test_kernels_and_numpy_agree_on_epochs_among_both(monkeypatch: pytest.MonkeyPatch) -> None:
    found, fixed, curve = neighbors(), GENERATOR.standard_normal((50, 2)) * 5, fit_curve(0.1, 1.0)
    by_kernel = add_by_edges(found, fixed, 1.0, 1.0, curve=curve, sampling=Sampling(3, 5, 1.0, 1.0, 7))
    start = GENERATOR.standard_normal((10, 2))
    one = follow_added(by_kernel.graph, start, fixed, curve, Sampling(1, 5, 1.0, 1.0, 7)).state.points
    monkeypatch.setattr(native, "available", lambda: False)
    other = follow_added(by_kernel.graph, start, fixed, curve, Sampling(1, 5, 1.0, 1.0, 7)).state.points
    assert np.allclose(one, other, rtol=1e-12, atol=1e-12)


def test_a_start_is_amid_neighbors_that_lie_together() -> None:
    near = np.array([[0, 1, 2, 3, 4]])
    fixed = np.array([[0.0, 0], [0.2, 0], [0, 0.2], [30, 0], [30.2, 0]])
    found = AddedNeighbors(near, near, near, np.ones((1, 5)))
    assert np.abs(first_places(np.full((1, 5), 0.2), found, fixed)).max() < 0.2  # and not at 12, where none is
    assert 29 < first_places(np.array([[0.1, 0.1, 0.1, 0.35, 0.35]]), found, fixed)[0, 0] < 30.2


def test_starts_of_one_place_are_that_place_and_do_not_depend_on_others() -> None:
    found, fixed = neighbors(), GENERATOR.standard_normal((50, 2))
    shares = GENERATOR.uniform(0.1, 1, found.near.shape)
    assert np.allclose(first_places(shares, found, np.ones((50, 2)) * [3, 4]), [3, 4], rtol=1e-14)
    alone = AddedNeighbors(found.indices[4:5], found.lengths[4:5], found.near[4:5], found.near_lengths[4:5])
    assert np.array_equal(first_places(shares, found, fixed)[4:5], first_places(shares[4:5], alone, fixed))


def test_room_of_additions_multiplies() -> None:
    assert room_for(16, 1) == 8
    assert room_for(7, 7) == 1
    assert room_for(30, 20) * room_for(20, 10) == pytest.approx(room_for(30, 10), rel=1e-15)
