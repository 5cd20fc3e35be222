"""Steps of a descent: as many as asked for, centered, of limited length, and lower in the end than at the start."""

import numpy as np
import pytest

from mlcli.core.graph.search import nearest
from mlcli.methods.neighbor_embedding.perplexity import calibrate
from mlcli.methods.neighbor_embedding.tsne import LONGEST, Descent, Divergence

POINTS = np.random.default_rng(0).standard_normal((50, 3))
DIVERGENCE = Divergence(calibrate(nearest(POINTS, 30), (10.0,)), 1.0)
START = 1e-4 * POINTS[:, :2]


@pytest.mark.parametrize(("early", "steps"), [(0, 1), (3, 4), (40, 60)])
def test_there_are_as_many_steps_as_asked_for(early: int, steps: int) -> None:
    ended = Descent(early_steps=early, steps=steps)(DIVERGENCE, START, "exact")
    assert len(ended.trace) == early + steps and ended.trace[-1] == ended.state.divergence
    assert np.abs(ended.state.points.mean(axis=0)).max() <= 1e-14 * max(1.0, np.abs(ended.state.points).max())
    assert DIVERGENCE.forces(ended.state.points, "exact").divergence == ended.state.divergence


def test_a_step_is_no_longer_than_the_limit() -> None:
    moved = Descent(early_steps=0, steps=1, rate=1e9)(DIVERGENCE, START + POINTS[:, :2], "exact").state
    assert np.linalg.norm(moved.velocity, axis=1).max() == pytest.approx(LONGEST)


def test_a_step_is_that_of_the_gradient_with_gains_of_its_first_direction() -> None:
    forces = DIVERGENCE.forces(START, "exact")
    moved = Descent(early_steps=1, steps=1, rate=2.0)(DIVERGENCE, START, "exact")
    first = Descent(early_steps=0, steps=1, rate=2.0, exaggeration=12.0)(DIVERGENCE, START, "exact").state
    assert np.allclose(first.velocity, -2.0 * 1.2 * (12 * forces.attraction - forces.repulsion), rtol=1e-12)
    assert moved.trace[0] == first.divergence


def test_points_of_a_group_move_as_one() -> None:
    groups = np.arange(50) // 2
    ended = Descent(early_steps=20, steps=20)(Divergence(DIVERGENCE.affinities, 1.0, groups), START, "exact").state
    assert np.array_equal(ended.points[::2], ended.points[1::2])
