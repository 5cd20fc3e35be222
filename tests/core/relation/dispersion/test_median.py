"""The spatial median: no point has a smaller sum of distances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlcli.base.types import Array
from mlcli.core.relation.dispersion import spatial_median


def pull(points: Array, place: Array) -> float:
    """The length of the sum of unit vectors to the points, less one for each of them at the place; zero at most."""
    offsets = points - place
    lengths = np.linalg.norm(offsets, axis=1)
    far = lengths > 1e-12 * np.abs(points).max(initial=1.0)
    return float(np.linalg.norm((offsets[far] / lengths[far, None]).sum(axis=0)) - np.sum(~far))


@given(st.integers(0, 10**6), st.integers(3, 12), st.integers(1, 6), st.booleans())
def test_unit_vectors_to_the_points_cancel(seed: int, count: int, width: int, repeated: bool) -> None:
    points = np.random.default_rng(seed).standard_normal((count, width))
    if repeated:
        points[: count // 2] = points[0]
    assert pull(points, spatial_median(points)) < 1e-9


@pytest.mark.parametrize("unit", [1e-150, 1.0, 1e150])
def test_units_and_places_do_not_matter(unit: float) -> None:
    points = np.random.default_rng(0).standard_normal((7, 3))
    np.testing.assert_allclose(spatial_median(points * unit + 5 * unit), (spatial_median(points) + 5) * unit, rtol=1e-9)


def test_a_point_that_outweighs_the_others_is_the_median() -> None:
    points = np.array([[0.0, 0], [0, 0], [1, 0], [0, 2]])
    assert spatial_median(points) == pytest.approx([0, 0], abs=1e-15)
    assert spatial_median(points[2:]).tolist() == [0.5, 1]
    assert spatial_median(points[:1]).tolist() == [0, 0]
    assert spatial_median(np.ones((4, 2))).tolist() == [1, 1]


def test_on_a_line_it_is_the_median() -> None:
    line = np.array([[0.0], [1.0], [7.0], [9.0], [30.0]])
    assert spatial_median(line) == pytest.approx([7.0], abs=1e-12)
    np.testing.assert_allclose(spatial_median(line @ np.array([[1.0, 2.0]])), [7, 14], atol=1e-10)
