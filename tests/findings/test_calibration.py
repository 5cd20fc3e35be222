"""Rows held out of the fit in Python: their draw follows the seed, p is exact, and all steps count."""

import numpy as np
import pytest

import mlcli as package

POINTS = np.random.default_rng(3).standard_normal((80, 3)) * [3, 2, 0.3]


def test_the_draw_follows_the_seed_and_p_is_exact_in_python() -> None:
    one, same, other = (package.embed(POINTS, calibrate=0.25, seed=seed) for seed in (0, 0, 1))
    assert one.ids == same.ids != other.ids and len(one.ids) == 60
    assert one.off_manifold(POINTS[:2]).exact and not package.embed(POINTS).off_manifold(POINTS[:2]).exact


def test_steps_before_the_method_count_as_well() -> None:
    flat = np.column_stack([POINTS[:, :2], 0.01 * POINTS[:, 2]])
    run = package.embed(flat, "lle", neighbors=8, reduce=2)
    off = flat[:1] + [[0.0, 0.0, 5.0]]
    assert run.off_manifold(off).scores[0] > 100 > 3 > run.off_manifold(flat[:1]).scores[0]
    assert run.off_manifold(off).p[0] == pytest.approx(1 / 81)
