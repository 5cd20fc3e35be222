"""Fitted vectors and centroids: regression on the axes, whatever their rotation, and shares between levels."""

import numpy as np
import pytest

from mlcli.core.permutations import Permutations
from mlcli.core.relation.vectors import fit_centroids, fit_vector

GENERATOR = np.random.default_rng(8)
AXES = GENERATOR.standard_normal((25, 3)) * [3, 1, 0.2]
VALUES = AXES @ [1.0, -2, 4] + GENERATOR.standard_normal(25)
CODES = GENERATOR.integers(0, 3, 25)
ORDERS = Permutations(99, 1)


def test_r2_is_that_of_the_regression_and_the_direction_that_of_its_slopes() -> None:
    design = np.column_stack([np.ones(25), AXES])
    slopes, (rest,), _, _ = np.linalg.lstsq(design, VALUES, rcond=None)
    found = fit_vector(AXES, VALUES, ORDERS)
    assert found.r2 == pytest.approx(1 - rest / ((VALUES - VALUES.mean()) ** 2).sum(), abs=1e-12)
    np.testing.assert_allclose(found.direction, slopes[1:] / np.linalg.norm(slopes[1:]), atol=1e-12)
    assert found.p_value == pytest.approx(0.01)


@pytest.mark.parametrize("unit", [2.0**-200, 1.0, 2.0**200])
def test_rotations_and_units_of_axes_do_not_matter(unit: float) -> None:
    turn, _ = np.linalg.qr(GENERATOR.standard_normal((3, 3)))
    first, other = fit_vector(AXES, VALUES, ORDERS), fit_vector(AXES @ turn * unit, VALUES / unit, ORDERS)
    assert (first.r2, first.p_value) == pytest.approx((other.r2, other.p_value), abs=1e-12)
    np.testing.assert_allclose(first.direction @ turn, other.direction, atol=1e-10)
    one, two = fit_centroids(AXES, CODES, 3, ORDERS), fit_centroids(AXES @ turn * unit, CODES, 3, ORDERS)
    assert (one.r2, one.p_value) == pytest.approx((two.r2, two.p_value), abs=1e-12)


def test_weights_are_rows_that_are_there_several_times() -> None:
    counts = GENERATOR.integers(1, 4, 25)
    again = np.repeat(np.arange(25), counts)
    one = fit_centroids(AXES, CODES, 3, Permutations(0), weights=counts.astype(float))
    two = fit_centroids(AXES[again], CODES[again], 3, Permutations(0))
    assert one.r2 == pytest.approx(two.r2, abs=1e-12)
    np.testing.assert_allclose(one.means, two.means, atol=1e-12)


def test_what_does_not_vary_has_no_figures() -> None:
    assert np.isnan([fit_vector(AXES, np.ones(25), ORDERS).r2, fit_centroids(AXES, np.zeros(25, int), 1, ORDERS).r2,
                     fit_centroids(np.ones((25, 2)), CODES, 3, ORDERS).p_value]).all()
    assert np.isnan(fit_vector(np.ones((25, 2)), VALUES, ORDERS).r2)
