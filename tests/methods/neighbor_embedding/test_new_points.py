"""New points end where their own divergence has no slope, whatever other points come with them."""

import numpy as np
import pytest

from mlcli import native
from mlcli.base.types import Array
from mlcli.methods.neighbor_embedding import new_points
from mlcli.methods.neighbor_embedding.new_points import enter

RANDOM = np.random.default_rng(1)
POINTS = 3 * RANDOM.standard_normal((80, 2))
SHARES = RANDOM.dirichlet(np.ones(12), 30)
INDICES = np.argsort(np.linalg.norm(RANDOM.standard_normal((30, 1, 2)) - POINTS, axis=2), axis=1)[:, :12]


def divergence(places: Array, dof: float) -> Array:
    kernel = (1 + np.sum((places[:, None] - POINTS) ** 2, axis=2) / dof) ** -dof
    near = np.take_along_axis(kernel, INDICES, axis=1) / kernel.sum(axis=1, keepdims=True)
    return np.sum(SHARES * np.log(SHARES / near), axis=1)


@pytest.mark.parametrize("dof", [1.0, 0.5, 5.0])
def test_places_are_where_the_divergence_is_least_nearby(dof: float, monkeypatch: pytest.MonkeyPatch) -> None:
    start = np.einsum("mk,mkp->mp", SHARES, POINTS[INDICES])
    after_some = divergence(enter(SHARES, INDICES, POINTS, dof), dof)
    assert np.all(after_some <= divergence(start, dof) + 1e-9)
    monkeypatch.setattr(new_points, "STEPS", 500)
    places = enter(SHARES, INDICES, POINTS, dof)
    assert np.all(divergence(places, dof) <= after_some + 1e-9)
    for step in ([1e-4, 0], [-1e-4, 0], [0, 1e-4], [0, -1e-4]):
        assert np.all(divergence(places + step, dof) >= divergence(places, dof) - 1e-12)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_each_point_is_on_its_own(axes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the last bit, whatever block it is in and whatever other points come with it."""
    points = 3 * np.random.default_rng(axes).standard_normal((80, axes))
    together = enter(SHARES, INDICES, points, 1.0)
    some = np.array([17, 4, 29])
    few = enter(SHARES[some], INDICES[some], points, 1.0)
    monkeypatch.setattr(new_points, "BLOCK", 1)
    alone = enter(SHARES, INDICES, points, 1.0)
    assert np.array_equal(alone, together) and np.array_equal(few, together[some])


def test_no_new_points_have_no_places() -> None:
    assert enter(SHARES[:0], INDICES[:0], POINTS, 1.0).shape == (0, 2)


def test_kernels_and_numpy_find_the_same_places(monkeypatch: pytest.MonkeyPatch) -> None:
    for dof in (1.0, 0.5):
        found = enter(SHARES, INDICES, POINTS, dof)
        monkeypatch.setattr(native, "available", lambda: False)
        assert np.array_equal(enter(SHARES, INDICES, POINTS, dof), found)
        monkeypatch.undo()
