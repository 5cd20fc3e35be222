"""Statistics of columns before any method is tried, of data whose structure is known."""

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.explore.structure import structure_of
from mlcli.explore.verdict import Structure
from tests.support import features

DRAW = np.random.default_rng(3)


def seen(points: Array) -> Structure:
    found = structure_of(features(points), np.random.default_rng(0))
    assert found is not None
    return found


def sphere(rows: int = 400) -> Array:
    points = DRAW.standard_normal((rows, 3))
    return np.asarray(points / np.linalg.norm(points, axis=1)[:, None])


def blobs(count: int = 4, apart: float = 6.0) -> Array:
    centers = apart * np.eye(6)[:count]
    return np.vstack([center + DRAW.standard_normal((60, 6)) for center in centers])


@pytest.mark.parametrize("seed", range(5))
def test_columns_drawn_by_themselves_look_unrelated(seed: int) -> None:
    draw = np.random.default_rng(seed)
    assert all(seen(points).unrelated for points in (
        draw.standard_normal((300, 10)), draw.exponential(size=(200, 6)), draw.standard_normal((50, 100)),
        draw.random((300, 5)) * np.arange(1, 6)))


def test_a_sphere_looks_related_though_no_axis_of_it_stands_out() -> None:
    found = seen(sphere())
    assert found.axes == 0 and not found.unrelated and found.groups is None


def test_blobs_are_groups_with_nothing_inside() -> None:
    groups = seen(blobs()).groups
    assert groups is not None and (groups.count, groups.inside) == (4, 0)
    assert groups.silhouette > 0.5 > groups.reference
    assert groups.axes <= 3


@pytest.mark.parametrize("make", [
    lambda: DRAW.standard_normal((300, 6)) @ DRAW.standard_normal((6, 6)), lambda: blobs(2, 1.5),
    lambda: np.column_stack([DRAW.random(300), 0.01 * DRAW.random(300)]), sphere,
    lambda: (lambda angle: np.column_stack([np.cos(angle), np.sin(angle)]))(6 * DRAW.random(300))])
def test_one_cloud_a_line_a_curve_and_a_surface_are_no_groups(make: object) -> None:
    assert seen(make()).groups is None  # type: ignore[operator]


@pytest.mark.medium
def test_factors_with_noise_of_their_own_are_told_from_equal_noise_and_from_any_covariance() -> None:
    loadings, scores = DRAW.standard_normal((3, 12)), DRAW.standard_normal((400, 3))
    noise = DRAW.standard_normal((400, 12))
    unequal = seen(scores @ loadings + noise * np.geomspace(0.3, 3, 12)).factors
    assert unequal is not None and unequal.count == 3
    assert unequal.bic < min(unequal.equal, unequal.free) - 10
    assert seen(scores @ loadings + noise).factors is None
    assert seen(noise @ DRAW.standard_normal((12, 12))).factors is None


def test_too_few_rows_say_nothing() -> None:
    assert structure_of(features(DRAW.standard_normal((10, 3))), DRAW) is None
