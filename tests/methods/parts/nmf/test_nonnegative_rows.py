"""The weights of given parts in rows fulfill the conditions of the least objective, in every row."""

import numpy as np
import pytest

from mlcli.base.types import Array
from mlcli.methods.parts.nmf import place_rows
from mlcli.methods.parts.nonnegative import Objective
from tests.support import fit

LEFT = 1e-11  # relative slope that exact weights leave


def slopes_of(objective: Objective, points: Array, parts: Array, weights: Array) -> Array:
    """Slopes over the weights (n x p), relative to what they are made of."""
    model = weights @ parts
    if objective == "frobenius":
        return (model - points) @ parts.T / (np.linalg.norm(points, axis=1)[:, None] * np.linalg.norm(parts, axis=1))
    ratios = np.divide(points, model, out=np.zeros_like(points), where=points > 0)
    return 1 - ratios @ parts.T / parts.sum(axis=1)


def tables(kind: str) -> list[tuple[Array, Array]]:
    """Rows and parts: of one size, of many, nearly alike, of counts, and rows that are sums of some parts alone."""
    random, found = np.random.default_rng(1), []
    for _ in range(12):
        columns = int(random.integers(3, 30))
        parts = np.abs(random.standard_normal((int(random.integers(2, min(columns, 15) + 1)), columns)))
        points = np.abs(random.standard_normal((40, columns)))
        if kind == "sizes":
            parts = np.exp(4 * random.standard_normal(parts.shape))
        elif kind == "alike":
            parts = np.abs(parts[:1] + 1e-3 * random.standard_normal(parts.shape))
        elif kind == "counts":
            points = random.poisson(1.0, points.shape) + np.eye(*points.shape)
        elif kind == "sums":
            points = (np.abs(random.standard_normal((40, len(parts)))) * random.integers(0, 2, (40, len(parts)))
                      + np.eye(40, len(parts))) @ parts + 1e-3
        found.append((points, parts))
    return found


@pytest.mark.parametrize("objective", ["frobenius", "kullback_leibler"])
@pytest.mark.parametrize("kind", ["plain", "sizes", "alike", "counts", "sums"])
def test_slopes_are_zero_for_weights_above_zero_and_not_negative_for_others(objective: Objective, kind: str) -> None:
    for points, parts in tables(kind):
        weights = place_rows(objective, points, parts)
        slopes = slopes_of(objective, points, parts, weights)
        sizes = weights * parts.sum(axis=1)
        held = sizes > 1e-9 * sizes.max(axis=1, keepdims=True)
        assert weights.min() >= 0
        assert slopes.min() > -LEFT
        assert np.abs(slopes[held]).max() < LEFT


@pytest.mark.medium
def test_a_small_weight_moves_together_with_the_others() -> None:
    """A step of the other weights alone lowers nothing here, and one of the small weight alone next to nothing."""
    points = np.abs(np.random.RandomState(14).randn(40, 5))
    model = fit("nmf", points, components=5, objective="kullback_leibler")
    assert model.loadings is not None
    slopes = slopes_of("kullback_leibler", points, model.loadings.values.T, model.embedding)
    assert slopes.min() > -LEFT
    assert np.abs(slopes[model.embedding > 1e-9]).max() < LEFT
