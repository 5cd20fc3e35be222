"""Dispersion: of Euclidean points the distances to centers in their own space, and what cannot be compared."""

import numpy as np
import pytest

from mlcli.core.permutations import Permutations
from mlcli.core.relation.dispersion import Center, dispersion, spatial_median
from mlcli.core.relation.permanova import inner_products
from mlcli.errors import DataError
from tests.data.helpers import noted

POINTS = np.random.default_rng(2).standard_normal((18, 3))
GROUPS = np.repeat([0, 1, 2], 6)


@pytest.mark.parametrize("center", ["median", "centroid"])
@pytest.mark.parametrize("power", [-200, 0, 200])
def test_distances_are_those_in_the_space_of_the_points(center: Center, power: int) -> None:
    points = np.ldexp(POINTS, power)
    products = inner_products(((points[:, None] - points) ** 2).sum(axis=2))
    found = dispersion(products, GROUPS, 3, center, Permutations(19))
    for group in range(3):
        own = points[group == GROUPS]
        middle = own.mean(axis=0) if center == "centroid" else spatial_median(own)
        np.testing.assert_allclose(found.distances[group == GROUPS], np.linalg.norm(own - middle, axis=1), rtol=1e-7)
    assert found.ratio > 0 and 0 < found.p_value <= 1 and found.freedom == (2, 15)


def test_squares_below_zero_are_said() -> None:
    apart = np.ones((6, 6)) - np.eye(6)
    apart[:3, :3] = 9 * (1 - np.eye(3))
    apart[3:, 3:] = 0.2 * (1 - np.eye(3))
    with noted() as notes:
        found = dispersion(inner_products(apart**2), np.array([0, 1, 0, 1, 0, 1]), 2, "centroid", Permutations(9))
    assert np.isfinite(found.distances).all()
    assert set(notes.codes) <= {"W-NEGATIVE-SQUARES"}


@pytest.mark.parametrize(("codes", "levels"), [(np.zeros(5, int), 1), (np.arange(5), 5)])
def test_too_few_groups_or_rows_are_refused(codes: np.ndarray, levels: int) -> None:
    with pytest.raises(DataError) as caught:
        dispersion(np.eye(5), codes, levels, "median", Permutations(9))
    assert caught.value.code == "E-GROUPS"


def test_a_group_of_one_row_has_no_t_as_its_variance_is_not_defined() -> None:
    codes = np.array([0, 1, 1, 1, 2, 2, 2])
    products = inner_products(((POINTS[:7, None] - POINTS[:7]) ** 2).sum(axis=2))
    found = dispersion(products, codes, 3, "centroid", Permutations(19))
    undefined = [(pair.first, pair.second) for pair in found.pairs if np.isnan(pair.t)]
    assert undefined == [(0, 1), (0, 2)]
    assert [np.isnan(pair.p_value) for pair in found.pairs] == [np.isnan(pair.t) for pair in found.pairs]


def test_distances_that_differ_between_groups_only_have_an_infinite_t() -> None:
    """Two rows are equally far from their center, so that groups of two never vary within."""
    points = np.array([[0.0], [2.0], [10.0], [16.0]])
    products = inner_products((points - points.T) ** 2)
    found = dispersion(products, np.array([0, 0, 1, 1]), 2, "centroid", Permutations(199))
    (pair,) = found.pairs
    assert pair.t == -np.inf and 0.2 < pair.p_value < 0.5  # a third of the orders keep the pairs together
    assert found.ratio == np.inf and np.isnan(found.p_value)  # no residuals that could be permuted
    assert found.squares[1] == 0.0
