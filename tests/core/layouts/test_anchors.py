"""Layouts of least stress whose points are tied to former places."""

import numpy as np
import pytest

from mlcli.core.iterate import Iterate
from mlcli.core.layouts.anchors import Anchors
from mlcli.core.layouts.majorize import minimize_stress, minimize_tied_stress, tie_rates, tied_solver
from mlcli.core.layouts.pairs import Pairs

ROWS = np.random.default_rng(0).normal(size=(24, 4))
ROWS[5] = ROWS[20]  # a new point that equals an old one
PLACES = np.vstack([ROWS[:16, :2] * 1.2 + 3, np.full((8, 2), np.nan)])
START = np.where(np.isfinite(PLACES), PLACES, ROWS[:, :2] + 3)
PRECISE = Iterate(tolerance=1e-10)


def pairs_of(power: float) -> Pairs:
    gaps = ROWS[:, None] - ROWS
    return Pairs.of(np.sqrt((gaps**2).sum(axis=2)), power, [str(row) for row in range(24)])


def objective(points: np.ndarray, power: float, weight: float) -> float:
    """Returns the sum over the pairs and the penalty, from the definition, of all points (n x p)."""
    lengths = np.sqrt(((ROWS[:, None] - ROWS) ** 2).sum(axis=2))
    weights = np.where(lengths > 0, (np.where(lengths > 0, lengths, 1) / lengths.max()) ** power, 0.0)
    distances = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    penalty = (weights.sum(axis=1)[:16] * ((points[:16] - PLACES[:16]) ** 2).sum(axis=1)).sum()
    return float((weights * (lengths - distances) ** 2).sum() / 2 + weight * penalty)


def layout(power: float, weight: float) -> tuple[Pairs, np.ndarray, np.ndarray]:
    pairs = pairs_of(power)
    ended = minimize_tied_stress(pairs, START[pairs.firsts], Anchors(PLACES, weight), PRECISE)
    return pairs, ended.state.points[pairs.places], ended.trace


@pytest.mark.parametrize("power", [0.0, -1.0])
@pytest.mark.parametrize("weight", [0.01, 1.0, 30.0])
def test_no_step_raises_the_sum_and_at_its_end_no_direction_lowers_it(power: float, weight: float) -> None:
    pairs, points, trace = layout(power, weight)
    assert np.all(np.diff(trace) <= 1e-14 * trace[0])
    least, generator = objective(points, power, weight), np.random.default_rng(1)
    assert trace[-1] ** 2 * pairs.size == pytest.approx(least, rel=1e-12)
    for _ in range(20):
        step = generator.normal(size=(len(pairs), 2))[pairs.places] * 1e-4
        assert objective(points + step, power, weight) > least


@pytest.mark.parametrize("power", [0.0, -1.0])
def test_the_solver_inverts_weights_and_rates(power: float) -> None:
    pairs = pairs_of(power)
    pulls = tie_rates(pairs, Anchors(PLACES, 0.7))[1]
    matrix = np.diag(pulls + pairs.table.sum(axis=1)) - pairs.table
    sides = np.random.default_rng(2).normal(size=(len(pairs), 2))
    assert np.allclose(matrix @ tied_solver(pairs, pulls)(sides), sides, atol=1e-11)


@pytest.mark.parametrize("power", [0.0, -1.0])
def test_the_ends_are_fixed_places_and_the_layout_without_a_penalty(power: float) -> None:
    _, points, _ = layout(power, 1e6)
    assert np.abs(points[:16] - PLACES[:16]).max() < 1e-5
    pairs, points, _ = layout(power, 1e-6)
    free = minimize_stress(pairs, START[pairs.firsts], PRECISE).state
    distances, others = (np.linalg.norm(some[:, None] - some, axis=2) for some in (points, free.points[pairs.places]))
    assert np.abs(distances - others).max() < 1e-3 * others.max()
