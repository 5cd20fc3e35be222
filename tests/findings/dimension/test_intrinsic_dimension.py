"""Intrinsic dimension: known dimensions are found, and only ratios of distances count."""

import numpy as np
import pytest
from scipy.spatial import KDTree

from mlcli.base.types import Array
from mlcli.findings.dimension.intrinsic_dimension import maximum_likelihood, two_nn, two_nn_error

RANDOM = np.random.default_rng(0)
ESTIMATES = pytest.mark.parametrize("estimate", [two_nn, maximum_likelihood])


def near(points: Array, count: int = 10) -> Array:
    """Distances to the nearest other points (n x count)."""
    return KDTree(points).query(points, k=count + 1)[0][:, 1:]


def cube(size: int, dimension: int, seed: int) -> Array:
    return np.random.default_rng(seed).random((size, dimension))


def sphere(size: int, dimension: int) -> Array:
    """Points on the surface, of dimension `dimension`, of a ball."""
    points = RANDOM.standard_normal((size, dimension + 1))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


@ESTIMATES
@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
def test_cubes_and_spheres_have_their_dimension(estimate, dimension: int) -> None:
    """A surface without an edge to 7%; a cube, whose edge thins neighborhoods out, to 15%."""
    assert estimate(near(sphere(4000, dimension))) == pytest.approx(dimension, rel=0.07)
    assert estimate(near(cube(4000, dimension, 1))) == pytest.approx(dimension, rel=0.15)


@ESTIMATES
def test_a_sheet_keeps_its_dimension_in_more_columns(estimate) -> None:
    flat = cube(500, 2, 2)
    turned = flat @ np.linalg.qr(RANDOM.standard_normal((6, 6)))[0][:2]
    assert estimate(near(turned)) == pytest.approx(estimate(near(flat)), rel=1e-9)


@ESTIMATES
@pytest.mark.parametrize("factor", [1e-150, 3.0, 1e150])
def test_no_unit_matters(estimate, factor: float) -> None:
    distances = near(cube(300, 3, 3))
    assert estimate(factor * distances) == pytest.approx(estimate(distances), rel=1e-12)


def test_two_nn_is_unbiased_for_exponential_ratios_and_knows_its_error() -> None:
    """Ratios drawn from their law, dimension 3: mean and spread of 2,000 estimates from 25 points each."""
    logs = RANDOM.exponential(1 / 3, (2000, 25))
    estimates = [two_nn(np.column_stack([np.ones(25), np.exp(row)])) for row in logs]
    errors = [two_nn_error(np.column_stack([np.ones(25), np.exp(row)])) for row in logs]
    assert np.mean(estimates) == pytest.approx(3, abs=0.05)
    assert np.std(estimates) == pytest.approx(np.mean(errors), rel=0.06)


def test_the_error_fits_real_neighbors() -> None:
    """On points whose neighbors overlap, the spread over samples is that of independent ratios within a third."""
    tables = [near(cube(300, 2, 100 + seed), 2) for seed in range(150)]
    spread = np.std([two_nn(table) for table in tables])
    assert spread == pytest.approx(np.mean([two_nn_error(table) for table in tables]), rel=0.33)


def test_maximum_likelihood_is_the_harmonic_mean_of_the_points_own_estimates() -> None:
    table = near(cube(200, 3, 4), 8)
    own = 7 / np.log(table[:, -1:] / table[:, :-1]).sum(axis=1)
    assert maximum_likelihood(table) == pytest.approx(1 / np.mean(1 / own), rel=1e-12)


def test_duplicates_are_passed_over() -> None:
    table = near(cube(100, 2, 5), 3)
    shifted = np.column_stack([np.zeros(100), table])
    assert two_nn(shifted) == pytest.approx(two_nn(table), rel=1e-12)
    assert maximum_likelihood(shifted) == pytest.approx(maximum_likelihood(table), rel=1e-12)
    some = np.vstack([table, np.zeros((7, 3))])
    assert two_nn(some) == pytest.approx(two_nn(table), rel=1e-12)
    assert maximum_likelihood(some) == pytest.approx(maximum_likelihood(table), rel=1e-12)


def test_nothing_to_go_by() -> None:
    for table in (np.zeros((5, 4)), np.zeros((0, 4)), np.ones((6, 1)), np.ones((1, 0))):
        assert np.isnan(two_nn(table)) and np.isnan(maximum_likelihood(table)) and np.isnan(two_nn_error(table))
    assert two_nn(np.ones((6, 3))) == maximum_likelihood(np.ones((6, 3))) == np.inf
