"""Non-negative factorization: cases with a known answer, falling objectives, and the least weights of single rows."""

import itertools

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.methods.parts.nmf import place_rows
from mlcli.methods.parts.nonnegative import Factorization, hals_step, multiplicative_step, objective_of
from tests.support import fit

GENERATOR = np.random.default_rng(5)
POINTS = GENERATOR.random((50, 8)) ** 2 * np.linspace(1, 5, 8)


def test_one_part_by_squares_is_the_leading_singular_pair() -> None:
    """By Perron and Frobenius the leading pair of a non-negative table is non-negative, so it is the least one."""
    model = fit("nmf", POINTS, components=1, iterate={"tolerance": 1e-13})
    left, sizes, right = np.linalg.svd(POINTS)
    assert np.allclose(model.embedding @ model.loadings.values.T, sizes[0] * np.outer(left[:, 0], right[0]), atol=1e-9)
    assert model.fit["objective"] == pytest.approx((sizes[1:] ** 2).sum() / 2, rel=1e-12)


def test_one_part_by_divergence_is_the_product_of_the_margins() -> None:
    model = fit("nmf", POINTS, components=1, objective="kullback_leibler")
    assert np.allclose(model.embedding[:, 0], POINTS.sum(axis=1), rtol=1e-12)
    assert np.allclose(model.loadings.values[:, 0], POINTS.sum(axis=0) / POINTS.sum(), rtol=1e-12)


@pytest.mark.parametrize("objective", ["frobenius", "kullback_leibler"])
def test_parts_of_columns_of_their_own_come_back(objective: str) -> None:
    """Parts without common columns, each alone in some row: that factorization is unique (Donoho and Stodden, 2004)."""
    parts = np.zeros((3, 9))
    for place in range(3):
        parts[place, 3 * place : 3 * place + 3] = GENERATOR.random(3) + 0.2
    parts /= parts.sum(axis=1, keepdims=True)
    weights = np.vstack([5 * np.eye(3), GENERATOR.random((20, 3))]) * [3, 2, 1]
    model = fit("nmf", weights @ parts, components=3, objective=objective, iterate={"tolerance": 1e-10})
    assert np.allclose(model.loadings.values.T, parts, atol=1e-6)
    assert np.allclose(model.embedding, weights, atol=1e-5)


def start(count: int) -> Factorization:
    generator = np.random.default_rng(count)
    return Factorization(generator.random((count, len(POINTS))), generator.random((count, POINTS.shape[1])), np.inf)


def test_neither_sweeps_nor_updates_raise_their_objective() -> None:
    for objective, step in (("frobenius", lambda state: hals_step(POINTS, None, float((POINTS**2).sum()), 1, state)),
                            ("kullback_leibler", lambda state: multiplicative_step(POINTS, state))):
        state, values = start(3), []
        for _ in range(60):
            state = step(state)
            values.append(objective_of(objective, POINTS, state.weights.T, state.parts))
        assert all(after <= before * (1 + 1e-12) for before, after in itertools.pairwise(values))


def least_over_faces(objective: str, row: Array, parts: Array) -> float:
    """The least objective of a row over weights w ≥ 0, by SciPy over every set of parts."""
    from scipy.optimize import nnls

    if objective == "frobenius":
        return float(nnls(parts.T, row)[1] ** 2 / 2)
    weights = np.full(len(parts), row.sum() / len(parts))
    for _ in range(2_000):
        weights *= parts @ (row / (weights @ parts)) / parts.sum(axis=1)
    return objective_of("kullback_leibler", row[None], weights[None], parts)


@pytest.mark.parametrize("objective", ["frobenius", "kullback_leibler"])
def test_the_weights_of_a_row_are_the_least(objective: str) -> None:
    parts, rows = GENERATOR.random((4, 8)) ** 3, np.vstack([POINTS[:12], np.zeros(8)])
    weights = place_rows(objective, rows, parts)
    assert (weights >= 0).all() and np.any(weights == 0) and not weights[-1].any()
    for row, found in zip(rows[:12], weights[:12], strict=True):
        least = least_over_faces(objective, row, parts)
        assert objective_of(objective, row[None], found[None], parts) <= least * (1 + 1e-9)


def test_parts_that_depend_on_each_other_share_what_they_explain() -> None:
    parts = np.vstack([POINTS[:2], POINTS[0]])
    weights = place_rows("frobenius", POINTS[:5], parts)
    alone = place_rows("frobenius", POINTS[:5], parts[:2])
    assert np.allclose(weights @ parts, alone @ parts[:2], atol=1e-9 * POINTS.max())


@pytest.mark.parametrize("objective", ["frobenius", "kullback_leibler"])
def test_rows_and_columns_of_zeros_have_none_of_any_part(objective: str) -> None:
    points = POINTS.copy()
    points[3], points[:, 2] = 0.0, 0.0
    model = fit("nmf", points, components=2, objective=objective)
    assert not model.embedding[3].any() and not model.loadings.values[2].any()
    assert np.isfinite(model.embedding).all() and model.fit["converged"]


def test_a_table_of_zeros_is_zero() -> None:
    assert not fit("nmf", np.zeros((6, 3))).embedding.any()
